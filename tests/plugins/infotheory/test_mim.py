"""Mutual information against references, hand values and laws."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory.methods.criteria import Mim


@pytest.mark.parametrize("name", ["tiny", "m1"])
def test_mim_equals_the_formula_on_the_reference_tables(name, table, expected):
    order, scores = expected(f"{name}_formula", "mim")
    found = Mim(top=len(order)).select(table(name))
    assert found.selected.tolist() == order
    assert_allclose(found.scores[order], scores, atol=1e-12)


def test_tiny_by_hand(table):
    scores = Mim().select(table("tiny")).scores
    h2 = lambda p: -p * np.log2(p) - (1 - p) * np.log2(1 - p)  # noqa: E731
    assert_allclose(scores[[0, 1, 2]], [1 - h2(1 / 8), 1 - h2(1 / 8), 1 - h2(1 / 4)], atol=1e-15)
    assert_allclose(scores[[3, 4, 5, 7]], 0, atol=1e-15)


@pytest.mark.parametrize("name", ["cont5", "cont25"])
def test_default_bins_give_the_information_that_praznik_gives(name, table, reference_folder):
    with (reference_folder / f"{name}_praznik_mi.csv").open() as lines:
        nats = [float(row["mi_nats"]) for row in csv.DictReader(lines)]
    found = Mim(unit="nats").select(table(name))
    assert_allclose(found.scores, nats, atol=1e-12)
    assert "bins of equal width by default" in found.warnings[0]


def _mixed(n=300, p=30, holes=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = np.c_[
        rng.integers(0, 5, (n, p // 3)),
        rng.normal(size=(n, p // 3)),
        rng.integers(0, 40, (n, p // 3)),
    ].astype(float)
    y = rng.integers(0, 3, n)
    X[:, 0] += y
    X[rng.random(X.shape) < holes] = np.nan
    return Dataset.from_arrays(X, y)


@pytest.mark.parametrize("rule", ["auto", "equal-frequency", "mdl", "freedman-diaconis", "none"])
def test_all_bootstraps_together_equal_each_alone_to_the_bit(rule):
    data = _mixed()
    rng = np.random.default_rng(1)
    counts = np.array([np.bincount(rng.integers(0, 300, 300), minlength=300) for _ in range(7)])
    mim = Mim(discretise=rule, missing="level", top=5)
    for memory in (1 << 30, 50_000):
        many = mim.select_many(data, counts, run=Run(memory=memory))
        for together, row in zip(many, counts, strict=True):
            alone = mim.select(data.with_counts(row))
            assert_array_equal(together.scores, alone.scores)
            assert_array_equal(together.selected, alone.selected)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32])
@pytest.mark.parametrize("rule", ["auto", "mdl"])
def test_short_counts_change_no_bit(rule, kind):
    data = _mixed()
    rng = np.random.default_rng(1)
    counts = np.array([np.bincount(rng.integers(0, 300, 300), minlength=300) for _ in range(90)])
    counts[5] *= 40
    mim = Mim(discretise=rule, missing="level", top=5)
    found = mim.select_many(data, counts.astype(kind))
    for short, long in zip(found, mim.select_many(data, counts), strict=True):
        assert_array_equal(short.scores, long.scores)
        assert_array_equal(short.selected, long.selected)


@pytest.mark.parametrize("rule", ["auto", "equal-frequency", "mdl", "freedman-diaconis"])
def test_counts_equal_copied_rows_to_the_bit(rule):
    data = _mixed(holes=0)
    counts = np.random.default_rng(2).integers(0, 4, data.n_samples)
    copied = data.take_rows(np.repeat(np.arange(data.n_samples), counts))
    mim = Mim(discretise=rule)
    assert_array_equal(mim.select(data.with_counts(counts)).scores, mim.select(copied).scores)


def test_importance_weights_are_weighted_counts():
    data = _mixed(holes=0)
    counts = np.random.default_rng(3).integers(1, 4, data.n_samples)
    stage = upstream_with(data, counts / 2)
    weighted = Mim(discretise="edges", edges=[0.0, 1.0]).select(data, upstream=stage)
    counted = Mim(discretise="edges", edges=[0.0, 1.0]).select(data.with_counts(counts))
    assert_allclose(weighted.scores, counted.scores, atol=1e-12)


def upstream_with(data, weights):
    return fsframe.Selection(
        selected=np.arange(data.n_features),
        scores=np.zeros(data.n_features),
        instance_weights=weights,
    )


def test_missing_values_are_refused_unless_a_treatment_is_named():
    data = _mixed()
    with pytest.raises(DataError, match=r'`mim:missing=pairwise`.*missing="level"'):
        Mim().select(data)
    assert "a level of their own" in "".join(Mim(missing="level").select(data).warnings)


def test_pairwise_deletion_counts_the_present_rows_only():
    data = _mixed()
    found = Mim(missing="pairwise", discretise="none").select(data)
    for j in range(0, 30, 7):
        present = ~np.isnan(data.X[:, j])
        part = Dataset.from_arrays(data.X[present][:, [j]], data.y[present])
        assert_allclose(found.scores[j], Mim(discretise="none").select(part).scores[0], atol=1e-12)


def test_unknown_given_feature_is_named_with_the_nearest_one(table):
    with pytest.raises(RequestError, match="Did you mean"):
        Mim(given=["x00"]).select(table("tiny"))


def test_given_features_come_first_and_excluded_ones_never(table):
    found = Mim(given=["x7"], exclude=["x0"], top=2).select(table("tiny"))
    assert found.selected.tolist() == [7, 1, 2]


@pytest.mark.parametrize(
    "options", [{}, {"exclude": ("f1",)}, {"estimator": "knn"}, {"unit": "nats"}]
)
def test_mim_has_the_table_of_relevance_that_all_filters_have(options):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    data = Dataset.from_arrays(X + y[:, None] * [0.0, 1.0, 2.0, 0.5], y)
    found = fsframe.selectors["mim"](**options).select(data)
    relevance = found.tables["relevance"]
    assert np.isfinite(relevance).all()
    known = ~np.isnan(found.scores)
    np.testing.assert_array_equal(relevance[known], found.scores[known])
    other = fsframe.selectors["mrmr"](**options).select(data).tables["relevance"]
    np.testing.assert_allclose(relevance, other, rtol=0, atol=1e-12)
