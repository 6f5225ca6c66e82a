"""Nearest neighbours against scikit-learn's, ties, and rows that a bootstrap drew twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from fsframe.table.dataset import Dataset
from fsframe.testing.conformance import peak_bytes
from fsframe_filters import knn as module
from fsframe_filters.knn import Knn


def table(seed=0, n=40, p=4, n_classes=3):
    generator = np.random.default_rng(seed)
    return Dataset.from_arrays(generator.standard_normal((n, p)), np.arange(n) % n_classes)


@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from(["euclidean", "manhattan"]))
@settings(max_examples=30, deadline=None)
def test_shares_of_votes_are_those_of_scikit_learn(seed, k, distance):
    data = table(seed)
    new = np.random.default_rng(seed + 1).standard_normal((15, 4))
    scale = StandardScaler().fit(data.X)
    theirs = KNeighborsClassifier(k, metric=distance).fit(scale.transform(data.X), data.y)
    fitted = Knn(k=k, distance=distance).fit(data)
    expected = theirs.predict_proba(scale.transform(new))
    assert fitted.predict_scores(new) == pytest.approx(expected)
    assert (fitted.predict(new) == expected.argmax(axis=1)).all()


def test_without_standardizing_the_units_decide():
    X = np.array([[0.0, 0.0], [1.0, 900.0], [0.0, 1000.0], [1.0, 100.0]])
    data = Dataset.from_arrays(X, ["a", "b", "a", "b"])
    new = [[0.0, 110.0]]
    assert Knn(standardize=False).fit(data).predict_labels(new) == ["b"]
    assert Knn(standardize=True).fit(data).predict_labels(new) == ["a"]


def test_equally_near_rows_are_taken_in_the_order_of_the_table():
    data = Dataset.from_arrays([[1.0], [-1.0], [1.0], [5.0]], ["b", "a", "a", "b"])
    fitted = Knn(k=1, standardize=False).fit(data)
    assert fitted.predict_labels([[0.0]]) == ["b"]


def test_a_level_vote_goes_to_the_first_class():
    data = Dataset.from_arrays([[1.0], [2.0], [8.0], [9.0]], ["b", "a", "a", "b"])
    assert Knn(k=2).fit(data).predict_labels([[1.5]]) == ["a"]


def test_more_neighbours_than_rows_are_all_rows():
    data = table(n=6)
    assert Knn(k=50).fit(data).predict_scores(data.X[:1]) == pytest.approx(np.full((1, 3), 1 / 3))


def test_rows_drawn_twice_are_rows_that_stand_there_twice():
    data = table(3)
    counts = np.random.default_rng(0).integers(0, 4, data.n_samples)
    copied = data.take_rows(np.repeat(np.arange(data.n_samples), counts))
    new = np.random.default_rng(1).standard_normal((20, 4))
    for k in (1, 3, 7):
        ours = Knn(k=k).fit(data.with_counts(counts)).predict_scores(new)
        assert ours == pytest.approx(Knn(k=k).fit(copied).predict_scores(new))


@pytest.mark.parametrize("value", [7.0, 0.1, 1e149, -3e-9])
def test_a_constant_column_says_nothing_whatever_new_rows_hold_there(value):
    # The mean of forty 0.1 is not 0.1: the deviation that rounding leaves must not be divided by.
    data = table(5)
    padded = Dataset.from_arrays(np.column_stack([data.X, np.full(40, value)]), data.y)
    new = np.random.default_rng(1).standard_normal((9, 4))
    expected = Knn(k=3).fit(data).predict(new)
    for there in (value, 5.0):
        found = Knn(k=3).fit(padded).predict(np.column_stack([new, np.full(9, there)]))
        assert (found == expected).all(), there


def test_predictions_do_not_depend_on_the_blocks(monkeypatch):
    data = table(6)
    new = np.random.default_rng(1).standard_normal((31, 4))
    whole = Knn(k=5).fit(data).predict_scores(new)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * 40 * 3)
    assert Knn(k=5).fit(data).predict_scores(new).tobytes() == whole.tobytes()


def test_new_rows_are_scaled_a_block_at_a_time(monkeypatch):
    data, new = table(n=6, p=20_000), np.random.default_rng(1).standard_normal((60, 20_000))
    fitted = Knn(k=2).fit(data)
    expected = fitted.predict_scores(new)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1 << 20)
    assert np.array_equal(fitted.predict_scores(new), expected)
    # The columns that the chain kept are copied, as for every classifier.
    assert peak_bytes(lambda: fitted.predict_scores(new)) < 1.4 * new.nbytes
