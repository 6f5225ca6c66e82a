"""Corrected p-values of sparse tables and binned columns, and main effects within bins."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri, softmax

from fsframe.kernels import in_threads
from fsframe.method.run import Run
from fsframe.method.statistics import mean_ranks
from fsframe.table.dataset import Dataset
from fsframe_interactions.engine.bit_rows import MISSING, BitRows, rows_by_class
from fsframe_interactions.engine.contingency_tables import log_gamma_tail, simulate_pairs
from fsframe_interactions.engine.screen import TestedPairs, best_of_columns

_PARTS = 8
"""Parts of a bin within which rows are treated as equal."""

_ROWS = 1 << 20
"""Rows counted at a time."""

_NEWTON = 8  # most steps
_RIDGE = 1e-6
_LEAST = 1e-12
_NOISE = 3.0  # γ̂ᵀV⁻¹γ̂ per slope up to which slopes are shrunk to zero
_DIGITS = 6  # removes rounding errors that depend on the order of columns and classes

Floats = NDArray[np.float64]


@attrs.define(eq=False)
class WithinBinEffects:
    """Expected cells under main effects that vary within bins, for pairs of columns.

    Parameters
    ----------
    data : Dataset
        Table whose label is a class.
    bit_rows : BitRows
        The columns as levels.
    bounds : list of array
        Levels or edges of the columns, from `fsframe_interactions.engine.bit_rows.bit_rows_of`.
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
    _cache: dict[int, tuple[NDArray[np.uint8], Floats]] = attrs.field(factory=dict, init=False)
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
        and, for a binned column, on the normal score s of a row's rank, centred within its bin and
        averaged over eight parts of it, and on s²; the slope of s changes by an equal amount from
        bin to bin, as that of a square does.
        The d slopes γ̂ of a term, with covariance V, are multiplied by √max(0, 1 − 3d/γ̂ᵀV⁻¹γ̂),
        because the deviance that they explain grows with γγᵀ, which γ̂γ̂ᵀ overestimates by V on
        average; 3 instead of 1 removes slopes that are noise.
        O(n) for counting, and a fit over at most 64 parts of each cell and stratum.
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
                part_scores = score[part]
                slopes += [part_scores, part_scores * (level - (n_levels - 1) / 2), part_scores**2]
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
        """The part to which each row belongs, and each part's score within its bin."""
        if self.spool is not None:
            return self._spooled(column, self.spool)
        parts = self._cache.get(column)
        if parts is None:
            if (len(self._cache) + 1) * len(self._rows) > self.memory:
                self._cache = {}
            parts = self._cache[column] = self._compute_parts(column)
        return parts

    def _spooled(self, column: int, spool: Path) -> tuple[NDArray[np.uint8], Floats]:
        path = spool / f"{column}.npy"
        with self._reading:
            if not path.exists():
                part, scores = self._compute_parts(column)
                np.save(path, part)
                self._cache[column] = np.empty(0, np.uint8), scores
        return np.load(path, mmap_mode="r"), self._cache[column][1]

    def _compute_parts(self, column: int) -> tuple[NDArray[np.uint8], Floats]:
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
        ranks, code = mean_ranks(x), np.searchsorted(bounds, x, side="left")
        sizes = np.bincount(code, minlength=levels)
        below = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        within = (ranks - 0.5 - below[code]) / sizes[code]
        part_code = code * _PARTS + np.minimum((within * _PARTS).astype(np.int64), _PARTS - 1)
        part[known] = part_code
        score = ndtri((ranks - 0.5) / len(x))
        score -= (np.bincount(code, score, levels) / sizes)[code]
        many = np.bincount(part_code, minlength=levels * _PARTS)
        of_parts = np.bincount(part_code, score, levels * _PARTS) / np.maximum(many, 1)
        return part, of_parts


def _shrunk_fit(design: Floats, counts: Floats, first: int, always: bool) -> Floats | None:
    """Class probabilities by logistic regression with shrunken slopes, (cells, n_classes).

    Parameters
    ----------
    design : (cells, terms) float64
        Terms; those from column `first` on have slopes that are shrunk.
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
        of_term = slice(term * others, (term + 1) * others)
        strength = float(
            weights[term] @ np.linalg.solve(covariance[of_term, of_term], weights[term])
        )
        share = 1.0 - _NOISE * others / max(strength, _LEAST)
        weights[term] *= np.sqrt(max(0.0, share))
        left = left or share > 0.0
    return chances_of(weights) if left or always else None


SMALL = 50.0
"""Least expected count for χ²: above it the mean of G² is within 3 % of its limit."""

_CLOSER = 0.1  # p by χ² below which more tables are simulated
_ROUNDS = 30  # of fitting for an effect; what they leave is below its standard error
_CHUNK = 32


def calibrate(
    bit_rows: BitRows,
    tested: TestedPairs,
    most: int,
    draws: int,
    run: Run,
    ordered: NDArray[np.bool_],
    within: WithinBinEffects | None = None,
) -> TestedPairs:
    """Correct the p-values of sparse tables and binned columns in `tested`.

    The first `most` pairs of `tested`, which is sorted by χ² p, are corrected from `draws`
    simulated tables each, five times as many where χ² p is below 0.1; `within` is needed for
    columns that are bins of numbers, and `ordered` says which columns have ordered levels. The
    random stream of a pair is made from the seed of `run` and the counts of its table.

    Notes
    -----
    P(G² ≥ g) ≈ P(χ²_f ≥ g f / E G²), f = 2 (E G²)² / Var G², both moments over tables with the same
    margins n_ij·, n_i·k, n_·jk, a distribution without unknown parameters. Unlike the share of
    draws above g, this smooth tail also gives p far below one over the number of draws. If the
    margins allow few tables, G² has atoms that no smooth tail follows. Therefore p is at least
    (k + ½)/(N + 1) if k > 0 of N draws have a larger G² (those with the same G² count half), and
    f is at most twice the degrees of freedom if none has.

    References
    ----------
    Agresti 1992, Stat. Sci. 7:131 (exact conditional tests); Diaconis, Sturmfels 1998, Ann. Stat.
    26:363 (walks with fixed margins); Satterthwaite 1946, Biometrics Bull. 2:110 (f).
    """
    ratio, freedom = tested.ratio.copy(), tested.fitted_freedom.copy()
    mean, variance = freedom.copy(), 2.0 * freedom
    seed = run.generator().integers(0, 2**63, dtype=np.uint64)
    counts = np.arange(bit_rows.n_rows + 1, dtype=np.float64)
    logs = gammaln(counts + 1.0), counts * np.log(np.maximum(counts, 1.0))
    levels, classes = bit_rows.margins.shape[1], bit_rows.n_classes
    closer = tested.log_p < np.log(_CLOSER)

    def work(chunk: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        tilts = np.zeros((len(chunk), levels, levels, classes))
        wanted = tested.least_expected[chunk] < SMALL
        for place, (a, b) in enumerate(tested.pairs[chunk].tolist()):
            tilt = None if within is None else within.tilt(a, b)
            if tilt is not None:
                wanted[place] = True
                tilts[place, : tilt.shape[0], : tilt.shape[1]] = tilt
        chunk, tilts = chunk[wanted], tilts[wanted]
        moments = np.empty((len(chunk), 3))
        for more in (False, True):
            of = np.flatnonzero(closer[chunk] == more)
            here = np.empty((len(of), 3))
            simulate_pairs(
                tables(chunk[of]), bit_rows.levels, tested.pairs[chunk[of]],
                tested.statistic[chunk[of]], tilts[of], *logs, 5 * draws if more else draws, seed,
                here,
            )  # fmt: skip
            moments[of] = here
        return chunk, moments

    corrected = np.arange(min(most, len(tested.log_p)))
    tables = bit_rows.tables(tested.pairs[corrected], run)
    chunks = [corrected[first : first + _CHUNK] for first in range(0, len(corrected), _CHUNK)]
    log_p = tested.log_p.copy()
    for pairs, moments in in_threads(run.threads, work, chunks):
        mean[pairs], variance[pairs] = moments[:, :2].T
        # If the margins allow only one table, there is no test.
        informative = (mean[pairs] > 1e-9) & (variance[pairs] > 1e-9)
        reached, drawn = moments[:, 2], np.where(closer[pairs], 5 * draws, draws)
        fitted = np.zeros(len(pairs))
        np.divide(2.0 * mean[pairs] ** 2, variance[pairs], out=fitted, where=informative)
        # If margins allow few tables, G² takes few values, and a tail fitted to them is too short.
        # Beyond the largest G² drawn, f is therefore at most twice the degrees of freedom.
        limit = 2.0 * np.maximum(tested.freedom[pairs], 1)
        fitted = np.where(reached > 0, fitted, np.minimum(fitted, limit))
        scale = fitted / np.maximum(2.0 * mean[pairs], 1e-300)
        tail = log_gamma_tail(
            fitted[informative] / 2.0, (tested.statistic[pairs] * scale)[informative]
        )
        share = np.log(np.where(reached > 0, (reached + 0.5) / (drawn + 1.0), 1e-300))
        log_p[pairs] = 0.0
        log_p[pairs[informative]] = np.maximum(tail, share[informative])
        ratio[pairs] = mean[pairs] / np.maximum(tested.freedom[pairs], 1)
        freedom[pairs] = fitted
    best = tested.best_log_p.copy()
    # The corrected p of a column's best stored pair replaces its p by χ².
    kept = np.unique(tested.pairs)
    best[kept] = best_of_columns(tested.pairs, log_p, len(best))[kept]
    effect = np.full((len(log_p), 2), np.nan)
    effect[corrected] = log_odds_effects(
        tables(corrected),
        bit_rows.levels[tested.pairs[corrected]],
        ordered[tested.pairs[corrected]],
    )
    return attrs.evolve(
        tested, log_p=log_p, best_log_p=best, ratio=ratio, fitted_freedom=freedom,
        effect=effect[:, 0], error=effect[:, 1],
    ).ordered()  # fmt: skip


def log_odds_effects(
    tables: NDArray[Any], levels: NDArray[np.int64], ordered: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Size of the interaction of two ordered columns for two classes, and its standard error.

    Parameters
    ----------
    tables : (m, A, A, classes) counts
        Cells beyond the levels of a column are not used.
    levels : (m, 2) int
        Number of levels of both columns.
    ordered : (m, 2) bool
        Whether the levels are ordered.

    Returns
    -------
    (m, 2) float64
        NaN with more than two classes, or if a column has more than two levels without order.

    Notes
    -----
    In log odds of the last class = main effects of both columns (free) + γ·s_a·s_b, with scores
    0, 1, … of levels standardised over the rows, γ is the change for one standard deviation of
    both. One step of Newton's method from γ = 0 with fitted main effects gives γ̂ = U/V with error
    1/√V, where U = Σ s_a s_b (n − m), and V is the information about γ left by the main effects.

    References
    ----------
    Cox, Hinkley 1974, Theoretical Statistics, sec. 9.3 (scores and information).
    """
    effects = np.full((len(tables), 2), np.nan)
    if not len(tables) or tables.shape[3] != 2:
        return effects
    counts = np.asarray(tables, dtype=np.float64)
    usable = np.flatnonzero(((levels <= 2) | ordered).all(axis=1) & (levels > 1).all(axis=1))
    counts = counts[usable]
    place = np.arange(counts.shape[1])
    counts[place >= levels[usable, :1], :] = 0.0
    counts.transpose(0, 2, 1, 3)[place >= levels[usable, 1:], :] = 0.0
    sizes = counts.sum(axis=3)
    expected = np.repeat(sizes[..., None] / 2.0, 2, axis=3)
    for _ in range(_ROUNDS):
        for axis in (2, 1, 3):
            have = expected.sum(axis=axis, keepdims=True)
            wanted = counts.sum(axis=axis, keepdims=True)
            expected = expected * np.divide(wanted, have, out=np.zeros_like(have), where=have > 0)
    scores = []
    for axis in (1, 2):
        total = sizes.sum(axis=(1, 2))
        along = sizes.sum(axis=3 - axis)
        mean = (along * place).sum(axis=1) / np.maximum(total, 1)
        spread = (along * (place - mean[:, None]) ** 2).sum(axis=1) / np.maximum(total, 1)
        scores.append((place - mean[:, None]) / np.sqrt(np.maximum(spread, 1e-12))[:, None])
    product = scores[0][:, :, None] * scores[1][:, None, :]
    share = np.divide(expected[..., 1], sizes, out=np.zeros_like(sizes), where=sizes > 0)
    weight = sizes * share * (1.0 - share)
    rows, columns = weight.shape[1:]
    main = np.zeros((rows, columns, rows + columns))
    for i in range(rows):
        main[i, :, i] = 1.0
    for j in range(columns):
        main[:, j, rows + j] = 1.0
    main = main.reshape(rows * columns, -1)
    flat, of_product = weight.reshape(len(usable), -1), product.reshape(len(usable), -1)
    gram = np.einsum("mc,cx,cy->mxy", flat, main, main)
    cross = np.einsum("mc,cx,mc->mx", flat, main, of_product)
    solved = np.einsum("mxy,my->mx", np.linalg.pinv(gram, hermitian=True), cross)
    left = of_product - solved @ main.T
    information = (flat * left**2).sum(axis=1)
    score = ((counts[..., 1] - expected[..., 1]) * product).sum(axis=(1, 2))
    known = information > 1e-6
    effects[usable[known], 0] = score[known] / information[known]
    effects[usable[known], 1] = 1.0 / np.sqrt(information[known])
    return effects
