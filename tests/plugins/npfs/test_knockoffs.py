"""Gaussian knockoffs: their joint distribution, their thresholds, and what they keep."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
import pytest

from fsframe import Chain, Dataset, Run, Selection
from fsframe.errors import DataError, RequestError
from fsframe_npfs.methods.knockoffs import (
    Knockoffs,
    Sampler,
    e_values,
    equicorrelated,
    kept_by_e_values,
    least_reconstructable,
)
from tests.plugins.shared import keep_steps

ALONE = np.full(5, -1)


def correlation(seed: int = 0, p: int = 5) -> np.ndarray:
    factors = np.random.default_rng(seed).normal(size=(p, 8))
    found = factors @ factors.T
    size = np.sqrt(found.diagonal())
    return found / np.outer(size, size)


@pytest.mark.parametrize("construction", ["mvr", "equicorrelated"])
def test_knockoffs_have_the_joint_covariance_that_exchange_needs(construction):
    R = correlation()
    S = least_reconstructable(R) if construction == "mvr" else equicorrelated(R, ALONE)
    draw = np.random.default_rng(1)
    Z = draw.multivariate_normal(np.zeros(5), R, size=200_000)
    both = np.hstack([Z, Sampler(R, S).draw(Z, draw)])
    expected = np.block([[R, R - S], [R - S, R]])
    np.testing.assert_allclose(np.cov(both.T), expected, atol=0.015)


def test_knockoffs_of_the_case_that_the_package_knockoff_tests():
    # `test_create.R`, equicorrelated Gaussian knockoffs: cov(X, knockoffs) = Σ - s I with
    # s = min(1, 2 λ), λ the smallest eigenvalue of Σ. Ours stay inside by a thousandth.
    sigma = np.array([[1.0, 0.55, 0.2], [0.55, 1.0, 0.55], [0.2, 0.55, 1.0]])
    S = equicorrelated(sigma, ALONE[:3])
    s = min(1.0, 2.0 * float(np.linalg.eigvalsh(sigma)[0]))
    np.testing.assert_allclose(S, 0.999 * s * np.eye(3), rtol=1e-9, atol=1e-12)


def test_no_other_diagonal_is_harder_to_reconstruct():
    def objective(s: np.ndarray) -> float:
        return float(np.trace(np.linalg.inv(2 * R - np.diag(s))) + (1 / s).sum())

    R = correlation(3)
    best = least_reconstructable(R, tol=1e-9).diagonal()
    draw = np.random.default_rng(0)
    for _ in range(200):
        other = best * np.exp(0.05 * draw.normal(size=5))
        if np.linalg.eigvalsh(2 * R - np.diag(other))[0] > 0:
            assert objective(best) <= objective(other) * (1 + 1e-9)


def test_groups_of_features_share_a_block():
    R, sets = correlation(2), np.array([0, 0, -1, 1, 1])
    S = equicorrelated(R, sets)
    gamma = S[0, 0] / R[0, 0]
    np.testing.assert_allclose(S[0, 1], gamma * R[0, 1])
    np.testing.assert_allclose(S[3, 4], gamma * R[3, 4])
    assert S[0, 2] == S[0, 3] == S[2, 3] == 0
    assert np.linalg.eigvalsh(2 * R - S)[0] > -1e-12


def test_one_copy_with_e_values_is_the_knockoff_filter():
    draw = np.random.default_rng(4)
    for _ in range(50):
        leads = draw.normal(size=30) + 2 * (np.arange(30) < 12)
        e = e_values(leads, 0.3)
        kept = kept_by_e_values(e, 0.3)
        np.testing.assert_array_equal(kept, e > 0)


def linear(seed: int, causes: int, n: int = 150, p: int = 30) -> Dataset:
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = 0.4 * X[:, j - 1] + np.sqrt(1 - 0.16) * X[:, j]
    y = X[:, : 2 * causes : 2].sum(axis=1) + draw.normal(size=n)
    return Dataset.from_arrays(X, y, name="linear")


def test_most_causes_are_kept_and_few_others():
    false, power = [], []
    causes = set(range(0, 24, 2))
    for seed in range(8):
        selection = Chain.parse("lasso:top=30 knockoffs:copies=1").select(
            linear(seed, 12), seed=seed
        )
        kept = set(selection.selected.tolist())
        power.append(len(kept & causes) / 12)
        false.append(len(kept - causes) / max(1, len(kept)))
    # One draw of knockoffs may keep nothing; hence several copies by default.
    assert np.mean(power) > 0.6
    assert np.mean(false) < 0.3


def test_nothing_is_kept_of_noise_and_the_reason_is_said():
    selection = Chain.parse("correlation:threshold=1 knockoffs:copies=4").select(
        linear(1, 0), seed=1
    )
    assert not selection.selected.size
    assert any("at least 10 have to be found" in line for line in selection.warnings)


def test_too_few_features_are_told_before_the_run():
    data = linear(0, 2, p=8)
    [said] = Knockoffs().forewarnings(data, None)
    assert "at least 10 features have to be found, and there are 8" in said
    assert not list(Knockoffs(level=0.4, copies=2).forewarnings(data, None))


def test_groups_are_kept_whole():
    data = linear(2, 12)
    names = data.feature_names
    groups = {f"pair{k}": (names[2 * k], names[2 * k + 1]) for k in range(15)}
    grouped = data.with_roles(feature_groups=groups)
    chain = Chain.parse("lasso:top=60 knockoffs:level=0.3,copies=1")
    selection = chain.select(grouped, seed=0)
    kept = set(selection.selected.tolist())
    assert kept and all((column ^ 1) in kept for column in kept)


def test_ranks_map_knockoffs_back_into_the_range_of_each_column():
    draw = np.random.default_rng(0)
    X = np.exp(3 * draw.normal(size=(100, 12)))
    data, base = (
        Dataset.from_arrays(X, draw.normal(size=100), name="heavy"),
        Always(np.arange(24.0)),
    )
    Knockoffs(copies=1, marginals="ranks").select_wrapped(base, data, None, Run())
    assert base.seen[0].min() >= X.min() and base.seen[0].max() <= X.max()


def test_nominal_columns_groups_of_rows_and_constant_tables_are_refused():
    data = linear(0, 2)
    people = Dataset.from_arrays(data.X, data.y, groups=np.arange(150) // 5)
    with pytest.raises(DataError, match="drawn row by row"):
        Chain.parse("correlation knockoffs").select(people)
    nominal = Dataset.from_arrays(np.eye(20), np.arange(20) / 3, categorical=[0], name="kinds")
    with pytest.raises(DataError, match="needs numeric columns"):
        Chain.parse("correlation knockoffs").select(nominal)


@attrs.frozen
class Always:
    """A base that gives the same scores of any table."""

    scores: np.ndarray
    warnings: Sequence[str] = ()
    seen: list[np.ndarray] = attrs.field(factory=list)

    def select(self, data: Dataset, upstream: object = None, run: object = None) -> Selection:
        self.seen.append(data.X.copy())
        scores = self.scores[: data.n_features]
        return Selection(selected=[0], scores=scores, warnings=self.warnings)


def test_a_base_without_scores_is_refused():
    with pytest.raises(RequestError, match="gives no scores"):
        Knockoffs().select_wrapped(Always(np.full(60, np.nan)), linear(0, 2), None, Run())


def test_copies_kept_by_an_earlier_attempt_bring_their_warnings(monkeypatch):
    keep_steps(monkeypatch)
    data, stage = linear(0, 2), Knockoffs(copies=2)
    base = Always(np.arange(2.0 * data.n_features), ["few rows"])
    first, again = (stage.select_wrapped(base, data, None, Run()) for _ in range(2))
    assert "in 2 of 2 copies: few rows" in first.warnings
    assert first.warnings == again.warnings


def test_warnings_of_copies_that_differ_in_listed_columns_are_counted():
    class Naming(Always):
        def select(self, data, upstream=None, run=None):
            result = super().select(data, upstream, run)
            said = f"undecided: {', '.join(data.feature_names[:3])} and 3 more"
            return attrs.evolve(result, warnings=(said,))

    data = linear(0, 2)
    base = Naming(np.arange(2.0 * data.n_features))
    result = Knockoffs(copies=4).select_wrapped(base, data, None, Run())
    assert [text.partition(": ")[0] for text in result.warnings if "undecided" in text] == [
        "in 4 of 4 copies, such as"
    ]
