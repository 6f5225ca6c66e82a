"""The Selection of a finished NPFS test: order, scores, pairs and tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.method.selection import PairWeights, Selection, rank_by_score
from fsframe_npfs.engine.candidates import CandidatePairs
from fsframe_npfs.engine.intervals import hoeffding
from fsframe_npfs.engine.procedure import Procedure

__all__ = ["feature_selection", "pair_selection"]


def _tables(procedure: Procedure) -> dict[str, NDArray]:
    settings, decisions, n = procedure.settings, procedure.decisions, procedure.drawn
    lower, upper = hoeffding(procedure.z, n, settings.alpha)
    tables: dict[str, NDArray] = {
        "bootstrap-matrix": procedure.observed.matrix(procedure.codes),
        "z": procedure.z,
        "p-values": decisions.p,
        "adjusted-p-values": decisions.adjusted,
        "critical-value": decisions.critical,
        "relevant": decisions.relevant,
        "doubt": procedure.reversal,
        "lower": lower,
        "upper": upper,
        "kept": procedure.observed.kept,
        "p0": procedure.observed.kept / procedure.candidates.n_items + settings.bias,
        "level": np.array([decisions.level]),
        "promise": np.array([settings.compared_with.promise]),
    }
    if procedure.mean_scores:
        tables["mean-scores"], tables["mean-ranks"] = procedure.means_of(0), procedure.means_of(1)
        made = (procedure.drawn, procedure.n_permutations, settings.permuted_resamples)
        tables["numbers"] = np.array(made)
    elif procedure.nulls:
        tables["null-z"] = np.stack([null.counts_of(procedure.codes) for null in procedure.nulls])
    return tables


def feature_selection(
    procedure: Procedure, upstream: Selection | None, warnings: list[str]
) -> Selection:
    settings, n_features = procedure.settings, procedure.data.n_features
    scores = np.full(n_features, np.nan)
    standing: tuple[NDArray[np.float64], ...]
    if procedure.mean_scores:
        scores[procedure.codes] = -np.log10(procedure.decisions.p)
        standing = (-procedure.mean_scores[0].means[1], procedure.decisions.p)
    else:
        scores[procedure.codes] = procedure.z / procedure.drawn
        standing = (-procedure.z.astype(np.float64),)
    # Ties: the better score on the whole table first, then the lower column.
    place = np.full(n_features, n_features)
    if upstream is not None:
        ranked = rank_by_score(upstream.scores)
        place[ranked] = np.arange(ranked.size)
    order = np.lexsort((procedure.codes, place[procedure.codes], *standing))
    relevant = order[procedure.decisions.relevant[order]]
    if settings.top is None:
        kept = relevant
    else:
        kept = order[: settings.keep_count(procedure.codes.size, relevant.size)]
        if kept.size > relevant.size:
            warnings.append(
                f"top={settings.top} keeps {kept.size} features, of which only {relevant.size} are "
                "relevant"
            )
    return Selection(
        selected=procedure.codes[kept],
        scores=scores,
        tables={"columns": procedure.codes, **_tables(procedure)},
        warnings=tuple(warnings),
    )


def pair_selection(procedure: Procedure, warnings: list[str]) -> Selection:
    settings, n_features = procedure.settings, procedure.data.n_features
    a, b = np.divmod(procedure.codes, n_features)
    rate = procedure.z / procedure.drawn
    assert isinstance(procedure.candidates, CandidatePairs)
    scores = np.where(procedure.candidates.columns.usable, 0.0, np.nan)
    np.maximum.at(scores, a, rate)
    np.maximum.at(scores, b, rate)
    order = np.lexsort((procedure.codes, -procedure.z))
    relevant = order[procedure.decisions.relevant[order]]
    kept = list(dict.fromkeys(np.column_stack((a, b))[relevant].ravel().tolist()))
    if settings.top is not None:
        ranked = dict.fromkeys(np.column_stack((a, b))[order].ravel().tolist())
        wanted = list(ranked)[: settings.keep_count(n_features, len(kept))]
        if not set(wanted) <= set(kept):
            warnings.append(f"top={settings.top} keeps features that are in no relevant pair")
        kept = wanted
    columns = np.unique(np.concatenate((a[relevant], b[relevant])))
    return Selection(
        selected=kept,
        scores=scores,
        pair_weights=PairWeights.from_triplets(
            columns,
            np.searchsorted(columns, a[relevant]),
            np.searchsorted(columns, b[relevant]),
            rate[relevant],
        ),
        tables={"pairs": np.column_stack((a, b)), **_tables(procedure)},
        warnings=tuple(warnings),
    )
