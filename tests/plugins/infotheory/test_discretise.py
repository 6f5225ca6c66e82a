"""Bins: each rule by hand or against another program, training rows only, and reuse on new rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fsframe
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.discretise import (
    RULES,
    Bins,
    Discretiser,
    default_bins,
    equal_frequency_edges,
    equal_width_edges,
    freedman_diaconis_edges,
    mdl_edges,
)
from fsframe_infotheory.engine.encode import encode
from fsframe_infotheory.methods.criteria import Mim


def continuous(n=200, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return Dataset.from_arrays(X, (X[:, 0] + rng.normal(size=n) > 0).astype(int))


def test_default_number_of_bins_is_praznik_s():
    assert [default_bins(n) for n in (1, 5, 6, 15, 30, 31, 9999)] == [2, 2, 2, 5, 10, 10, 10]


def test_equal_frequency_by_hand():
    values = np.array([1.0, 2, 3, 4, 5, 6, 100, 200])
    assert equal_frequency_edges(values, None, 4).tolist() == [2.5, 4.5, 53.0]
    tied = np.array([1.0, 1, 1, 1, 1, 2, 3])
    assert equal_frequency_edges(tied, None, 3).tolist() == [1.5]


def test_freedman_diaconis_has_numpy_s_number_of_bins():
    values = np.random.default_rng(1).normal(size=500)
    ours = freedman_diaconis_edges(values, None).size + 1
    assert ours == len(np.histogram_bin_edges(values, "fd")) - 1
    one_far = np.r_[np.linspace(0, 1, 100), 1e12]
    assert freedman_diaconis_edges(one_far, None).size <= 254


def test_mdl_cuts_where_the_class_changes_and_nowhere_else():
    values = np.arange(90.0)
    assert mdl_edges(values, np.repeat([0, 1, 0], 30)).tolist() == [29.5, 59.5]
    assert mdl_edges(values, np.tile([0, 1, 2], 30)).size == 0


def test_mdl_follows_the_published_inequality():
    # 8 of class 0, then 2 of 0 among 10: gain and threshold written out.
    y = np.r_[np.zeros(8, int), 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]
    h = lambda *c: -sum(v / sum(c) * np.log2(v / sum(c)) for v in c if v)  # noqa: E731
    n, whole, right = 18, h(10, 8), h(2, 8)
    gain = whole - 10 / 18 * right
    delta = np.log2(3**2 - 2) - (2 * whole - 1 * 0 - 2 * right)
    accepted = gain > (np.log2(n - 1) + delta) / n
    assert accepted and mdl_edges(np.arange(18.0), y)[0] == 7.5


@pytest.mark.parametrize("rule", RULES)
def test_bins_applied_to_the_training_rows_are_the_codes_that_are_counted(rule):
    data = continuous()
    rule = Discretiser(rule=rule, edges=(-0.5, 0.5) if rule == "edges" else ())
    encoded, bins = encode(data, rule)
    codes = bins.apply(data.X)
    order = encoded.layout.order
    for j in range(data.n_features):
        assert_array_equal(encoded.codes_of(j), codes[order, j])
        assert codes[:, j].max() + 1 <= encoded.n_levels[j]


def test_bins_come_from_the_training_rows_alone():
    data = continuous()
    half = data.take_rows(np.arange(100))
    bins = Discretiser().learn(half)
    far = np.full((1, 4), 1e9)
    assert bins.apply(far).tolist() == [[9, 9, 9, 9]] and bins.apply(-far).tolist() == [[0] * 4]
    counted = Discretiser().learn(
        data.with_counts(np.r_[np.ones(100, int), np.zeros(100, int)]).take_rows(np.arange(100))
    )
    assert_array_equal(bins.thresholds, counted.thresholds)


def test_bins_are_stored_with_the_result_and_read_back():
    data = continuous()
    found = Mim().select(data)
    again = Bins.from_tables(found.tables)
    assert_array_equal(again.apply(data.X), Discretiser().learn(data).apply(data.X))


def test_new_rows_meet_missing_and_unseen_levels():
    data = Dataset.from_arrays([[1, 0.5], [3, 0.25], [3, np.nan]], [0, 1, 1])
    bins = Discretiser(bins=2).learn(data)
    codes = bins.apply([[3, 0.3], [2, np.nan], [np.nan, 9]])
    assert codes.tolist() == [[1, 0], [3, 2], [2, 1]]


def test_whole_numbers_are_levels_up_to_a_limit():
    X = np.c_[np.arange(100) % 32, np.arange(100) % 33, np.arange(100) % 3 + 0.5]
    bins = Discretiser().learn(Dataset.from_arrays(X, np.arange(100) % 2))
    assert bins.as_levels.tolist() == [True, False, False]
    assert bins.binned_by_default == (1, 2)
    all_binned = Discretiser(max_levels=0).learn(Dataset.from_arrays(X, np.arange(100) % 2))
    assert not all_binned.as_levels.any()


def test_signed_zeros_are_one_level():
    data = Dataset.from_arrays([[0.0], [-0.0], [1.5]], [0, 1, 1])
    assert Discretiser(rule="none").learn(data).n_levels.tolist() == [2]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 0.0), (0.5, 2.0)])
def test_the_range_is_widened_only_where_both_ends_have_a_size_as_in_praznik(low, high):
    edges = equal_width_edges(np.array([low]), np.array([high]), 10)[0]
    if 0.0 in (low, high):
        expected = low + (high - low) * np.arange(1, 10) / 10
    else:
        wide = low - (high - low) / 1000
        expected = wide + (high + (high - wide) / 1000 - wide) * np.arange(1, 10) / 10
    assert_allclose(edges, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("rule", ["auto", "equal-width", "equal-frequency"])
@pytest.mark.parametrize("exponent", [-16, -40, -200, -300])
def test_the_unit_of_a_column_does_not_change_its_information(exponent, rule, order):
    generator = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = generator.normal(size=(40, 3))
    X[:, 0] += 2 * y
    mim = fsframe.selectors["mim"](discretise=rule)

    def scores(table: np.ndarray) -> np.ndarray:
        return mim.select(Dataset.from_arrays(np.array(table, order=order), y)).scores

    # Powers of two, so that no digit is rounded away.
    small = scores(np.ldexp(X, round(exponent / np.log10(2))))
    assert small.min() > 0
    assert np.array_equal(small, scores(X))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("value", [126, 127, 128, 129, 254, 255])
def test_a_value_far_from_the_first_rows_is_not_missing(value, order):
    y = (np.arange(100) >= 64).astype(int)
    X = np.column_stack([value * y, np.arange(100) % 3]).astype(float)
    found = fsframe.selectors["mim"]().select(Dataset.from_arrays(np.array(X, order=order), y))
    assert found.warnings == ()
    share = 0.36
    entropy = -share * np.log2(share) - (1 - share) * np.log2(1 - share)
    assert found.scores[0] == pytest.approx(entropy, abs=1e-12)
