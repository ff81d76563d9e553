"""From vectors to FAISS shards: recipe, training, filling, searching, recall and drift. Pure kernels, no Beam."""
