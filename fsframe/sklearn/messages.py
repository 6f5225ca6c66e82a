"""Errors and warnings as users of scikit-learn expect them."""

from __future__ import annotations

import contextlib
import re
import sys
import warnings
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

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
    """Issue each warning once, at the caller's line outside fsframe and scikit-learn.

    A search or cross-validation of scikit-learn gives one warning: that of the fit on all rows at
    the end of a search, otherwise that of the first fold that has one. A worker process gives one.
    """
    messages = list(dict.fromkeys(texts))
    if not messages:
        return
    caller = _caller()
    if caller.silent or caller.key in _WARNED:
        return
    if caller.key is not None:
        _WARNED.add(caller.key)
    if caller.search:
        messages = ["; ".join(messages)]
        where = f"{where}, in {caller.search}"
    for text in messages:
        warnings.warn(f"{where}: {text}", FsframeWarning, stacklevel=caller.level)


class _Worker:
    """Stands for the search of a worker process, which runs in another process."""


_WORKER = _Worker()
_WARNED: weakref.WeakSet[Any] = weakref.WeakSet()
"""Searches that are running and have given their warning."""


class _Caller(NamedTuple):
    """The caller that fits an estimator.

    `level` is the `stacklevel` in `warn_each` of the first caller outside the libraries, `search`
    the name of the search or cross-validation that runs the fit, `key` an object that lives as long
    as that, and `silent` whether a fit on all rows follows.
    """

    level: int
    search: str = ""
    key: Any = None
    silent: bool = False


def _caller() -> _Caller:
    level, frame = 1, sys._getframe(1)
    search, key, silent, fold = "", None, False, False
    while frame.f_back is not None and _is_library(frame.f_globals.get("__name__", "")):
        module, name = frame.f_globals["__name__"], frame.f_code.co_name
        if name in _FIT_ONE_FOLD:
            fold, key = True, key or frame.f_locals.get("estimator")
        if module.startswith("joblib") and name == "__call__" and fold:
            key = frame.f_locals.get("self")
        elif module.startswith("sklearn.model_selection") and name in ("fit", *_FIT_FOLDS):
            over = frame.f_locals.get("self")
            search = name if over is None else type(over).__name__
            silent = fold and bool(getattr(over, "refit", False))
        level, frame = level + 1, frame.f_back
    if fold and not search:
        return _Caller(level, "a fold", _WORKER)
    return _Caller(level, search, key if fold else None, silent)


_FIT_ONE_FOLD = ("_fit_and_score", "_fit_and_predict", "_permutation_test_score")
_FIT_FOLDS = (
    "cross_validate",
    "cross_val_predict",
    "learning_curve",
    "validation_curve",
    "permutation_test_score",
)
"""Functions of scikit-learn that fit one fold, and those besides searches that call them."""


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in ("fsframe", "sklearn", "joblib")
