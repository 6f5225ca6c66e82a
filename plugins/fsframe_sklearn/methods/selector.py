"""A scikit-learn selector as a stage, by its public name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import number_to_keep, param, text
from fsframe.table.dataset import Dataset
from fsframe_sklearn.engine.estimators import (
    make_estimator,
    parse_options,
    seed_estimator,
    takes_missing,
)
from fsframe_sklearn.engine.rows import guarded

__all__ = ["SklearnSelector"]

_FOR_CLASSES = {"chi2", "f_classif", "f_oneway", "mutual_info_classif"}
_FOR_NUMBERS = {"f_regression", "r_regression", "mutual_info_regression"}
# The selectors' parameters for the number of columns to keep.
_NUMBERS = ("k", "n_features_to_select", "max_features")


@attrs.frozen(kw_only=True)
class SklearnSelector(Selector):
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

    top: int | float | None = number_to_keep("as many as the selector keeps by its own options")
    estimator: str = param(
        kind=text("a selector of scikit-learn"),
        help="Class name of the selector, such as SelectKBest.",
    )
    options: str = param(
        "{}", text("a JSON object"), help='Its parameters as JSON, such as {"k": 5}.'
    )

    def check_parameters(self) -> Iterator[str]:
        try:
            self._made()
        except RequestError as error:
            yield str(error)

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
        own = [k for k in self._made().get_params(deep=True) if k.rpartition("__")[2] == "cv"]
        return f"{self.estimator} assigns single rows to folds" if own else ""

    def ignores_time(self) -> str:
        return self.ignores_groups() or super().ignores_time()

    def missing_taken(self) -> bool:
        return takes_missing(self._made())

    def _made(self) -> Any:
        return make_estimator(self.estimator, parse_options(self.options), ("selector",))

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        for problem in self.check_request(data):
            raise RequestError(f"sklearn-selector: {problem}")
        options = parse_options(self.options)
        made = seed_estimator(self._made(), int(run.generator().integers(2**31 - 1)), options)
        if self.top is not None:
            count = self.keep_count(data.n_features, 1)
            own = [name for name in _NUMBERS if name in made.get_params(deep=False)]
            made.set_params(**dict.fromkeys(own[:1], count))
            if "max_features" in own:
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
    found = getattr(inner, "coef_", getattr(inner, "feature_importances_", None))
    if found is None:
        return None
    values = np.abs(np.asarray(found, dtype=np.float64))
    return values if values.ndim == 1 else values.sum(axis=0)


def _finite(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores with NaN (constant columns) replaced by the lowest score, and without infinities."""
    known = np.nan_to_num(scores, nan=np.nan)
    return np.where(np.isnan(known), np.nanmin(known, initial=0.0), known)
