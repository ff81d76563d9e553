"""What a person runs: the graph, the command line and search. Imports transforms and models."""
