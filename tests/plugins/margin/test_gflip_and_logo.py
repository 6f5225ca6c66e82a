"""G-flip and LOGO against the plain programs, and by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from fsframe.chains.chain import Chain
from fsframe.chains.stage import LimitTooSmall, shares_of
from fsframe.errors import MemoryBoundError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_margin import plain
from fsframe_margin.engine.pair_spaces import solve_logistic
from fsframe_margin.methods.local_learning import Logo
from fsframe_margin.methods.nearest_margins import Gflip

UTILITIES = {
    "linear": lambda theta: theta,
    "zero-one": lambda theta: (theta > 0).astype(float),
}


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    # So many that a second pass often changes the set.
    st.integers(12, 24),
    st.integers(1, 8),
    st.sampled_from(["linear", "zero-one", "sigmoid"]),
    st.sampled_from([0.3, 1.0, 4.0]),
)
def test_gflip_finds_the_set_of_the_printed_algorithm(seed, n, features, utility, beta):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, features)), np.arange(n) % (2 + seed % 2)
    method = Gflip(utility=utility, beta=beta, standardize=False, max_passes=6)
    found = method.select(Dataset.from_arrays(X, y), run=Run(entropy=seed))
    generator = Run(entropy=seed).generator(0)
    of = UTILITIES.get(utility, lambda theta: expit(beta * theta))
    F = plain.gflip(X, y, (generator.permutation(features) for _ in range(6)), of)
    value = plain.evaluation(X, y, F, of)
    assert set(np.flatnonzero(found.tables["inside"]).tolist()) == F
    assert found.tables["evaluation"][0] == pytest.approx(value, abs=1e-9)
    for a in range(features):
        inside, outside = (plain.evaluation(X, y, s, of) for s in (F | {a}, F - {a}))
        assert found.scores[a] == pytest.approx((inside - outside) / n, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 2.0]), st.sampled_from([0.3, 1.0, 3.0]))
def test_logo_iterates_are_those_of_the_definition(seed, sigma, penalty):
    rng = np.random.default_rng(seed)
    n, features = int(rng.integers(8, 14)), int(rng.integers(1, 5))
    X, y = rng.standard_normal((n, features)), np.arange(n) % 2
    X[:, 0] += 0.5 * y
    for iterations in (1, 2, 3):
        w = plain.logo(X, y, sigma, penalty, iterations)
        method = Logo(sigma=sigma, l1=penalty, max_iter=iterations, tol=0.0, standardize=False)
        found = method.select(Dataset.from_arrays(X, y))
        np.testing.assert_allclose(found.scores, w, atol=2e-3 * max(1.0, w.max()))
        if not w.any():
            return


def test_logo_by_the_papers_own_descent():
    """w = v² and steps in v, as the paper prints, end where the bounded solve ends."""
    rng = np.random.default_rng(3)
    z, penalty = rng.standard_normal((30, 4)) + np.array([0.8, 0.0, 0.3, -0.5]), 1.5
    v = np.ones(4)
    for _ in range(200_000):
        gradient = (penalty - z.T @ (1.0 / (1.0 + np.exp(z @ v**2)))) * v
        v = v - 0.02 * gradient
        if np.abs(gradient).max() < 1e-10:
            break
    found, value = solve_logistic(z, np.ones(30), penalty, np.ones(4))
    np.testing.assert_allclose(found, v**2, atol=1e-4)
    wanted = np.log1p(np.exp(-z @ v**2)).sum() + penalty * (v**2).sum()
    assert value == pytest.approx(wanted, abs=1e-6)
    assert 0 < (v**2 > 1e-3).sum() < 4


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 152])
def test_the_evaluation_of_gflip_is_that_of_its_set(seed):
    # Columns 10,000 times as wide come and (with the last seed) go: what is left of them in summed
    # squares, some 1e-8, must not be counted.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 6)) * 10.0 ** rng.integers(0, 5, 6)
    y = rng.integers(0, 2, 14)
    y[:4] = 0, 0, 1, 1
    method = Gflip(utility="sigmoid", standardize=False)
    found = method.select(Dataset.from_arrays(X, y), seed=seed)
    inside = found.tables["inside"] > 0
    d = np.sqrt(((X[:, None, inside] - X[None, :, inside]) ** 2).sum(axis=2))
    np.fill_diagonal(d, np.inf)
    same = y[:, None] == y[None, :]
    theta = (np.where(same, np.inf, d).min(1) - np.where(same, d, np.inf).min(1)) / 2
    np.testing.assert_allclose(found.tables["evaluation"], expit(theta).sum(), rtol=1e-13)


def test_logo_that_does_not_settle_names_what_makes_it() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 40))
    data = Dataset.from_arrays(X, X[:, :5].sum(axis=1) + 2 * rng.normal(size=100) > 0)
    restless = Logo().select(data)
    assert any("a larger sigma (now 2), or a larger l1" in line for line in restless.warnings)
    for settled in (Logo(sigma=10.0), Logo(l1=3.0)):
        assert not settled.select(data).warnings


@pytest.mark.parametrize("chain", ["gflip", "mim:top=9 gflip npfs:n=2", "ensemble:base=gflip,n=2"])
def test_the_bound_that_a_refusal_of_gflip_names_is_enough(chain):
    X = np.random.default_rng(0).standard_normal((300, 30))
    data, parsed = Dataset.from_arrays(X, X[:, 2] > 0), Chain.parse(chain)
    with pytest.raises(LimitTooSmall, match="use fewer rows") as refused:
        shares_of(parsed, data, 20_000_000)
    enough = int(re.search(r"--memory (\d+)MB", str(refused.value))[1]) * 10**6
    parsed.run(data, memory=enough)


def test_gflip_on_too_many_rows_names_both_sizes_and_a_method_for_more():
    X = np.random.default_rng(0).standard_normal((300, 2))
    data = Dataset.from_arrays(X, X[:, 1] > 0)
    with pytest.raises(MemoryBoundError, match=r"2,160,000 bytes .* 2,097,152 bytes .* use simba"):
        Gflip().select(data, run=Run(memory=2 << 20))


def test_more_memory_than_the_machine_has_is_no_advice():
    with pytest.raises(MemoryBoundError) as refused:
        Run().must_hold(1 << 60, "gflip: the distances", "use simba")
    assert "--memory" not in str(refused.value)
