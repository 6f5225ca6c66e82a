"""Dataset: hand cases, refusals with their place, identity by digest."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsframe.errors import DataError
from fsframe.table.dataset import Dataset


def table(n: int = 6, p: int = 3) -> Dataset:
    X = np.arange(n * p, dtype=float).reshape(n, p) ** 1.5
    return Dataset.from_arrays(X, np.arange(n) % 2, name="table")


@attrs.frozen
class OnDisk:
    """A table read by columns."""

    array: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape  # type: ignore[return-value]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def read(self, start: int, stop: int) -> np.ndarray:
        return self.array[:, start:stop]


@pytest.mark.parametrize(
    ("labels", "classes", "codes"),
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        ([3, 1, 3], (1, 3), [1, 0, 1]),
        ([2.0, 1.0, 2.0], (1, 2), [1, 0, 1]),
        # Beyond 64 bits there is no integer for it.
        ([1.0, 2.0**63, 1.0], (1.0, 2.0**63), [0, 1, 0]),
        ([True, False, True], (False, True), [1, 0, 1]),
        (np.array([10, 9, 10], dtype=object), (9, 10), [1, 0, 1]),
        (np.array(["x", "y", "x"], dtype=object), ("x", "y"), [0, 1, 0]),
        (np.array(["x", 1, "x"], dtype=object), ("1", "x"), [1, 0, 1]),
    ],
)
def test_classes_are_the_sorted_labels(labels: Any, classes: tuple[Any, ...], codes: Any) -> None:
    data = Dataset.from_arrays(np.eye(3), labels)
    assert data.classes == classes
    assert [type(label) for label in data.classes] == [type(label) for label in classes]
    assert data.y.tolist() == codes
    assert data.y.dtype == np.int64
    assert data.task == "classification"


def test_numbers_that_are_not_whole_are_a_target() -> None:
    data = Dataset.from_arrays(np.eye(3), [0.5, 1.0, 2.0])
    assert data.task == "regression"
    assert data.y.dtype == np.float64
    assert data.classes == () and data.n_classes == 0
    assert Dataset.from_arrays(np.eye(3), [1, 2, 3], task="regression").task == "regression"
    assert Dataset.from_arrays(np.eye(3), [0.5, 1, 2], task="classification").n_classes == 3


@pytest.mark.parametrize(
    ("X", "y", "options", "complaint"),
    [
        ([[1, np.inf], [-np.inf, 0]], [0, 1], {}, "2 values too large .* in row 1, column 2"),
        ([[1, "b"], [2, "d"]], [0, 1], {}, "row 1 of column 2 holds 'b'; give a data frame"),
        ([[1, 2], [3]], [0, 1], {}, "must be a table of numbers: its rows differ in length"),
        ([[1 + 2j], [3]], [0, 1], {}, "row 1 of column 1 holds .*j"),
        (np.array([["2020-01-01"], ["2021-01-01"]], "M8[D]"), [0, 1], {}, "table of numbers"),
        ([1, 2], [0, 1], {}, r"samples × features, not of shape \(2,\)"),
        (np.empty((0, 3)), [], {}, "samples × features"),
        (np.empty((3, 0)), [0, 1, 0], {}, "samples × features"),
        (np.eye(2), [0, 1, 0], {}, r"has shape \(3,\), the table 2 rows"),
        (np.eye(2), [1, 1], {}, "has one class only"),
        (np.eye(2), [0.5, np.nan], {}, "missing or infinite in row 2"),
        (np.eye(2), np.array(["a", None], object), {}, "missing in row 2"),
        (np.eye(2), np.array([np.nan, "a"], object), {}, "missing in row 1"),
        (np.eye(2), ["a", "b"], {"task": "regression"}, "holds text"),
        (np.eye(2), [0, 1], {"task": "ranking"}, "classification or regression, not 'ranking'"),
        (np.eye(2), [0, 1], {"feature_names": ["a"]}, "1 feature names for 2 features"),
        (np.eye(3), [0, 1, 0], {"feature_names": ["a", "b", "b"]}, "given more than once: b$"),
        (np.eye(2), [0, 1], {"categorical": [2]}, "not all in 0 … 1"),
        (np.eye(2), [0, 1], {"categorical": [-1]}, "not all in 0 … 1"),
        (np.eye(2), [0, 1], {"categorical": [True]}, "mask of categorical columns has shape"),
        (np.eye(2), [0, 1], {"categorical": ["f1"]}, "by number or mask"),
    ],
)
def test_unusable_input_is_refused_with_its_place(
    X: Any, y: Any, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(DataError, match=complaint):
        Dataset.from_arrays(X, y, **options)


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, []), ([], []), (np.zeros(3, bool), []), ([2], [2]), (np.arange(3) == 2, [2])],
)
def test_categorical_columns_are_given_by_number_or_mask(given: Any, expected: list[int]) -> None:
    data = Dataset.from_arrays(np.eye(3), [0, 1, 0], categorical=given)
    assert np.flatnonzero(data.categorical).tolist() == expected
    assert data.take_columns(np.array([2, 0])).categorical.tolist() == [bool(expected), False]


def test_the_callers_array_stays_writable_and_ours_is_frozen() -> None:
    X = np.eye(3)
    data = Dataset.from_arrays(X, [0, 1, 0])
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 5
    with pytest.raises(ValueError, match="read-only"):
        data.y[0] = 1
    X[0, 1] = 3.0
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        data.name = "x"  # type: ignore[misc]


def test_columns_and_rows_are_taken_in_the_order_asked_for() -> None:
    data = table().with_counts([1, 0, 2, 1, 1, 3])
    part = data.take_columns(np.array([2, 0])).take_rows(np.array([5, 0]))
    assert part.X.tolist() == data.X[[5, 0]][:, [2, 0]].tolist()
    assert part.feature_names == ("f3", "f1")
    assert part.y.tolist() == [1, 0]
    assert part.counts is not None and part.counts.tolist() == [3, 1]
    assert part.classes == data.classes
    assert part.X.flags.c_contiguous


def test_every_table_says_how_often_its_rows_count() -> None:
    assert table().row_counts.tolist() == [1] * 6
    assert table().counted_rows.tolist() == list(range(6))
    drawn = table().with_counts([1, 0, 2, 0, 0, 3])
    assert drawn.row_counts.tolist() == [1, 0, 2, 0, 0, 3]
    assert drawn.counted_rows.tolist() == [0, 2, 2, 5, 5, 5]


def test_a_class_that_loses_all_rows_keeps_its_code() -> None:
    part = table().take_rows(np.array([1, 3]))
    assert part.n_classes == 2
    assert part.class_sizes().tolist() == [0, 2]


def test_class_sizes_count_what_a_bootstrap_drew() -> None:
    assert table().class_sizes().tolist() == [3, 3]
    assert table().with_counts([2, 0, 1, 1, 0, 0]).class_sizes().tolist() == [3, 1]


@pytest.mark.parametrize(
    "counts", [[1, 2], [0] * 6, [-1, 1, 1, 1, 1, 1], [0.5, 1, 1, 1, 1, 1], [np.nan] * 6]
)
def test_counts_that_are_no_bootstrap_are_refused(counts: Any) -> None:
    with pytest.raises(DataError, match="counts must be"):
        table().with_counts(counts)


def test_other_labels_keep_the_table() -> None:
    turned = table().with_labels(1 - table().y)
    assert turned.y.tolist() == [1, 0, 1, 0, 1, 0]
    assert turned.X is not None and turned.X.tolist() == table().X.tolist()


def test_digest_of_a_known_table_never_changes() -> None:
    data = Dataset.from_arrays([[1.0, 2.0], [3.0, np.nan]], ["a", "b"], ["x", "y"])
    header = (
        b'{"categorical": [], "classes": ["a", "b"], "features": ["x", "y"], '
        b'"shape": [2, 2], "task": "classification"}'
    )
    y = np.array([0, 1], dtype="<i8").tobytes()
    columns = np.array([1.0, 3.0, 2.0, np.nan], dtype="<f8").tobytes()
    assert data.sha256 == hashlib.sha256(header + y + columns).hexdigest()


def test_digest_depends_on_what_the_table_says_and_not_on_where_it_is() -> None:
    X = np.random.default_rng(0).random((5, 4))
    y = [0, 1, 0, 1, 1]
    base = Dataset.from_arrays(X, y)
    assert Dataset.from_arrays(np.asfortranarray(X), y, name="other").sha256 == base.sha256
    assert Dataset.from_arrays(OnDisk(X), y).sha256 == base.sha256
    assert base.with_counts([1, 2, 0, 1, 1]).sha256 == base.sha256
    changed = [
        Dataset.from_arrays(X + 1e-15 * (X.max() == X), y),
        Dataset.from_arrays(X, [1, 0, 1, 0, 0]),
        Dataset.from_arrays(X, ["a", "b", "a", "b", "b"]),
        Dataset.from_arrays(X, y, ["a", "b", "c", "d"]),
        Dataset.from_arrays(X, y, categorical=[0]),
        Dataset.from_arrays(X, y, task="regression"),
        base.take_columns(np.array([1, 0, 2, 3])),
    ]
    assert len({base.sha256, *(data.sha256 for data in changed)}) == len(changed) + 1


@given(st.integers(1, 50), st.integers(1, 9), st.integers(1, 4000))
def test_column_blocks_cover_every_column_once(p: int, n: int, max_bytes: int) -> None:
    data = Dataset.from_arrays(np.zeros((n + 1, p)), np.arange(n + 1) % 2)
    blocks = list(data.column_blocks(max_bytes))
    assert [c for start, stop in blocks for c in range(start, stop)] == list(range(p))
    widest = max(stop - start for start, stop in blocks)
    assert widest == 1 or widest * 8 * (n + 1) <= max_bytes


def test_a_dataset_travels_between_processes() -> None:
    data = table().with_counts([1, 2, 0, 1, 1, 1])
    digest = data.sha256
    again = pickle.loads(pickle.dumps(data))
    assert again.sha256 == digest
    assert again.X.tolist() == data.X.tolist()
    assert again.counts.tolist() == [1, 2, 0, 1, 1, 1]
