"""Tables of bytes stay bytes, and mean what the same numbers as floats mean."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import fsframe
from fsframe.table.dataset import Dataset
from fsframe.table.frozen_table import _wide
from fsframe.table.read import read

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


def test_bytes_of_files_stay_bytes(tmp_path):
    import h5py

    np.savez(tmp_path / "t.npz", X=G, y=Y)
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["X"], file["y"] = G, Y
    for name in ("t.npz", "t.h5"):
        data = read(tmp_path / name)
        assert data.matrix.dtype == np.uint8
        assert data.sha256 == Dataset.from_arrays(G.astype(float), Y, label_name="y").sha256
