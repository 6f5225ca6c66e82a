"""Importance of each column by an estimator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kinds import MOST_TIMES
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, integer, number_to_keep, optional, param, text
from fsframe.table.dataset import Dataset
from fsframe_sklearn.engine.rows import drawn_rows, guarded, make_folds
from fsframe_sklearn.methods.learners import (
    COEFFICIENT_COLUMNS,
    Learner,
    LearnerSelector,
    check_scoring,
)

__all__ = ["Importance", "unseen_importance"]


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

    top: int | float | None = number_to_keep("those with at least the mean importance")
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
        notes: list[str] = []
        model: dict[str, NDArray[np.float64]] = {}
        tables: dict[str, NDArray[np.float64]] = {}
        with guarded(f"importance: {self.learner_name(data)}", data) as issued:
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
            warnings=(*issued, *notes),
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

        splits = make_folds(data, y, unit, self.folds, run.generator(1), "importance")
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


def unseen_importance(
    forest: Any,
    X: NDArray[np.float64],
    y: NDArray[Any],
    unit: NDArray[np.int64],
    generator: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation over trees of the loss when a column is permuted out of bag.

    Parameters
    ----------
    forest : fitted forest of scikit-learn with bootstrap
    X : (n, p) float64
        The rows on which it was fitted, in order.
    y : (n,)
    unit : (n,) int
        Copies of a drawn row have equal units; a tree that drew one of them has seen all.
    generator : numpy.random.Generator

    Returns
    -------
    mean, deviation : (p,) float64
        Of the loss of accuracy, or the increase of the squared error, over the trees that have
        out-of-bag rows; zeros if none has.

    Notes
    -----
    Columns that a tree does not use have no loss and are not permuted. Time O(trees · columns that
    a tree uses · out-of-bag rows · depth).
    """
    single = X.astype(np.float32)
    classes = getattr(forest, "classes_", None)
    truth = y if classes is None else np.searchsorted(classes, y)
    losses = []
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        seen = np.zeros(int(unit.max()) + 1, dtype=bool)
        seen[unit[drawn]] = True
        rows = np.flatnonzero(~seen[unit])
        if not rows.size:
            continue
        unseen, labels = single[rows], truth[rows]
        intact = _loss(tree, unseen, labels)
        loss = np.zeros(X.shape[1])
        for column in np.unique(tree.tree_.feature[tree.tree_.feature >= 0]):
            shuffled = unseen.copy()
            shuffled[:, column] = unseen[generator.permutation(rows.size), column]
            loss[column] = _loss(tree, shuffled, labels) - intact
        losses.append(loss)
    if not losses:
        return np.zeros(X.shape[1]), np.zeros(X.shape[1])
    table = np.array(losses)
    return table.mean(axis=0), table.std(axis=0)


def _loss(tree: Any, X: NDArray[np.float32], truth: NDArray[Any]) -> float:
    predicted = tree.predict(X, check_input=False)
    if hasattr(tree, "predict_proba"):
        return float(np.mean(predicted.astype(np.int64) != truth))
    return float(np.mean((predicted - truth) ** 2))
