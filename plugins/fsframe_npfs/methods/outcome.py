"""The Selection of a finished NPFS test: order, scores, pairs and tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.selection import PairWeights, Selection, rank_by_score
from fsframe_npfs.engine.intervals import hoeffding
from fsframe_npfs.engine.permutation_trial import Settings, Trial
from fsframe_npfs.engine.selected_items import PairMarks

__all__ = ["feature_selection", "pair_selection"]


def _tables(test: Settings, trial: Trial) -> dict[str, NDArray]:
    verdict, n = trial.verdict, trial.drawn
    lower, upper = hoeffding(trial.z, n, test.alpha)
    tables: dict[str, NDArray] = {
        "bootstrap-matrix": trial.observed.matrix(trial.codes),
        "z": trial.z,
        "p-values": verdict.p,
        "adjusted-p-values": verdict.adjusted,
        "critical-value": verdict.critical,
        "relevant": verdict.relevant,
        "doubt": trial.doubt,
        "lower": lower,
        "upper": upper,
        "kept": trial.observed.kept,
        "p0": trial.observed.kept / trial.marker.cells + test.bias,
        "level": np.array([verdict.level]),
        "promise": np.array([test.compared_with.promise]),
    }
    if trial.standings:
        tables["mean-scores"], tables["mean-ranks"] = trial.means_of(0), trial.means_of(1)
        made = (trial.drawn, trial.n_permutations, test.permuted_resamples)
        tables["numbers"] = np.array(made)
    elif trial.nulls:
        tables["null-z"] = np.stack([null.counts_of(trial.codes) for null in trial.nulls])
    return tables


def feature_selection(
    test: Settings, trial: Trial, upstream: Selection | None, warnings: list[str]
) -> Selection:
    n_features = trial.data.n_features
    scores = np.full(n_features, np.nan)
    standing: tuple[NDArray[np.float64], ...]
    if trial.standings:
        scores[trial.codes] = -np.log10(trial.verdict.p)
        standing = (-trial.standings[0].means[1], trial.verdict.p)
    else:
        scores[trial.codes] = trial.z / trial.drawn
        standing = (-trial.z.astype(np.float64),)
    # Equal counts: the better score in the whole table goes first, then the lower column.
    place = np.full(n_features, n_features)
    if upstream is not None:
        ranked = rank_by_score(upstream.scores)
        place[ranked] = np.arange(ranked.size)
    order = np.lexsort((trial.codes, place[trial.codes], *standing))
    relevant = order[trial.verdict.relevant[order]]
    if test.top is None:
        kept = relevant
    else:
        kept = order[: test.keep_count(trial.codes.size, relevant.size)]
        if kept.size > relevant.size:
            warnings.append(
                f"top={test.top} keeps {kept.size} features, of which only {relevant.size} are "
                "relevant"
            )
    return Selection(
        selected=trial.codes[kept],
        scores=scores,
        tables={"columns": trial.codes, **_tables(test, trial)},
        warnings=tuple(warnings),
    )


def pair_selection(
    test: Settings, trial: Trial, upstream: Selection | None, warnings: list[str]
) -> Selection:
    n_features = trial.data.n_features
    a, b = np.divmod(trial.codes, n_features)
    rate = trial.z / trial.drawn
    assert isinstance(trial.marker, PairMarks)
    scores = np.where(trial.marker.columns.usable, 0.0, np.nan)
    np.maximum.at(scores, a, rate)
    np.maximum.at(scores, b, rate)
    order = np.lexsort((trial.codes, -trial.z))
    relevant = order[trial.verdict.relevant[order]]
    kept = list(dict.fromkeys(np.column_stack((a, b))[relevant].ravel().tolist()))
    if test.top is not None:
        ranked = dict.fromkeys(np.column_stack((a, b))[order].ravel().tolist())
        wanted = list(ranked)[: test.keep_count(n_features, len(kept))]
        if not set(wanted) <= set(kept):
            warnings.append(f"top={test.top} keeps features that are in no relevant pair")
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
        tables={"pairs": np.column_stack((a, b)), **_tables(test, trial)},
        warnings=tuple(warnings),
    )
