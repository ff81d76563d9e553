"""How records are written: MessagePack, equal bytes for equal records. Importing it registers the coder with Beam."""

from typing import Any

import apache_beam as beam
import msgspec
import pyarrow as pa

from transforms.records import Record, Records

_ENCODER = msgspec.msgpack.Encoder(order="deterministic")
_DECODER: msgspec.msgpack.Decoder[Records] = msgspec.msgpack.Decoder(Records)


_LEAST_COMPRESSED_BYTES = 256
_RAW, _ZSTD = b"\x00", b"\x01"


class RecordCoder(beam.coders.Coder):
    """MessagePack for any `Record`, compressed where that pays: paths of one run are much alike.

    Unlike Beam's fallback it is no pickle, and equal records give equal bytes.
    """

    def encode(self, value: Record) -> bytes:
        data = _ENCODER.encode(value)
        if len(data) < _LEAST_COMPRESSED_BYTES:
            return _RAW + data
        packed = _codec().compress(data, asbytes=True)
        return _ZSTD + len(data).to_bytes(4, "big") + packed

    def decode(self, encoded: bytes) -> Record:
        if encoded[:1] == _RAW:
            return _DECODER.decode(memoryview(encoded)[1:])
        n_bytes = int.from_bytes(encoded[1:5], "big")
        return _DECODER.decode(_codec().decompress(memoryview(encoded)[5:], n_bytes))

    def is_deterministic(self) -> bool:
        return True

    def to_type_hint(self) -> Any:
        return Record

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecordCoder)

    def __hash__(self) -> int:
        return hash("RecordCoder")


def _codec() -> pa.Codec:
    """A codec holds a context that two threads must not use at once; making one costs a microsecond."""
    return pa.Codec("zstd", compression_level=1)


beam.coders.registry.register_coder(Record, RecordCoder)
