"""Text tables of single digits, which are read as bytes."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe import Chain, Dataset
from fsframe.table import cells
from fsframe.table.read import read
from fsframe.table.source import read_table

N, P = 90, 12


@pytest.fixture
def small(monkeypatch):
    """Blocks of few lines, and tables of any size kept as bytes."""
    monkeypatch.setattr(cells, "BLOCK", 200)
    monkeypatch.setattr("fsframe.table.sheet._BYTES_FROM", 0)


@pytest.fixture
def put_digits(put):
    """A function that writes features and a label."""

    def write(X, y):
        names = ",".join([*(f"s{k}" for k in range(P)), "class"])
        rows = (",".join([*map(str, row), str(label)]) for row, label in zip(X, y, strict=True))
        return put("\n".join([names, *rows]) + "\n")

    return write


def digits() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(3)
    X = draw.integers(0, 3, (N, P))
    return X, (X[:, 0] + X[:, 1] + draw.integers(0, 2, N) > 2).astype(int)


@pytest.mark.usefixtures("small")
def test_they_stay_bytes_with_the_results_of_numbers(put_digits):
    X, y = digits()
    path = put_digits(X, y)
    found = read(path)
    assert found.matrix.dtype == np.uint8
    plain = Dataset.from_arrays(X.astype(float), y, found.feature_names, name="table")
    assert found.sha256 == plain.sha256
    for chain in ("mim:top=4 jmi", "relieff", "chi2", "anova-f", "immigrate:max_iter=5"):
        one, other = (Chain.parse(chain).run(data, seed=1).digests() for data in (found, plain))
        assert one == other, chain
    numbers = read_table(path).numbers(found.feature_names)
    assert numbers.dtype == np.float64 and np.array_equal(numbers, X)


def test_small_ones_are_numbers_as_any_other(put_digits):
    X, y = digits()
    path = put_digits(X, y)
    assert read(path).matrix.dtype == np.float64


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("row", [0, 40, N - 1])
@pytest.mark.parametrize("cell", ["", "2.5", "-1", "12", "NA"])
def test_a_cell_that_is_no_digit_makes_numbers_of_all(put_digits, row, cell):
    X, y = digits()
    table = X.astype(object)
    table[row, 5] = cell
    found = read(put_digits(table, y))
    expected = X.astype(float)
    expected[row, 5] = np.nan if cell in ("", "NA") else float(cell)
    np.testing.assert_array_equal(found.X, expected)
    assert found.matrix.dtype == np.float64


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("row", [0, 40, N - 1])
def test_a_code_that_is_a_digit_is_missing(put_digits, row):
    X, y = digits()
    X[row, 5] = 9
    path = put_digits(X, y)
    found = read(path, na=9)
    assert np.isnan(found.X[row, 5]) and np.isnan(found.X).sum() == 1
    np.testing.assert_array_equal(np.delete(found.X, 5, 1), np.delete(X, 5, 1))
    assert any("1 cells that hold 9" in warning for warning in found.warnings)
    # No such cell: bytes as before.
    assert read(path, na=8).matrix.dtype == np.uint8


@pytest.mark.usefixtures("small")
def test_roles_and_kinds_of_such_columns(put_digits):
    X, y = digits()
    path = put_digits(X, y)
    found = read(path, categorical=["s1"], ordinal={"s2": ["0", "2", "1"]})
    assert found.matrix.dtype == np.uint8 and found.categorical.tolist()[:3] == [False, True, False]
    assert found.X[:, 2].tolist() == [{0: 0, 2: 1, 1: 2}[value] for value in X[:, 2].tolist()]
    ranked = read(path, ordinal="s2")
    assert ranked.kinds["s2"].levels == ("0", "1", "2")
    onehot = read(path, categorical=["s1"], encode="onehot")
    np.testing.assert_array_equal(onehot.X[:, 1:4].argmax(axis=1), X[:, 1])
