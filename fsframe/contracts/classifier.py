"""The classifier contract: a chain may end with one, which uses the weights that arrive."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.contracts.boundary import in_stage
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import Parameterised
from fsframe.contracts.roles import nominal_problems
from fsframe.contracts.run import Run, make_run
from fsframe.contracts.selection import Selection
from fsframe.contracts.stage_view import filled, local_upstream
from fsframe.errors import DataError, PluginError, RequestError

__all__ = ["Classifier", "FittedClassifier", "FittedOnColumns"]


class FittedClassifier(Protocol):
    """What an author's `_fit` returns.

    `predict` takes (n, n_features) and returns class codes (n,); `predict_scores` returns
    (n, n_classes), larger is more likely. Authors may add ``arrays() -> dict[str, array]``, what is
    needed to predict again.
    """

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]: ...
    def predict_scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]: ...


@attrs.frozen(kw_only=True, eq=False)
class FittedOnColumns:
    """A fitted classifier together with the columns of the original table that it was fitted on.

    Parameters
    ----------
    columns : (n_in,) int
        Columns of the original table.
    n_features : int
        Number of columns of that table.
    classes : tuple
        The labels behind the class codes.
    inner : FittedClassifier
        The author's part, which sees `columns` only.
    takes_missing : bool
        Whether NaN among those columns is allowed.
    fill : (n_features,) float64, optional
        What a stage before it puts in place of missing values; NaN: nothing.
    name : str
        What messages call it.
    method : type, optional
        The classifier's class, for messages that name its plugin.
    """

    columns: NDArray[np.intp]
    n_features: int
    classes: tuple[Any, ...]
    inner: Any
    takes_missing: bool = False
    fill: NDArray[np.float64] | None = None
    name: str = "the classifier"
    method: type | None = None

    def _in_stage(self) -> contextlib.AbstractContextManager[None]:
        return in_stage(self.method or type(self.inner), self.name)

    def _taken(self, X: ArrayLike) -> NDArray[np.float64]:
        table = np.asarray(X, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != self.n_features:
            raise DataError(
                f"prediction needs the {self.n_features} columns of the training table, "
                f"not an array of shape {table.shape}"
            )
        taken = np.ascontiguousarray(table[:, self.columns])
        if self.fill is not None:
            taken = np.where(np.isnan(taken), self.fill[self.columns], taken)
        if not self.takes_missing and not np.isfinite(taken).all():
            row, position = np.argwhere(~np.isfinite(taken))[0]
            raise DataError(
                f"{self.name} cannot predict from missing or infinite values; the first is in row "
                f"{row + 1}, column {self.columns[position] + 1}; drop or fill them first"
            )
        return taken

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Class codes (n,) for rows (n, n_features) of a table like the training table."""
        taken = self._taken(X)
        with self._in_stage():
            codes = np.asarray(self.inner.predict(taken), dtype=np.int64)
        if codes.shape != (len(taken),) or (
            codes.size and not 0 <= codes.min() <= codes.max() < len(self.classes)
        ):
            raise PluginError(
                f"{self.name} predicted codes of shape {codes.shape}; they must be {len(taken)} "
                f"codes in 0 … {len(self.classes) - 1}"
            )
        return codes

    def predict_scores(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores (n, n_classes), larger is more likely, for rows like the training table's."""
        taken = self._taken(X)
        with self._in_stage():
            scores = np.asarray(self.inner.predict_scores(taken), dtype=np.float64)
        if scores.shape != (len(taken), len(self.classes)):
            raise PluginError(
                f"{self.name} returned scores of shape {scores.shape}, "
                f"not ({len(taken)}, {len(self.classes)})"
            )
        return scores

    def predict_labels(self, X: ArrayLike) -> list[Any]:
        """Labels (n,) for rows like those of the training table."""
        return [self.classes[code] for code in self.predict(X)]


@attrs.frozen(kw_only=True)
class Classifier(Parameterised):
    """Base of all classifiers; authors declare parameters and write `_fit`.

    Attributes
    ----------
    takes_missing : bool
        Whether NaN in the features is allowed.
    takes_nominal : bool
        As `Selector.takes_nominal`, of training rows and new ones.
    """

    takes_missing: ClassVar[bool] = False
    takes_nominal: ClassVar[bool] = False

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """As `Selector.role_problems`."""
        yield from nominal_problems(self.method_name(), self.takes_nominal, data)

    def check_roles(self, data: Dataset) -> None:
        """Raise DataError with everything that `role_problems` says."""
        problems = list(self.role_problems(data))
        if problems:
            raise DataError("\n".join(problems))

    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> FittedClassifier:
        """The author's part: learn from the columns of `data`, numbered 0 … n_features-1."""
        raise NotImplementedError

    def score_kind(self) -> str:
        """What the scores of `predict_scores` are, for measures that need as much.

        Returns
        -------
        str
            ``"probabilities"`` (every row non-negative, with sum one), ``"scores"`` that order rows
            by how likely a class is, or ``"labels"`` where they only repeat what is predicted.
        """
        return "scores"

    def tables_held(self) -> float:
        """As `Selector.table_copies`: most classifiers keep their training rows, scaled."""
        return 1.0

    def rows_copied(self) -> float:
        """How many copies of the table's rows resampling makes for one fit; none."""
        return 0.0

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
            What the chain kept; all columns by default.
        run, seed
            As in `Selector.select`.

        Raises
        ------
        DataError
            If the data are not for classification, or hold NaN where the method takes none.
        RequestError
            If the chain kept no column.
        PluginError
            If the author's part does not return a fitted classifier.
        """
        name = self.method_name()
        if data.task != "classification":
            raise DataError(f"{name} needs classes, not a numeric target ({data.label_name!r})")
        columns = np.arange(data.n_features) if upstream is None else np.sort(upstream.selected)
        if not columns.size:
            raise RequestError(f"{name}: the chain kept no column to classify with")
        if data.categorical.any():
            self.check_roles(data.take_columns(columns))
        rows = np.arange(data.n_samples) if data.counts is None else np.flatnonzero(data.counts)
        fill = None if upstream is None else upstream.fill
        local = filled(data.take_columns(columns), None if fill is None else fill[columns])
        local = local if rows.size == data.n_samples else local.take_rows(rows)
        if not self.takes_missing and np.isnan(local.X.sum()):
            raise DataError(f"{name} does not take missing values; drop or fill them first")
        arrived = local_upstream(upstream, columns, rows)
        with in_stage(type(self), name):
            fitted = self._fit(local, arrived, make_run(run, seed))
        if not (hasattr(fitted, "predict") and hasattr(fitted, "predict_scores")):
            raise PluginError(f"{name} returned {type(fitted).__name__}, not a fitted classifier")
        return FittedOnColumns(
            columns=columns,
            n_features=data.n_features,
            classes=data.classes,
            inner=fitted,
            takes_missing=self.takes_missing,
            fill=fill,
            name=name,
            method=type(self),
        )
