"""Reading a published version: questions in, passages with their exact places out."""

from pipelines.search.hits import Hit
from pipelines.search.index import Index, open_index

__all__ = ["Hit", "Index", "open_index"]
