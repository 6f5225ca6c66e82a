"""Estimators from a name and options: checked before any work, with seeds from the run."""

from __future__ import annotations

import json
from typing import Any

from fsframe.errors import RequestError, one_line
from fsframe_sklearn.engine.names import find_estimator, find_score_function

__all__ = ["make_estimator", "parse_options", "seed_estimator"]

_LEARNERS = ("classifier", "regressor")


def parse_options(text: str) -> dict[str, Any]:
    """The options of an estimator from a JSON object.

    Raises
    ------
    RequestError
        If it is none.

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
    """Whether an estimator says that it takes NaN; true of one that says nothing.

    >>> from sklearn.linear_model import LogisticRegression
    >>> takes_missing(LogisticRegression()), takes_missing(object())
    (False, True)
    """
    if not hasattr(made, "__sklearn_tags__"):
        return True
    return bool(made.__sklearn_tags__().input_tags.allow_nan)


def make_estimator(
    name: str, options: dict[str, Any], kinds: tuple[str, ...] = ("classifier",)
) -> Any:
    """An estimator, its parameters checked as `fit` would check them first.

    Parameters
    ----------
    name : str
        As `find_estimator` takes it.
    options : dict
        Its parameters. ``score_func`` is the name of a score of ``sklearn.feature_selection``; an
        ``estimator`` is a name, or a list of a name and its own options.
    kinds : tuple of str
        As for `find_estimator`.

    Raises
    ------
    RequestError
        If the class refuses its options.
    """
    given = dict(options)
    if "n_jobs" in given:
        raise RequestError(
            "n_jobs is not a setting of a stage: the run decides how many threads are used"
        )
    if isinstance(given.get("score_func"), str):
        given["score_func"] = find_score_function(given["score_func"])
    inner = given.get("estimator")
    if isinstance(inner, str):
        given["estimator"] = make_estimator(inner, {}, _LEARNERS)
    elif isinstance(inner, list):
        if len(inner) != 2 or not isinstance(inner[0], str) or not isinstance(inner[1], dict):
            raise RequestError(
                f"the option estimator is a name, or [name, {{its options}}], not {inner!r}"
            )
        given["estimator"] = make_estimator(inner[0], inner[1], _LEARNERS)
    found = find_estimator(name, kinds)
    try:
        made = found(**given)
    except (TypeError, ValueError) as error:
        raise RequestError(f"{name} refuses its options: {error}") from None
    if hasattr(made, "_parameter_constraints"):
        # What `fit` does first; done here, a wrong value is told before any work starts.
        try:
            made._validate_params()
        except ValueError as error:
            raise RequestError(f"{name} refuses its options: {one_line(error)}") from None
    return made


def seed_estimator(estimator: Any, seed: int, options: dict[str, Any]) -> Any:
    """`estimator` with every random state that `options` leave open set from `seed`.

    Parameters
    ----------
    estimator : estimator
        Changed, and returned.
    seed : int
        Below 2**31.
    options : dict
        What the user asked for.
    """
    changes: dict[str, Any] = {}
    for key, value in estimator.get_params(deep=True).items():
        last = key.rpartition("__")[2]
        if last == "random_state" and value is None and key not in options:
            changes[key] = seed
    return estimator.set_params(**changes) if changes else estimator
