"""The label, and the names of columns, in files of their own: as if all stood in one table."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import polars
import pytest

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.table.read import read
from tests.same_process import fsframe as command

N, P = 36, 6
KINDS = [["rest", "walk", "run"][k % 3] for k in range(N)]
X = np.random.default_rng(2).normal(size=(N, P))
X[:, 2] += np.arange(N) % 3
X = X.round(3)
NAMES = [f"acc-{k}()" for k in range(P)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [" ".join(f"{value: .3e}" for value in row) for row in X]
    (tmp_path / "X_train.txt").write_text("".join(f"  {row}\n" for row in rows))
    (tmp_path / "y_train.txt").write_text("".join(f"{kind}\n" for kind in KINDS))
    numbered = "".join(f"{k + 1} {name}\n" for k, name in enumerate(NAMES))
    (tmp_path / "features.txt").write_text(numbered)
    columns = dict(zip(NAMES, X.T, strict=True))
    frame = polars.DataFrame(columns)
    frame.write_csv(tmp_path / "X.csv")
    frame.write_parquet(tmp_path / "X.parquet")
    frame.to_pandas().to_csv(tmp_path / "indexed.csv")
    polars.DataFrame({"kind": KINDS}).write_csv(tmp_path / "y.csv")
    polars.DataFrame({"kind": KINDS}).to_pandas().to_csv(tmp_path / "y_indexed.csv")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", KINDS)
    np.savez(tmp_path / "X.npz", X=X)
    frame.with_columns(polars.Series("class", KINDS)).write_csv(tmp_path / "whole.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


PAIRS = {
    "X_train.txt": "y_train.txt", "X.csv": "y.csv", "indexed.csv": "y_indexed.csv",
    "X.parquet": "y.npy", "X.npy": "y.npy", "X.npz": "y.csv",
}  # fmt: skip


@pytest.mark.parametrize("table", PAIRS)
def test_it_is_the_whole_table(folder: Path, table: str) -> None:
    whole = read("whole.csv")
    data = read(table, labels=PAIRS[table])
    np.testing.assert_array_equal(data.values, whole.values)
    assert [data.classes[code] for code in data.y] == KINDS
    assert data.label_name in ("class", "kind")
    said = command("inspect", table, "--labels", PAIRS[table])
    assert f"label: {data.label_name} (3 classes" in said.out
    (way,) = [line for line in said.out.splitlines() if f"anova-f:alpha=0.05 on {table}" in line]
    ran = command(*shlex.split(way)[1:], "--no-out", "--json")
    assert ran.code == 0 and len(ran.json["selected"]) == 1, ran.err


def test_decimal_commas_hold_for_both_files(folder: Path) -> None:
    Path("t.csv").write_text("a;b\n1,5;2\n2,5;3\n3,5;1\n4,25;2\n")
    Path("t.txt").write_text("1,5\n2,5\n3,75\n4,1\n")
    data = read("t.csv", labels="t.txt")
    assert data.y.tolist() == [1.5, 2.5, 3.75, 4.1] and data.X[3, 0] == 4.25


def test_names_stand_in_a_file_too(folder: Path) -> None:
    for table in ("X_train.txt", "X.npy"):
        data = read(table, labels="y.npy", names="features.txt")
        assert data.feature_names == tuple(NAMES)
    moved = folder / "elsewhere"
    moved.mkdir()
    for name in ("X_train.txt", "y_train.txt", "features.txt"):
        (folder / name).rename(moved / name)
    data = read(moved / "X_train.txt", labels="y_train.txt", names="features.txt")
    assert data.feature_names == tuple(NAMES)
    Path("twice.txt").write_text("a\nb\na\nc\nd\na\n")
    data = read("X.npy", labels="y.npy", names="twice.txt")
    assert data.feature_names == ("a", "b", "a (2)", "c", "d", "a (3)")
    assert any("names that occur again are numbered: 'a'" in said for said in data.warnings)
    with pytest.raises(DataError, match=r"twice.txt has 6 names, and .*y.csv has 1 column"):
        read("y.csv", labels="y.npy", names="twice.txt", header=False)
    np.save("turned.npy", np.load("X.npy").T)
    with pytest.raises(DataError, match="features look to be in rows, which must be samples"):
        read("turned.npy", labels="y.npy")
    with pytest.raises(DataError, match="features look to be in rows, which must be samples"):
        read("turned.npy", names=moved / "features.txt")
    with pytest.raises(DataError, match=r"X.csv has names of columns, so that twice.txt"):
        read("X.csv", labels="y.npy", names="twice.txt")


def test_a_run_is_predicted_audited_and_studied_like_any_other(folder: Path) -> None:
    words = "X_train.txt --labels y_train.txt --names features.txt"
    made = command(*shlex.split(f"chain mim:top=1 on {words} --out r.h5 --json --seed 3"))
    assert made.json["selected"] == ["acc-2()"]
    command("audit", "r.h5", code=0)
    Path("X_test.txt").write_text("".join(Path("X_train.txt").read_text().splitlines(True)[:3]))
    predicted = command("predict", "r.h5", "on", "X_test.txt", "--classifier", "knn")
    assert predicted.code == 0 and len(predicted.out.splitlines()) == 4, predicted.err
    command(*shlex.split("apply r.h5 on X_test.txt --out kept.csv"), code=0)
    Path("s.toml").write_text(
        'chains = ["mim:top=1 knn"]\nfolds = 3\n[[tables]]\npath = "X_train.txt"\n'
        'labels = "y_train.txt"\nnames = "features.txt"\n'
    )
    command("study", str(folder / "s.toml"), "--dry-run", "--json", cwd=Path("/"), code=0)


def test_one_of_several_columns_is_named(folder: Path) -> None:
    lines = [f'{kind} "19/07/2008 11:{row:02}:00" {row}\n' for row, kind in enumerate(KINDS)]
    Path("labels.data").write_text("".join(lines))
    with pytest.raises(DataError, match=r"has 3 columns, 'f1', 'f2', 'f3': name that of the lab"):
        read("X.csv", labels="labels.data")
    for label in ("f1", "1", 0):
        data = read("X.csv", label, labels="labels.data")
        assert [data.classes[code] for code in data.y] == [*KINDS]
    assert data.label_name == "class" and data.n_features == X.shape[1]
    Path("last.data").write_text("".join(f"{row} {kind}\n" for row, kind in enumerate(KINDS)))
    assert read("X.csv", "2", labels="last.data").y.tolist() == data.y.tolist()
    run = command(*shlex.split("chain mim:top=1 on X.csv --labels labels.data --label 1 -o r.h5"))
    assert run.code == 0 and command("audit", "r.h5").code == 0, run.err


def test_what_does_not_fit_is_named(folder: Path) -> None:
    Path("short.txt").write_text("a\nb\na\n")
    with pytest.raises(DataError, match=r"short.txt has 3 rows, and .*X.csv has 36"):
        read("X.csv", labels="short.txt")
    Path("one_less.csv").write_text("\n".join(["kind", *KINDS[1:]]))
    with pytest.raises(DataError, match=r"one_less.csv has 35 rows, and .*X.csv has 36"):
        read("X.csv", labels="one_less.csv")
    polars.DataFrame({"id": range(N), "kind": KINDS}).write_csv("named.csv")
    with pytest.raises(DataError, match=r"named.csv has 2 columns.*--samples"):
        read("X.csv", labels="named.csv")
    polars.read_csv("X.csv").with_columns(id=polars.Series(range(N))).select(
        "id", polars.exclude("id")
    ).write_csv("X_id.csv")
    polars.read_csv("named.csv").reverse().write_csv("reversed.csv")
    with pytest.raises(DataError, match=r"of reversed.csv are those of .* order.*--samples"):
        read("X_id.csv", "kind", labels="reversed.csv")
    with pytest.raises(DataError, match=r"y.csv: there is no column 'acc-0\(\)'; .* are kind"):
        read("X.csv", "acc-0()", labels="y.csv")
    with pytest.raises(DataError, match=r"whole.csv has a column 'class' already"):
        read("whole.csv", labels="y.npy")
    with pytest.raises(RequestError, match=r"labels is for files, not for DataFrame"):
        fsframe.select("mim", polars.read_csv("X.csv"), labels="y.csv")
    with pytest.raises(RequestError, match="with a table in memory, not in parts"):
        read(["X.parquet"], labels="y.csv")
    np.savez("whole.npz", X=X, y=KINDS)
    with pytest.raises(DataError, match=r"whole.npz has the label 'y' already, so that y.npy"):
        read("whole.npz", labels="y.npy")
    with pytest.raises(DataError, match=r"cannot read typo.txt"):
        read("X_train.txt", labels="y_train.txt", names="typo.txt")
    with pytest.raises(DataError, match=r"X.npy has no label 'y'; give the file that holds it"):
        read("X.npy")


def test_inspect_names_a_file_beside_the_table(folder: Path) -> None:
    said = command("inspect", str(folder / "X_train.txt"))
    assert "y_train.txt, beside it, may hold the label" in " ".join(said.out.split())
    doubts = json.loads(command("inspect", "X.csv", "--json").out)["label"]["doubts"]
    assert doubts[-1] == "y.csv, beside it, may hold the label (--labels y.csv)"
