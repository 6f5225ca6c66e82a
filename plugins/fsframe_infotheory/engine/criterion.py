"""Definition of a greedy criterion: a term per selected feature, their aggregation, the score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["Criterion", "Scores", "Term"]

Term = Callable[[Any], NDArray[np.float64]]
Scores = Callable[[NDArray[np.float64], NDArray[np.float64], int], NDArray[np.float64]]


@attrs.frozen(kw_only=True)
class Criterion:
    """The parts in which greedy criteria differ.

    Parameters
    ----------
    term : callable
        From the `entropy.Terms` of all features with one partner, or, with
        nearest-neighbour estimates, `fsframe_infotheory.engine.neighbours.EstimatedTerms`, to
        (n_features,) values.
    score : callable
        ``score(relevance, folded, n_selected)`` to (n_features,) scores in bits, larger is better;
        `relevance` is I(X_j; Y), `folded` the terms folded over the partners so far, which are the
        scores by default.
    fold : str
        ``"sum"`` or ``"least"`` over the partners, or ``"last"`` for the newest only.
    partners : str
        ``"each"``: every selected feature alone; ``"pairs"``: every unordered pair of selected
        features (every single one while there is one only); ``"all"``: all of them as one.
    per_class : bool
        Whether the term needs counts together with the class.
    lazy : bool
        Whether the score is ``min(relevance, folded)`` of conditional relevances, so that a
        candidate whose bound is below the best need not be counted further.

    Examples
    --------
    mRMR in its difference form:

    >>> Criterion(
    ...     term=lambda t: t.redundancy,
    ...     score=lambda relevance, folded, n: relevance - folded / n,
    ...     per_class=False,
    ... ).fold
    'sum'
    """

    term: Term
    score: Scores = lambda relevance, folded, n: folded
    fold: str = attrs.field(default="sum", validator=attrs.validators.in_(("sum", "least", "last")))
    partners: str = attrs.field(
        default="each", validator=attrs.validators.in_(("each", "pairs", "all"))
    )
    per_class: bool = True
    lazy: bool = False

    def start(self, n_features: int) -> NDArray[np.float64]:
        """The initial value of the fold."""
        return np.full(n_features, np.inf) if self.fold == "least" else np.zeros(n_features)

    def absorb(
        self, folded: NDArray[np.float64], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """`folded` with the terms of one more partner."""
        if self.fold == "sum":
            return folded + values
        return np.minimum(folded, values) if self.fold == "least" else values
