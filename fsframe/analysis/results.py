"""Results as programs and notebooks hold them: runs that show, tabulate and save themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.analysis.comparison_display import accuracy_rows, comparison_lines
from fsframe.analysis.display import result_lines
from fsframe.analysis.evaluation_display import fold_columns, measure_rows
from fsframe.analysis.record_display import (
    feature_rows,
    frequency_rows,
    pair_heading,
    pair_rows,
    table_facts,
)
from fsframe.analysis.stability_display import metric_rows
from fsframe.contracts.answer import AnswerTable
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.showing import html_block, html_table
from fsframe.errors import PluginError, RequestError
from fsframe.evaluation.comparison import Cell, Comparison
from fsframe.evaluation.recorded import (
    RecordedEvaluation,
    RecordedStability,
    protocol_name,
    recorded_evaluation,
    recorded_stability,
)
from fsframe.evaluation.summary import CurvePoint, Evaluation, Measure
from fsframe.plots.canvas import figure_bytes
from fsframe.plots.kinds import draw
from fsframe.storage import RunRecord, write_run
from fsframe.storage import load_run as read_run

__all__ = [
    "ComparisonResult",
    "EvaluationResult",
    "SelectionResult",
    "StabilityResult",
    "as_result",
    "load_run",
]

_WARNINGS_SHOWN = 10


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SelectionResult(RunRecord):
    """What a chain kept of a table: a run, with ways to look at it.

    Everything of `RunRecord` is there: `selected`, `selected_names`, `scores`, `pairs`, `stages`,
    `to_frame`. `fsframe.select` makes one; `fsframe.load_run` reads one.

    Examples
    --------
    >>> import fsframe
    >>> X = [[1, 5], [2, 5], [9, 4], [8, 6]]
    >>> data = fsframe.Dataset.from_arrays(X, ["a", "a", "b", "b"], name="toy")
    >>> found = fsframe.select("mim:top=1,bins=2", data)
    >>> found.selected_names
    ('f1',)
    >>> found.to_frame().columns
    ['rank', 'feature', 'kept', 'score']
    """

    def __repr__(self) -> str:
        return "\n".join(result_lines(self, None))

    def _repr_html_(self) -> str:
        facts = [table_facts(self), *self._warnings()]
        return html_block(f"{self.chain} on {self.data.name}", facts, *self._tables())

    def _warnings(self) -> Iterator[str]:
        told = self.all_warnings()
        yield from (f"warning: {warning}" for warning in told[:_WARNINGS_SHOWN])
        if len(told) > _WARNINGS_SHOWN:
            yield f"… and {len(told) - _WARNINGS_SHOWN} warnings more (all_warnings() has all)"

    def _tables(self) -> Iterator[str]:
        if self.selected.size:
            yield html_table(*feature_rows(self))
        if self.n_pairs:
            yield html_block(pair_heading(self), (), html_table(*pair_rows(self)))

    def plot(
        self,
        kind: str | None = None,
        ax: Any = None,
        *,
        data: Dataset | None = None,
        most: int | None = None,
        pair: tuple[str, str] | None = None,
    ) -> Any:
        """A picture of the run, as a matplotlib figure; pyplot is not touched.

        Parameters
        ----------
        kind : str, optional
            One of `fsframe.plots.kinds.KINDS` (docs/results.md), such as ``"scores"``,
            ``"matrix"``, ``"tests"``, ``"roc"``, ``"stability"``; by default what the run is about.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default, which a notebook shows.
        data : Dataset, optional
            The table of the run, for kinds that show values.
        most, pair
            Of kinds that take them: how many features, and names of two.

        Raises
        ------
        RequestError
            If there is no such kind, or the run lacks what it needs.
        PluginError
            If matplotlib is not installed.
        """
        name = self._kind() if kind is None else kind
        return _picture(draw(name, [self], data, ax, most=most, pair=pair), ax)

    def _kind(self) -> str:
        return "scores"

    def to_sklearn(self) -> Any:
        """The selection as a fitted transformer of scikit-learn, for tables with the same columns.

        Returns
        -------
        fsframe.sklearn.ChainSelector
            With the chain, the seed and what the stages found here: `transform` keeps the columns
            that this run kept; `fit` runs the chain again.

        Raises
        ------
        RequestError
            If the chain ends with a classifier: a run holds no fitted classifier of another table.
        PluginError
            If scikit-learn is not installed.
        """
        try:
            from fsframe.sklearn import ChainSelector
            from fsframe.sklearn.stage_values import stage_keys
        except ImportError:
            raise PluginError("scikit-learn is not installed; install fsframe[sklearn]") from None
        if any(stage.selection is None for stage in self.stages):
            raise RequestError(
                f"the chain `{self.chain}` ends with a classifier: fit "
                "fsframe.sklearn.ChainClassifier with it on the table"
            )
        task: Any = self.data.task
        made = ChainSelector(self.chain, task=task, random_state=self.seed)
        keys = stage_keys(self.chain)
        made.selections_ = {
            key: stage.selection
            for key, stage in zip(keys, self.stages, strict=True)
            if stage.selection is not None
        }
        made.selection_ = list(made.selections_.values())[-1]
        made.n_features_in_ = self.n_features
        made.feature_names_in_ = np.array(self.feature_names, dtype=object)
        return made

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Leave the run file at `path`; `fsframe.load_run` and ``fsframe show`` read it.

        Raises
        ------
        StoreError
            If something is there and `overwrite` does not allow it, or it cannot be written.
        """
        target = Path(path)
        write_run(target, self, overwrite=overwrite)
        return target


@attrs.frozen(kw_only=True, eq=False, repr=False)
class EvaluationResult(SelectionResult):
    """How well a chain predicts rows that it has not seen, and how stable its choice is.

    `fsframe.evaluate` makes one. As a run, it keeps what more than half of the folds keep.
    """

    @cached_property
    def recorded(self) -> RecordedEvaluation:
        """The evaluation with its chain, as the run file has it."""
        return recorded_evaluation(self)

    @property
    def evaluation(self) -> Evaluation:
        """All measures, with their values on every split."""
        return self.recorded.found

    @property
    def measures(self) -> Mapping[str, Measure]:
        """The measures by name, such as ``measures["accuracy"].mean``."""
        return self.evaluation.measures

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the splits; NaN where it was not measured, as of a numeric target."""
        found = self.measures.get("accuracy")
        return float("nan") if found is None else found.mean

    @property
    def stability(self) -> float:
        """Nogueira's φ of the sets that the splits keep; NaN where it is undefined."""
        return self.evaluation.stability.value

    @property
    def curve(self) -> tuple[CurvePoint, ...]:
        """Accuracy and stability by number of features, where that was asked for."""
        return self.evaluation.curve

    @property
    def chosen(self) -> tuple[str, ...]:
        """The chain that each split chose, where parameters were tuned."""
        return self.recorded.chosen

    def _tables(self) -> Iterator[str]:
        yield html_table(*measure_rows(self.evaluation))
        yield html_table(*frequency_rows(self))

    def to_frame(
        self,
        what: str = "measures",
        *,
        pairs: bool = False,
        data: Dataset | None = None,
        library: str = "polars",
    ) -> Any:
        """The measures, the folds, the curve or the features as a data frame.

        Parameters
        ----------
        what : {"measures", "folds", "curve", "features"}
            Measures: mean, corrected standard error and 95 % interval of each. Folds: one row per
            split. Features: as of any run; the score is the share of splits that keep one.
        pairs, data
            Of features, as in `RunRecord.to_frame`.
        library : {"polars", "pandas"}

        Raises
        ------
        RequestError
            If there is no such table.
        """
        if what == "features":
            return RunRecord.to_frame(self, pairs=pairs, data=data, library=library)
        tables = {
            "measures": self._measure_columns,
            "folds": lambda: fold_columns(self.evaluation),
            "curve": self._curve_columns,
        }
        return _frame(tables, what, library)

    def _kind(self) -> str:
        return "sizes" if self.curve else "roc"

    def _measure_columns(self) -> dict[str, Any]:
        found = self.evaluation
        rows = {**found.measures, found.baseline.name: found.baseline}
        if found.all_features is not None:
            rows["all features"] = found.all_features
        return {
            "measure": list(rows),
            "mean": [measure.mean for measure in rows.values()],
            "standard_error": [measure.standard_error for measure in rows.values()],
            **_bounds([measure.interval for measure in rows.values()]),
        }

    def _curve_columns(self) -> dict[str, Any]:
        names = ("size", "accuracy", "standard_error", "stability")
        return {name: [getattr(point, name) for point in self.curve] for name in names}


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StabilityResult(SelectionResult):
    """How alike the features are that a chain keeps when the rows are drawn again.

    `fsframe.stability` makes one. As a run, it keeps what more than half of the resamples keep.
    """

    @cached_property
    def recorded(self) -> RecordedStability:
        """The study with its chain, as the run file has it."""
        return recorded_stability(self)

    @property
    def values(self) -> dict[str, float]:
        """The stability by each metric, of the sets as the chain keeps them."""
        return {metric.name: float(metric.value) for metric in self.recorded.tables.metrics}

    @property
    def kept(self) -> NDArray[np.bool_]:
        """(n, n_features), which features each resample keeps."""
        return self.recorded.tables.kept

    def _tables(self) -> Iterator[str]:
        yield html_table(*metric_rows(self.recorded.tables.metrics))
        yield html_table(*frequency_rows(self))

    def to_frame(
        self,
        what: str = "metrics",
        *,
        pairs: bool = False,
        data: Dataset | None = None,
        library: str = "polars",
    ) -> Any:
        """The metrics, their values by set size, or the features as a data frame.

        Parameters
        ----------
        what : {"metrics", "sizes", "features"}
            Sizes: the stability of the best 1, 2, … features of every resample. Features: as of
            any run; the score is the share of resamples that keep one.
        pairs, data
            Of features, as in `RunRecord.to_frame`.
        library : {"polars", "pandas"}

        Raises
        ------
        RequestError
            If there is no such table.
        """
        if what == "features":
            return RunRecord.to_frame(self, pairs=pairs, data=data, library=library)
        tables = {"metrics": self._metric_columns, "sizes": self._size_columns}
        return _frame(tables, what, library)

    def _kind(self) -> str:
        sized = any(metric.by_size is not None for metric in self.recorded.tables.metrics)
        return "stability" if sized else "bootstraps"

    def _metric_columns(self) -> dict[str, Any]:
        metrics = self.recorded.tables.metrics
        return {
            "metric": [metric.name for metric in metrics],
            "stability": [metric.value for metric in metrics],
            **_bounds([metric.interval for metric in metrics]),
        }

    def _size_columns(self) -> dict[str, Any]:
        sized = {m.name: m.by_size for m in self.recorded.tables.metrics if m.by_size is not None}
        length = min((len(values) for values in sized.values()), default=0)
        sizes: dict[str, Any] = {"size": list(range(1, length + 1))}
        return sizes | {name: values[:length].tolist() for name, values in sized.items()}


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ComparisonResult:
    """Several chains on identical folds of one table or several; `fsframe.compare` makes one.

    Parameters
    ----------
    comparison : Comparison
        Means, tests and ranks.
    cells : n_data rows of n_chains Cells
    records : n_data rows of n_chains RunRecords
        The runs behind it.
    """

    comparison: Comparison
    cells: Sequence[Sequence[Cell]]
    records: Sequence[Sequence[RunRecord]]

    @property
    def chains(self) -> tuple[str, ...]:
        """The chains, as they were given."""
        return self.comparison.chains

    @property
    def data(self) -> tuple[str, ...]:
        """Names of the tables."""
        return self.comparison.data

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """(n_data, n_chains) mean accuracy over the splits."""
        return self.comparison.accuracy

    def result(self, chain: int, data: int = 0) -> EvaluationResult:
        """The evaluation of one chain on one table, by their positions."""
        found = as_result(self.records[data][chain])
        assert isinstance(found, EvaluationResult)
        return found

    def __repr__(self) -> str:
        return "\n".join(comparison_lines(self.comparison))

    def _repr_html_(self) -> str:
        header, rows, right = accuracy_rows(self.comparison)
        chains = [[letter, chain] for letter, chain in zip(header[1:], self.chains, strict=True)]
        facts = ["± is the corrected standard error; * the best mean."]
        tables = (html_table(["", "chain"], chains), html_table(header, rows, right))
        return html_block("Chains on identical folds", facts, *tables)

    def to_frame(self, what: str = "results", *, library: str = "polars") -> Any:
        """The results of every chain on every table, or the tests of every two, as a data frame.

        Parameters
        ----------
        what : {"results", "pairs"}
            Pairs: mean difference of accuracy, p-values of Student's paired test and of the
            corrected resampled test, and who wins by the latter.
        library : {"polars", "pandas"}

        Raises
        ------
        RequestError
            If there is no such table.
        """
        return _frame({"results": self._result_columns, "pairs": self._pair_columns}, what, library)

    def plot(self, kind: str | None = None, ax: Any = None) -> Any:
        """A picture of the comparison, as a matplotlib figure.

        Parameters
        ----------
        kind : str, optional
            Of `fsframe.plots.kinds.KINDS` those that take several runs: ``"pareto"``, accuracy
            against stability, ``"cd"``, mean ranks and what is not told apart, ``"roc"`` and
            ``"sets"``. By default ``"cd"`` for several tables, and for one ``"pareto"`` where two
            chains have a stability, else ``"roc"``.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Raises
        ------
        RequestError
            If there is no such kind, or it takes one run.
        PluginError
            If matplotlib is not installed.
        """
        name = self._kind() if kind is None else kind
        return _picture(draw(name, [each for row in self.records for each in row], ax=ax), ax)

    def _kind(self) -> str:
        if len(self.data) > 1:
            return "cd"
        # A chain that always keeps everything has none.
        known = np.isfinite(self.comparison.stability).sum()
        return "pareto" if known >= 2 else "roc"

    def _result_columns(self) -> dict[str, Any]:
        found = self.comparison
        where = [(d, c) for d in range(len(self.data)) for c in range(len(self.chains))]
        fields = (found.accuracy, found.standard_error, found.kept, found.stability, found.seconds)
        values = [[float(table[d, c]) for d, c in where] for table in fields]
        texts = [[self.data[d] for d, _ in where], [self.chains[c] for _, c in where]]
        names = "data,chain,accuracy,standard_error,features_kept,stability,seconds"
        columns: dict[str, Any] = dict(zip(names.split(","), [*texts, *values], strict=True))
        if found.metric != "accuracy":
            columns[found.metric] = [float(found.values[d, c]) for d, c in where]
        return columns

    def _pair_columns(self) -> dict[str, Any]:
        found = self.comparison
        places = list(found.papers)
        return {
            "data": [self.data[d] for d, _, _ in places],
            "a": [self.chains[i] for _, i, _ in places],
            "b": [self.chains[j] for _, _, j in places],
            "difference": [found.papers[place].difference for place in places],
            "p_paired": [found.papers[place].p_value for place in places],
            "p_corrected": [found.corrected[place].p_value for place in places],
            "corrected": [str(found.outcome["corrected"][place]) for place in places],
        }


def _picture(figure: Any, ax: Any) -> Any:
    """The figure; a new one shows itself in a notebook, as figures of pyplot do."""
    if ax is None:
        figure._repr_png_ = lambda: figure_bytes(figure, "png", dpi=90.0)
    return figure


def _bounds(intervals: Sequence[tuple[float, float] | None]) -> dict[str, Any]:
    known = [interval or (float("nan"), float("nan")) for interval in intervals]
    return {"low": [float(low) for low, _ in known], "high": [float(high) for _, high in known]}


def _frame(tables: Mapping[str, Callable[[], Mapping[str, Any]]], what: str, library: str) -> Any:
    if what not in tables:
        raise RequestError(f"there is no table {what!r}; there are {', '.join(tables)}")
    columns = {name: _column(values) for name, values in tables[what]().items()}
    return AnswerTable(columns).to_frame(library)


def _column(values: Any) -> NDArray[Any]:
    found = np.asarray(values)
    if found.dtype.kind in "US":
        return found.astype(object)
    return found.astype(np.int64) if found.dtype.kind == "i" else found.astype(np.float64)


_KINDS: Mapping[str, type[SelectionResult]] = {
    "cross-validation": EvaluationResult,
    "stability-study": StabilityResult,
}


def as_result(record: RunRecord) -> SelectionResult:
    """A run as the result that it is: of an evaluation, of a study of stability, of a selection."""
    if isinstance(record, SelectionResult):
        return record
    # An evaluation at the end of other stages is part of a selection's story.
    name = protocol_name(record) if len(record.stages) == 1 else ""
    values = {field.name: getattr(record, field.name) for field in attrs.fields(RunRecord)}
    return _KINDS.get(name, SelectionResult)(**values)


def load_run(path: str | os.PathLike[str]) -> SelectionResult:
    """The result in the run file at `path`.

    Parameters
    ----------
    path : path
        Of a run file, which may come from anywhere: nothing that it names is built or imported.

    Returns
    -------
    SelectionResult
        An `EvaluationResult` or a `StabilityResult` where it is one.

    Raises
    ------
    StoreError
        If there is no file, it is no run file, or it is damaged.
    """
    return as_result(read_run(path))
