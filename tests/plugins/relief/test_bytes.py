"""Columns are looked at first, and tables of bytes have the bits of the same numbers."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

import fsframe
from fsframe.errors import FsframeError
from fsframe.method.run import Run
from fsframe.table import frozen_table
from fsframe.table.dataset import Dataset
from fsframe_relief.engine.table_values import summarise
from tests.plugins.shared import packed

N, P = 61, 40
METHODS = [
    "relief",
    "relieff:k=3",
    "relieff:m=20",
    "relieff:discrete_features=none",
    "relieff:discrete_features=none,permutations=5",
    "relieved-f",
    "surf",
    "surfstar",
    "swrfstar",
    "multisurf",
    "multisurfstar",
    "iterative-relief:rounds=3",
    "turf:base=relieff",
    "vls:subset=10,rounds=3",
    "npfs:base=(relieff:top=2),n=8,null=published",
]


@pytest.fixture
def tables() -> dict[str, Dataset]:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (N, P)).astype(np.uint8)
    y = (X[:, 3] + X[:, 7] > 1).astype(int)
    numbers = Dataset.from_arrays(X.astype(float), y)
    many = rng.integers(0, 40, (N, P)).astype(np.uint8)
    return {
        "numbers": numbers,
        "bytes": Dataset.from_arrays(X, y),
        "packed": attrs.evolve(numbers, matrix=packed(X)),
        "many numbers": Dataset.from_arrays(many.astype(float), y),
        "many": Dataset.from_arrays(many, y),
    }


@pytest.mark.parametrize("chain", METHODS)
def test_bytes_give_the_bits_of_numbers_and_are_not_widened(
    tables: dict[str, Dataset], chain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(data: Dataset) -> Any:
        return list(fsframe.Chain.parse(chain).steps(data, Run(entropy=4)))[-1]

    expected, of_many = found(tables["numbers"]), found(tables["many numbers"])

    def refuse(matrix: object) -> None:
        raise AssertionError("widened")

    monkeypatch.setattr(frozen_table, "_widened", refuse)
    for form, wanted in (("bytes", expected), ("packed", expected), ("many", of_many)):
        selection = found(tables[form])
        np.testing.assert_array_equal(selection.scores, wanted.scores, strict=True)
        np.testing.assert_array_equal(selection.selected, wanted.selected)
        assert selection.warnings == wanted.warnings


@pytest.mark.parametrize("levels", [3, 40, 256])
@pytest.mark.parametrize("chain", ["rrelieff", "rrelieff:discrete_features=none"])
def test_bytes_in_regression(chain: str, levels: int) -> None:
    rng = np.random.default_rng(levels)
    X = rng.integers(0, levels, (N, P), dtype=np.uint8)
    y = X[:, 3] + rng.normal(size=N)
    scores = [
        fsframe.Chain.parse(chain).select(Dataset.from_arrays(table, y, task="regression")).scores
        for table in (X, X.astype(float))
    ]
    np.testing.assert_array_equal(*scores, strict=True)


def test_a_packed_table_needs_an_eighth_of_the_memory_to_begin(
    tables: dict[str, Dataset],
) -> None:
    method = fsframe.selectors["vls"]()
    with pytest.raises(FsframeError, match="memory"):
        fsframe.selectors["immigrate"]()._require_memory(tables["packed"], P, Run(memory=2 * N * P))
    method._require_memory(tables["packed"], P, Run(memory=2 * N * P))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 513), (3, 2000)])
def test_a_summary_is_what_each_column_holds(shape, threads):
    rng = np.random.default_rng(shape[1])
    X = rng.choice([0.0, -0.0, 3.0, -2.0, 0.5, 1e300, np.inf, -np.inf, np.nan], size=shape)
    X[:, ::3] = np.round(rng.normal(0, 9, X[:, ::3].shape))
    X[:, 1::7] = np.nan
    found = summarise(X, threads)
    known = np.where(np.isnan(X), np.inf, X)
    assert found.low.tolist() == known.min(axis=0).tolist()
    known = np.where(np.isnan(X), -np.inf, X)
    assert found.high.tolist() == known.max(axis=0).tolist()
    assert found.missing.tolist() == np.isnan(X).sum(axis=0).tolist()
    assert found.whole.tolist() == ((np.floor(X) == X) | np.isnan(X)).all(axis=0).tolist()


def test_the_layout_of_the_table_does_not_matter():
    X = np.random.default_rng(0).normal(size=(30, 20))
    plain, turned = summarise(X), summarise(np.asfortranarray(X))
    assert plain.low.tolist() == turned.low.tolist()
    assert plain.high.tolist() == turned.high.tolist()
