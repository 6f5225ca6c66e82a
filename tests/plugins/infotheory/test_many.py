"""Many bootstraps of one table: the same results as one by one, and the table read once."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fsframe
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine import byte_columns
from fsframe_infotheory.engine.byte_columns import ByteLevels, class_masks
from fsframe_infotheory.engine.counting import Counter
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.encode import encode
from fsframe_infotheory.engine.entropy import Layout, clogc_table

from .test_laws import GREEDY


@pytest.fixture(autouse=True)
def _no_table_held():
    byte_columns.forget()
    yield
    byte_columns.forget()


def levels_table(n=130, p=25, seed=0, holes=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.integers(0, rng.integers(1, 9, p), (n, p)).astype(float)
    for j in range(0, p, 4):
        X[:, j] = np.where(rng.random(n) < 0.5, y, X[:, j]) * 3 - 7
    if holes:
        X[rng.random(X.shape) < 0.1] = np.nan
    return Dataset.from_arrays(X, y)


def bootstraps(n, seed=0, many=6):
    rng = np.random.default_rng(seed)
    counts = [np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(many)]
    few = np.zeros(n, int)
    few[:9] = [17, 1, 5, 3, 1, 1, 900, 2, 2]
    return np.array([*counts, few, np.ones(n, int)])


def equal(many, data, counts, method, run):
    for b, (found, drawn) in enumerate(zip(many, counts, strict=True)):
        alone = method.select(data.with_counts(drawn), run=run.child(b))
        assert_array_equal(found.selected, alone.selected)
        assert found.scores.tobytes() == alone.scores.tobytes()


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("name", ["mim", *GREEDY])
def test_bootstraps_together_equal_bootstraps_one_by_one_to_the_bit(name, holes):
    data = levels_table(holes=holes)
    counts = bootstraps(data.n_samples)
    options = {"missing": "level"} if holes else {}
    method = fsframe.selectors[name](top=5, **options)
    run = Run(entropy=3)
    equal(method.select_many(data, counts, run=run), data, counts, method, run)


@pytest.mark.parametrize("name", ["mim", "mrmr", "cmim"])
@pytest.mark.parametrize("kind", ["many levels", "real numbers", "fraction in one row", "mixed"])
def test_tables_that_are_not_the_same_bytes_in_every_bootstrap_are_counted_right_too(name, kind):
    data = levels_table()
    X, rng = np.array(data.X), np.random.default_rng(5)
    if kind == "many levels":
        X[:, 3] = rng.integers(0, 30, len(X))
    elif kind == "real numbers":
        X = X + rng.normal(size=X.shape)
    elif kind == "fraction in one row":
        X[20, 2] += 0.5
    else:
        X[:, 1] = rng.normal(size=len(X))
        X[:, 7] = rng.integers(0, 200, len(X))
    data = Dataset.from_arrays(X, data.y)
    counts = bootstraps(data.n_samples)
    method = fsframe.selectors[name](top=5)
    equal(method.select_many(data, counts, run=Run()), data, counts, method, Run())


def test_significance_in_bootstraps_has_the_streams_of_single_runs():
    data, run = levels_table(), Run(entropy=8)
    counts = bootstraps(data.n_samples, many=3)[:3]
    method = fsframe.selectors["mrmr"](stop="significant", test="permutation", permutations=19)
    equal(method.select_many(data, counts, run=run), data, counts, method, run)


def counted_fills(monkeypatch):
    calls = []
    plain = byte_columns.fill

    def fill(*arguments):
        calls.append(arguments[1])
        return plain(*arguments)

    monkeypatch.setattr(byte_columns, "fill", fill)
    return calls


@pytest.mark.parametrize("name", ["mim", "mrmr", "cmim"])
def test_a_table_is_turned_into_bytes_once_whatever_its_labels_and_bootstraps(name, monkeypatch):
    data = levels_table()
    calls = counted_fills(monkeypatch)
    method = fsframe.selectors[name](top=4)
    first = method.select(data)
    method.select_many(data, bootstraps(data.n_samples)[:6])
    permuted = data.with_labels(np.random.default_rng(1).permutation(data.y))
    other = method.select(permuted)
    assert len(calls) == 1
    byte_columns.forget()
    assert_array_equal(method.select(permuted).scores, other.scores)
    assert_array_equal(method.select(data).scores, first.scores)
    assert len(calls) == 2


def test_bytes_are_held_as_long_as_their_table_and_two_tables_at_most():
    tables = [levels_table(seed=seed) for seed in range(3)]
    for data in tables:
        fsframe.selectors["mim"]().select(data)
    assert len(byte_columns._tables) == 2
    del data
    tables.clear()
    gc.collect()
    assert len(byte_columns._tables) == 0


def test_bytes_that_would_take_too_much_are_not_held(monkeypatch):
    data = levels_table()
    small = Run(memory=8 * data.X.size - 8)
    found = fsframe.selectors["cmim"](top=5).select(data, run=small)
    assert byte_columns._tables == []
    assert_array_equal(found.scores, fsframe.selectors["cmim"](top=5).select(data).scores)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_a_tally_is_what_numpy_counts(n):
    rng = np.random.default_rng(n)
    raw = np.stack(
        [
            rng.integers(0, 5, n),
            rng.integers(200, 232, n),
            rng.integers(0, 254, n),
            np.where(rng.random(n) < 0.3, 254, rng.integers(3, 6, n)),
            np.full(n, 254),
            np.full(n, 253),
            rng.integers(254, 256, n),
        ]
    ).astype(np.uint8)
    y, counts = rng.integers(0, 3, n), rng.integers(0, 9, n)
    counts[0] = 2
    layout = Layout.of(y, 3, counts)
    if layout.weights is not None:
        pytest.skip("too many repetitions for whole counts")
    every, zero = np.ones(len(raw), bool), np.zeros(len(raw))
    found = ByteLevels.of(raw, zero, every, layout, class_masks(layout, n), 250)
    table = clogc_table(layout.n)
    for k, column in enumerate(raw[:-1]):
        cells = np.zeros((256, 3), int)
        np.add.at(cells, (column, y), counts)
        values = np.flatnonzero(cells.sum(axis=1))
        assert_array_equal(found.values[found.starts[k] : found.starts[k + 1]], values)
        assert found.missing[k] == (254 in values)
        expected = [sum(table[cells.sum(axis=1)[values]]), sum(table[cells[values].ravel()])]
        assert_array_equal(found.sums[:, k], expected)
    assert_array_equal(found.usable, raw.max(axis=1) <= 250)


def test_weighted_tables_hold_what_a_walk_through_groups_finds():
    rng = np.random.default_rng(4)
    data = Dataset.from_arrays(rng.integers(0, 6, (90, 7)).astype(float), rng.integers(0, 3, 90))
    weights = rng.random(90)
    encoded, _ = encode(data, Discretiser(), weights=weights)
    counter, partner = Counter(encoded), encoded.partner(2)
    dense = counter._weighted_dense(partner)
    chunk = encoded.chunk(0)
    job = counter._grouped(chunk.codes, np.arange(7), encoded.dropped, partner)
    job.work(0, 7)
    sums = job.found
    for name, row in zip(("total", "j", "jy", "s", "sy", "y", "js", "jsy"), sums, strict=True):
        assert_allclose(getattr(dense, name) + np.zeros(7), row, atol=1e-12, err_msg=name)
