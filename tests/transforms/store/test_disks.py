"""Roots that are not on the local disk, through Beam: a file system that lives in memory stands for them."""

import io
import time

import numpy as np
import pyarrow as pa
import pytest
from apache_beam.io.filesystem import BeamIOError, FileMetadata, FileSystem
from apache_beam.options.pipeline_options import PipelineOptions
from asking import ask_for

from models.errors import DamagedFileError, SettingsError, StoreError
from models.llm.records import Answer
from transforms.answers import AnswerStore, merge_segments
from transforms.store.files import Store
from transforms.store.lease import Lease, live_runs
from transforms.store.pointer import Pointer, check_publishable, read_pointer, swap_pointer
from transforms.store.segments import open_vectors, read_rows, write_table, write_vectors

FILES: dict[str, tuple[bytes, float]] = {}


class _Sink(io.BytesIO):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def close(self) -> None:
        if not self.closed:
            if "full" in self.path:
                super().close()
                raise OSError("no space in the bucket")
            FILES[self.path] = (self.getvalue(), time.time())
        super().close()


class MemoryFileSystem(FileSystem):
    """Files in a dictionary, under corpusmill-memory://."""

    def __init__(self, pipeline_options=None) -> None:
        super().__init__(pipeline_options or PipelineOptions([]))

    @classmethod
    def scheme(cls):
        return "corpusmill-memory"

    def join(self, basepath, *paths):
        return "/".join([basepath, *paths])

    def split(self, path):
        return tuple(path.rsplit("/", 1))

    def mkdirs(self, path):
        pass

    def has_dirs(self):
        return False

    def _list(self, dir_or_prefix):
        for path, (data, modified) in list(FILES.items()):
            if path.startswith(dir_or_prefix):
                yield FileMetadata(path, len(data), modified)

    def create(self, path, mime_type="", compression_type=None):
        return _Sink(path)

    def open(self, path, mime_type="", compression_type=None):
        return io.BytesIO(FILES[path][0])

    def copy(self, source_file_names, destination_file_names):
        raise NotImplementedError

    def rename(self, source_file_names, destination_file_names):
        for source, destination in zip(source_file_names, destination_file_names, strict=True):
            FILES[destination] = FILES.pop(source)

    def exists(self, path):
        return path in FILES

    def size(self, path):
        return len(FILES[path][0])

    def last_updated(self, path):
        return FILES[path][1]

    def checksum(self, path):
        return ""

    def metadata(self, path):
        return FileMetadata(path, len(FILES[path][0]), FILES[path][1])

    def delete(self, paths):
        for path in paths:
            if path not in FILES:
                raise BeamIOError("missing", {path: KeyError(path)})
            del FILES[path]


@pytest.fixture
def remote():
    FILES.clear()
    return Store("corpusmill-memory://bucket/root")


def test_files_on_any_scheme(remote):
    entry = remote.write("units", "bin", b"data")
    assert remote.write("units", "bin", b"data") == entry
    assert remote.read(entry) == b"data"
    assert remote.sha256(entry.path) == entry.sha256
    assert [(file.path, file.size) for file in remote.list("")] == [(entry.path, 4)]
    assert remote.list("", temporary=True) == []
    assert remote.read_part(entry.path, 1, 2) == b"at"
    FILES[remote.path(entry.path)] = (b"dat\0", 0.0)
    with pytest.raises(DamagedFileError, match="bytes its manifest promises"):
        remote.read(entry)
    remote.delete([entry.path, entry.path])
    assert remote.find_named(entry.path) is None
    with pytest.raises(DamagedFileError, match="is missing"):
        remote.read(entry)


def test_a_sound_file_looks_young(remote):
    entry = remote.write("units", "bin", b"data")
    FILES[remote.path(entry.path)] = (b"data", 1.0)
    remote.write("units", "bin", b"data")
    assert remote.stat(entry.path).modified_at > 1.0


def test_a_failed_write_is_one_line(remote):
    with pytest.raises(StoreError, match=r"cannot write .*full.*no space in the bucket"):
        remote.write("full", "bin", b"data")
    assert FILES == {}


def test_segments_and_vectors_are_read_whole(remote):
    table = pa.table({"content_id": [f"{n:032x}" for n in range(5000)]})
    entry = write_table(remote, "units", table)
    assert read_rows(remote, entry, 2040, 20).equals(table.slice(2040, 20))
    vectors = np.arange(12, dtype=np.float16).reshape(3, 4)
    stored = write_vectors(remote, "vectors", np.arange(3), vectors)
    assert (open_vectors(remote, stored).rows(np.array([2, 0])) == vectors[[2, 0]]).all()
    FILES[remote.path(stored.path)] = (b"x" * stored.n_bytes, 0.0)
    with pytest.raises(DamagedFileError):
        open_vectors(remote, stored)


def test_leases(remote):
    with Lease(remote, "r1"):
        assert [lease.run for lease in live_runs(remote)] == ["r1"]
    assert FILES == {}


def test_publishing_says_what_it_needs(remote):
    assert read_pointer(remote) is None
    with pytest.raises(SettingsError, match=r"no conditional swap for corpusmill-memory://.*local disk"):
        check_publishable(remote)
    with pytest.raises(SettingsError, match="local disk"):
        swap_pointer(remote, None, Pointer("v1", "0" * 64))


def test_answers_on_any_scheme(remote):
    for number in range(4):
        AnswerStore(remote).put([(f"{number:064x}", ask_for(str(number)), Answer(f"answer {number}"))])
    keys = [f"{number:064x}" for number in range(5)]
    reader = AnswerStore(remote)
    found = reader.find(keys).values()
    assert sorted(stored.answer().text for stored in found) == [f"answer {number}" for number in range(4)]
    assert merge_segments(remote, more_than=2) == 4
    assert len(reader.find(keys)) == 4 == len(AnswerStore(remote).find(keys)) and not reader.counts
    (path,) = FILES
    FILES[path] = (FILES[path][0][:-1], 0.0)
    damaged = AnswerStore(remote)
    assert damaged.find(keys) == {} and damaged.counts == {"damaged_answer_files": 1}
