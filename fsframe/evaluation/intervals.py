"""Standard errors and confidence intervals of means over resamples."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

__all__ = ["bounded_interval", "corrected_standard_error", "interval_within"]

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


def bounded_interval(
    mean: float, standard_error: float, n: int, units: int
) -> tuple[float, float] | None:
    """A 95 % confidence interval for a share, within [0, 1].

    Parameters
    ----------
    mean : float in [0, 1]
        Mean of `n` resampled results.
    standard_error : float
        As `corrected_standard_error` gives it; NaN gives None.
    n : int
        Number of results.
    units : int
        Number of independent units tested (rows, or groups of rows), for results that do not vary.

    Returns
    -------
    (low, high), or None

    Notes
    -----
    Symmetric about logit(mean) with standard error s/(m (1 − m)) and Student's t with n − 1 degrees
    of freedom, transformed back (delta method). If all results are equal, s = 0 is uninformative,
    and Wilson's interval for `units` trials is used. Approximate, as the correction itself is.

    References
    ----------
    Wilson 1927, JASA 22:209; Brown, Cai, DasGupta 2001, Statist. Sci. 16:101 (both intervals).

    Examples
    --------
    >>> low, high = bounded_interval(0.97, 0.03, 10, 100)
    >>> f"{low:.3f} {high:.3f}"
    '0.758 0.997'
    >>> low, high = bounded_interval(1.0, 0.0, 10, 100)
    >>> f"{low:.3f} {high:.3f}"
    '0.963 1.000'
    """
    if not np.isfinite(mean) or not np.isfinite(standard_error) or n < 2:
        return None
    if not 0 <= mean <= 1:
        # A run file from elsewhere may hold any number.
        return None
    if standard_error <= 0 or not 0 < mean < 1:
        z = float(scipy.stats.norm.ppf(0.5 + _LEVEL / 2))
        centre = (mean + z**2 / (2 * units)) / (1 + z**2 / units)
        half = z / (1 + z**2 / units) * np.sqrt(mean * (1 - mean) / units + z**2 / (4 * units**2))
        return max(0.0, float(centre - half)), min(1.0, float(centre + half))
    reach = float(scipy.stats.t.ppf(0.5 + _LEVEL / 2, n - 1)) * standard_error / (mean * (1 - mean))
    middle = np.log(mean / (1 - mean))
    return float(special.expit(middle - reach)), float(special.expit(middle + reach))


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
    Symmetric on the logit scale of (m − lowest)/(highest − lowest) if both bounds are finite, as
    in `bounded_interval`; on the logarithm of the distance from a single finite bound; otherwise
    on the scale of m. Student's t with n − 1 degrees of freedom, standard errors by the delta
    method.

    Examples
    --------
    >>> low, high = interval_within(0.2, 0.15, 10, 0.0, float("inf"))
    >>> f"{low:.3f} {high:.3f}"
    '0.037 1.091'
    """
    if not np.isfinite(mean) or not np.isfinite(standard_error) or n < 2:
        return None
    below, above = np.isfinite(lowest), np.isfinite(highest)
    if below and above:
        width = highest - lowest
        share = (mean - lowest) / width
        if units is None and (standard_error <= 0 or not 0 < share < 1):
            return None
        found = bounded_interval(share, standard_error / width, n, units or n)
        return None if found is None else (lowest + width * found[0], lowest + width * found[1])
    if standard_error <= 0:
        return None
    reach = float(scipy.stats.t.ppf(0.5 + _LEVEL / 2, n - 1)) * standard_error
    if not below and not above:
        return mean - reach, mean + reach
    away = mean - lowest if below else highest - mean
    if away <= 0:
        return None
    factor = float(np.exp(reach / away))
    if below:
        return lowest + away / factor, lowest + away * factor
    return highest - away * factor, highest - away / factor
