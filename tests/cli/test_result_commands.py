"""``fsframe table`` and ``fsframe plot``: what they write, the list of kinds, what they refuse."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import h5py
import numpy as np
import polars
import pytest

import fsframe
from fsframe.storage import load_run

from .conftest import Call, Context


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_table_says_what_the_record_knows(call: Call, here: Path) -> None:
    call("chain anova-f:top=3 mim:top=1 on small.csv -q -o run.h5", code=0)
    assert "genes.csv" in call("table run.h5 -o genes.csv", code=0).out
    result = rows((here / "genes.csv").read_text(encoding="utf-8"))
    assert result[0]["feature"] == "gene-b" and result[0]["kept"] == "true"
    assert result[0]["direction"] == "higher in well" and float(result[0]["anova-f_p"]) < 1e-9
    assert len(result) == 5 and len(rows(call("table run.h5 --kept").out)) == 1
    assert load_run(here / "run.h5").to_frame()["feature"].to_list() == [
        r["feature"] for r in result
    ]
    assert "genes.csv" in call("table run.h5 -o genes.csv", code=5).err


def test_the_table_of_a_run_is_found_beside_its_file(
    call: Call, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("chain mim:top=2 on small.csv -q -o a.h5", code=0)
    (here / "other").mkdir()
    monkeypatch.chdir(here / "other")
    call("audit ../a.h5", code=0)
    assert "mean_ill" in call("table ../a.h5").out
    assert call("report ../a.h5 -o a.html").err == ""
    call("plot classes ../a.h5 -o c.svg", code=0)
    call("table ../a.h5 -o ../small.csv --overwrite", code=5)
    # Another table of that name in this folder is not the run's.
    text = (here / "small.csv").read_text()
    Path("small.csv").write_text(text.replace("ill\n", "well\n", 1))
    assert call("audit ../a.h5").code == 0 and "mean_ill" in call("table ../a.h5").out


def test_a_plot_without_its_table_names_the_whole_command(call: Call, here: Path) -> None:
    call("chain mim:top=2 on small.csv -q -o a.h5", code=0)
    (here / "small.csv").rename(here / "moved.csv")
    assert "fsframe plot classes a.h5 on DATA" in call("plot classes a.h5 -o c.svg", code=4).err


def test_without_the_run_s_table_there_are_no_means(call: Call, here: Path) -> None:
    call("chain anova-f:top=1 on small.csv -q -o run.h5", code=0)
    (here / "small.csv").rename(here / "moved.csv")
    done = call("table run.h5 --top 1")
    assert done.code == 0 and "small.csv is not there" in done.err
    assert list(rows(done.out)[0]) == ["rank", "feature", "kept", "score", "p", "q"]
    assert call("table run.h5 --top 1 --no-means").err == ""
    assert "mean_ill" in call("table run.h5 on moved.csv").out
    (here / "small.csv").write_text((here / "moved.csv").read_text().replace("ill\n", "well\n", 1))
    assert "no longer the table the run was made on" in call("table run.h5").err
    call("table run.h5 on small.csv", code=4)


def test_pairs_have_statistic_p_and_q(call: Call, here: Path) -> None:
    call("chain interactions:top=2,calibrate=0 on small.csv -q -o run.h5", code=0)
    result = rows(call("table run.h5 --pairs").out)
    assert result and set(result[0]) >= {"feature", "with", "weight", "G2", "df", "p", "q"}
    assert [float(r["p"]) for r in result] == sorted(float(r["p"]) for r in result)
    shown = call("show run.h5").out
    assert f"{float(result[0]['p']):.2g}" in shown


def test_kinds_are_listed_with_what_they_need(call: Call) -> None:
    from fsframe.show.plots import KINDS

    done = call("plot")
    assert done.code == 0 and all(len(line) <= 80 for line in done.out.splitlines())
    for kind in KINDS:
        assert f"\n{kind} " in done.out


def test_a_picture_is_written_and_not_over_another(call: Call, here: Path) -> None:
    call("chain anova-f:top=2 on small.csv -q -o run.h5", code=0)
    for ending, sign in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        call(f"plot scores run.h5 -o a.{ending}", code=0)
        assert (here / f"a.{ending}").read_bytes().startswith(sign)
    assert call("plot classes run.h5").code == 0 and (here / "run.classes.svg").is_file()
    call("plot scores run.h5 -o a.svg", code=5)
    (here / "small.csv").rename(here / "moved.csv")
    assert "give its path" in call("plot classes run.h5 -o b.svg").err
    call("plot pair run.h5 on moved.csv --pair gene-a,gene-b -o b.svg", code=0)


def test_a_folder_stands_for_the_runs_in_it(call: Call, here: Path) -> None:
    compared = call(
        "compare", "mim:top=1 margin", "jmi:top=1 margin", "on", "small.csv", "-o", "folder",
        "--folds", "3", "--repeats", "1", code=0,
    )  # fmt: skip
    shown = call("show folder")
    assert shown.code == 0 and shown.out.strip() in compared.out and "all: margin" in shown.out
    verified = call("verify folder")
    assert verified.code == 0 and verified.out.count(": sound") == 3
    assert (here / "folder" / "results.csv").is_file()
    call("plot pareto folder -o a.svg", code=0)
    (here / "folder").rename(here / "folder.v2")
    assert call("plot pareto folder.v2").code == 0 and (here / "folder.v2.pareto.svg").is_file()
    (here / "folder.v2").rename(here / "folder")
    call("plot pareto folder --metric auc -o c.svg", code=0)
    assert ">auc on held-out rows<" in (here / "c.svg").read_text()
    unknown = call("plot pareto folder --metric r2 -o d.svg")
    assert unknown.code == 2 and "not all of the runs were measured by 'r2'" in unknown.err
    call("report folder", code=0)
    page = (here / "folder.html").read_text()
    # The classifier that stands beside the chains is none of them.
    assert "folder: 2 chains on 1 table<" in page and "all: margin" in page
    assert "folder/small.margin" in page
    call("report folder", code=5)
    written = call("table folder").out.splitlines()
    assert written[0] == (here / "folder" / "results.csv").read_text().splitlines()[0]
    assert [line.split(",")[:3] for line in written[1:]] == [
        ["small", "mim:top=1 margin", "accuracy"],
        ["small", "jmi:top=1 margin", "accuracy"],
        ["small", "(larger class)", "accuracy"],
        ["small", "(all features) margin", "accuracy"],
    ]
    call("table folder -o results.tex", code=0)
    assert "jmi:top=1 margin" in (here / "results.tex").read_text()
    assert "--pairs" in call("table folder --pairs").err
    assert "name one run and one table" in call("report folder on small.csv -o b.html", code=2).err
    (here / "empty").mkdir()
    assert "no run file in the folder" in call("plot pareto empty -o b.svg").err
    assert "name a run file in it" in call("show empty").err
    assert "fsframe table folder -o a.csv" in call("show folder --csv a.csv").err


def test_wrong_requests_leave_nothing(call: Call, here: Path) -> None:
    call("chain anova-f:top=2 on small.csv -q -o run.h5", code=0)
    before = sorted(here.iterdir())
    for words, code, said in (
        ("plot scoers run.h5", 2, "Did you mean `scores`"),
        ("plot scores", 2, "name the run"),
        ("plot scores run.h5 -o a.jpg", 2, ".svg, .pdf or .png"),
        ("plot tests run.h5", 2, "draw a run that ends with npfs"),
        ("plot scores run.h5 on small.csv", 2, "without a table"),
        ("plot scores nothing.h5", 5, "no run file"),
        ("table run.h5 small.csv", 2, "name the table"),
        ("table run.h5 -o genes.ods", 2, "end its name in .csv"),
        ("table run.h5 --format xlsx", 2, "not a text format"),
        ("table run.h5 --pairs --kept", 2, "--pairs writes pairs"),
        ("table run.h5 --pairs", 2, "holds no pairs"),
    ):
        done = call(words)
        assert done.code == code and said in done.err, words
    assert sorted(here.iterdir()) == before


# A run on a table in parts is audited, applied, shown and continued by its own record


ROWS = 60


@pytest.fixture
def parts(here: Path) -> Path:
    """The same table as a folder of Parquet files, and as one of HDF5 files."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (ROWS, 4)).astype(float)
    X[3, 2] = np.nan
    y = (X[:, 1] > 1).astype(int)
    for name in ("P", "H"):
        (here / name).mkdir()
    for number, rows in enumerate((slice(0, 25), slice(25, ROWS))):
        frame = polars.DataFrame({f"f{k}": X[rows, k] for k in range(4)} | {"ill": y[rows]})
        frame = frame.with_columns(place=polars.Series(["north, east", "south"] * 30)[rows])
        frame.select("place", *frame.columns[:-1]).write_parquet(here / f"P/{number}.parquet")
        with h5py.File(here / f"H/{number}.h5", "w") as file:
            file["X"], file["y"] = X[rows], y[rows]
            file["feature_names"] = [f"f{k}" for k in range(4)]
    return here


@pytest.mark.parametrize("source", ["P", "P/*.parquet", "H"])
def test_a_run_on_parts_is_audited_and_applied_by_its_own_record(
    call: Call, parts: Path, source: str
) -> None:
    drop = "" if source == "H" else "--drop place"
    call(f"chain mim:top=2,missing=pairwise on {source} {drop} -o run.h5 -q", code=0)
    assert "f1" in fsframe.load_run("run.h5").selected_names
    assert "same bits" in call("audit run.h5", code=0).out
    call(f"apply run.h5 on {source} -o reduced.csv", code=0)
    reduced = polars.read_csv("reduced.csv")
    whole = fsframe.read(parts / "P", drop=("place",)).loaded()
    kept = [name for name in whole.feature_names if name in reduced.columns]
    assert len(kept) == 2 and reduced.height == ROWS
    expected = whole.X[:, [whole.feature_names.index(name) for name in kept]]
    assert np.array_equal(reduced.select(kept).cast(float).fill_null(np.nan), expected, True)
    if source != "H":
        assert reduced["ill"].to_list() == whole.y.tolist()
        assert '"north, east"' in call(f"apply run.h5 on {source} -o - --keep place", code=0).out
        call(f"apply run.h5 on {source} -o - --keep nowhere", code=4)


def test_parts_that_lack_a_column_or_changed_are_refused(call: Call, parts: Path) -> None:
    call("chain mim:top=2,missing=pairwise on P --drop place -o run.h5 -q", code=0)
    (parts / "Q").mkdir()
    for file in (parts / "P").glob("*.parquet"):
        polars.read_parquet(file).drop("f1").write_parquet(parts / "Q" / file.name)
    assert "lacks 1 of the 2 columns" in call("apply run.h5 on Q -o -", code=4).err
    (parts / "P").rename(parts / "gone")
    assert "is not there; give its path" in call("audit run.h5", code=4).err


def test_an_interrupted_run_on_parts_is_continued(
    call: Call, parts: Path, full_disk: Context
) -> None:
    with full_disk():
        chain = "mim:top=2,missing=pairwise npfs:n=5,permutations=5,alpha=0.2"
        call(f"chain {chain} on P --drop place -o run.h5", code=5)
    call("resume run.h5", code=0)
    call("audit run.h5", code=0)
