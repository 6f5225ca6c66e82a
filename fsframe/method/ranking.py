"""Ranks of features, p-values of permutation tests, and the statements that p-values are about."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    correction : {"bh", "by", "bonferroni", "none"}
        Benjamini and Hochberg 1995, Benjamini and Yekutieli 2001, or m times p, at most 1.

    Examples
    --------
    >>> adjusted_p_values(np.array([0.01, 0.04, np.nan, 0.03, 0.5])).round(4).tolist()
    [0.04, 0.0533, nan, 0.0533, 0.5]
    >>> adjusted_p_values(np.array([0.01, 0.02, 0.9]), "bonferroni").round(9).tolist()
    [0.03, 0.06, 1.0]
    """
    known = ~np.isnan(p_values)
    if correction == "none" or not known.any():
        return p_values
    if correction == "bonferroni":
        return np.minimum(1.0, p_values * np.count_nonzero(known))
    # As scipy.stats.false_discovery_control, which takes half a second to import.
    places = np.flatnonzero(known)
    order = places[np.argsort(p_values[places])]
    ranks = np.arange(1, order.size + 1)
    values = p_values[order] * (order.size / ranks)
    if correction == "by":
        values *= np.sum(1 / ranks)
    adjusted = np.full(p_values.size, np.nan)
    adjusted[order] = np.minimum.accumulate(values[::-1])[::-1]
    return np.clip(adjusted, 0.0, 1.0)


def mean_ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Ranks from 1 for the least value; equal values share the mean of their ranks.

    Parameters
    ----------
    values : (n,) numbers
        One that is NaN makes all ranks NaN.

    Returns
    -------
    (n,) float64
        Those of ``scipy.stats.rankdata``, which takes half a second to import. O(n log n).

    Examples
    --------
    >>> mean_ranks(np.array([0.5, 0.1, 0.5, 0.9]))
    array([2.5, 1. , 2.5, 4. ])
    """
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    # NaN is sorted last.
    if order.size and ascending[-1] != ascending[-1]:
        return np.full(order.size, np.nan)
    first = np.concatenate(([True], ascending[1:] != ascending[:-1]))[: order.size]
    group = np.cumsum(first) - 1
    bounds = np.append(np.flatnonzero(first), order.size)
    ranks = np.empty(order.size)
    ranks[order] = (0.5 * (bounds[:-1] + bounds[1:] + 1))[group]
    return ranks


TIE = 1e-10
"""Values that differ by at most this fraction are ties.

Sums of the same terms in another order differ by 1e-16 to 1e-13 of their size; a ranking by such
differences is noise, which depends on the processor.
"""


def tied_order(
    values: NDArray[np.float64], tie: float = TIE, least: float = 0.0
) -> NDArray[np.intp]:
    """Indices from the least value to the largest, ties by index.

    Parameters
    ----------
    values : (n,) float64
        Without NaN; may be infinite.
    tie : float
        The fraction of a value within which others are ties.
    least : float
        Absolute difference up to which values are ties, for values that are differences of larger
        ones.

    Returns
    -------
    (n,) int
        O(n log n).

    Notes
    -----
    A group begins with the least remaining value v, contains all values of at most
    v + max(tie · abs(v), least), and is ordered by index. Ties are thus transitive (a chain of
    small steps does not tie its ends), and the first k do not depend on the rest.

    Examples
    --------
    >>> tied_order(np.array([0.3, 0.1 + 0.2, 0.1, -1.0])).tolist()
    [3, 2, 0, 1]
    """
    order = np.argsort(values, kind="stable")
    v = values[order]
    with np.errstate(invalid="ignore", over="ignore"):
        # Equal infinities give NaN here, and are in order already.
        steps = np.diff(v)
        linked = np.isfinite(steps) & (steps <= 2 * np.maximum(tie * np.abs(v[:-1]), least))
        if not (linked & (steps > 0)).any():
            return order
        linked |= ~(steps > 0)
        # Groups lie within runs of small steps.
        begins = np.flatnonzero(np.concatenate([[True], ~linked]))
        ends = np.append(begins[1:], len(v))
        for start, stop in zip(begins.tolist(), ends.tolist(), strict=True):
            while stop - start > 1:
                reach = v[start] + _reach(float(v[start]), tie, least)
                until = start + int(np.searchsorted(v[start:stop], reach, side="right"))
                order[start:until].sort()
                start = until
    return order


def _reach(value: float, tie: float, least: float) -> float:
    """The difference up to which larger values are ties with `value`."""
    return max(tie * abs(value), least) if math.isfinite(value) else 0.0


def rank_by_score(
    scores: NDArray[np.float64], count: int | None = None, *, least: float = 0.0
) -> NDArray[np.intp]:
    """Columns from the best score to the worst, ties by column, NaN left out.

    Scores that differ by at most `TIE` of their size are ties (`tied_order`).

    Parameters
    ----------
    scores : array of shape (n_features,)
        Higher is better; NaN for a column that cannot be kept.
    count : int, optional
        Number of columns to return; all by default.
    least : float
        As for `tied_order`.

    Returns
    -------
    array of shape (min(count, n_known),)
        O(n_features log n_features), with `count` O(n_features + count log count).

    Examples
    --------
    >>> rank_by_score(np.array([0.2, np.nan, 0.9, 0.2])).tolist()
    [2, 0, 3]
    >>> rank_by_score(np.array([0.2, np.nan, 0.9, 0.2]), 2).tolist()
    [2, 0]
    >>> rank_by_score(np.array([0.3, 0.1 + 0.2])).tolist()
    [0, 1]
    """
    known = np.flatnonzero(~np.isnan(scores))
    falling = -np.asarray(scores, dtype=np.float64)[known]
    if count is not None and count < len(known):
        if count < 1:
            return known[:0]
        # Includes all ties with the last one; the order below decides among them.
        last = float(np.partition(falling, count - 1)[count - 1])
        good = falling <= last + 2 * _reach(last, TIE, least)
        known, falling = known[good], falling[good]
    return known[tied_order(falling, TIE, least)[:count]]


@attrs.frozen(kw_only=True)
class Statement:
    """The statement that a stage tests, or whose errors it bounds.

    Parameters
    ----------
    word : str
        Its word in the glossary.
    kind : {"marginal", "conditional"}
        Conditional: beyond what other features say about the label.
    subject : str
        Subject and verb of the tested claim.
    meaning : str
        The rest of a sentence after *whether*.

    Examples
    --------
    >>> NEEDED.sentence("knockoffs", ["age"])
    'knockoffs tests whether a feature is needed (conditional): whether it carries information \
about the label beyond all other features, given age.'
    """

    word: str
    kind: str
    subject: str
    meaning: str

    def sentence(self, stage: str, given: Sequence[str] = ()) -> str:
        """The sentence that says what `stage` tests; `given` holds the names of covariates."""
        condition = f", given {', '.join(given)}" if given else ""
        return (
            f"{stage} tests whether {self.subject} ({self.kind}): whether {self.meaning}"
            f"{condition}."
        )


RELEVANT = Statement(
    word="relevant",
    kind="marginal",
    subject="a feature is relevant",
    meaning="it carries information about the label, even if other features carry the same",
)

NEEDED = Statement(
    word="needed",
    kind="conditional",
    subject="a feature is needed",
    meaning="it carries information about the label beyond all other features",
)

ADDING = Statement(
    word="adds",
    kind="conditional",
    subject="a feature adds",
    meaning="it carries information about the label beyond the features chosen before it",
)

INTERACTING = Statement(
    word="interacts",
    kind="conditional",
    subject="a pair interacts",
    meaning="two features say more about the label together than separately",
)
