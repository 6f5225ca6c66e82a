"""A new role of a column is a declaration, and the methods that honour it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars
import pytest

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.table.roles import ROLES, Role

TRIAL = Path(__file__).with_name("trial_role.py")


def command(folder: Path, *words: str) -> tuple[int, str]:
    """Exit code and output of a command where the role is declared."""
    done = subprocess.run(
        [sys.executable, str(TRIAL), *words], cwd=folder, capture_output=True, text=True, timeout=90
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}).with_columns(
        mg=2 * X[:, 1] + rng.normal(size=60) / 9, y=(X[:, 0] > 0).astype(int)
    )
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    return tmp_path


def test_a_declared_role_is_read_stored_honoured_and_repeated(folder: Path) -> None:
    code, said = command(folder, "chain", "--help")
    assert code == 0 and "--dose NAME" in said and "Column of the dose given" in said
    for table in ("t.csv", "t.parquet"):
        words = ["chain", "dosed", "on", table, "--dose", "mg", "--out", f"{table}.h5"]
        code, said = command(folder, *words)
        assert code == 0 and "by the dose mg" in said, said
        run = fsframe.load_run(folder / f"{table}.h5")
        assert run.selected_names == ("b",)
        assert run.environment["dose"] == "mg"
        assert run.environment["reading"]["dose"] == "mg"
        code, said = command(folder, "audit", f"{table}.h5")
        assert code == 0 and "same bits" in said, said
    code, said = command(folder, "chain", "mim", "on", "t.csv", "--label", "y", "--no-out")
    assert code == 0, said
    with (folder / "study.toml").open("w") as file:
        file.write('chains = ["dosed"]\nclassifiers = ["knn"]\nfolds = 2\n')
        file.write('[[tables]]\npath = "t.csv"\nlabel = "y"\ndose = 7\n')
    code, said = command(folder, "study", "study.toml", "--dry-run")
    assert code == 2 and "tables[0].dose: must be a text" in said, said


def test_other_methods_and_columns_with_two_roles_are_refused_by_name(folder: Path) -> None:
    code, said = command(folder, "chain", "mim", "on", "t.csv", "--dose", "mg")
    assert code == 4 and "mim does not use mg (--dose): leave the option out" in said
    code, said = command(folder, "chain", "dosed", "on", "t.csv", "--dose", "mg", "--time", "mg")
    assert code == 4 and "is the time (--time) and cannot be the dose (--dose)" in said
    code, said = command(folder, "chain", "dosed", "on", "t.csv", "--dose", "gm")
    assert code == 4 and "t.csv, dose: there is no column 'gm'" in said


def test_digest_and_rows_of_a_table_include_the_role(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'dose'"):
        fsframe.read(folder / "t.csv", dose="mg")
    role = Role(
        name="dose", given="name", side=True, word="dose", verb="be the dose", metavar="NAME",
        help="Column of the dose.",
    )  # fmt: skip
    monkeypatch.setitem(ROLES, "dose", role)
    data = fsframe.read(folder / "t.csv", dose="mg")
    plain = fsframe.read(folder / "t.csv", drop="mg")
    other = fsframe.read(folder / "t.csv", dose="c", drop="mg")
    assert data.feature_names == plain.feature_names == ("a", "b", "c")
    assert len({data.sha256, plain.sha256, other.sha256}) == 3
    rows = np.array([5, 3, 8])
    assert np.array_equal(
        data.take_rows(rows).sides["dose"].values, data.sides["dose"].values[rows]
    )
    with pytest.raises(DataError, match=r"mim does not use mg"):
        fsframe.select("mim", data)
    with pytest.raises(RequestError, match="without dose: methods that use it need"):
        fsframe.read([folder / "t.parquet"], dose="mg")
