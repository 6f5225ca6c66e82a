"""Errors and warnings as users of scikit-learn expect them."""

from __future__ import annotations

import contextlib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator

from fsframe.errors import DataError, FsframeWarning, RequestError


class InvalidData(DataError, ValueError):
    """The data cannot be used as they are; also a ValueError, as scikit-learn expects."""


class InvalidRequest(RequestError, ValueError):
    """A parameter is invalid; also a ValueError, as scikit-learn expects."""


@contextlib.contextmanager
def as_value_errors() -> Iterator[None]:
    """Context in which errors about data and parameters are also ValueErrors.

    Their messages name no options of the command line, which estimators do not have.

    >>> try:
    ...     with as_value_errors():
    ...         raise DataError("no rows: leave the groups out (--groups)")
    ... except ValueError as error:
    ...     print(error)
    no rows: leave the groups out
    """
    try:
        yield
    except (DataError, RequestError) as error:
        if isinstance(error, ValueError):
            raise
        kind = InvalidData if isinstance(error, DataError) else InvalidRequest
        converted = kind(re.sub(r" \(--[^()]*\)", "", str(error)))
        converted.detail = error.detail
        raise converted from error


def warn_each(texts: Iterable[str], where: str) -> None:
    """Issue each warning once, at the caller's line outside fsframe, scikit-learn and joblib."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and _is_library(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    for text in dict.fromkeys(texts):
        warnings.warn(f"{where}: {text}", FsframeWarning, stacklevel=level)


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in ("fsframe", "sklearn", "joblib")
