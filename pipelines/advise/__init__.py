"""How to cut a corpus, advised from what is measured on a sample of it."""

from pipelines.advise.advising import advise

__all__ = ["advise"]
