"""Derandomised Gaussian knockoffs over any selector with scores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import ndtr
from threadpoolctl import threadpool_limits

from fsframe.errors import DataError, RequestError
from fsframe.method.ranking import NEEDED, Statement
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.method.statistics import mean_ranks, normal_scores
from fsframe.params import choice, integer, param, real
from fsframe.resampling.resamples import Base, Recurring, WrappingSelector, too_many
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.labellings import BASE, DRAWS

Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True)
class Knockoffs(WrappingSelector):
    """Features that a selector prefers to knockoffs: imitations that ignore the label.

    Parameters
    ----------
    level : float in (0, 1)
        Bound on the expected share of false features among the kept.
    copies : int ≥ 1
        Number of times knockoffs are drawn; one fit of the base on twice the columns each.
    construction : {"mvr", "equicorrelated"}
        How far knockoffs are from their features. Groups of features (`--feature-groups`) are
        always equicorrelated.
    marginals : {"gaussian", "ranks"}
        Whether columns are taken as normal, or made normal by their ranks before knockoffs are
        drawn, which are then mapped back.

    Notes
    -----
    Exchanging any features with their knockoffs X̃ leaves the joint distribution unchanged, and X̃
    is independent of the label given X. The base scores [X, X̃], with columns in random order so
    that ties favour neither, and W_j = score(X_j) − score(X̃_j) is symmetric for a feature that
    the label does not depend on given the others. The mean e-values over `copies` draws, each at
    level/2, are compared by e-BH, which bounds the false discovery rate by `level`; one copy gives
    the knockoff+ filter at `level`. At least 1/level features (with several copies 2/level) have to
    be found, or none is kept. The bound is exact for a known normal distribution; the covariance
    is estimated from the same rows, by Ledoit and Wolf's shrinkage. Cost: `copies` fits on 2p
    columns and O(p³); 40·p² + 24·n·p bytes.

    References
    ----------
    Candès, Fan, Janson, Lv 2018, Panning for gold: model-X knockoffs, J. R. Statist. Soc. B 80:551;
    Ren, Barber 2024, Derandomised knockoffs, J. R. Statist. Soc. B 86:122; Spector, Janson 2022,
    Powerful knockoffs via minimizing reconstructability, Ann. Stat. 50:252; Dai, Barber 2016,
    The knockoff filter for FDR control in group-sparse and multitask regression, ICML.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    tasks_of_base: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = False
    takes_nominal: ClassVar[bool] = False
    reads_columns: ClassVar[bool] = False
    table_copies: ClassVar[float] = 4.0

    level: float = param(
        0.2,
        real(above=0, below=1),
        help="Bound on the expected share of false features among the kept.",
        symbol="α",
    )
    copies: int = param(
        20, integer(1), help="Draws of knockoffs, a fit on twice the columns each.", symbol="M"
    )
    construction: str = param(
        "mvr",
        choice("mvr", "equicorrelated"),
        help="How far knockoffs are from features: mvr (minimal reconstructability) or "
        "equicorrelated, faster.",
        source="Spector 2022; Barber 2015",
    )
    marginals: str = param(
        "gaussian",
        choice("gaussian", "ranks"),
        help="Take columns as normal, or make them normal by their ranks.",
    )

    def check_parameters(self) -> Iterator[str]:
        """Refuse more fits than can be counted."""
        yield from too_many(self.copies, f"copies={self.copies}")

    def statement(self, base: Selector | None = None) -> Statement:
        return NEEDED

    def ignores_groups(self) -> str:
        return "knockoffs are drawn row by row, as if rows were independent"

    def adjusts(self) -> bool:
        return False

    def base_fits(self, p: int, base: Base | None = None) -> int | None:
        """One for each copy, on twice the columns."""
        return self.copies

    def forewarnings(self, data: Dataset, n_tests: int | None) -> Iterator[str]:
        yield from super().forewarnings(data, n_tests)
        least = self._least_kept()
        if data.n_features < least:
            yield (
                f"nothing can be kept: at level={self.level:g} at least {least} features have to "
                f"be found, and there are {data.n_features}; raise level"
            )

    def _least_kept(self) -> int:
        return int(np.ceil((1 if self.copies == 1 else 2) / self.level - 1e-9))

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        p, n = data.n_features, data.n_samples
        run.must_hold(
            40 * p * p + 24 * n * p,
            f"knockoffs: covariances of {p} features",
            "put a filter such as mim:top=1000 inside a chain of its own before, on other rows",
        )
        scale, sets = _Scale(data.X, self.marginals), data.feature_sets
        steps = run.units(f"knockoffs {self} over {base}", data, upstream)
        leads, recurring = np.empty((self.copies, p)), Recurring(_names_with_knockoffs(data))
        # Sums of linear algebra depend on the number of its threads.
        with threadpool_limits(1, user_api="blas"):
            correlation, shrinkage = _correlation(scale.Z)
            if (sets >= 0).any() or self.construction == "equicorrelated":
                S = equicorrelated(correlation, sets)
            else:
                S = least_reconstructable(correlation)
            sampler = Sampler(correlation, S)
            for copy in range(self.copies):
                fit = partial(self._one_copy, base, data, scale, sampler, run, copy)
                step = steps.get(copy, fit)
                leads[copy] = step["leads"]
                # Warnings are stored with the step, so that a resumed run repeats them.
                recurring.add(json.loads(step["warnings"].tobytes()))
                run.progress(copy + 1, self.copies, "knockoffs")
        return self._decide(leads, sets, shrinkage, list(recurring.lines(self.copies, "copies")))

    def _one_copy(
        self,
        base: Base,
        data: Dataset,
        scale: _Scale,
        sampler: Sampler,
        run: Run,
        copy: int,
    ) -> dict[str, NDArray[Any]]:
        """W of each feature for one draw, (p,), and the base's warnings as JSON, (bytes,) uint8."""
        p, generator = data.n_features, run.generator(DRAWS, copy)
        both = np.hstack([data.X, scale.back(sampler.draw(scale.Z, generator))])
        order = generator.permutation(2 * p)
        names = _names_with_knockoffs(data)
        table = Dataset.from_arrays(
            both[:, order],
            np.asarray(data.classes)[data.y] if data.classes else data.y,
            [names[place] for place in order],
            name=data.name,
            label_name=data.label_name,
            task=data.task,
        )
        selection = base.select(table, None, run.child(BASE, copy))
        if np.isnan(selection.scores).all():
            raise RequestError("knockoffs: its base gives no scores; put one with scores before")
        scores = np.empty(2 * p)
        # A column that the base did not consider is no better than the worst.
        least = float(np.nanmin(selection.scores))
        scores[order] = np.where(np.isnan(selection.scores), least, selection.scores)
        said = json.dumps(selection.warnings).encode()
        return {"leads": scores[:p] - scores[p:], "warnings": np.frombuffer(said, np.uint8)}

    def _decide(
        self, leads: Floats, sets: NDArray[np.int64], shrinkage: float, warnings: list[str]
    ) -> Selection:
        p = sets.size
        units = np.where(sets >= 0, sets, np.arange(p) + sets.max(initial=-1) + 1)
        place = np.unique(units, return_inverse=True)[1]
        together = np.zeros((self.copies, place.max() + 1))
        for column, unit in enumerate(place.tolist()):
            together[:, unit] += leads[:, column]
        level = self.level if self.copies == 1 else self.level / 2.0
        e = np.mean([e_values(row, level) for row in together], axis=0)
        passed = kept_by_e_values(e, self.level)[place]
        # e-values tie often; ties are broken by the mean of W.
        scores = together.mean(axis=0)[place]
        order = rank_by_score(e[place] + _below_one(scores))
        kept = order[passed[order]]
        if not kept.size:
            warnings.append(
                f"no feature is kept; at level={self.level:g} at least {self._least_kept()} have "
                "to be found"
            )
        if self.top is not None:
            kept = order[: self.keep_count(p, 0)]
        return Selection(
            selected=kept,
            scores=scores,
            tables={"e-values": e[place], "leads": leads, "shrinkage": np.array([shrinkage])},
            warnings=warnings,
        )


def _names_with_knockoffs(data: Dataset) -> list[str]:
    return [*data.feature_names, *(f"{name} (knockoff)" for name in data.feature_names)]


class _Scale:
    """Columns on the scale on which knockoffs are drawn; `back` returns to that of the table.

    Parameters
    ----------
    X : (n, p) float64
    marginals : {"gaussian", "ranks"}
    """

    def __init__(self, X: Floats, marginals: str) -> None:
        spread = X.std(axis=0)
        self._sorted = np.sort(X, axis=0) if marginals == "ranks" else None
        # A constant column is its own knockoff.
        self._centre, self._spread = X.mean(axis=0), spread
        if marginals == "ranks":
            scores = np.apply_along_axis(normal_scores, 0, X)
            size = scores.std(axis=0)
            self.Z: Floats = scores / np.where(size > 0, size, 1.0)
        else:
            self.Z = (X - self._centre) / np.where(spread > 0, spread, 1.0)

    def back(self, Z: Floats) -> Floats:
        """Values on the scale of the table, (n, p)."""
        if self._sorted is None:
            return np.asarray(self._centre + self._spread * Z)
        n = self._sorted.shape[0]
        levels = (np.arange(n) + 0.5) / n
        values = np.empty_like(Z)
        for column in range(Z.shape[1]):
            values[:, column] = np.interp(ndtr(Z[:, column]), levels, self._sorted[:, column])
        return values


# With many rows the estimate is hardly shrunk, even if columns are copies of each other. It is
# shrunk until its eigenvalues reach this, so that it can be inverted.
_LEAST_EIGENVALUE = 1e-4


def _correlation(Z: Floats) -> tuple[Floats, float]:
    """Ledoit and Wolf's estimate with unit diagonal, (p, p), and how far it was shrunk."""
    from sklearn.covariance import ledoit_wolf

    covariance, shrinkage = ledoit_wolf(Z, assume_centered=True)
    size = np.sqrt(covariance.diagonal())
    if not (size > 0).all():
        raise DataError("knockoffs: all columns are constant")
    correlation = covariance / np.outer(size, size)
    least = float(np.linalg.eigvalsh(correlation)[0])
    if least < _LEAST_EIGENVALUE:
        more = (_LEAST_EIGENVALUE - least) / (1.0 - least)
        correlation = (1.0 - more) * correlation + more * np.eye(size.size)
        shrinkage = 1.0 - (1.0 - shrinkage) * (1.0 - more)
    return correlation, float(shrinkage)


def _below_one(values: Floats) -> Floats:
    """Numbers in the order of `values`, which differ by less than any two e-values."""
    ranks = mean_ranks(values)
    return np.asarray(1e-9 * ranks / ranks.size)


# Keeps S off the boundary 2Σ − S ≥ 0, where features and knockoffs are linearly dependent.
_INSIDE = 1.0 - 1e-3


def equicorrelated(correlation: Floats, sets: NDArray[np.int64]) -> Floats:
    """S, block diagonal over groups of features: γ times the block of the correlation of each.

    Parameters
    ----------
    correlation : (p, p) float64, positive definite
    sets : (p,) int64
        The group of each feature; −1: a group of its own, for which S is diagonal.

    Returns
    -------
    (p, p) float64
        γ is just below the largest value, up to 1, for which 2Σ − S is positive semi-definite.

    References
    ----------
    Dai, Barber 2016, The knockoff filter for FDR control in group-sparse and multitask regression,
    ICML, section 2.2; with groups of one, Barber, Candès 2015, Ann. Stat. 43:2055, section 2.1.1.

    Examples
    --------
    >>> equicorrelated(np.array([[1.0, 0.8], [0.8, 1.0]]), np.array([-1, -1])).diagonal().round(2)
    array([0.4, 0.4])
    """
    alike = (sets[:, None] == sets[None, :]) & (sets >= 0)
    np.fill_diagonal(alike, True)
    blocks = np.where(alike, correlation, 0.0)
    least = scipy.linalg.eigh(2.0 * correlation, blocks, eigvals_only=True, subset_by_index=[0, 0])[
        0
    ]
    S: Floats = min(1.0, float(least)) * _INSIDE * blocks
    return S


def least_reconstructable(correlation: Floats, sweeps: int = 30, tol: float = 1e-4) -> Floats:
    """The diagonal S for which features are hardest to reconstruct (MVR knockoffs).

    Minimises tr (2Σ − S)⁻¹ + Σ 1/s_j, which is tr G⁻¹ of the joint covariance G up to constants, by
    coordinate descent. In one coordinate, s_j → s_j + δ changes the inverse A of 2Σ − S by a matrix
    of rank one, and the minimum is at δ = (1 − √c s_j)/(√c + A_jj), c = (A²)_jj.

    Parameters
    ----------
    correlation : (p, p) float64, positive definite
    sweeps : int
        Most passes over all coordinates, O(p³) each.
    tol : float
        Passes end when the objective decreases by less than this share.

    Returns
    -------
    (p, p) float64

    References
    ----------
    Spector, Janson 2022, Powerful knockoffs via minimizing reconstructability, Ann. Stat. 50:252,
    section 3 and appendix on computation.

    Examples
    --------
    >>> least_reconstructable(np.eye(3)).diagonal().round(3)
    array([1., 1., 1.])
    """
    p = correlation.shape[0]
    s = equicorrelated(correlation, np.full(p, -1)).diagonal().copy()
    last = np.inf
    for _ in range(sweeps):
        inverse = np.linalg.inv(2.0 * correlation - np.diag(s))
        objective = float(np.trace(inverse) + (1.0 / s).sum())
        if objective > last * (1.0 - tol):
            break
        last = objective
        for j in range(p):
            column = inverse[:, j].copy()
            root = np.sqrt(column @ column)
            step = (1.0 - root * s[j]) / (root + column[j])
            s[j] += step
            inverse += np.outer(column * (step / (1.0 - step * column[j])), column)
    return np.diag(s)


class Sampler:
    """Draws knockoffs of standardised rows.

    Parameters
    ----------
    correlation : (p, p) float64, positive definite
        Σ.
    S : (p, p) float64
        The covariance of a feature and its knockoff is Σ − S; 0 ≤ S ≤ 2Σ.
    """

    def __init__(self, correlation: Floats, S: Floats) -> None:
        solved = scipy.linalg.solve(correlation, S, assume_a="pos")
        self._back = np.eye(S.shape[0]) - solved
        spread = 2.0 * S - S @ solved
        values, vectors = np.linalg.eigh((spread + spread.T) / 2.0)
        # Rounding makes zero eigenvalues slightly negative.
        self._root = vectors * np.sqrt(np.maximum(values, 0.0))

    def draw(self, Z: Floats, generator: np.random.Generator) -> Floats:
        """Knockoffs of `Z`, (n, p) float64: Z (I − Σ⁻¹S) + N(0, 2S − SΣ⁻¹S).

        References
        ----------
        Candès, Fan, Janson, Lv 2018, Panning for gold, J. R. Statist. Soc. B 80:551, equation 3.13.
        """
        knockoffs: Floats = Z @ self._back + generator.normal(size=Z.shape) @ self._root.T
        return knockoffs


def knockoff_threshold(leads: Floats, level: float) -> float:
    """The smallest t > 0 with (1 + #{W ≤ −t}) / #{W ≥ t} ≤ level; infinite if there is none.

    `leads` holds W, (p,): each feature's score minus that of its knockoff.

    References
    ----------
    Barber, Candès 2015, equation 1.9 (knockoff+).

    Examples
    --------
    >>> knockoff_threshold(np.array([3.0, 2.5, 2.0, -1.0, 0.5, 0.0]), 0.4)
    2.0
    """
    for t in np.unique(np.abs(leads[leads != 0])):
        behind, ahead = np.count_nonzero(leads <= -t), np.count_nonzero(leads >= t)
        if 1 + behind <= level * ahead:
            return float(t)
    return np.inf


def e_values(leads: Floats, level: float) -> Floats:
    """Knockoff e-values: p·1{W ≥ T} / (1 + #{W ≤ −T}) at the threshold T of `level`.

    References
    ----------
    Ren, Barber 2024, Derandomised knockoffs: leveraging e-values for false discovery rate control,
    J. R. Statist. Soc. B 86:122, equation 8.

    Examples
    --------
    >>> e_values(np.array([3.0, 2.5, 2.0, -1.0, 0.5, 0.0]), 0.4)
    array([6., 6., 6., 0., 0., 0.])
    """
    t = knockoff_threshold(leads, level)
    if not np.isfinite(t):
        return np.zeros(leads.size)
    return np.where(leads >= t, leads.size / (1.0 + np.count_nonzero(leads <= -t)), 0.0)


def kept_by_e_values(e: Floats, level: float) -> NDArray[np.bool_]:
    """Mask of e-BH: the k largest e-values, for the largest k whose k-th is at least p/(level·k).

    References
    ----------
    Wang, Ramdas 2022, False discovery rate control with e-values, J. R. Statist. Soc. B 84:822.

    Examples
    --------
    >>> kept_by_e_values(np.array([8.0, 0.0, 9.0, 1.0]), 0.25)
    array([ True, False,  True, False])
    """
    p = e.size
    ordered = np.sort(e)[::-1]
    # e-values such as p/1 meet the bound exactly: compared up to rounding.
    enough = np.flatnonzero(ordered * level * np.arange(1, p + 1) >= p * (1.0 - 1e-12))
    if not enough.size:
        return np.zeros(p, dtype=bool)
    return np.asarray(e >= ordered[enough[-1]])
