"""Results of the base over the bootstraps of one labelling: selections and mean scores."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import ndtri

from fsframe.method.selection import Selection
from fsframe.resampling.resamples import Recurring
from fsframe_npfs.engine.candidates import Candidates, FragileColumns, count_codes

__all__ = ["MeanScores", "SelectionCounts", "filled_scores", "variance_within"]

Floats = NDArray[np.float64]

# Relative rounding error allowed in a sum of up to 100,000 scores.
_TOLERANCE = 1e-9


@attrs.define(eq=False)
class SelectionCounts:
    """What each resample of one labelling selected, in order.

    Parameters
    ----------
    candidates : Candidates
        The features or pairs that can be selected.
    selected : list of (k_l,) int64
        Sorted codes per resample.
    warnings : Recurring
        Warnings of the base.
    """

    candidates: Candidates
    selected: list[NDArray[np.int64]] = attrs.field(factory=list)
    warnings: Recurring = attrs.field(factory=Recurring)

    def add(self, found: Selection, counts: NDArray[np.int64] | None) -> None:
        """Record the result of the base on one resample."""
        self.selected.append(self.candidates.selected(found, counts))
        self.warnings.add(found.warnings)

    @property
    def kept(self) -> NDArray[np.int64]:
        """k_l: number of features or pairs selected per resample."""
        return np.array([codes.size for codes in self.selected], dtype=np.int64)

    def count_codes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes selected at least once, and their counts."""
        return count_codes(self.selected)

    def counts_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of resamples that selected each of these codes."""
        found, z = self.count_codes()
        if not found.size:
            return np.zeros(codes.shape, dtype=np.int64)
        place = np.minimum(np.searchsorted(found, codes), found.size - 1)
        return np.where(found[place] == codes, z[place], 0)

    def matrix(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The bootstrap matrix Z, (n, len(codes)): whether resample l selected code i."""
        Z = np.zeros((len(self.selected), codes.size), dtype=bool)
        for row, selected in zip(Z, self.selected, strict=True):
            row[np.searchsorted(codes, selected)] = True
        return Z


@attrs.define(eq=False)
class MeanScores:
    """Running means of scores, and of the normal scores of their ranks, for one labelling.

    Parameters
    ----------
    columns : FragileColumns
        Columns that are constant, in the table or in a resample, have no score there.
    ranked : bool
        Whether ranks are averaged; a corrected test needs those of the true label only.
    squares : (1 or 2, K) float64, optional
        Array that accumulates squares; shared by labellings whose variances are pooled.
    natural_zero : bool
        As in `filled_scores`.

    Notes
    -----
    The rank R of a score among the K of one resample (ties share their mean rank) becomes its
    normal score Φ⁻¹((R − ½)/K) (van der Waerden). Only sums are kept: O(K) memory, and one number
    per resample.
    """

    columns: FragileColumns
    ranked: bool = True
    squares: Floats | None = None
    natural_zero: bool = False
    n: int = 0
    unscored: int = 0
    totals: list[float] = attrs.field(factory=list)
    _sums: Floats = attrs.field(init=False)
    _squares: Floats = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._sums = np.zeros((1 + self.ranked, int(self.columns.usable.sum())))
        self._squares = np.zeros_like(self._sums) if self.squares is None else self.squares

    def add(self, found: Selection, counts: NDArray[np.int64] | None) -> None:
        """Add the result of the base on one resample."""
        live = self.columns.usable_in(counts)
        scores, scored = filled_scores(found, live, self.natural_zero)
        scores = scores[self.columns.usable]
        values = scores[None]
        if self.ranked:
            ranks = ndtri((scipy.stats.rankdata(scores) - 0.5) / scores.size)
            values = np.vstack((scores, ranks))
        self.n += 1
        self.unscored += not scored
        own = np.asarray(found.scores, dtype=np.float64)
        self.totals.append(float(own[np.isfinite(own)].sum()))
        self._sums += values
        self._squares += values**2

    @property
    def constant_total(self) -> bool:
        """Whether the scores have the same sum in every resample, so that their size carries no
        information: the best columns score as high under any label."""
        totals = np.array(self.totals)
        if self.n < 2 or self.unscored:
            return False
        return bool(totals[0] > 0 and np.ptp(totals) <= _TOLERANCE * totals[0])

    @property
    def means(self) -> Floats:
        """Mean score and, where ranked, mean normal score of the rank, (1 or 2, K)."""
        return self._sums / self.n

    @property
    def mean_errors(self) -> Floats:
        """Standard errors of `means` over bootstraps, same shape; 0 for a single bootstrap."""
        if self.n < 2:
            return np.zeros_like(self._sums)
        return np.sqrt(variance_within([self]) / self.n)


def variance_within(labellings: Sequence[MeanScores]) -> Floats:
    """Pooled variances over bootstraps within labellings of equal n ≥ 2, (1 or 2, K).

    If there are several labellings, they are all that share their `squares`.
    """
    n = labellings[0].n
    found = labellings[0]._squares.copy()
    for each in labellings:
        found -= each._sums**2 / n
    return np.maximum(found / (len(labellings) * (n - 1)), 0.0)


def filled_scores(
    found: Selection, live: NDArray[np.bool_], natural_zero: bool = False
) -> tuple[Floats, bool]:
    """Finite scores of all columns, and whether the base returned any.

    Parameters
    ----------
    found : Selection
        Of one resample.
    live : (p,) bool
        Columns that are not constant in the resample.
    natural_zero : bool
        Whether a score of 0 says that a column carries nothing (`Selector.natural_zero`).

    Returns
    -------
    scores : (p,) float64, finite
        A column without a score (constant, or dropped by an earlier stage) gets 0 if that is the
        score of a column that carries nothing, otherwise the lowest of the resample; an infinite
        score becomes the largest or smallest finite one. Without any scores, 1 for columns that
        the base kept and 0 for the others.
    scored : bool

    Examples
    --------
    >>> found = Selection(selected=[2], scores=np.array([np.nan, 0.5, np.inf, 0.2]))
    >>> filled_scores(found, np.array([True, True, True, True]))[0]
    array([0.2, 0.5, 0.5, 0.2])
    >>> filled_scores(found, np.array([True, True, True, True]), natural_zero=True)[0]
    array([0. , 0.5, 0.5, 0.2])
    """
    scores = np.asarray(found.scores, dtype=np.float64)
    scored = live & ~np.isnan(scores) if scores.size == live.size else np.zeros_like(live)
    finite = scores[scored & np.isfinite(scores)] if scored.any() else np.zeros(0)
    if not finite.size:
        kept = np.zeros(live.size)
        kept[found.selected] = 1.0
        return kept * live, False
    low, high = float(finite.min()), float(finite.max())
    nothing = 0.0 if natural_zero else low
    return np.where(scored, np.clip(np.where(scored, scores, low), low, high), nothing), True
