"""The smallest p-value that a resampling test can give, known before any computation."""

from __future__ import annotations

import math
from fractions import Fraction

import attrs

__all__ = ["PermutationTest"]


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
        """Number of features that must have the smallest p-value for any to be significant.

        Returns
        -------
        int
            More than `n_tests` if nothing can be significant.

        Notes
        -----
        Bonferroni compares m p with the level. By Benjamini and Hochberg k features of the smallest
        p have q = m p / k; with fewer, larger p-values only make it worse for the others.

        Examples
        --------
        >>> test = PermutationTest(permutations=100, level=0.05, correction="benjamini-hochberg")
        >>> test.needed(7129), test.needed(5)
        (1412, 1)
        >>> PermutationTest(permutations=10, level=0.05).needed(3)
        4
        """
        # As fractions: 1 / 20 is not more than 0.05.
        level = Fraction(str(self.level))
        if self.correction == "benjamini-hochberg":
            return math.ceil(Fraction(n_tests, self.permutations + 1) / level)
        tests = n_tests if self.correction == "bonferroni" else 1
        return 1 if Fraction(tests, self.permutations + 1) <= level else n_tests + 1

    def weakness(self, n_tests: int) -> str:
        """The warning before it starts; empty if a single feature can be significant.

        Examples
        --------
        >>> PermutationTest(permutations=99, level=0.01).weakness(10)
        ''
        """
        needed = self.needed(n_tests)
        if needed <= 1:
            return ""
        tests = 1 if self.correction == "none" else n_tests
        enough = math.ceil(tests / Fraction(str(self.level))) - 1
        how = {"none": "", "bonferroni": "Bonferroni's correction", "benjamini-hochberg": "BH"}
        over = f" with {how[self.correction]} over {n_tests:,} features" if tests > 1 else ""
        least = (
            "nothing can be named"
            if needed > n_tests
            else f"nothing can be named unless at least {needed:,} features have it together"
        )
        given = f"{self.parameter}={self.permutations}"
        fewer = "" if tests == 1 else "; fewer do after a stage that keeps fewer features"
        return (
            f"p is at least 1/{self.permutations + 1} with {given}; at level "
            f"{self.level:g}{over} {least}. {self.parameter}={enough} would do for one{fewer}"
        )
