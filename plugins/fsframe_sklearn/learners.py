"""Stages that rank columns by an estimator of scikit-learn: their base, and importance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.kinds import MOST_TIMES
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import choice, flag, integer, json_object, number_to_keep, optional, param, text
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import learn_scale, standardised
from fsframe_sklearn.estimators import (
    LEARNERS,
    counted_data,
    fold_problems,
    guarded,
    make_estimator,
    make_folds,
    parse_options,
    seed_estimator,
    takes_missing,
    units_of,
)

COPIES_IN_ONE_FOLD = (
    "all copies of a weighted row are in one fold of its cross-validation, repeated rows are not"
)
LEARNER = optional(
    text("a classifier or regressor of scikit-learn, such as RandomForestClassifier")
)
"""The values of a parameter `of`."""
_COLUMNS_EXAMINED = 50
"""Number of columns, evenly spread, whose different values are counted."""
_FEW_VALUES = 3
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
        LEARNER,
        help="Class name of the estimator; by default that of the method's publication, for "
        "classes or for a numeric target.",
    )
    options: str = param("{}", json_object(), help='Its parameters, as JSON: {"max_depth": 3}.')
    standardize: bool = param(
        True,
        flag(),
        help="Scale features to mean 0 and standard deviation 1, learned from the rows.",
    )

    def check_parameters(self) -> Iterator[str]:
        try:
            self._candidates()
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
        options, candidates, refused = parse_options(self.options), [], []
        for name in [self.of] if self.of is not None else self.default_of.values():
            try:
                candidates.append(make_estimator(name, options, LEARNERS))
            except RequestError as error:
                refused.append(error)
        if not candidates:
            raise refused[0]
        return candidates

    def check_request(self, data: Dataset) -> Iterator[str]:
        try:
            made = self.learner(data, 0).estimator
        except RequestError as error:
            yield str(error)
            return
        kernel = made.get_params(deep=False).get("kernel", "linear")
        if self.reads_importance() and hasattr(type(made), "coef_") and kernel != "linear":
            name = type(made).__name__
            yield (
                f"of={name} has coefficients only with a linear kernel, not kernel={kernel}: set "
                f'options={{"kernel": "linear"}}, or of=Linear{name.removeprefix("Nu")}'
            )
        yield from fold_problems(units_of(data), self.folds_of_rows())

    def reads_importance(self) -> bool:
        """Whether it needs the estimator's own importances; authors override this."""
        return False

    def folds_of_rows(self) -> int:
        """Number of folds that it makes of the rows; authors override this."""
        return 0

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


def target_unit(data: Dataset) -> float:
    """Standard deviation of a numeric target over the drawn rows; 1 if it is constant."""
    y = np.asarray(data.y, dtype=np.float64)
    mean = np.average(y, weights=data.counts)
    return float(np.sqrt(np.average((y - mean) ** 2, weights=data.counts))) or 1.0


def target_of_trees(data: Dataset, y: NDArray[Any]) -> NDArray[Any]:
    """The target for a forest, standardised if trees would see no variance in it.

    scikit-learn takes a variance below 2e-16 as none, and computes it from sums of squares.
    """
    if data.task != "regression":
        return y
    mean, unit = float(np.mean(y)), target_unit(data)
    return (y - mean) / unit if unit < 1e-6 * max(1.0, abs(mean)) else y


def scoring_parameter(of: str) -> Any:
    """The parameter `scoring`; `of` says what it scores, or when it is used."""
    return param(
        None,
        optional(text("a measure of scikit-learn")),
        help=f"Scorer of scikit-learn{of}; by default the estimator's own score.",
    )


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

        centre, scale = learn_scale(X, standardize=self.standardize)
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
            importances = getattr(self.estimator, name, None)
            if importances is None:
                continue
            values = (
                importances.toarray()
                if hasattr(importances, "toarray")
                else np.asarray(importances)
            )
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


@attrs.frozen(kw_only=True)
class Importance(LearnerSelector):
    """Columns that a fitted estimator finds important.

    Without `top`, columns of at least the mean importance are kept, as scikit-learn's
    ``SelectFromModel`` does, but never a column of zero importance.

    Notes
    -----
    `measure`: ``own`` is ``coef_`` (absolute values, summed over classes) or
    ``feature_importances_``; ``held-out`` fits on all folds but one and averages the loss of
    `scoring` when a column of the held-out fold is permuted. Copies of a row and rows of a group
    are held out together. Table ``deviation``: the standard deviation over folds and repeats.
    `model` contains the coefficients of a linear estimator. Cost: one fit, or `folds`.

    Columns that a stage keeps by resampling it are *relevant*, not needed (`joint` is False): trees
    that draw the columns of a split at random use copies of a cause in its place, and their
    importance is zero only for a column that says nothing about the label given any subset of the
    others (Louppe et al. 2013, theorems 3 and 5; for total randomisation, without limit on trees
    and rows). For the coefficients of a linear model a stronger statement would be true.

    References
    ----------
    L. Breiman 2001, Random forests, Machine Learning 45:5–32, sec. 10. A. Fisher, C. Rudin,
    F. Dominici 2019, JMLR 20(177). G. Louppe, L. Wehenkel, A. Sutera, P. Geurts 2013, Understanding
    variable importances in forests of randomized trees, NIPS 26. F. Pedregosa et al. 2011,
    Scikit-learn, JMLR 12.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> Importance(of="LinearRegression").select(Dataset.from_arrays(X, X[:, 2])).selected
    array([2])
    """

    takes_time: ClassVar[bool] = False
    competing: ClassVar[bool] = True

    default_of = {
        "classification": "RandomForestClassifier",
        "regression": "RandomForestRegressor",
    }

    top: int | float | None = number_to_keep("those with at least the mean importance")
    measure: str = param(
        "own",
        choice("own", "held-out"),
        help="Importance: the estimator's own, or the loss in score when a feature is "
        "permuted on held-out rows.",
    )
    folds: int = param(5, integer(2), help="Number of folds, for measure=held-out.")
    repeats: int = param(
        5, integer(1, MOST_TIMES), help="Permutations per feature, for measure=held-out."
    )
    scoring: str | None = scoring_parameter(", for measure=held-out")

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        yield from check_scoring(self.scoring)
        if self.measure != "held-out" and self.scoring is not None:
            yield f"scoring is for measure=held-out, not {self.measure}"

    def cost(self, n: int, p: int) -> Cost | None:
        made = self._candidates()[0]
        trees = cost_of_trees(made, n, p)
        fit = trees or cost_of_fit(made, n, p)
        if fit is None or (self.measure == "held-out" and trees is None):
            return None
        if self.measure != "held-out":
            # Reading the rows takes longer than the fit of a linear model.
            read = 0.0 if trees else 4e-5 * n
            return Cost(seconds=fit.seconds + read, formula=fit.formula + " + 4e-5 n" * (read > 0))
        predicted = p * self.repeats * made.n_estimators * (5e-5 + 1.5e-7 * n / self.folds)
        return Cost(
            seconds=self.folds * (fit.seconds + predicted),
            formula=f"{self.folds} ({fit.formula} + {self.repeats * made.n_estimators} p (5e-5 + "
            f"1.5e-7 n / {self.folds}))",
        )

    def halves_forewarning(self, data: Dataset) -> str:
        """Boosted trees prefer the same columns on every half if columns have few values."""
        if self.measure != "own" or "Boosting" not in (self.of or ""):
            return ""
        examined = range(0, data.n_features, max(1, data.n_features // _COLUMNS_EXAMINED))
        few = (np.unique(data.columns(k, k + 1)).size <= _FEW_VALUES for k in examined)
        if 2 * sum(few) <= len(examined):
            return ""
        return (
            "boosted trees choose the same columns on every half where most columns have two or "
            "three values: four in ten such tables without a relevant column keep some, although "
            "at most one in ten should"
        )

    def reads_importance(self) -> bool:
        return self.measure == "own"

    def folds_of_rows(self) -> int:
        return self.folds if self.measure == "held-out" else 0

    def top_only_cuts(self) -> bool:
        return True

    def unlike_copies(self) -> str:
        return COPIES_IN_ONE_FOLD if self.measure == "held-out" else ""

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        learner = self.learner(data, self.seed(run, 0))
        X, y, unit = counted_data(data)
        if self.of is None:
            y = target_of_trees(data, y)
        notes: list[str] = []
        model: dict[str, NDArray[np.float64]] = {}
        tables: dict[str, NDArray[np.float64]] = {}
        with guarded(f"importance: {self.learner_name(data)}", data) as issued:
            if self.measure == "held-out":
                scores, tables["deviation"] = self._held_out(learner, data, X, y, unit, run)
            else:
                fitted = learner.fit(X, y)
                model = fitted.coefficients()
                scores = fitted.importance()
        if not np.isfinite(scores).all():
            scores = np.where(np.isfinite(scores), scores, 0.0)
            notes.append("non-finite importances count as 0")
        enough = int(np.count_nonzero((scores >= scores.mean()) & (scores > 0)))
        if not enough and self.top is None:
            notes.append("no column has a positive importance, so none is kept")
        selected = rank_by_score(scores)[: self.keep_count(data.n_features, enough)]
        if not (scores[selected] > 0).all():
            notes.append("columns without importance (0 or less) are kept to reach top")
        return Selection(
            selected=selected,
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
            permuted = permutation_importance(
                fitted.estimator,
                fitted.scaled(X[test]),
                y[test],
                scoring=self.scoring,
                n_repeats=self.repeats,
                random_state=self.seed(run, 2, fold),
                n_jobs=1,
            )
            losses.append(permuted.importances)
            run.progress(fold + 1, self.folds, "importance")
        table = np.concatenate(losses, axis=1)
        return table.mean(axis=1), table.std(axis=1)


def cost_of_trees(made: Any, n: int, p: int) -> Cost | None:
    """The cost of one fit of a forest or of boosted trees (for two classes or a numeric target).

    None for any other estimator.
    """
    from sklearn import ensemble

    boosted = (ensemble.GradientBoostingClassifier, ensemble.GradientBoostingRegressor)
    forests = ensemble.RandomForestClassifier, ensemble.RandomForestRegressor
    extra = ensemble.ExtraTreesClassifier, ensemble.ExtraTreesRegressor
    if isinstance(made, boosted):
        share = made.max_features if isinstance(made.max_features, float) else 1.0
        depth = made.max_depth or np.log2(n)
        tree = 6e-4 + 8e-8 * depth * n * p * share
        formula = f"{made.n_estimators} (0.0006 + {8e-8 * depth * share:.1g} n p)"
    elif isinstance(made, forests + extra):
        rate = 3e-8 if isinstance(made, extra) else 6e-8
        tree = 1.2e-3 + rate * n * np.sqrt(p) * np.log2(n)
        formula = f"{made.n_estimators} (0.0012 + {rate:g} n √p log₂ n)"
    else:
        return None
    return Cost(seconds=float(made.n_estimators * tree), formula=formula)


def cost_of_fit(made: Any, n: int, p: int) -> Cost | None:
    """The cost of one fit of an estimator, and of its predictions for a fold; None if not known."""
    from sklearn import linear_model, neighbors, svm

    linear = (
        svm.LinearSVC, svm.LinearSVR, linear_model.LogisticRegression,
        linear_model.LinearRegression, linear_model.Ridge, linear_model.RidgeClassifier,
    )  # fmt: skip
    if isinstance(made, (svm.SVC, svm.SVR)):
        seconds, formula = 2e-3 + n * n * (8e-9 + 5e-10 * p), "0.002 + n² (8e-9 + 5e-10 p)"
    elif isinstance(made, linear):
        seconds, formula = 2e-3 + 1e-7 * n * p, "0.002 + 1e-7 np"
    elif isinstance(made, (neighbors.KNeighborsClassifier, neighbors.KNeighborsRegressor)):
        seconds, formula = 2.5e-3 + 1e-6 * n, "0.0025 + 1e-6 n"
    else:
        return cost_of_trees(made, n, p)
    return Cost(seconds=seconds, formula=formula)
