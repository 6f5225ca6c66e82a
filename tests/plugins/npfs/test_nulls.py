"""Nulls: their tails, critical values, levels; the published test beside the reference."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fsframe.chains.chain import Chain
from fsframe.errors import PluginError
from fsframe.method.run import Run
from fsframe.method.statistics import adjusted_p_values
from fsframe.resampling.resamples import CountNull, RelabellingNull
from fsframe.table.dataset import Dataset
from fsframe_npfs import plain
from fsframe_npfs.engine.decisions import (
    decide_by_tail,
    level_of_one_test,
    shrinkage_factor,
)
from fsframe_npfs.engine.nulls import (
    binomial_tail,
    clopper_pearson,
    critical_value,
    hoeffding,
    least_bootstraps,
    poisson_binomial_tail,
    selection_tail,
    settled,
)
from fsframe_npfs.methods.npfs import Npfs
from tests.grids import examples, shortened, slow
from tests.plugins.shared import people

from .conftest import TinyMim, outcome, slides


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.2])
def test_critical_value_is_the_inverse_binomial_distribution_function(alpha):
    for n in (1, 2, 5, 10, 50, 100, 500):
        for k in (1, 3, 10, 25, 49):
            expected = stats.binom.ppf(1 - alpha, n, k / 50)
            assert critical_value(binomial_tail(n, k / 50), alpha) == expected, (n, k)


def test_a_tail_that_equals_alpha_exactly_counts_as_reached():
    # 0.1 squared is 0.010000000000000002 in binary; on paper it is 0.01.
    assert critical_value(binomial_tail(2, 0.1), 0.01) == 1


@examples(60)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_poisson_binomial_tail_agrees_with_scipy_and_never_rises(p):
    tail = poisson_binomial_tail(p)
    expected = stats.poisson_binom.sf(np.arange(-1, len(p)), np.array(p))
    np.testing.assert_allclose(tail[:-1], expected, rtol=1e-9, atol=1e-12)
    assert tail[0] == 1 and tail[-1] == 0 and (np.diff(tail) <= 1e-15).all()


def test_bias_adds_to_p0_and_is_refused_above_one():
    np.testing.assert_array_equal(selection_tail([5] * 10, 50, 0.1), binomial_tail(10, 0.2))
    with pytest.raises(ValueError, match="above one"):
        selection_tail([5, 45], 50, 0.2)


@examples(200)
@given(st.floats(0.001, 0.999), st.floats(0.0001, 0.5))
def test_least_bootstraps_is_the_first_number_that_can_be_relevant(p0, alpha):
    n = least_bootstraps(p0, alpha)
    assert n is not None
    assert critical_value(binomial_tail(n, p0), alpha) < n
    if n > 1:
        assert critical_value(binomial_tail(n - 1, p0), alpha) == n - 1


p_values = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)


@examples(100)
@given(p_values, st.floats(0.001, 0.3))
def test_benjamini_hochberg_is_the_step_up_procedure(p, alpha):
    ranked = np.sort(p)
    lines = alpha * np.arange(1, p.size + 1) / p.size
    under = np.flatnonzero(ranked <= lines)
    rejected = p <= ranked[under[-1]] if under.size else np.zeros(p.size, bool)
    np.testing.assert_allclose(adjusted_p_values(p, "bonferroni"), np.minimum(1, p.size * p))
    result = adjusted_p_values(p, "bh")
    # Where p equals its level up to rounding either answer is right.
    if np.abs(ranked - lines).min() > 1e-12:
        np.testing.assert_array_equal(result <= alpha, rejected)


@examples(100)
@given(p_values, st.sampled_from(["none", "bonferroni", "bh"]), st.floats(0.001, 0.3))
def test_level_of_one_test_rejects_what_the_adjusted_values_reject(p, correction, alpha):
    level = level_of_one_test(p, alpha, correction)
    # Where p equals its level up to rounding either answer is right.
    clear = np.abs(p - level) > 1e-12
    adjusted = adjusted_p_values(p, correction)
    np.testing.assert_array_equal((p <= level)[clear], (adjusted <= alpha)[clear])


def test_where_nothing_is_rejected_the_level_is_that_of_the_least_p_value():
    assert level_of_one_test(np.array([0.5, 0.6, 0.9]), 0.06, "bh") == pytest.approx(0.02)


def test_the_level_is_that_of_the_tails_that_decide():
    # With ≥, the tail above each count decides: three of four are then within the level.
    verdicts = decide_by_tail(
        np.array([5, 5, 5, 0]), binomial_tail(10, 0.3), alpha=0.1, correction="bh",
        at_least=True,
    )  # fmt: skip
    assert verdicts.level == pytest.approx(0.075)
    assert verdicts.relevant.tolist() == [True, True, True, False]


def test_a_count_is_settled_if_its_whole_interval_is_on_one_side():
    counts = np.array([0, 40, 50, 60, 100])
    assert settled(counts, 100, np.full(5, 50), 0.05, 1).tolist() == [True, *[False] * 3, True]


def test_hoeffding_interval_covers_at_its_rate():
    z = np.random.default_rng(1).binomial(40, 0.3, size=4000)
    lower, upper = hoeffding(z, 40, 0.1)
    assert ((lower <= 0.3) & (upper >= 0.3)).mean() >= 0.9
    low, high = hoeffding([0, 40], 40, 0.1)
    assert low[0] == 0 and high[1] == 1


@pytest.mark.parametrize("z", [0, 1, 7, 19, 20])
def test_clopper_pearson_is_scipys_exact_interval(z):
    interval = stats.binomtest(z, 20).proportion_ci(0.99, method="exact")
    lower, upper = clopper_pearson([z], 20, 0.01)
    np.testing.assert_allclose([lower[0], upper[0]], [interval.low, interval.high], rtol=1e-9)


# Label permutations and disjoint shards


def named(test: Npfs, base: Any, data: Dataset, seed: int = 0) -> np.ndarray:
    return test.select_wrapped(base, data, None, Run(entropy=seed)).selected


def test_permutation_null_holds_its_level_where_nothing_is_relevant():
    # 5 tables of 40 features: 2 false ones are allowed in all, and the published form names
    # hundreds. Three standard deviations of a count of 2 are 4.
    for test in (Npfs(n=20, permutations=24),):
        false = sum(named(test, TinyMim(k=6), slides(s, 200, 40, 0), s).size for s in range(5))
        assert false <= 2 + 4
    published = Npfs(n=50, null="published")
    assert sum(named(published, TinyMim(k=6), slides(s, 200, 60, 0), s).size for s in range(3)) > 15


def test_shards_hold_their_level_and_find_what_is_there():
    test = Npfs(null="shards", n=20)
    false = sum(named(test, TinyMim(k=5), slides(s, 2000, 50, 0), s).size for s in range(20))
    assert false <= 10 + 3 * np.sqrt(10)
    result = named(Npfs(null="shards", n=50), TinyMim(k=10), slides(0, 20000, 100, 10))
    assert set(result) == set(range(10))


def test_little_is_taken_off_where_features_are_alike_and_much_where_they_differ():
    rng = np.random.default_rng(0)
    alike = rng.binomial(50, 0.2, size=(11, 200))
    own = rng.binomial(50, rng.random(200), size=(11, 200))
    assert shrinkage_factor(alike) < 0.25
    assert shrinkage_factor(own) > 0.95


def test_number_of_permutations_follows_from_alpha_where_it_is_left_out():
    result = outcome(TinyMim(), slides(0, 100, 22), n=3, alpha=0.0004)
    assert (
        len(result.tables["mean-scores"]) == 114
    )  # the first P + 1 with 1 / (22 (P + 1)) <= alpha


def test_what_the_left_stage_found_on_the_whole_table_does_not_reach_the_bootstraps():
    data = slides(0, 500, 30, 3)
    upstream = TinyMim(k=4).select(data)
    plain, after = (
        Npfs(n=30, permutations=9).select_wrapped(TinyMim(k=4), data, u, Run())
        for u in (None, upstream)
    )
    np.testing.assert_array_equal(plain.tables["z"], after.tables["z"])
    assert plain.tables["z"].size == 30


class _Null(RelabellingNull):
    """What a stranger's null gives, whatever it is."""

    gives: Any = None

    def _labels(self, data: Dataset, generator: np.random.Generator) -> Any:
        return self.gives(data)


@pytest.mark.parametrize(
    ("gives", "words"),
    [
        (lambda data: data.y[:-1], "returned labels"),
        (lambda data: data.y.astype(float), "float64"),
        (lambda data: data.y + 7, "labels that the table does not have"),
        (lambda data: 1 / 0, "ZeroDivisionError"),
    ],
    ids=["short", "type", "values", "raises"],
)
def test_labels_that_are_none_are_refused_with_the_name_of_the_null(gives, words):
    class Wrong(_Null):
        pass

    Wrong.gives = staticmethod(gives)
    with pytest.raises(PluginError, match=words) as caught:
        Wrong().labels(slides(0), np.random.default_rng(0))
    assert "Wrong" in str(caught.value)


class _Counts(CountNull):
    numbers: Any = ()

    def _tail(self, kept: Any, cells: int, bias: float) -> Any:
        return self.numbers


@pytest.mark.parametrize("numbers", [(1, 0), (1, 0.5, 0.6, 0), (0.9, 0.5, 0.1, 0), (1, 1, 1, 1)])
def test_a_tail_that_is_none_is_refused(numbers):
    null = _Counts()
    null.numbers = numbers
    with pytest.raises(PluginError, match="gave no valid tail"):
        null.tail(np.array([1, 1]), 4, 0.0)
    null.numbers = (1, 0.5, 0.25, 0)
    assert null.tail(np.array([1, 1]), 4, 0.0).tolist() == [1, 0.5, 0.25, 0]


# Rows in groups


def test_people_are_not_found_where_only_people_differ():
    """Of 12 features in each of six tables none means anything: 72 × 0.05 = 3.6 are promised."""
    chain = Chain.parse("mim:top=3 npfs:n=20,permutations=10,alpha=0.05")
    named = {True: 0, False: 0}
    for seed, grouped in itertools.product(range(6), named):
        data = people(seed, 24, 8, 12)
        table = data if grouped else attrs.evolve(data, groups=None)
        named[grouped] += chain.run(table, seed=seed).selected.size
    assert named[True] <= 8 < named[False]


# The published test: the reference's numbers, its variants, its known failure


DATA = Path(__file__).parent / "data"


def table(name: str) -> list[dict[str, str]]:
    with (DATA / name).open() as lines:
        return list(csv.DictReader(lines))


def reference_matrix(base: Any, seed: int, features: int, fraction: float) -> Any:
    """Ranks of the first 25 of every bootstrap, drawn from the reference's own random streams."""
    data = slides(seed, features=features)
    rows = np.random.default_rng(10000 + seed)
    size = int(1000 * fraction)
    counts = np.stack(
        [np.bincount(rows.integers(0, 1000, size), minlength=1000) for _ in range(500)]
    )
    return np.array([s.selected for s in base.select_many(data, counts)])


def assert_as_in_the_reference(ranked: Any, name: str, seed: int, features: int, fraction: float):
    """Critical value, number selected and number true, for every k ranked and both inequalities."""
    rows = {
        (r["k"], r["inequality"]): r
        for r in table(f"at_n500_{name}.csv")
        if (r["K_features"], r["seed"]) == (str(features), str(seed))
        and float(r["bootstrap_fraction"]) == fraction
    }
    assert len(rows) == 10
    for k in (k for k in (3, 5, 10, 15, 25) if k <= ranked.shape[1]):
        z = np.bincount(ranked[:, :k].ravel(), minlength=features)
        critical = critical_value(binomial_tail(500, k / features), 0.01)
        for inequality, relevant in (("gt", z > critical), ("ge", z >= critical)):
            row = rows[str(k), inequality]
            found = (critical, relevant.sum(), relevant[:15].sum())
            expected = (float(row["zcrit"]), int(row["selected"]), int(row["true_pos"]))
            assert found == expected, (seed, k, inequality)


@pytest.mark.parametrize(
    ("seed", "fraction", "top"), [(0, 1.0, 5), slow(0, 1.0, 25), slow(1, 0.75, 25)]
)
def test_jmi_gives_the_reference_selection_at_500_bootstraps(seed, fraction, top):
    ranked = reference_matrix(Chain.parse(f"jmi:top={top}"), seed, 50, fraction)
    assert_as_in_the_reference(ranked, "jmi", seed, 50, fraction)


@pytest.mark.parametrize(
    ("size", "variant"),
    shortened(
        [*itertools.product([(3, 100), (10, 100), (25, 100), (15, 300)], ["published", "matlab"])],
        [((3, 100), "published"), ((25, 100), "matlab")],
    ),
)
def test_selector_reproduces_the_size_curves_within_their_spread(size, variant):
    k, n = size
    fraction, inequality = {"published": (1.0, "gt"), "matlab": (0.75, "ge")}[variant]
    (row,) = (
        r
        for r in table("curves_mim.csv")
        if (r["K_features"], r["k"], r["n_bootstraps"]) == ("50", str(k), str(n))
        and (float(r["bootstrap_fraction"]), r["inequality"]) == (fraction, inequality)
    )
    test = Npfs(null=variant, n=n, stratify=False)
    sizes, true = [], []
    for seed in range(10):
        result = test.select_wrapped(TinyMim(k=k), slides(seed), None, Run(entropy=seed))
        sizes.append(result.selected.size)
        true.append((result.selected < 15).sum())
        assert result.tables["critical-value"][0] == float(row["z_crit"])
    # Same tables, other bootstraps: the means differ by less than the spread over tables allows.
    allowed = 3 * max(float(row["selected_sd"]), 0.5) / np.sqrt(10)
    assert abs(np.mean(sizes) - float(row["selected_mean"])) <= allowed
    assert abs(np.mean(true) - float(row["true_mean"])) <= allowed


def test_tables_hold_what_the_test_is_made_of():
    result = outcome(TinyMim(k=5), slides(0), null="published", n=40)
    tables = result.tables
    assert tables["bootstrap-matrix"].shape == (40, 50)
    np.testing.assert_array_equal(tables["bootstrap-matrix"].sum(axis=0), tables["z"])
    np.testing.assert_array_equal(tables["kept"], 5)
    np.testing.assert_allclose(tables["p0"], 0.1)
    np.testing.assert_allclose(
        tables["p-values"],
        [stats.binomtest(int(z), 40, 0.1, "greater").pvalue for z in tables["z"]],
    )
    np.testing.assert_array_equal(tables["relevant"], tables["z"] > tables["critical-value"])
    np.testing.assert_array_equal(tables["relevant"], tables["p-values"] <= 0.01)
    assert set(result.selected) == set(np.flatnonzero(tables["relevant"]))
    assert (np.diff(tables["z"][result.selected]) <= 0).all()
    np.testing.assert_allclose(result.scores, tables["z"] / 40)
    half = np.sqrt(np.log(2 / 0.01) / 80)
    np.testing.assert_allclose(tables["upper"], np.minimum(result.scores + half, 1))
    assert "does not keep its level" in result.warnings[0]


def test_bases_that_keep_varying_numbers_get_the_poisson_binomial_null():
    class Varying(TinyMim):
        def _select_many(self, data: Any, counts: Any, upstream: Any, run: Any) -> Any:
            result = super()._select_many(data, counts, upstream, run)
            sizes = 2 + counts[:, 0] % 3
            return [
                type(s)(selected=s.selected[:size], scores=s.scores)
                for s, size in zip(result, sizes, strict=True)
            ]

    tables = outcome(Varying(k=10), slides(0), null="published").tables
    p0 = tables["kept"] / 50
    assert set(tables["kept"]) == {2, 3, 4}
    expected = stats.poisson_binom.sf(tables["z"] - 1, p0)
    np.testing.assert_allclose(tables["p-values"], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.01, 0.001])
def test_the_plain_program_decides_the_same(alpha):
    test = Npfs(null="published", n=40, alpha=alpha)
    tables = test.select_wrapped(TinyMim(k=5), slides(1), None, Run()).tables
    wanted = plain.neyman_pearson(tables["bootstrap-matrix"], alpha)
    assert 0 < wanted.sum() < 50
    np.testing.assert_array_equal(tables["relevant"], wanted)
    np.testing.assert_array_equal(tables["z"], plain.counts(tables["bootstrap-matrix"])[0])
