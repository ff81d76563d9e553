"""A store that a trial can write to without a trace: files are read from the root, and written to a scratch folder."""

from dataclasses import dataclass

from models.errors import StoreError
from transforms.store.disks import Data, LocalDisk
from transforms.store.files import Store, StoredFile, checked_path
from transforms.store.manifest import FileEntry

_PREFIX = "dry:"
_SEPARATOR = "|"


@dataclass(frozen=True)
class DryStore(Store):
    """Its `root` names both folders, as `dry_root` joins them, so that it survives wherever a root's name does."""

    def __post_init__(self) -> None:
        if not is_dry(self.root):
            raise StoreError(f"{self.root} is no root of a dry run")

    @property
    def real(self) -> Store:
        """The store that is read, and never written."""
        return Store(self.root.partition(_SEPARATOR)[2])

    def path(self, relative: str) -> str:
        """Where a file is: the written one, if there is one, else that of the real root."""
        written = self._written(relative)
        return written if LocalDisk().stat(written) is not None else self.real.path(relative)

    def write(self, folder: str, suffix: str, data: Data, n_rows: int = 0) -> FileEntry:
        scratch = Store(self._scratch)
        return scratch.write(folder, suffix, data, n_rows)

    def write_named(self, relative: str, data: Data) -> None:
        Store(self._scratch).write_named(relative, data)

    def list(self, folder: str, temporary: bool = False) -> list[StoredFile]:
        """The files of the real root; what was written is the trial's own."""
        return self.real.list(folder, temporary)

    def delete(self, relatives: object) -> None:
        raise StoreError("a dry run deletes nothing")

    def delete_folder(self, relative: str) -> None:
        raise StoreError("a dry run deletes nothing")

    @property
    def _scratch(self) -> str:
        return self.root.partition(_SEPARATOR)[0].removeprefix(_PREFIX)

    def _written(self, relative: str) -> str:
        return f"{self._scratch}/{checked_path(relative)}"


def dry_root(scratch: str, root: str) -> str:
    """The name of a root under which `root` is read and `scratch`, a local folder, is written."""
    if _SEPARATOR in scratch:
        raise StoreError(f"{scratch} cannot be a scratch folder: its name has a {_SEPARATOR}")
    return f"{_PREFIX}{scratch}{_SEPARATOR}{root}"


def is_dry(root: str) -> bool:
    """Whether `root` was made by `dry_root`."""
    return root.startswith(_PREFIX) and _SEPARATOR in root
