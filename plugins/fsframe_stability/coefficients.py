"""Jaccard, Dice, Ochiai and Hamming: shares of two sets in common, raw and corrected for chance."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_stability.agreement import PairwiseMetric, ratio
from fsframe_stability.overlaps import Counts, corrected_for_chance

__all__ = [
    "Dice",
    "DiceCorrected",
    "Hamming",
    "HammingCorrected",
    "Jaccard",
    "JaccardCorrected",
    "Ochiai",
    "OchiaiCorrected",
]


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
    """Defaults of the corrected metrics."""

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
