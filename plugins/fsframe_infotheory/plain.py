"""The criteria as published, in plain arrays: reference for tests of the counting engine.

All informations are in bits, of columns of levels; a sample without a value (NaN) in a column that
is used is left out of that entropy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def entropy(columns: NDArray[Any], weights: Floats) -> float:
    """H of the joint levels of some columns (m, n) in bits, samples weighted.

    >>> entropy(np.array([[0, 0, 1, 1]]), np.ones(4))
    1.0
    """
    place = np.unique(columns, axis=1, return_inverse=True)[1].ravel()
    p = np.bincount(place, weights) / weights.sum()
    return -float((p[p > 0] * np.log2(p[p > 0])).sum())


class Informations:
    """Informations by their definitions, of columns j, s, … of X (n, p) and the class y."""

    def __init__(self, X: Floats, y: NDArray[Any], weights: Floats | None = None) -> None:
        self.X, self.y = X, np.asarray(y, float)
        self.weights = np.ones(len(y)) if weights is None else np.asarray(weights, float)

    def h(self, used: tuple[int, ...], columns: tuple[int, ...], label: bool) -> float:
        """H of some columns, and the class, over the samples with a value in all that is `used`."""
        rows = ~np.isnan(self.X[:, used]).any(axis=1)
        parts = [*self.X[rows][:, columns].T, *([self.y[rows]] if label else [])]
        return entropy(np.array(parts), self.weights[rows]) if rows.any() and parts else 0.0

    def relevance(self, j: int) -> float:
        """I(X_j; Y)."""
        return self.joint(j)

    def joint(self, *j: int) -> float:
        """I(X_j, X_s, …; Y)."""
        return self.h(j, j, False) + self.h(j, (), True) - self.h(j, j, True)

    def redundancy(self, j: int, s: int) -> float:
        """I(X_j; X_s)."""
        u = (j, s)
        return self.h(u, (j,), False) + self.h(u, (s,), False) - self.h(u, u, False)

    def conditional_redundancy(self, j: int, s: int) -> float:
        """I(X_j; X_s | Y)."""
        u = (j, s)
        each = self.h(u, (j,), True) + self.h(u, (s,), True)
        return each - self.h(u, u, True) - self.h(u, (), True)

    def given(self, j: int, *s: int) -> float:
        """I(X_j; Y | X_s, …)."""
        u = (j, *s)
        return self.h(u, u, False) + self.h(u, s, True) - self.h(u, u, True) - self.h(u, s, False)

    def ratio(self, j: int, s: int) -> float:
        """I(X_j, X_s; Y) / H(X_j, X_s, Y)."""
        joint_entropy = self.h((j, s), (j, s), True)
        return self.joint(j, s) / joint_entropy if joint_entropy > 1e-12 else 0.0

    def excess(self, j: int, s: int) -> float:
        """I(X_j; X_s) − I(X_j; X_s | Y)."""
        return self.redundancy(j, s) - self.conditional_redundancy(j, s)


Score = Callable[[Informations, int, list[int]], float]

CRITERIA: Mapping[str, Score] = {
    "mifs:beta=0.7": lambda f, j, S: f.relevance(j) - 0.7 * sum(f.redundancy(j, s) for s in S),
    "mrmr": lambda f, j, S: f.relevance(j) - sum(f.redundancy(j, s) for s in S) / len(S),
    "jmi": lambda f, j, S: sum(f.joint(j, s) for s in S),
    "jmi:form=mean": lambda f, j, S: f.relevance(j) - sum(f.excess(j, s) for s in S) / len(S),
    "cmim": lambda f, j, S: min(f.relevance(j), *(f.given(j, s) for s in S)),
    "cmim:clamp=false": lambda f, j, S: min(f.given(j, s) for s in S),
    "disr": lambda f, j, S: sum(f.ratio(j, s) for s in S),
    "icap": lambda f, j, S: f.relevance(j) - sum(max(0.0, f.excess(j, s)) for s in S),
    "cife": lambda f, j, S: f.relevance(j) - sum(f.excess(j, s) for s in S),
    "condred": lambda f, j, S: f.relevance(j) + sum(f.conditional_redundancy(j, s) for s in S),
    "betagamma:beta=0.3,gamma=0.6": lambda f, j, S: (
        f.relevance(j)
        - sum(0.3 * f.redundancy(j, s) - 0.6 * f.conditional_redundancy(j, s) for s in S)
    ),
    "jmim": lambda f, j, S: min(f.joint(j, s) for s in S),
    "njmim": lambda f, j, S: min(f.ratio(j, s) for s in S),
    "cmi": lambda f, j, S: f.given(j, *S),
    "jmi3": lambda f, j, S: (
        f.joint(j, S[0]) if len(S) == 1 else sum(f.joint(j, u, w) for u, w in combinations(S, 2))
    ),
}
"""The score of a candidate j given the selected features S, by the chain text of the criterion."""


def select(facts: Informations, score: Score, k: int) -> tuple[list[int], list[float]]:
    """The k features that a criterion selects one after the other, and their scores.

    The first is the most relevant; ties within 1e-10 bit go to the lowest column.
    """
    selected: list[int] = []
    scores: list[float] = []
    while len(selected) < k:
        left = [j for j in range(facts.X.shape[1]) if j not in selected]
        values = [score(facts, j, selected) if selected else facts.relevance(j) for j in left]
        best = next(i for i, value in enumerate(values) if value >= max(values) - 1e-10)
        selected.append(left[best])
        scores.append(values[best])
    return selected, scores
