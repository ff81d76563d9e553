"""Reading a published version: questions in, passages with their exact places out."""

from pipelines.search.hits import Hit, Matched
from pipelines.search.index import Index, open_index

__all__ = ["Hit", "Index", "Matched", "open_index"]
