"""Metrics of sets: shares of common features, and selection frequencies of features."""

from __future__ import annotations

import math
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from fsframe.method.stability_metric import StabilityValue
from fsframe.params import param, real
from fsframe_stability.agreement import (
    Counts,
    Overlap,
    OverlapMetric,
    PairwiseMetric,
    corrected_for_chance,
    ratio,
    undefined,
)


def jaccard(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
    """|A ∩ B| / |A ∪ B|, NaN where both sets are empty."""
    return ratio(shared, first + second - shared)


def dice(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
    """2|A ∩ B| / (|A| + |B|), NaN where both sets are empty."""
    return ratio(2 * shared, first + second)


def ochiai(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
    """|A ∩ B| / √(|A||B|), NaN where one of the sets is empty."""
    return ratio(shared, np.sqrt(first * second))


def hamming(shared: Counts, first: Counts, second: Counts, p: int) -> NDArray[np.float64]:
    """The share of the p features on which the two runs agree; always defined."""
    return np.asarray((p - first - second + 2 * shared) / p, dtype=np.float64)


@attrs.frozen(kw_only=True)
class Jaccard(PairwiseMetric):
    """Stability by the mean Jaccard index, |S_i ∩ S_j| / |S_i ∪ S_j|.

    Notes
    -----
    Between 0 and 1, and larger the more features are kept, by chance alone: `jaccard-corrected`
    corrects for that. Undefined where both sets are empty. O(m²p).

    References
    ----------
    Jaccard (1901), Bulletin de la Société vaudoise des sciences naturelles 37, 547–579.

    Examples
    --------
    >>> Jaccard()([[1, 1, 0, 0], [0, 1, 1, 1]]).value
    0.25
    """

    undefined_when: ClassVar[str] = "both sets are empty"
    _score = staticmethod(jaccard)


@attrs.frozen(kw_only=True)
class Dice(PairwiseMetric):
    """Stability by the mean Dice index, 2|S_i ∩ S_j| / (n_i + n_j).

    Notes
    -----
    Between 0 and 1, larger the more features are kept. Undefined where both sets are empty. O(m²p).

    References
    ----------
    Dice (1945), Ecology 26(3), 297–302.

    Examples
    --------
    >>> Dice()([[1, 1, 0, 0], [0, 1, 1, 1]]).value
    0.4
    """

    undefined_when: ClassVar[str] = "both sets are empty"
    _score = staticmethod(dice)


@attrs.frozen(kw_only=True)
class Ochiai(PairwiseMetric):
    """Stability by the mean Ochiai index, |S_i ∩ S_j| / √(n_i n_j).

    Notes
    -----
    Between 0 and 1, larger the more features are kept. Undefined where a set is empty. O(m²p).

    References
    ----------
    Ochiai (1957), Bulletin of the Japanese Society of Scientific Fisheries 22(9), 526–530.

    Examples
    --------
    >>> Ochiai()([[1, 1, 0, 0], [1, 1, 1, 1]]).value.__round__(6)
    0.707107
    """

    undefined_when: ClassVar[str] = "one of the sets is empty"
    _score = staticmethod(ochiai)


@attrs.frozen(kw_only=True)
class Hamming(PairwiseMetric):
    """Stability by the mean share of features on which two runs agree.

    Notes
    -----
    Between 0 and 1; tiny sets out of many features agree on nearly all of them, even random ones.
    Always defined. O(m²p).

    References
    ----------
    Dunne, Cunningham, Azuaje (2002), Trinity College Dublin, report TCD-CS-2002-28.

    Examples
    --------
    >>> Hamming()([[1, 1, 0, 0], [0, 1, 1, 1]]).value
    0.25
    """

    _score = staticmethod(hamming)


@attrs.frozen(kw_only=True)
class _Corrected(PairwiseMetric):
    """Defaults of the chance-corrected metrics in this module."""

    chance_corrected: ClassVar[bool] = True
    undefined_when: ClassVar[str] = "both sets are empty, or both hold every feature"


@attrs.frozen(kw_only=True)
class JaccardCorrected(_Corrected):
    """Stability by Jaccard's index beyond chance, pair by pair.

    Notes
    -----
    Every pair scores (s − E s) / (1 − E s). The expectation over random sets of the same two sizes
    is a hypergeometric sum of at most min(n_i, n_j) + 1 terms, exact without enumeration. Undefined
    where both sets are empty or both are full.

    References
    ----------
    Bommert, Rahnenführer, Lang (2017), doi:10.1155/2017/7907163 (the correction).

    Examples
    --------
    >>> JaccardCorrected()([[1, 1, 0, 0], [1, 1, 0, 0]]).value
    1.0
    """

    _score = staticmethod(corrected_for_chance(jaccard))


@attrs.frozen(kw_only=True)
class DiceCorrected(_Corrected):
    """Stability by Dice's index beyond chance, pair by pair; equal to `kappa`.

    Notes
    -----
    As `jaccard-corrected`. Dice is linear in the intersection, so this is algebraically κ; it is
    provided under its usual name. Undefined where both sets are empty or both are full.

    References
    ----------
    Bommert, Rahnenführer, Lang (2017), doi:10.1155/2017/7907163 (the correction).

    Examples
    --------
    >>> DiceCorrected()([[1, 1, 0, 0], [1, 1, 0, 0]]).value
    1.0
    """

    _score = staticmethod(corrected_for_chance(dice))


@attrs.frozen(kw_only=True)
class OchiaiCorrected(_Corrected):
    """Stability by Ochiai's index beyond chance, pair by pair; equal to `unadjusted`.

    Notes
    -----
    As `jaccard-corrected`. Undefined where a set is empty or both are full.

    References
    ----------
    Bommert, Rahnenführer, Lang (2017), doi:10.1155/2017/7907163 (the correction).

    Examples
    --------
    >>> OchiaiCorrected()([[1, 1, 0, 0], [1, 1, 0, 0]]).value
    1.0
    """

    undefined_when: ClassVar[str] = "one of the sets is empty, or both hold every feature"
    _score = staticmethod(corrected_for_chance(ochiai))


@attrs.frozen(kw_only=True)
class HammingCorrected(_Corrected):
    """Stability by Hamming agreement beyond chance, pair by pair; equal to `kappa`.

    Notes
    -----
    As `jaccard-corrected`. Cohen's κ is by definition observed agreement corrected for chance.
    Undefined where both sets are empty or both are full.

    References
    ----------
    Bommert, Rahnenführer, Lang (2017), doi:10.1155/2017/7907163 (the correction).

    Examples
    --------
    >>> HammingCorrected()([[1, 1, 0, 0], [1, 1, 0, 0]]).value
    1.0
    """

    _score = staticmethod(corrected_for_chance(hamming))


_ALL_EMPTY = "no run keeps any feature"


@attrs.frozen(kw_only=True)
class Davis(OverlapMetric):
    """Stability by the mean share of runs that keep a feature, over features kept at least once.

    Parameters
    ----------
    penalty : float ≥ 0
        Penalty for large sets; 0: none.

    Notes
    -----
    With h_f the number of the m runs that keep feature f and V the union of the sets,

    .. math:: \\max\\{0, \\frac{1}{|V|} \\sum_f \\frac{h_f}{m} - \\frac{penalty}{p}\\,
              \\mathrm{median}_i\\, n_i\\}

    Not chance corrected: under random selection it falls with the number of runs (p = 10, k = 3:
    0.60, 0.36, 0.30 on average for 2, 5 and 20 runs), so an expectation over pairs of sets would
    not centre it. Undefined where no run keeps any feature. O(m²p).

    References
    ----------
    Davis et al. (2006), Bioinformatics 22(19), 2356–2363.

    Examples
    --------
    >>> Davis()([[1, 1, 0, 0], [1, 0, 1, 0]]).value.__round__(6)
    0.666667
    """

    undefined_when: ClassVar[str] = _ALL_EMPTY

    penalty: float = param(
        0.0,
        real(0),
        help="Penalty for large sets: penalty · median size / p.",
        source="Davis et al. 2006",
    )

    def measure_overlap(self, overlap: Overlap) -> StabilityValue:
        """The mean share minus the penalty, at least zero."""
        h = overlap.frequencies
        union = np.count_nonzero(h)
        if union == 0:
            return undefined(_ALL_EMPTY)
        share = int(h.sum()) / (overlap.n_runs * int(union))
        cost = self.penalty * float(np.median(overlap.sizes)) / overlap.n_features
        return StabilityValue(value=max(0.0, share - cost))


@attrs.frozen(kw_only=True)
class Novovicova(OverlapMetric):
    """Stability by the entropy of the features' frequencies, 1 for identical sets.

    Notes
    -----
    With h_f the number of the m runs that keep feature f and q = Σ h_f,

    .. math:: \\frac{1}{q \\log_2 m} \\sum_f h_f \\log_2 h_f

    0 where no feature recurs, 1 where every kept feature is kept by all. Not chance corrected:
    under random selection it grows with the number of runs (p = 10, k = 3: 0.30, 0.43, 0.62 for 2,
    5 and 20). Undefined where no run keeps any feature. O(m²p).

    References
    ----------
    Novovičová, Somol, Pudil (2009), IEEE ICDM Workshops, 382–387.

    Examples
    --------
    >>> Novovicova()([[1, 1, 0, 0], [1, 0, 1, 0]]).value
    0.5
    """

    undefined_when: ClassVar[str] = _ALL_EMPTY

    def measure_overlap(self, overlap: Overlap) -> StabilityValue:
        """The normalised sum of h log h."""
        h = overlap.frequencies
        q = int(h.sum())
        if q == 0:
            return undefined(_ALL_EMPTY)
        value = np.sum(xlogy(h, h)) / (q * np.log(overlap.n_runs))
        return StabilityValue(value=float(value))


@attrs.frozen(kw_only=True)
class SomolCw(OverlapMetric):
    """Stability by weighted consistency: features are weighted by their selection frequency.

    Notes
    -----
    With h_f the number of the m runs that keep feature f and q = Σ h_f,

    .. math:: CW = \\sum_f \\frac{h_f}{q} \\frac{h_f - 1}{m - 1}

    Between 0 and 1, and larger the more features are kept: `somol-cwrel` corrects for that.
    Undefined where no run keeps any feature. O(m²p).

    References
    ----------
    Somol, Novovičová (2010), IEEE TPAMI 32(11), 1921–1939, definition of weighted consistency.

    Examples
    --------
    >>> SomolCw()([[1, 1, 0, 0], [1, 0, 1, 0]]).value
    0.5
    """

    undefined_when: ClassVar[str] = _ALL_EMPTY

    def measure_overlap(self, overlap: Overlap) -> StabilityValue:
        """Weighted consistency."""
        h = overlap.frequencies
        q = int(h.sum())
        if q == 0:
            return undefined(_ALL_EMPTY)
        return StabilityValue(value=int(np.sum(h * (h - 1))) / (q * (overlap.n_runs - 1)))


@attrs.frozen(kw_only=True)
class SomolCwrel(OverlapMetric):
    """Stability by relative weighted consistency: where CW lies between its bounds.

    Notes
    -----
    With D = q mod p and H = q mod m,

    .. math:: CW_{rel} = \\frac{CW - CW_{min}}{CW_{max} - CW_{min}}

    .. math:: CW_{min} = \\frac{q^2 - p(q - D) - D^2}{p\\,q\\,(m - 1)}, \\qquad
              CW_{max} = \\frac{H^2 + q(m - 1) - H m}{q\\,(m - 1)}

    Between 0 and 1, independent of the set size. 0 means that the q decisions are spread as evenly
    as possible over the features, which random selection does not do (p = 10, k = 3: 0.30, 0.16 and
    0.05 on average for 2, 5 and 20 runs), so it does not count as chance corrected here. Computed
    in whole numbers up to the one division. Undefined where the bounds meet: no run keeps anything,
    all keep everything, or all runs together keep one feature once. O(m²p).

    References
    ----------
    Somol, Novovičová (2010), IEEE TPAMI 32(11), 1921–1939, definition of CWrel.

    Examples
    --------
    >>> SomolCwrel()([[1, 1, 0, 0], [1, 1, 0, 0]]).value
    1.0
    """

    undefined_when: ClassVar[str] = (
        "no run keeps any feature, every run keeps all of them, or one feature is kept once in all"
    )

    def measure_overlap(self, overlap: Overlap) -> StabilityValue:
        """Relative weighted consistency, or the reason why it is undefined."""
        h = overlap.frequencies
        m, p = overlap.n_runs, overlap.n_features
        q = int(h.sum())
        d, rest = q % p, q % m
        # All three are multiplied by q (m − 1), and `low` by p as well.
        consistency = int(np.sum(h * (h - 1)))
        low = q * q - p * (q - d) - d * d
        high = rest * rest + q * (m - 1) - rest * m
        if p * high == low:
            return undefined(f"the bounds of weighted consistency meet ({self.undefined_when})")
        return StabilityValue(value=(p * consistency - low) / (p * high - low))


@attrs.frozen(kw_only=True)
class Krizek(OverlapMetric):
    """Stability by the frequency of identical sets, 1 if all sets are identical.

    Notes
    -----
    With c_s the number of the m runs that keep exactly the set s,

    .. math:: 1 - \\frac{H}{\\log_2 N}, \\qquad H = -\\sum_s \\frac{c_s}{m} \\log_2 \\frac{c_s}{m}

    The paper reports H itself, 0 for stable; here it is normalised and subtracted from 1, so that 1
    is stable. N = min(m, C(p, k)) different sets can occur if all runs keep k features,
    min(m, 2^p) if sizes differ (the paper has one size only). Two sets that differ in
    one feature count as wholly different. Undefined where only one set is possible (k = 0 or
    k = p in every run). O(m²p).

    References
    ----------
    Křížek, Kittler, Hlaváč (2007), CAIP, LNCS 4673, 929–936.

    Examples
    --------
    >>> Krizek()([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]]).value.__round__(6)
    0.36907
    """

    undefined_when: ClassVar[str] = (
        "every run keeps nothing, or every run keeps everything: no other set could occur"
    )

    def measure_overlap(self, overlap: Overlap) -> StabilityValue:
        """One minus the normalised entropy."""
        m, p, sizes = overlap.n_runs, overlap.n_features, overlap.sizes
        k = int(sizes[0])
        one_size = bool(np.all(sizes == k))
        possible = min(m, math.comb(p, k) if one_size else 2**p)
        if possible < 2:
            return undefined(self.undefined_when)
        # S_i = S_j exactly where the intersection is as large as both sets.
        same = overlap.intersections == np.maximum(sizes[:, None], sizes[None, :])
        # Σ_s (c_s/m) log(c_s/m), one term for each run instead of each set.
        entropy = -float(np.mean(np.log(same.sum(axis=1) / m)))
        return StabilityValue(value=1.0 - entropy / math.log(possible))
