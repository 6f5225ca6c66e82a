"""Tables held as bytes, as digits of a text, or sparse: as they are, with the results of floats."""

from __future__ import annotations

import pickle
import tracemalloc

import h5py
import numpy as np
import polars
import pytest
from scipy import sparse

import fsframe
from fsframe import Chain, Dataset, evaluate, read
from fsframe.errors import DataError, RequestError
from fsframe.execution import open_engine
from fsframe.method.run import Run
from fsframe.table.arrays import SparseColumns
from fsframe.table.files import cells
from fsframe.table.frozen_table import _wide
from fsframe.table.read import read_table

RNG = np.random.default_rng(4)
G = RNG.integers(0, 3, (120, 30)).astype(np.uint8)
Y = ((G[:, 3] > 0) ^ (G[:, 7] > 1)).astype(int)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_bytes_are_kept_without_a_copy_and_have_the_same_digest(kind):
    X = G.astype(kind)
    data, wide = Dataset.from_arrays(X, Y), Dataset.from_arrays(X.astype(float), Y)
    assert data.matrix.dtype == kind
    assert np.shares_memory(data.matrix, X)
    assert not data.matrix.flags.writeable
    assert X.flags.writeable
    assert data.sha256 == wide.sha256
    assert (data.X.dtype, data.X.tolist()) == (np.float64, wide.X.tolist())
    assert data.take_columns(np.array([2, 0])).matrix.dtype == kind
    assert data.take_rows(np.array([5, 1])).matrix.dtype == kind
    np.testing.assert_array_equal(data.take_rows(np.array([5, 1])).X, wide.X[[5, 1]])


def test_taking_bytes_in_takes_no_more_memory_than_they_have():
    X = np.zeros((2_000, 3_000), np.uint8)
    X[::2] = 1
    y = np.arange(2_000) % 2
    tracemalloc.start()
    data = Dataset.from_arrays(X, y)
    assert tracemalloc.get_traced_memory()[1] < 0.3 * X.nbytes
    assert len(data.sha256) == 64
    # The digest goes by blocks of columns.
    assert tracemalloc.get_traced_memory()[1] < 9 * (1 << 23)
    tracemalloc.stop()


def test_bytes_are_widened_once_for_all_bootstraps_and_forgotten_with_their_table():
    data = Dataset.from_arrays(G.copy(), Y)
    wide = data.X
    assert data.with_counts(np.ones(120, int)).X is wide
    assert data.with_labels(Y[::-1]).X is wide
    before = len(_wide)
    del data, wide
    assert len(_wide) == before - 1


@pytest.mark.parametrize(
    "name", ["mim", "jmi", "mrmr", "chi2", "anova-f", "relieff", "im4e", "immigrate", "surf"]
)
@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_methods_give_the_same_bits_on_bytes_and_floats(name, kind):
    method = fsframe.selectors[name]()
    found = [
        method.select(Dataset.from_arrays(G.astype(t), Y), seed=3).scores for t in (kind, float)
    ]
    np.testing.assert_array_equal(*found)


def test_bytes_of_files_and_frames_stay_bytes(tmp_path):
    np.savez(tmp_path / "t.npz", X=G, y=Y)
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["X"], file["y"] = G, Y
    frame = polars.DataFrame(G, [f"f{k + 1}" for k in range(30)]).with_columns(y=polars.Series(Y))
    for table in (tmp_path / "t.npz", tmp_path / "t.h5", frame):
        data = read(table)
        assert data.matrix.dtype == np.uint8
        assert data.sha256 == Dataset.from_arrays(G.astype(float), Y, label_name="y").sha256


N, P = 90, 12


@pytest.fixture
def small(monkeypatch):
    """Blocks of few lines, and tables of any size kept as bytes."""
    monkeypatch.setattr(cells, "BLOCK", 200)
    monkeypatch.setattr("fsframe.table.files.cells._BYTES_FROM", 0)


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
def test_digits_stay_bytes_with_the_results_of_numbers(put_digits):
    X, y = digits()
    path = put_digits(X, y)
    result = read(path)
    assert result.matrix.dtype == np.uint8
    plain = Dataset.from_arrays(X.astype(float), y, result.feature_names, name="table")
    assert result.sha256 == plain.sha256
    one, other = (Chain.parse("mim:top=4 jmi").run(data, seed=1) for data in (result, plain))
    assert one.digests() == other.digests()
    numbers = read_table(path).numbers(result.feature_names)
    assert numbers.dtype == np.float64 and np.array_equal(numbers, X)


def test_small_tables_of_digits_are_numbers_as_any_other(put_digits):
    assert read(put_digits(*digits())).matrix.dtype == np.float64


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("row", [0, 40, N - 1])
@pytest.mark.parametrize("cell", ["", "2.5", "-1", "12", "NA"])
def test_a_cell_that_is_no_digit_makes_numbers_of_all(put_digits, row, cell):
    X, y = digits()
    table = X.astype(object)
    table[row, 5] = cell
    data = read(put_digits(table, y))
    expected = X.astype(float)
    expected[row, 5] = np.nan if cell in ("", "NA") else float(cell)
    np.testing.assert_array_equal(data.X, expected)
    assert data.matrix.dtype == np.float64


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("row", [0, 40, N - 1])
def test_a_code_that_is_a_digit_is_missing(put_digits, row):
    X, y = digits()
    X[row, 5] = 9
    path = put_digits(X, y)
    data = read(path, na=9)
    assert np.isnan(data.X[row, 5]) and np.isnan(data.X).sum() == 1
    np.testing.assert_array_equal(np.delete(data.X, 5, 1), np.delete(X, 5, 1))
    assert any("1 cell that holds 9 was taken" in warning for warning in data.warnings)
    # No such cell: bytes as before.
    assert read(path, na=8).matrix.dtype == np.uint8


@pytest.mark.usefixtures("small")
def test_roles_and_kinds_of_such_columns(put_digits):
    X, y = digits()
    path = put_digits(X, y)
    data = read(path, categorical=["s1"], ordinal={"s2": ["0", "2", "1"]})
    assert data.matrix.dtype == np.uint8 and data.categorical.tolist()[:3] == [False, True, False]
    assert data.X[:, 2].tolist() == [{0: 0, 2: 1, 1: 2}[value] for value in X[:, 2].tolist()]
    ranked = read(path, ordinal="s2")
    assert ranked.kinds["s2"].levels == ("0", "1", "2")
    onehot = read(path, categorical=["s1"], encode="onehot")
    np.testing.assert_array_equal(onehot.X[:, 1:4].argmax(axis=1), X[:, 1])


@pytest.fixture(scope="module")
def pair():
    """A sparse table and the same one widened: counts, one of them missing."""
    draw = np.random.default_rng(3)
    X = draw.poisson(0.1, (80, 50)).astype(float)
    y = draw.integers(0, 2, 80)
    X[y == 1, 4] += 2
    X[7, 9] = np.nan
    return Dataset.from_arrays(sparse.csr_matrix(X), y), Dataset.from_arrays(X, y)


def test_a_sparse_table_stays_so_through_rows_columns_and_pickles(pair):
    held, wide = pair
    assert held.nbytes < wide.nbytes / 2 and not held.in_memory
    kept = held.matrix
    assert kept.nbytes == kept.values.nbytes + kept.rows.nbytes + kept.starts.nbytes
    assert "sparse: " in repr(held) and held.sha256 == wide.sha256
    rows, columns = np.array([5, 5, 0, 7]), np.array([9, 4, 30, 2, 1])
    part = held.take_rows(rows).take_columns(columns)
    expected = wide.take_rows(rows).take_columns(columns)
    assert isinstance(part.matrix, SparseColumns)
    assert np.array_equal(part.X, expected.X, equal_nan=True)
    again = pickle.loads(pickle.dumps(held.matrix))
    assert np.array_equal(again.read(3, 12), wide.X[:, 3:12], equal_nan=True)


@pytest.mark.parametrize(
    "chain",
    ["impute mim:top=5", "mim:top=5,missing=level", "impute mrmr:top=4", "impute chi2:top=4",
     "anova-f:top=5,missing=pairwise", "impute mim:top=8 relieff:top=3",
     "impute mim:top=20 cmim:top=4 npfs:n=20,permutations=9,permuted_n=2,alpha=0.2"],
)  # fmt: skip
def test_chains_on_sparse_tables_find_the_same_bits(pair, chain):
    found, expected = (Chain.parse(chain).run(data, seed=2) for data in pair)
    for one, other in zip(found.stages, expected.stages, strict=True):
        assert one.selection.selected.tolist() == other.selection.selected.tolist()
        assert one.selection.scores.tobytes() == other.selection.scores.tobytes()


def test_protocols_and_workers_find_the_same_in_sparse_tables(pair):
    with open_engine("processes", workers=2) as engine:
        results = [
            evaluate("impute mim:top=5 knn", data, folds=3, repeats=1, seed=1, executor=engine)
            for data in pair
        ]
    first, second = (result.to_frame() for result in results)
    assert first.equals(second)


def test_bytes_sums_of_repeated_entries_and_odd_types():
    ones = sparse.coo_array((np.ones(4, np.uint8), ([0, 0, 2, 5], [1, 1, 0, 1])), shape=(40, 8))
    data = Dataset.from_arrays(ones, np.arange(40) % 2)
    assert data.matrix.dtype == np.uint8 and data.X[0, 1] == 2 and data.X.sum() == 4
    minus_zero = sparse.csr_array(([-0.0, 1.0], ([0, 1], [0, 0])), shape=(40, 4))
    data = Dataset.from_arrays(minus_zero, np.arange(40) % 2)
    assert not np.signbit(data.X).any()
    truth = sparse.csr_array(minus_zero != 0)
    assert Dataset.from_arrays(truth, np.arange(40) % 2).X.sum() == 1
    with pytest.raises(DataError, match=r"1 value too large .*, the first in row 2, column 1"):
        Dataset.from_arrays(sparse.csr_array(([np.inf], ([1], [0])), shape=(40, 4)), [0, 1] * 20)
    with pytest.raises(DataError, match="complex"):
        Dataset.from_arrays(minus_zero * 1j, np.arange(40) % 2)


def test_what_needs_the_table_whole_is_refused_beyond_the_bound():
    many = sparse.random_array((300, 20_000), density=0.01, rng=np.random.default_rng(0))
    data = Dataset.from_arrays(many, np.arange(300) % 2)
    bound = Run(memory=24 << 20)
    with pytest.raises(
        RequestError, match=r"relieff: the sparse or packed table, which it needs as full floats"
    ):
        Chain.parse("relieff").stages[0].method.select(data, run=bound)
    assert Chain.parse("mim:top=5").stages[0].method.select(data, run=bound).selected.size == 5


def test_sparse_files_stay_sparse(tmp_path):
    draw = np.random.default_rng(0)
    X = sparse.random_array((60, 40), density=0.05, rng=draw, format="lil")
    X[:, 39] = draw.random((60, 1))
    path = tmp_path / "cells.npz"
    sparse.save_npz(path, sparse.csr_matrix(X))
    data = read(path, label="f40")
    assert isinstance(data.matrix, SparseColumns) and data.n_features == 39
    assert np.array_equal(data.X, X.toarray()[:, :39])
    table = read_table(path)
    assert np.array_equal(table.numbers(["f7", "f2"]), X.toarray()[:, [6, 1]])
    assert [row[0] for row in table.rows([6])] == [str(float(x)) for x in X.toarray()[:, 6]]
