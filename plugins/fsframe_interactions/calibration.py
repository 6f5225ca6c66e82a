"""p-values where expected counts are small: G² relative to its simulated mean."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.run import Run
from fsframe.contracts.side_by_side import in_threads
from fsframe_interactions.engine.best import Found
from fsframe_interactions.engine.planes import Planes
from fsframe_interactions.engine.sparse import simulate_pairs
from fsframe_interactions.engine.tail import log_chi2_tail

__all__ = ["SMALL", "calibrated"]

SMALL = 50.0
"""Expected count from which χ² serves: there the mean of G² is within 3 % of its limit."""

_CLOSER = 0.01
_CHUNK = 32


def calibrated(
    planes: Planes, found: Found, most: int, draws: int, run: Run
) -> tuple[Found, NDArray[np.float64], NDArray[np.float64]]:
    """`found` with the p of sparse tables corrected, in the order of the new p.

    Parameters
    ----------
    planes : Planes
    found : Found
        In the order of χ² p.
    most : int
        How many of the best pairs are looked at.
    draws : int
        Tables per pair; five times as many where χ² p is below 0.01.
    run : Run
        Its seed and the table's counts make the random stream of a pair.

    Returns
    -------
    found : Found
    plain : (m,) float64
        log p by χ² alone, in the new order.
    ratio : (m,) float64
        Mean of G² under the fitted main effects over its degrees of freedom.

    Notes
    -----
    Bartlett's idea: P(G² ≥ g) ≈ P(χ²_f ≥ g f / E G²), the mean from a parametric bootstrap:
    the class of every row drawn anew by the odds of the two main effects, the columns as they are.
    It serves for p far below one over the number of draws, which the share of draws above g cannot.

    References
    ----------
    Bartlett 1937, Proc. R. Soc. A 160:268; Rocke 1989, Technometrics 31:337 (bootstrap means).
    """
    plain = found.log_p
    ratio = np.ones(len(plain))
    looked_at = np.flatnonzero(found.least_expected[:most] < SMALL)
    seed = run.generator().integers(0, 2**63, dtype=np.uint64)
    closer = plain[looked_at] < np.log(_CLOSER)
    for group, many in ((looked_at[~closer], draws), (looked_at[closer], 5 * draws)):
        chunks = [group[first : first + _CHUNK] for first in range(0, len(group), _CHUNK)]

        def work(chunk: NDArray[np.intp], many: int = many) -> NDArray[np.float64]:
            means = np.empty(len(chunk))
            simulate_pairs(
                planes.lanes, planes.offsets, planes.words, planes.stored, planes.levels,
                planes.margins, found.pairs[chunk], many, seed, means,
            )  # fmt: skip
            return means

        for chunk, means in zip(chunks, in_threads(run.threads, work, chunks), strict=True):
            ratio[chunk] = means / found.freedom[chunk]
    # A table whose simulated G² is always zero can tell nothing.
    scaled = np.divide(
        found.statistic, ratio, out=np.zeros_like(found.statistic), where=ratio > 1e-9
    )
    log_p = plain.copy()
    log_p[looked_at] = log_chi2_tail(scaled[looked_at], found.freedom[looked_at])
    best = found.best_log_p.copy()
    # A column's best pair among those kept replaces what χ² said of it.
    of_pairs = np.zeros(len(best))
    np.minimum.at(of_pairs, found.pairs.ravel(), np.repeat(log_p, 2))
    kept = np.unique(found.pairs)
    best[kept] = of_pairs[kept]
    order = np.lexsort((found.pairs[:, 1], found.pairs[:, 0], log_p))
    changed = attrs.evolve(found, log_p=log_p, best_log_p=best).taken(order)
    return changed, plain[order], ratio[order]
