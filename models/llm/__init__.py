"""A language model behind an OpenAI-compatible endpoint: given by its address, or vLLM started on the worker."""
