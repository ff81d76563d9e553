"""Dead letters as stored rows (see `transforms.store.schemas.FAILURES`)."""

from typing import Any

from transforms.records import Failure


def failure_row(failure: Failure, is_stale: bool) -> dict[str, Any]:
    """A dead letter as a stored row. `is_stale` says that the last good content is served in its place."""
    return {
        "uri": failure.uri, "file": failure.file, "content_id": failure.content_id, "stage": failure.stage,
        "reason": failure.reason, "detail": failure.detail, "stale": is_stale,
    }  # fmt: skip
