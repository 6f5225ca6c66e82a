"""Nogueira's stability of sets, with its variance, intervals and tests."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar

import attrs
import numpy as np
import scipy
from numpy.typing import ArrayLike

from fsframe.method.stability_metric import StabilityValue
from fsframe.params import flag, param, real
from fsframe_stability.agreement import (
    Overlap,
    OverlapMetric,
    undefined,
)

FEW_RUNS = 30
"""Below this many runs the normal approximation is unreliable."""

_UNDEFINED = "every run keeps nothing, or every run keeps every feature"


def phi_and_variance(overlap: Overlap) -> tuple[float, float]:
    """φ and the variance of its estimate; both NaN where the mean size is 0 or p.

    Parameters
    ----------
    overlap : Overlap
        Overlap of m sets out of p features.

    Returns
    -------
    phi : float
        At most 1.
    variance : float
        ≥ 0, and exactly 0 where the theory says 0 (identical sets, disjoint sets of one size).

    Notes
    -----
    With p̂_f = h_f/m, k̄ the mean size, c = (k̄/p)(1 − k̄/p):

    .. math:: φ = 1 - \\frac{\\frac{1}{p}\\sum_f \\frac{m}{m-1} p̂_f (1 - p̂_f)}{c}
        \\qquad\\text{(Definition 4)}

    .. math:: φ_i = \\frac{1}{c}\\Big[\\frac{1}{p}\\sum_f z_{if} p̂_f - \\frac{k_i k̄}{p^2}
        + \\frac{φ}{2}\\Big(\\frac{2 k_i k̄}{p^2} - \\frac{k_i}{p} - \\frac{k̄}{p} + 1\\Big)\\Big]

    .. math:: \\mathrm{var} = \\frac{4}{m^2} \\sum_i (φ_i - \\barφ)^2
        \\qquad\\text{(Theorem 7)}

    The sign before φ/2 is plus, as in the authors' Python and MATLAB code; their R code has a
    minus, which simulation refutes (it overstates the variance). Σ_f z_if p̂_f is the mean of row
    i of Z Zᵀ, so the overlap is all that is needed: O(m²) with its `spread`.

    References
    ----------
    Nogueira, Sechidis, Brown (2018), JMLR 18(174), 1–54.
    """
    m, p = overlap.n_runs, overlap.n_features
    sizes = overlap.sizes
    q = int(sizes.sum())
    if q in (0, m * p):
        return math.nan, math.nan
    # Whole numbers up to the one division: identical sets give exactly 1.
    phi = 1.0 - overlap.spread * m * p / ((m - 1) * q * (m * p - q))
    mean_size = q / m
    c = (mean_size / p) * (1.0 - mean_size / p)
    # φ_i − φ̄ from differences of whole numbers, so that equal runs differ by exactly 0.
    joint = overlap.intersections.sum(axis=1)
    by_overlap = (m * joint - joint.sum()) / (m * m * p)
    slope = -mean_size / p**2 + phi * (mean_size / p**2 - 0.5 / p)
    by_size = slope * (m * sizes - q) / m
    deviation = by_overlap + by_size
    # Parts that cancel up to rounding count as 0: a variance of 1e-36 must not be divided by.
    rounding = np.abs(deviation) <= 1e-13 * (np.abs(by_overlap) + np.abs(by_size))
    deviation[rounding] = 0.0
    return phi, float(4.0 / m**2 * np.sum((deviation / c) ** 2))


@attrs.frozen(kw_only=True)
class Nogueira(OverlapMetric):
    """Stability by Nogueira's φ, with its variance and a confidence interval.

    Parameters
    ----------
    level : float in (0, 1)
        Confidence level of the interval.
    clip : bool
        Whether to cut the interval at −1 and 1; by default it stays as the theory gives it.

    Notes
    -----
    Extends Kuncheva's index, which it equals for sets of one size, to sets of any sizes, and is the
    only measure known to have all five properties its authors ask for. Formulas in
    `phi_and_variance`; the interval is φ ± z √var (Corollary 9).

    The interval is asymptotic in the number of runs: below 30 runs there is a warning. Its
    width is 0 for identical sets and for disjoint ones, which does not mean certainty; a warning
    says so. If all features have equal probabilities, the variance is overstated (coverage 0.98 for
    0.95). Undefined where the mean size is 0 or p. O(m²p).

    References
    ----------
    Nogueira, Sechidis, Brown (2018), JMLR 18(174), 1–54, Definition 4, Corollary 9.

    Examples
    --------
    >>> Nogueira()([[1, 1, 0], [0, 1, 1], [1, 0, 1]]).value
    -0.5
    """

    chance_corrected: ClassVar[bool] = True
    undefined_when: ClassVar[str] = _UNDEFINED

    level: float = param(
        0.95,
        real(above=0, below=1),
        help="Confidence level of the interval.",
        symbol="1 − α",
        source="Nogueira et al. 2018, Corollary 9",
    )
    clip: bool = param(False, flag(), help="Clip the interval to [−1, 1].")

    def measure_overlap(self, overlap: Overlap) -> StabilityValue:
        """φ, variance and interval."""
        phi, variance = phi_and_variance(overlap)
        if math.isnan(phi):
            return undefined(_UNDEFINED)
        half = _quantile(self.level) * math.sqrt(variance)
        low, high = phi - half, phi + half
        if self.clip:
            low, high = max(-1.0, low), min(1.0, high)
        return StabilityValue(
            value=phi,
            variance=variance,
            interval=(low, high),
            level=self.level,
            warnings=_warnings(overlap.n_runs, variance),
        )


@lru_cache(maxsize=8)
def _quantile(level: float) -> float:
    """Half the interval's width in standard deviations; cached, as every set size asks for it."""
    return -float(scipy.special.ndtri((1.0 - level) / 2.0))


def _warnings(runs: int, variance: float) -> tuple[str, ...]:
    notes = []
    if runs < FEW_RUNS:
        notes.append(
            f"the interval is asymptotic: {runs} runs are few, {FEW_RUNS} or more are advised"
        )
    if variance == 0.0:
        notes.append("the estimated variance is 0: an interval of width 0 does not mean certainty")
    return tuple(notes)


@attrs.frozen(kw_only=True)
class StabilityTest:
    """The outcome of a z test on stabilities.

    Parameters
    ----------
    statistic : float
        The z value; NaN where there is none.
    p_value : float
        NaN where there is none; then `undefined` says why.
    undefined : str
        Empty if there is a p-value.
    warnings : tuple of str
        Caveats about the result.
    """

    statistic: float
    p_value: float
    undefined: str = ""
    warnings: tuple[str, ...] = ()


def above_threshold_test(matrix: ArrayLike, threshold: float) -> StabilityTest:
    """Test whether the stability of a selection lies above a threshold: a one-sided z test.

    Parameters
    ----------
    matrix : (m, p) bool
        One row per run.
    threshold : float
        φ₀ of the null hypothesis φ ≤ φ₀.

    Returns
    -------
    StabilityTest
        V = (φ̂ − φ₀)/√var and 1 − Φ(V); undefined where φ̂ is, and where the variance is 0.

    References
    ----------
    Nogueira, Sechidis, Brown (2018), JMLR 18(174), section 5.

    Examples
    --------
    >>> test = above_threshold_test([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]], threshold=0.0)
    >>> round(test.statistic, 6), round(test.p_value, 6)
    (1.837117, 0.033096)
    """
    overlap = Overlap.of(matrix)
    phi, variance = phi_and_variance(overlap)
    return _z_test(phi - threshold, variance, _warnings(overlap.n_runs, variance), sides=1)


def difference_test(first: ArrayLike, second: ArrayLike) -> StabilityTest:
    """Test whether two selections differ in stability: a two-sided z test.

    Parameters
    ----------
    first : (m₁, p₁) bool
        One row per run of the first selection.
    second : (m₂, p₂) bool
        One row per run of the second selection, none of them shared with the first.

    Returns
    -------
    StabilityTest
        T = (φ̂₂ − φ̂₁)/√(var₁ + var₂) and 2(1 − Φ(|T|)); undefined where one of the two φ̂ is, and
        where both variances are 0.

    Notes
    -----
    Assumes that the two estimates are independent, which those of runs on the same resamples are
    not.

    References
    ----------
    Nogueira, Sechidis, Brown (2018), JMLR 18(174), Theorem 10.

    Examples
    --------
    >>> a = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]]
    >>> difference_test(a, a).p_value
    1.0
    """
    one, other = Overlap.of(first), Overlap.of(second)
    (phi_1, variance_1), (phi_2, variance_2) = phi_and_variance(one), phi_and_variance(other)
    variance = variance_1 + variance_2
    return _z_test(phi_2 - phi_1, variance, _warnings(min(one.n_runs, other.n_runs), variance), 2)


def _z_test(
    difference: float, variance: float, warnings: tuple[str, ...], sides: int
) -> StabilityTest:
    if math.isnan(difference):
        reason = f"φ is undefined: {_UNDEFINED}"
        return StabilityTest(statistic=math.nan, p_value=math.nan, undefined=reason)
    if variance == 0.0:
        reason = "the estimated variance is 0: there is nothing to judge the difference by"
        return StabilityTest(statistic=math.nan, p_value=math.nan, undefined=reason)
    z = difference / math.sqrt(variance)
    # The survival function: 1 − Φ loses every digit of a small p-value.
    p_value = float(scipy.special.ndtr(-z) if sides == 1 else 2.0 * scipy.special.ndtr(-abs(z)))
    return StabilityTest(statistic=z, p_value=p_value, warnings=warnings)
