"""What a language model does to documents: summaries, boundaries, propositions, context prefixes. None knows Beam."""
