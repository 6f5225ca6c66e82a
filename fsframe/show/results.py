"""Results for programs and notebooks: of chains, evaluations, stability studies, comparisons."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.atomic import check_destination
from fsframe.errors import FsframeWarning, RequestError, StoreError
from fsframe.evaluation.recorded import RecordedEvaluation, RecordedStability
from fsframe.method.answer import AnswerTable
from fsframe.show.comparisons import (
    MARKS,
    RESULTS,
    check_folder,
    check_kept,
    comparison_lines,
    make_folder,
    pair_columns,
    result_columns,
    result_rows,
    run_file,
    study_object,
    write_comparison,
)
from fsframe.show.display import (
    feature_rows,
    file_object,
    frequency_rows,
    pair_heading,
    pair_rows,
    result_lines,
    table_facts,
    warning_lines,
)
from fsframe.show.plots import draw, known_kinds
from fsframe.show.plots.canvas import figure_bytes
from fsframe.show.protocols import shown_protocol
from fsframe.storage import RunRecord, write_run
from fsframe.storage import load_run as read_run
from fsframe.storage.records import protocol_name
from fsframe.storage.study_file import STUDY_FILE, StudyCell, StudyRecord, write_study
from fsframe.storage.study_file import load_study as read_study
from fsframe.storage.write import run_file_content
from fsframe.table.dataset import Dataset
from fsframe.text import counted, did_you_mean, html_block, html_table, json_text, listed, printable

if TYPE_CHECKING:
    from fsframe.evaluation.comparison import Comparison
    from fsframe.evaluation.summary import CurvePoint, Evaluation, Measure

_WARNINGS_SHOWN = 10
_OF_FIT = {
    "groups": "groups", "weights": "sample_weight", "time": "times", "adjust": "adjust",
}  # fmt: skip
"""Roles of rows in the environment of a run, and the arguments of `fit` of estimators."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SelectionResult(RunRecord):
    """The result of a chain on a table: a run, with tables, plots and exports.

    It has everything that a `RunRecord` has: `selected`, `selected_names`, `scores`, `pairs`,
    `stages`, `to_frame`. `fsframe.select` makes one; `fsframe.load_run` reads one.

    Examples
    --------
    >>> import fsframe
    >>> X = [[1, 5], [2, 5], [9, 4], [8, 6]]
    >>> data = fsframe.Dataset.from_arrays(X, ["a", "a", "b", "b"], name="toy")
    >>> result = fsframe.select("mim:top=1,bins=2", data)
    >>> result.selected_names
    ('f1',)
    >>> result.to_frame().columns
    ['rank', 'feature', 'kept', 'score']
    """

    def __repr__(self) -> str:
        return "\n".join(map(printable, result_lines(self, None)))

    def _repr_html_(self) -> str:
        noted = warning_lines(self, _WARNINGS_SHOWN, "all_warnings()")
        facts = [table_facts(self), *noted]
        return html_block(f"{self.chain} on {self.data.name}", facts, *self._tables())

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
        """Plot the run, as a matplotlib figure; pyplot is not used.

        Parameters
        ----------
        kind : str, optional
            One of `fsframe.show.plots.KINDS` (docs/results.md), such as ``"scores"``,
            ``"matrix"``, ``"tests"``, ``"roc"``, ``"stability"``; by default the one that suits the
            run.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default, which a notebook shows.
        data : Dataset, optional
            The table of the run, for kinds that show values.
        most, pair
            For kinds that take them: the number of features, and the names of two.

        Raises
        ------
        RequestError
            If there is no such kind, or the run lacks what it needs.
        """
        name = self._kind() if kind is None else kind
        return shown_picture(draw(name, [self], data, ax, most=most, pair=pair), ax)

    def _kind(self) -> str:
        return "scores"

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the run file to `path`; `fsframe.load_run` and ``fsframe show`` read it.

        Raises
        ------
        StoreError
            If the file exists and `overwrite` is false, or it cannot be written.
        """
        target = Path(path)
        write_run(target, self, overwrite=overwrite)
        return target

    def to_json(self) -> str:
        """The result as text in JSON: the object of ``fsframe show --json``, on one line.

        Numbers that are not finite, which JSON does not have, are null.

        Examples
        --------
        >>> import fsframe, json
        >>> X = [[1, 5], [2, 5], [9, 4], [8, 6]]
        >>> data = fsframe.Dataset.from_arrays(X, ["a", "a", "b", "b"], name="toy")
        >>> json.loads(fsframe.select("mim:top=1,bins=2", data).to_json())["selected"]
        ['f1']
        """
        return json_text(file_object(self, None))

    def to_sklearn(self) -> Any:
        """The selection as a fitted transformer of scikit-learn, for tables with the same columns.

        Returns
        -------
        fsframe.sklearn.ChainSelector
            With the chain, the seed and the selections of this run: `transform` keeps the columns
            that the run kept; `fit` runs the chain again, with the same `always_keep` and
            `feature_groups` (weights, groups, times and covariates of rows are arguments of `fit`).
            A run does not store names of categories: if a stage fills missing values, those of
            categorical columns are refused until `fit`.

        Raises
        ------
        RequestError
            If the chain ends with a classifier: a run does not store fitted classifiers.
        """
        from fsframe.sklearn.generated import fitted_selector

        selections = [stage.selection for stage in self.stages if stage.selection is not None]
        if len(selections) < len(self.stages):
            raise RequestError(
                f"the chain `{self.chain}` ends with a classifier: use it in "
                "fsframe.sklearn.ChainClassifier instead"
            )
        settings = {"task": self.data.task, **self._estimator_settings()}
        return fitted_selector(self.chain, selections, self.feature_names, **settings)

    def _estimator_settings(self) -> dict[str, Any]:
        """Parameters of an estimator besides the chain, as this run had them.

        Warns of what the run knew of rows, which a run does not store.
        """
        needed = [f"{of_fit}=" for role, of_fit in _OF_FIT.items() if role in self.environment]
        if needed:
            warnings.warn(
                f"to_sklearn: the run used roles of rows, which an estimator gets as arguments of "
                f"`fit`: {', '.join(needed)}",
                FsframeWarning,
                stacklevel=3,
            )
        return {
            "always_keep": self.environment.get("keep"),
            "feature_groups": self.environment.get("feature_groups"),
            "random_state": self.seed,
        }


def shown_picture(figure: Any, ax: Any) -> Any:
    """The figure; a new one shows itself in a notebook, as figures of pyplot do."""
    if ax is None:
        figure._repr_png_ = lambda: figure_bytes(figure, "png", dpi=90.0)
    return figure


@attrs.frozen(kw_only=True, eq=False, repr=False)
class _ProtocolResult(SelectionResult):
    """Base of the results of protocols, which have other tables besides that of features."""

    @cached_property
    def _shown(self) -> Any:
        return shown_protocol(self)

    def _tables(self) -> Iterator[str]:
        yield html_table(*next(iter(self._shown.tables.values())))
        yield html_table(*frequency_rows(self))

    def _kind(self) -> str:
        return self._shown.plot

    def to_frame(
        self,
        what: str | None = None,
        *,
        pairs: bool = False,
        data: Dataset | None = None,
        library: str = "polars",
    ) -> Any:
        """One of the result's tables, or its features, as a data frame.

        Parameters
        ----------
        what : str, optional
            ``"features"``: as for any run; the score is the share of resamples that keep one. For
            an evaluation ``"measures"`` (default): mean, corrected standard error and 95 %
            interval; ``"folds"``: one row per split; ``"predictions"``: one row per repetition and
            held-out row of the table, from 0, with its fold, truth, prediction and, if there are
            any, scores of the classes; ``"curve"``: by number of features. For a stability study
            ``"metrics"`` (default); ``"sizes"``: the stability of the best 1, 2, … features of
            every resample.
        pairs, data
            For ``"features"``, as in `RunRecord.to_frame`.
        library : {"polars", "pandas"}

        Raises
        ------
        RequestError
            If there is no such table.
        """
        if what == "features":
            return RunRecord.to_frame(self, pairs=pairs, data=data, library=library)
        tables = self._shown.frames()
        name = next(iter(tables)) if what is None else what
        return frame_of(tables, name, library, others=("features",))


@attrs.frozen(kw_only=True, eq=False, repr=False)
class EvaluationResult(_ProtocolResult):
    """How well a chain predicts held-out rows, and how stable its selection is.

    `fsframe.evaluate` makes one. As a run, it keeps what more than half of the folds keep.
    """

    @cached_property
    def recorded(self) -> RecordedEvaluation:
        """The evaluation with its chain, as recorded in the run file."""
        found: RecordedEvaluation = self._shown.recorded
        return found

    @property
    def evaluation(self) -> Evaluation:
        """All measures, with their values on every split."""
        return self.recorded.evaluation

    @property
    def measures(self) -> Mapping[str, Measure]:
        """The measures by name, such as ``measures["accuracy"].mean``."""
        return self.evaluation.measures

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the splits; NaN if it was not measured, as for a numeric target, for
        which `measures` has ``"r2"``."""
        measure = self.measures.get("accuracy")
        return float("nan") if measure is None else measure.mean

    @property
    def stability(self) -> float:
        """Nogueira's φ of the sets that the splits keep; NaN if it is undefined."""
        return self.evaluation.stability.value

    @property
    def curve(self) -> tuple[CurvePoint, ...]:
        """Accuracy (R², c-index) and stability by number of features, if requested."""
        return self.evaluation.curve

    @property
    def chosen(self) -> tuple[str, ...]:
        """The chain that each split chose, where parameters were tuned."""
        return self.recorded.chosen

    def to_sklearn(self) -> Any:
        """The chain that was evaluated as an estimator of scikit-learn, to be fitted.

        Returns
        -------
        ChainClassifier or ChainRegressor
            Not fitted: fits of the folds are not kept. ``result.to_sklearn().fit(X, y)`` on all
            rows gives the model whose performance the evaluation estimates. It has the seed,
            `always_keep` and `feature_groups` of the run; weights, groups, times and covariates of
            rows are arguments of `fit`.
        sklearn.model_selection.GridSearchCV
            If the folds chose among several chains (``mim:top={5,10} knn``): a search over these,
            with the same number of inner folds; if rows were grouped, `fit` takes ``groups=``.
        """
        from fsframe.sklearn.generated import unfitted_predictor

        folds = self.stages[-1].params.get("inner_folds")
        settings = {
            "inner_folds": folds if isinstance(folds, int) else 5,
            "grouped": self.groups is not None,
            **self._estimator_settings(),
        }
        return unfitted_predictor(self.recorded.chains, self.data.task, **settings)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StabilityResult(_ProtocolResult):
    """Stability of the features that a chain keeps on resamples of the rows.

    `fsframe.stability` makes one. As a run, it keeps what more than half of the resamples keep.
    """

    @cached_property
    def recorded(self) -> RecordedStability:
        """The study with its chain, as recorded in the run file."""
        found: RecordedStability = self._shown.recorded
        return found

    @property
    def values(self) -> dict[str, float]:
        """The stability by each metric, of the sets as the chain keeps them."""
        return {metric.name: float(metric.value) for metric in self.recorded.tables.metrics}

    @property
    def kept(self) -> NDArray[np.bool_]:
        """(n, n_features), which features each resample keeps."""
        return self.recorded.tables.kept


def frame_of(
    tables: Mapping[str, Mapping[str, Any]],
    what: str,
    library: str,
    others: Sequence[str] = (),
) -> Any:
    """The table called `what`, of columns by name, as a data frame; RequestError if unknown.

    The message lists the names of `tables` and `others`.
    """
    if what not in tables:
        known = ", ".join([*tables, *others])
        raise RequestError(f"there is no table {what!r}; there are {known}")
    columns = {name: _column(values) for name, values in tables[what].items()}
    return AnswerTable(columns).to_frame(library)


def _column(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind in "US":
        return array.astype(object)
    if array.dtype.kind == "b":
        return array
    return array.astype(np.int64) if array.dtype.kind == "i" else array.astype(np.float64)


_KINDS: Mapping[str, type[SelectionResult]] = {
    "cross-validation": EvaluationResult,
    "stability-study": StabilityResult,
}


def as_result(record: RunRecord) -> SelectionResult:
    """A run as its result: of an evaluation, a stability study or a selection."""
    if isinstance(record, SelectionResult):
        return record
    # A run with other stages before an evaluation counts as a selection.
    name = protocol_name(record) if len(record.stages) == 1 else ""
    values = {field.name: getattr(record, field.name) for field in attrs.fields(RunRecord)}
    return _KINDS.get(name, SelectionResult)(**values)


def load_run(path: str | os.PathLike[str]) -> SelectionResult:
    """The result in the run file at `path`.

    Parameters
    ----------
    path : path
        Of a run file. It may be untrusted: nothing that it names is built or imported.

    Returns
    -------
    SelectionResult
        An `EvaluationResult` or a `StabilityResult` if the run is one.

    Raises
    ------
    StoreError
        If there is no such file, it is not a run file, or it is damaged.
    """
    folder = Path(path)
    if (folder / STUDY_FILE).is_file():
        raise StoreError(f"{path} is the folder of a study: fsframe.load_study loads it")
    if (folder / RESULTS).is_file() and (files := sorted(folder.glob("*.h5"))):
        raise StoreError(
            f"{path} is the folder of a comparison: load_run loads each run file in it, such as "
            f"{files[0].name}; `fsframe report` and `fsframe table` show it as a whole"
        )
    return as_result(read_run(path))


def place_of(wanted: int | str, names: Sequence[str], what: str) -> int:
    """The position of an item given by position or name; RequestError if there is none.

    Examples
    --------
    >>> place_of("knn", ["mim knn", "knn"], "chain"), place_of(-1, ["mim knn", "knn"], "chain")
    (1, 1)
    """
    if isinstance(wanted, str):
        if wanted in names:
            return list(names).index(wanted)
        hint = did_you_mean(wanted, names) or f"; there are {listed(names)}"
        raise RequestError(f"there is no {what} {wanted!r}{hint}")
    if not -len(names) <= wanted < len(names):
        raise RequestError(f"there is no {what} {wanted}; there are {len(names)}, from 0")
    return wanted % len(names)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ComparisonResult:
    """Comparison of several chains on identical folds of one or more tables, by `fsframe.compare`.

    Parameters
    ----------
    record : StudyRecord
        The request, and every run.
    """

    record: StudyRecord

    @property
    def chains(self) -> tuple[str, ...]:
        """The chains, as they were given."""
        return self.record.chains

    @property
    def data(self) -> tuple[str, ...]:
        """Names of the tables."""
        return self.record.tables

    @cached_property
    def comparisons(self) -> Mapping[str, Comparison]:
        """The comparison of the chains by each measure: means, tests, ranks."""
        from fsframe.evaluation.comparison import study_comparisons

        try:
            return study_comparisons(self.record)
        except (KeyError, ValueError) as error:
            raise StoreError(f"the runs of the study are inconsistent: {error}") from error

    @property
    def comparison(self) -> Comparison:
        """The comparison by the first measure."""
        return self.comparisons[self.record.measures[0]]

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """(n_data, n_chains) mean accuracy over the splits; NaN without classes, where
        `comparison.values` has the measure that the chains are compared by."""
        return self.comparison.accuracy

    def result(
        self, chain: int | str, data: int | str = 0, seed: int | None = None
    ) -> EvaluationResult:
        """The evaluation of one chain on one table with one seed.

        Parameters
        ----------
        chain, data : int or str
            By position or name. A classifier on all features counts as a chain, on tables that it
            accepts.
        seed : int, optional
            One of the seeds of a study; the first by default.

        Raises
        ------
        RequestError
            If there is no such run.
        """
        every, seeds = (*self.chains, *self.record.beside), self.record.seeds
        if seed is not None and seed not in seeds:
            raise RequestError(f"there is no seed {seed}; there are {', '.join(map(str, seeds))}")
        cell = StudyCell(
            place_of(data, self.data, "table"),
            place_of(chain, every, "chain"),
            0 if seed is None else seeds.index(seed),
        )
        if cell not in self.record.runs:
            raise RequestError(f"{every[cell.chain]} does not take all features of {data}")
        result = as_result(self.record.runs[cell])
        assert isinstance(result, EvaluationResult)
        return result

    def best(self, data: int | str | None = None) -> str:
        """The chain to prefer, on all tables or one of them (`Comparison.best`).

        On one table the chain that keeps the fewest features within one standard error of the best;
        on several the one with the best mean rank.
        """
        place = None if data is None else place_of(data, self.data, "table")
        return self.chains[self.comparison.best(place)]

    def to_sklearn(self, chain: int | str | None = None, data: int | str | None = None) -> Any:
        """A chain as an estimator of scikit-learn, to be fitted; the best one by default.

        Parameters
        ----------
        chain : int or str, optional
            One of `chains`, or its position; by default `best`.
        data : int or str, optional
            The table that the chain is for, if there are several.

        Returns
        -------
        estimator
            As described in `EvaluationResult.to_sklearn`; for a study, with its first seed.

        Raises
        ------
        RequestError
            If there is no such chain or table.

        Notes
        -----
        The estimate of the best of several chains is optimistic: report the comparison, or evaluate
        the choice itself with a chain of sets (``{mim,jmi}``).
        """
        chosen = self.best(data) if chain is None else chain
        return self.result(chosen, 0 if data is None else data).to_sklearn()

    def to_frame(self, what: str = "results", *, library: str = "polars") -> Any:
        """The results of every chain on every table, or the tests of all pairs, as a data frame.

        Parameters
        ----------
        what : {"results", "pairs"}
            Results: the columns of `results.csv`, for a study by every measure; the rows of each
            table end with its baselines. Pairs: mean difference by the first measure, p-values of
            Student's paired test and of the corrected resampled test, and the outcome of the
            latter.
        library : {"polars", "pandas"}

        Raises
        ------
        RequestError
            If there is no such table.
        """
        results = result_columns(self.comparisons.values())
        # Baselines have no marks.
        for name in ("on_front", "fewest_features"):
            results[name] = [mark is True for mark in results[name]]
        return frame_of({"results": results, "pairs": pair_columns(self.comparison)}, what, library)

    def to_json(self) -> str:
        """The request and the comparison by each measure in JSON, as ``fsframe show --json``."""
        return json_text(study_object(self.record, self.comparisons))

    def plot(
        self, kind: str | None = None, ax: Any = None, *, data: int | str | None = None
    ) -> Any:
        """Plot the runs as a matplotlib figure; of a study, those with the first seed.

        Kinds that show a measure use the first.

        Parameters
        ----------
        kind : str, optional
            One of `fsframe.show.plots.known_kinds` that takes several runs: ``"pareto"``, the
            measure against stability; ``"cd"``, mean ranks with the critical difference; ``"roc"``;
            ``"sets"``. By default ``"cd"`` for several tables, and for one table ``"pareto"`` if
            two chains have a stability, else ``"roc"``; of a single chain the default plot of its
            evaluation, on the first table unless `data` names one.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        data : int or str, optional
            The table, for kinds that show one.

        Raises
        ------
        RequestError
            If there is no such kind, or it takes only one run.
        """
        place = None if data is None else place_of(data, self.data, "table")
        if kind is None and len(self.chains) == 1:
            return self.result(0, place or 0).plot(ax=ax)
        rows = self.record.first_runs()
        runs = [run for row in (rows if place is None else [rows[place]]) for run in row]
        if kind is None and place is None and len(self.data) > 1:
            kind = "cd"
        elif kind is None:
            # A chain that always keeps everything has no stability.
            stable = np.isfinite(self.comparison.stability[place or 0]).sum()
            kind = "pareto" if stable >= 2 else "roc"
        known = known_kinds()
        takes = kind in known and "metric" in known[kind].options
        metric = self.comparison.metric if takes else None
        return shown_picture(draw(kind, runs, ax=ax, metric=metric), ax)

    def _title(self) -> str:
        return "Chains on identical folds"

    def __repr__(self) -> str:
        return "\n".join(map(printable, comparison_lines(self.comparison)))

    def _repr_html_(self) -> str:
        from fsframe.evaluation.comparison import described_tables

        tables = []
        for comparison in self.comparisons.values():
            for d, data in enumerate(self.data):
                (_, *header), rows, numbers = result_rows(comparison, d, self.chains)
                header = [f"{data}, {comparison.metric}", *header]
                tables.append(html_table(header, rows, numbers))
        return html_block(self._title(), [*described_tables(self.record), MARKS], *tables)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the run files of all chains and the table of results to a folder.

        Parameters
        ----------
        path : path
            The folder, created if it does not exist. `fsframe.load_run` reads a run file in it;
            ``fsframe report``, ``plot`` and ``table`` take the whole folder, and
            ``fsframe compare -o`` continues it.
        overwrite : bool
            Whether run files that exist may be replaced, and a table of other results.

        Raises
        ------
        StoreError
            If a run file exists and `overwrite` is false, if ``results.csv`` does not come from a
            comparison, or if the folder cannot be written.
        """
        target = Path(path)
        check_folder(target, [])
        if not overwrite:
            check_kept(target, self.data, self.chains)
        make_folder(target)
        runs = {run_file(target, *self.record.named(c)): r for c, r in self.record.runs.items()}
        for file in runs:
            check_destination(file, overwrite=overwrite)
        for file, run in runs.items():
            write_run(file, run, overwrite=overwrite)
        write_comparison(self.comparison, target)
        return target


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StudyResult(ComparisonResult):
    """Results of chains on tables by several measures and seeds, by `fsframe.study`.

    Parameters
    ----------
    record : StudyRecord
        The request, and every run.

    Examples
    --------
    >>> import numpy as np, fsframe
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> data = fsframe.Dataset.from_arrays(X, X[:, 2] > 0, name="toy")
    >>> chains = ["mim:top=1 knn", "mim:top=4 knn"]
    >>> result = fsframe.study(data, chains, measures=["auc"], folds=3)
    >>> result.best()
    'mim:top=1 knn'
    >>> result.to_frame().columns[:4]
    ['data', 'chain', 'metric', 'value']
    """

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.record.name

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures; chains are compared by the first."""
        return self.record.measures

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds; the folds of all of them are pooled."""
        return self.record.seeds

    def __repr__(self) -> str:
        from fsframe.evaluation.comparison import described_tables

        lines = [self._title(), f"tables: {'; '.join(described_tables(self.record))}", ""]
        return "\n".join(map(printable, [*lines, *comparison_lines(self.comparison)]))

    def _title(self) -> str:
        seeds = f"seed{'s' * (len(self.seeds) > 1)} {', '.join(map(str, self.seeds))}"
        return (
            f"{self.name}: {counted(len(self.chains), 'chain')} on "
            f"{counted(len(self.data), 'table')} by {', '.join(self.measures)}; {seeds}"
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the study to a file, or to a folder with its tables, texts and plots.

        Parameters
        ----------
        path : path
            A file if it ends with ``.zip``, else a folder for the files that ``fsframe study``
            writes. `fsframe.load_study` reads both; ``fsframe study``, ``report``, ``plot`` and
            ``table`` accept both.
        overwrite : bool
            Whether an existing study, and files that no study has written, may be replaced.

        Returns
        -------
        Path
            Path of the file.

        Raises
        ------
        StoreError
            If something else exists there, or the study cannot be written.
        """
        target = Path(os.path.abspath(path))
        folder = None if target.suffix == ".zip" else target
        file = target if folder is None else folder / STUDY_FILE
        if folder is None or folder.exists():
            check_destination(file, overwrite=overwrite)
        if folder is not None:
            from fsframe.show.page import write_folder

            write_folder(self.record, self.comparisons, folder, overwrite=overwrite)
        images = {cell: run_file_content(run) for cell, run in self.record.runs.items()}
        return write_study(
            file, self.record.asked(), images, self.record.source, overwrite=overwrite
        )


def load_study(path: str | os.PathLike[str]) -> StudyResult:
    """The study in a file, or in the folder of a study.

    Parameters
    ----------
    path : path
        ``study.zip`` or its folder. It may be untrusted: nothing that it names is built or
        imported.

    Raises
    ------
    StoreError
        If there is no study, or a run in it is damaged.
    """
    place = Path(path)
    return StudyResult(record=read_study(place / STUDY_FILE if place.is_dir() else place))
