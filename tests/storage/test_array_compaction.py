"""Symmetric matrices and repeated arrays are written once, and read back whole."""

from __future__ import annotations

import json

import attrs
import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsframe.errors import StoreError
from fsframe.method.selection import PairWeights, Selection
from fsframe.storage import load_run, spec, write_run
from fsframe.storage.encoding import compact, square_of, triangle_of
from fsframe.storage.records import StageRecord
from fsframe.storage.spec import SEAL_BYTES
from fsframe.storage.write import first_difference
from tests.storage.run_files import sealed, tampered


def symmetric(m: int, seed: int = 0) -> np.ndarray:
    square = np.random.default_rng(seed).normal(size=(m, m))
    return square + square.T


def with_metric(record, m: int = 60):
    """A record with one stage whose W is in the model, in a table and the pair weights."""
    matrix, skew = symmetric(m), symmetric(m, 2)
    skew[-1, -2] += 1.0
    names = tuple(f"x{k}" for k in range(m))
    found = Selection(
        selected=[0],
        scores=np.ones(m),
        pair_weights=PairWeights(np.arange(m), matrix),
        model={"W": matrix, "other": symmetric(m, 1), "skew": skew},
        model_columns={"W": (0, 1)},
        tables={"again": matrix.copy(), "bits": np.tile(np.arange(9000) % 2 == 0, 2)},
        features_in=np.arange(m),
    )
    stage = StageRecord(
        name="x", features_in=np.arange(m), selection=found, model=found.model, tables=found.tables
    )
    data = attrs.evolve(record.data, feature_names=names, n_features=m)
    return attrs.evolve(record, data=data, stages=[stage], selected=[0], scores=np.ones(m))


def test_a_metric_matrix_is_written_once_as_a_triangle(tmp_path, record):
    whole = with_metric(record)
    path = write_run(tmp_path / "r.h5", whole)
    assert first_difference(load_run(path), whole) == ""
    assert load_run(path).stages[0].model["W"].tobytes() == whole.stages[0].model["W"].tobytes()
    with h5py.File(path) as file:
        stage = file["stages/00-x"]
        assert json.loads(stage["packing"].asstr()[0]) == {
            "pair_weights/matrix": "triangle",
            "model/W": "pair_weights/matrix",
            "model/other": "triangle",
            "tables/again": "pair_weights/matrix",
        }
        assert sorted(stage["model"]) == ["other", "skew"]
        assert stage["pair_weights/matrix"].shape == (60 * 61 // 2,)


def test_a_run_on_many_columns_is_a_quarter_of_what_it_was(tmp_path, record):
    whole = with_metric(record, 400)
    size = write_run(tmp_path / "r.h5", whole).stat().st_size
    others = sum(whole.stages[0].model[name].nbytes for name in ("other", "skew"))
    assert size < 400 * 401 * 4 + others + 60_000


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 12), st.integers(0, 3))
def test_a_triangle_gives_its_square_bit_for_bit(m, seed):
    square = symmetric(m, seed)
    square[np.random.default_rng(seed).random((m, m)) < 0.2] = -0.0
    square = np.triu(square) + np.triu(square, 1).T
    assert square_of(triangle_of(square)).tobytes() == square.tobytes()


def test_zeros_of_two_signs_are_not_taken_for_one():
    square = symmetric(40)
    square[3, 7], square[7, 3] = 0.0, -0.0
    written, packing = compact({"model/a": square, "model/b": np.abs(square)})
    assert packing == {"model/b": "triangle"}
    assert written["model/a"] is square


@pytest.mark.parametrize(
    ("packing", "message"),
    [
        ({"scores": "triangle"}, "'scores', which cannot be packed"),
        ({"model/": "model/other"}, "'model/', which cannot be packed"),
        ({"model/W": 3}, "'model/W', which cannot be packed"),
        ({"model/none": "triangle"}, "does not fit what is at 'model/none'"),
        ({"model/other": "tables/bits"}, "does not fit what is at 'model/other'"),
        ({"model/skew": "triangle"}, "is not the triangle of a square matrix"),
        ({"model/W": "model/gone"}, "refers 'model/W' to an array that does not exist"),
        ({"model/W": "features_in"}, "refers 'model/W' to an array that does not exist"),
        ({"model/W": "model/V", "model/V": "model/W"}, "to an array that does not exist"),
        ({"model/V": "model/other", "model/W": "model/V"}, "to an array that does not exist"),
        ({f"model/{k}": "tables/bits" for k in range(20_000)}, "declare more than"),
    ],
)
def test_a_packing_that_does_not_fit_is_refused(tmp_path, record, packing, message):
    path = write_run(tmp_path / "r.h5", with_metric(record))
    raw = json.dumps(packing).encode()

    def forge(file):
        stage = file["stages/00-x"]
        del stage["packing"]
        text = np.array([raw], dtype=h5py.string_dtype("utf-8", len(raw)))
        stage.create_dataset("packing", data=text, chunks=(1,), fletcher32=True)

    with pytest.raises(StoreError, match=message):
        load_run(tampered(path, tmp_path / "forged.h5", forge))


def test_a_file_of_version_1_may_not_pack(tmp_path, record):
    path = write_run(tmp_path / "r.h5", with_metric(record))
    with h5py.File(path, "r+") as file:
        file.attrs.modify("encoding-version", np.int64(1))
        # Another member of version 2, which would be told of first.
        file.pop("pair_tests", None)
    sealed(path, path.read_bytes()[SEAL_BYTES:], 1)
    assert spec.SINCE["packing"] == 2
    with pytest.raises(StoreError, match="does not know: packing"):
        load_run(path)
