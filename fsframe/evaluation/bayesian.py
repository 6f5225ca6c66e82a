"""Probabilities that one method is better than another, practically equal, or worse."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.errors import DataError, RequestError
from fsframe.evaluation.intervals import corrected_standard_error

__all__ = ["correlated_posterior", "signed_rank_posterior"]

Floats = NDArray[np.float64]

_SAMPLES = 50_000


def correlated_posterior(
    a: Floats, b: Floats, test_to_train: float, rope: float
) -> tuple[float, float, float]:
    """Posterior probabilities of "a worse", "practically equal", "a better" on one table.

    Parameters
    ----------
    a, b : (n,) float
        Results on the same folds; larger is better.
    test_to_train : float > 0
        Number of test rows divided by number of training rows.
    rope : float ≥ 0
        Half width of the region of practical equivalence.

    Notes
    -----
    The Bayesian correlated t-test: the mean difference has Student's t distribution with n − 1
    degrees of freedom about d̄ with scale √((1/n + n₂/n₁) s²), under the matching prior; its tails
    at ρ = 0 are the p-values of the corrected resampled t-test.

    References
    ----------
    Corani, Benavoli 2015, A Bayesian approach for comparing cross-validated algorithms on multiple
    data sets, Machine Learning 100; Benavoli, Corani, Demšar, Zaffalon 2017, JMLR 18(77), §4.

    Examples
    --------
    >>> a = np.array([0.9, 0.8, 0.7, 0.6])
    >>> [round(p, 3) for p in correlated_posterior(a, a - [0.1, 0.3, 0.2, 0.0], 1 / 9, 0.01)]
    [0.066, 0.019, 0.916]
    """
    _check_rope(rope)
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    n, mean = difference.size, float(difference.mean())
    if n < 2:
        raise DataError("a comparison on one table needs at least two splits")
    scale = corrected_standard_error(difference, test_to_train)
    if scale <= 1e-15:
        return float(mean < -rope), float(abs(mean) <= rope), float(mean > rope)
    worse = float(scipy.stats.t.cdf((-rope - mean) / scale, n - 1))
    better = float(scipy.stats.t.sf((rope - mean) / scale, n - 1))
    return worse, max(0.0, 1.0 - worse - better), better


def signed_rank_posterior(
    difference: Floats, rope: float, seed: int = 0
) -> tuple[float, float, float]:
    """Posterior probabilities of "worse", "practically equal", "better" over several tables.

    Parameters
    ----------
    difference : (n,) float
        Mean difference of two methods on each table, positive if the first is better.
    rope : float ≥ 0
        Half width of the region of practical equivalence.
    seed : int
        Seed of the 50,000 Monte Carlo samples; the standard error is at most 0.002.

    Notes
    -----
    The Bayesian signed-rank test: a Dirichlet process with strength s = ½ and a pseudo-observation
    z₀ = 0. With w ~ Dirichlet(½, 1, …, 1) the three shares are θ = Σ_ij w_i w_j over the pairs
    whose mean (z_i + z_j)/2 lies left of, in, or right of [−rope, rope]; the result is how often
    each share is the largest. O(samples · n²).

    References
    ----------
    Benavoli, Corani, Demšar, Zaffalon 2017, Time for a change: a tutorial for comparing multiple
    classifiers through Bayesian analysis, JMLR 18(77), §5; Benavoli et al. 2014, ICML.

    Examples
    --------
    >>> worse, same, better = signed_rank_posterior(np.array([0.05, 0.04, 0.06, 0.02, 0.03]), 0.01)
    >>> better > 0.95, worse < 0.01
    (True, True)
    """
    _check_rope(rope)
    # Rounded, so that a difference on the border of the region does not depend on its last bits.
    z = np.round(np.concatenate([[0.0], np.asarray(difference, dtype=np.float64)]), 12)
    if z.size < 2:
        raise DataError("a comparison over tables needs at least one of them")
    total = z[:, None] + z[None, :]
    left = (total < -2 * rope - 1e-12).astype(np.float64)
    right = (total > 2 * rope + 1e-12).astype(np.float64)
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, z.size])))
    strength = np.ones(z.size)
    strength[0] = 0.5
    counts = np.zeros(3)
    step = max(1, (1 << 22) // z.size)
    # One thread: the bits of a product depend on how its sums are divided.
    with threadpool_limits(1):
        for start in range(0, _SAMPLES, step):
            w = generator.dirichlet(strength, min(step, _SAMPLES - start))
            lost, won = ((w @ left) * w).sum(axis=1), ((w @ right) * w).sum(axis=1)
            shares = np.column_stack([lost, 1.0 - lost - won, won])
            best = shares >= shares.max(axis=1, keepdims=True) - 1e-12
            counts += (best / best.sum(axis=1, keepdims=True)).sum(axis=0)
    worse, same, better = (counts / _SAMPLES).tolist()
    return worse, same, better


def _check_rope(rope: float) -> None:
    if not (np.isfinite(rope) and rope >= 0):
        raise RequestError(f"the region of practical equivalence must be ≥ 0, not {rope}")
