"""A new role of a column is a declaration, and the methods that honour it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars
import pytest

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.table.roles import ROLES

from .trial_role import DOSE

TRIAL = Path(__file__).with_name("trial_role.py")


def commands(folder: Path, *lines: str) -> list[tuple[int, str]]:
    """Exit code and output of each command, in one process in which the role is declared."""
    done = subprocess.run(
        [sys.executable, str(TRIAL), json.dumps([line.split() for line in lines])],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TRIAL.parents[2])},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = polars.DataFrame({name: rng.normal(size=60) for name in "abc"}).with_columns(
        mg=2 * polars.col("b") + rng.normal(size=60) / 9, y=(polars.col("a") > 0).cast(int)
    )
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    return tmp_path


STUDY = """
chains = ["dosed"]
classifiers = ["knn"]
folds = 2
[[tables]]
path = "t.csv"
label = "y"
dose = 7
"""


def test_a_declared_role_is_read_stored_honoured_and_repeated(folder: Path) -> None:
    (folder / "study.toml").write_text(STUDY)
    expected = {
        "chain --help": (0, "Column of the dose given"),
        "chain dosed on t.csv --dose mg --out t.csv.h5": (0, "by the dose mg"),
        "audit t.csv.h5": (0, "same bits"),
        "chain dosed on t.parquet --dose mg --out t.parquet.h5": (0, "by the dose mg"),
        "audit t.parquet.h5": (0, "same bits"),
        "chain mim on t.csv --label y --no-out": (0, "mim"),
        "study study.toml --dry-run": (2, "tables[0].dose: must be a text"),
        # Other methods, and columns with two roles, are refused by name.
        "chain mim on t.csv --dose mg": (4, "mim does not use mg (--dose): leave the option out"),
        "chain dosed on t.csv --dose mg --time mg": (4, "(--time) and cannot be the dose (--dose)"),
        "chain dosed on t.csv --dose gm": (4, "t.csv, dose: there is no column 'gm'"),
    }
    told = commands(folder, *expected)
    for (line, (code, words)), (ended, said) in zip(expected.items(), told, strict=True):
        assert ended == code and words in said, (line, said)
    assert "--dose NAME" in told[0][1]
    for table in ("t.csv", "t.parquet"):
        run = fsframe.load_run(folder / f"{table}.h5")
        assert run.selected_names == ("b",)
        assert run.environment["dose"] == run.environment["reading"]["dose"] == "mg"


def test_digest_and_rows_of_a_table_include_the_role(folder, monkeypatch) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'dose'"):
        fsframe.read(folder / "t.csv", dose="mg")
    monkeypatch.setitem(ROLES, "dose", DOSE)
    data = fsframe.read(folder / "t.csv", dose="mg")
    plain = fsframe.read(folder / "t.csv", drop="mg")
    other = fsframe.read(folder / "t.csv", dose="c", drop="mg")
    assert data.feature_names == plain.feature_names == ("a", "b", "c")
    assert len({data.sha256, plain.sha256, other.sha256}) == 3
    rows = np.array([5, 3, 8])
    doses = data.sides["dose"].values
    assert np.array_equal(data.take_rows(rows).sides["dose"].values, doses[rows])
    with pytest.raises(DataError, match=r"mim does not use mg"):
        fsframe.select("mim", data)
    with pytest.raises(RequestError, match="does not support dose: methods that use it need"):
        fsframe.read([folder / "t.parquet"], dose="mg")
