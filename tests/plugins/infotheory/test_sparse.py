"""A sparse table is counted by the values it holds, with the bits of the widened one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from fsframe import Chain, Dataset
from fsframe.method.run import Run
from fsframe_infotheory.engine import sparse_table
from fsframe_infotheory.engine.discretise import Discretiser

N = 400


@pytest.fixture(autouse=True)
def any_density(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_table, "DENSEST", 1)


def table(kind: str) -> NDArray[np.float64]:
    """Columns of every sort, most of them nearly empty."""
    rng = np.random.default_rng(5)
    X = np.where(rng.random((N, 60)) < 0.04, rng.integers(1, 5, (N, 60)), 0).astype(float)
    if kind == "bytes":
        X[:, 7] = np.where(rng.random(N) < 0.3, rng.integers(0, 256, N), 0)
        return X
    X[:, 3] = np.where(rng.random(N) < 0.2, rng.normal(size=N), 0)
    X[:, 4] = np.where(rng.random(N) < 0.1, rng.integers(-9, 14, N), 0)
    X[:, 5] = np.where(rng.random(N) < 0.1, 1e6 * rng.integers(-1, 2, N), 0)
    X[:, 6] = rng.integers(1, 20, N)
    X[:, 8] = np.where(rng.random(N) < 0.1, -rng.random(N), 0)
    X[:, 9] = np.where(rng.random(N) < 0.1, 1e-310, 0)
    X[:, 10] = 0
    X[:, 11] = 3
    if kind == "gaps":
        X[rng.random(N) < 0.1, 12] = np.nan
        X[rng.random(N) < 0.1, 3] = np.nan
        X[:, 13] = np.nan
        X[: N // 2, 14] = X[N // 4 :, 15] = np.nan
    return X


def pair(kind: str) -> tuple[Dataset, Dataset]:
    X = table(kind)
    y = (X[:, :4].sum(axis=1) + np.random.default_rng(1).integers(0, 3, N)) % 3
    y[np.isnan(y)] = 1
    wide = X.astype(np.uint8) if kind == "bytes" else X
    return Dataset.from_arrays(sparse.csr_array(wide), y), Dataset.from_arrays(wide, y)


@pytest.mark.parametrize("kind", ["bytes", "numbers", "gaps"])
@pytest.mark.parametrize(
    "text",
    ["mim", "symmetric-uncertainty", "mrmr:top=8", "mrmr:form=quotient,top=6", "mifs:top=8",
     "mrmr:bins=24,discretise=equal-width,top=8", "mrmr:max_levels=0,top=5", "mim:discretise=none",
     "mrmr:discretise=none,top=4", "mrmr:discretise=equal-frequency,top=5",
     "mrmr:given=[f1],exclude=[f2],constants=last,top=56", "mrmr:stop=positive"],
)  # fmt: skip
def test_selections_have_the_bits_of_the_widened_table(kind: str, text: str) -> None:
    held, wide = pair(kind)
    chain = Chain.parse(text + (",missing=level" if ":" in text else ":missing=level"))
    expected = chain.select(wide)
    for threads in (1, 3):
        found = chain.select(held, run=Run(threads=threads))
        np.testing.assert_array_equal(found.selected, expected.selected)
        assert found.scores.tobytes() == expected.scores.tobytes()
        assert found.warnings == expected.warnings
        for name, values in expected.tables.items():
            np.testing.assert_array_equal(found.tables[name], values, err_msg=name)


def test_it_is_not_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    held, _ = pair("bytes")
    monkeypatch.setattr(
        type(held.matrix), "read", lambda *given: pytest.fail("columns were widened")
    )
    Chain.parse("mrmr:top=4").select(held)
    Chain.parse("mim").select(held)


def test_what_it_does_not_count_is_counted_as_before() -> None:
    held, wide = pair("numbers")
    for text in (
        "jmi:top=4",
        "cmim:top=4",
        "mrmr:stop=significant",
        "mrmr:top=3 npfs:n=6,permuted_n=2",
    ):
        chain = Chain.parse(text)
        found, expected = (chain.run(data, seed=3).scores for data in (held, wide))
        assert found.tobytes() == expected.tobytes()
    assert sparse_table.encode_sparse(held, Discretiser(rule="none"), Run(), True) is None


def test_bit_rows_are_taken_where_they_are_faster_and_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    held, _ = pair("bytes")
    given = held, Discretiser()
    assert sparse_table.encode_sparse(*given, Run(), True) is not None
    monkeypatch.setattr(sparse_table, "DENSEST", 64)
    assert sparse_table.encode_sparse(*given, Run(), True) is None
    assert sparse_table.encode_sparse(*given, Run(), False) is not None
    assert sparse_table.encode_sparse(*given, Run(memory=1000), True) is not None
