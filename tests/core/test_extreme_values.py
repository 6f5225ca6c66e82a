"""Values near the largest and the smallest doubles: right answers, and no NaN."""

from __future__ import annotations

import numpy as np
import polars
import pytest
from scipy import sparse

import fsframe
from fsframe.chains.chain import Chain
from fsframe.errors import DataError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset

METHODS = ("anova-f", "mim", "chi2", "jmi", "im4e", "irelief", "simba", "mbiw", "relieff", "surf",
           "immigrate")  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e149, 1e-149, 1e-310, 5e-324])
def test_the_column_that_matters_is_best_at_any_scale(method, scale):
    X = np.random.default_rng(0).standard_normal((40, 6))
    y = np.arange(40) % 2
    X[:, 3] += 3 * y  # not the first, which wins ties
    # of the smallest double there are whole multiples only
    X = np.round(4 * X) * scale if scale == 5e-324 else X / np.abs(X).max() * scale
    found = Chain.parse(method).select(Dataset.from_arrays(X, y), run=Run(threads=1))
    assert np.isfinite(found.scores).all()
    assert found.selected[0] == 3


@pytest.mark.parametrize("value", [1e300, -1.7e308, 2e150])
def test_values_whose_squares_are_infinite_are_refused_once_for_all(value, tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[4, 1] = value
    y = np.arange(20) % 2
    place = r"above 1e\+150 in magnitude.* row 5, column 2"
    with pytest.raises(DataError, match=place):
        Dataset.from_arrays(X, y)
    with pytest.raises(DataError, match=place):
        Dataset.from_arrays(sparse.csc_array(np.where(np.abs(X) > 2, X, 0)), y)
    X[7, 2] = np.nan
    with pytest.raises(DataError, match=place):
        Dataset.from_arrays(X, y)
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "class": y})
    frame.write_csv(tmp_path / "t.csv")
    with pytest.raises(DataError, match=r"line 6, column 2 \(b\): too large .above 1e\+150"):
        fsframe.read(tmp_path / "t.csv")
    (tmp_path / "parts").mkdir()
    frame.write_parquet(tmp_path / "parts" / "0.parquet")
    with pytest.raises(
        DataError, match=r"'b' holds values too large to be squared \(above 1e\+150"
    ):
        fsframe.read(tmp_path / "parts", label="class")
    with pytest.raises(DataError, match=r"row 5, and the square of a number above 1e\+150"):
        Dataset.from_arrays(X[:, :1], X[:, 1] + np.where(np.isnan(X[:, 2]), 0, 0.5))


def test_the_largest_values_are_taken():
    X = np.array([[1e150, 0.0], [-1e150, np.nan], [1.0, 2.0]])
    assert Dataset.from_arrays(X, [0, 1, 1]).X[0, 0] == 1e150


BIG = 2**53


def test_whole_numbers_that_would_become_equal_are_refused(tmp_path):
    ids = np.array([[1, BIG], [2, BIG + 1], [3, BIG + 2]])
    frame = polars.DataFrame({"a": ids[:, 0], "id": ids[:, 1], "class": [0, 1, 1]})
    path = tmp_path / "t.csv"
    frame.write_csv(path)
    for what, read in (
        ("column 2 ", lambda: Dataset.from_arrays(ids, [0, 1, 1])),
        ("'id' ", lambda: Dataset.from_frame(frame)),
        ("'id' ", lambda: Dataset.from_frame(frame.to_pandas())),
        (r"column 2 \(id\) ", lambda: fsframe.read(path)),
        ("the label ", lambda: fsframe.read(path, label="id")),
    ):
        with pytest.raises(DataError, match=f"{what}.*tell {BIG} from {BIG + 1}"):
            read()
    apart = np.array([[1, BIG], [2, BIG + 2], [3, BIG + 4]])
    assert Dataset.from_arrays(apart, [0, 1, 1]).X[1, 1] == BIG + 2
