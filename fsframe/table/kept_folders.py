"""Data derived from a table in parts, kept in folders beside it: sealed, and checked when used.

A folder beside a table comes with the table, others may be able to write to it, and its content
decides results. Therefore nothing in it is used unless this user has written it:

* the name of a folder, and the seal of its index, depend on a key that only this user has
  (`user_key`); the index holds size and SHA-256 of all other files;
* nothing is parsed before its seal has been verified, only regular files are read, and none that is
  larger than it should be;
* a folder that somebody else can write to is not used at all (`fsframe.kernels.compiled`).

Whatever does not match is computed again, with a remark.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import io
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.kernels import in_threads
from fsframe.system import create_file, distrust_folder, open_for_reading, user_number
from fsframe.text import remark

_INDEX = "index"
_HEAD = re.compile(rb"fsframe-kept 1 ([0-9a-f]{64})\n")
_HEAD_BYTES = len("fsframe-kept 1 \n") + 64
_KEY_BYTES = 32
_FILE_NAME = re.compile(r"[a-z0-9]{1,20}(\.[a-z]{1,8})?")


class Unsound(Exception):
    """A kept file is not what this user has written; the text says why, after its name."""


def user_key() -> bytes | None:
    """The key that seals what this user keeps beside tables; None if there is no place for it.

    32 random bytes in ``fsframe/parts.key`` in the user's cache folder (``XDG_CACHE_HOME``,
    ``~/.cache``), which nobody else can read; created on first use. If it is lost, the data are
    computed again.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    # Without a home directory, `~` stays in the path.
    return _key_in(Path(cache) / "fsframe" / "parts.key") if os.path.isabs(cache) else None


@cache
def _key_in(path: Path) -> bytes | None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = distrust_folder(path.parent, _owners())
        if reason:
            raise PermissionError(errno.EPERM, f"the folder {reason}")
        return _stored_key(path) or _new_key(path)
    except (OSError, Unsound) as error:
        reason = getattr(error, "strerror", "") or str(error)
        remark(f"nothing is kept beside tables, since {path} cannot be kept: {reason}")
        return None


def _stored_key(path: Path) -> bytes | None:
    """The key in a file; None if there is none, or others could read or write it."""
    try:
        with _open_regular(path) as file:
            state = os.fstat(file.fileno())
            if state.st_uid != user_number() or stat.S_IMODE(state.st_mode) & 0o077:
                return None
            key = file.read(_KEY_BYTES + 1)
    except (FileNotFoundError, Unsound):
        return None
    return key if len(key) == _KEY_BYTES else None


def _new_key(path: Path) -> bytes | None:
    sibling = path.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        with open(create_file(sibling, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
        if os.path.lexists(path):
            os.replace(sibling, path)
        else:
            # If several processes create a key, the first one counts.
            with contextlib.suppress(FileExistsError):
                os.link(sibling, path)
    finally:
        with contextlib.suppress(OSError):
            sibling.unlink(missing_ok=True)
    key = _stored_key(path)
    if key is None:
        raise Unsound("it is not a file of yours that nobody else can read")
    return key


_THIS_PROCESS = secrets.token_bytes(_KEY_BYTES)
"""The key if there is no `user_key`; then nothing outlasts this process."""


def _owners() -> frozenset[int]:
    me = user_number()
    return frozenset() if me is None else frozenset({me, 0})


def _hmac(purpose: str, content: bytes | memoryview) -> str:
    code = hmac.new(user_key() or _THIS_PROCESS, purpose.encode() + b"\0", "sha256")
    code.update(content)
    return code.hexdigest()


def seal(content: bytes, purpose: str) -> bytes:
    """`content` with a seal before it, which `open_sealed` accepts for the same purpose only."""
    return f"fsframe-kept 1 {_hmac(purpose, content)}\n".encode() + content


def open_sealed(path: Path, purpose: str, most: int) -> bytes | None:
    """The content of a sealed file; None if there is no file.

    Parameters
    ----------
    path : Path
    purpose : str
        As given to `seal`.
    most : int
        Most bytes to read.

    Raises
    ------
    Unsound
        If the file is damaged, longer than `most`, or not sealed by this user for this purpose.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as home:
    ...     path = Path(home, "kept")
    ...     _ = path.write_bytes(seal(b"codes", "table 1"))
    ...     open_sealed(path, "table 1", 100)
    b'codes'
    """
    try:
        with _open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > most + _HEAD_BYTES:
                raise Unsound(f"is larger than {most} bytes")
            content = file.read(most + _HEAD_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unsound(f"cannot be read: {error.strerror or error}") from None
    head = _HEAD.match(content)
    if head is None:
        raise Unsound("has no seal")
    body = memoryview(content)[head.end() :]
    if not hmac.compare_digest(_hmac(purpose, body).encode(), head[1]):
        raise Unsound("has another seal")
    return bytes(body)


def _open_regular(path: Path) -> io.BufferedReader:
    """A file opened for reading; Unsound for links, pipes, devices and folders."""
    try:
        number = open_for_reading(path, follow=False)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unsound("is a link") from None
        raise
    file = open(number, "rb")  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(number).st_mode):
        file.close()
        raise Unsound("is not a regular file")
    return file


def remark_untrusted(path: Path, reason: object) -> None:
    """Report, once for each file, that it is not used."""
    _note(f"{path} {reason}: what it should hold is computed again")


@cache
def _note(text: str) -> None:
    remark(text)


def arrays_as_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays as an NPZ file without compression."""
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def arrays_in_bytes(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays that `arrays_as_bytes` has written; Unsound if it is something else."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # Whole members, whose checksums are verified before they are parsed.
            files = {name: io.BytesIO(archive.read(name)) for name in archive.namelist()}
        return {name.removesuffix(".npy"): npy.read_array(file) for name, file in files.items()}
    except (
        OSError, ValueError, TypeError, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile
    ) as error:  # fmt: skip
        raise Unsound(f"holds no arrays ({type(error).__name__})") from None


class HashingWriter:
    """Writes a file and computes its SHA-256.

    It does not wait for the disk: what a power cut destroys is noticed by the digest, and computed
    again.
    """

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")
        self.size = 0
        self.sha256 = hashlib.sha256()

    def __enter__(self) -> HashingWriter:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None and not self.size:
            # An empty file cannot be mapped.
            self.write(bytes(64))
        self.file.close()

    def write(self, content: Any) -> None:
        """Append bytes."""
        self.size += self.file.write(content)
        self.sha256.update(content)

    @property
    def mark(self) -> tuple[int, str]:
        """Number and SHA-256 of the bytes written, the latter in hexadecimal."""
        return self.size, self.sha256.hexdigest()


def write_index(
    made: Path,
    key: str,
    arrays: Mapping[str, NDArray[Any]],
    files: Mapping[str, tuple[int, str]],
) -> None:
    """Write the arrays that describe a folder, and the `mark` of each of its other files by name.

    `key` is a digest of everything that the content depends on.
    """
    listing = json.dumps(files).encode() + b"\n"
    with (made / _INDEX).open("wb") as file:
        file.write(seal(listing + arrays_as_bytes(arrays), f"index {key}"))


def read_index(
    folder: Path, key: str, most: int, threads: int = 1
) -> tuple[dict[str, NDArray[Any]], list[str]] | None:
    """The arrays that describe a folder, and the names of its other files.

    All files are read and digested, in several threads.

    Parameters
    ----------
    folder : Path
    key : str
    most : int
        Most bytes of the arrays.
    threads : int

    Returns
    -------
    tuple, or None
        None if the folder is missing. If it has another key, or a file of it is missing, damaged or
        not of this user, a remark says so, and None is returned, too.
    """
    checked = folder / _INDEX
    try:
        content = open_sealed(checked, f"index {key}", most)
        if content is None:
            return None
        listing, _, packed = content.partition(b"\n")
        files = _listed(listing)
        arrays = arrays_in_bytes(packed)
        checked = folder
        in_threads(threads, partial(_check_file, folder), list(files.items()))
        return arrays, list(files)
    except Unsound as error:
        remark_untrusted(checked, error)
        return None


def kept_arrays(
    folders: Path,
    name: str,
    key: list[Any],
    make: Callable[[Path, str], dict[str, NDArray[Any]]],
    check: Callable[[dict[str, NDArray[Any]], list[str]], bool],
    *,
    most: int,
    threads: int,
    what: str,
    table: str,
    size: str,
) -> tuple[Path, dict[str, NDArray[Any]]]:
    """A folder of derived data and the arrays that describe it: those kept, or new ones.

    Parameters
    ----------
    folders : Path
        Where the folder is; its name begins with `name`.
    key : list
        Everything that the data depend on.
    make : callable
        Writes the folder (`made_whole`, `write_index`), given its path and key; returns the arrays.
    check : callable
        Whether kept arrays and the names of the other files are what `make` can have written.
    most, threads : int
        As for `read_index`.
    what, table, size : str
        For messages: what is kept, of which table, and how much it takes.

    Raises
    ------
    DataError
        If they cannot be written.
    """
    digest = hashlib.sha256(json.dumps(key, default=str).encode()).hexdigest()
    folder = folders / f"{name}-{digest[:24]}"
    index = read_index(folder, digest, most, threads)
    if index is not None:
        with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
            if check(*index):
                return folder, index[0]
        remark_untrusted(folder, f"holds {what} of another table")
    try:
        return folder, make(folder, digest)
    except OSError as error:
        raise DataError(
            f"{what} of {table} cannot be kept in {folders}: {error.strerror or error}; "
            f"they need {size}"
        ) from error


def label_digest(y: NDArray[np.int64]) -> str:
    """SHA-256 of class codes, for a key."""
    return hashlib.sha256(np.ascontiguousarray(y, dtype="<i8").tobytes()).hexdigest()


def _listed(listing: bytes) -> dict[str, tuple[int, str]]:
    """The files that an index names, with size and SHA-256."""
    try:
        files = {
            name: (int(size), str(digest)) for name, (size, digest) in json.loads(listing).items()
        }
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise Unsound("lists no files") from None
    if not all(_FILE_NAME.fullmatch(name) for name in files):
        raise Unsound("lists files of other names")
    return files


def _check_file(folder: Path, listed: tuple[str, tuple[int, str]]) -> None:
    name, (size, digest) = listed
    try:
        with _open_regular(folder / name) as file:
            sound = os.fstat(file.fileno()).st_size == size
            sound = sound and hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError as error:
        raise Unsound(f"lacks {name} ({error.strerror or error})") from None
    except Unsound as error:
        raise Unsound(f"has {name}, which {error}") from None
    if not sound:
        raise Unsound(f"has {name}, which is damaged")


@contextlib.contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
    """A new folder to write to, which replaces `folder` if the block ends without an error.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with made_whole(Path(home) / "kept") as new:
    ...         write_index(new, "key", {"a": np.arange(3)}, {})
    ...     read_index(Path(home) / "kept", "key", 1000)
    ({'a': array([0, 1, 2])}, [])
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        yield made
        _place(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _place(made: Path, folder: Path) -> None:
    """Move a finished folder to its place, and remove what was there."""
    for _ in range(2):
        try:
            made.rename(folder)
            return
        except OSError:
            # The folder there was found damaged, or another process has just put it there.
            aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".old-"))
            with contextlib.suppress(OSError):
                folder.rename(aside / "codes")
            shutil.rmtree(aside, ignore_errors=True)
    made.rename(folder)


def kept_folder(home: Path | None, identity: str, note: Callable[[str], Any]) -> tuple[Path, Any]:
    """The folder for data derived from a table, and an object that keeps it in existence.

    Parameters
    ----------
    home : Path, optional
        The folder beside the table; by default a temporary folder.
    identity : str
        Everything that distinguishes this table, and how it is read, from others.
    note : callable
        Called with a text if `home` cannot be used; then the folder is a temporary one.
    """
    if home is None or user_key() is None:
        return temporary_folder()
    folder = Path(os.path.abspath(home)) / _hmac("folder", identity.encode())[:24]
    reason = ""
    try:
        for made in (folder.parent, folder):
            made.mkdir(mode=0o755, exist_ok=True)
            reason = reason or distrust_folder(made, _owners())
        usable = os.access(folder, os.W_OK) and not reason
    except OSError:
        usable = False
    if usable:
        return folder, None
    if reason:
        note(
            f"{folder.parent} {reason}: it is not used; remove it, or make it writable by you alone"
        )
    else:
        note(f"{folder.parent.parent} cannot be written to: nothing is kept of the table there")
    return temporary_folder()


def temporary_folder(parent: Path | None = None) -> tuple[Path, Any]:
    """A temporary folder, in `parent` if given, and an object together with which it is removed."""
    temporary = tempfile.TemporaryDirectory(prefix=".fsframe-parts-", dir=parent)
    owner = _Owner()
    weakref.finalize(owner, temporary.cleanup)
    return Path(temporary.name), owner


class _Owner:
    """Lives as long as a table whose folder is temporary."""
