"""Run files of old versions read as they did on the day they were written."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from fsframe.storage import load_run
from fsframe.storage.spec import ENCODING_VERSION

ARCHIVES = Path(__file__).resolve().parents[1] / "data" / "archives"
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


def test_version_1_reads_for_ever():
    run = load_run(ARCHIVES / "run-v1.h5")
    assert run.chain == "mim:top=4 immigrate:sigma=0.5 npfs stranger/knn"
    assert run.command == "fsframe chain mim immigrate npfs stranger/knn on 'my table.csv'"
    assert (run.created, run.status) == ("2026-01-02T03:04:05+00:00", "complete")
    assert (run.seed, run.fsframe_version) == (170141183460469231731687303715884105729, "0.1.0")
    data = run.data
    assert (data.name, data.source, data.sha256) == ("toy", "my table.csv", "ab" * 32)
    assert (data.label, data.task, data.n_samples, data.n_features) == (
        "class",
        "classification",
        40,
        7,
    )
    assert data.feature_names == ("Jitter(%)", "σ", "b c", "d\x1b[2J", "", "f/g", "ünï")
    assert data.class_names == ("ill", "well")
    assert run.warnings == ("1 column with one value only: σ",)
    assert run.environment == {"python": "3.11", "numpy": "2", "threads": 2}
    assert (run.selected.tolist(), run.selected_names) == ([5], ("f/g",))
    assert run.scores[:3].tolist() == [
        0.824513527530113,
        -0.20252987069345152,
        -0.15278617857019708,
    ]
    assert np.isnan(run.scores[6])
    assert run.pairs == [(2, 5, 0.5), (2, 6, 0.25)]


def test_version_1_keeps_its_stages_for_ever():
    mim, immigrate, npfs, knn = load_run(ARCHIVES / "run-v1.h5").stages
    assert [(s.name, s.kind, s.seed) for s in (mim, immigrate, npfs, knn)] == [
        ("mim", "selector", (0,)),
        ("immigrate", "selector", (1, 3)),
        ("npfs", "selector", (2,)),
        ("stranger/knn", "classifier", ()),
    ]
    assert (mim.provider, mim.provider_version, mim.seconds) == ("fsframe", "0.1.0", 0.25)
    assert mim.params == {"top": 4, "bins": None}
    assert mim.warnings == ("ties were broken by column",)
    assert mim.features_in.tolist() == list(range(7))
    found = immigrate.selection
    assert (found.selected.tolist(), found.carried) == ([5, 2], {"weights"})
    assert found.features_in.tolist() == [0, 1, 2, 5]
    assert found.pair_weights.columns.tolist() == [0, 1, 2, 5]
    assert found.pair_weights.matrix[0].tolist() == [
        0.06838553450636833,
        1.0617780292035146,
        1.9716066948424764,
        0.17007137648647863,
    ]
    assert {name: (t.dtype.str, t.shape) for name, t in found.tables.items()} == {
        "bootstrap": ("|b1", (50, 7)),
        "cost": ("<f8", (3,)),
        "counts": ("<i2", (3, 4, 5)),
        "empty": ("<f8", (0, 3)),
        "iterations": ("<i8", (1,)),
        "names": ("<U6", (2, 2)),
        "naïve name": ("|u1", (3,)),
        "single": ("<f4", (6,)),
    }
    assert found.tables["names"].tolist() == [["α", "longer"], ["", "x"]]
    assert npfs.selection.pair_weights.diagonal.tolist() == [1.0, 2.0, 3.0]
    assert knn.selection is None
    assert knn.model["X"].shape == (40, 1)


def test_version_1_digests_never_change():
    assert load_run(ARCHIVES / "run-v1.h5").digests() == {
        "/stages/00-mim": "d136d2083b7cded4b5bc27d112501154e52c21fe46d89eddf99fbdb0a584cbf2",
        "/stages/01-immigrate": "ef39e2f419d7554f37b6886dc85eabe254b1d8fbc488dd87584d91fb7e42e6a4",
        "/stages/02-npfs": "9fbae7dfffecafabf9e01c2c17370038844bb89b48b4ba7010fce00a2dd96eb6",
        "/stages/03-knn": "e41cbed472298703d44c97e3e082839f75ae1578f988f1fb2288fd357f7202ef",
        "/result": "0392d30b7c3c004f5cf20570a463aca8069633b48490e25f554903c7c89c8105",
    }


def test_version_2_reads_for_ever():
    run = load_run(ARCHIVES / "run-v2.h5")
    found = run.stages[0].selection
    assert found.pair_weights.matrix[0, :3].tolist() == [
        0.37810676358706613,
        -0.2798095883820122,
        -0.689615261712905,
    ]
    assert found.model["W"].tobytes() == found.pair_weights.matrix.tobytes()
    assert found.model_columns == {"W": (0, 1), "sigma": ()}
    assert run.pairs[0] == (15, 24, 4.9161442940751865)
    assert run.digests() == {
        "/stages/00-immigrate": "f3b84028306cca8f6ea3c7fddffb9ca777235a8c8f2d7fb5d9e8a7a3d22cc90b",
        "/result": "f073496ae7a4c892a02f3486a9720137207d99b12b6d89c5325b75057acd69ca",
    }


def test_version_3_reads_for_ever():
    run = load_run(ARCHIVES / "run-v3.h5")
    impute, mim = (stage.selection for stage in run.stages)
    assert impute.fill.tolist()[::2] == [-0.700625, 0.628625, 0.0]
    assert mim.carried == {"fill", "donors"} and mim.donors is impute.donors
    donors = run.donors
    assert (donors.columns.tolist(), donors.times.tolist()) == ([0, 2, 4], [1, 0, 2, 1, 1, 3])
    assert (donors.nominal.tolist(), donors.k, donors.standardize) == (
        [False, False, True],
        2,
        True,
    )
    assert np.isnan(donors.rows[1, 0]) and donors.rows[:5, 2].tolist() == [0, 1, 2, 1, 0]
    assert run.digests() == {
        "/stages/00-impute": "3fb62c9fbc4fd17dd1c670b595a0b22c2e90f7530b69d666f56c29dc3616c34e",
        "/stages/01-mim": "e3f1ec3be94cc34b470e1f5659a2eaf427da58301ec9552047cf94cbdaabe44a",
        "/result": "e14034e5649366ef4482074137a44327013df4898adfa4511d1f5da24ccaf40d",
    }
