"""Evaluations and stability studies as stored in run files: text and numbers, no stages.

The chain that a file names remains text, and no selector or classifier is built from it. A file can
therefore be shown without its plugins, and showing it runs nothing that it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from fsframe.errors import FsframeError, StoreError
from fsframe.evaluation.grid import default_classifier, ends_with_classifier, grid_texts
from fsframe.storage import RunRecord
from fsframe.storage.checked_tables import (
    FoldTables,
    StabilityTables,
    fold_tables,
    stability_tables,
    text_parameter,
)
from fsframe.storage.records import protocol_name

if TYPE_CHECKING:
    from fsframe.evaluation.summary import Evaluation


@attrs.frozen(kw_only=True, eq=False)
class RecordedEvaluation:
    """An evaluation as recorded in a run file.

    Parameters
    ----------
    base : str
        The evaluated chain, with its sets.
    tables : FoldTables
    evaluation : Evaluation
    chosen : tuple of str
        The chain chosen in each split.
    chains : tuple of str
        The chains to choose from.
    """

    base: str
    tables: FoldTables
    evaluation: Evaluation
    chosen: tuple[str, ...]
    chains: tuple[str, ...]


@attrs.frozen(kw_only=True, eq=False)
class RecordedStability:
    """A stability study as recorded in a run file: the chain, the resamples, the tables."""

    base: str
    resample: str
    tables: StabilityTables


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
    # Imported here, so that showing any other run does not load the statistics of evaluations.
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
        tables=tables,
        evaluation=summarise_tables(tables, None if record.groups is None else record.groups[1]),
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
        if not ends_with_classifier(base):
            given = classifier if isinstance(classifier, str) and classifier else ""
            base = f"{base} {given or default_classifier()}"
        return grid_texts(base)
    except FsframeError as error:
        raise StoreError(f"{where}: the chain under study cannot be read: {error}") from None
