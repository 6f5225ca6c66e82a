"""What must hold for every filter of the family, whatever the data; bins, and their reuse."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe.testing.tables import assert_equal
from fsframe_infotheory.engine import bootstraps as engine
from fsframe_infotheory.engine import encode
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
from fsframe_infotheory.methods.criteria import Mim
from tests.grids import diagonal
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
    selection = select(name, X, y, top=X.shape[1], **more)
    assert selection.selected.tolist()[-2:] == [0, X.shape[1] - 1]
    assert_allclose(selection.scores[[0, -1]], 0, atol=1e-12)


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
    selection = select("jmi", X, y, top=14, exclude=names[:4])
    assert len(selection.selected) == 10
    assert "only 10 of 14 features were selected: no candidate is left" in selection.warnings


CHANGES = {
    "negative": lambda X: X - 300,
    "huge": lambda X: X * 1_000_003 + 5e8,
    "huger": lambda X: X * 1e15,
    "near 2**52": lambda X: X * 3e8 - 2**52,
    "in another order": lambda X: np.array([-7.0, 900.0, 3.0, 0.0])[X.astype(int)],
}


@pytest.mark.parametrize(("name", "how"), diagonal(COUNTED, list(CHANGES), width=2))
def test_codes_of_any_size_and_order_are_levels(name, how):
    X, y = some_table()
    a, b = select(name, X, y, top=5), select(name, CHANGES[how](X), y, top=5)
    assert_array_equal(a.selected, b.selected)
    assert_allclose(a.scores, b.scores, atol=1e-10)
    assert not b.warnings


@pytest.mark.parametrize("name", ["mim", "jmi", "cmim", "cmi", "mrmr", "chi2"])
def test_more_levels_than_a_byte_holds(name):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 700, (2000, 6)).astype(float)
    y = (X[:, 2] > 350).astype(int)
    selection = select(name, X, y, top=3, discretise="none")
    assert selection.selected[0] == 2
    if name == "mim":
        p = y.mean()
        assert_allclose(selection.scores[2], -p * np.log2(p) - (1 - p) * np.log2(1 - p))


def test_more_levels_than_two_bytes_hold():
    n = 70_000
    X = np.c_[np.arange(n), np.arange(n) // 2].astype(float)
    y = np.arange(n) % 2
    selection = select("jmi", X, y, top=2, discretise="none")
    assert_allclose(selection.tables["relevance"], [1.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("name", COUNTED)
def test_one_class_left_tells_nothing_with_a_warning(name):
    X, y = some_table()
    selection = select(
        name, Dataset.from_arrays(X, y).with_counts((y == 1).astype(int)), None, top=3
    )
    assert any("only one class" in text for text in selection.warnings)
    relevance = selection.tables.get("relevance", selection.scores)
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
    selection = select("jmi", X, y, top=8, missing="pairwise")
    assert len(selection.selected) == 8 and np.isfinite(selection.scores).all()


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
    selection = select("jmi", data, None, top=4)
    low, width = target.min() - np.ptp(target) / 1000, 1.001 * np.ptp(target) * 1.001
    classes = np.digitize(target, low + width * np.arange(1, 10) / 10)
    assert_array_equal(selection.selected, select("jmi", X, classes, top=4).selected)
    assert any("target was cut into bins" in text for text in selection.warnings)


@pytest.mark.parametrize("name", COUNTED)
def test_columns_read_in_many_groups_change_no_bit(name, monkeypatch):
    X, y = some_table(n=200, p=70)
    X[:, 30:35] = np.random.default_rng(9).integers(0, 30, (200, 5))
    a = select(name, X, y, top=9)
    monkeypatch.setattr(encode, "CHUNK_BYTES", 8 * 200 * 9)
    assert_equal(select(name, X, y, top=9), a, "read in many groups")


@pytest.mark.parametrize("seed", range(6))
def test_lazy_counting_finds_what_full_counting_finds(seed, monkeypatch):
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


# Bins: each rule by hand or against another program, training rows only, and reuse on new rows


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
    encoded, bins = encode.encode(data, rule)
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
    selection = Mim().select(data)
    again = Bins.from_tables(selection.tables)
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
    selection = fsframe.selectors["mim"]().select(Dataset.from_arrays(np.array(X, order=order), y))
    assert selection.warnings == ()
    share = 0.36
    entropy = -share * np.log2(share) - (1 - share) * np.log2(1 - share)
    assert selection.scores[0] == pytest.approx(entropy, abs=1e-12)


# Columns counted together have the bits of columns counted alone


@pytest.mark.parametrize(
    ("rows", "bootstraps", "classes"), [(60, 2, 2), (60, 90, 3), (37, 11, 2), (12, 8, 2)]
)
def test_columns_counted_together_give_the_bits_of_columns_counted_alone(
    monkeypatch, rows, bootstraps, classes
):
    draw = np.random.default_rng(4)
    X = draw.normal(size=(rows, 30)).round(2)
    X[:, 1] = draw.integers(0, 60, rows)
    X[:, 2] = np.where(draw.random(rows) < 0.1, 0.5, draw.integers(0, 5, rows))
    X[1:, 3] = 0.25
    X[5:9, 5] = np.nan
    # Whole numbers: of some bootstraps few enough to be levels, of all too many, and in between.
    X[:, 6] = draw.integers(0, 10, rows)
    X[:, 7] = draw.integers(0, 10_000, rows)
    for j in range(8, 16):
        X[:, j] = draw.permutation(np.where(np.arange(rows) < 9 + j, -np.arange(rows), 0.0))
    data = fsframe.Dataset.from_arrays(X, np.arange(rows) % classes)
    counts = np.stack(
        [np.bincount(draw.integers(0, rows, rows), minlength=rows) for _ in range(bootstraps)]
    )
    bins = Discretiser(max_levels=12)
    together = engine.bootstrap_relevance(data, counts, bins, Run())
    many, _ = engine.equal_width_of_many(X.T.copy(), counts, bins)
    assert many.sum() > 10 and not many[[5, 6]].any()
    assert rows < 60 or many[7]
    monkeypatch.setattr(engine, "FEW", 0)
    alone = engine.bootstrap_relevance(data, counts, bins, Run())
    assert together.tobytes() == alone.tobytes()
    mim = fsframe.selectors["mim"](max_levels=12, missing="level")
    for relevance, drawn in zip(together, counts, strict=True):
        assert relevance.tobytes() == mim.select(data.with_counts(drawn)).scores.tobytes()
