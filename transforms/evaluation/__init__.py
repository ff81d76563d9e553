"""How good a retrieval is: extents, boundaries, statistics. Pure functions over numpy, without Beam."""
