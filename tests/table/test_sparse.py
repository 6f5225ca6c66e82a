"""Sparse tables: held as they are, read by columns, refused where they would have to be widened."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from fsframe import Chain, Dataset, evaluate, read
from fsframe.errors import DataError, RequestError
from fsframe.execution import open_engine
from fsframe.method.run import Run
from fsframe.table.arrays import SparseColumns
from fsframe.table.source import read_table


@pytest.fixture(scope="module")
def pair():
    """A sparse table and the same one widened: counts, one of them missing."""
    draw = np.random.default_rng(3)
    X = draw.poisson(0.1, (80, 50)).astype(float)
    y = draw.integers(0, 2, 80)
    X[y == 1, 4] += 2
    X[7, 9] = np.nan
    return Dataset.from_arrays(sparse.csr_matrix(X), y), Dataset.from_arrays(X, y)


def test_it_stays_sparse_through_rows_columns_and_pickles(pair):
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
     "impute mim:top=20 cmim:top=4 npfs:n=20,permuted_n=2"],
)  # fmt: skip
def test_chains_find_the_same_bits(pair, chain):
    found, expected = (Chain.parse(chain).run(data, seed=2) for data in pair)
    for one, other in zip(found.stages, expected.stages, strict=True):
        assert one.selection.selected.tolist() == other.selection.selected.tolist()
        assert one.selection.scores.tobytes() == other.selection.scores.tobytes()


def test_protocols_and_workers_find_the_same(pair):
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


def test_files_stay_sparse(tmp_path):
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
