"""Comparisons of chains by cross-validation on the same folds, and studies made of such runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, GatheredErrors, RequestError, StoreError
from fsframe.evaluation.comparison_tests import (
    CriticalDifference,
    PairedTest,
    corrected_resampled_test,
    correlated_posterior,
    critical_difference,
    differences,
    paired_t_test,
    pareto_front,
    ranks_of_methods,
    signed_rank_posterior,
    wilcoxon_holm,
    win_tie_loss,
)
from fsframe.evaluation.cross_validation import CrossValidation, grid_of
from fsframe.evaluation.grid import ends_with_classifier
from fsframe.evaluation.measuring import join_repetitions, one_standard_error
from fsframe.evaluation.recorded import protocol_name, recorded_evaluation
from fsframe.evaluation.summary import LEADING, Evaluation, Measure, summarise_tables
from fsframe.grammar import format_stages, parse_stages
from fsframe.registry import selectors
from fsframe.storage import RunRecord
from fsframe.storage.checked_tables import fold_tables
from fsframe.storage.study_file import StudyCell, StudyRecord
from fsframe.table.dataset import Dataset
from fsframe.text import printable

ROPE = 0.01
"""Half width of the region of practical equivalence, by default."""

RULES = ("two-step", "strict", "corrected")
"""How a win is decided: IMMIGRATE's rule, IM4E's, and p < 0.05 in the corrected resampled test."""


@attrs.frozen(kw_only=True, eq=False)
class Cell:
    """One chain on one table.

    Parameters
    ----------
    chain, data : str
    evaluation : Evaluation
    seconds : float
        Time of all splits.
    """

    chain: str
    data: str
    evaluation: Evaluation
    seconds: float

    def mean(self, metric: str) -> float:
        """The mean of `metric` over the splits; NaN if it was not measured."""
        measures = self.evaluation.measures
        return measures[metric].mean if metric in measures else float("nan")

    def better(self, metric: str) -> NDArray[np.float64]:
        """The value of `metric` in every split, negated if smaller is better."""
        measure = self.evaluation.measures[metric]
        return measure.values if measure.larger_is_better else -measure.values


@attrs.frozen(kw_only=True, eq=False)
class Comparison:
    """Chains compared on tables.

    Parameters
    ----------
    chains, data : tuple of str
    metric : str
        The measure they are compared by.
    larger_is_better : bool
    values, standard_error : (n_data, n_chains) float
        Means of the metric over the splits, and their corrected standard errors; NaN if the metric
        has no value in some fold.
    intervals : (n_data, n_chains, 2) float
        95 % intervals within the range of the metric; NaN if there is none.
    larger_class : (n_data,) float
        The metric of the baseline that ignores the features; `rule` is its name.
    all_features : mapping of str to (n_data,) float
        The metric of each classifier on all columns, NaN if it does not accept a table.
    accuracy, kept, stability, seconds : (n_data, n_chains) float
        Means over the splits; φ of the kept sets. Accuracy is NaN without classes.
    papers, corrected : mapping of (data, i, j) to PairedTest
        Student's paired test as the papers use it, and the corrected resampled test, for i < j; the
        difference is positive if i is better.
    posterior : mapping of (data, i, j) to (worse, equal, better)
        Posterior of i against j on one table (`correlated_posterior`).
    outcome : mapping of str to (n_data, n_chains, n_chains) of "win", "tie", "loss", ""
        By rule: ``two-step``, ``strict`` (both on the papers' test), ``corrected`` (p < 0.05).
    front : (n_data, n_chains) bool
        Whether no chain has both a better metric and a better stability.
    fewest : (n_data,) int
        The chain that keeps the fewest features within one standard error of the best; -1 if there
        is no standard error.
    adjusted_p : (n_chains, n_chains) float, optional
        Wilcoxon–Holm over the tables, if there are at least two, and two chains.
    ranks : CriticalDifference, optional
        Summary over the tables.
    overall : (n_chains, n_chains, 3) float, optional
        Bayesian signed-rank test over the tables: worse, practically equal, better.
    rope : float
        Half width of the region of practical equivalence.
    """

    chains: tuple[str, ...]
    data: tuple[str, ...]
    metric: str
    larger_is_better: bool
    values: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    intervals: NDArray[np.float64]
    larger_class: NDArray[np.float64]
    all_features: dict[str, NDArray[np.float64]]
    accuracy: NDArray[np.float64]
    kept: NDArray[np.float64]
    stability: NDArray[np.float64]
    seconds: NDArray[np.float64]
    papers: dict[tuple[int, int, int], PairedTest]
    corrected: dict[tuple[int, int, int], PairedTest]
    posterior: dict[tuple[int, int, int], tuple[float, float, float]]
    outcome: dict[str, NDArray[Any]]
    front: NDArray[np.bool_]
    fewest: NDArray[np.int64]
    adjusted_p: NDArray[np.float64] | None
    ranks: CriticalDifference | None
    overall: NDArray[np.float64] | None
    rope: float
    rule: str = "larger class"

    @property
    def few_tables(self) -> bool:
        """Whether the tables are too few for Bayesian signed-rank probabilities to say much."""
        return len(self.data) < 6

    def best(self, data: int | None = None) -> int:
        """Index of the recommended chain.

        Parameters
        ----------
        data : int, optional
            Index of a table; all tables by default.

        Notes
        -----
        On one table it is the chain that keeps the fewest features within one standard error of the
        best (`one_standard_error`), or the best mean if there is no standard error. On several
        tables it has the best mean rank; ties go to the chain with fewer features, then the first.
        """
        if data is None and len(self.data) == 1:
            data = 0
        better = self.values if self.larger_is_better else -self.values
        better = np.where(np.isnan(better), -np.inf, better)
        if data is None:
            ranks = ranks_of_methods(better).mean(axis=0)
            kept = self.kept.mean(axis=0)
            return min(range(len(self.chains)), key=lambda c: (ranks[c], kept[c], c))
        fewest = int(self.fewest[data])
        return fewest if fewest >= 0 else int(better[data].argmax())

    def order(self) -> list[int]:
        """The chains, best first: by mean rank, or by the mean where they are not ranked."""
        if self.ranks is not None:
            key = self.ranks.mean_ranks
        else:
            means = self.values.mean(axis=0)
            key = np.nan_to_num(-means if self.larger_is_better else means, nan=np.inf)
        return sorted(range(len(self.chains)), key=lambda c: (key[c], c))

    def chances(self, i: int, j: int) -> tuple[float, float, float] | None:
        """Probabilities that chain i is worse than chain j, practically equal, better.

        By the Bayesian signed-rank test over several tables, by the correlated Bayesian t-test on
        one; None where neither applies.
        """
        if self.overall is not None:
            worse, equal, better = self.overall[i, j].tolist()
            return worse, equal, better
        if len(self.data) > 1:
            return None
        if i < j:
            return self.posterior[0, i, j]
        worse, equal, better = self.posterior[0, j, i]
        return better, equal, worse

    def tally(self, rule: str, i: int, j: int) -> tuple[int, int, int]:
        """Number of tables on which chain i wins against, ties with, and loses to chain j."""
        column = self.outcome[rule][:, i, j]
        return tuple(int((column == word).sum()) for word in ("win", "tie", "loss"))  # type: ignore[return-value]


def methods_of(chains: Sequence[str], **protocol: Any) -> tuple[CrossValidation, ...]:
    """The protocol for every chain, checked before any work starts.

    Raises
    ------
    RequestError
        Listing the problems of all chains; also if there are fewer than two, or one is given twice.
    """
    if len(chains) < 2:
        raise RequestError("a comparison needs at least two chains, each in quotes")
    methods, errors = [], GatheredErrors()
    for chain in chains:
        parameters = {**protocol, "base": chain}
        if ends_with_classifier(chain):
            parameters.pop("classifier", None)
        with errors:
            methods.append(CrossValidation.from_texts(parameters))
    errors.end()
    texts = [grid_of(method).text for method in methods]
    twice = sorted({text for text in texts if texts.count(text) > 1})
    if twice:
        raise RequestError(
            f"the chain `{twice[0]}` is given twice; on identical folds both "
            "would give the same result"
        )
    return tuple(methods)


def on_all_features(methods: Sequence[CrossValidation]) -> dict[str, CrossValidation]:
    """The protocol for each classifier of `methods` without selection, by the text of its chain.

    Stages that fill missing values stay before the classifier. Chains that are among `methods` are
    left out.
    """
    without_selection: dict[str, CrossValidation] = {}
    known = {str(method.base) for method in methods}
    for method in methods:
        assert method.base is not None
        stages = parse_stages(grid_of(method).text)
        *before, classifier = stages
        filling = [s for s in before if selectors[s.name].fills_missing and "top" not in s.params]
        text = format_stages([*filling, classifier])
        if len(before) > len(filling) and text not in known:
            without_selection.setdefault(text, attrs.evolve(method, base=text, classifier=""))
    return without_selection


def compared(
    cells: Sequence[Sequence[Cell]],
    metric: str = "accuracy",
    *,
    on_all: Mapping[str, Sequence[Cell | None]] | None = None,
    rope: float = ROPE,
    seed: int = 0,
) -> Comparison:
    """Compare the chains, given their cells.

    Parameters
    ----------
    cells : n_data rows of n_chains Cells
        Evaluated on identical folds within a row.
    metric : str
        A measure that every cell has.
    on_all : mapping of str to n_data Cells, optional
        Classifiers on all columns, as baselines; None if one does not accept a table.
    rope : float
        Half width of the region of practical equivalence, in units of the metric.
    seed : int
        Seed of the Monte Carlo samples of the Bayesian test.

    Raises
    ------
    ValueError
        If two chains were not evaluated on the same number of splits.
    """
    chains = tuple(cell.chain for cell in cells[0])
    names = tuple(row[0].data for row in cells)
    papers: dict[tuple[int, int, int], PairedTest] = {}
    corrected: dict[tuple[int, int, int], PairedTest] = {}
    posterior: dict[tuple[int, int, int], tuple[float, float, float]] = {}
    shape = (len(names), len(chains), len(chains))
    outcome = {rule: np.full(shape, "", dtype="U4") for rule in RULES}
    opposite = {"win": "loss", "loss": "win", "tie": "tie"}
    for d, row in enumerate(cells):
        ratio = row[0].evaluation.test_to_train
        if len({cell.evaluation.n_splits for cell in row}) > 1:
            raise ValueError(f"the chains on {names[d]!r} were evaluated on different splits")
        if any(cell.evaluation.measures[metric].pooled for cell in row):
            # One value per repetition: the tests do not apply.
            continue
        for i, j in combinations(range(len(chains)), 2):
            a, b = row[i].better(metric), row[j].better(metric)
            papers[d, i, j] = paired_t_test(a, b)
            corrected[d, i, j] = corrected_resampled_test(a, b, ratio)
            posterior[d, i, j] = correlated_posterior(a, b, ratio, rope)
            verdicts = [win_tie_loss(papers[d, i, j], rule) for rule in ("two-step", "strict")]
            verdicts.append(win_tie_loss(corrected[d, i, j], "two-step"))
            for rule, verdict in zip(RULES, verdicts, strict=True):
                outcome[rule][d, i, j] = verdict
                outcome[rule][d, j, i] = opposite[verdict]

    def measure(cell: Cell) -> Measure:
        return cell.evaluation.measures[metric]

    values = _table(cells, lambda cell: measure(cell).mean)
    error = _table(cells, lambda cell: measure(cell).standard_error)
    larger = measure(cells[0][0]).larger_is_better
    better = values if larger else -values
    stability = _table(cells, lambda cell: cell.evaluation.stability.value)
    kept = _table(cells, lambda cell: float(cell.evaluation.kept.mean()))
    several = min(values.shape) >= 2 and not np.isnan(values).any()
    return Comparison(
        chains=chains,
        data=names,
        metric=metric,
        larger_is_better=larger,
        values=values,
        standard_error=error,
        intervals=_table(cells, lambda cell: measure(cell).interval or (np.nan, np.nan)),
        # None becomes NaN.
        larger_class=np.array([measure(row[0]).baseline for row in cells], dtype=np.float64),
        all_features={
            name: np.array([np.nan if cell is None else cell.mean(metric) for cell in of])
            for name, of in (on_all or {}).items()
        },
        accuracy=_table(cells, lambda cell: cell.mean("accuracy")),
        kept=kept,
        stability=stability,
        seconds=_table(cells, lambda cell: cell.seconds),
        papers=papers,
        corrected=corrected,
        posterior=posterior,
        outcome=outcome,
        front=np.array(list(map(pareto_front, better, stability))),
        fewest=np.array(list(map(one_standard_error, better, error, kept))),
        adjusted_p=wilcoxon_holm(better) if several else None,
        ranks=critical_difference(better) if several else None,
        overall=_overall(better, rope, seed) if several else None,
        rope=rope,
        rule=cells[0][0].evaluation.baseline.name,
    )


def leading_measure(tables: Iterable[Dataset]) -> str:
    """The default measure for comparing chains on these tables.

    Raises
    ------
    DataError
        If some tables have classes and others numeric targets: no measure applies to both.
    """
    tasks = {table.task for table in tables}
    if len(tasks) > 1:
        raise DataError(
            "some tables have classes and some numeric targets, and no measure applies to both; "
            "compare on tables of one kind, or declare the kind of label (--task)"
        )
    return LEADING[tasks.pop()]


def _overall(better: NDArray[np.float64], rope: float, seed: int) -> NDArray[np.float64]:
    n = better.shape[1]
    posterior = np.zeros((n, n, 3))
    posterior[np.arange(n), np.arange(n), 1] = 1.0
    for i, j in combinations(range(n), 2):
        posterior[i, j] = signed_rank_posterior(differences(better, i, j), rope, seed)
        posterior[j, i] = posterior[i, j, ::-1]
    return posterior


def _table(cells: Sequence[Sequence[Cell]], of: Callable[[Cell], Any]) -> NDArray[np.float64]:
    return np.array([[of(cell) for cell in row] for row in cells])


def study_of_runs(
    records: Sequence[RunRecord],
    chains: Sequence[str] = (),
    measures: Sequence[str] = (),
    *,
    name: str = "comparison",
) -> StudyRecord:
    """A study made of finished evaluations of every chain on every table.

    Parameters
    ----------
    records : sequence of RunRecord
    chains : sequence of str, optional
        The chains to compare, by default all; other runs are classifiers on all features.
    measures : sequence of str, optional
        The first decides the comparison. By default those that all runs have, accuracy (R²) first.
    name : str

    Raises
    ------
    RequestError
        If some run is not an evaluation, a chain lacks a table or occurs twice, seeds or measures
        differ, or there are fewer than two chains.
    """
    record_of: dict[tuple[str, str], RunRecord] = {}
    common: list[str] = []
    for place, record in enumerate(records):
        if protocol_name(record) != "cross-validation":
            raise RequestError(f"{printable(record.chain, longest=60)} is not an evaluation")
        recorded = recorded_evaluation(record)
        here = list(recorded.evaluation.measures)
        common = here if not place else [measure for measure in common if measure in here]
        key = (record.data.name, recorded.base)
        if key in record_of:
            raise RequestError(f"`{printable(key[1], longest=60)}` on {key[0]} occurs twice")
        record_of[key] = record
    tables, bases = (list(dict.fromkeys(key[side] for key in record_of)) for side in (0, 1))
    compared = list(chains) or bases
    missing = [f"`{c}` on {t}" for t in tables for c in compared if (t, c) not in record_of]
    lacking = [measure for measure in measures if measure not in common]
    seeds = {record.seed for record in records}
    if missing or lacking or len(compared) < 2 or len(seeds) > 1:
        raise RequestError(
            f"the runs do not make a comparison; missing: {', '.join([*missing, *lacking][:5])}"
            if missing or lacking
            else "a comparison needs at least two chains, all with the same seed"
        )
    beside = [base for base in bases if base not in compared]
    runs = {
        StudyCell(t, c, 0): record_of[table, chain]
        for t, table in enumerate(tables)
        for c, chain in enumerate([*compared, *beside])
        if (table, chain) in record_of
    }
    return StudyRecord(
        name=name,
        tables=tuple(tables),
        chains=tuple(compared),
        beside=tuple(beside),
        measures=tuple(measures or common),
        seeds=(records[0].seed or 0,),
        rope=ROPE,
        sha256=tuple(runs[StudyCell(t, 0, 0)].data.sha256 for t in range(len(tables))),
        runs=runs,
    )


def study_comparisons(record: StudyRecord) -> dict[str, Comparison]:
    """A comparison of the chains for each measure, in the requested order.

    The folds of all seeds are joined like those of repetitions.

    Raises
    ------
    StoreError
        If a run's tables do not fit together.
    """
    cells, on_all = _cells(record)
    return {
        metric: compared(cells, metric, on_all=on_all, rope=record.rope, seed=record.seeds[0])
        for metric in record.measures
    }


def _cells(record: StudyRecord) -> tuple[list[list[Cell]], dict[str, list[Cell | None]]]:
    """The cells of a study for each table and chain, and those of each classifier on all features,
    by its text; None for a table that it does not accept."""
    tables, every = range(len(record.tables)), (*record.chains, *record.beside)
    cell_of = {
        (table, chain): _cell(record, table, chain, name)
        for table in tables
        for chain, name in enumerate(every)
        if chain < len(record.chains) or StudyCell(table, chain, 0) in record.runs
    }
    cells = [[cell_of[table, chain] for chain in range(len(record.chains))] for table in tables]
    return cells, {
        name: [cell_of.get((table, every.index(name))) for table in tables]
        for name in record.beside
    }


def _cell(record: StudyRecord, table: int, chain: int, name: str) -> Cell:
    """One chain on one table, the repetitions of all seeds joined."""
    cells = [StudyCell(table, chain, seed) for seed in range(len(record.seeds))]
    stages = [record.runs[cell].stages[-1] for cell in cells]
    selections = []
    for stage, cell in zip(stages, cells, strict=True):
        if stage.selection is None or stage.name != "cross-validation":
            raise StoreError(f"{cell.member} is not a cross-validation")
        run = record.runs[cell]
        fold_tables(stage.tables, run.n_features, cell.member, run.class_names)
        selections.append(stage.selection)
    joined = join_repetitions(selections)
    first = record.runs[cells[0]]
    tables = fold_tables(joined.tables, first.n_features, cells[0].member)
    missing = [m for m in record.measures if m not in tables.measures]
    if missing:
        raise StoreError(f"{cells[0].member} does not hold the measure {missing[0]}")
    return Cell(
        chain=name,
        data=record.tables[table],
        evaluation=summarise_tables(tables, None if first.groups is None else first.groups[1]),
        seconds=sum(stage.seconds for stage in stages),
    )


def described_tables(record: StudyRecord) -> Iterator[str]:
    """Descriptions of the tables, such as ``glass (214 samples, 9 features, 6 classes)``."""
    for table, name in enumerate(record.tables):
        run = record.runs[StudyCell(table, 0, 0)]
        groups = "" if run.groups is None else f" in {run.groups[1]} groups"
        yield (
            f"{name} ({run.n_samples} samples{groups}, {run.n_features} features, "
            + (f"{len(run.class_names)} classes)" if run.class_names else "a numeric target)")
        )
