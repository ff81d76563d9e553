"""A folder through which the workers of a pipeline hand arrays to each other, and results to whoever started it.

Arrays do not go through a shuffle: all values of one key are one record there, which some runners limit to megabytes.
"""

import contextlib
import io
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import RefusedError
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


def write_arrays(folder: str, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Hand over arrays by name. Who does it twice writes the same."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    Store(folder).write_named(name, buffer.getvalue())


def read_arrays(folder: str, name: str) -> dict[str, NDArray[Any]]:
    """What `write_arrays` was given; `RefusedError` where there is nothing of that name."""
    data = Store(folder).find_named(name)
    if data is None:
        raise RefusedError(f"{folder}/{name} is gone; run it again with a --temp_location that every worker reaches")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)
