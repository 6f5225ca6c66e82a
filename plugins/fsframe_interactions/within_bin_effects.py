"""Apparent interaction of two binned columns, caused by main effects within coarse bins.

If the class depends on a column also within its bins, and the other column is correlated with it,
the rows of a bin differ between levels of the other column: the binned table then shows a joint
effect although both effects are additive.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import ndtri, softmax

from fsframe.table.dataset import Dataset
from fsframe_interactions.engine.bit_rows import MISSING, BitRows
from fsframe_interactions.levels import rows_by_class

__all__ = ["WithinBinEffects"]

_PARTS = 8
"""Parts of a bin within which rows are treated as equal."""

_ROWS = 1 << 20
"""Rows counted at a time."""

_NEWTON = 8
_RIDGE = 1e-6
_LEAST = 1e-12
_NOISE = 3.0
_DIGITS = 6  # removes rounding errors that depend on the order of columns and classes

Floats = NDArray[np.float64]


@attrs.define(eq=False)
class WithinBinEffects:
    """Expected cells under main effects that vary within bins, for pairs of columns.

    Parameters
    ----------
    data : Dataset
        Of classes.
    bit_rows : BitRows
        The columns as levels.
    bounds : list of array
        Levels or edges of the columns, from `fsframe_interactions.levels.bit_rows_of`.
    memory : int
        Bytes that parts of columns may take.
    spool : Path, optional
        For a table in parts: a folder for the bin parts of columns, each read once.
    """

    data: Dataset
    bit_rows: BitRows
    bounds: list[Floats]
    memory: int
    spool: Path | None = None
    _rows: NDArray[np.intp] = attrs.field(init=False)
    _y: NDArray[np.int64] = attrs.field(init=False)
    _strata: NDArray[np.int64] = attrs.field(init=False)
    _known: dict[int, tuple[NDArray[np.uint8], Floats]] = attrs.field(factory=dict, init=False)
    _reading: Lock = attrs.field(factory=Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self._rows = rows_by_class(self.data)
        self._y = np.unique(self.data.y[self._rows], return_inverse=True)[1]
        given = self.data.covariates
        strata = np.zeros(self.data.n_samples, np.int64) if given is None else given.strata()
        self._strata = strata[self._rows]

    def binned(self, column: int) -> bool:
        """Whether the column's levels are bins of numbers."""
        levels = int(self.bit_rows.levels[column])
        return not self.data.categorical[column] and len(self.bounds[column]) == levels - 1

    def tilt(self, a: int, b: int) -> Floats | None:
        """Log of the cells expected under both main effects, (levels, levels, n_classes).

        Returns
        -------
        array or None
            None if there are no effects within bins, and no covariates. Only the three-factor
            terms of the array matter.

        Notes
        -----
        Multinomial logistic regression on the levels of both columns, on the strata of covariates
        and, of a binned column, on the normal score of a row's rank within its bin (eight parts),
        with a slope that changes by an equal amount from bin to bin, as that of a square does.
        Slopes γ̂ of covariance V enter times √max(0, 1 − 3d/γ̂ᵀV⁻¹γ̂), d their number: the deviance
        that they bring grows with γγᵀ, for which γ̂γ̂ᵀ is too large by V on average; 3 in place of 1
        leaves slopes of noise out.
        O(n) for counting, and a fit over at most 64 parts of each cell.
        """
        if not (self.binned(a) or self.binned(b) or self._strata.any()):
            return None
        (part_a, score_a), (part_b, score_b) = self._parts(a), self._parts(b)
        classes = self.bit_rows.n_classes
        strata = int(self._strata.max(initial=0)) + 1
        counts = np.zeros(len(score_a) * len(score_b) * strata * classes, np.int64)
        for first in range(0, len(self._y), _ROWS):
            some = slice(first, first + _ROWS)
            known = (part_a[some] != MISSING) & (part_b[some] != MISSING)
            key = part_a[some].astype(np.int64) * len(score_b) + part_b[some]
            key = (key * strata + self._strata[some]) * classes + self._y[some]
            counts += np.bincount(key[known], minlength=len(counts))
        of_parts = counts.reshape(-1, classes)
        occupied = np.flatnonzero(of_parts.sum(axis=1))
        in_parts = of_parts[occupied].astype(np.float64)
        of_pair, stratum = occupied // strata, occupied % strata
        i, j = of_pair // len(score_b), of_pair % len(score_b)
        per_a, per_b = _PARTS if self.binned(a) else 1, _PARTS if self.binned(b) else 1
        level_a, level_b = i // per_a, j // per_b
        shape = (int(self.bit_rows.levels[a]), int(self.bit_rows.levels[b]))
        terms = [np.equal.outer(level_a, np.arange(shape[0]))]
        terms.append(np.equal.outer(level_b, np.arange(1, shape[1])))
        terms.append(np.equal.outer(stratum, np.arange(1, strata)))
        slopes = []
        for score, part, level, n_levels in (
            (score_a, i, level_a, shape[0]),
            (score_b, j, level_b, shape[1]),
        ):
            if score.any():
                own = score[part]
                slopes += [own, own * (level - (n_levels - 1) / 2), own**2]
        design = np.column_stack([*terms, *slopes]).astype(np.float64)
        first = design.shape[1] - len(slopes)
        chances = _shrunk_fit(design, in_parts, first, always=strata > 1)
        if chances is None:
            return None
        cells = np.zeros((*shape, classes))
        np.add.at(cells, (level_a, level_b), in_parts.sum(axis=1, keepdims=True) * chances)
        logs: Floats = np.log(np.maximum(cells, _LEAST))
        return np.round(logs, _DIGITS)

    def _parts(self, column: int) -> tuple[NDArray[np.uint8], Floats]:
        """Part of each row, and each part's score within its bin."""
        if self.spool is not None:
            return self._spooled(column, self.spool)
        found = self._known.get(column)
        if found is None:
            if (len(self._known) + 1) * len(self._rows) > self.memory:
                self._known = {}
            found = self._known[column] = self._parts_of(column)
        return found

    def _spooled(self, column: int, spool: Path) -> tuple[NDArray[np.uint8], Floats]:
        path = spool / f"{column}.npy"
        with self._reading:
            if not path.exists():
                part, scores = self._parts_of(column)
                np.save(path, part)
                self._known[column] = np.empty(0, np.uint8), scores
        return np.load(path, mmap_mode="r"), self._known[column][1]

    def _parts_of(self, column: int) -> tuple[NDArray[np.uint8], Floats]:
        values = np.asarray(self.data.columns(column, column + 1))[:, 0].astype(np.float64)
        values = values[self._rows]
        levels, bounds = int(self.bit_rows.levels[column]), self.bounds[column]
        known = np.flatnonzero(~np.isnan(values))
        part = np.full(len(values), MISSING, np.uint8)
        x = values[known]
        if not self.binned(column):
            place = np.minimum(np.searchsorted(bounds, x), len(bounds) - 1)
            part[known] = np.where(bounds[place] == x, place, len(bounds))
            return part, np.zeros(levels)
        ranks, code = scipy.stats.rankdata(x), np.searchsorted(bounds, x, side="left")
        sizes = np.bincount(code, minlength=levels)
        below = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        within = (ranks - 0.5 - below[code]) / sizes[code]
        own = code * _PARTS + np.minimum((within * _PARTS).astype(np.int64), _PARTS - 1)
        part[known] = own
        score = ndtri((ranks - 0.5) / len(x))
        score -= (np.bincount(code, score, levels) / sizes)[code]
        many = np.bincount(own, minlength=levels * _PARTS)
        of_parts = np.bincount(own, score, levels * _PARTS) / np.maximum(many, 1)
        return part, of_parts


def _shrunk_fit(design: Floats, counts: Floats, first: int, always: bool) -> Floats | None:
    """Class chances by logistic regression with shrunken slopes, (cells, n_classes).

    Parameters
    ----------
    design : (cells, terms) float64
        Slopes from column `first` on.
    counts : (cells, n_classes) float64

    Returns
    -------
    array or None
        None if all slopes are shrunk to zero, unless `always`.
    """
    terms, others = design.shape[1], counts.shape[1] - 1
    sizes = counts.sum(axis=1)
    weights = np.zeros((terms, others))

    def chances_of(weights: Floats) -> Floats:
        odds = np.clip(design @ weights, -30.0, 30.0)
        return softmax(np.hstack([np.zeros((len(odds), 1)), odds]), axis=1)  # type: ignore[no-any-return]

    curvature = np.eye(terms * others)
    for _ in range(_NEWTON):
        chances = chances_of(weights)
        curvature = _RIDGE * np.eye(terms * others)
        for k in range(others):
            for other in range(others):
                share = chances[:, k + 1] * ((k == other) - chances[:, other + 1])
                block = (design * (sizes * share)[:, None]).T @ design
                curvature[k::others, other::others] += block
        ascent = design.T @ (counts[:, 1:] - sizes[:, None] * chances[:, 1:]) - _RIDGE * weights
        step = np.linalg.solve(curvature, ascent.ravel()).reshape(terms, others)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    covariance = np.linalg.inv(curvature)
    left = False
    for term in range(first, terms):
        own = slice(term * others, (term + 1) * others)
        strength = float(weights[term] @ np.linalg.solve(covariance[own, own], weights[term]))
        share = 1.0 - _NOISE * others / max(strength, _LEAST)
        weights[term] *= np.sqrt(max(0.0, share))
        left = left or share > 0.0
    return chances_of(weights) if left or always else None
