"""Evaluations and studies as they are recorded in a run file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs

from fsframe.errors import FsframeError, RequestError, StoreError
from fsframe.escaping import printable
from fsframe.evaluation.comparison import ROPE, Cell, Comparison, compared
from fsframe.evaluation.grid import default_classifier, grid_texts
from fsframe.evaluation.measuring import join_repetitions
from fsframe.evaluation.summary import summarise_tables
from fsframe.grammar import parse_stages
from fsframe.registry import classifiers, find_offer, selectors
from fsframe.storage import RunRecord
from fsframe.storage.checked_tables import (
    StabilityTables,
    fold_tables,
    stability_tables,
    text_parameter,
)
from fsframe.storage.study_file import StudyCell, StudyRecord

if TYPE_CHECKING:
    from fsframe.evaluation.summary import Evaluation

__all__ = [
    "RecordedEvaluation",
    "RecordedStability",
    "described_tables",
    "protocol_name",
    "recorded_evaluation",
    "recorded_protocol",
    "recorded_stability",
    "study_comparisons",
    "study_of_runs",
]


@attrs.frozen(kw_only=True, eq=False)
class RecordedEvaluation:
    """An evaluation as recorded in a run file.

    Parameters
    ----------
    base : str
        The evaluated chain, with its sets.
    found : Evaluation
    chosen : tuple of str
        The chain chosen in each split.
    chains : tuple of str
        The chains to choose from.
    """

    base: str
    found: Evaluation
    chosen: tuple[str, ...]
    chains: tuple[str, ...]


@attrs.frozen(kw_only=True, eq=False)
class RecordedStability:
    """A stability study as recorded in a run file: the chain, the resamples, the tables."""

    base: str
    resample: str
    tables: StabilityTables


def protocol_name(record: RunRecord) -> str:
    """``cross-validation`` or ``stability-study`` if the run ends with one, else empty."""
    stage = record.stages[-1] if record.stages else None
    if stage is None or stage.provider != "protocols" or stage.selection is None:
        return ""
    name = stage.name.rpartition("/")[2]
    return name if name in ("cross-validation", "stability-study") else ""


def recorded_protocol(record: RunRecord) -> RecordedEvaluation | RecordedStability | None:
    """The evaluation or the stability study at the end of a run; None if it has neither.

    Raises
    ------
    StoreError
        If its tables or parameters do not fit together.
    """
    name = protocol_name(record)
    if name == "cross-validation":
        return recorded_evaluation(record)
    return recorded_stability(record) if name else None


def recorded_evaluation(record: RunRecord) -> RecordedEvaluation:
    """The evaluation at the end of a run.

    Raises
    ------
    StoreError
        If its tables or parameters do not fit together.
    """
    # Here, so that showing any other run does not load the statistics of evaluations.
    from fsframe.evaluation.summary import summarise_tables

    stage, where = record.stages[-1], record.stage_paths()[-1]
    tables = fold_tables(stage.tables, record.n_features, where, record.class_names)
    base = _base(record, where)
    texts = _chains(base, stage.params.get("classifier"), where)
    if len(texts) != tables.tuning.shape[1]:
        raise StoreError(
            f"{where}: the chain stands for {len(texts)} chains, its table tuning for "
            f"{tables.tuning.shape[1]}"
        )
    return RecordedEvaluation(
        base=base,
        found=summarise_tables(tables, None if record.groups is None else record.groups[1]),
        chosen=tuple(texts[number] for number in tables.chosen),
        chains=tuple(texts),
    )


def recorded_stability(record: RunRecord) -> RecordedStability:
    """The stability study at the end of a run.

    Raises
    ------
    StoreError
        If its tables or parameters do not fit together.
    """
    stage, where = record.stages[-1], record.stage_paths()[-1]
    return RecordedStability(
        base=_base(record, where),
        resample=text_parameter(stage, "resample", where),
        tables=stability_tables(stage, record.n_features, where),
    )


def _base(record: RunRecord, where: str) -> str:
    """The text of the chain under study: its `base`, or everything on the left."""
    stage = record.stages[-1]
    if stage.params.get("base") is not None:
        return text_parameter(stage, "base", where)
    return " ".join(earlier.name for earlier in record.stages[:-1])


def _chains(base: str, classifier: object, where: str) -> list[str]:
    """Texts of the chains that `base` stands for, each with its classifier."""
    try:
        if not _ends_with_classifier(base):
            given = classifier if isinstance(classifier, str) and classifier else ""
            base = f"{base} {given or default_classifier()}"
        return grid_texts(base)
    except FsframeError as error:
        raise StoreError(f"{where}: the chain under study cannot be read: {error}") from None


def _ends_with_classifier(text: str) -> bool:
    try:
        return find_offer(parse_stages(text)[-1].name, selectors, classifiers)[0] is classifiers
    except FsframeError:
        # The plugin is not installed, so the kind of method is unknown.
        return False


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
