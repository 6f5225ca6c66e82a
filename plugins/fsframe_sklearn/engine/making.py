"""Make estimators from a name and options, checked before any work, with seeds from the run."""

from __future__ import annotations

import json
from typing import Any

from fsframe.errors import RequestError, one_line
from fsframe_sklearn.engine.names import find_estimator, find_score_function

__all__ = ["LEARNERS", "make_estimator", "parse_options", "seed_estimator", "takes_missing"]

LEARNERS = ("classifier", "regressor")
"""The kinds of estimators that predict."""


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


def make_estimator(
    name: str, options: dict[str, Any], kinds: tuple[str, ...] = ("classifier",)
) -> Any:
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
    found = find_estimator(name, kinds)
    try:
        made = found(**parameters)
        if hasattr(made, "_parameter_constraints"):
            # As `fit` does first, so that a wrong value is reported before any work starts.
            made._validate_params()
    except (TypeError, ValueError) as error:
        raise RequestError(f"{name} does not accept its options: {one_line(error)}") from None
    return made


def seed_estimator(estimator: Any, seed: int, options: dict[str, Any]) -> Any:
    """The estimator, with `seed` (below 2**31) for each ``random_state`` not in `options`."""
    changes: dict[str, Any] = {}
    for key, value in estimator.get_params(deep=True).items():
        last = key.rpartition("__")[2]
        if last == "random_state" and value is None and key not in options:
            changes[key] = seed
    return estimator.set_params(**changes) if changes else estimator
