"""Importance of each column by an estimator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.kinds import MOST_TIMES
from fsframe.contracts.params import choice, count_or_fraction, integer, optional, param, text
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection, rank_by_score
from fsframe_sklearn.engine.rows import FitWarnings, drawn_rows, guarded, make_folds
from fsframe_sklearn.engine.unseen_rows import unseen_importance
from fsframe_sklearn.methods.learners import (
    COEFFICIENT_COLUMNS,
    Learner,
    LearnerSelector,
    check_scoring,
)

__all__ = ["Importance"]


@attrs.frozen(kw_only=True)
class Importance(LearnerSelector):
    """Columns that a fitted estimator finds important.

    Without `top`, columns of at least the mean importance are kept, as scikit-learn's
    ``SelectFromModel`` does, but never a column of zero importance.

    Notes
    -----
    `measure`: ``own`` is ``coef_`` (absolute values, summed over classes) or
    ``feature_importances_``; ``held-out`` fits on all folds but one and averages the loss of
    `scoring` when a column of the held-out fold is permuted; ``out-of-bag`` permutes a column, for
    each tree of a forest, among the rows that the tree did not draw, and averages the loss of
    accuracy or the increase of the squared error. Copies of a row and rows of a group are held out
    together; a forest draws single rows, so groups raise an error with ``out-of-bag``. Table
    ``deviation``: the standard deviation over folds and repeats, or over trees. `model` contains
    the coefficients of a linear estimator. Cost: one fit, or `folds`.

    References
    ----------
    L. Breiman 2001, Random forests, Machine Learning 45:5–32, sec. 10. A. Fisher, C. Rudin,
    F. Dominici 2019, JMLR 20(177). F. Pedregosa et al. 2011, Scikit-learn, JMLR 12.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> Importance(of="LinearRegression").select(Dataset.from_arrays(X, X[:, 2])).selected
    array([2])
    """

    takes_time: ClassVar[bool] = False

    default_of = {
        "classification": "RandomForestClassifier",
        "regression": "RandomForestRegressor",
    }

    top: int | float | None = param(
        None,
        optional(count_or_fraction()),
        help="Number of features to keep: a count, or a fraction of the features it is given. "
        "By default those with at least the mean importance.",
    )
    measure: str = param(
        "own",
        choice("own", "held-out", "out-of-bag"),
        help="Importance: the estimator's own, or the loss in score when a feature is "
        "permuted, on held-out rows or on each tree's out-of-bag rows.",
    )
    folds: int = param(5, integer(2), help="Number of folds, for measure=held-out.")
    repeats: int = param(
        5, integer(1, MOST_TIMES), help="Permutations per feature, for measure=held-out."
    )
    scoring: str | None = param(
        None,
        optional(text("a measure of scikit-learn")),
        help="Scorer of scikit-learn, for measure=held-out; by default the estimator's own score.",
    )

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        yield from check_scoring(self.scoring)
        if self.measure != "held-out" and self.scoring is not None:
            yield f"scoring is for measure=held-out, not {self.measure}"

    def check_learner(self, made: Any) -> Iterator[str]:
        if self.measure == "out-of-bag" and not _draws_rows(made):
            yield (
                f"measure=out-of-bag needs a forest that draws rows, not {type(made).__name__}"
                + (" with bootstrap=false" if hasattr(made, "bootstrap") else "")
            )

    def ignores_groups(self) -> str:
        if self.measure == "out-of-bag":
            return "a forest draws rows one by one (measure=held-out keeps groups together)"
        return ""

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        learner = self.learner(data, self.seed(run, 0))
        X, y, unit = drawn_rows(data)
        issued = FitWarnings()
        notes: list[str] = []
        model: dict[str, NDArray[np.float64]] = {}
        tables: dict[str, NDArray[np.float64]] = {}
        with guarded(f"importance: {self.learner_name(data)}", data, issued):
            if self.measure == "held-out":
                scores, tables["deviation"] = self._held_out(learner, data, X, y, unit, run)
            else:
                fitted = learner.fit(X, y)
                model = fitted.coefficients()
                if self.measure == "own":
                    scores = fitted.importance()
                else:
                    scores, tables["deviation"] = unseen_importance(
                        fitted.estimator, fitted.scaled(X), y, unit, run.generator(1)
                    )
        if not np.isfinite(scores).all():
            scores = np.where(np.isfinite(scores), scores, 0.0)
            notes.append("non-finite importances count as 0")
        enough = int(np.count_nonzero((scores >= scores.mean()) & (scores > 0)))
        if not enough and self.top is None:
            notes.append("no column has a positive importance, so none is kept")
        return Selection(
            selected=rank_by_score(scores)[: self.keep_count(data.n_features, enough)],
            scores=scores,
            model=model,
            model_columns={name: COEFFICIENT_COLUMNS[name] for name in model},
            tables=tables,
            warnings=(*issued.texts(), *notes),
        )

    def _held_out(
        self,
        learner: Learner,
        data: Dataset,
        X: NDArray[np.float64],
        y: NDArray[Any],
        unit: NDArray[np.int64],
        run: Run,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from sklearn.inspection import permutation_importance

        splits = make_folds(
            y,
            unit,
            self.folds,
            run.generator(1),
            classes=data.task == "classification",
            who="importance",
        )
        losses = []
        for fold, (train, test) in enumerate(splits):
            fitted = learner.fit(X[train], y[train])
            found = permutation_importance(
                fitted.estimator,
                fitted.scaled(X[test]),
                y[test],
                scoring=self.scoring,
                n_repeats=self.repeats,
                random_state=self.seed(run, 2, fold),
                n_jobs=1,
            )
            losses.append(found.importances)
            run.progress(fold + 1, self.folds, "importance")
        table = np.concatenate(losses, axis=1)
        return table.mean(axis=1), table.std(axis=1)


def _draws_rows(made: Any) -> bool:
    from sklearn import ensemble

    forests = (ensemble.RandomForestClassifier, ensemble.RandomForestRegressor)
    extra = (ensemble.ExtraTreesClassifier, ensemble.ExtraTreesRegressor)
    return isinstance(made, forests + extra) and bool(made.bootstrap)
