"""Cutting algorithms, one a module, all behind one Protocol. None parses markup and none knows Beam."""
