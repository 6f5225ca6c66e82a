"""Detect side effects of a call: files written, memory allocated, global state changed."""

from __future__ import annotations

import contextlib
import importlib.util
import locale
import logging
import os
import random
import sys
import tempfile
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

_heard: list[str] | None = None
_hearing = False
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Writing to caches and devices is no side effect.
_IGNORED = (f"{os.sep}__pycache__{os.sep}", f"{os.sep}dev{os.sep}")


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _heard is None:
        return
    if event == "open":
        path, mode, flags = arguments
        writes = set(mode or "") & set("wax+") or (flags or 0) & _WRITING
        if writes and isinstance(path, (str, bytes, os.PathLike)):
            _heard.append(os.path.abspath(os.fsdecode(path)))
    elif event in ("os.mkdir", "os.rename"):
        path = arguments[1 if event == "os.rename" else 0]
        _heard.append(os.path.abspath(os.fsdecode(path)))


def written_files(call: Callable[[], Any]) -> list[str]:
    """The files and folders that `call` creates or changes and leaves behind.

    It is called twice and observed the second time, since compiled kernels and caches of libraries
    are written at first use.
    """
    global _heard, _hearing
    if not _hearing:
        sys.addaudithook(_hear)
        _hearing = True
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        call()
        _heard = []
        try:
            call()
        finally:
            heard, _heard = _heard, None
        found = {path for path in heard if os.path.lexists(path)}
    return sorted(path for path in found if not any(part in path for part in _IGNORED))


def peak_bytes(call: Callable[[], Any]) -> int:
    """Peak of the memory that Python and numpy allocate during `call`, in bytes.

    Memory that compiled code allocates directly from the system is not counted.
    """
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not running:
            tracemalloc.stop()


def changed_globals(call: Callable[[], Any]) -> list[str]:
    """The parts of the process's global state that `call` changes, in words.

    The state is first set to unusual values, so that a change made by an earlier call is detected
    too; afterwards it is restored.
    """
    with _kept(), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _scramble()
        before = _state()
        call()
        after = _state()
        return [name for name in before if before[name] != after[name]]


_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@contextlib.contextmanager
def _kept() -> Iterator[None]:
    """Restore everything that `_scramble` and the call change."""
    numpy_state, python_state = np.random.get_state(), random.getstate()
    errors, options = np.geterr(), np.get_printoptions()
    environ, path, limit = dict(os.environ), list(sys.path), sys.getrecursionlimit()
    level = logging.getLogger().level
    settings = dict(dict.items(_settings()))
    try:
        with warnings.catch_warnings():
            yield
    finally:
        np.random.set_state(numpy_state)
        random.setstate(python_state)
        np.seterr(**errors)
        np.set_printoptions(**options)
        os.environ.clear()
        os.environ.update(environ)
        sys.path[:] = path
        sys.setrecursionlimit(limit)
        logging.getLogger().setLevel(level)
        dict.update(_settings(), settings)


def _scramble() -> None:
    np.random.seed(20011)
    np.random.random(3)
    random.seed(20011)
    random.random()
    np.seterr(divide="warn", over="warn", under="warn", invalid="warn")
    np.set_printoptions(precision=7)
    for name in _THREADS:
        os.environ.pop(name, None)
    warnings.resetwarnings()
    logging.getLogger().setLevel(logging.WARNING + 1)
    dict.update(_settings(), backend="pdf")


def _settings() -> dict[str, Any]:
    """matplotlib's settings; another, empty dict if it is not installed.

    Read and write them as a plain dict (`dict.items`, `dict.update`): the methods of their class
    choose a backend.
    """
    if importlib.util.find_spec("matplotlib") is None:
        return {}
    from matplotlib import rcParams

    return cast(dict[str, Any], rcParams)


def _state() -> dict[str, Any]:
    return {
        "numpy's error handling (use `with np.errstate(...)`)": np.geterr(),
        "numpy's random state (use run.generator())": repr(np.random.get_state()),
        "Python's random state (use run.generator())": random.getstate(),
        "numpy's print options": repr(np.get_printoptions()),
        "the warning filters (use `with warnings.catch_warnings()`)": list(warnings.filters),
        "the working directory": os.getcwd(),
        "environment variables": dict(os.environ),
        "sys.path": list(sys.path),
        "the recursion limit": sys.getrecursionlimit(),
        "the locale": locale.setlocale(locale.LC_ALL),
        "the level of the root logger": logging.getLogger().level,
        "standard streams": (id(sys.stdout), id(sys.stderr)),
        "matplotlib's settings or backend": dict(dict.items(_settings())),
    }


# Functions whose reading of an attribute does not count as use.
_GENERIC = ("check_parameters",)


def read_attributes(thing: Any, call: Callable[[], Any]) -> set[str]:
    """Names of the attributes of `thing` that are read during `call`.

    Comparing, copying, displaying and validating it do not count. No other object of its class may
    be used meanwhile.
    """
    kind, found = type(thing), set()

    def spy(self: Any, name: str) -> Any:
        if self is thing:
            code = sys._getframe(1).f_code
            place = code.co_filename
            generic = place.endswith(("params.py",)) or place.startswith("<attrs")
            if not generic and code.co_name not in _GENERIC:
                found.add(name)
        return object.__getattribute__(self, name)

    kind.__getattribute__ = spy  # type: ignore[assignment]
    try:
        call()
    finally:
        del kind.__getattribute__
    return found
