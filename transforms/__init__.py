"""The stages of the mill: reading, cutting, encoding, indexing, storing. Imports models only."""
