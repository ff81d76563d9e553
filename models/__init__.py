"""Encoders, tokenizers and the arithmetic of what they cost. Imports neither transforms nor pipelines."""
