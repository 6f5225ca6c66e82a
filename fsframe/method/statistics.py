"""Statistics that several methods share: p-values and their adjustment, and ranks with ties."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray


@attrs.frozen(kw_only=True)
class PermutationTest:
    """A test whose p-values are counted over permutations (or bootstraps) of each feature.

    Parameters
    ----------
    permutations : int
        The smallest p-value is 1 / (permutations + 1).
    level : float
        The level that p-values, adjusted by `correction`, are compared with.
    correction : {"none", "bonferroni", "benjamini-hochberg"}
    parameter : str
        Name of the parameter for the number of permutations.
    """

    permutations: int
    level: float
    correction: str = "none"
    parameter: str = "permutations"

    def needed(self, n_tests: int) -> int:
        """Smallest number of features that can be significant together.

        Returns
        -------
        int
            More than `n_tests` if nothing can be significant.

        Notes
        -----
        Bonferroni compares m p with the level. By Benjamini and Hochberg, the k smallest p-values
        are significant if they are at most level · k / m, and none is below 1 / (permutations + 1).

        Examples
        --------
        >>> test = PermutationTest(permutations=100, level=0.05, correction="benjamini-hochberg")
        >>> test.needed(7129), test.needed(5)
        (1412, 1)
        >>> PermutationTest(permutations=10, level=0.05).needed(3)
        4
        """
        # As fractions, since 1 / 20 must not exceed 0.05 by rounding.
        level = Fraction(str(self.level))
        if self.correction == "benjamini-hochberg":
            return math.ceil(Fraction(n_tests, self.permutations + 1) / level)
        tests = n_tests if self.correction == "bonferroni" else 1
        return 1 if Fraction(tests, self.permutations + 1) <= level else n_tests + 1

    def weakness(self, n_tests: int) -> str:
        """The warning before the test starts; empty if a single feature can be significant.

        Examples
        --------
        >>> PermutationTest(permutations=99, level=0.01).weakness(10)
        ''
        >>> test = PermutationTest(permutations=9, level=0.05, correction="bonferroni")
        >>> for n_tests in (1, 2):
        ...     print(test.weakness(n_tests).partition("single one, ")[2])
        permutations=19 is enough
        permutations=39 is enough, and fewer after a stage that keeps fewer features
        """
        needed = self.needed(n_tests)
        if needed <= 1:
            return ""
        tests = 1 if self.correction == "none" else n_tests
        enough = math.ceil(tests / Fraction(str(self.level))) - 1
        how = {"none": "", "bonferroni": "Bonferroni's correction", "benjamini-hochberg": "BH"}
        over = f" with {how[self.correction]} over {n_tests:,} features" if tests > 1 else ""
        least = (
            "no feature can be significant"
            if needed > n_tests
            else f"features can only be significant if at least {needed:,} of them are"
        )
        given = f"{self.parameter}={self.permutations}"
        fewer = "" if tests == 1 else ", and fewer after a stage that keeps fewer features"
        return (
            f"with {given}, p is at least 1/{self.permutations + 1}; at level "
            f"{self.level:g}{over}, {least}. For a single one, {self.parameter}={enough} is "
            f"enough{fewer}"
        )


def adjusted_p_values(p_values: NDArray[np.float64], correction: str = "bh") -> NDArray[np.float64]:
    """P-values adjusted for their number.

    Parameters
    ----------
    p_values : (m,) float64 in [0, 1]
        NaN stays NaN and is not counted.
    correction : {"bh", "by", "bonferroni", "holm", "none"}
        The step-up procedures of Benjamini and Hochberg 1995 and of Benjamini and Yekutieli 2001
        control the false discovery rate; m times p, and Holm's step-down procedure (1979), the
        probability of any false rejection.

    Returns
    -------
    (m,) float64
        At most 1; to be compared with the level.

    Examples
    --------
    >>> adjusted_p_values(np.array([0.01, 0.04, np.nan, 0.03, 0.5])).round(4).tolist()
    [0.04, 0.0533, nan, 0.0533, 0.5]
    >>> adjusted_p_values(np.array([0.01, 0.02, 0.9]), "bonferroni").round(9).tolist()
    [0.03, 0.06, 1.0]
    >>> adjusted_p_values(np.array([0.01, 0.04, 0.03]), "holm").tolist()
    [0.03, 0.06, 0.06]
    """
    known = ~np.isnan(p_values)
    if correction == "none" or not known.any():
        return p_values.copy()
    if correction == "bonferroni":
        return np.minimum(1.0, p_values * np.count_nonzero(known))
    # As scipy.stats.false_discovery_control, which takes half a second to import.
    places = np.flatnonzero(known)
    order = places[np.argsort(p_values[places])]
    ranks = np.arange(1, order.size + 1)
    adjusted = np.full(p_values.size, np.nan)
    if correction == "holm":
        adjusted[order] = np.maximum.accumulate(p_values[order] * ranks[::-1])
    else:
        values = p_values[order] * (order.size / ranks)
        if correction == "by":
            values *= np.sum(1 / ranks)
        adjusted[order] = np.minimum.accumulate(values[::-1])[::-1]
    return np.clip(adjusted, 0.0, 1.0)


def mean_ranks(
    values: NDArray[Any], counts: NDArray[np.integer[Any]] | None = None
) -> NDArray[np.float64]:
    """Ranks from 1 for the least value; equal values share the mean of their ranks.

    Parameters
    ----------
    values : (n,) numbers
        One that is NaN makes all ranks NaN.
    counts : (n,) int, optional
        How often each value counts, as if it were repeated.

    Returns
    -------
    (n,) float64
        Those of ``scipy.stats.rankdata``, which takes half a second to import. O(n log n).

    Examples
    --------
    >>> mean_ranks(np.array([0.5, 0.1, 0.5, 0.9]))
    array([2.5, 1. , 2.5, 4. ])
    >>> mean_ranks(np.array([0.5, 0.1, 0.9]), np.array([2, 1, 1]))
    array([2.5, 1. , 4. ])
    """
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    # NaN is sorted last.
    if order.size and ascending[-1] != ascending[-1]:
        return np.full(order.size, np.nan)
    first = np.concatenate(([True], ascending[1:] != ascending[:-1]))[: order.size]
    group = np.cumsum(first) - 1
    sizes = np.bincount(group, None if counts is None else counts[order])
    ranks = np.empty(order.size)
    ranks[order] = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
    return ranks


def normal_scores(values: NDArray[Any]) -> NDArray[np.float64]:
    """The normal quantiles of the mean ranks, Φ⁻¹((rank − ½) / n).

    Parameters
    ----------
    values : (n,) numbers
        One that is NaN makes all scores NaN.

    Returns
    -------
    (n,) float64
        With ranks of `mean_ranks`. O(n log n).

    Examples
    --------
    >>> normal_scores(np.array([3.0, 1.0, 2.0])).round(3).tolist()
    [0.967, -0.967, 0.0]
    """
    # Imported here: most methods that use these statistics need no scipy.
    from scipy.special import ndtri

    return np.asarray(ndtri((mean_ranks(values) - 0.5) / len(values)))


def orthonormal_basis(
    columns: NDArray[np.float64], least: float, size: float | None = None
) -> NDArray[np.float64]:
    """An orthonormal basis of the span of columns, largest direction first.

    Parameters
    ----------
    columns : (n, q) float64
    least : float
        Singular values below this fraction of `size` are left out, as they are rounding.
    size : float, optional
        By default the largest singular value.

    Returns
    -------
    (n, ≤ q) float64
        Of a singular value decomposition, O(n q²) for q ≤ n.

    Examples
    --------
    >>> orthonormal_basis(np.array([[3.0, 6.0], [4.0, 8.0]]), 1e-9).shape
    (2, 1)
    """
    basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    largest = sizes.max(initial=0.0) if size is None else size
    return np.asarray(basis[:, sizes >= least * largest])
