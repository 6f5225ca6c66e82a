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


def test_missing_values_are_refused_with_what_may_be_asked():
    with pytest.raises(DataError, match=r'`mim:missing=pairwise`.*missing="level"'):
        Mim().select(_mixed())


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
@pytest.mark.parametrize("many", [7, 60])
def test_bootstraps_together_are_those_of_each_and_counts_are_copies(rule, many):
    # 60 of 300 rows are more draws than are counted in one pass.
    data, rng = _mixed(), np.random.default_rng(1)
    counts = np.array([np.bincount(rng.integers(0, 300, 300), minlength=300) for _ in range(many)])
    mim = Mim(discretise=rule, missing="level", top=5)
    alone = [mim.select(data.with_counts(row)) for row in counts]
    for memory, kind in ((1 << 30, np.int64), (50_000, np.int64), (1 << 30, np.uint8)):
        found = mim.select_many(data, counts.astype(kind), run=Run(memory=memory))
        for together, one in zip(found, alone, strict=True):
            assert_array_equal(together.scores, one.scores)
            assert_array_equal(together.selected, one.selected)
    copied = mim.select(data.take_rows(np.repeat(np.arange(300), counts[0])))
    assert_array_equal(alone[0].scores, copied.scores)
    # Unlike totals, and more than a short integer holds.
    counts[5] *= 250
    for short, long in zip(
        *(mim.select_many(data, counts.astype(kind)) for kind in (np.uint16, np.int64)), strict=True
    ):
        assert_array_equal(short.scores, long.scores)


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
