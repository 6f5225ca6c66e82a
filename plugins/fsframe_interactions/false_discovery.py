"""False discovery rates of the smallest p-values out of many tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["false_discovery_rates"]


def false_discovery_rates(
    log_p: NDArray[np.float64], n_tests: int, method: str
) -> NDArray[np.float64]:
    """Adjusted p-values (q) of the smallest p out of `n_tests`.

    Parameters
    ----------
    log_p : (m,) float64
        Natural logarithms of the m smallest p, in any order.
    n_tests : int ≥ m
    method : {"bh", "by"}

    Returns
    -------
    (m,) float64
        As `scipy.stats.false_discovery_control` on all `n_tests` with p = 1 for those not given;
        an upper bound of the result with their true p.

    References
    ----------
    Benjamini, Hochberg 1995, J. R. Stat. Soc. B 57:289; Benjamini, Yekutieli 2001, Ann. Stat.
    29:1165.

    Examples
    --------
    >>> false_discovery_rates(np.log([0.01, 0.02, 0.9]), 3, "bh").round(9).tolist()
    [0.03, 0.03, 0.9]
    """
    if not len(log_p):
        return np.empty(0)
    order = np.argsort(log_p, kind="stable")
    factor = float(n_tests)
    if method == "by":
        factor *= special.digamma(n_tests + 1) - special.digamma(1)  # 1 + 1/2 + … + 1/n
    raised = np.log(factor) + log_p[order] - np.log(np.arange(1, len(log_p) + 1))
    found = np.empty(len(log_p))
    found[order] = np.exp(np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 0.0))
    return found
