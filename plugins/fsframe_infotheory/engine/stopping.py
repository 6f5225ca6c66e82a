"""Stopping rules of greedy filters: no positive score, or no significant gain."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.method.ranking import TIE
from fsframe.method.run import Run
from fsframe_infotheory.engine.counting import Counter
from fsframe_infotheory.engine.partner import Partner, joint, partner_of

__all__ = ["NOT_POSITIVE", "Stopping", "conditional_gain"]

NOT_POSITIVE = "no candidate has a positive score"


@attrs.frozen(kw_only=True, eq=False)
class Stopping:
    """A stopping rule, and the tests it has made.

    Parameters
    ----------
    rule : str
        ``"positive"``: end before the first feature whose score is not above zero.
        ``"significant"``: end before the first whose gain I(X; Y | S) is not significant.
    alpha : float
        Level of the test; with Bonferroni's correction for the number of candidates (G-test), or
        against the largest gain of all candidates (permutations).
    test : str
        ``"g"`` or ``"permutation"``.
    permutations : int
        How many.
    """

    rule: str
    alpha: float = 0.05
    test: str = "g"
    permutations: int = 199
    found: list[tuple[float, float, float]] = attrs.field(factory=list)

    def table(self) -> NDArray[np.float64]:
        """Gain, degrees of freedom and p-value of each test made, as (n_tests, 3)."""
        return np.array(self.found).reshape(-1, 3)

    def verdict(
        self,
        feature: int,
        score: float,
        open_: NDArray[np.bool_],
        counter: Any,
        partners: list[Any],
        run: Run,
    ) -> str:
        """Why to end before `feature`, or nothing if it may be selected."""
        if self.rule == "positive":
            return "" if score > TIE else NOT_POSITIVE
        together = partners[0] if partners else None
        for partner in partners[1:]:
            together = joint(together, partner) if together is not None else partner
        candidate = partner_of(counter.encoded, feature)
        if self.test == "permutation":
            gain, p = self._by_permutation(candidate, together, open_, counter, run)
            df = np.nan
        else:
            gain, df, n = conditional_gain(candidate, together)
            p = float(scipy.stats.chi2.sf(2 * n * np.log(2) * gain, df)) if df > 0 else 1.0
            p = min(1.0, p * int(open_.sum()))
        self.found.append((gain, df, p))
        return "" if p <= self.alpha else f"the next gain is not significant (p = {p:.3g})"

    def _by_permutation(
        self,
        candidate: Partner,
        together: Partner | None,
        open_: NDArray[np.bool_],
        counter: Counter,
        run: Run,
    ) -> tuple[float, float]:
        """Gain, and the share of permutations in which some candidate gains at least as much.

        Classes are permuted among samples of equal levels of the selected features, under the
        null that no candidate adds information. Gains of all candidates then come from one pass
        with the pairs (levels, permuted class) as partner.
        """
        gain = conditional_gain(candidate, together)[0]
        layout = candidate.layout
        strata = _strata(together, layout.n)
        n_strata = int(strata.max()) + 1
        present = None if together is None else together.present
        base = Partner(layout, n_strata, strata, present)
        without = counter.terms(base, per_class=False)
        generator = run.generator(len(self.found))
        labels = candidate.labels
        by_stratum = np.argsort(strata, kind="stable")
        reached = 0
        for _ in range(self.permutations):
            shuffled = np.lexsort((generator.random(layout.n), strata))
            permuted = np.empty_like(labels)
            permuted[by_stratum] = labels[shuffled]
            codes = strata * layout.n_classes + permuted
            both = Partner(layout, n_strata * layout.n_classes, codes, present)
            terms = counter.terms(both, per_class=False)
            gains = (terms.js - without.js - terms.s + without.s) / terms.total
            reached += bool(np.max(gains, where=open_, initial=-np.inf) >= gain - TIE)
        return gain, (1 + reached) / (1 + self.permutations)


def conditional_gain(candidate: Partner, together: Partner | None) -> tuple[float, float, float]:
    """I(X; Y | S) in bits, its degrees of freedom, and the effective number of samples.

    Notes
    -----
    2·n·ln 2·I is the G statistic. Degrees of freedom are summed over the levels of S, counting in
    each only the levels of X and Y that occur there, so that a level of S with one sample
    adds nothing. With importance weights n is (Σw)²/Σw².
    """
    layout = candidate.layout
    present = np.ones(layout.n, dtype=bool)
    for partner in (candidate, together):
        if partner is not None and partner.present is not None:
            present &= partner.present
    x, y = candidate.codes[present], candidate.labels[present]
    s = _strata(together, layout.n)[present]
    if not x.size:
        return 0.0, 0.0, 0.0
    weights = np.ones(x.size) if layout.weights is None else layout.weights[present]
    total = weights.sum()

    def cells(*codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
        key = codes[0]
        for code in codes[1:]:
            key = key * (int(code.max()) + 1) + code
        found, place = np.unique(key, return_inverse=True)
        sizes = np.bincount(place, weights=weights)
        return found, float((sizes * np.log2(sizes)).sum())

    strata, of_s = cells(s)
    sx, of_sx = cells(s, x)
    sy, of_sy = cells(s, y)
    of_sxy = cells(s, x, y)[1]
    levels_x = np.bincount(np.searchsorted(strata, sx // (int(x.max()) + 1)), minlength=strata.size)
    levels_y = np.bincount(np.searchsorted(strata, sy // (int(y.max()) + 1)), minlength=strata.size)
    gain = max(0.0, (of_sxy - of_sx - of_sy + of_s) / total)
    df = float(((levels_x - 1) * (levels_y - 1)).sum())
    return gain, df, float(total**2 / (weights**2).sum())


def _strata(together: Partner | None, n: int) -> NDArray[np.int64]:
    return np.zeros(n, np.int64) if together is None else together.codes
