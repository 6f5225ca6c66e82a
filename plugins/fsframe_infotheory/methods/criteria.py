"""The filters, which differ in their formulas: rankings by relevance, and greedy criteria."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.ranking import TIE, rank_by_score
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection
from fsframe.params import choice, flag, number_to_keep, param, real
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bootstraps import bootstrap_relevance
from fsframe_infotheory.engine.encode import Encoded, Sums
from fsframe_infotheory.engine.greedy import Criterion
from fsframe_infotheory.engine.part_counts import EncodedParts, counter_of
from fsframe_infotheory.methods.filter import InformationFilter, ScoredFilter, labels_with_strata
from fsframe_infotheory.methods.greedy_filter import (
    EstimatingGreedyFilter,
    GreedyFilter,
    PairParameters,
    estimation_note,
)


@attrs.frozen(kw_only=True)
class Mim(PairParameters, ScoredFilter):
    """Features ranked by their mutual information with the class, I(Xⱼ; Y).

    Without `top`, 10 features are kept.

    Notes
    -----
    With covariates to adjust for (``--adjust``) relevance is I(X; Y | Z), Z their strata.

    Plug-in: I(X; Y) = Σ p(x, y) log₂ p(x, y) / (p(x) p(y)) with p = counts / n, no bias correction.
    O(n p) time; codes need not be kept, so memory is one group of columns at a time. With
    ``estimator=knn`` columns that would be binned are not: see `neighbours`; then
    bootstrap counts and importance weight the mean over samples, and neighbours count once each.

    References
    ----------
    D. Lewis 1992, Feature selection and feature extraction for text categorization;
    G. Brown, A. Pocock, M.-J. Zhao, M. Luján 2012, Conditional likelihood maximisation, J. Mach.
    Learn. Res. 13:27–66, eq. 12 (MIM).

    Examples
    --------
    >>> data = Dataset.from_arrays([[0, 1], [0, 0], [1, 1], [1, 0]], ["a", "a", "b", "b"])
    >>> Mim(top=1).select(data).scores
    array([1., 0.])
    """

    takes_short_counts: ClassVar[bool] = True

    def cost(self, n: int, p: int) -> Cost:
        seconds = 1e-3 + 3e-6 * p + 2.5e-9 * n * p
        return Cost(seconds=seconds, formula="0.001 + 3e-6 p + 2.5e-9 np")

    def adjusts(self) -> bool:
        # Bins by mdl depend on the label, and the terms of the difference have different labels.
        plain = self.estimator == "plug-in" and self.pairs == "none"
        return plain and self.discretise != "mdl"

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        if self.estimator == "knn":
            bits = self.estimates(data, upstream, run).relevance
            relevance = self.in_unit(bits)
            return self.ranking(relevance, data, {"relevance": relevance}, (estimation_note(bits),))
        encoded: Any
        if self.pairs == "none":
            encoded, bins = self.encode_for_pairs(data, upstream, run, keep="sums")
        else:
            encoded, bins = self.encode(data, upstream, run)
        notes = self.notes(data, bins, encoded)
        relevance = self.in_unit(self._bits(data, encoded, upstream, run))
        tables = {"relevance": relevance, **bins.tables()}
        selection = self.ranking(relevance, data, tables, notes)
        return attrs.evolve(
            selection, pair_weights=self.pair_weights(encoded, selection.selected, run)
        )

    def _bits(
        self, data: Dataset, encoded: Sums, upstream: Selection | None, run: Run
    ) -> NDArray[np.float64]:
        """I(X; Y), or given covariates I(X; Y | Z) = I(X; (Y, Z)) − I(X; Z), in bits."""
        if data.covariates is None or not self.adjusts():
            return encoded.relevance
        both, strata = labels_with_strata(data, self.discretiser())
        parts = [self.encode(part, upstream, run, keep="sums")[0] for part in (both, strata)]
        return np.maximum(parts[0].relevance - parts[1].relevance, 0.0)

    def _select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None,
        run: Run,
    ) -> list[Selection]:
        """One Selection per bootstrap, all counted in one pass over the table."""
        counted = self.estimator == "plug-in" and self.pairs == "none"
        counted = counted and data.covariates is None
        if not counted or not self.counts_are_whole(data, upstream):
            return self.one_by_one(data, counts, upstream, run)
        # Bytes of a bootstrap: draws sorted by class, as short and as long integers, and scores.
        each = 10 * data.n_samples + 16 * data.n_features
        width = max(1, run.memory // 4 // each)
        selections = []
        for first in range(0, len(counts), width):
            part = counts[first : first + width]
            bits = bootstrap_relevance(data, part, self.discretiser(), run)
            selections += [self.ranking(self.in_unit(row), data, {}, ()) for row in bits]
        return selections


def _uncertainties(
    information: NDArray[np.float64], total: NDArray[np.float64] | float, sums: NDArray[np.float64]
) -> NDArray[np.float64]:
    """2 I(X; Z) / (H(X) + H(Z)), (n_features,) in [0, 1]; zero where both are constant.

    `sums` are those of c·log₂c over the levels of X and over those of Z, added; `total` is the
    weight of the samples.
    """
    entropies = 2 * np.log2(total) - sums / total
    return np.divide(
        2 * information, entropies, out=np.zeros_like(entropies), where=entropies > 1e-12
    )


def _with_class(encoded: Sums) -> NDArray[np.float64]:
    """SU(X_j, Y) of every feature."""
    # Features without samples: all sums are zero, and so is the result.
    totals = np.maximum(encoded.totals, 1e-300)
    return _uncertainties(encoded.relevance, totals, encoded.sum_j + encoded.sum_y)


@attrs.frozen(kw_only=True)
class SymmetricUncertainty(ScoredFilter):
    """Features ranked by symmetric uncertainty with the class, between 0 and 1.

    Without `top`, 10 features are kept.

    Notes
    -----
    SU(X, Y) = 2 I(X; Y) / (H(X) + H(Y)): unlike plain mutual information, it does not favour
    features with many levels.

    References
    ----------
    W. Press et al. 1988, Numerical recipes in C; L. Yu, H. Liu 2004, Efficient feature selection
    via analysis of relevance and redundancy, J. Mach. Learn. Res. 5:1205–1224, eq. 3.

    Examples
    --------
    >>> data = Dataset.from_arrays([[0, 1], [0, 0], [1, 1], [1, 0]], ["a", "a", "b", "b"])
    >>> SymmetricUncertainty(top=1).select(data).scores
    array([1., 0.])
    """

    unitless: ClassVar[bool] = True

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        encoded, bins = self.encode_for_pairs(data, upstream, run, keep="sums")
        notes = self.notes(data, bins, encoded)
        return self.ranking(_with_class(encoded), data, bins.tables(), notes)


@attrs.frozen(kw_only=True)
class Fcbf(InformationFilter):
    """Features more strongly related to the class than to any better feature (predominant
    features).

    The number kept follows from the data; `top` limits it.

    Notes
    -----
    Features of SU(X, Y) > δ are taken from the best down; each kept one removes all worse ones with
    SU(X, X_kept) ≥ SU(X, Y); so do columns that are always kept or `given`. Ties within 1e-10: the
    lower column is the better one, and equal uncertainties remove. O(p n) per kept feature. Scores
    are SU(X, Y) of all features.

    References
    ----------
    L. Yu, H. Liu 2003, Feature selection for high-dimensional data: a fast correlation-based
    filter solution, ICML, Figure 2; L. Yu, H. Liu 2004, J. Mach. Learn. Res. 5:1205–1224.
    """

    unitless: ClassVar[bool] = True

    top: int | float | None = number_to_keep("all that no better one makes redundant")
    delta: float = param(
        0.0,
        real(0, below=1),
        help="Threshold on the symmetric uncertainty with the class.",
        symbol="δ",
    )

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        encoded, bins = self.encode(data, upstream, run)
        scores = _with_class(encoded)
        given = self.columns_given(data)
        scores[self.columns_named(self.exclude, data)] = np.nan
        left = np.where(scores > self.delta + TIE, scores, np.nan)
        left[given] = np.nan
        most = self.keep_count(data.n_features, data.n_features)
        kept: list[int] = []
        with counter_of(encoded, run) as counter:
            for feature in given:
                redundant = _redundant(counter, encoded, int(feature), scores)
                # A given column may be worse than those with which it shares information.
                left[redundant & (scores <= scores[feature] + TIE)] = np.nan
            for feature in rank_by_score(left, least=TIE):
                if len(kept) == most:
                    break
                if np.isnan(left[feature]):
                    continue
                kept.append(int(feature))
                left[feature] = np.nan
                left[_redundant(counter, encoded, int(feature), scores)] = np.nan
        notes = self.notes(data, bins, encoded)
        if not kept:
            notes += (f"no feature has a symmetric uncertainty above {self.delta:g}",)
        return Selection(
            selected=np.concatenate([given, np.array(kept, dtype=np.intp)]),
            scores=scores,
            tables=bins.tables(),
            warnings=notes,
        )


def _redundant(
    counter: Any, encoded: Encoded | EncodedParts, feature: int, scores: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Features whose symmetric uncertainty with `feature` is at least that with the class."""
    terms = counter.terms(encoded.partner(feature), per_class=False)
    return _uncertainties(terms.redundancy, terms.total, terms.j + terms.s) >= scores - TIE


Floats = NDArray[np.float64]


def _less(relevance: Floats, folded: Floats, n: int) -> Floats:
    return relevance - folded


def _less_mean(relevance: Floats, folded: Floats, n: int) -> Floats:
    return relevance - folded / n


def _over_mean(relevance: Floats, folded: Floats, n: int) -> Floats:
    # Without redundancy, up to rounding, the quotient has no bound.
    return relevance / np.maximum(folded / n, 1e-12)


@attrs.frozen(kw_only=True)
class Mifs(EstimatingGreedyFilter):
    """Features by relevance − β · summed redundancy (Battiti's MIFS).

    Notes
    -----
    J(X) = I(X; Y) − β Σ_s I(X; X_s), over the selected features X_s. The penalty grows with their
    number and dominates late choices; `mrmr` takes the mean instead.

    References
    ----------
    R. Battiti 1994, Using mutual information for selecting features in supervised neural net
    learning, IEEE Trans. Neural Netw. 5(4):537–550, eq. 8; G. Brown, A. Pocock, M.-J. Zhao, M.
    Luján 2012, Conditional likelihood maximisation, J. Mach. Learn. Res. 13:27–66, eq. 13.
    """

    beta: float = param(
        1.0, real(0), help="Weight of the redundancy.", symbol="β", source="Battiti 1994"
    )

    def criterion(self) -> Criterion:
        """I(X; Y) − β Σ I(X; X_s)."""
        beta = self.beta
        return Criterion(
            term=lambda t: t.redundancy,
            score=lambda relevance, folded, n: relevance - beta * folded,
            per_class=False,
        )


@attrs.frozen(kw_only=True)
class Mrmr(EstimatingGreedyFilter):
    """Features by relevance − mean redundancy (minimum redundancy, maximum relevance).

    Notes
    -----
    Difference: J(X) = I(X; Y) − (1/|S|) Σ_s I(X; X_s); quotient: I(X; Y) / ((1/|S|) Σ_s I(X;
    X_s)), over the selected features X_s. A feature without any redundancy has, as a quotient, its
    relevance over 1e-12 bit.

    References
    ----------
    H. Peng, F. Long, C. Ding 2005, Feature selection based on mutual information, IEEE Trans.
    Pattern Anal. Mach. Intell. 27(8):1226–1238, eq. 6–7; C. Ding, H. Peng 2005, Minimum redundancy
    feature selection from microarray gene expression data, J. Bioinform. Comput. Biol.
    3(2):185–205, MID and MIQ.
    """

    form: str = param(
        "difference",
        choice("difference", "quotient"),
        help="Relevance minus mean redundancy, or divided by it.",
        source="Ding, Peng 2005, MID and MIQ",
    )

    def criterion(self) -> Criterion:
        """I(X; Y) − mean I(X; X_s), or the quotient of the two."""
        return Criterion(
            term=lambda t: t.redundancy,
            score=_less_mean if self.form == "difference" else _over_mean,
            per_class=False,
        )

    def is_ratio(self) -> bool:
        """Whether scores after the first are quotients."""
        return self.form == "quotient"


@attrs.frozen(kw_only=True)
class Jmi(PairParameters, EstimatingGreedyFilter):
    """Features by joint mutual information with each selected one and the class, summed.

    Notes
    -----
    Sum: J(X) = Σ_s I(X, X_s; Y) over the selected features X_s; mean: I(X; Y) − (1/|S|) Σ_s
    [I(X; X_s) − I(X; X_s | Y)], which is (sum − Σ_s I(X_s; Y)) / |S| and so gives the same order.

    References
    ----------
    H. Yang, J. Moody 1999, Data visualization and feature selection: new algorithms for
    nongaussian data, NIPS 12:687–693, section 3.2; G. Brown, A. Pocock, M.-J. Zhao, M. Luján 2012,
    Conditional likelihood maximisation, J. Mach. Learn. Res. 13:27–66, eq. 14 and 20.

    Examples
    --------
    >>> X = [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]]
    >>> Jmi(top=2).select(Dataset.from_arrays(X, [0, 0, 1, 1, 1, 0])).selected
    array([0, 1])
    """

    form: str = param(
        "sum",
        choice("sum", "mean"),
        help="Sum of joint relevances, or Brown's mean, which ranks identically.",
        source="Brown et al. 2012, eq. 20",
    )

    def criterion(self) -> Criterion:
        """Σ I(X, X_s; Y), or I(X; Y) minus the mean of I(X; X_s) − I(X; X_s | Y)."""
        if self.form == "sum":
            return Criterion(term=lambda t: t.joint_relevance)
        return Criterion(term=lambda t: t.redundancy - t.conditional_redundancy, score=_less_mean)


@attrs.frozen(kw_only=True)
class Cmim(EstimatingGreedyFilter):
    """Features by the smallest information they add to any selected one (conditional mutual
    information maximisation).

    Notes
    -----
    J(X) = min(I(X; Y), min_s I(X; Y | X_s)) over the selected features X_s. Fleuret's algorithm
    starts each candidate's score at I(X; Y), hence the outer minimum; the text of Brown et al. has
    none (``clamp=false``), and then a feature that is informative only together with another can
    come early. The clamped score can only fall, so a candidate that has fallen below the best is
    not counted with the other selected features (lazy evaluation); the result is the same.

    References
    ----------
    F. Fleuret 2004, Fast binary feature selection with conditional mutual information, J. Mach.
    Learn. Res. 5:1531–1555, eq. 5 and the algorithm of section 5; G. Brown, A. Pocock, M.-J. Zhao,
    M. Luján 2012, Conditional likelihood maximisation, J. Mach. Learn. Res. 13:27–66, eq. 16.
    """

    clamp: bool = param(
        True,
        flag(),
        help="Cap the score at I(X; Y), as in the published algorithm.",
        source="Fleuret 2004, section 5",
    )

    def criterion(self) -> Criterion:
        """min I(X; Y | X_s), at most I(X; Y) where clamped."""
        if not self.clamp:
            return Criterion(term=lambda t: t.conditional_relevance, fold="least")
        return Criterion(
            term=lambda t: t.conditional_relevance,
            fold="least",
            score=lambda relevance, folded, n: np.minimum(relevance, folded),
            lazy=True,
        )


@attrs.frozen(kw_only=True)
class Disr(GreedyFilter):
    """Features by joint mutual information with each selected one, normalised by joint entropy
    (double input symmetrical relevance).

    Notes
    -----
    J(X) = Σ_s I(X, X_s; Y) / H(X, X_s, Y) over the selected features X_s. Beyond the first feature
    the score is a ratio, without unit; constant features get a share of the information of X_s.

    References
    ----------
    P. Meyer, G. Bontempi 2006, On the use of variable complementarity for feature selection in
    cancer classification, EvoWorkshops, LNCS 3907:91–102, eq. 18; G. Brown, A. Pocock, M.-J. Zhao,
    M. Luján 2012, Conditional likelihood maximisation, J. Mach. Learn. Res. 13:27–66, Table 3.
    """

    def criterion(self) -> Criterion:
        """Σ I(X, X_s; Y) / H(X, X_s, Y)."""
        return Criterion(term=lambda t: t.relative_joint_relevance)

    def is_ratio(self) -> bool:
        """Scores after the first are ratios."""
        return True


@attrs.frozen(kw_only=True)
class Icap(EstimatingGreedyFilter):
    """Features whose redundancy with selected ones is penalised and whose synergy is not rewarded
    (interaction capping).

    Notes
    -----
    J(X) = I(X; Y) − Σ_s max(0, I(X; X_s) − I(X; X_s | Y)) over the selected features X_s.

    References
    ----------
    A. Jakulin 2005, Machine learning based on attribute interactions, PhD thesis, University of
    Ljubljana, section 6.3; G. Brown, A. Pocock, M.-J. Zhao, M. Luján 2012, Conditional likelihood
    maximisation, J. Mach. Learn. Res. 13:27–66, eq. 18.
    """

    def criterion(self) -> Criterion:
        """I(X; Y) − Σ max(0, I(X; X_s) − I(X; X_s | Y))."""
        return Criterion(
            term=lambda t: np.maximum(0.0, t.redundancy - t.conditional_redundancy), score=_less
        )


@attrs.frozen(kw_only=True)
class Cife(EstimatingGreedyFilter):
    """Features by relevance − redundancy + class-conditional redundancy (conditional infomax
    feature extraction).

    Notes
    -----
    J(X) = I(X; Y) − Σ_s [I(X; X_s) − I(X; X_s | Y)] over the selected features X_s.

    References
    ----------
    D. Lin, X. Tang 2006, Conditional infomax learning, ECCV, LNCS 3951:68–82, eq. 19; G. Brown, A.
    Pocock, M.-J. Zhao, M. Luján 2012, Conditional likelihood maximisation, J. Mach. Learn. Res.
    13:27–66, eq. 15.
    """

    def criterion(self) -> Criterion:
        """I(X; Y) − Σ [I(X; X_s) − I(X; X_s | Y)]."""
        return Criterion(term=lambda t: t.redundancy - t.conditional_redundancy, score=_less)


@attrs.frozen(kw_only=True)
class Condred(EstimatingGreedyFilter):
    """Features by relevance + class-conditional redundancy.

    Notes
    -----
    J(X) = I(X; Y) + Σ_s I(X; X_s | Y) over the selected features X_s: β = 0, γ = 1 in `betagamma`.

    References
    ----------
    G. Brown, A. Pocock, M.-J. Zhao, M. Luján 2012, Conditional likelihood maximisation, J. Mach.
    Learn. Res. 13:27–66, section 4.2 and Figure 2.
    """

    conditional: ClassVar[bool] = False

    def criterion(self) -> Criterion:
        """I(X; Y) + Σ I(X; X_s | Y)."""
        return Criterion(
            term=lambda t: t.conditional_redundancy,
            score=lambda relevance, folded, n: relevance + folded,
        )


@attrs.frozen(kw_only=True)
class Betagamma(EstimatingGreedyFilter):
    """Features by a linear combination of relevance, redundancy and conditional redundancy.

    Notes
    -----
    J(X) = I(X; Y) − β Σ_s I(X; X_s) + γ Σ_s I(X; X_s | Y) over the selected features X_s. β = γ =
    0 is `mim`, β = γ = 1 `cife`, γ = 0 `mifs`, β = 0, γ = 1 `condred`.

    References
    ----------
    G. Brown, A. Pocock, M.-J. Zhao, M. Luján 2012, Conditional likelihood maximisation, J. Mach.
    Learn. Res. 13:27–66, eq. 17 and Figure 2.
    """

    conditional: ClassVar[bool] = False

    beta: float = param(1.0, real(0), help="Weight of the redundancy.", symbol="β")
    gamma: float = param(
        1.0, real(0), help="Weight of the class-conditional redundancy.", symbol="γ"
    )

    def criterion(self) -> Criterion:
        """I(X; Y) − β Σ I(X; X_s) + γ Σ I(X; X_s | Y)."""
        beta, gamma = self.beta, self.gamma
        return Criterion(
            term=lambda t: beta * t.redundancy - gamma * t.conditional_redundancy, score=_less
        )


@attrs.frozen(kw_only=True)
class Jmim(EstimatingGreedyFilter):
    """Features by the smallest joint mutual information with any selected one (joint mutual
    information maximisation).

    Notes
    -----
    J(X) = min_s I(X, X_s; Y) over the selected features X_s.

    References
    ----------
    M. Bennasar, Y. Hicks, R. Setchi 2015, Feature selection using joint mutual information
    maximisation, Expert Syst. Appl. 42(22):8520–8532, eq. 14.
    """

    def criterion(self) -> Criterion:
        """min I(X, X_s; Y)."""
        return Criterion(term=lambda t: t.joint_relevance, fold="least")


@attrs.frozen(kw_only=True)
class Njmim(GreedyFilter):
    """Features by the smallest joint mutual information with any selected one, over joint entropy.

    Notes
    -----
    J(X) = min_s I(X, X_s; Y) / H(X, X_s, Y) over the selected features X_s. Beyond the first
    feature the score is a ratio, without unit.

    References
    ----------
    M. Bennasar, Y. Hicks, R. Setchi 2015, Feature selection using joint mutual information
    maximisation, Expert Syst. Appl. 42(22):8520–8532, eq. 17.
    """

    def criterion(self) -> Criterion:
        """min I(X, X_s; Y) / H(X, X_s, Y)."""
        return Criterion(term=lambda t: t.relative_joint_relevance, fold="least")

    def is_ratio(self) -> bool:
        """Scores after the first are ratios."""
        return True


@attrs.frozen(kw_only=True)
class Cmi(GreedyFilter):
    """Features by the information they add to all selected ones jointly, without approximation.

    Notes
    -----
    J(X) = I(X; Y | S) with S all selected features as one variable. Its levels multiply, so that
    after a few features every sample has a level of its own and no information is left; then scores
    are zero and the lowest columns follow. ``stop=positive`` ends there.

    References
    ----------
    G. Brown, A. Pocock, M.-J. Zhao, M. Luján 2012, Conditional likelihood maximisation, J. Mach.
    Learn. Res. 13:27–66, eq. 8.
    """

    def criterion(self) -> Criterion:
        """I(X; Y | S)."""
        return Criterion(term=lambda t: t.conditional_relevance, fold="last", partners="all")


@attrs.frozen(kw_only=True)
class Jmi3(GreedyFilter):
    """Features by joint mutual information with each pair of selected ones, summed.

    Notes
    -----
    J(X) = Σ_{u<w} I(X, X_u, X_w; Y) over unordered pairs of selected features; the second feature
    is selected by I(X, X_s; Y) as in `jmi`, since there is no pair yet. O(k² p n).

    References
    ----------
    M. Sechidis, L. Azzimonti, A. Pocock, G. Corani, J. Weatherall, G. Brown 2019, Efficient
    feature selection using shrinkage estimators, Mach. Learn. 108:1261–1286, JMI-3.
    """

    def criterion(self) -> Criterion:
        """Σ I(X, X_u, X_w; Y)."""
        return Criterion(term=lambda t: t.joint_relevance, partners="pairs")
