"""How far a run is, read off the files that it leaves, so that it works on every runner."""

from pipelines.progress import Progress
from transforms.attempts import attempted_tokens
from transforms.changes import Changes
from transforms.context import RunContext
from transforms.work import CHARS_PER_TOKEN, read_work_ahead


class RunProgress:
    """Polls the scratch folder of a run."""

    def __init__(self, context: RunContext, changes: Changes) -> None:
        self._context = context
        self._n_files = len(changes.read)

    def poll(self) -> Progress | None:
        """Files while they are read, then tokens while they are encoded. The total of tokens is an estimate."""
        ahead = read_work_ahead(self._context)
        if ahead is None:
            return Progress("reading", 0, self._n_files, "files")
        total = ahead.work_chars // CHARS_PER_TOKEN
        marks = self._context.store.list(f"{self._context.scratch('attempts')}")
        done = sum(attempted_tokens(mark.path for mark in marks))
        return (
            Progress("encoding", min(done, total), total, "tokens")
            if done < total
            else Progress("indexing", done, 0, "tokens encoded")
        )
