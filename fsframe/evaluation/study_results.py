"""What the runs of a study say together: one comparison for every measure."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.errors import StoreError
from fsframe.evaluation.comparison import Cell, Comparison, compared
from fsframe.evaluation.measuring import join_repetitions
from fsframe.evaluation.summary import summarise_tables
from fsframe.storage.known_tables import fold_tables
from fsframe.storage.study_file import StudyCell, StudyRecord

__all__ = ["described_tables", "study_comparisons"]


def study_comparisons(record: StudyRecord) -> dict[str, Comparison]:
    """A comparison of the chains for each measure, in the order asked for.

    Parameters
    ----------
    record : StudyRecord

    Returns
    -------
    mapping of str to Comparison
        The folds of all seeds stand beside each other, as those of repetitions do.

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
            raise StoreError(f"{cell.member} is no cross-validation")
        fold_tables(stage.tables, record.runs[cell].n_features, cell.member)
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
    """The tables in words, such as ``glass (214 samples × 9 features, 6 classes)``."""
    for table, name in enumerate(record.tables):
        run = record.runs[StudyCell(table, 0, 0)]
        groups = "" if run.groups is None else f" in {run.groups[1]} groups"
        yield (
            f"{name} ({run.n_samples} samples{groups}, {run.n_features} features, "
            + (f"{len(run.class_names)} classes)" if run.class_names else "a numeric target)")
        )
