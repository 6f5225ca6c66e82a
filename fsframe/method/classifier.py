"""Classifiers and regressors, and how predictions are measured."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import DataError, PluginError, RequestError, refuse
from fsframe.method.run import Run, make_run
from fsframe.method.selection import Donors, Selection
from fsframe.method.stage_view import (
    Method,
    filled_rows,
    first_missing,
    local_upstream,
    view,
    way_to_fill,
    weights_in_parts,
)
from fsframe.params import Parameterised
from fsframe.registry import in_stage
from fsframe.registry.registry import stage_words
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import LABELS

SCORE_KINDS = ("labels", "scores", "probabilities")
"""Kinds of scores of classifiers: labels only, an order of classes, probabilities."""


@attrs.frozen(kw_only=True, eq=False)
class Predictions:
    """Predictions for some rows, with the truth.

    Parameters
    ----------
    truth : (n,) int or float
        Class codes, the numeric target, or signed survival times (`fsframe.table.side_columns`).
    predicted : (n,) int or float
        Likewise.
    scores : (n, n_classes) float64, optional
        Larger is more likely; none for a numeric target.
    classes : tuple
        The labels of the codes; empty for a numeric target.
    """

    truth: NDArray[Any]
    predicted: NDArray[Any]
    scores: NDArray[np.float64] | None = None
    classes: tuple[Any, ...] = ()

    @property
    def n_classes(self) -> int:
        """Number of classes of the table, also if these rows lack some."""
        return len(self.classes)


@attrs.frozen(kw_only=True)
class PredictionMeasure(Parameterised):
    """Base of all measures; authors declare parameters and write `_value`.

    Attributes
    ----------
    task : str
        ``"classification"``, ``"regression"`` or ``"survival"``.
    needs : str
        The output of a classifier that it needs: ``"labels"``, the predicted classes; ``"scores"``
        that order the rows; ``"probabilities"``.
    larger_is_better : bool
        False for losses.
    lowest, highest : float
        The range of its values; intervals stay within it.
    every_class : bool
        Whether it is defined only if every class of the table is among the rows.
    """

    task: ClassVar[str] = "classification"
    needs: ClassVar[str] = "labels"
    larger_is_better: ClassVar[bool] = True
    lowest: ClassVar[float] = 0.0
    highest: ClassVar[float] = 1.0
    every_class: ClassVar[bool] = False

    def _value(self, predictions: Predictions) -> float:
        """The author's part: the value for these rows, NaN where it is not defined."""
        raise NotImplementedError

    def check_classes(self, classes: tuple[Any, ...]) -> Iterator[str]:
        """Problems with a table of these classes; authors override this."""
        return iter(())

    def refusals(self, task: str, classes: tuple[Any, ...], scores: str) -> Iterator[str]:
        """Reasons why the measure cannot be computed; called before any work starts.

        Parameters
        ----------
        task : str
            Task of the table.
        classes : tuple
        scores : str
            Kind of the classifier's scores, one of `SCORE_KINDS`.
        """
        if task != self.task:
            yield f"it is for {LABELS[self.task]}, and the table has {LABELS[task]}"
            return
        yield from self.check_classes(classes)
        if task == "classification" and SCORE_KINDS.index(scores) < SCORE_KINDS.index(self.needs):
            gives = {"labels": "predicted classes only", "scores": "scores, no probabilities"}
            yield f"it needs {self.needs}, and the classifier gives {gives[scores]}"

    def __call__(self, predictions: Predictions) -> float:
        """The value for these rows; NaN where it is not defined.

        Raises
        ------
        PluginError
            If the author's part returns anything but a number in the declared range.
        """
        if not len(predictions.truth):
            return float("nan")
        if self.every_class and np.unique(predictions.truth).size < predictions.n_classes:
            return float("nan")
        name = self.method_name()
        with in_stage(type(self), name, "measure"):
            found = self._value(predictions)
            if isinstance(found, (str, bytes)):
                raise TypeError(f"_value gave the text {found!r:.40}, not a number")
            value = float(found)
        # Rounding may lead slightly out of the range.
        reach = 1e-9 * max(1.0, abs(value)) if math.isfinite(value) else 0.0
        if not (math.isnan(value) or self.lowest - reach <= value <= self.highest + reach):
            raise PluginError(
                f"{stage_words(type(self), name, 'measure')} is declared to lie in "
                f"{self.lowest:g} … {self.highest:g}, and gave {value}"
            )
        return float(np.clip(value, self.lowest, self.highest))


class FittedClassifier(Protocol):
    """Interface of the object that an author's `_fit` returns.

    `predict` takes (n, n_features) and returns class codes (n,); `predict_scores` returns (n,
    n_classes), larger is more likely, none of them NaN. Authors may add ``arrays() -> dict[str,
    array]``, the arrays needed to predict again.
    """

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]: ...
    def predict_scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]: ...


class FittedRegressor(Protocol):
    """Interface of the object that an author's `_fit` returns for a numeric target.

    `predict` takes (n, n_features) and returns (n,) float64.
    """

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]: ...


@attrs.frozen(kw_only=True, eq=False)
class FittedOnColumns:
    """A fitted classifier or regressor together with the columns that it was fitted on.

    Parameters
    ----------
    columns : (n_in,) int
        Columns of the original table.
    n_features : int
        Number of columns of that table.
    classes : tuple
        The class labels, by code; empty for a numeric target.
    inner : FittedClassifier or FittedRegressor
        The author's part, which sees `columns` only.
    takes_missing : bool
        Whether NaN among those columns is allowed.
    fill : (n_features,) float64, optional
        Values by which an earlier stage replaces missing ones; NaN: none.
    donors : Donors, optional
        Rows whose values replace missing ones instead, as in `Selection.donors`.
    name : str
        Name of the classifier in messages.
    method : type, optional
        The classifier's class, for messages that name its plugin.
    numbers : (n_in,) int, optional
        Numbers of `columns` in messages, from 0, if the table was reduced
        (`restricted_to_its_columns`).
    """

    columns: NDArray[np.intp]
    n_features: int
    classes: tuple[Any, ...]
    inner: Any
    takes_missing: bool = False
    fill: NDArray[np.float64] | None = None
    donors: Donors | None = None
    name: str = "the classifier"
    method: type | None = None
    numbers: NDArray[np.intp] | None = None

    def restricted_to_its_columns(self) -> FittedOnColumns:
        """The classifier for tables that have only `columns`, in this order; predictions are equal.

        If `donors` fill missing values, the classifier itself is returned, since the nearest rows
        are found by all columns.
        """
        if self.donors is not None:
            return self
        return attrs.evolve(
            self,
            columns=np.arange(self.columns.size),
            n_features=self.columns.size,
            fill=None if self.fill is None else self.fill[self.columns],
            numbers=self.columns,
        )

    @property
    def task(self) -> str:
        """``"classification"``, or ``"regression"`` if it predicts numbers."""
        return "classification" if self.classes else "regression"

    def _in_stage(self) -> contextlib.AbstractContextManager[None]:
        return in_stage(self.method or type(self.inner), self.name)

    def _words(self) -> str:
        """The classifier, its plugin and the version, as errors name them."""
        return stage_words(self.method or type(self.inner), self.name)

    def _taken(self, X: ArrayLike) -> NDArray[np.float64]:
        table = np.asarray(X)
        if table.dtype not in (np.uint8, np.int8):
            table = np.asarray(table, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != self.n_features:
            raise DataError(
                f"prediction needs the {self.n_features} columns of the training table, "
                f"not an array of shape {table.shape}"
            )
        taken = filled_rows(table, self.columns, self.fill, self.donors).astype(
            np.float64, copy=False
        )
        if not self.takes_missing and not np.isfinite(taken).all():
            row, position = np.argwhere(~np.isfinite(taken))[0]
            numbers = self.columns if self.numbers is None else self.numbers
            raise DataError(
                f"{self.name} cannot predict from missing or infinite values; the first is in row "
                f"{row + 1}, column {numbers[position] + 1}; drop or fill them first"
            )
        return taken

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predictions for rows (n, n_features) of a table like the training table.

        Returns
        -------
        (n,) int64 or float64
            Class codes, or the numbers themselves.
        """
        taken = self._taken(X)
        if self.task == "regression":
            return self._numbers(taken)
        with self._in_stage():
            codes = np.asarray(self.inner.predict(taken), dtype=np.int64)
        wrong = codes[(codes < 0) | (codes >= len(self.classes))]
        if codes.shape != (len(taken),) or wrong.size:
            found = f"the code {wrong[0]}" if wrong.size else f"codes of shape {codes.shape}"
            raise PluginError(
                f"{self._words()} predicted {found}; it must predict {len(taken)} codes in "
                f"0 … {len(self.classes) - 1}"
            )
        return codes

    def _numbers(self, taken: NDArray[np.float64]) -> NDArray[np.float64]:
        with self._in_stage():
            numbers = np.asarray(self.inner.predict(taken), dtype=np.float64)
        if numbers.shape != (len(taken),) or not np.isfinite(numbers).all():
            raise PluginError(
                f"{self._words()} predicted an array of shape {numbers.shape} for {len(taken)} "
                "rows, or numbers that are not finite; it must be one finite number for each row"
            )
        return numbers

    def predict_scores(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores (n, n_classes), larger is more likely, for rows like the training table's.

        Raises
        ------
        RequestError
            If the target is numeric: there are no classes to score.
        PluginError
            If the author's part returns scores of another shape, or NaN.
        """
        if self.task == "regression":
            raise RequestError(f"{self.name} predicts numbers and so has no class scores")
        taken = self._taken(X)
        with self._in_stage():
            scores = np.asarray(self.inner.predict_scores(taken), dtype=np.float64)
        if scores.shape != (len(taken), len(self.classes)):
            raise PluginError(
                f"{self._words()} returned scores of shape {scores.shape}, "
                f"not ({len(taken)}, {len(self.classes)})"
            )
        if lacking := int(np.isnan(scores).any(axis=1).sum()):
            raise PluginError(
                f"{self._words()} returned scores that are NaN, in {lacking} of {len(taken)} rows"
            )
        return scores

    def predict_labels(self, X: ArrayLike) -> list[Any]:
        """Labels (n,) for rows like those of the training table; numbers for a numeric target."""
        if self.task == "regression":
            return [float(value) for value in self.predict(X)]
        return [self.classes[code] for code in self.predict(X)]


@attrs.frozen(kw_only=True)
class Classifier(Method):
    """Base of all classifiers; authors declare parameters and write `_fit`.

    A method for both classes and numeric targets, such as nearest neighbours, declares this with
    `predicts` and checks ``data.task`` in `_fit`; one for numeric targets only derives from
    `Regressor`.

    Attributes
    ----------
    takes_missing : bool
        Whether NaN in the features is allowed.
    takes_nominal : bool
        As `Selector.takes_nominal`, for training rows and new ones.
    table_copies : float
        How many float64 copies of its training rows it holds in addition to them; most hold one,
        scaled. Counted if a run has a memory limit and the classifier sees all columns.
    """

    table_copies: ClassVar[float] = 1.0

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """As `Method.role_problems`."""
        if data.weight_name and data.in_parts:
            yield weights_in_parts(self.method_name(), data.weight_name)
        yield from super().role_problems(data)

    def _fit(
        self, data: Dataset, upstream: Selection | None, run: Run
    ) -> FittedClassifier | FittedRegressor:
        """The author's part: learn from the columns of `data`, numbered 0 … n_features-1."""
        raise NotImplementedError

    def predicts(self) -> frozenset[str]:
        """The supported tasks: some of ``"classification"``, ``"regression"``, ``"survival"``.

        For survival it predicts risks: numbers that are larger where the event comes sooner.
        """
        return frozenset({"classification"})

    def task_problems(self, data: Dataset) -> Iterator[str]:
        """Reasons why it cannot be fitted to the label of `data`; called before any work starts."""
        if data.task not in self.predicts():
            wants = LABELS[min(self.predicts())]
            kind = {"regression": "regressor", "survival": "model of times, such as cox"}
            yield (
                f"{self.method_name()} needs {wants}, not {LABELS[data.task]} "
                f"({data.label_name!r}); end the chain with a {kind.get(data.task, 'classifier')}, "
                "or declare the kind of label (--task, --event)"
            )

    def missing_problems(self, data: Dataset) -> Iterator[str]:
        """As `Selector.missing_problems`."""
        if not self.takes_missing and first_missing(data) is not None:
            name = self.method_name()
            way = way_to_fill(name) or "drop or fill them"
            yield f"{name} does not take missing values (NaN); {way}"

    def score_kind(self) -> str:
        """Kind of the scores of `predict_scores`, for measures that depend on it.

        Returns
        -------
        str
            ``"probabilities"`` (every row non-negative, with sum one), ``"scores"`` that order rows
            by how likely a class is, or ``"labels"`` if they only repeat the prediction.
        """
        return "scores"

    def fit(
        self,
        data: Dataset,
        upstream: Selection | None = None,
        run: Run | None = None,
        seed: int | None = None,
    ) -> FittedOnColumns:
        """A fitted classifier that uses the columns and the weights of `upstream`.

        Parameters
        ----------
        data : Dataset
            The whole table, rows with count zero left out.
        upstream : Selection, optional
            The selection of the chain; all columns by default.
        run, seed
            As in `Selector.select`.

        Raises
        ------
        DataError
            If the method does not support the label, or the data hold NaN that it does not accept.
        RequestError
            If the chain kept no column.
        PluginError
            If the author's part does not return a fitted classifier.
        """
        name = self.method_name()
        refuse(DataError, self.task_problems(data))
        columns = np.arange(data.n_features) if upstream is None else np.sort(upstream.selected)
        if not columns.size:
            raise RequestError(f"{name}: the chain kept no column to predict with")
        if data.categorical.any():
            self.check_roles(data.take_columns(columns))
        rows = np.flatnonzero(data.row_counts)
        local = view(data, columns, upstream).loaded()
        local = local if rows.size == data.n_samples else local.take_rows(rows)
        refuse(DataError, self.missing_problems(local))
        arrived = local_upstream(upstream, columns, rows)
        with in_stage(type(self), name):
            fitted = self._fit(local, arrived, make_run(run, seed))
        scoring = data.task != "classification" or hasattr(fitted, "predict_scores")
        if not (hasattr(fitted, "predict") and scoring):
            kind = "classifier" if data.task == "classification" else "regressor"
            raise PluginError(
                f"{stage_words(type(self), name)} returned {type(fitted).__name__}, "
                f"not a fitted {kind}"
            )
        return FittedOnColumns(
            columns=columns,
            n_features=data.n_features,
            classes=data.classes,
            inner=fitted,
            takes_missing=self.takes_missing,
            fill=None if upstream is None else upstream.fill,
            donors=None if upstream is None else upstream.donors,
            name=name,
            method=type(self),
        )


@attrs.frozen(kw_only=True)
class Regressor(Classifier):
    """Base of methods that predict numbers only; otherwise as `Classifier`.

    `_fit` gets a numeric target in ``data.y`` and returns a `FittedRegressor`. It is offered by the
    hook ``fsframe_regressors``, ends a chain like a classifier, and raises an error on a table with
    classes before any work starts.

    Examples
    --------
    >>> import attrs
    >>> @attrs.frozen(eq=False)
    ... class Line:
    ...     beta: NDArray[np.float64]
    ...     def predict(self, X):
    ...         return np.column_stack([np.ones(len(X)), X]) @ self.beta
    >>> @attrs.frozen(kw_only=True)
    ... class LeastSquares(Regressor):
    ...     def _fit(self, data, upstream, run):
    ...         root = np.sqrt(data.row_counts)
    ...         design = np.column_stack([np.ones(data.n_samples), data.X]) * root[:, None]
    ...         return Line(np.linalg.lstsq(design, data.y * root)[0])
    >>> data = Dataset.from_arrays([[0.0], [1.0], [2.0]], [0.5, 2.5, 4.5])
    >>> LeastSquares().fit(data).predict([[10.0]]).round(6).tolist()
    [20.5]
    """

    def predicts(self) -> frozenset[str]:
        return frozenset({"regression"})
