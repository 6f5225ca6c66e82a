"""Estimators by name and options, the rows and folds they are given, warnings of a fit."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.errors import DataError, RequestError, one_line
from fsframe.resampling.groups import deal_groups, require_two
from fsframe.table.dataset import Dataset
from fsframe.text import did_you_mean, some_of

ALLOW = "FSFRAME_SKLEARN_ALLOW"
"""Environment variable: import paths of further estimator classes, joined by commas."""

LEARNERS = ("classifier", "regressor")
"""The kinds of estimators that predict."""

# Module and name of the base class, the method that an allowed class must have, and an example.
_KINDS = {
    "classifier": ("sklearn.base", "ClassifierMixin", "predict", "sklearn.naive_bayes.GaussianNB"),
    "regressor": ("sklearn.base", "RegressorMixin", "predict", "sklearn.linear_model.Ridge"),
    "selector": (
        "sklearn.feature_selection",
        "SelectorMixin",
        "get_support",
        "sklearn.feature_selection.SelectKBest",
    ),
}
# Modules searched first for a name without a module.
_USUAL = ("ensemble", "linear_model", "svm", "tree", "neighbors", "naive_bayes")


def find_estimator(
    name: str, kinds: tuple[str, ...] = ("classifier",), environ: Mapping[str, str] = os.environ
) -> type:
    """The class of a scikit-learn estimator, or of one that the user allows.

    Parameters
    ----------
    name : str
        Such as ``sklearn.svm.SVC`` (the package, one of its public modules, a public class) or
        ``SVC``; for an allowed class, its full path as in ``FSFRAME_SKLEARN_ALLOW``.
    kinds : tuple of {"classifier", "regressor", "selector"}
        The kinds that are accepted.
    environ : mapping
        Where ``FSFRAME_SKLEARN_ALLOW`` is looked up.

    Raises
    ------
    RequestError
        If the name is unknown, or its class is of none of these kinds.

    Examples
    --------
    >>> find_estimator("sklearn.svm.SVC").__name__, find_estimator("SVC").__module__
    ('SVC', 'sklearn.svm._classes')
    >>> find_estimator("antigravity.Boom", environ={})
    Traceback (most recent call last):
    ...
    fsframe.errors.RequestError: 'antigravity.Boom' is not one of scikit-learn's own classifiers, \
such as sklearn.naive_bayes.GaussianNB; to allow a class that you trust, set \
FSFRAME_SKLEARN_ALLOW=antigravity.Boom
    """
    path = name.replace(":", ".")
    if path in [entry.strip() for entry in environ.get(ALLOW, "").split(",")]:
        return _allowed(path, kinds)
    if "." not in path and path.isidentifier():
        return _by_bare_name(path, kinds)
    package, _, rest = path.partition(".")
    module_name, _, class_name = rest.partition(".")
    if package != "sklearn" or "." in class_name or not class_name.isidentifier():
        raise _refusal(name, path, kinds)
    module = _public_module(module_name)
    if module is None:
        raise _refusal(name, path, kinds)
    estimators = _estimators(module, kinds)
    if class_name not in estimators:
        hint = did_you_mean(path, [f"sklearn.{module_name}.{known}" for known in estimators])
        raise RequestError(f"{name!r} is not one of {_own(kinds)}{hint}")
    return estimators[class_name]


def find_score_function(name: str) -> Callable[..., Any]:
    """A univariate score function of ``sklearn.feature_selection``, such as ``f_classif``.

    Raises
    ------
    RequestError
        If there is none of that name.
    """
    module = import_module("sklearn.feature_selection")
    known = {
        attribute: getattr(module, attribute)
        for attribute in module.__all__
        if attribute.islower() and callable(getattr(module, attribute))
    }
    if name not in known:
        hint = did_you_mean(name, known)
        raise RequestError(f"score_func {name!r} is not one of {', '.join(sorted(known))}" + hint)
    function: Callable[..., Any] = known[name]
    return function


def _own(kinds: tuple[str, ...]) -> str:
    return (
        f"scikit-learn's own {' and '.join(k + 's' for k in kinds)}, such as {_KINDS[kinds[0]][3]}"
    )


def _refusal(name: str, path: str, kinds: tuple[str, ...]) -> RequestError:
    parts = path.split(".")
    way = (
        f"; to allow a class that you trust, set {ALLOW}={path}"
        if parts[0] != "sklearn" and len(parts) > 1 and all(p.isidentifier() for p in parts)
        else ""
    )
    return RequestError(f"{name!r} is not one of {_own(kinds)}{way}")


def _by_bare_name(name: str, kinds: tuple[str, ...]) -> type:
    known: list[str] = []
    for module_name in _module_names():
        module = _public_module(module_name)
        estimators = {} if module is None else _estimators(module, kinds)
        if name in estimators:
            return estimators[name]
        known += estimators
    raise RequestError(f"{name!r} is not one of {_own(kinds)}{did_you_mean(name, known)}")


def _module_names() -> Iterator[str]:
    import sklearn

    listed = list(sklearn.__all__)
    yield from (name for name in _USUAL if name in listed)
    yield from (name for name in sorted(listed) if name not in _USUAL)


def _public_module(name: str) -> ModuleType | None:
    """The public module of scikit-learn of that name, if scikit-learn lists it."""
    import sklearn

    listed = [each for each in sklearn.__all__ if each == name]
    if not listed:
        return None
    try:
        return import_module(f"sklearn.{listed[0]}")
    except ImportError:
        # The list contains functions too, such as `clone`.
        return None


def _estimators(module: ModuleType, kinds: tuple[str, ...]) -> dict[str, type]:
    base = import_module("sklearn.base")
    roots = tuple(getattr(import_module(_KINDS[k][0]), _KINDS[k][1]) for k in kinds)
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    members: dict[str, object] = {}
    for name in names:
        # Experimental classes raise ImportError until they are enabled.
        with contextlib.suppress(ImportError):
            members[name] = getattr(module, name, None)
    return {
        name: value
        for name, value in members.items()
        if isinstance(value, type)
        and issubclass(value, roots)
        and issubclass(value, base.BaseEstimator)
        and value.__module__.partition(".")[0] == "sklearn"
    }


def _allowed(path: str, kinds: tuple[str, ...]) -> type:
    """A class listed in ``FSFRAME_SKLEARN_ALLOW``."""
    module_name, _, class_name = path.rpartition(".")
    try:
        allowed = getattr(import_module(module_name), class_name, None) if module_name else None
    except ImportError as error:
        raise RequestError(f"cannot import {path!r}, which {ALLOW} allows: {error}") from None
    if not isinstance(allowed, type) or not any(hasattr(allowed, _KINDS[k][2]) for k in kinds):
        raise RequestError(f"{path!r}, which {ALLOW} allows, is not a {' or '.join(kinds)}")
    return allowed


def parse_options(text: str) -> dict[str, Any]:
    """Parse the options of an estimator from a JSON object.

    Raises
    ------
    RequestError
        If the text is not a JSON object.

    Examples
    --------
    >>> parse_options('{"max_depth": 3}')
    {'max_depth': 3}
    """
    try:
        options = json.loads(text)
    except json.JSONDecodeError as error:
        raise RequestError(f"options {text!r} is not JSON: {error}") from None
    if not isinstance(options, dict):
        raise RequestError(f"options must be a JSON object, not {text!r}")
    return options


def takes_missing(made: Any) -> bool:
    """Whether an estimator accepts NaN by its tags; true if it has no tags.

    >>> from sklearn.linear_model import LogisticRegression
    >>> takes_missing(LogisticRegression()), takes_missing(object())
    (False, True)
    """
    if not hasattr(made, "__sklearn_tags__"):
        return True
    return bool(made.__sklearn_tags__().input_tags.allow_nan)


def make_estimator(name: str, options: dict[str, Any], kinds: tuple[str, ...]) -> Any:
    """An estimator whose parameters have been validated as by `fit`.

    Parameters
    ----------
    name : str
        As for `find_estimator`.
    options : dict
        Its parameters. ``score_func`` is the name of a score of ``sklearn.feature_selection``; an
        ``estimator`` is a name, or a list of a name and its own options.
    kinds : tuple of str
        As for `find_estimator`.

    Raises
    ------
    RequestError
        If the class does not accept its options.
    """
    parameters = dict(options)
    if "n_jobs" in parameters:
        raise RequestError("n_jobs is not an option of a stage: the run sets the number of threads")
    if isinstance(parameters.get("score_func"), str):
        parameters["score_func"] = find_score_function(parameters["score_func"])
    inner = parameters.get("estimator")
    if isinstance(inner, str):
        parameters["estimator"] = make_estimator(inner, {}, LEARNERS)
    elif isinstance(inner, list):
        if len(inner) != 2 or not isinstance(inner[0], str) or not isinstance(inner[1], dict):
            raise RequestError(
                f"the option estimator must be a name or [name, {{options}}], not {inner!r}"
            )
        parameters["estimator"] = make_estimator(inner[0], inner[1], LEARNERS)
    estimator_class = find_estimator(name, kinds)
    try:
        made = estimator_class(**parameters)
        if hasattr(made, "_parameter_constraints"):
            # As `fit` does first, so that a wrong value is reported before any work starts.
            made._validate_params()
    except (TypeError, ValueError) as error:
        raise RequestError(f"{name} does not accept its options: {one_line(error)}") from None
    return made


def seed_estimator(estimator: Any, seed: int, options: dict[str, Any]) -> Any:
    """The estimator, with `seed` (below 2**31) for each ``random_state`` not in `options`.

    A score that draws noise (``mutual_info_classif``) gets the seed too; otherwise it would draw
    from numpy's global state.
    """
    changes: dict[str, Any] = {}
    for key, value in estimator.get_params(deep=True).items():
        last = key.rpartition("__")[2]
        if last == "random_state" and value is None and key not in options:
            changes[key] = seed
        if last == "score_func" and "random_state" in inspect.signature(value).parameters:
            changes[key] = functools.partial(value, random_state=seed)
    return estimator.set_params(**changes) if changes else estimator


def units_of(data: Dataset) -> NDArray[np.int64]:
    """The groups of the rows, or their numbers."""
    return np.arange(data.n_samples) if data.groups is None else data.groups


def counted_data(
    data: Dataset,
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.int64]]:
    """X and y with each row repeated as often as it was drawn, and the units of the rows.

    Returns
    -------
    X : (m, n_features) float64
    y : (m,) class codes or target
    unit : (m,) int
        Equal for rows that must be in one fold: copies of one row, or rows of one group.
    """
    units = units_of(data)
    if data.counts is None:
        return data.X, data.y, units
    rows = data.counted_rows
    return data.X[rows], data.y[rows], units[rows]


def make_folds(
    data: Dataset,
    y: NDArray[Any],
    unit: NDArray[np.int64],
    folds: int,
    generator: np.random.Generator,
    who: str,
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Training and test rows of each fold; rows of one unit are in one fold.

    Folds are stratified by `y` if `data` has classes; messages begin with the stage `who`.

    Raises
    ------
    DataError
        If there are fewer units than folds, or one of two classes lies within one group, so that
        some fold would have to learn from the other class alone.
    """
    for problem in fold_problems(unit, folds):
        raise DataError(f"{who}: {problem}")
    if data.groups is not None and data.n_classes == 2:
        require_two(unit, y, who, data.classes)
    stratum = y if data.task == "classification" else np.zeros(len(y))
    place = deal_groups(stratum, unit, folds, generator)
    return [(np.flatnonzero(place != f), np.flatnonzero(place == f)) for f in range(folds)]


def fold_problems(unit: NDArray[np.int64], folds: int) -> Iterator[str]:
    """A sentence if there are more folds than units, as in `counted_data`."""
    units = np.unique(unit).size
    if units < folds:
        yield f"{folds} folds need at least as many rows or groups; there are {units}"


@contextlib.contextmanager
def guarded(what: str, data: Dataset) -> Iterator[list[str]]:
    """Run scikit-learn on one thread, record its warnings and translate its errors.

    The list that it yields holds the distinct warnings at the end, for `Selection.warnings`.
    Messages begin with `what`, the stage and estimator ("importance: RandomForestClassifier").

    Raises
    ------
    RequestError
        As raised, prefixed with `what`.
    DataError
        In place of a ValueError, with the columns that have missing values, if any.
    """
    issued: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with np.errstate(all="ignore"), threadpool_limits(1):
                yield issued
        except RequestError as error:
            raise RequestError(f"{what}: {error}") from error
        except ValueError as error:
            text = one_line(error)
            if len(text) > 300:
                text = text[:299] + "…"
            raise DataError(f"{what} cannot be fitted: {text}{_missing(data)}") from error
        finally:
            # Numerical and deprecation warnings are not for users. Threads that grow trees swap the
            # filters of warnings, which all threads share: now and then one finds none and warns.
            of_users = [w for w in caught if issubclass(w.category, UserWarning)]
            texts = [
                " ".join(f"{w.category.__name__}: {w.message}".split())
                for w in of_users
                if "sklearn.utils.parallel.delayed" not in str(w.message)
            ]
            issued += dict.fromkeys(t if len(t) < 240 else t[:239] + "…" for t in texts)


def _missing(data: Dataset) -> str:
    blocks = [np.isnan(data.columns(*bounds)).any(axis=0) for bounds in data.column_blocks()]
    holes = np.flatnonzero(np.concatenate(blocks))
    if not holes.size:
        return ""
    named = some_of([repr(data.feature_names[column]) for column in holes])
    return (
        f". There are missing values in {named}: impute them, or use an estimator that "
        "accepts them, such as RandomForestClassifier or HistGradientBoostingRegressor"
    )
