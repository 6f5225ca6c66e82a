"""The three verdicts of a run on its features: kept, borderline, not kept."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.ranking import rank_by_score
from fsframe.storage import RunRecord
from fsframe.storage.records import bootstrap_tables

_DOUBTFUL = 0.05


def doubtful(record: RunRecord) -> NDArray[np.int64] | None:
    """Columns whose decision another seed may reverse, the most doubtful first.

    None where the last selecting stage does not know the probability of that.
    """
    stages = [stage for stage in record.stages if stage.selection is not None]
    found = bootstrap_tables(stages[-1]) if stages else None
    if found is None or found.doubt is None:
        return None
    order = np.argsort(-found.doubt, kind="stable")
    return found.columns[order[found.doubt[order] > _DOUBTFUL]]


@attrs.frozen(kw_only=True)
class Decision:
    """One of three verdicts on features, and what would change it.

    Parameters
    ----------
    verdict : {"kept", "borderline", "not kept"}
    tested : bool
        Whether a test decided that knows how much its decisions depend on the seed.
    names : tuple of str
        The features; those that are borderline with what was decided.
    change : str
    """

    verdict: str
    tested: bool
    names: tuple[str, ...]
    change: str


def decisions(record: RunRecord) -> list[Decision]:
    """The verdicts on the features of a run, without those that no feature has.

    A feature is borderline if the test that decided would decide otherwise with another seed, with
    a probability above 0.05; it is then neither among the kept nor among the others.
    """
    if not any(stage.selection is not None for stage in record.stages):
        return []
    unsure = doubtful(record)
    tested = unsure is not None
    chosen = set(record.selected.tolist())
    # The kept ones first.
    near = [] if unsure is None else sorted(unsure.tolist(), key=lambda c: c not in chosen)
    kept = [c for c in record.selected.tolist() if c not in near]
    ranked = rank_by_score(record.scores).tolist()
    # Those that the last stage did not score come last.
    others = [*ranked, *sorted(set(range(record.n_features)) - set(ranked))]
    rest = [c for c in others if c not in chosen and c not in near]
    names = record.feature_names
    found = (
        Decision(
            verdict="kept",
            tested=tested,
            names=tuple(names[c] for c in kept),
            change="Another seed would almost always keep them too. Other rows may not: fsframe "
            "stability tries some."
            if tested
            else "Other rows may give others: fsframe stability tries some.",
        ),
        Decision(
            verdict="borderline",
            tested=tested,
            names=tuple(f"{names[c]} ({'kept' if c in chosen else 'not kept'})" for c in near),
            change="Another seed may decide otherwise. More resamples decide, or more rows.",
        ),
        Decision(
            verdict="not kept",
            tested=tested,
            names=tuple(names[c] for c in rest),
            change="No evidence in these rows, which is not evidence that they are irrelevant. "
            "More rows may bring some in."
            if tested
            else "They scored too low for the limits of the chain, which is not evidence that "
            "they are irrelevant. Larger limits keep more.",
        ),
    )
    return [each for each in found if each.names]
