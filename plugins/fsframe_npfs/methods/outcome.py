"""The Selection of a finished NPFS test, and its warnings with advice."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fsframe.method.selection import Selection, rank_by_score
from fsframe.text import some_of
from fsframe_npfs.engine.decisions import BORDERLINE, QUANTILE, WORTH_TRYING, remedy
from fsframe_npfs.engine.labellings import equal_columns
from fsframe_npfs.engine.nulls import hoeffding
from fsframe_npfs.methods.procedure import CONSTANT_TOTAL, Procedure


def caveats(procedure: Procedure) -> Iterator[str]:
    """The warnings about a finished test."""
    settings, decisions = procedure.settings, procedure.decisions
    constant = np.flatnonzero(~procedure.columns.usable)
    if constant.size:
        yield f"constant columns are not tested: {_names(procedure, constant)}"
    yield from procedure.observed.warnings.lines(procedure.drawn, "resamples")
    if settings.settle is not None and not procedure.all_settled:
        made = (
            f"{procedure.fits} fits"
            if procedure.mean_scores
            else f"n={settings.resamples} bootstraps"
        )
        yield f"some decisions are not settled after {made}"
    if not decisions.relevant.any():
        yield f"no feature is relevant at alpha={settings.alpha:g}"
    if procedure.mean_scores:
        yield from _unscored(procedure)
    yield from _borderline(procedure)
    if decisions.relevant.any():
        yield from _copies(procedure)


def _unscored(procedure: Procedure) -> Iterator[str]:
    """Warnings about resamples without scores, a constant sum of scores, and few permutations."""
    unscored = sum(s.unscored for s in procedure.mean_scores)
    if unscored:
        yield (
            f"the base returned no scores in {unscored} of "
            f"{sum(s.n for s in procedure.mean_scores)} resamples; 1 for features that it kept and "
            "0 for the others were used instead"
        )
    if procedure.constant_total:
        yield CONSTANT_TOTAL
    most = int(
        procedure.settings.alpha * len(procedure.mean_scores) * procedure.columns.n_usable + 1e-9
    )
    if procedure.settings.correction == "none" and procedure.decisions.relevant.sum() >= most > 0:
        yield (
            f"with {procedure.n_permutations} permutations, at most {most} features can be "
            f"selected at alpha={procedure.settings.alpha:g}; use more permutations"
        )


def _borderline(procedure: Procedure) -> Iterator[str]:
    """A warning about borderline decisions, with the numbers that would settle them."""
    open_ = np.isnan(procedure.decisions.critical) | (
        procedure.decisions.critical < procedure.drawn
    )
    near = np.flatnonzero((procedure.reversal > BORDERLINE) & open_)
    if not near.size:
        return
    number = near.size
    near = near[np.argsort(-procedure.reversal[near], kind="stable")]
    text = f"borderline, may change with another seed: {_names(procedure, procedure.codes[near])}"
    settings = procedure.settings
    if procedure.count_null is not None and procedure.count_null.own_resamples:
        yield f"{text}. Only a larger table helps"
        return
    if procedure.mean_scores:
        # Errors decrease with the root of the numbers of bootstraps and permutations.
        times = (QUANTILE / np.maximum(-ndtri(procedure.reversal[near]), 1e-9)) ** 2
        near, times = near[times <= WORTH_TRYING], times[times <= WORTH_TRYING]
        if near.size:
            fits = _rounded(math.ceil(float(times.max()) * procedure.fits))
            settled = "" if near.size == number else ", except for the closest"
            text += (
                f". `npfs:settle={BORDERLINE:g},fits={fits}` continues until another seed "
                "would decide the same"
            )
            text += settled
        yield text
        return
    needed, unresolvable = remedy(procedure.z[near], procedure.drawn, procedure.threshold[near])
    lost = procedure.codes[near[unresolvable]]
    if needed > settings.resamples:
        rest = f" all but {_names(procedure, lost)}" if lost.size else " them"
        text += f". About n={_rounded(needed)} would settle{rest}"
        if settings.settle is None:
            text += f". `npfs:settle={BORDERLINE:g}` stops as soon as everything is settled"
    elif lost.size:
        text += ". No practicable number of bootstraps would settle them"
    yield text


def _rounded(number: int) -> int:
    """Rounded up to two significant digits, since estimates are no more precise."""
    step = 10 ** max(0, len(str(number)) - 2)
    return -(-number // step) * step


def _copies(procedure: Procedure) -> Iterator[str]:
    selected = procedure.codes[procedure.decisions.relevant]
    relevant = set(selected.tolist())
    for group in equal_columns(procedure.data, selected):
        left_out = [column for column in group if column not in relevant]
        if left_out:
            relevant_copies = [column for column in group if column in relevant]
            yield (
                f"{_names(procedure, left_out)}: not relevant by the test, but identical to "
                f"{_names(procedure, relevant_copies)}, which is; the base selects one of them"
            )


def _names(procedure: Procedure, columns: NDArray[np.int64] | list[int]) -> str:
    return some_of([procedure.data.feature_names[int(column)] for column in columns])


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
        "p0": procedure.observed.kept / procedure.columns.n_usable + settings.bias,
        "level": np.array([decisions.level]),
        "promise": np.array([settings.compared_with.promise]),
    }
    if procedure.mean_scores:
        tables["mean-scores"], tables["mean-ranks"] = procedure.means_of(0), procedure.means_of(1)
        made = (procedure.drawn, procedure.n_permutations, settings.permuted_resamples)
        tables["numbers"] = np.array(made)
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
