"""Caveats about the result of an NPFS test, and what to do about each."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fsframe_npfs.engine.permutation_trial import SHARED_OUT, Trial
from fsframe_npfs.engine.seed_sensitivity import DOUBTFUL, QUANTILE, WORTH_TRYING, remedy
from fsframe_npfs.engine.selected_items import equal_columns

__all__ = ["weaknesses"]

# Features or pairs that a sentence names before it only counts.
_NAMED = 5


def weaknesses(trial: Trial) -> Iterator[str]:
    """The warnings about a finished test."""
    test, verdict = trial.test, trial.verdict
    constant = np.flatnonzero(~trial.marker.columns.usable)
    if constant.size:
        yield f"constant columns are not tested: {_columns(trial, constant)}"
    yield from trial.observed.notes.lines(trial.drawn, "resamples")
    if test.settle is not None and not trial.all_settled:
        made = f"{trial.fits} fits" if trial.standings else f"n={test.resamples} bootstraps"
        yield f"not every decision was settled after {made}"
    if not verdict.relevant.any():
        yield f"no {test.of[:-1]} is relevant at alpha={test.alpha:g}"
    if trial.standings:
        yield from _unscored(trial)
    elif trial.law is None and (verdict.critical >= trial.drawn).any():
        yield from _unreachable(trial)
    yield from _doubtful(trial)
    if test.of == "features" and verdict.relevant.any():
        yield from _copies(trial)


def _unreachable(trial: Trial) -> Iterator[str]:
    """Where even a count of n is too common under permuted labels: say why and what helps."""
    test, blocked = trial.test, trial.verdict.critical >= trial.drawn
    everything = f"all {trial.drawn} bootstraps"
    if test.of == "pairs":
        yield (
            f"{blocked.sum()} pairs cannot be relevant: under permuted labels pairs are marked "
            f"in {everything} too often"
        )
        return
    null_rate = sum(null.counts_of(trial.codes) for null in trial.nulls) / (
        trial.drawn * len(trial.nulls)
    )
    preferred = trial.codes[blocked & (null_rate > 0.8)]
    if preferred.size:
        yield (
            f"{_names(trial, preferred)}: picked in nearly {everything} whatever the label, so "
            "that no count can be relevant"
        )
    if blocked.all() and test.compare == "pooled" and preferred.size:
        yield "no count can be relevant because of those; compare=centred takes that off"
    elif blocked.all():
        yield (
            f"no count can be relevant: at {trial.verdict.level:.3g} per feature, being picked "
            f"in {everything} is not rare enough under permuted labels; let the base keep "
            "fewer (`top`), or test at a milder level"
        )


def _unscored(trial: Trial) -> Iterator[str]:
    """Where the base gave no scores, or the permutations cap what can be named: say so."""
    unscored = sum(s.unscored for s in trial.standings)
    if unscored:
        yield (
            f"the base gave no scores in {unscored} of {sum(s.n for s in trial.standings)} "
            "resamples, where 1 for what it kept and 0 for the rest took their place; "
            "statistic=counts compares counts at equal n"
        )
    if trial.scores_shared_out:
        yield SHARED_OUT
    most = int(trial.test.alpha * len(trial.standings) * trial.marker.cells + 1e-9)
    if trial.test.correction == "none" and trial.verdict.relevant.sum() >= most > 0:
        yield (
            f"{most} features are the most that {trial.n_permutations} permutations can name at "
            f"alpha={trial.test.alpha:g}; ask for more permutations"
        )


def _doubtful(trial: Trial) -> Iterator[str]:
    """Borderline decisions that another seed may reverse, and what would help."""
    open_ = np.isnan(trial.verdict.critical) | (trial.verdict.critical < trial.drawn)
    near = np.flatnonzero((trial.doubt > DOUBTFUL) & open_)
    if not near.size:
        return
    number = near.size
    near = near[np.argsort(-trial.doubt[near], kind="stable")]
    text = f"borderline, may change with another seed: {_names(trial, trial.codes[near])}"
    test = trial.test
    if trial.law is not None and trial.law.own_resamples:
        yield f"{text}; only a larger table helps"
        return
    if trial.standings:
        # All that is uncertain falls with the root of bootstraps and permutations.
        times = (QUANTILE / np.maximum(-ndtri(trial.doubt[near]), 1e-9)) ** 2
        near, times = near[times <= WORTH_TRYING], times[times <= WORTH_TRYING]
        if near.size:
            more = float(times.max())
            text += (
                f"; settle={DOUBTFUL:g},fits={_rounded(math.ceil(more * trial.fits))} would settle "
                + ("them" if near.size == number else "all but the closest")
            )
        yield text
        return
    advice = remedy(
        trial.z[near],
        trial.drawn,
        trial.line[near],
        trial.verdict.line_error[near],
        trial.n_permutations,
    )
    ways = [f"n={_rounded(advice.n)}"] if advice.n > test.resamples else []
    if advice.permutations > trial.n_permutations:
        ways.append(f"permutations={_rounded(advice.permutations)}")
    lost = trial.codes[near[advice.hopeless]]
    if ways:
        rest = f" all but {_names(trial, lost)}" if lost.size else " them"
        text += f"; about {' and '.join(ways)} would settle{rest}"
        if test.settle is None and advice.n > test.resamples:
            text += f" (settle={DOUBTFUL:g} stops as soon as everything is settled)"
    elif lost.size:
        text += "; no number of bootstraps that one could wait for settles it"
    yield text


def _rounded(number: int) -> int:
    """Up to two digits: more would say more than is known."""
    step = 10 ** max(0, len(str(number)) - 2)
    return -(-number // step) * step


def _copies(trial: Trial) -> Iterator[str]:
    named = trial.codes[trial.verdict.relevant]
    relevant = set(named.tolist())
    for group in equal_columns(trial.data, named):
        left_out = [column for column in group if column not in relevant]
        if left_out:
            found = [column for column in group if column in relevant]
            yield (
                f"{_names(trial, left_out)}: not relevant by the test, but an exact copy "
                f"of {_names(trial, found)}, which is; the base picks one of them"
            )


def _names(trial: Trial, codes: NDArray[np.int64] | list[int]) -> str:
    """The features or pairs of some codes, the first few by name."""
    if trial.test.of == "features":
        return _columns(trial, codes)
    names, p = trial.data.feature_names, trial.data.n_features
    found = [f"{names[int(code) // p]} × {names[int(code) % p]}" for code in codes[:_NAMED]]
    return _listed(found, len(codes))


def _columns(trial: Trial, columns: NDArray[np.int64] | list[int]) -> str:
    found = [trial.data.feature_names[int(column)] for column in columns[:_NAMED]]
    return _listed(found, len(columns))


def _listed(found: list[str], total: int) -> str:
    more = total - len(found)
    return ", ".join(found) + (f" and {more} more" if more > 0 else "")
