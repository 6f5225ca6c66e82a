"""``fsframe inspect``: a table that holds one of everything, and tables that hold little."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import polars
import pytest

import fsframe
from fsframe.table.frames import FrameColumns
from fsframe.table.guesses.column_facts import Contents

from .conftest import Call


@pytest.fixture
def hard(here: Path) -> polars.DataFrame:
    """``hard.csv``: 20 patients of three rows each, and something wrong with most columns."""
    draw = np.random.default_rng(3)
    n = 60
    patient = np.arange(n) // 3
    ages = draw.integers(20, 80, n)
    ages[[3, 9, 20, 33]] = -999
    signal = draw.standard_normal(n).round(3) + patient % 2
    gaps = [None if k % 7 == 0 else float(v) for k, v in enumerate(draw.standard_normal(n))]
    frame = polars.DataFrame(
        {
            "record": [f"rec{k:03d}" for k in range(n)],
            "patient": [f"P{k:02d}" for k in patient],
            "state": np.where(patient % 2, "ill", "well"),
            "age": ages,
            "sex": np.where(draw.random(n) < 0.5, "m", "f"),
            "visit": [f"2020-01-{k % 28 + 1:02d}" for k in range(n)],
            "g1": signal,
            "twin of g1": signal,
            "gaps": gaps,
            "five": [5] * n,
            "void": [""] * n,
            "creat": draw.standard_normal(n),
        }
    )
    frame.write_csv(here / "hard.csv")
    return frame


def test_what_is_wrong_with_a_table_is_reported_with_the_option_that_settles_it(
    call: Call, hard: polars.DataFrame
) -> None:
    told = call("inspect hard.csv --label state --json").json
    found = {tuple(f["columns"]): f for f in told["findings"] if f["columns"]}
    assert found["patient",]["option"] == "--groups patient"
    assert found["record",]["option"] == "--drop record"
    assert found["visit",]["option"] == "--drop visit"
    assert found["sex",]["option"] == "--categorical sex"
    assert found["void",]["option"] == "--drop void"
    assert found["age",]["option"] == "--na -999" and "4 times" in found["age",]["what"]
    assert "one value only" in found["five",]["what"]
    (equal,) = [f["what"] for f in told["findings"] if "equal" in f["what"]]
    assert equal.endswith("twin of g1 = g1")
    adjusted = call("inspect hard.csv --label state --adjust age --json").json["findings"]
    (code,) = [f["what"] for f in adjusted if f["columns"] == ["age"]]
    assert code.startswith("-999 occurs 4 times") and "to adjust for it" in code
    columns = {column["name"]: column for column in told["columns"]}
    assert columns["gaps"]["empty"] == 9 and columns["gaps"]["different"] == 51
    assert columns["patient"]["part"] == "groups" and columns["g1"]["part"] == "feature"
    assert told["label"]["classes"] == {"ill": 30, "well": 30}


def test_a_label_that_is_a_measurement_is_doubted(call: Call, hard: polars.DataFrame) -> None:
    hard.select("state", "g1", "creat").write_csv("first.csv")
    hard.select(polars.col("state").alias("Class"), "g1", "creat").write_csv("usual.csv")
    for file, name in (("hard", "state"), ("first", "state"), ("usual", "Class")):
        label = call(f"inspect {file}.csv --json").json["label"]
        assert (label["name"], label["task"]) == (name, "classification")
        assert "'creat'" in label["doubts"][0]
        assert file != "hard" or "measurement" in label["doubts"][0]


def test_what_is_shown_fits_eighty_columns(call: Call, hard: polars.DataFrame) -> None:
    done = call("inspect hard.csv --label state")
    assert done.code == 0 and max(map(len, done.out.splitlines())) <= 80


def test_equal_rows_are_counted(call: Call, here: Path) -> None:
    (here / "equal.csv").write_text("a,b,class\n1,x,u\n1,x,u\n2,y,v\n-0,,v\n0.0,,v\n0,y,v\n")
    assert call("inspect equal.csv --json").json["repeated_rows"] == 2
    # Few different numbers in each column, as those of genotypes.
    frame = polars.DataFrame(np.random.default_rng(0).integers(0, 3, (1600, 20)))
    assert Contents.of(FrameColumns(frame.vstack(frame[:3]), "")).repeated_rows == 3


def test_columns_without_names_go_by_number(call: Call, here: Path) -> None:
    rows = [f"{k + 1},{k % 5},{k % 3}.5,{'ab'[k % 2]}" for k in range(12)]
    (here / "plain.csv").write_text("\n".join(rows))
    told = call("inspect plain.csv --json").json
    assert told["findings"][0]["option"] == "--drop 1"
    assert shlex.split(told["command"])[-4:] == ["--label", "4", "--drop", "1"]
    assert told["refused"] == "" and told["label"]["classes"] == {"a": 6, "b": 6}


@pytest.mark.parametrize("ending", ["parquet", "npz"])
def test_other_formats_are_looked_at_in_the_same_way(
    call: Call, hard: polars.DataFrame, ending: str
) -> None:
    few = hard.select("age", "g1", "gaps", "state")
    few.write_parquet("few.parquet")
    X, y = few.drop("state").to_numpy().astype(float), few["state"].to_numpy().astype(str)
    np.savez("few.npz", X=X, y=y, feature_names=np.array(few.columns[:3]))
    told = call(f"inspect few.{ending} --json").json
    assert told["rows"] == 60 and told["refused"] == ""
    columns = told["columns"]
    assert [c["name"] for c in columns[:3]] == few.columns[:3]
    assert [c["different"] for c in columns] == [c.drop_nulls().n_unique() for c in few]
    assert columns[0]["codes"] == [[-999.0, 4]]


def test_a_label_among_the_covariates_is_refused_beside_other_problems(
    call: Call, here: Path
) -> None:
    rows = [f"{k % 7}.{k},{'xyz'[k % 3]},{k % 2},{k % 2}" for k in range(40)]
    (here / "same.csv").write_text("\n".join(["a,site,ill,same", *rows]))
    told = call("inspect same.csv --label ill --adjust same --categorical site").out
    assert "in place of --adjust)\n  anova-f has no partial test" in told


def test_a_table_of_row_names_alone_is_refused_in_words(call: Call, here: Path) -> None:
    (here / "ids.csv").write_text("id\n" + "\n".join(f"r{k}" for k in range(20)))
    assert "no column that could be a label" in call("inspect ids.csv", code=4).err


def test_a_table_in_parts_is_forecast_and_its_command_runs(call: Call, here: Path) -> None:
    (here / "parts").mkdir()
    for k in range(2):
        frame = {"a": [k, 1, None], "b": [5, 6, 7], "c": [1, 1, 1], "ill": ["no", "yes", "no"]}
        polars.DataFrame(frame).write_parquet(here / "parts" / f"{k}.parquet")
    told = call("inspect parts").out
    assert "6 rows × 3 features, 11% of the values missing" in told
    assert "label ill: no 4, yes 2" in told
    assert "1 column with one value only: c" in told
    assert "of memory at least" in told
    said = call("inspect parts --json").json
    assert said["forecast"]["bytes_of_codes"] == 6 * (1 + 2 + 0) // 8
    assert said["command"] in told
    done = call(*shlex.split(said["command"])[1:], "--json", "-q")
    assert set(done.json["selected"]) == {"a", "b", "c"}
    assert (here / "parts.jmi_top=100_missing=level.h5").exists()


def test_blanks_between_fields_are_found_as_by_chain(call: Call, here: Path) -> None:
    rows = "\n".join(f"{k % 3} {k % 5}  {'uv'[k % 2]}" for k in range(20))
    (here / "blanks.txt").write_text(f"a b class\n{rows}\n")
    call("chain mim:top=1 on blanks.txt --no-out", code=0)
    result = call("inspect blanks.txt --json")
    assert result.code == 0 and result.json["label"]["name"] == "class"
    # One column is described, with what is wrong with it.
    (here / "one.txt").write_text("a\n1\n2\n")
    assert "a table needs features and a label" in call("inspect one.txt").out.replace("\n", " ")


def test_spellings_of_one_category_are_named(call: Call, here: Path) -> None:
    rows = [("Red", "f", "aa", "Good"), ("red", "F", "aA", "good"), ("blue", "M", "AA", "poor")]
    lines = [f"{','.join(row)},{k % 7}" for k, row in enumerate(rows * 12)]
    text = "\n".join(["colour,sex,size,outcome,dose", *lines])
    (here / "spelled.csv").write_text(text)
    told = call("inspect spelled.csv --label outcome --json").json
    what = [(f["columns"], f["what"]) for f in told["findings"] if f["columns"]]
    told_apart = {columns[0]: text for columns, text in what if "capitals" in text}
    assert sorted(told_apart) == ["colour", "sex", "size"]
    assert told_apart["colour"].startswith("Red and red differ")
    assert told_apart["sex"].startswith("F and f differ")
    assert (["outcome"], "spellings are merged: Good = good") in what
    run = call(
        "chain mim:top=1 on spelled.csv --label outcome --categorical colour,sex,size --no-out"
    )
    assert "'Red' and 'red' differ in capitals or blanks only" in run.out
    assert "'F' and 'f'" not in run.out
    (here / "spelled.csv").write_text(text.replace("Red", "red"))
    told = call("inspect spelled.csv --label outcome --json").json
    assert not any("colour" in f["columns"] and "capitals" in f["what"] for f in told["findings"])


def test_arguments_for_a_name_with_a_comma_are_taken() -> None:
    values = np.random.default_rng(0).normal(size=(40, 2))
    frame = polars.DataFrame(values, ["a", "b"]).with_columns(
        polars.Series("batch, kg", np.repeat([1, 2], 20)), polars.Series("class", ["p", "q"] * 20)
    )
    (asked,) = [f for f in fsframe.inspect(frame).findings if f.columns == ("batch, kg",)]
    assert asked.option == """--adjust '"batch, kg"'"""
    data = fsframe.read(frame, "class", **asked.settled)
    assert data.covariates is not None and data.covariates.names == ("batch, kg",)


def test_codes_of_missing_values_are_advice_where_a_frame_takes_none() -> None:
    rng = np.random.default_rng(0)
    frame = polars.DataFrame(
        {
            "dose": [-999.0] * 5 + [*rng.uniform(1, 9, 55)],
            "titre": ["late"] * 3 + [f"{x:.2f}" for x in rng.normal(5, 1, 57)],
            "status": ["ill", "well", "unknown"] * 20,
        }
    )
    told = {f.columns: f for f in fsframe.inspect(frame).findings if "make such" in f.what}
    assert {*told} == {("dose",), ("titre",), ("status",)}
    assert all("na" not in finding.settled for finding in told.values())
    assert told[("status",)].settled == {"missing_label": "drop"}
    asked = {"label": "status", "missing_label": "drop", "drop": "titre"}
    gone = [polars.col("dose").replace(-999.0, None), polars.col("status").replace("unknown", None)]
    data = fsframe.read(frame.with_columns(gone), **asked)
    assert data.classes == ("ill", "well")
    assert not any("looks like a code" in note for note in data.warnings)


def test_classes_are_counted_and_covariates_examined_in_a_table_that_is_refused() -> None:
    frame = polars.DataFrame(
        {
            "age": [None, *range(30, 69)],
            "site": [1] * 40,
            "mean level of the kinase": np.random.default_rng(0).normal(size=40),
            "status": ["ill", "well", "ill", "ill"] * 10,
        }
    )
    shown = fsframe.inspect(frame, label="status", adjust=["age", "site"])
    assert "label: status (2 different values: ill 30, well 10)" in str(shown)
    assert "site: one value only, nothing to adjust for" in str(shown)
    assert "column 'age': missing" in shown.refused


def test_long_names_that_begin_alike_are_told_apart() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    names = [f"level in plasma, fasting, week {k}" for k in range(3)]
    frame = polars.DataFrame(X, names).with_columns(status=polars.Series(["ill", "well"] * 20))
    lines = str(fsframe.inspect(frame)).splitlines()
    assert [sum(f" week {k}" in line for line in lines) for k in range(3)] == [1, 1, 1]


def test_the_time_until_a_label_that_tells_an_event_is_asked_about() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2)).round(2)
    classes = polars.Series(["recur", "nonrecur"] * 20)
    frame = polars.DataFrame(X, ["a", "b"]).insert_column(0, polars.Series("time", range(9, 49)))
    for outcome, asked in ((classes, ["--drop time"]), (classes.replace("recur", "b"), [])):
        told = fsframe.inspect(frame.with_columns(outcome=outcome), label="outcome")
        assert [f.option for f in told.findings if "looks like an outcome" in f.what] == asked
