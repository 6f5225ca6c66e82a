"""Joint results of the runs of a study: one comparison for every measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsframe.errors import RequestError, StoreError
from fsframe.escaping import printable
from fsframe.evaluation.comparison import ROPE, Cell, Comparison, compared
from fsframe.evaluation.measuring import join_repetitions
from fsframe.evaluation.recorded import protocol_name, recorded_evaluation
from fsframe.evaluation.summary import summarise_tables
from fsframe.storage import RunRecord
from fsframe.storage.checked_tables import fold_tables
from fsframe.storage.study_file import StudyCell, StudyRecord


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
    found: dict[tuple[str, str], RunRecord] = {}
    common: list[str] = []
    for place, record in enumerate(records):
        if protocol_name(record) != "cross-validation":
            raise RequestError(f"{printable(record.chain, longest=60)} is not an evaluation")
        recorded = recorded_evaluation(record)
        here = list(recorded.found.measures)
        common = here if not place else [measure for measure in common if measure in here]
        key = (record.data.name, recorded.base)
        if key in found:
            raise RequestError(f"`{printable(key[1], longest=60)}` on {key[0]} occurs twice")
        found[key] = record
    tables, bases = (list(dict.fromkeys(key[side] for key in found)) for side in (0, 1))
    compared = list(chains) or bases
    missing = [f"`{c}` on {t}" for t in tables for c in compared if (t, c) not in found]
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
        StudyCell(t, c, 0): found[table, chain]
        for t, table in enumerate(tables)
        for c, chain in enumerate([*compared, *beside])
        if (table, chain) in found
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

    Parameters
    ----------
    record : StudyRecord

    Returns
    -------
    mapping of str to Comparison
        The folds of all seeds are joined, as those of repetitions are.

    Raises
    ------
    StoreError
        If a run's tables do not fit together.
    """
    cells = [
        [_cell(record, table, chain, name) for chain, name in enumerate(record.chains)]
        for table in range(len(record.tables))
    ]
    behind = len(record.chains)
    on_all = {
        name: [
            _cell(record, table, behind + place, name)
            if StudyCell(table, behind + place, 0) in record.runs
            else None
            for table in range(len(record.tables))
        ]
        for place, name in enumerate(record.beside)
    }
    return {
        metric: compared(cells, metric, on_all=on_all, rope=record.rope, seed=record.seeds[0])
        for metric in record.measures
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
