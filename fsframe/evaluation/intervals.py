"""Standard errors and confidence intervals of means over resamples; the rule of one error."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["corrected_standard_error", "interval_within", "one_standard_error"]

Floats = NDArray[np.float64]

_LEVEL = 0.95
"""Of confidence intervals."""


def corrected_standard_error(values: Floats, test_to_train: float) -> float:
    """Standard error of the mean of resampled results: √((1/n + n₂/n₁) s²), Nadeau and Bengio.

    >>> corrected_standard_error(np.array([0.8, 0.9]), 1 / 9) > 0.05
    True
    """
    n = len(values)
    if n < 2:
        return float("nan")
    return float(np.sqrt((1.0 / n + test_to_train) * np.var(values, ddof=1)))


def interval_within(
    mean: float,
    standard_error: float,
    n: int,
    lowest: float = 0.0,
    highest: float = 1.0,
    *,
    units: int | None = None,
) -> tuple[float, float] | None:
    """A 95 % confidence interval for a measure, within its range.

    Parameters
    ----------
    mean : float
        Mean of `n` resampled results.
    standard_error : float
        As `corrected_standard_error` gives it; NaN gives None.
    n : int
    lowest, highest : float
        Range of the measure; either may be infinite.
    units : int, optional
        For shares of independent units (rows, groups), the number tested: used for Wilson's
        interval if all results are equal. Without it there is no interval in that case.

    Returns
    -------
    (low, high), or None

    Notes
    -----
    If both bounds are finite, symmetric on the logit scale of m = (mean − lowest)/(highest −
    lowest), with standard error s/(m (1 − m)), transformed back; on the logarithm of the distance
    from a single finite bound; otherwise on the scale of the mean. Student's t with n − 1 degrees
    of freedom, standard errors by the delta method. If all results are equal, s = 0 is
    uninformative, and Wilson's interval for `units` trials is used. Approximate, as the correction
    itself is.

    References
    ----------
    Wilson 1927, JASA 22:209; Brown, Cai, DasGupta 2001, Statist. Sci. 16:101 (both intervals).

    Examples
    --------
    >>> def text(interval):
    ...     return "{:.3f} {:.3f}".format(*interval)
    >>> text(interval_within(0.97, 0.03, 10, units=100))
    '0.758 0.997'
    >>> text(interval_within(1.0, 0.0, 10, units=100))
    '0.963 1.000'
    >>> text(interval_within(0.2, 0.15, 10, 0.0, float("inf")))
    '0.037 1.091'
    """
    if not np.isfinite(mean) or not np.isfinite(standard_error) or n < 2:
        return None
    t = float(scipy.stats.t.ppf(0.5 + _LEVEL / 2, n - 1))
    below, above = np.isfinite(lowest), np.isfinite(highest)
    if below and above:
        width = highest - lowest
        share, error = (mean - lowest) / width, standard_error / width
        if not 0 <= share <= 1:
            # A run file from elsewhere may hold any number.
            return None
        if error > 0 and 0 < share < 1:
            middle, reach = np.log(share / (1 - share)), t * error / (share * (1 - share))
            low, high = scipy.special.expit(middle - reach), scipy.special.expit(middle + reach)
        elif units is not None:
            low, high = _wilson(share, units)
        else:
            return None
        return lowest + width * float(low), lowest + width * float(high)
    if standard_error <= 0:
        return None
    reach = t * standard_error
    if not below and not above:
        return mean - reach, mean + reach
    away = mean - lowest if below else highest - mean
    if away <= 0:
        return None
    factor = float(np.exp(reach / away))
    if below:
        return lowest + away / factor, lowest + away * factor
    return highest - away * factor, highest - away / factor


def _wilson(share: float, trials: int) -> tuple[float, float]:
    z = float(scipy.stats.norm.ppf(0.5 + _LEVEL / 2))
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    spread = np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    half = z / (1 + z**2 / trials) * spread
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def one_standard_error(better: Floats, error: Floats, kept: Floats) -> int:
    """The candidate with the fewest features within one standard error of the best; -1 without one.

    Parameters
    ----------
    better, error, kept : (n,) float
        The measure (larger is better), its standard error, and the number of kept features.

    Notes
    -----
    Ties go to the better candidate, then to the first (Breiman, Friedman, Olshen, Stone 1984,
    §3.4.3, with the number of features as the size of a tree).

    Examples
    --------
    >>> one_standard_error(np.array([0.80, 0.82, 0.7]), np.full(3, 0.03), np.array([5.0, 10, 2]))
    0
    """
    best = int(np.nanargmax(better)) if not np.isnan(better).all() else -1
    if best < 0 or np.isnan(error[best]):
        return -1
    near = np.flatnonzero(better >= better[best] - error[best])
    return int(min(near, key=lambda place: (kept[place], -better[place], place)))
