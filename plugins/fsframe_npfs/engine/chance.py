"""How many features would be kept if none were relevant: by permuted labels, by the normal law."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]


def pooled_expected(values: NDArray[np.floating[Any] | np.integer[Any]]) -> Floats:
    """Features of a labelling that reach each feature's value, on average over labellings.

    Parameters
    ----------
    values : (labellings, p)
        Counts or integrals, larger is better; the first labelling is the true one.

    Returns
    -------
    (p,) float64
        #{(j, i'): values_ji' ≥ values_0i} / labellings.

    Notes
    -----
    Keep the features with at most E. The set is that of the values that at most E·L of the L·p
    reach, which treats the labellings alike. If they are exchangeable, as when the label depends on
    no feature, each keeps the same number in expectation, and all together at most E·L: so the true
    one keeps at most E in expectation, whatever the base and the dependence of the features.

    Examples
    --------
    >>> pooled_expected(np.array([[9, 3, 0], [4, 1, 1]]))
    array([0.5, 1.5, 3. ])
    """
    pool = np.sort(values, axis=None)
    reached = pool.size - np.searchsorted(pool, values[0], side="left")
    expected: Floats = reached / len(values)
    return expected


def normal_false(count: int, pairs: int, kept: float, n_features: int, sides: int = 2) -> float:
    """Features that `count` halves select, if none is relevant and scores are normal.

    Parameters
    ----------
    count, pairs, kept, n_features
        As in `expected_false`.
    sides : {1, 2}
        Whether large values of the score are selected, or of its absolute value.

    Returns
    -------
    float
        Their expected number.

    Notes
    -----
    Of a mean over independent rows, the value on a half is (z ± w)/√2 with standard normal z, of
    the whole table, and w, of the pair. A half selects the features beyond c, P(beyond c) = q/p. So
    the table selects a feature with probability Π(z) = Φ(z − √2 c), plus Φ(−z − √2 c) with two
    sides, and the number is p·P(Bin(2B, Π(z)) ≥ count), here with independent halves.

    Examples
    --------
    Where few of many features are kept, the r-concave bound of one is far from it:

    >>> from fsframe_npfs.engine.bounds import least_count
    >>> least_count(1.0, 50, 5, 1000, "r-concave"), round(normal_false(16, 50, 5, 1000), 1)
    (16, 3.5)
    """
    if not 0 < kept < n_features:
        return float(kept)
    cut = math.sqrt(2.0) * special.ndtri(1.0 - kept / n_features / sides)
    z = np.linspace(-9.0, 9.0, 2001)
    weights = np.exp(-0.5 * z**2)
    chosen = special.ndtr(z - cut) + (special.ndtr(-z - cut) if sides == 2 else 0.0)
    reached = special.bdtrc(count - 1, 2 * pairs, np.minimum(chosen, 1.0))
    return float(n_features * (weights @ reached) / weights.sum())
