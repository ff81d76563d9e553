"""The folder of a sweep: what was set down before it ran, vectors that need not be made twice, and what came out."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from models.encoder import encoder_identity
from models.errors import SettingsError
from models.settings import EncoderSettings
from pipelines.evaluation.encoding import VectorBlock

RECORD = "record.json"
MAX_RECORD_BYTES = 4 * 1024 * 1024
_NAME_DIGITS = 32


class WorkFolder:
    """`path` is made if it is missing."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"work folder {str(path)!a} cannot be made: {error.strerror}") from error

    def record(self, facts: Mapping[str, Any]) -> str:
        """Set `facts` down unless they are, and say when they were.

        :raises SettingsError: others were set down here before: results of this folder must not change what was
            expected of them.
        """
        there = self._read_record()
        plain = json.loads(json.dumps(facts))
        if there is None:
            there = {"recorded_at": datetime.now(UTC).isoformat(timespec="seconds"), "facts": plain}
            self.write(RECORD, json.dumps(there, indent=1).encode())
        for name, value in plain.items():
            if there["facts"].get(name) != value:
                raise SettingsError(
                    f"{self.path / RECORD} was written {there['recorded_at']} with other {name.replace('_', ' ')}; "
                    "a sweep is not changed after it began: name another --work folder"
                )
        return str(there["recorded_at"])

    def shelf(self, settings: EncoderSettings) -> "VectorFiles":
        """Where vectors of one encoder lie."""
        identity = json.dumps(encoder_identity(settings), sort_keys=True)
        name = hashlib.sha256(identity.encode()).hexdigest()[:_NAME_DIGITS]
        folder = self.path / "vectors" / name
        folder.mkdir(parents=True, exist_ok=True)
        return VectorFiles(folder)

    def write(self, name: str, data: bytes) -> Path:
        """Write a file whole or not at all."""
        return _write(self.path / name, data)

    def _read_record(self) -> dict[str, Any] | None:
        path = self.path / RECORD
        try:
            with path.open("rb") as stream:
                found = json.loads(stream.read(MAX_RECORD_BYTES))
            if not isinstance(found["facts"], dict) or not isinstance(found["recorded_at"], str):
                raise TypeError
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SettingsError(
                f"{path} cannot be read as the record of a sweep; name another --work folder"
            ) from error
        return dict(found)


class VectorFiles:
    """Blocks of vectors as Arrow files, each named by the digest of its bytes. `n_damaged` have others."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.n_damaged = 0

    def blocks(self) -> Iterator[VectorBlock]:
        for path in sorted(self._folder.glob("*.arrow")):
            data = path.read_bytes()
            if _digest(data) == path.stem:
                yield _block(pa.ipc.open_file(pa.py_buffer(data)).read_all())
            else:
                self.n_damaged += 1

    def keep(self, block: VectorBlock) -> None:
        dimension = block.vectors.shape[1]
        columns: dict[str, pa.Array[Any]] = {
            "text_sha256": pa.array(block.names, pa.binary(32)),
            "valid": pa.array(block.valid),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(block.vectors.ravel(), pa.float16()), dimension),
        }
        sink = pa.BufferOutputStream()
        table = pa.table(columns)
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        data = sink.getvalue().to_pybytes()
        _write(self._folder / f"{_digest(data)}.arrow", data)


def _block(table: pa.Table) -> VectorBlock:
    column: Any = table["vector"].combine_chunks()
    vectors = column.flatten().to_numpy(zero_copy_only=False).astype(np.float16).reshape(table.num_rows, -1)
    names = [bytes(name or b"") for name in table["text_sha256"].to_pylist()]
    return VectorBlock(names, vectors, table["valid"].to_numpy())


def _write(path: Path, data: bytes) -> Path:
    near = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        near.write_bytes(data)
        near.replace(path)
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}") from error
    return path


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_NAME_DIGITS]
