"""Small text files that a person wrote, read with a bound and with one line about what is wrong."""

from pathlib import Path

from models.errors import SettingsError


def read_text(path: Path, max_bytes: int, remedy: str) -> str:
    """The UTF-8 text of a file; a byte order mark is dropped.

    :param remedy: what to do about a file over `max_bytes`.
    :raises SettingsError: in one line: the file cannot be read, is too large or is not UTF-8.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except OSError as error:
        raise SettingsError(f"{str(path)!a} cannot be read: {error.strerror}; name a file that is there") from error
    if len(data) > max_bytes:
        raise SettingsError(f"{str(path)!a} is over {max_bytes} bytes; {remedy}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{str(path)!a} is not UTF-8 (byte {error.start}); save it as UTF-8") from error
