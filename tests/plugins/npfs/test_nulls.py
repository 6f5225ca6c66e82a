"""Nulls that hold their level: label permutations and disjoint shards."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsframe.chains.chain import Chain
from fsframe.errors import PluginError
from fsframe.method.run import Run
from fsframe.resampling.resamples import CountNull, RelabellingNull
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.decisions import decide_by_centred_counts, shrinkage_factor
from fsframe_npfs.methods.npfs import Npfs
from tests.plugins.shared import people

from .conftest import TinyMim, outcome, slides


def named(test: Npfs, base: Any, data: Dataset, seed: int = 0) -> np.ndarray:
    return test.select_wrapped(base, data, None, Run(entropy=seed)).selected


def test_permutation_null_holds_its_level_where_nothing_is_relevant() -> None:
    # 15 tables of 40 features: 6 false ones are allowed in all, and the published form names
    # hundreds. Three standard deviations of a count of 6 are 7.
    for test in (Npfs(n=20, permutations=24), Npfs(n=12, permutations=24, statistic="counts")):
        false = sum(named(test, TinyMim(k=6), slides(s, 200, 40, 0), s).size for s in range(15))
        assert false <= 6 + 7
    published = Npfs(n=50, null="published")
    assert sum(named(published, TinyMim(k=6), slides(s, 200, 60, 0), s).size for s in range(5)) > 25


def test_shards_hold_their_level_and_find_what_is_there() -> None:
    test = Npfs(null="shards", n=20)
    false = sum(named(test, TinyMim(k=5), slides(s, 2000, 50, 0), s).size for s in range(20))
    assert false <= 10 + 3 * np.sqrt(10)
    found = named(Npfs(null="shards", n=50), TinyMim(k=10), slides(0, 20000, 100, 10))
    assert set(found) == set(range(10))


def test_shards_partition_the_rows_and_p0_is_k_over_K() -> None:
    tables = outcome(TinyMim(k=5), slides(0), null="shards", n=8).tables
    assert tables["bootstrap-matrix"].shape == (8, 50)
    np.testing.assert_allclose(tables["p0"], 0.1)


def test_own_null_compares_each_feature_with_itself() -> None:
    data = slides(0, 500, 20, 3)
    found = outcome(
        TinyMim(k=4), data, n=30, alpha=0.05, compare="own", permutations=19, statistic="counts"
    )
    null, z = found.tables["null-z"], found.tables["z"]
    assert null.shape == (19, 20)
    np.testing.assert_allclose(found.tables["p-values"], (1 + (null >= z).sum(axis=0)) / 20)
    assert set(found.selected) == set(np.flatnonzero(found.tables["p-values"] <= 0.05))


def test_pooled_p_values_count_all_permuted_counts() -> None:
    found = outcome(
        TinyMim(k=4),
        slides(0, 500, 20, 3),
        n=30,
        permutations=6,
        compare="pooled",
        statistic="counts",
    )
    z = found.tables["z"]
    pool = np.concatenate((z, found.tables["null-z"].ravel()))
    assert pool.size == 140
    expected = (pool[:, None] >= z).sum(axis=0) / 140
    np.testing.assert_allclose(found.tables["p-values"], expected)
    np.testing.assert_array_equal(found.tables["relevant"], found.tables["p-values"] <= 0.01)


def centred_p_values(rows: np.ndarray, unlisted: int) -> np.ndarray:
    """The definition, one labelling and one feature at a time."""
    permutations = len(rows) - 1
    full = np.column_stack((rows, np.zeros((len(rows), unlisted))))
    means = full.mean(axis=0)
    between, within = means.var(ddof=1), full.var(axis=0, ddof=1).mean() / len(rows)
    share = max(0.0, 1 - within / between) if between > 0 else 0.0
    r = np.array([row - share * np.delete(full, j, 0).mean(axis=0) for j, row in enumerate(full)])
    reached = [(r >= own - 1e-8).sum() for own in r[0][: rows.shape[1]]]
    return np.array(reached) / ((1 + permutations) * full.shape[1])


def test_centred_p_values_take_the_mean_of_the_other_labellings_off() -> None:
    found = outcome(TinyMim(k=4), slides(0, 500, 20, 3), n=30, permutations=7, statistic="counts")
    rows = np.vstack((found.tables["z"], found.tables["null-z"])).astype(float)
    np.testing.assert_allclose(found.tables["p-values"], centred_p_values(rows, 0))
    np.testing.assert_array_equal(found.tables["relevant"], found.tables["p-values"] <= 0.01)
    np.testing.assert_array_equal(
        found.tables["relevant"], found.tables["z"] > found.tables["critical-value"]
    )


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_centred_verdicts_agree_with_their_definition_and_with_unlisted_zeros(
    data: st.DataObject,
) -> None:
    n, permutations, m = 9, data.draw(st.integers(1, 6)), data.draw(st.integers(2, 8))
    counts = st.lists(st.integers(0, n), min_size=m, max_size=m)
    z = np.array(data.draw(counts))
    null = np.array([data.draw(counts) for _ in range(permutations)])
    unlisted = data.draw(st.integers(0, 5))
    alpha = data.draw(st.sampled_from([0.05, 0.2, 0.5, 0.99]))
    verdict = decide_by_centred_counts(
        z, null, n, alpha=alpha, correction="none", tests=m + unlisted
    )
    p = centred_p_values(np.vstack((z, null)).astype(float), unlisted)
    np.testing.assert_allclose(verdict.p, p)
    np.testing.assert_array_equal(verdict.relevant, (p <= alpha + 1e-12) & (z > 0))
    np.testing.assert_array_equal(verdict.relevant, (z > verdict.critical) & (z > 0))


def test_little_is_taken_off_where_features_are_alike_and_much_where_they_differ() -> None:
    rng = np.random.default_rng(0)
    alike = rng.binomial(50, 0.2, size=(11, 200))
    own = rng.binomial(50, rng.random(200), size=(11, 200))
    assert shrinkage_factor(alike, 200) < 0.25
    assert shrinkage_factor(own, 200) > 0.95


def test_number_of_permutations_follows_from_alpha_where_it_is_left_out() -> None:
    found = outcome(TinyMim(), slides(0, 100, 22), n=3, alpha=0.0004)
    assert len(found.tables["mean-scores"]) == 114  # the first P + 1 with 1 / (22 (P + 1)) <= alpha


def test_permuted_counts_do_not_depend_on_the_true_label() -> None:
    # Relevant features must not leak into the null: its mean is k/K for each of them.
    found = outcome(TinyMim(k=10), slides(0, 600, 50, 5), n=50, permutations=40, statistic="counts")
    mean = found.tables["null-z"].mean(axis=0) / 50
    assert abs(mean[:5].mean() - 0.2) < 0.08 and abs(mean[5:].mean() - 0.2) < 0.03


def test_what_the_left_stage_found_on_the_whole_table_does_not_reach_the_bootstraps() -> None:
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
def test_labels_that_are_none_are_refused_with_the_name_of_the_null(gives: Any, words: str) -> None:
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
def test_a_tail_that_is_none_is_refused(numbers: Any) -> None:
    null = _Counts()
    null.numbers = numbers
    with pytest.raises(PluginError, match="gave no tail"):
        null.tail(np.array([1, 1]), 4, 0.0)
    null.numbers = (1, 0.5, 0.25, 0)
    assert null.tail(np.array([1, 1]), 4, 0.0).tolist() == [1, 0.5, 0.25, 0]


# Rows in groups


def named_of_people(tables: int) -> tuple[int, int]:
    """Features named with groups and without, of 12 in each table that mean nothing."""
    chain = Chain.parse("mim:top=3 npfs:n=20,permutations=10,alpha=0.05")
    with_groups = without = 0
    for seed in range(tables):
        data = people(seed, 24, 8, 12)
        with_groups += chain.run(data, seed=seed).selected.size
        without += chain.run(attrs.evolve(data, groups=None), seed=seed).selected.size
    return with_groups, without


def test_people_are_not_found_where_only_people_differ():
    with_groups, without = named_of_people(6)
    # 72 × 0.05 = 3.6 are promised.
    assert with_groups <= 8 < without


@pytest.mark.slow
def test_the_level_is_held_by_groups_and_not_by_rows():
    with_groups, without = named_of_people(30)
    # Two standard errors of 360 × 0.05, features of one table taken as dependent.
    assert with_groups <= 30 < 45 < without
