"""The small records that cross shuffles: places, ids and counts, never texts or vectors.

Every record is a `Record`; PCollections are typed with that base class, so that one deterministic coder serves
all of them. Paths are relative to the store's root; `first` and `count` are row ranges in the file at a path.
"""

import msgspec

from transforms.store.manifest import DocumentShard, FileEntry, Shard, Training


class Record(msgspec.Struct, frozen=True, array_like=True, tag=True, tag_field="kind"):
    """Base of everything that crosses a shuffle."""


class FileToRead(Record, frozen=True):
    """A listed object that is new, changed, not trusted or to be tried again.

    `rows_file` lists what is known of a table's rows, and `retry` those that count as unknown: an empty uri stands for
    all of them.
    """

    file: str
    size: int
    stamp: str
    rows_file: str = ""
    retry: tuple[str, ...] = ()


class FileGone(Record, frozen=True):
    """A known object that the listing lacks."""

    file: str
    rows_file: str = ""


class ReadItem(Record, frozen=True):
    """Files that one worker reads in one go: many small ones or one large one."""

    files: tuple[FileToRead, ...]


class FileSeen(Record, frozen=True):
    """What became of one object. One that failed as a whole has `failed` and keeps what was known of it.

    `n_listed` counts the documents found in it, good or bad. A negative `size` says that the object is gone.
    """

    file: str
    size: int
    stamp: str
    trusted: bool
    format: str
    is_table: bool
    n_documents: int
    n_unchanged: int = 0
    rows_file: str = ""
    rows_bytes: int = 0
    rows_count: int = 0
    failed: bool = False
    n_listed: int = 0


class DocumentRead(Record, frozen=True):
    """A document as read: new, changed or perhaps the same. `content_id` is empty for a document without text.

    Metadata that is too long to travel is the row `metadata_row` of the scratch file at `metadata_path`. `n_parts` are
    the units that its blocks are expected to give where they decide the cuts, else 0.
    """

    uri: str
    file: str
    row: int
    content_id: str
    n_chars: int
    path: str
    path_row: int
    metadata: str
    seconds: float
    metadata_path: str = ""
    metadata_row: int = -1
    n_parts: int = 0


class DocumentGone(Record, frozen=True):
    """A known document that its file no longer holds."""

    uri: str
    file: str


class Failure(Record, frozen=True):
    """A dead letter. Where one unit (`vector_id`) alone is bad, `n_of` tells how many units its content has.

    `is_served` says that a request to a language model failed, and that the content was made in another way.
    """

    stage: str
    reason: str
    uri: str = ""
    file: str = ""
    content_id: str = ""
    detail: str = ""
    vector_id: int = -1
    n_of: int = 0
    is_served: bool = False


class Note(Record, frozen=True):
    """A counted outcome that costs no document, such as replaced characters (in `file`) or moved cuts."""

    outcome: str
    count: int
    file: str = ""


class ContentChange(Record, frozen=True):
    """References that a content gained or lost. A loss has the content that replaced it as `cause`, if any did."""

    content_id: str
    n_documents: int
    cause: str = ""
    uri: str = ""
    n_chars: int = 0
    path: str = ""
    path_row: int = -1
    former: str = ""
    is_loss: bool = False
    n_parts: int = 0


class ChangesWritten(Record, frozen=True):
    """Where the content changes of one content shard lie: a range of bytes of a scratch file."""

    path: str
    offset: int
    n_bytes: int


class LeftoverVectors(Record, frozen=True):
    """A file of vectors that an interrupted run finished, with contents of the shard it is keyed by."""

    path: str


class TouchShard(Record, frozen=True):
    """Asks for a shard to be looked at although none of its documents changed."""


class Several(Record, frozen=True):
    """Records of one key that came about together, since many small elements cost more than one larger one."""

    records: tuple["Records", ...]


class SeveralWritten(Record, frozen=True):
    """Where `Several` of one key lie: a range of bytes of a scratch file."""

    path: str
    offset: int
    n_bytes: int


class WorkEntry(Record, frozen=True):
    """One content to cut (`path` is a file of snapshots) or only to encode (`path` is a segment of units).

    `uri` names the document that brought it, if one of this run did.
    """

    content_id: str
    shard: int
    stage: str
    path: str
    first: int
    count: int
    n_chars: int
    former: str = ""
    leftovers: tuple[str, ...] = ()
    uri: str = ""
    n_parts: int = 0


class WorkItem(Record, frozen=True):
    """Contents that one worker cuts in one go."""

    entries: tuple[WorkEntry, ...]


class UnitsWritten(Record, frozen=True):
    """A scratch file of units that holds contents of the shard it is keyed by."""

    path: str


class EncodeItem(Record, frozen=True):
    """Rows of a scratch file of units that one encoder call turns into vectors. `shards` are those of its contents."""

    path: str
    first: int
    count: int
    n_tokens: int
    shards: tuple[int, ...]


class VectorsWritten(Record, frozen=True):
    """A scratch file of vectors that holds contents of the shard it is keyed by."""

    path: str


class GuardCount(Record, frozen=True):
    """What the guards add up before anything is paid for. `reasons` are those of failures, `examples` a few of them.

    Documents without text have no content to follow, so those that went and those that came are counted apart. `parts`
    are those of the `parts_contents`, of so many `parts_chars`, whose blocks decide the cuts.
    """

    vanished: int = 0
    listed: int = 0
    failed: int = 0
    work_chars: int = 0
    reasons: dict[str, int] = {}
    examples: tuple[str, ...] = ()
    n_empty_gone: int = 0
    n_empty_new: int = 0
    work_contents: int = 0
    parts: int = 0
    parts_chars: int = 0
    parts_contents: int = 0


class DocumentShardWritten(Record, frozen=True):
    """A shard of the documents table as the new version will list it, with the outcomes of its documents.

    `restamped` is there where nothing but stamps of objects changed: how many objects need not be read again now that
    did before, and their bytes.
    """

    index: int
    shard: DocumentShard
    outcomes: dict[str, int]
    seconds: float = 0.0
    ledger: tuple[FileEntry, ...] = ()
    failures: tuple[FileEntry, ...] = ()
    restamped: tuple[int, int] | None = None


class ShardWritten(Record, frozen=True):
    """A content shard whose segments are written and whose index is not. `totals` are sums of its ledger rows.

    `outcomes` and `failures` are about documents that were not read, whose known content could not be made anew.
    """

    index: int
    shard: Shard
    totals: dict[str, float]
    ledger: tuple[FileEntry, ...] = ()
    outcomes: dict[str, int] = {}
    failures: tuple[FileEntry, ...] = ()


class FillItem(Record, frozen=True):
    """A content shard whose index is to be updated, or filled afresh from `training` (none: a flat index).

    `drift` is that of all new vectors under the stored training, none where there was no such training.
    """

    index: int
    shard: Shard
    afresh: bool
    training: Training | None = None
    drift: float | None = None


class ShardFilled(Record, frozen=True):
    """A content shard with its index, and the seconds that it took."""

    index: int
    shard: Shard
    seconds: float = 0.0
    training: Training | None = None
    drift: float | None = None


Records = (
    FileToRead | FileGone | ReadItem | FileSeen | DocumentRead | DocumentGone | Failure | Note
    | ContentChange | ChangesWritten | LeftoverVectors | TouchShard | WorkEntry | WorkItem | UnitsWritten | EncodeItem
    | VectorsWritten | GuardCount | DocumentShardWritten | ShardWritten | FillItem | ShardFilled | Several
    | SeveralWritten
)  # fmt: skip
