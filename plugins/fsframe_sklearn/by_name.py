"""Scikit-learn's classifiers, regressors and selectors by public name, and ridge regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError, one_line
from fsframe.method.classifier import Classifier, Regressor
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import choice, either, flag, json_object, number_to_keep, param, real, text
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import learn_scale, standardised
from fsframe_sklearn.estimators import (
    LEARNERS,
    guarded,
    make_estimator,
    parse_options,
    seed_estimator,
    takes_missing,
)
from fsframe_sklearn.penalised import Levels, indicators, learn_levels

_FOR_CLASSES = {"chi2", "f_classif", "f_oneway", "mutual_info_classif"}
_FOR_NUMBERS = {"f_regression", "r_regression", "mutual_info_regression"}
# The selectors' parameters for the number of columns to keep.
_NUMBERS = ("k", "n_features_to_select", "max_features")


class _ByName:
    """What a stage has in common whose parameters name an estimator and its options."""

    __slots__ = ()

    kinds: ClassVar[tuple[str, ...]] = LEARNERS

    if TYPE_CHECKING:
        estimator: str
        options: str

    def check_parameters(self) -> Iterator[str]:
        try:
            self._made()
        except RequestError as error:
            yield str(error)

    def missing_taken(self) -> bool:
        return takes_missing(self._made())

    def _made(self) -> Any:
        return make_estimator(self.estimator, parse_options(self.options), self.kinds)


@attrs.frozen(kw_only=True)
class SklearnSelector(_ByName, Selector):
    """The selection of a scikit-learn selector.

    Without `top`, the selector's support is kept. With `top`, its own parameter for the number of
    columns (``k``, ``n_features_to_select``, ``max_features``) is set if it has one; otherwise the
    columns with the best scores are kept. Scores are the first of these that the fitted selector
    has: ``ranking_`` (1 for rank 1, ½ for rank 2, …), ``scores_``, ``variances_``, the importances
    of its estimator; else 1 for columns that it keeps and 0 for others.

    Notes
    -----
    Options are checked before any work. ``score_func`` is the name of a score of
    ``sklearn.feature_selection``; ``estimator`` is the name of a classifier or regressor of
    scikit-learn, or a list of that name and its options. A selector with its own folds (``cv``)
    splits single rows: groups raise an error, and copies of a row drawn by a bootstrap may be in
    different folds; use `rfecv` or `sequential`, which keep both together. Table ``pvalues``, if
    the selector has some.

    References
    ----------
    Pedregosa et al. 2011, Scikit-learn: machine learning in Python, JMLR 12.

    Examples
    --------
    >>> data = Dataset.from_arrays([[1, 5], [2, 3], [8, 5], [9, 3]], ["a", "a", "b", "b"])
    >>> SklearnSelector(estimator="SelectKBest", options='{"k": 1}').select(data).selected
    array([0])
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    takes_missing: ClassVar[bool] = True
    table_copies: ClassVar[float] = 1.0
    kinds: ClassVar[tuple[str, ...]] = ("selector",)

    top: int | float | None = number_to_keep("as many as the selector keeps by its own options")
    estimator: str = param(
        kind=text("a selector of scikit-learn"),
        help="Class name of the selector, such as SelectKBest.",
    )
    options: str = param("{}", json_object(), help='Its parameters as JSON, such as {"k": 5}.')

    def check_request(self, data: Dataset) -> Iterator[str]:
        made = self._made()
        score = getattr(getattr(made, "score_func", None), "__name__", "")
        wrong = _FOR_CLASSES if data.task == "regression" else _FOR_NUMBERS
        if score in wrong:
            label = "a numeric target" if data.task == "regression" else "classes"
            others = sorted(_FOR_NUMBERS if data.task == "regression" else _FOR_CLASSES)
            yield (
                f"score_func={score} does not take {label} ({data.label_name!r}); set "
                f'options={{"score_func": …}} to one of {", ".join(others)}'
            )

    def ignores_groups(self) -> str:
        cv_parameters = [
            k for k in self._made().get_params(deep=True) if k.rpartition("__")[2] == "cv"
        ]
        return f"{self.estimator} assigns single rows to folds" if cv_parameters else ""

    def ignores_time(self) -> str:
        return self.ignores_groups() or super().ignores_time()

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        for problem in self.check_request(data):
            raise RequestError(f"sklearn-selector: {problem}")
        options = parse_options(self.options)
        made = seed_estimator(self._made(), int(run.generator().integers(2**31 - 1)), options)
        if self.top is not None:
            count = self.keep_count(data.n_features, 1)
            accepted = [name for name in _NUMBERS if name in made.get_params(deep=False)]
            made.set_params(**dict.fromkeys(accepted[:1], count))
            if "max_features" in accepted:
                made.set_params(threshold=-np.inf)
        with guarded(f"sklearn-selector: {self.estimator}", data) as issued:
            made.fit(data.X, data.y)
            support = np.asarray(made.get_support())
        own_scores = _scores(made)
        scores = _finite(support.astype(np.float64) if own_scores is None else own_scores)
        ranked = rank_by_score(scores)
        selected = ranked[support[ranked]]
        if self.top is not None and selected.size != count:
            if own_scores is None:
                raise RequestError(
                    f"sklearn-selector: {self.estimator} has no scores to rank columns for top; "
                    "set the number of columns in its options"
                )
            selected = np.concatenate([selected, ranked[~support[ranked]]])[:count]
        notes = () if selected.size else (f"{self.estimator} keeps no column",)
        pvalues = getattr(made, "pvalues_", None)
        return Selection(
            selected=selected,
            scores=scores,
            tables={} if pvalues is None else {"pvalues": np.asarray(pvalues, dtype=np.float64)},
            warnings=(*issued, *notes),
        )


def _scores(made: Any) -> NDArray[np.float64] | None:
    """Scores of the columns, larger is better, or None if the fitted selector has none."""
    if getattr(made, "ranking_", None) is not None:
        return np.asarray(1.0 / np.asarray(made.ranking_))
    for name in ("scores_", "variances_"):
        if getattr(made, name, None) is not None:
            return np.asarray(getattr(made, name), dtype=np.float64)
    inner = getattr(made, "estimator_", None)
    if inner is None or not hasattr(made, "threshold_"):
        return None
    # The importances that SelectFromModel compares with its threshold.
    importances = getattr(inner, "coef_", getattr(inner, "feature_importances_", None))
    if importances is None:
        return None
    values = np.abs(np.asarray(importances, dtype=np.float64))
    return values if values.ndim == 1 else values.sum(axis=0)


def _finite(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores with NaN (constant columns) replaced by the lowest score, and without infinities."""
    known = np.nan_to_num(scores, nan=np.nan)
    return np.where(np.isnan(known), np.nanmin(known, initial=0.0), known)


@attrs.frozen(kw_only=True)
class Sklearn(_ByName, Classifier):
    """A scikit-learn classifier or regressor on the selected columns.

    Parameters
    ----------
    estimator : str
        Public name of a classifier or regressor of scikit-learn, such as
        ``sklearn.naive_bayes.GaussianNB`` or ``GaussianNB``, or of a class that the environment
        variable ``FSFRAME_SKLEARN_ALLOW`` lists.
    options : str
        Its parameters as a JSON object, such as ``{"max_depth": 3}``.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first, learned from the training rows.

    Raises
    ------
    RequestError
        If the name is unknown, or the class does not accept its options.

    Notes
    -----
    A parameter ``random_state`` is set from the run's stream unless `options` sets it. Rows that a
    bootstrap drew twice are repeated. A nominal column becomes an indicator column for each level
    of the training rows, in order of first occurrence; a new level has 0 in all of them. Scores are
    probabilities if the estimator has ``predict_proba``, else its decision function, else −1 and 1;
    a class without training rows gets 0, or less than any other decision value. Upstream weights
    are not used, only the selected columns.

    References
    ----------
    Pedregosa et al. 2011, Scikit-learn: machine learning in Python, JMLR 12.
    """

    takes_missing: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    # The scaled rows, and twice as much for copies made by the estimator.
    table_copies: ClassVar[float] = 3.0

    estimator: str = param(
        kind=text("a classifier or regressor of scikit-learn"),
        help="Public name of the class, such as sklearn.naive_bayes.GaussianNB or Ridge.",
    )
    options: str = param("{}", json_object(), help='Its parameters, as JSON: {"max_depth": 3}.')
    standardize: bool = param(
        False,
        flag(),
        help="Scale features to mean 0 and standard deviation 1, learned from the training rows.",
    )

    def predicts(self) -> frozenset[str]:
        from sklearn.base import is_regressor

        return frozenset({"regression" if is_regressor(self._made()) else "classification"})

    def score_kind(self) -> str:
        made = self._made()
        if hasattr(made, "predict_proba"):
            return "probabilities"
        return "scores" if hasattr(made, "decision_function") else "labels"

    def _fit(
        self, data: Dataset, upstream: Selection | None, run: Run
    ) -> _FittedClassifier | _FittedRegressor:
        options = parse_options(self.options)
        seed = int(run.generator().integers(2**31 - 1))
        made = seed_estimator(self._made(), seed, options)
        levels = learn_levels(data)
        drawn = data if data.counts is None else data.take_rows(data.counted_rows)
        X = indicators(drawn.values, levels) if levels else drawn.matrix
        centre, scale = learn_scale(X, standardize=self.standardize)
        try:
            made.fit(standardised(X, centre, scale), drawn.y)
        except ValueError as error:
            # Missing values, a single class and the like.
            raise DataError(f"{self.estimator} cannot be fitted: {one_line(error)}") from error
        kind = _FittedClassifier if data.task == "classification" else _FittedRegressor
        return kind(
            made=made, name=self.estimator, n_classes=data.n_classes, centre=centre, scale=scale,
            levels=levels,
        )  # fmt: skip


@attrs.frozen(kw_only=True, eq=False)
class _FittedBase:
    made: Any
    name: str
    n_classes: int
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    levels: Levels

    def _call(self, method: str, X: NDArray[np.float64]) -> NDArray[Any]:
        rows = standardised(indicators(X, self.levels), self.centre, self.scale)
        try:
            return np.asarray(getattr(self.made, method)(rows))
        except ValueError as error:
            # Missing values that did not occur in the training rows.
            raise DataError(f"{self.name} cannot predict: {one_line(error)}") from error


@attrs.frozen(kw_only=True, eq=False)
class _FittedRegressor(_FittedBase):
    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        # Some estimators (PLSRegression) return a column.
        return self._call("predict", X).astype(np.float64).reshape(len(X))


@attrs.frozen(kw_only=True, eq=False)
class _FittedClassifier(_FittedBase):
    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        return self._call("predict", X).astype(np.int64)

    def predict_scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities if the estimator has them, else its decision values, else −1 and 1."""
        known = np.asarray(self.made.classes_, dtype=np.int64)
        scores = np.zeros((len(X), self.n_classes))
        if hasattr(self.made, "predict_proba"):
            scores[:, known] = self._call("predict_proba", X)
        elif hasattr(self.made, "decision_function"):
            values = self._call("decision_function", X)
            if values.ndim == 1:
                values = np.column_stack([-values, values])
            # A class without training rows never scores above one that has some.
            scores[:] = values.min(initial=0.0) - 1.0
            scores[:, known] = values
        else:
            # Not 0 and 1, which could be mistaken for probabilities.
            scores[:] = -1.0
            scores[np.arange(len(X)), self.predict(X)] = 1.0
        return scores


_PENALTIES = np.logspace(-3, 5, 33)


@attrs.frozen(kw_only=True)
class Ridge(Regressor):
    """Ridge regression on standardised columns.

    Notes
    -----
    min_β Σ_i n_i (y_i − β₀ − z_iᵀβ)² + λ ‖β‖², n_i the count of row i and z_i its columns with mean
    0 and standard deviation 1. ``penalty=auto`` chooses, among 33 values of λ from 10⁻³ to 10⁵
    (four per decade), that with the smallest squared leave-one-out error, a row being left out with
    all its copies; the errors follow from one singular value decomposition. Nominal columns become
    indicator columns. Fitted by `sklearn.linear_model.RidgeCV`: O(n A min(n, A)). Upstream weights
    are not used, only the selected columns.

    References
    ----------
    Hoerl, Kennard 1970, Technometrics 12:55; Golub, Heath, Wahba 1979, Technometrics 21:215.
    """

    takes_nominal: ClassVar[bool] = True

    penalty: float | str = param(
        "auto",
        either(real(above=0), choice("auto")),
        help="Penalty on the squared coefficients; auto chooses it by leave-one-out errors.",
        symbol="λ",
        source="Hoerl, Kennard 1970",
    )

    def unlike_copies(self) -> str:
        if self.penalty != "auto":
            return ""
        return "its penalty is chosen by leaving out a weighted row whole, repeated rows singly"

    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> _Fitted:
        from sklearn.linear_model import RidgeCV

        levels = learn_levels(data)
        X = indicators(data.values, levels) if levels else data.matrix
        counts = data.row_counts.astype(np.float64)
        centre, scale = learn_scale(X, counts)
        penalties = _PENALTIES if self.penalty == "auto" else np.array([float(self.penalty)])
        made = RidgeCV(penalties).fit(standardised(X, centre, scale), data.y, sample_weight=counts)
        return _Fitted(
            slope=made.coef_ / scale,
            intercept=float(made.intercept_ - (made.coef_ / scale) @ centre),
            levels=levels,
        )


@attrs.frozen(kw_only=True, eq=False)
class _Fitted:
    slope: NDArray[np.float64]
    intercept: float
    levels: Levels

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers (n,) for rows (n, n_features)."""
        predicted: NDArray[np.float64] = indicators(X, self.levels) @ self.slope + self.intercept
        return predicted
