"""Compile functions, and keep their machine code on disk."""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import hashlib
import io
import os
import pickle
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import llvmlite
import numba
from numba.core import config, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.environment import Environment, _rebuild_env, lookup_environment
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from fsframe.system import (
    UNKNOWN,
    create_file,
    distrust,
    distrust_folder,
    in_worker,
    trusted_owners,
    user_number,
)
from fsframe.text import remark, ticking

_HEAD = re.compile(rb"fsframe-kernel 1\nsha256 ([0-9a-f]{64})\n")
_SUFFIX = ".kernel"
_SHARED = "FSFRAME_KERNELS"


class _Results(CompileResultCacheImpl):  # type: ignore[misc]
    """numba's conversion of a compiled function to bytes and back."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._lineno = function.__code__.co_firstlineno
        # The source that numba names in its warnings.
        self._locator = SimpleNamespace(_py_file=function.__code__.co_filename)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The compiled forms of one function, cached for later processes; replaces numba's cache.

    If a file cannot be read, the function is compiled.

    Parameters
    ----------
    function : callable
        The Python function.

    Notes
    -----
    A file holds ``fsframe-kernel 1``, the SHA-256 of the rest, and a pickle of the key and the
    object code. Its name has the digest of the sources (every module of the function's folder) and
    of the key: signature, processor, byte code, versions of numba and llvmlite. Files of the same
    function from other sources are removed when a new one is written.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_func = function
        self._name = repr(function)
        self._impl = _Results(function)
        self._file = Path(os.path.abspath(function.__code__.co_filename))
        self.enable()

    @property
    def cache_path(self) -> str:
        """The first cache folder."""
        return str(next(iter(_folders(self._file)), ""))

    def flush(self) -> None:
        """Remove the files of this function from all cache folders."""
        for folder in _folders(self._file):
            _remove(folder, self._stem())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The cached code of the signature, or None."""
        if not self._enabled:
            return None
        key, name = self._named(sig, target_context.codegen())
        for folder in _folders(self._file):
            path = folder / name
            # A damaged file, or one of another build, may make numba raise anything.
            try:
                code = _opened(path, key, trusted_owners(self._file))
                if code is not None:
                    _ready_to_link(target_context, code)
                    return self._impl.rebuild(target_context, code)
            except Exception:
                with contextlib.suppress(OSError):
                    os.unlink(path)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compiled code in the first writable folder."""
        if not self._enabled or not self._impl.check_cachable(data):
            return
        try:
            key, name = self._named(sig, data.codegen)
            content = _sealed(key, self._impl.reduce(data))
        except Exception as error:  # numba cannot serialise it; this process can use it.
            _note(f"compiled kernels are not cached ({type(error).__name__}: {error})")
            return
        refused = ""
        for folder in _writable(self._file):
            try:
                _place(folder, name, content, trusted_owners(self._file))
            except OSError as error:
                refused = refused or f"{folder}: {error.strerror or error}"
                _REFUSED.add(folder)
                continue
            lasting = str(folder) != os.environ.get(_SHARED)
            KEPT[str(folder) if lasting else ""] += 1
            if refused and not lasting:
                _note(
                    f"compiled kernels are cached in a temporary folder only ({refused}); set "
                    "NUMBA_CACHE_DIR to a folder for them"
                )
            elif folder != _beside(self._file) or refused:
                _note_other_folder(folder)
            _remove(folder, self._stem(), except_for=_sources(self._file.parent))
            return
        KEPT[""] += 1
        _note(
            f"compiled kernels cannot be cached and are compiled in every process ({refused}); "
            "set NUMBA_CACHE_DIR to a folder for them"
        )

    def _stem(self) -> str:
        name = f"{self._file.stem}.{self._py_func.__qualname__}"
        plain = re.sub(r"[^\w.]", "", name)[:120]
        version = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        return f"{plain}-{self._py_func.__code__.co_firstlineno}.{version}-"

    def _named(self, sig: Any, codegen: Any) -> tuple[str, str]:
        """The key of a signature, and the name of its file."""
        key = repr((self._index_key(sig, codegen), numba.__version__, llvmlite.__version__))
        digest = hashlib.sha256(key.encode()).hexdigest()[:24]
        return key, f"{self._stem()}{_sources(self._file.parent)}-{digest}{_SUFFIX}"


def _ready_to_link(target_context: Any, code: Any) -> None:
    """Initialise what loaded machine code needs: numba's allocation of arrays.

    The rest, which takes a third of a second to import, is left to the first compilation, unless
    the code calls the one helper that is registered there (hashes of text).
    """
    rtsys.initialize(target_context)
    if b"_numba_hashsecret" in pickle.dumps(code):
        target_context.refresh()


KEPT: Counter[str] = Counter()
"""Number of kernels that this process stored by folder; under ``""`` those that it did not keep."""

_REFUSED: set[Path] = set()
"""Folders that could not be written to in this process; they are not tried again."""


def _sealed(key: str, payload: Any) -> bytes:
    body = dumps((key, payload))
    return f"fsframe-kernel 1\nsha256 {hashlib.sha256(body).hexdigest()}\n".encode() + body


def _opened(path: Path, key: str, owners: frozenset[int]) -> Any:
    """The code in a file; None if there is no file, or anyone but `owners` can have written it.

    Raises
    ------
    ValueError
        If the file is damaged, or has another key.
    """
    try:
        with path.open("rb") as file:
            # The open file is checked: the one at this path may be replaced at any time.
            reason = distrust(os.fstat(file.fileno()), owners)
            if reason:
                _note_distrusted(path, reason)
                return None
            content = file.read()
    except OSError:
        return None
    head = _HEAD.match(content)
    body = memoryview(content)[head.end() :] if head else b""
    if head is None or hashlib.sha256(body).hexdigest().encode() != head[1]:
        raise ValueError(f"{path} is damaged")
    stored_key, payload = _Code(io.BytesIO(body)).load()
    if stored_key != key:
        raise ValueError(f"{path} is of another kernel")
    return payload


class _Code(pickle.Unpickler):
    """Reads the code of a kernel without importing the numba modules that it was compiled in."""

    def find_class(self, module: str, name: str) -> Any:
        """The object that a pickle names; `_environment` makes environments."""
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """The environment of a compiled function: its constants, and the globals of its module.

    Compiled code without Python objects reads the constants only. Modules of numba, whose import
    takes up to 0.1 s, are therefore not imported; their globals hold only the name, by which the
    environment is stored again.
    """
    if module in sys.modules or not module.startswith("numba."):
        return _rebuild_env(module, constants, name)
    environment = lookup_environment(name)
    if environment is None:
        environment = Environment({"__name__": module})
        environment.consts[:] = constants
        environment.env_name = name
        Environment._memo[name] = environment
    return environment


def _place(folder: Path, name: str, content: bytes, owners: frozenset[int]) -> None:
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    # Another process can have created it, and some file systems give files to another user.
    reason = distrust_folder(folder, owners)
    if reason:
        raise PermissionError(errno.EPERM, reason)
    sibling = folder / f".{secrets.token_hex(8)}.partial"
    try:
        with open(create_file(sibling, 0o644), "wb") as file:
            file.write(content)
        os.replace(sibling, folder / name)
    finally:
        with contextlib.suppress(OSError):
            sibling.unlink(missing_ok=True)


def _remove(folder: Path, stem: str, except_for: str | None = None) -> None:
    """Remove the files of a function; with `except_for`, those of other sources only."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if not (name.startswith(stem) and name.endswith(_SUFFIX)):
                continue
            if except_for is None or not name.startswith(f"{stem}{except_for}-"):
                with contextlib.suppress(OSError):
                    os.unlink(folder / name)


def _folders(file: Path) -> Iterator[Path]:
    """The folders for kernels of a module that only trusted users can have written to."""
    owners = trusted_owners(file)
    if not owners:
        _note(f"compiled kernels are not kept, since a file {UNKNOWN}")
    for folder in _candidates(file) if owners else ():
        reason = distrust_folder(folder, owners)
        if reason:
            _note_distrusted(folder, reason)
        else:
            yield folder
    shared = os.environ.get(_SHARED)
    if shared and _is_ours(shared):
        yield Path(shared)


def _candidates(file: Path) -> Iterator[Path]:
    """The lasting folders for kernels of a module, by priority; none is created here."""
    inside = f"{file.parent.name}_{hashlib.sha256(os.fsencode(file.parent)).hexdigest()[:16]}"
    if _chosen():
        yield Path(os.path.abspath(_chosen())) / inside
    yield _beside(file)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    # Without a home directory, `~` stays in the path.
    if os.path.isabs(cache):
        yield Path(cache) / "fsframe" / "kernels" / inside


def _beside(file: Path) -> Path:
    """The folder for kernels of a module next to where it is installed.

    ``__pycache__`` next to the outermost package, not inside it: an uninstaller would leave the
    package's folder with the kernels, which would then hide the same package installed elsewhere.
    """
    package: list[str] = []
    folder = file.parent
    while (folder / "__init__.py").is_file():
        package.insert(0, folder.name)
        folder = folder.parent
    return folder.joinpath("__pycache__", ".".join(package))


def _chosen() -> str:
    """``NUMBA_CACHE_DIR``, or the same in numba's configuration file."""
    return str(getattr(config, "CACHE_DIR", "") or "")


def _writable(file: Path) -> Iterator[Path]:
    """The folders to try in turn; if all fail, a temporary one is created."""
    shared = os.environ.get(_SHARED)
    for folder in _folders(file):
        if folder not in _REFUSED and str(folder) != shared:
            yield folder
    temporary = _temporary()
    if temporary is not None:
        yield temporary


def _temporary() -> Path | None:
    """The temporary folder that this process shares with its workers, created on first use."""
    shared = os.environ.get(_SHARED)
    if shared and _is_ours(shared):
        return Path(shared)
    try:
        made = tempfile.mkdtemp(prefix="fsframe-kernels-")
    except OSError:
        return None
    os.environ[_SHARED] = made
    atexit.register(_remove_folder, made, os.getpid())
    return Path(made)


def _remove_folder(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: str) -> bool:
    """Whether no other user can write to the folder, since its content is executed."""
    try:
        state = os.lstat(folder)
    except OSError:
        return False
    ours = state.st_uid == user_number() and not state.st_mode & 0o077
    return stat.S_ISDIR(state.st_mode) and ours


def _note_other_folder(folder: Path) -> None:
    chosen = _chosen()
    if chosen and not folder.is_relative_to(os.path.abspath(chosen)):
        _note(f"NUMBA_CACHE_DIR={chosen} cannot be used; compiled kernels are cached in {folder}")


_DISTRUSTED: set[Path] = set()
"""The parents of folders and files that this process has reported as not used."""


def _note_distrusted(place: Path, reason: str) -> None:
    """Report that a folder or file is not used: once for all that are in the same folder."""
    if place.parent not in _DISTRUSTED:
        _DISTRUSTED.add(place.parent)
        _note(
            f"compiled kernels in {place} are not used, since it {reason}; remove it, or set "
            "NUMBA_CACHE_DIR to a folder that only you can write to"
        )


@cache
def _note(text: str) -> None:
    """Print a remark, once per process."""
    remark(text)


@lru_cache
def _sources(folder: Path) -> str:
    """Digest of name, modification time and size of every module of a folder, and of `bit_counts`.

    The kernels of `bit_counts` are part of kernels of several plugins.
    """
    shared = Path(__file__).with_name("bit_counts.py")
    with contextlib.suppress(OSError):
        states = [(path.name, path.stat()) for path in [*sorted(folder.glob("*.py")), shared]]
        text = repr([(name, state.st_mtime_ns, state.st_size) for name, state in states])
        return hashlib.sha256(text.encode()).hexdigest()[:16]
    return "unknown"


F = TypeVar("F", bound=Callable[..., Any])


def _first_to_announce(file: Path) -> bool:
    """Whether compilation is still to be announced for the folders of this module's kernels.

    A marker beside these folders, for this version of Python and numba, says that it was announced.
    If kernels can be kept nowhere, every process announces it.
    """
    name = f"fsframe-py{sys.version_info[0]}{sys.version_info[1]}-numba-{numba.__version__}"
    for folder in _writable(file):
        # One marker for all plugins: beside their folders, or in the temporary folder they share.
        place = folder if str(folder) == os.environ.get(_SHARED) else folder.parent
        marker = place / f"{name}.announced"
        try:
            place.mkdir(mode=0o755, parents=True, exist_ok=True)
            # Exclusively, so that a file or link of another user is not written to.
            os.close(create_file(marker, 0o644))
        except OSError:
            if os.path.exists(marker):
                return False
            continue
        return True
    return True


class _Compiling(event.Listener):
    """Announces the compilation of kernels; cached kernels raise no event.

    It does so once per installation; a terminal also shows the elapsed seconds. Garbage collection
    is paused meanwhile: it would find nothing, and take a sixth of the time of compilation.
    """

    def __init__(self) -> None:
        self._asked = False
        self._depth = 0
        self._meanwhile = contextlib.ExitStack()

    # numba compiles under a lock: in one thread at a time, but one kernel may be within another.
    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        if gc.isenabled():
            gc.disable()
            self._meanwhile.callback(gc.enable)
        if not self._asked:
            self._asked = True
            code = event.data["dispatcher"].py_func.__code__
            if _first_to_announce(Path(os.path.abspath(code.co_filename))):
                remark(
                    "compiling numerical kernels: the first run of a method takes up to half a "
                    "minute longer, later runs reuse the compiled code (`fsframe warm` compiles "
                    "all of it in advance)"
                )
        if not in_worker():
            self._meanwhile.enter_context(ticking("compiling"))

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self._meanwhile.close()


event.register("numba:compile", _Compiling())


def njit(**options: Any) -> Callable[[F], F]:
    """A decorator that compiles a function on its first call and keeps the machine code on disk.

    The code is valid until a module of the function's folder, or `bit_counts`, changes, since a
    kernel contains the kernels of other modules that it calls. `fsframe.kernels.compiled`
    documents the cache.

    Parameters
    ----------
    **options
        Options of `numba.njit`; ``cache=True`` and ``nogil=True`` by default.

    Returns
    -------
    Callable
        The decorator.

    Examples
    --------
    >>> @njit(cache=False)
    ... def double(x):
    ...     return 2 * x
    >>> double(2.0)
    4.0
    """
    options = {"nogil": True, **options}
    kept = options.pop("cache", True)

    def decorate(function: F) -> F:
        compiled = numba.njit(**options)(function)
        # With NUMBA_DISABLE_JIT, `njit` returns the function itself.
        if kept and hasattr(compiled, "_cache"):
            compiled._cache = KernelCache(function)
        return compiled  # type: ignore[no-any-return]

    return decorate
