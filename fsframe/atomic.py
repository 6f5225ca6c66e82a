"""Atomic file writes: a temporary file beside the target is synced, checked, then renamed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fsframe.errors import StoreError
from fsframe.system import STREAM_FOLDERS, create_file

_PathLike = str | os.PathLike[str]
_KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


@contextlib.contextmanager
def as_store_errors(what: str, advice: str = "") -> Iterator[None]:
    """Turn errors of the system into StoreErrors: `what` failed, such as "cannot read a.h5", the
    system's reason, and `advice`, which begins with a semicolon."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{what}: {error.strerror or error}{advice}") from error


_ENDINGS = frozenset(
    {".csv", ".tsv", ".tab", ".txt", ".md", ".tex", ".json", ".xlsx", ".xls", ".parquet"}
    | {".feather", ".html", ".htm", ".pdf", ".png", ".svg", ".jpg", ".jpeg"}
)


def check_destination(
    path: _PathLike, *, overwrite: bool = False, apart_from: Iterable[_PathLike | None] = ()
) -> Path:
    """Check that a file can be written, and return its path; call this before long work.

    Parameters
    ----------
    path : path
        Path of the file; a symbolic link stands for its target.
    overwrite : bool
        Whether an existing file may be replaced.
    apart_from : paths
        Files that are also read or written and must not be replaced, by any name or link. None and
        missing files are ignored.

    Returns
    -------
    Path
        Absolute, without symbolic links.

    Raises
    ------
    StoreError
        If the folder is missing or not writable; the path is a folder, a device, a pipe or one of
        `apart_from`; or the file exists and `overwrite` is false.
    """
    stream = _is_stream(path)
    if stream:
        raise StoreError(f"cannot write {os.fspath(path)}: it is {stream}; name a file")
    target = Path(os.path.realpath(path))
    for other in apart_from:
        if other is not None and _same_file(target, other):
            raise StoreError(
                f"cannot write {os.fspath(path)}: it is the same file as {os.fspath(other)}, which "
                "this command uses too; name another file"
            )
    folder = target.parent
    if not folder.is_dir():
        raise StoreError(f"cannot write {os.fspath(path)}: there is no folder {folder}")
    if target.is_dir():
        raise StoreError(f"cannot write {os.fspath(path)}: it is a folder; name a file")
    if not overwrite and os.path.lexists(target):
        raise existing_file(target)
    effective = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise StoreError(
            f"cannot write {os.fspath(path)}: no permission to write in {folder}; "
            "choose another folder"
        )
    return target


def check_ending(path: _PathLike, *endings: str, holds: str, instead: str) -> None:
    """Refuse a file name whose ending stands for another kind of file.

    Parameters
    ----------
    path : path
    endings : str
        Accepted endings, such as ``.h5``. Unknown endings are accepted too.
    holds, instead : str
        For the message: what would be written, and how to get a file of the other kind; ``{}``
        stands for `path`.

    Raises
    ------
    StoreError
        If the ending is that of a table, a text, a page or a picture, and not one of `endings`.

    Examples
    --------
    >>> check_ending("run.v2", ".h5", holds="a run file", instead="")
    """
    name = os.fspath(path)
    ending = os.path.splitext(name)[1].lower()
    if ending in _ENDINGS and ending not in endings:
        raise StoreError(
            f"cannot write {holds} to {name}: "
            + (f"end its name in {endings[0]}; " if endings else "name a folder; ")
            + instead.format(name)
        )


def place_file(
    path: str | os.PathLike[str],
    content: bytes,
    *,
    overwrite: bool = False,
    apart_from: Iterable[_PathLike | None] = (),
    check: Callable[[Path], None] | None = None,
) -> Path:
    """Write a file atomically and return its path; no reader sees part of `content`.

    Parameters
    ----------
    path : path
        Path of the file.
    content : bytes
        The whole content.
    overwrite : bool
        Whether an existing file may be replaced. If not, a file that appears while this one
        is being written is left alone too.
    apart_from : paths
        As in `check_destination`.
    check : callable, optional
        Called with the path of the written and synced temporary file; an exception stops the move.

    Returns
    -------
    Path
        Absolute, without symbolic links.

    Raises
    ------
    StoreError
        If the file cannot be written, or exists already. The temporary file is removed.

    Notes
    -----
    If killed at any point, the old file is unchanged or the new one is complete; at most a
    temporary file ``.NAME.….partial`` is left (and an empty file of a new name where there are no
    hard links).
    """
    target = check_destination(path, overwrite=overwrite, apart_from=apart_from)
    sibling = target.with_name(f".{target.name[:200]}.{os.getpid()}-{secrets.token_hex(4)}.partial")
    try:
        try:
            _write_synced(sibling, content)
            if check is not None:
                check(sibling)
            if overwrite:
                os.replace(sibling, target)
            else:
                _move_without_replacing(sibling, target)
        finally:
            # A failure to remove it does not change whether the target was written.
            with contextlib.suppress(OSError):
                os.unlink(sibling)
        _sync_folder(target.parent)
    except FileExistsError:
        raise existing_file(target) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(
            f"cannot write {target}: {reason}; free space or choose another place, then try again"
        ) from error
    return target


def _is_stream(path: _PathLike) -> str:
    """The kind of a path that cannot be replaced by a file; empty if it can.

    >>> _is_stream("-"), _is_stream("/dev/null"), _is_stream("table.csv")
    ('a stream', 'a device', '')
    """
    # /dev/stdout resolves to a file if the output is redirected, but the stream is meant.
    if os.fspath(path) == "-" or os.path.abspath(path).startswith(STREAM_FOLDERS):
        return "a stream"
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    return _KINDS.get(stat.S_IFMT(mode), "")


def _same_file(target: Path, other: _PathLike) -> bool:
    """Whether two paths, either of which may not exist yet, are the same file."""
    if os.path.realpath(other) == str(target):
        return True
    try:
        return os.path.samestat(os.stat(target), os.stat(other))
    except (OSError, ValueError):
        return False


def existing_file(
    target: _PathLike,
    reasons: Sequence[str] = (),
    instead: str = "choose another name, or allow replacing it (overwrite=True, --overwrite)",
) -> StoreError:
    """The error for an existing file; `reasons` say why it is not what was asked for."""
    why = f", since {'; '.join(reasons)}" if reasons else ""
    return StoreError(f"{os.fspath(target)} already exists and was left unchanged{why}; {instead}")


def _write_synced(path: Path, content: bytes) -> None:
    descriptor = create_file(path)
    try:
        view = memoryview(content)
        while view:
            # One call moves at most 2 GiB on Linux.
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _move_without_replacing(sibling: Path, target: Path) -> None:
    try:
        os.link(sibling, target)
    except FileExistsError:
        raise
    except OSError:
        # File systems without hard links: claim the name first, then replace the claim.
        descriptor = create_file(target)
        claim = os.fstat(descriptor)
        try:
            os.close(descriptor)
            os.replace(sibling, target)
        except OSError:
            with contextlib.suppress(OSError):
                if os.path.samestat(os.stat(target), claim):
                    os.unlink(target)
            raise


def _sync_folder(folder: Path) -> None:
    # Some systems cannot open folders, and some network file systems cannot sync them.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


RECORD = ".fsframe-files.json"
"""Name of the file that lists the SHA-256 of each file as written."""


def check_tracked_files(
    folder: Path, contents: Mapping[str, bytes | None], *, overwrite: bool
) -> None:
    """Refuse to replace files that `place_tracked_files` did not write, or that were changed since.

    `contents` maps names to contents, or to None where the content is not known yet. The StoreError
    names every such file; with `overwrite`, any file may be replaced.
    """
    if overwrite or not folder.is_dir():
        return
    known, foreign = _known(folder), []
    for name, content in contents.items():
        path = folder / name
        if not path.exists() and not path.is_symlink():
            continue
        try:
            present = path.read_bytes()
        except OSError:
            foreign.append(name)
            continue
        if present != content and hashlib.sha256(present).hexdigest() != known.get(name):
            foreign.append(name)
    if foreign:
        raise StoreError(
            f"{folder} holds {', '.join(foreign)}, which this study did not write or which were "
            "changed since; nothing was replaced. Move them, choose another folder (--out), or "
            "replace them (--overwrite)"
        )


def place_tracked_files(folder: Path, contents: Mapping[str, bytes], *, overwrite: bool) -> None:
    """Write files and record their digests, or write none if `check_tracked_files` refuses one."""
    check_tracked_files(folder, contents, overwrite=overwrite)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    # Before the files: if killed in between, an unrecorded file would be considered foreign.
    record = json.dumps({**_known(folder), **digests}, indent=1)
    place_file(folder / RECORD, record.encode(), overwrite=True)
    for name, content in contents.items():
        path = folder / name
        if not (path.is_file() and path.read_bytes() == content):
            place_file(path, content, overwrite=True)


def _known(folder: Path) -> dict[str, str]:
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
