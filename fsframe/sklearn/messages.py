"""Errors and warnings as users of scikit-learn expect them."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterable, Iterator

from fsframe.errors import DataError, FsframeWarning, RequestError

__all__ = ["InvalidData", "InvalidRequest", "as_value_errors", "warn_each"]


class InvalidData(DataError, ValueError):
    """The data cannot be used as they are; also a ValueError, as scikit-learn expects."""


class InvalidRequest(RequestError, ValueError):
    """A parameter is invalid; also a ValueError, as scikit-learn expects."""


@contextlib.contextmanager
def as_value_errors() -> Iterator[None]:
    """Context in which errors about data and parameters are also ValueErrors.

    >>> try:
    ...     with as_value_errors():
    ...         raise DataError("no rows")
    ... except ValueError as error:
    ...     print(error)
    no rows
    """
    try:
        yield
    except (DataError, RequestError) as error:
        if isinstance(error, ValueError):
            raise
        kind = InvalidData if isinstance(error, DataError) else InvalidRequest
        own = kind(str(error))
        own.detail = error.detail
        raise own from error


def warn_each(texts: Iterable[str], where: str) -> None:
    """Issue each warning once, at the caller's line outside fsframe and scikit-learn."""
    for text in dict.fromkeys(texts):
        warnings.warn(f"{where}: {text}", FsframeWarning, stacklevel=_callers_level())


def _callers_level() -> int:
    """`stacklevel` in `warn_each` of the first caller outside the libraries."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_library(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in ("fsframe", "sklearn", "joblib")
