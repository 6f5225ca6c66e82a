"""Prototypes of a table in parts: those of the table in memory, however rows are divided."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fsframe
from fsframe import Chain
from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.standardise import learn_scaling, nominal_steps, scaling_over_parts
from tests.plugins.shared import ROWS, divided, mixed_table

ROLES = {"groups": "person", "label": "y"}


@pytest.mark.parametrize("standardize", [True, False])
def test_scales_are_those_of_all_rows(standardize: bool, tmp_path: Path) -> None:
    frame = mixed_table("gap")
    whole = fsframe.read(frame, **ROLES)
    expected = learn_scaling(whole.X, None, standardize).leaving(whole.categorical)
    steps = nominal_steps(whole.X, whole.categorical, np.ones(ROWS), standardize)
    data = divided(frame, tmp_path / "p", (3, 299), **ROLES)
    scaling, own = scaling_over_parts(data, standardize, 1 << 16, 2)
    np.testing.assert_allclose(scaling.centre, expected.centre, rtol=1e-13)
    np.testing.assert_allclose(scaling.scale, expected.scale, rtol=1e-7)
    numbers = np.array(data.feature_names) != "near"  # a spread of 10⁻⁹ of the values
    np.testing.assert_allclose(scaling.scale[numbers], expected.scale[numbers], rtol=1e-13)
    np.testing.assert_allclose(own, steps, rtol=1e-15)


def test_what_prototypes_cannot_do_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", "10KB")
    data = divided(mixed_table("gap"), tmp_path / "p", (300,), **ROLES)
    with pytest.raises(DataError, match=r"prototypes=4000: rows are drawn over the parts"):
        fsframe.select("immigrate", data)
    # Not fewer than the rows: all of them would be needed.
    with pytest.raises(DataError, match="needs its table in memory"):
        fsframe.select("im4e:prototypes=5000", data)
    with pytest.raises(RequestError, match="prototypes"):
        Chain.parse("im4e:prototypes=200").select(data, run=Run(memory=20_000))


@pytest.mark.parametrize(
    "text",
    ["im4e", "immigrate:max_iter=3", "simba", "logo", "lfe", "irelief", "gflip", "mbiw",
     "simba-mbiw", "bim:rounds=3", "im4e:prototypes=60", "im4e:sigma=cv,folds=2"],
)  # fmt: skip
def test_bytes_and_sparse_tables_are_not_converted_and_change_no_bit(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import scipy.sparse

    rng = np.random.default_rng(1)
    X = (rng.integers(0, 3, (90, 150)) * (rng.random((90, 150)) < 0.3)).astype(np.uint8)
    X[:, 7] = 2
    y = X[:, 3] + rng.integers(0, 2, 90) > 1
    chain = Chain.parse(text)
    expected = chain.select(Dataset.from_arrays(X.astype(float), y))

    def refuse(*_: object) -> None:
        raise AssertionError("the whole table was converted")

    monkeypatch.setattr(Dataset, "X", property(refuse))
    for kept in (X, X.astype(np.int8), scipy.sparse.csr_array(X.astype(float))):
        found = chain.select(Dataset.from_arrays(kept, y))
        assert found.scores.tobytes() == expected.scores.tobytes()
        assert found.selected.tobytes() == expected.selected.tobytes()
