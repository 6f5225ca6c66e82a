"""The methods against their plain programs, the R package and an independent prototype."""

from __future__ import annotations

import re
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from fsframe.chains.chain import Chain
from fsframe.chains.stage import LimitTooSmall, shares_of
from fsframe.errors import MemoryBoundError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_margin import plain
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.methods.bim import Bim, BimVote
from fsframe_margin.methods.im4e import Im4e, descend_im4e
from fsframe_margin.methods.immigrate import Immigrate, descend
from fsframe_margin.methods.local_learning import Irelief, Lfe, Logo, iterate
from fsframe_margin.methods.margin_selector import Margin
from fsframe_margin.methods.nearest_margins import Gflip, Mbiw, Simba, SimbaMbiw, WeightedKnn
from tests.grids import examples
from tests.scripts import importable


@pytest.fixture(params=[2, 3], ids=["two classes", "three classes"])
def table(request):
    rng = np.random.default_rng(request.param)
    X, y = rng.standard_normal((30, 5)), np.arange(30) % request.param
    X[:, 1] += 0.8 * y
    return X, y, Dataset.from_arrays(X, y)


@pytest.mark.parametrize("sigma", [0.5, 3.0])
def test_immigrate(table, sigma):
    X, y, data = table
    method = Immigrate(sigma=sigma, line_search=False, max_iter=3, keep="last", standardize=False)
    W = plain.immigrate(X, y, sigma, 3)
    np.testing.assert_allclose(method.select(data).model["W"], W, atol=1e-10)


@pytest.mark.parametrize("sigma", [0.5, 3.0])
def test_weights_of_the_linear_measure(table, sigma):
    X, y, data = table
    linear = {
        plain.im4e: Im4e(sigma=sigma, max_iter=1, standardize=False),
        plain.irelief: Irelief(sigma=sigma, max_iter=1, standardize=False),
    }
    for program, method in linear.items():
        np.testing.assert_allclose(method.select(data).weights, program(X, y, sigma, 1), atol=1e-12)


@pytest.mark.parametrize("penalty", [0.5, 20.0, 400.0])
def test_exact_steps_of_im4e_on_the_simplex(table, penalty):
    X, y, data = table
    for updates in (1, 3):
        # tol=0: every update is made; the last one is asked for where it has the lowest cost.
        selection = Im4e(
            sigma=1.5, penalty=penalty, max_iter=updates, tol=0, standardize=False
        ).select(data)
        steps = [plain.im4e(X, y, 1.5, k, penalty) for k in range(updates + 1)]
        D = np.abs(X[:, None] - X[None])
        costs = [plain.coefficients(D @ w, y, 1.5)[0] + penalty * w @ w for w in steps]
        np.testing.assert_allclose(selection.tables["cost"], costs[: len(selection.tables["cost"])])
        np.testing.assert_allclose(selection.weights, steps[int(np.argmin(costs))], atol=1e-9)


def test_margins_and_entropies_of_rows(table):
    X, y, data = table
    selection = Im4e(sigma=0.7, margins=True, standardize=False).select(data)
    wanted = plain.margins_of_rows(X, y, selection.weights, 0.7)
    for name, values in zip(("margins", "hit-entropy", "miss-entropy"), wanted, strict=True):
        np.testing.assert_allclose(selection.tables[name], values, atol=1e-12)
    counts = np.random.default_rng(0).integers(1, 4, size=len(y))
    method = Im4e(sigma=0.7, margins=True, max_iter=0, standardize=False)
    drawn = method.select(data.with_counts(counts)).tables
    copied = method.select(data.take_rows(np.repeat(np.arange(len(y)), counts))).tables
    # Copies of other rows are neighbours of their own; those of the row itself are none to it.
    alone = counts == 1
    at = np.cumsum(counts) - 1
    for name in ("margins", "hit-entropy", "miss-entropy"):
        np.testing.assert_allclose(drawn[name][alone], copied[name][at[alone]], atol=1e-12)


def test_a_row_without_a_hit_has_no_margin():
    X = np.arange(8.0).reshape(4, 2) ** 1.5
    selection = Im4e(margins=True).select(Dataset.from_arrays(X, [0, 0, 0, 1]))
    assert np.isnan(selection.tables["margins"]).tolist() == [False, False, False, True]


def test_steps_of_simba(table):
    X, y, data = table
    selection = Simba(order="given", standardize=False).select(data)
    wanted = plain.simba(X, y, range(len(y)))
    np.testing.assert_allclose(selection.tables["raw-weights"], wanted, rtol=1e-10)
    one, other = (Simba(step=step).select(data, seed=0).scores for step in ("1/n", 1 / 30))
    np.testing.assert_array_equal(one, other)
    omega = plain.mbiw(X, y)
    for scale, each in (("sum", omega), ("mean", omega * len(y))):
        selection = SimbaMbiw(strategy="order", instance_scale=scale, standardize=False).select(
            data
        )
        wanted = plain.simba(X, y, np.argsort(-omega, kind="stable"), each)
        np.testing.assert_allclose(selection.tables["raw-weights"], wanted, rtol=1e-10)


def test_instance_weights(table):
    X, y, data = table
    selection = Mbiw(standardize=False).select(data)
    np.testing.assert_allclose(selection.instance_weights, plain.mbiw(X, y), rtol=1e-10)


def test_lfe(table):
    X, y, data = table
    selection = Lfe(standardize=False).select(data)
    np.testing.assert_allclose(selection.model["W"], plain.lfe(X, y), atol=1e-12)


def test_the_cost_is_that_of_eq_3_5_with_its_entropies(table):
    X, y, _ = table
    rng = np.random.default_rng(9)
    for sigma in (0.3, 1.0, 4.0):
        W = rng.random((5, 5))
        W = (W + W.T) / np.linalg.norm(W + W.T)
        reduced = plain.immigrate_cost(X, y, W, sigma)[0]
        assert plain.cost_with_entropies(X, y, W, sigma) == pytest.approx(reduced, rel=1e-12)


def test_prediction_by_expected_distance(table):
    X, y, data = table
    selection = Immigrate(sigma=0.8, top=5, standardize=False).select(data)
    rows = np.random.default_rng(1).standard_normal((40, 5))
    fitted = Margin(standardize=False).fit(data, selection)
    wanted = plain.predicted(X, y, selection.model["W"], 0.8, rows)
    assert fitted.predict(rows).tolist() == wanted.tolist()


def test_boosting(table):
    X, y, data = table
    settings = {"rounds": 6, "sigma_min": 1.0, "start": "identity"}
    settings |= {"line_search": False, "standardize": False}
    selection = Bim(**settings).select(data)
    rounds = plain.bim(X, y, 4.0 * (1.0 / 4.0) ** (np.arange(6) / 6), 5)
    assert 0 < len(rounds) <= 6
    alpha, sigma, W = (np.array(part) for part in zip(*rounds, strict=True))
    np.testing.assert_allclose(selection.model["round-alpha"], alpha, rtol=1e-9)
    np.testing.assert_allclose(selection.model["round-sigma"], sigma, rtol=1e-12)
    np.testing.assert_allclose(selection.model["rounds"], W, atol=1e-9)
    rows = np.random.default_rng(2).standard_normal((60, 5))
    voted = BimVote(**settings).fit(data).predict(rows)
    assert voted.tolist() == plain.bim_vote(X, y, rounds, rows).tolist()


def test_simba_mbiw_and_the_weighted_neighbours(table):
    X, y, data = table
    selection = SimbaMbiw(top=5, standardize=False).select(data)
    w, omega = plain.simba_mbiw(X, y), plain.mbiw(X, y)
    np.testing.assert_allclose(selection.weights, w, rtol=1e-10)
    rows = np.random.default_rng(3).standard_normal((50, 5))
    for k in (1, 4):
        voted = WeightedKnn(k=k, standardize=False).fit(data, selection).predict(rows)
        assert voted.tolist() == plain.weighted_knn(X, y, rows, k, w, omega).tolist()


# G-flip and LOGO


UTILITIES = {
    "linear": lambda theta: theta,
    "zero-one": lambda theta: (theta > 0).astype(float),
}


@examples(40)
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
    selection = method.select(Dataset.from_arrays(X, y), run=Run(entropy=seed))
    generator = Run(entropy=seed).generator(0)
    of = UTILITIES.get(utility, lambda theta: expit(beta * theta))
    F = plain.gflip(X, y, (generator.permutation(features) for _ in range(6)), of)
    value = plain.evaluation(X, y, F, of)
    assert set(np.flatnonzero(selection.tables["inside"]).tolist()) == F
    assert selection.tables["evaluation"][0] == pytest.approx(value, abs=1e-9)
    for a in range(features):
        inside, outside = (plain.evaluation(X, y, s, of) for s in (F | {a}, F - {a}))
        assert selection.scores[a] == pytest.approx((inside - outside) / n, abs=1e-9)


@examples(15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 2.0]), st.sampled_from([0.3, 1.0, 3.0]))
def test_logo_iterates_are_those_of_the_definition(seed, sigma, penalty):
    rng = np.random.default_rng(seed)
    n, features = int(rng.integers(8, 14)), int(rng.integers(1, 5))
    X, y = rng.standard_normal((n, features)), np.arange(n) % 2
    X[:, 0] += 0.5 * y
    for iterations in (1, 2, 3):
        w = plain.logo(X, y, sigma, penalty, iterations)
        method = Logo(sigma=sigma, l1=penalty, max_iter=iterations, tol=0.0, standardize=False)
        selection = method.select(Dataset.from_arrays(X, y))
        np.testing.assert_allclose(selection.scores, w, atol=2e-3 * max(1.0, w.max()))
        if not w.any():
            return


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 152])
def test_the_evaluation_of_gflip_is_that_of_its_set(seed):
    # Columns 10,000 times as wide come and (with the last seed) go: what is left of them in summed
    # squares, some 1e-8, must not be counted.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 6)) * 10.0 ** rng.integers(0, 5, 6)
    y = rng.integers(0, 2, 14)
    y[:4] = 0, 0, 1, 1
    method = Gflip(utility="sigmoid", standardize=False)
    selection = method.select(Dataset.from_arrays(X, y), seed=seed)
    inside = selection.tables["inside"] > 0
    d = np.sqrt(((X[:, None, inside] - X[None, :, inside]) ** 2).sum(axis=2))
    np.fill_diagonal(d, np.inf)
    same = y[:, None] == y[None, :]
    theta = (np.where(same, np.inf, d).min(1) - np.where(same, d, np.inf).min(1)) / 2
    np.testing.assert_allclose(selection.tables["evaluation"], expit(theta).sum(), rtol=1e-13)


def test_logo_that_does_not_settle_names_what_makes_it():
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
    many = np.arange(9999.0)[:, None] * [1, -1]
    began: list[object] = []
    with pytest.raises(MemoryBoundError, match=r"gflip, .* 2.2 GiB .* use simba"):
        Chain.parse("mim gflip").run(
            Dataset.from_arrays(many, many[:, 0] > 9), listener=began.append
        )
    assert not began


# The three-way form of benchmarks/margin/three_way.py


with importable("benchmarks/margin"):
    import three_way


def test_w_is_symmetric_of_norm_one_and_finds_a_parity_of_three():
    rng = np.random.default_rng(0)
    X = 2.0 * rng.integers(0, 2, (120, 5)) - 1.0
    y = (X[:, :3].prod(axis=1) > 0).astype(int)
    W = three_way.three_way(X, y, three_way.WIDE)
    assert np.linalg.norm(W) == pytest.approx(1.0) and W.min() >= 0
    assert all(W.transpose(order) == pytest.approx(W) for order in permutations(range(3)))
    triple, share, beyond = three_way.top_triple(W)
    assert triple == (0, 1, 2) == three_way.screened(X, y)[0] and share > 0.5 and beyond
    assert (three_way.predicted(X[:60], y[:60], W, 16.0, X[60:]) == y[60:]).mean() > 0.9


# Σ, W, costs, IM4E and I-RELIEF against the R package and an independent prototype


TABLES = ("park", "syn_xor")
RULES = {"leave": "psd", "nn": "elementwise"}


def whole_steps(reference, table, sigma, start, rule, max_iter, **options):
    """A descent from a stored start without line search, of so many iterations."""
    return descend(
        PairSpace(*reference.table(table)), reference[f"{table}/start/{start}"], float(sigma),
        rule=rule, line_search=False, max_iter=max_iter, tol=0.0, **options,
    )  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_clipped_updates_without_line_search_equal_the_r_package(reference, table):
    stages = [s for s in reference.under(table, "package") if s[2].startswith("iter")]
    assert len(stages) == 18
    for sigma, start, stage in stages:
        updates = int(stage.removeprefix("iter"))
        result = whole_steps(reference, table, sigma, start, "psd-clip", updates, keep_best=False)
        wanted = reference[f"{table}/package/{sigma}/{start}/{stage}"]
        assert np.abs(result.weights - wanted).max() < 1e-10  # 1e-14 where this was written


@pytest.mark.parametrize("table", TABLES)
def test_line_search_ends_where_the_prototype_ends(reference, table):
    space = PairSpace(*reference.table(table))
    for sigma, start, rule in reference.under(table, "descent"):
        first = reference[f"{table}/start/{start}"]
        fit = descend(space, first, float(sigma), rule=RULES[rule], max_iter=300, tol=1e-10)
        wanted = reference[f"{table}/descent/{sigma}/{start}/{rule}"]
        cost = reference[f"{table}/descent-cost/{sigma}/{start}/{rule}"][0]
        assert np.abs(fit.weights - wanted).max() < 1e-3
        assert fit.cost[-1] <= cost + 1e-6 * abs(cost)
        assert np.all(np.diff(fit.cost) <= 0)
        assert fit.converged


# IM4E and I-RELIEF, and the steps of Simba


@pytest.fixture(params=TABLES)
def stored(request, reference):
    return request.param, *reference.table(request.param)


def test_im4e_weights_equal_the_r_package_after_1_2_and_10_updates(reference, stored):
    name, X, y = stored
    space, A = PairSpace(X, y, linear=True), X.shape[1]
    cases = reference.under(name, "im4e")
    assert len(cases) == 9
    for sigma, updates in cases:
        result = descend_im4e(
            space,
            np.full(A, 1 / A),
            float(sigma),
            max_iter=int(updates),
            tol=0.0,
            keep_best=False,
        )
        wanted = reference[f"{name}/im4e/{sigma}/{updates}"]
        assert np.abs(result.weights - wanted).max() < 1e-10


def test_irelief_weights_equal_the_prototype_also_where_they_never_settle(reference, stored):
    name, X, y = stored
    A = X.shape[1]
    for (sigma,) in reference.under(name, "irelief"):
        result = iterate(
            PairSpace(X, y, linear=True),
            np.full(A, 1 / np.sqrt(A)),
            float(sigma),
            max_iter=100,
            tol=1e-10,
        )
        np.testing.assert_allclose(result.weights, reference[f"{name}/irelief/{sigma}"], atol=1e-9)
        assert result.converged == (name == "park")
