"""Estimators of methods: fitted attributes, predictions, and base classes."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from fsframe.chains.chain import Chain
from fsframe.chains.stage import Stage, StageResult
from fsframe.evaluation.folds import Constant
from fsframe.evaluation.measures import CIndex
from fsframe.kinds import is_stages
from fsframe.method.answer import feature_statistics
from fsframe.method.classifier import Classifier, FittedOnColumns
from fsframe.method.pairs import pair_table
from fsframe.method.run import DEFAULT_MEMORY, Run, as_size
from fsframe.method.selection import Pair, Selection
from fsframe.method.selector import Selector
from fsframe.method.stage_view import filled_rows, wraps_left
from fsframe.registry import classifiers, find_offer, selectors
from fsframe.sklearn.messages import InvalidData, InvalidRequest, as_value_errors, warn_each
from fsframe.sklearn.parameters import (
    SETTINGS,
    chain_text,
    is_set,
    own_classes,
    stage_values,
    with_stage_values,
)
from fsframe.sklearn.tables import (
    Codes,
    Training,
    category_places,
    frame_array,
    new_rows,
    promises_missing,
    takes_missing,
    times_as_numbers,
    training_table,
    with_gaps_filled,
)
from fsframe.table.arrays import unmasked
from fsframe.table.dataset import Dataset
from fsframe.table.frames import frame_names, frame_texts, is_frame
from fsframe.table.side_columns import LABELS


class FittedAttributes:
    """Attributes derived from `selection_`; those that a method does not provide are absent."""

    selection_: Selection

    @property
    def scores_(self) -> NDArray[np.float64]:
        """(n_features,) larger is better; NaN for a feature that was not considered."""
        return self._fitted_selection().scores

    @property
    def ranking_(self) -> NDArray[np.intp]:
        """(n_selected,) kept columns, best first."""
        return self._fitted_selection().selected

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """(n_features,) `scores_`; a feature that was not considered has the minimum, or 0."""
        scores = self._fitted_selection().scores
        least = min(0.0, float(np.nanmin(scores))) if not np.isnan(scores).all() else 0.0
        return np.where(np.isnan(scores), least, scores)

    @property
    def pairs_(self) -> list[Pair]:
        """Pairs of columns with their weights, by decreasing absolute weight, without zeros."""
        weights = self._fitted_selection().pair_weights
        if weights is None:
            raise AttributeError(self._lacks("pairs_", "weights of pairs"))
        return weights.top()

    @property
    def pvalues_(self) -> NDArray[np.float64]:
        """p-values of the features (n_features,), or of `pairs_` in a test of pairs; NaN where
        untested."""
        return self._tested("pvalues_", "p")

    @property
    def qvalues_(self) -> NDArray[np.float64]:
        """`pvalues_` adjusted for multiple testing, by Benjamini and Hochberg unless the method
        adjusts them."""
        return self._tested("qvalues_", "q")

    def _fitted_selection(self) -> Selection:
        check_is_fitted(self)
        if not hasattr(self, "selection_"):
            raise AttributeError(self._lacks("selection_", "a selection"))
        return self.selection_

    def _tested(self, attribute: str, column: str) -> NDArray[np.float64]:
        selection = self._fitted_selection()
        # The same tables as `fsframe table` writes.
        if "pairs" in selection.tables:
            names = [str(place) for place in range(selection.n_features)]
            tests = pair_table(names, [("stage", selection)])
            if column in tests.columns:
                pairs = zip(tests.cells("feature"), tests.cells("with"), strict=True)
                tested = [(int(a), int(b)) for a, b in pairs]
                return pair_values(self.pairs_, tested, tests.columns[column])
        found = feature_statistics(selection.n_features, selection)
        if column not in found:
            raise AttributeError(self._lacks(attribute, "tests"))
        return found[column]

    def _lacks(self, attribute: str, what: str) -> str:
        kind = type(self).__name__
        return f"{kind!r} object has no attribute {attribute!r}: this fit gave no {what}"


def pair_values(
    pairs: list[Pair], tested: list[tuple[int, int]], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Values of the tested pairs, in the order of `pairs`; NaN for one that was not tested.

    >>> pair_values([Pair(1, 4, 9.0), Pair(0, 1, 2.0)], [(0, 1), (1, 4)], np.array([0.3, 0.5]))
    array([0.5, 0.3])
    """
    known = dict(zip(tested, values.tolist(), strict=True))
    return np.array([known.get((pair.a, pair.b), np.nan) for pair in pairs], dtype=np.float64)


def iterations(tables: Mapping[str, NDArray[Any]]) -> int | None:
    """Number of iterations of a fit, from its tables ``cost`` (start and each iterate) or
    ``change`` (each iteration)."""
    if "cost" in tables:
        return max(1, int(np.size(tables["cost"])) - 1)
    return max(1, int(np.size(tables["change"]))) if "change" in tables else None


class PredictsRows:
    """Base of estimators that predict new rows with `fitted_`."""

    fitted_: FittedOnColumns
    _codes: Codes
    _allows_nan: Callable[[], bool]

    def _set_fitted(self, training: Training, fitted: FittedOnColumns) -> None:
        self.fitted_ = fitted

    def _model_and_rows(self, X: Any) -> tuple[FittedOnColumns, NDArray[Any]]:
        """The fitted model and the rows for it; of sparse rows, only the columns that it reads."""
        check_is_fitted(self)
        fitted = self.fitted_
        reads = set(fitted.columns.tolist())
        if fitted.donors is not None:
            reads.update(fitted.donors.columns.tolist())
        rows = new_rows(self, X, self._codes, allow_nan=self._allows_nan(), reads=reads)
        if not issparse(rows):
            return fitted, rows
        if fitted.donors is None:
            rows, fitted = rows[:, fitted.columns], fitted.restricted_to_its_columns()
        return fitted, rows.toarray()


class PredictingNumbers(PredictsRows, RegressorMixin):  # type: ignore[misc]
    """A fitted regressor with scikit-learn's interface; mixin for classes that set `fitted_`."""

    _of_times: bool

    def _set_fitted(self, training: Training, fitted: FittedOnColumns) -> None:
        super()._set_fitted(training, fitted)
        self._of_times = training.data.task == "survival"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Numbers (n_samples,) predicted of new rows `X` (n_samples, n_features)."""
        fitted, rows = self._model_and_rows(X)
        with as_value_errors():
            return fitted.predict(rows)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R² of the predictions; for survival the c-index of the risks."""
        if not self._of_times:
            return float(super().score(X, y, sample_weight))
        if sample_weight is not None:
            raise InvalidRequest("the c-index of survival times does not support sample_weight")
        return CIndex.of(times_as_numbers(y), self.predict(X))


def _gives_probabilities(estimator: Any) -> bool:
    """Whether the classifier declares its scores to be probabilities."""
    try:
        classifier = estimator._chain().classifier
    except ValueError:
        # Invalid parameters are refused by `fit`.
        return False
    return classifier is not None and classifier.score_kind() == "probabilities"


class Predicting(PredictsRows, ClassifierMixin):  # type: ignore[misc]
    """A fitted classifier with scikit-learn's interface; mixin for classes that set `fitted_`."""

    classes_: NDArray[Any]

    def _set_fitted(self, training: Training, fitted: FittedOnColumns) -> None:
        super()._set_fitted(training, fitted)
        self.classes_ = training.classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes (n_samples,) of new rows `X` (n_samples, n_features)."""
        fitted, rows = self._model_and_rows(X)
        with as_value_errors():
            codes = fitted.predict(rows)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Decision scores of each class, larger is more likely.

        Returns
        -------
        (n_samples, n_classes) float64
            With two classes, (n_samples,): the score of the second minus that of the first.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities for new rows `X` (n_samples, n_features).

        Only available if the scores of the classifier are probabilities, such as votes of
        neighbours; otherwise scikit-learn's CalibratedClassifierCV computes probabilities from
        `decision_function`.

        Returns
        -------
        (n_samples, n_classes) float64
            Columns as in `classes_`; each row sums to 1.
        """
        return self._scores(X)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        fitted, rows = self._model_and_rows(X)
        with as_value_errors():
            return fitted.predict_scores(rows)


def run_of(estimator: Any) -> Run:
    """The run context for an estimator's own parameters.

    Raises
    ------
    ValueError
        If `random_state`, `n_jobs` or `memory_limit` is invalid.
    """
    state = getattr(estimator, "random_state", 0)
    is_integer = isinstance(state, numbers.Integral) and not isinstance(state, bool)
    if isinstance(state, np.random.Generator):
        seed = int(state.integers(2**31 - 1))
    else:
        seed = int(state) if is_integer else int(check_random_state(state).randint(2**31 - 1))
    memory = getattr(estimator, "memory_limit", None)
    jobs = getattr(estimator, "n_jobs", None)
    if jobs is not None and not isinstance(jobs, numbers.Integral):
        raise InvalidRequest(f"n_jobs must be a whole number or None, not {jobs!r}")
    with as_value_errors():
        if isinstance(memory, str):
            memory = as_size(memory)
        elif not (memory is None or (isinstance(memory, numbers.Integral) and int(memory) > 0)):
            raise InvalidRequest(
                f"memory_limit must be a number of bytes > 0, a size such as '2GB', or None, not "
                f"{memory!r}"
            )
        return Run(
            entropy=seed,
            threads=effective_n_jobs(jobs),
            memory=DEFAULT_MEMORY if memory is None else int(memory),
        )


class Selecting(FittedAttributes, SelectorMixin):  # type: ignore[misc]
    """A fitted selection as a transformer; mixin for classes that set `selection_`."""

    _codes: Codes
    _allows_nan: Callable[[], bool]

    def transform(self, X: Any) -> Any:
        """The kept columns of `X` (n_samples, n_features), in the order of the table.

        Returns
        -------
        (n_samples, n_selected) array, sparse if `X` is (csr or csc)
            Of objects if a kept column of a data frame is text. A data frame, with the kinds of its
            columns, if `set_output` requests one. If a stage fills missing values (`impute`), they
            are filled as learned.
        """
        check_is_fitted(self)
        self._check_filling(X)
        finite = "allow-nan" if self._allows_nan() else True
        to_array = _get_output_config("transform", self)["dense"] == "default"
        # A frame stays a frame, so that its columns keep their kinds.
        as_frame = is_frame(X) and bool(not to_array or category_places(X))
        X = validate_data(
            self,
            unmasked(X),
            dtype=None,
            accept_sparse=("csr", "csc"),
            ensure_all_finite=finite,
            skip_check_array=as_frame,
            reset=False,
        )
        if as_frame and not self._kept().size:
            # Of a frame of polars, scikit-learn cannot take no column.
            X, as_frame = np.zeros(X.shape), False
        kept = self._filled(self._transform(X), X)
        return frame_array(kept, finite) if as_frame and to_array else kept

    def _filled(self, kept: Any, X: Any) -> Any:
        """The kept columns of `X` with missing values filled as learned."""
        if issparse(X) and not issparse(kept):
            # Scikit-learn returns a dense array without columns if no column is kept.
            kept = X[:, :0]
        selection = self.selection_
        if selection.fill is None:
            return kept
        if issparse(X):
            raise InvalidData(
                "X is sparse, and a stage of this estimator fills missing values, which are then "
                "not zero: give X.toarray()"
            )
        values: Iterable[Any] = selection.fill[self._kept()]
        if selection.donors is not None:
            reads = selection.donors.columns.tolist()
            rows = new_rows(self, X, self._codes, allow_nan=True, reads=reads)
            rows = np.asarray(rows, dtype=np.float64)
            # The donors' values for each row, for each kept column.
            values = filled_rows(rows, self._kept(), selection.fill, selection.donors).T
        return with_gaps_filled(kept, self._filling(values))

    def _check_filling(self, X: Any) -> None:
        """Refuse to fill categorical columns whose category names are not known."""
        fill = self.selection_.fill
        if fill is None:
            return
        donors = self.selection_.donors
        needed = self._kept() if donors is None else donors.columns
        unnamed = category_places(X) - set(self._codes)
        for column in unnamed & set(needed.tolist()):
            if donors is not None:
                raise InvalidData(
                    f"column {frame_names(X)[column]!r} is categorical and missing values are "
                    "filled from the nearest rows, but the run this estimator was made from does "
                    "not record the names of its categories: call fit"
                )
            if not np.isnan(fill[column]) and not all(frame_texts(X, column)):
                raise InvalidData(
                    f"column {frame_names(X)[column]!r} has missing values, and the run this "
                    "estimator was made from does not record the names of its categories: call "
                    "fit"
                )

    def _kept(self) -> NDArray[np.intp]:
        kept: NDArray[np.intp] = self.get_support(indices=True)
        return kept

    def _filling(self, values: Iterable[Any]) -> list[Any]:
        """The values to fill each kept column with, categories by name."""
        filling: list[Any] = []
        for column, value in zip(self._kept().tolist(), values, strict=True):
            kind = self._codes.get(column)
            named: dict[float, str] = {} if kind is None else dict(enumerate(kind.levels))
            if np.ndim(value):
                filling.append([named.get(v, v) for v in value.tolist()])
            else:
                filling.append(named.get(float(value), float(value)))
        return filling

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return np.isin(np.arange(self.n_features_in_), self.ranking_)


class StageEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators of methods and chains."""

    _settings: ClassVar[Collection[str]]
    """Names of its parameters in `SETTINGS`."""
    _codes: Codes

    def _chain(self) -> Chain:
        raise NotImplementedError

    def _as_stages(self) -> tuple[Stage, ...]:
        """Its stages within a chain, which sets the random state and the threads."""
        changed = [
            name for name in self._settings if is_set(getattr(self, name), SETTINGS[name].default)
        ]
        if changed:
            raise InvalidRequest(
                f"{type(self).__name__} is a stage here: set {', '.join(changed)} on the estimator "
                "of the chain"
            )
        return self._chain().stages

    def _fit(
        self, X: Any, y: ArrayLike | None, task: str, tasks: Collection[str], **of_rows: Any
    ) -> Self:
        """Run the chain and keep its results; `of_rows` are further arguments of `fit`."""
        run, chain = run_of(self), self._chain()
        with as_value_errors():
            training = training_table(self, chain, X, y, task=task, tasks=tasks, **of_rows)
            chain.check_request(training.data)
            steps = chain.steps(training.data, run, training.upstream)
            results: list[StageResult] = list(islice(steps, len(chain.selecting)))
            last = results[-1] if results and chain.classifier is not None else None
            if isinstance(last, Selection) and not last.selected.size:
                assert chain.classifier is not None
                results.append(_without_columns(training.data, chain.classifier.method_name()))
            else:
                results += steps
        self._codes = training.codes
        self._keep([result if isinstance(result, Selection) else None for result in results])
        if isinstance(self, PredictsRows):
            fitted = results[-1]
            assert isinstance(fitted, FittedOnColumns)
            self._set_fitted(training, fitted)
        warn_each(self._warnings(training.data), type(self).__name__)
        return self

    def _keep(self, selections: Sequence[Selection | None]) -> None:
        """Store the selections of the stages; a classifier has none."""
        raise NotImplementedError

    def _warnings(self, data: Dataset) -> Iterator[str]:
        """The warnings of a fit."""
        yield from data.warnings

    def _allows_nan(self) -> bool:
        return self._chain_holds(takes_missing)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # The tag promises that NaN is accepted in any column.
        tags.input_tags.allow_nan = self._chain_holds(promises_missing)
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def _chain_holds(self, holds: Callable[[Chain], bool]) -> bool:
        try:
            return holds(self._chain())
        except Exception:
            # Invalid parameters are refused by `fit`, not when tags are read.
            return False


def _without_columns(data: Dataset, name: str) -> FittedOnColumns:
    """What predicts where a chain kept no column, as in an evaluation."""
    return FittedOnColumns(
        columns=np.empty(0, dtype=np.intp),
        n_features=data.n_features,
        classes=data.classes,
        inner=Constant.of(data),
        name=name,
    )


class MethodEstimator(StageEstimator):
    """An estimator with the parameters that a method declares."""

    _name: ClassVar[str]
    _method: ClassVar[type[Selector] | type[Classifier]]
    _blank: ClassVar[Callable[..., Any]]
    """Makes an estimator without state, for pickle, from `_name` and classes to register."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep`, those of the stages in `base` too."""
        parameters: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name in self._chains():
                values = stage_values(getattr(self, name))
                parameters |= {f"{name}__{inner}": value for inner, value in values.items()}
        return parameters

    def set_params(self, **params: Any) -> Self:
        """This estimator with other parameters; ``base__mim__top`` if `base` is text.

        Raises
        ------
        ValueError
            If there is no such parameter.
        """
        super().set_params(**{name: v for name, v in params.items() if "__" not in name})
        chains = self._chains()
        nested = {n: v for n, v in params.items() if n.partition("__")[0] in chains and "__" in n}
        others = {n: v for n, v in params.items() if n not in nested and "__" in n}
        super().set_params(**others)
        for full, value in nested.items():
            name, _, inner = full.partition("__")
            setattr(self, name, with_stage_values(getattr(self, name), {inner: value}))
        return self

    def _chains(self) -> set[str]:
        """The parameters that are chains given as text or as a list."""
        return {
            parameter.name
            for parameter in self._method.parameters()
            if is_stages(parameter.kind)
            and isinstance(getattr(self, parameter.name, None), (str, list, tuple))
        }

    def _chain(self) -> Chain:
        """The chain of this one stage.

        Raises
        ------
        InvalidRequest
            Listing every invalid value; if a resampling method has no `base`.
        """
        with as_value_errors():
            method = self._method(
                **{
                    parameter.name: chain_text(getattr(self, parameter.name))
                    if is_stages(parameter.kind)
                    else getattr(self, parameter.name)
                    for parameter in self._method.parameters()
                }
            )
            if wraps_left(method):
                name = type(self).__name__
                raise InvalidRequest(
                    f"{name} resamples another selector: give it, as in {name}(base='immigrate')"
                )
            return Chain((Stage(self._name, method),))

    def _keep(self, selections: Sequence[Selection | None]) -> None:
        (selection,) = selections
        count = None
        if selection is not None:
            self.selection_ = selection
            count = iterations(selection.tables)
        if "max_iter" in {parameter.name for parameter in self._method.parameters()}:
            self.n_iter_ = max(1, int(self.max_iter)) if count is None else count

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        # By the method's name, since the class of `provider/name` is not an attribute of a module.
        # A class registered in this process is pickled too, for workers that lack it.
        _, offer = find_offer(self._name, selectors, classifiers)
        registered = {} if offer.plugin.registered is None else {offer.entry.name: self._method}
        return self._blank, (self._name, registered | own_classes(self._chain)), self.__getstate__()


class SelectorEstimator(Selecting, MethodEstimator):
    """Base of the estimators of selectors."""

    _method: ClassVar[type[Selector]]

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self:
        """Select features; returns this estimator.

        Parameters
        ----------
        X : (n_samples, n_features) array or data frame
            Categorical columns of a data frame are nominal.
        y : (n_samples,)
            Classes, or a numeric target; for survival a structured array of events and times, or
            the times, negative for censored rows. Not needed where the label is not used.
        groups : (n_samples,), optional
            Rows of equal value belong together: no resample or permutation separates them.
        times : (n_samples,) numbers or dates, optional
            Time of each row: stages that sample or permute rows keep the order, or raise an error.
        adjust : (n_samples,) or (n_samples, q) array or data frame, optional
            Covariates to adjust for, numeric, text or categorical.

        Raises
        ------
        ValueError
            If a parameter or the data are invalid; also a RequestError or a DataError.
        PluginError
            If the method fails.
        """
        return self._select(X, y, groups=groups, times=times, adjust=adjust)

    def _select(self, X: Any, y: ArrayLike | None, **of_rows: Any) -> Self:
        if y is None and not self._method.uses_label:
            y = np.arange(_num_samples(X), dtype=np.float64)
            return self._fit(X, y, "regression", self._method.tasks, **of_rows)
        task = getattr(self, "task", "auto")
        if "task" not in self._settings and task not in LABELS:
            # A parameter of the method, which has words of its own.
            task = "auto"
        return self._fit(X, y, task, self._method.tasks, **of_rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._method.uses_label
        return tags

    def _warnings(self, data: Dataset) -> Iterator[str]:
        yield from (*data.warnings, *self.selection_.warnings)


class WeightedSelectorEstimator(SelectorEstimator):
    """Base of the estimators of selectors for which a row of weight 2 counts as two rows."""

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self:
        """Select features; returns this estimator.

        Parameters
        ----------
        X : (n_samples, n_features) array or data frame
            Categorical columns of a data frame are nominal.
        y : (n_samples,)
            Classes, or a numeric target; for survival a structured array of events and times, or
            the times, negative for censored rows. Not needed where the label is not used.
        sample_weight : (n_samples,) ≥ 0, optional
            A row of weight k counts as k rows.
        groups : (n_samples,), optional
            Rows of equal value belong together: no resample or permutation separates them.
        times : (n_samples,) numbers or dates, optional
            Time of each row: stages that sample or permute rows keep the order, or raise an error.
        adjust : (n_samples,) or (n_samples, q) array or data frame, optional
            Covariates to adjust for, numeric, text or categorical.

        Raises
        ------
        ValueError
            If a parameter or the data are invalid; also a RequestError or a DataError.
        PluginError
            If the method fails.
        """
        of_rows = {"groups": groups, "times": times, "adjust": adjust}
        return self._select(X, y, sample_weight=sample_weight, **of_rows)


class _MethodPredictor(PredictsRows, MethodEstimator):
    """Base of the estimators of classifiers and regressors."""

    _method: ClassVar[type[Classifier]]

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the method; returns this estimator.

        Parameters
        ----------
        X : (n_samples, n_features) array or data frame
            Categorical columns of a data frame are coded 0, 1, … in sorted order.
        y : (n_samples,)
            Classes; for a regressor a numeric target; for survival a structured array of events and
            times, or the times, negative for censored rows.

        Raises
        ------
        ValueError
            If a parameter or the data are invalid; also a RequestError or a DataError.
        PluginError
            If the method fails.
        """
        classifier = self._chain().classifier
        assert classifier is not None
        # A classifier that also predicts numbers, such as knn, is fitted to classes here.
        classes = isinstance(self, ClassifierMixin)
        tasks = ("classification",) if classes else classifier.predicts()
        return self._fit(X, y, "auto", tasks)


class ClassifierEstimator(Predicting, _MethodPredictor):
    """Base of the estimators of classifiers."""


class RegressorEstimator(PredictingNumbers, _MethodPredictor):
    """Base of the estimators of regressors."""
