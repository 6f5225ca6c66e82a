"""Base of the stages that rank columns by a scikit-learn classifier or regressor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.method.selector import Selector
from fsframe.params import flag, optional, param, text
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import learn_scale, standardised
from fsframe_sklearn.engine.estimators import (
    LEARNERS,
    make_estimator,
    parse_options,
    require_sklearn,
    seed_estimator,
    takes_missing,
)

__all__ = ["Learner", "LearnerSelector", "check_scoring"]

_KIND_OF = {"classification": "classifier", "regression": "regressor"}


@attrs.frozen(kw_only=True)
class LearnerSelector(Selector):
    """Base of stages that fit an estimator `of` on the columns.

    Attributes
    ----------
    default_of : mapping of str to str
        The default estimator by task.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    takes_missing: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    table_copies: ClassVar[float] = 1.0
    default_of: ClassVar[Mapping[str, str]] = {}

    of: str | None = param(
        None,
        optional(text("a classifier or regressor of scikit-learn, such as RandomForestClassifier")),
        help="Class name of the estimator; by default that of the method's publication, for "
        "classes or for a numeric target.",
    )
    options: str = param(
        "{}", text("a JSON object"), help='Its parameters, as JSON: {"max_depth": 3}.'
    )
    standardize: bool = param(
        True,
        flag(),
        help="Scale features to mean 0 and standard deviation 1, learned from the rows.",
    )

    def check_parameters(self) -> Iterator[str]:
        require_sklearn()
        try:
            for made in self._candidates():
                yield from self.check_learner(made)
        except RequestError as error:
            yield str(error)

    def missing_taken(self) -> bool:
        return self.takes_missing and all(takes_missing(made) for made in self._candidates())

    def _candidates(self) -> list[Any]:
        """The estimator `of`, or the defaults that accept the options: those of one task, or both.

        Raises
        ------
        RequestError
            If none accepts them.
        """
        options, found, refused = parse_options(self.options), [], []
        for name in [self.of] if self.of is not None else self.default_of.values():
            try:
                found.append(make_estimator(name, options, LEARNERS))
            except RequestError as error:
                refused.append(error)
        if not found:
            raise refused[0]
        return found

    def check_learner(self, made: Any) -> Iterator[str]:
        """Problems with this estimator for the stage; authors override this."""
        return iter(())

    def check_request(self, data: Dataset) -> Iterator[str]:
        try:
            self.learner(data, 0)
        except RequestError as error:
            yield str(error)

    def learner_name(self, data: Dataset) -> str:
        return self.default_of[data.task] if self.of is None else self.of

    def learner(self, data: Dataset, seed: int) -> Learner:
        """The estimator for the task of `data`, not fitted.

        Raises
        ------
        RequestError
            If the estimator is for the other task, or does not accept its options.
        """
        import sklearn.base

        name, options = self.learner_name(data), parse_options(self.options)
        made = make_estimator(name, options, LEARNERS)
        numeric = data.task == "regression"
        if not (sklearn.base.is_regressor if numeric else sklearn.base.is_classifier)(made):
            label = "a numeric target" if numeric else "classes"
            raise RequestError(
                f"of={name} is not a {_KIND_OF[data.task]}, but {data.label_name!r} is {label}"
            )
        return Learner(seed_estimator(made, seed, options), self.standardize)

    def seed(self, run: Run, *key: int) -> int:
        return int(run.generator(*key).integers(2**31 - 1))


def check_scoring(scoring: str | None) -> Iterator[str]:
    """An error message if scikit-learn has no scorer of that name."""
    from sklearn.metrics import get_scorer_names

    if scoring is not None and scoring not in get_scorer_names():
        yield f"scoring {scoring!r} is not one of {', '.join(get_scorer_names())}"


@attrs.frozen
class Learner:
    """An estimator that is cloned for every fit, on standardised columns if `standardize`."""

    estimator: Any
    standardize: bool

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> Fitted:
        from sklearn.base import clone

        centre, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.standardize:
            centre, scale = learn_scale(X)
        return Fitted(clone(self.estimator).fit(standardised(X, centre, scale), y), centre, scale)


@attrs.frozen
class Fitted:
    """A fitted estimator with the mean and scale of its columns; infinite scale if constant."""

    estimator: Any
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]

    def scaled(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return standardised(X, self.centre, self.scale)

    def score(self, X: NDArray[np.float64], y: NDArray[Any], scoring: str | None) -> float:
        from sklearn.metrics import get_scorer

        if scoring is None:
            return float(self.estimator.score(self.scaled(X), y))
        return float(get_scorer(scoring)(self.estimator, self.scaled(X), y))

    def importance(self, power: int = 1) -> NDArray[np.float64]:
        """The estimator's own importance of each column, (n_columns,).

        Coefficients are summed over classes, as absolute values (`power` 1) or squares (2).

        Raises
        ------
        RequestError
            If the estimator has neither coefficients nor importances.
        """
        for name in ("coef_", "feature_importances_"):
            found = getattr(self.estimator, name, None)
            if found is None:
                continue
            values = found.toarray() if hasattr(found, "toarray") else np.asarray(found)
            sizes = np.abs(values.astype(np.float64)) ** power
            return np.asarray(sizes if sizes.ndim == 1 else sizes.sum(axis=0))
        raise RequestError(
            "the estimator has neither coef_ nor feature_importances_; "
            "importance:measure=held-out and sequential need neither"
        )

    def coefficients(self) -> dict[str, NDArray[np.float64]]:
        """Coefficients (k, n_columns), intercept (k,), means and scales, if the model is linear."""
        coef = getattr(self.estimator, "coef_", None)
        if not isinstance(coef, np.ndarray) or not np.isfinite(coef).all():
            return {}
        intercept = np.atleast_1d(np.asarray(getattr(self.estimator, "intercept_", 0.0)))
        return {
            "coef": np.atleast_2d(coef).astype(np.float64),
            "intercept": intercept.astype(np.float64),
            "centre": self.centre,
            "scale": np.where(np.isinf(self.scale), 1.0, self.scale),
        }


COEFFICIENT_COLUMNS: Mapping[str, Any] = {"coef": 1, "intercept": (), "centre": 0, "scale": 0}
