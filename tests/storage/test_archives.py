"""Run files of old versions read as they did on the day they were written, now and later."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import attrs
import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsframe.errors import StoreError
from fsframe.method.selection import PairWeights, Selection
from fsframe.storage import load_run, read, spec, write_run
from fsframe.storage.encoding import compact, square_of, triangle_of
from fsframe.storage.records import StageRecord
from fsframe.storage.spec import ENCODING_VERSION, SEAL_BYTES, make_seal
from fsframe.storage.write import first_difference
from tests.grids import examples
from tests.storage.run_files import build_record, sealed, tampered

ARCHIVES = Path(__file__).resolve().parents[1] / "data" / "archives"
V1 = ARCHIVES / "run-v1.h5"
SHA256 = {
    "run-v1.h5": "b2d0dac9bf9accb168ecb684f356c35580582951b32d56f3207efffbe96bc2ac",
    "run-v2.h5": "8bbcc3d52a1afed14334e9c27013b019a3ef6eaceb2e0d41788437ccb237c98c",
    "run-v3.h5": "a4fb2db66e243286248713d250e5257d45ba954893b12e8574980df2d748f13e",
}


def test_there_is_one_archived_file_for_every_version():
    names = {path.name for path in ARCHIVES.glob("*.h5")}
    assert names == {f"run-v{number}.h5" for number in range(1, ENCODING_VERSION + 1)}
    assert names == set(SHA256)


@pytest.mark.parametrize("name", SHA256)
def test_an_archived_file_was_never_written_again(name):
    assert hashlib.sha256((ARCHIVES / name).read_bytes()).hexdigest() == SHA256[name]


DIGESTS = {
    "run-v1.h5": {
        "/stages/00-mim": "d136d2083b7cded4b5bc27d112501154e52c21fe46d89eddf99fbdb0a584cbf2",
        "/stages/01-immigrate": "ef39e2f419d7554f37b6886dc85eabe254b1d8fbc488dd87584d91fb7e42e6a4",
        "/stages/02-npfs": "9fbae7dfffecafabf9e01c2c17370038844bb89b48b4ba7010fce00a2dd96eb6",
        "/stages/03-knn": "e41cbed472298703d44c97e3e082839f75ae1578f988f1fb2288fd357f7202ef",
        "/result": "0392d30b7c3c004f5cf20570a463aca8069633b48490e25f554903c7c89c8105",
    },
    "run-v2.h5": {
        "/stages/00-immigrate": "f3b84028306cca8f6ea3c7fddffb9ca777235a8c8f2d7fb5d9e8a7a3d22cc90b",
        "/result": "f073496ae7a4c892a02f3486a9720137207d99b12b6d89c5325b75057acd69ca",
    },
    "run-v3.h5": {
        "/stages/00-impute": "3fb62c9fbc4fd17dd1c670b595a0b22c2e90f7530b69d666f56c29dc3616c34e",
        "/stages/01-mim": "e3f1ec3be94cc34b470e1f5659a2eaf427da58301ec9552047cf94cbdaabe44a",
        "/result": "e14034e5649366ef4482074137a44327013df4898adfa4511d1f5da24ccaf40d",
    },
}
"""Of all that was found, as it is read: arrays with their types, names, parameters, warnings."""


@pytest.mark.parametrize("name", DIGESTS)
def test_what_old_versions_hold_has_the_same_digests_for_ever(name):
    assert load_run(ARCHIVES / name).digests() == DIGESTS[name]


def test_version_1_reads_for_ever():
    run = load_run(V1)
    assert first_difference(run, build_record(pair_tests=None)) == ""
    assert (run.selected_names, run.pairs) == (("f/g",), [(2, 5, 0.5), (2, 6, 0.25)])
    assert run.scores[0] == 0.824513527530113 and np.isnan(run.scores[6])
    assert run.stages[1].selection.pair_weights.matrix[0, 1] == 1.0617780292035146


def test_what_enters_no_digest_reads_for_ever():
    run = load_run(ARCHIVES / "run-v2.h5")
    assert run.stages[0].selection.model_columns == {"W": (0, 1), "sigma": ()}
    assert run.pairs[0] == (15, 24, 4.9161442940751865)
    impute, mim = (stage.selection for stage in load_run(ARCHIVES / "run-v3.h5").stages)
    assert mim.donors is impute.donors


# The program as it will be when the format has one more version


NEXT = spec.ENCODING_VERSION + 1


@pytest.fixture
def next_version(monkeypatch):
    """The program as it will be when the format has one more version."""
    monkeypatch.setattr(spec, "ENCODING_VERSION", NEXT)


@pytest.mark.usefixtures("next_version")
def test_an_archived_file_is_sound_after_the_version_is_raised(tmp_path):
    archived = load_run(V1)
    newer = write_run(tmp_path / "newer.h5", archived)
    assert newer.read_bytes().startswith(f"fsframe-run {NEXT}\n".encode())
    assert first_difference(load_run(newer), archived) == ""


@pytest.mark.usefixtures("next_version")
def test_an_old_file_that_has_changed_is_still_told(tmp_path):
    content = bytearray(V1.read_bytes())
    content[-1] ^= 1
    changed = tmp_path / "changed.h5"
    changed.write_bytes(content)
    with pytest.raises(StoreError, match="changed after it was written"):
        load_run(changed)


@pytest.mark.usefixtures("next_version")
def test_seal_and_content_must_be_of_one_version(tmp_path):
    image = V1.read_bytes()[SEAL_BYTES:]
    path = tmp_path / "mixed.h5"
    path.write_bytes(make_seal(image, NEXT) + image)
    with pytest.raises(StoreError, match="encoding-version is 1, the seal says otherwise"):
        load_run(path)


@pytest.mark.usefixtures("next_version")
@pytest.mark.parametrize(
    ("owner", "schema"),
    [
        ("RunRecord", spec.ROOT_ATTRIBUTES),
        ("DataRecord", spec.DATA_ATTRIBUTES),
        ("StageRecord", spec.STAGE_ATTRIBUTES),
    ],
)
def test_a_new_field_takes_its_record_and_the_schema_only(owner, schema, monkeypatch, tmp_path):
    old = getattr(read, owner)
    longer = attrs.make_class(
        owner,
        {"power_supply": attrs.field(default="")},
        bases=(old,),
        frozen=True,
        kw_only=True,
        eq=False,
        repr=False,
    )
    monkeypatch.setattr(read, owner, longer)
    monkeypatch.setitem(schema, "power-supply", str)
    monkeypatch.setitem(spec.SINCE, "power-supply", NEXT)

    def with_value(run, value):
        if owner == "RunRecord":
            return attrs.evolve(run, power_supply=value)
        if owner == "DataRecord":
            return attrs.evolve(run, data=attrs.evolve(run.data, power_supply=value))
        first = attrs.evolve(run.stages[0], power_supply=value)
        return attrs.evolve(run, stages=(first, *run.stages[1:]))

    archived = load_run(V1)
    newer = load_run(write_run(tmp_path / "newer.h5", with_value(archived, "mains")))
    assert first_difference(newer, with_value(archived, "mains")) == ""
    assert first_difference(newer, archived).endswith("power-supply")


# Symmetric matrices and repeated arrays are written once, and read back whole


def symmetric(m: int, seed: int = 0) -> np.ndarray:
    square = np.random.default_rng(seed).normal(size=(m, m))
    return square + square.T


def with_metric(record, m: int = 60):
    """A record with one stage whose W is in the model, in a table and the pair weights."""
    matrix, skew = symmetric(m), symmetric(m, 2)
    skew[-1, -2] += 1.0
    names = tuple(f"x{k}" for k in range(m))
    selection = Selection(
        selected=[0],
        scores=np.ones(m),
        pair_weights=PairWeights(np.arange(m), matrix),
        model={"W": matrix, "other": symmetric(m, 1), "skew": skew},
        model_columns={"W": (0, 1)},
        tables={"again": matrix.copy(), "bits": np.tile(np.arange(9000) % 2 == 0, 2)},
        features_in=np.arange(m),
    )
    stage = StageRecord(
        name="x",
        features_in=np.arange(m),
        selection=selection,
        model=selection.model,
        tables=selection.tables,
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


@examples(60)
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
