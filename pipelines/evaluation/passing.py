"""A folder through which the workers of a pipeline hand their results to whoever started it."""

import contextlib
import tempfile
import uuid
from collections.abc import Iterator, Sequence

from pipelines.beam_options import temp_location
from pipelines.ingest import local_root
from transforms.store.files import Store


@contextlib.contextmanager
def passing_folder(beam_args: Sequence[str]) -> Iterator[str]:
    """The folder, which is gone afterwards: under Beam's --temp_location where one is named, else on this machine."""
    place = temp_location(beam_args)
    if place is None:
        with tempfile.TemporaryDirectory(prefix="corpusmill-") as folder:
            yield folder
        return
    name = f"corpusmill-{uuid.uuid4().hex}"
    try:
        yield f"{local_root(place)}/{name}"
    finally:
        Store(local_root(place)).delete_folder(name)
