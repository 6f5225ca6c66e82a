"""What must hold for every filter of the family, whatever the data."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.table.dataset import Dataset
from fsframe.testing.tables import assert_equal
from tests.plugins.shared import GREEDY

COUNTED = (*GREEDY, "mim", "symmetric-uncertainty", "fcbf", "chi2")


def some_table(n=240, p=14, seed=4, dtype=float):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.integers(0, 4, (n, p))
    for j, noise in enumerate((0.3, 0.5, 0.6, 0.7)):
        X[:, j] = np.where(rng.random(n) < noise, X[:, j], y)
    X[:, 5] = (X[:, 6] + y) % 3
    return X.astype(dtype), y


def select(name, X, y, run=None, **parameters):
    data = X if isinstance(X, Dataset) else Dataset.from_arrays(X, y)
    return fsframe.selectors[name](**parameters).select(data, run=run)


@pytest.mark.parametrize("name", ["symmetric-uncertainty", "fcbf", "chi2"])
def test_scores_without_a_unit_are_asked_for_in_none(name):
    with pytest.raises(RequestError, match="have no unit; leave unit=nats out"):
        select(name, *some_table(), unit="nats")


@pytest.mark.parametrize("name", [*GREEDY, "mim"])
def test_constant_column_has_no_relevance_and_comes_last_when_told_so(name):
    X, y = some_table()
    X = np.c_[np.full(len(y), 5.0), X, np.zeros(len(y))]
    more = {} if name == "mim" else {"constants": "last"}
    found = select(name, X, y, top=X.shape[1], **more)
    assert found.selected.tolist()[-2:] == [0, X.shape[1] - 1]
    assert_allclose(found.scores[[0, -1]], 0, atol=1e-12)


@pytest.mark.parametrize("name", GREEDY)
def test_given_features_are_conditioned_on_and_excluded_ones_never_chosen(name):
    X, y = some_table()
    free = select(name, X, y, top=4)
    first, second, *_ = free.selected.tolist()
    names = Dataset.from_arrays(X, y).feature_names
    after = select(name, X, y, top=3, given=[names[first]])
    assert after.selected.tolist() == free.selected.tolist()
    without = select(name, X, y, top=4, exclude=[names[second]])
    assert second not in without.selected and np.isnan(without.scores[second])


def test_excluding_leaves_too_few_and_says_so():
    X, y = some_table(p=14)
    names = Dataset.from_arrays(X, y).feature_names
    found = select("jmi", X, y, top=14, exclude=names[:4])
    assert len(found.selected) == 10
    assert "only 10 of 14 features were selected: no candidate is left" in found.warnings


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize(
    "change",
    [
        lambda X: X - 300,
        lambda X: X * 1_000_003 + 5e8,
        lambda X: X * 1e15,
        lambda X: X * 3e8 - 2**52,
        lambda X: np.array([-7.0, 900.0, 3.0, 0.0])[X.astype(int)],
    ],
    ids=["negative", "huge", "huger", "near 2**52", "in another order"],
)
def test_codes_of_any_size_and_order_are_levels(name, change):
    X, y = some_table()
    a, b = select(name, X, y, top=5), select(name, change(X), y, top=5)
    assert_array_equal(a.selected, b.selected)
    assert_allclose(a.scores, b.scores, atol=1e-10)
    assert not b.warnings


@pytest.mark.parametrize("name", ["mim", "jmi", "cmim", "cmi", "mrmr", "chi2"])
def test_more_levels_than_a_byte_holds(name):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 700, (2000, 6)).astype(float)
    y = (X[:, 2] > 350).astype(int)
    found = select(name, X, y, top=3, discretise="none")
    assert found.selected[0] == 2
    if name == "mim":
        p = y.mean()
        assert_allclose(found.scores[2], -p * np.log2(p) - (1 - p) * np.log2(1 - p))


def test_more_levels_than_two_bytes_hold():
    n = 70_000
    X = np.c_[np.arange(n), np.arange(n) // 2].astype(float)
    y = np.arange(n) % 2
    found = select("jmi", X, y, top=2, discretise="none")
    assert_allclose(found.tables["relevance"], [1.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("name", COUNTED)
def test_one_class_left_tells_nothing_with_a_warning(name):
    X, y = some_table()
    found = select(name, Dataset.from_arrays(X, y).with_counts((y == 1).astype(int)), None, top=3)
    assert any("only one class" in text for text in found.warnings)
    relevance = found.tables.get("relevance", found.scores)
    assert_allclose(relevance, 0, atol=1e-12)


@pytest.mark.parametrize("name", [*COUNTED, "anova-f"])
def test_missing_values_are_refused_with_the_choices_named(name):
    X, y = some_table()
    X[3, 2] = np.nan
    with pytest.raises(DataError, match="missing=pairwise"):
        select(name, X, y)


@pytest.mark.parametrize("name", COUNTED)
def test_missing_as_a_level_equals_a_level_of_that_name(name):
    X, y = some_table()
    holes = np.random.default_rng(6).random(X.shape) < 0.1
    a = select(name, np.where(holes, np.nan, X), y, top=5, missing="level")
    b = select(name, np.where(holes, 99.0, X), y, top=5)
    assert_array_equal(a.selected, b.selected)
    assert_allclose(a.scores, b.scores, atol=1e-12)
    assert any("a level of their own" in text for text in a.warnings)


def test_features_without_any_common_row_tell_nothing_of_each_other():
    X, y = some_table(p=8)
    X[::2, 0] = np.nan
    X[1::2, 1] = np.nan
    found = select("jmi", X, y, top=8, missing="pairwise")
    assert len(found.selected) == 8 and np.isfinite(found.scores).all()


def test_column_without_any_value_tells_nothing():
    X, y = some_table(p=8)
    X[:, 3] = np.nan
    for missing in ("level", "pairwise"):
        assert select("mim", X, y, missing=missing).scores[3] == 0
        assert select("jmi", X, y, top=6, missing=missing).tables["relevance"][3] == 0


def test_categorical_columns_stay_as_they_are():
    rng = np.random.default_rng(7)
    X = rng.integers(0, 90, (500, 2)).astype(float)
    y = (X[:, 0] % 2).astype(int)
    plain = Dataset.from_arrays(X, y)
    named = Dataset.from_arrays(X, y, categorical=[0, 1])
    assert select("mim", plain, None).warnings and not select("mim", named, None).warnings
    p = y.mean()
    expected = -p * np.log2(p) - (1 - p) * np.log2(1 - p)
    assert_allclose(select("mim", named, None).scores[0], expected)


def test_numeric_target_is_binned_and_said_to_be():
    X, y = some_table()
    target = y + np.random.default_rng(8).normal(0, 0.1, len(y))
    data = Dataset.from_arrays(X, target)
    found = select("jmi", data, None, top=4)
    low, width = target.min() - np.ptp(target) / 1000, 1.001 * np.ptp(target) * 1.001
    classes = np.digitize(target, low + width * np.arange(1, 10) / 10)
    assert_array_equal(found.selected, select("jmi", X, classes, top=4).selected)
    assert any("target was cut into bins" in text for text in found.warnings)


@pytest.mark.parametrize("name", COUNTED)
def test_columns_read_in_many_groups_change_no_bit(name, monkeypatch):
    from fsframe_infotheory.engine import encode

    X, y = some_table(n=200, p=70)
    X[:, 30:35] = np.random.default_rng(9).integers(0, 30, (200, 5))
    a = select(name, X, y, top=9)
    monkeypatch.setattr(encode, "CHUNK_BYTES", 8 * 200 * 9)
    assert_equal(select(name, X, y, top=9), a, "read in many groups")


@pytest.mark.parametrize("seed", range(6))
def test_lazy_counting_finds_what_full_counting_finds(seed, monkeypatch):
    from fsframe_infotheory.engine import encode

    X, y = some_table(n=150, p=80, seed=seed)
    monkeypatch.setattr(encode, "CHUNK_BYTES", 8 * 150 * 19)
    lazily = select("cmim", X, y, top=40)
    monkeypatch.setattr(encode.Coded, "joined", lambda *_: None)
    fully = select("cmim", X, y, top=40)
    assert_array_equal(lazily.selected, fully.selected)
    assert_allclose(lazily.scores, fully.scores, atol=1e-14)


class Source:
    """A table that is read by columns, in one memory layout or the other."""

    def __init__(self, X, layout):
        self.X = np.asarray(X, order=layout)
        self.shape, self.dtype = X.shape, X.dtype

    def read(self, start, stop):
        return self.X[:, start:stop]


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["mim", "jmi", "chi2"])
def test_tables_read_by_columns_give_the_same_in_any_layout_and_type(layout, kind, name):
    X, y = some_table(p=20)
    # 252 … 255 as bytes, and 0 … 255: both ends of what a byte holds.
    X[:, 7] += 252
    X[:, 8] = np.random.default_rng(10).integers(0, 256, len(y))
    a = select(name, X, y, top=9)
    b = select(name, Dataset.from_arrays(Source(X.astype(kind), layout), y), None, top=9)
    assert_equal(b, a, f"{layout} {kind}", besides=("tables",))
