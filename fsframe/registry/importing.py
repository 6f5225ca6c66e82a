"""Requirements of plugins, their import within a time limit, and their declarations for tests."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

from fsframe.errors import PluginError
from fsframe.registry.entries import Entry
from fsframe.system import raises_after

TIMEOUT_VARIABLE = "FSFRAME_IMPORT_TIMEOUT"
"""Seconds that importing a plugin may take; 0 means no limit."""

_DEFAULT_SECONDS = 30.0


class _TooLong(BaseException):
    """The time limit is reached; not an Exception, so that plugins do not catch it."""

    # Not counted as the plugin's own error (`fsframe.registry.registry.in_stage`).
    from_outside = True


def interrupted(error: BaseException) -> bool:
    """Whether `error` is an interrupt (Ctrl-C), or was raised because of one.

    >>> try:
    ...     try:
    ...         raise KeyboardInterrupt
    ...     except BaseException:
    ...         raise ImportError("kernels are missing")
    ... except ImportError as error:
    ...     interrupted(error)
    True
    """
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, KeyboardInterrupt):
            return True
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return False


@contextlib.contextmanager
def guarded_import(share: float = 1.0, environ: Mapping[str, str] | None = None) -> Iterator[None]:
    """Context for importing a third-party module.

    Its output goes to stderr, the working directory is restored, and its time is limited.

    Parameters
    ----------
    share : float
        Factor for the seconds of ``FSFRAME_IMPORT_TIMEOUT`` (30).
    environ : mapping, optional
        The environment variables; `os.environ` by default.

    Raises
    ------
    PluginError
        If the import takes longer.
    KeyboardInterrupt
        If the import was interrupted, even if the module converts the interrupt.

    Notes
    -----
    The limit is a signal to the main thread (SIGALRM). It ends loops and waits of Python code, but
    not compiled code that does not return to the interpreter, a module that catches everything in a
    loop, or an import in another thread or on a system without the signal (Windows).
    """
    try:
        folder = os.getcwd()
    except OSError:
        folder = ""
    seconds = share * _seconds(os.environ if environ is None else environ)
    try:
        # Results go to stdout; what a module prints at import must not mix with them.
        with contextlib.redirect_stdout(sys.stderr), raises_after(seconds, _TooLong):
            yield
    except _TooLong:
        raise PluginError(
            f"importing it took longer than {seconds:g} s and was stopped ({TIMEOUT_VARIABLE} "
            "sets the limit)"
        ) from None
    except BaseException as error:
        if interrupted(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        if folder:
            with contextlib.suppress(OSError):
                if os.getcwd() != folder:
                    os.chdir(folder)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Context for third-party code that may not end, as far as a signal can end it.

    Raises
    ------
    AssertionError
        If the code takes longer than `seconds`.
    """
    try:
        with raises_after(seconds, _TooLong):
            yield
    except _TooLong:
        raise AssertionError(f"it did not finish within {seconds:g} s") from None


def _seconds(environ: Mapping[str, str]) -> float:
    text = environ.get(TIMEOUT_VARIABLE, "").strip()
    return _DEFAULT_SECONDS if not text or odd_timeout(environ) else float(text)


def odd_timeout(environ: Mapping[str, str]) -> str:
    """A remark on a ``FSFRAME_IMPORT_TIMEOUT`` that is not a number of seconds; else empty.

    >>> odd_timeout({"FSFRAME_IMPORT_TIMEOUT": "1 min"})
    "FSFRAME_IMPORT_TIMEOUT='1 min' is not a number of seconds, such as 60: 30 are allowed"
    """
    text = environ.get(TIMEOUT_VARIABLE, "").strip()
    with contextlib.suppress(ValueError):
        if not text or 0 <= float(text) < 1e9:
            return ""
    return (
        f"{TIMEOUT_VARIABLE}={text!r} is not a number of seconds, such as 60: "
        f"{_DEFAULT_SECONDS:g} are allowed"
    )


def missing(requires: Iterable[str]) -> tuple[str, ...]:
    """The distributions in `requires`, or in its extras, that are not installed.

    Parameters
    ----------
    requires : iterable of str
        Distributions, or extras such as ``"fsframe[dask]"``.

    Examples
    --------
    >>> missing(["numpy", "no-such-distribution", "no-such-one[extra]"])
    ('no-such-distribution', 'no-such-one')
    """
    absent: dict[str, None] = {}
    for each in requires:
        name, _, extra = each.rstrip("]").partition("[")
        for needed in (name, *_brought_by(name, extra)):
            if not _installed(needed):
                absent.setdefault(needed)
    return tuple(absent)


def pip_command(requires: Iterable[str]) -> str:
    """The command that installs distributions for this Python, in whatever environment it is.

    >>> pip_command(["fsframe[dask]", "boruta"])
    "... -m pip install 'fsframe[dask]' boruta"
    """
    words = (f"'{each}'" if "[" in each else each for each in requires)
    return f"{shlex.quote(sys.executable)} -m pip install {' '.join(words)}"


def needed(what: str, *requires: str) -> str:
    """The message that `what` needs distributions that are missing.

    >>> needed("this engine", "no-such-one")
    'this engine needs no-such-one, which is not installed: ... -m pip install no-such-one'
    """
    absent = missing(requires) or requires
    verb = "is" if len(absent) == 1 else "are"
    message = f"{what} needs {' and '.join(absent)}, which {verb} not installed"
    return f"{message}: {pip_command(requires)}"


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _brought_by(name: str, extra: str) -> Iterator[str]:
    """The distributions that an extra of the distribution `name` requires."""
    if not extra or not _installed(name):
        return
    for line in metadata.requires(name) or ():
        requirement, _, marker = line.partition(";")
        if re.search(rf"""extra\s*==\s*["']{re.escape(extra)}["']""", marker):
            yield re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]


def declared_exceptions(entry: Entry) -> dict[str, str]:
    """Check → reason, for the exceptions that are declared for a method."""
    exceptions = declared(entry, "EXCEPTIONS")
    return {**exceptions.get("*", {}), **exceptions.get(entry.name, {})}


def declared(entry: Entry, name: str) -> Mapping[str, Any]:
    """The mapping `name` in the ``conformance`` module nearest to the method's module; or empty.

    Raises
    ------
    PluginError
        If it is not a mapping.
    """
    package = entry.target.partition(":")[0]
    while package:
        path = f"{package}.conformance"
        try:
            present = find_spec(path) is not None
        except ModuleNotFoundError:
            # The method's own module is not a package.
            present = False
        if present:
            break
        package = package.rpartition(".")[0]
    else:
        return {}
    mapping = getattr(import_module(path), name, {})
    if not isinstance(mapping, Mapping):
        raise PluginError(f"{path}.{name} must be a mapping from method names")
    return mapping
