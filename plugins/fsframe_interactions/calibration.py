"""Corrected p-values of sparse and binned tables: moments of G² under main effects."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe_interactions.engine.best_pairs import TestedPairs
from fsframe_interactions.engine.bit_rows import BitRows
from fsframe_interactions.engine.conditional_simulation import simulate_pairs
from fsframe_interactions.engine.log_tails import log_gamma_tail
from fsframe_interactions.within_bin_effects import WithinBinEffects

__all__ = ["SMALL", "CalibratedPairs", "calibrate"]

SMALL = 50.0
"""Least expected count for χ²: above it the mean of G² is within 3 % of its limit."""

_CLOSER = 0.1
_CHUNK = 32


@attrs.frozen(kw_only=True, eq=False)
class CalibratedPairs:
    """Tested pairs with their p, corrected where χ² is not accurate, the smallest first.

    Parameters
    ----------
    found : TestedPairs
    plain : (m,) float64
        log p by χ² alone.
    ratio : (m,) float64
        Mean of G² over its degrees of freedom; 1 where χ² is used.
    freedom : (m,) float64
        Degrees of freedom f of the scaled distribution c·χ²_f.
    """

    found: TestedPairs
    plain: NDArray[np.float64]
    ratio: NDArray[np.float64]
    freedom: NDArray[np.float64]

    @classmethod
    def uncorrected(cls, found: TestedPairs) -> CalibratedPairs:
        """The same pairs, with their p as it is."""
        log_p, freedom = found.log_p, found.freedom.astype(np.float64)
        return cls(found=found, plain=log_p, ratio=np.ones(len(log_p)), freedom=freedom)

    @property
    def reference(self) -> NDArray[np.float64]:
        """`ratio` and `freedom` side by side, (m, 2)."""
        return np.column_stack([self.ratio, self.freedom])


def calibrate(
    bit_rows: BitRows,
    found: TestedPairs,
    most: int,
    draws: int,
    run: Run,
    within: WithinBinEffects | None = None,
) -> CalibratedPairs:
    """`found` with corrected p-values of sparse tables and of binned columns.

    The `most` best pairs of `found`, which are in the order of χ² p, are corrected from `draws`
    simulated tables each, five times as many where χ² p is below 0.1; `within` is needed for
    columns that are bins of numbers. The random stream of a pair is made from the seed of `run` and
    the counts of its table.

    Notes
    -----
    P(G² ≥ g) ≈ P(χ²_f ≥ g f / E G²), f = 2 (E G²)² / Var G², both moments over tables with the same
    margins n_ij·, n_i·k, n_·jk, a distribution without unknown parameters. Unlike the share of
    draws above g, this smooth tail also gives p far below one over the number of draws.

    References
    ----------
    Agresti 1992, Stat. Sci. 7:131 (exact conditional tests); Diaconis, Sturmfels 1998, Ann. Stat.
    26:363 (walks with fixed margins); Satterthwaite 1946, Biometrics Bull. 2:110 (f).
    """
    ratio = np.ones(len(found.log_p))
    freedom = found.freedom.astype(np.float64)
    mean, variance = freedom.copy(), 2.0 * freedom
    seed = run.generator().integers(0, 2**63, dtype=np.uint64)
    counts = np.arange(bit_rows.n_rows + 1, dtype=np.float64)
    logs = gammaln(counts + 1.0), counts * np.log(np.maximum(counts, 1.0))
    levels, classes = bit_rows.margins.shape[1], bit_rows.n_classes
    closer = found.log_p < np.log(_CLOSER)

    def work(chunk: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        tilts = np.zeros((len(chunk), levels, levels, classes))
        wanted = found.least_expected[chunk] < SMALL
        for place, (a, b) in enumerate(found.pairs[chunk].tolist()):
            tilt = None if within is None else within.tilt(a, b)
            if tilt is not None:
                wanted[place] = True
                tilts[place, : tilt.shape[0], : tilt.shape[1]] = tilt
        chunk, tilts = chunk[wanted], tilts[wanted]
        moments = np.empty((len(chunk), 2))
        for more in (False, True):
            of = np.flatnonzero(closer[chunk] == more)
            here = np.empty((len(of), 2))
            simulate_pairs(
                tables(chunk[of]), bit_rows.levels, found.pairs[chunk[of]],
                found.statistic[chunk[of]], tilts[of], *logs, 5 * draws if more else draws, seed,
                here,
            )  # fmt: skip
            moments[of] = here
        return chunk, moments

    looked_at = np.arange(min(most, len(found.log_p)))
    tables = bit_rows.tables(found.pairs[looked_at], run)
    chunks = [looked_at[first : first + _CHUNK] for first in range(0, len(looked_at), _CHUNK)]
    log_p = found.log_p.copy()
    for pairs, moments in in_threads(run.threads, work, chunks):
        mean[pairs], variance[pairs] = moments.T
        # Where the margins allow only one table, there is no test.
        informative = pairs[(mean[pairs] > 1e-9) & (variance[pairs] > 1e-9)]
        log_p[pairs] = 0.0
        scale = mean[informative] / variance[informative]
        log_p[informative] = log_gamma_tail(
            mean[informative] * scale, found.statistic[informative] * scale
        )
        ratio[pairs] = mean[pairs] / np.maximum(found.freedom[pairs], 1)
        freedom[pairs] = 0.0
        freedom[informative] = 2.0 * mean[informative] * scale
    best = found.best_log_p.copy()
    # A column's best pair among those kept replaces its p by χ².
    of_pairs = np.zeros(len(best))
    np.minimum.at(of_pairs, found.pairs.ravel(), np.repeat(log_p, 2))
    kept = np.unique(found.pairs)
    best[kept] = of_pairs[kept]
    changed = attrs.evolve(found, log_p=log_p, best_log_p=best)
    order = changed.order()
    return CalibratedPairs(
        found=changed.taken(order),
        plain=found.log_p[order],
        ratio=ratio[order],
        freedom=freedom[order],
    )
