"""Rankings of features by score, and the statements that tests of features are about."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

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
