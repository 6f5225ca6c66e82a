"""Kinds of columns: nominal, ordinal, boolean, date; how they are read, kept and encoded."""

import shlex

import numpy as np
import pandas
import polars
import pytest

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.table.column_kinds import stored_kinds
from fsframe.table.dataset import Dataset
from tests.same_process import fsframe as run

TEXT = """a,size,colour,member,since,grade,class
1.5,S,red,yes,2021-03-04,10,ill
2.5,L,blue,no,2021-03-05,2,well
0.5,M,green,yes,2020-12-31,2,ill
1.0,S,blue,no,,30,well
1.2,L,red,,2021-01-01,10,ill
1.9,M,red,no,2021-01-02,2,well
"""
READING = {"categorical": "colour", "ordinal": {"size": ["S", "M", "L"], "grade": None}}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "kinds.csv"
    path.write_text(TEXT)
    return path


def test_each_kind_is_read_as_what_it_is(table):
    data = fsframe.read(table, dates="days", **READING)
    kinds = [data.kind_of(k) for k in range(data.n_features)]
    assert kinds == ["numeric", "ordinal", "nominal", "boolean", "date", "ordinal"]
    assert data.X[:, 1].tolist() == [0, 2, 1, 0, 2, 1]
    assert data.X[:, 2].tolist() == [2, 0, 1, 0, 2, 2]
    assert data.X[:3, 3].tolist() == [1, 0, 1] and np.isnan(data.X[4, 3])
    assert data.X[1, 4] - data.X[0, 4] == 1 and np.isnan(data.X[3, 4])
    assert data.X[:, 5].tolist() == [1, 0, 0, 2, 1, 0]
    assert data.kinds["grade"].levels == ("2", "10", "30")
    assert "1 nominal, 2 ordinal, 1 boolean, 1 date" in repr(data)


def test_everything_wrong_with_columns_is_said_at_once_with_the_options(table):
    with pytest.raises(DataError) as refused:
        fsframe.read(table, ordinal={"size": ["S", "M"]})
    said = str(refused.value)
    for part in ("'red' is not a number", "--categorical", "--ordinal", "--dates days", "since"):
        assert part in said, said
    assert "the order of column 2 (size): L (--ordinal 'size=low<high')" in said


def test_other_orders_and_encodings_are_refused_before_anything_is_read():
    with pytest.raises(RequestError, match="encode must be onehot"):
        fsframe.read("nowhere.csv", encode="hash")
    with pytest.raises(RequestError, match="dates must be days"):
        fsframe.read("nowhere.csv", dates="years")
    with pytest.raises(RequestError, match="occurs twice"):
        fsframe.read("nowhere.csv", ordinal={"a": ["x", "x"]})


def test_columns_of_zero_and_one_take_the_place_of_nominal_ones(table):
    data = fsframe.read(table, dates="days", encode="onehot", **READING)
    assert data.feature_names[2:5] == ("colour=blue", "colour=green", "colour=red")
    assert data.X[:, 2:5].sum(axis=1).tolist() == [1] * 6
    assert not data.categorical.any() and data.kind_of(3) == "indicator"
    two = Dataset.from_arrays([[1.0], [7], [1]], [0, 1, 0], ["s"], categorical=[0])
    assert two.encoded("onehot").feature_names == ("s=7",)
    assert two.encoded("onehot").X[:, 0].tolist() == [0, 1, 0]


def test_frames_give_the_same_table_as_text(table):
    frame = polars.read_csv(table, try_parse_dates=True)
    data = Dataset.from_frame(frame, "class", dates="days", **READING)
    text = fsframe.read(table, dates="days", **READING)
    assert np.array_equal(data.X, text.X, equal_nan=True)
    assert data.sha256 == text.sha256 and data.kinds == text.kinds
    with pytest.raises(DataError, match=r"holds? dates"):
        Dataset.from_frame(frame, "class", **READING)
    with pytest.raises(RequestError, match="dates must be days"):
        Dataset.from_frame(frame, "class", dates="weeks", **READING)


def test_ordered_categories_of_pandas_are_ordinal():
    size = pandas.Categorical(["S", "L", "M", "S"], categories=["S", "M", "L"], ordered=True)
    plain = pandas.Categorical(["x", "y", "x", "z"])
    frame = pandas.DataFrame({"size": size, "kind": plain, "ok": [True, False, True, True]})
    data = Dataset.from_frame(frame.assign(y=[0, 1, 0, 1]), "y")
    assert [data.kind_of(k) for k in range(3)] == ["ordinal", "nominal", "boolean"]
    assert data.X[:, 0].tolist() == [0, 2, 1, 0]


def test_relief_takes_ordinal_columns_as_numbers_and_other_levels_of_them_do_not_matter():
    rng = np.random.default_rng(0)
    grade, noise = rng.integers(0, 4, 60), rng.standard_normal(60)
    frame = polars.DataFrame({"grade": grade, "noise": noise, "y": (grade > 1) * 1})
    scores = []
    for spelled in ([0, 1, 2, 3], [-5, 0, 1, 90]):
        other = frame.with_columns(polars.Series("grade", np.array(spelled)[grade]))
        data = Dataset.from_frame(other, "y", ordinal="grade")
        selection = fsframe.selectors["relieff"](k=5).select(data)
        assert not any("discrete" in note for note in selection.warnings)
        scores.append(selection.scores)
    assert scores[0].tobytes() == scores[1].tobytes()


def test_kinds_go_with_the_run_and_new_rows_are_coded_by_them(table, tmp_path):
    out = tmp_path / "run.h5"
    options = ["--categorical", "colour", "--ordinal", "size=S<M<L,grade", "--drop", "since,member"]
    done = run("chain", "mim:top=4", "on", str(table), "-o", str(out), *options, code=0)
    record = fsframe.load_run(out)
    kinds = stored_kinds(record.environment["kinds"])
    assert kinds["size"].levels == ("S", "M", "L") and kinds["colour"].kind == "nominal"
    # Other levels, in another order: codes are those of the run's table.
    new = tmp_path / "new.csv"
    new.write_text("size,colour,a,grade\nL,violet,1,2\nS,red,2,30\n")
    done = run("predict", str(out), "on", str(new), "--classifier", "knn:k=1", code=0)
    assert len(done.out.splitlines()) == 3
    new.write_text("size,colour,a,grade\nXXL,violet,1,2\n")
    done = run("predict", str(out), "on", str(new), "--classifier", "knn:k=1")
    assert done.code == 4 and "S < M < L" in done.err


def test_a_method_for_numbers_takes_encoded_columns_from_the_command_line(table, tmp_path):
    options = ["--categorical", "colour", "--drop", "since,member,size"]
    done = run("chain", "rfe:top=2", "on", str(table), "--no-out", *options)
    assert done.code == 4 and "--encode onehot" in done.err
    out = tmp_path / "rfe.h5"
    options += ["--encode", "onehot", "--json"]
    done = run("chain", "rfe:top=3", "on", str(table), "-o", str(out), *options, code=0)
    indicators = {"colour=blue", "colour=green", "colour=red"}
    assert {*done.json["selected"]} <= {"a", "grade", *indicators}
    reduced = tmp_path / "reduced.csv"
    run("apply", str(out), "on", str(table), "-o", str(reduced), code=0)
    assert "colour" in reduced.read_text().splitlines()[0].split(",")


def test_names_and_levels_with_separators_are_quoted_as_in_csv(tmp_path):
    path = tmp_path / "survey.csv"
    rows = zip(["<18", ">65", "18-65"] * 8, "ABCD" * 6, range(24), [0, 1] * 12, strict=True)
    lines = [f'"{age}",{group},{x},{y}' for age, group, x, y in rows]
    path.write_text('"age, in years",Blood,"a=b, c",y\n' + "\n".join(lines) + "\n")
    out = tmp_path / "run.h5"
    run("chain", "mim", "on", str(path), "--label", "y", "-o", str(out), "--drop",
        'Blood, "a=b, c"', "--ordinal", '"age, in years"="<18"<18-65<>65', code=0)  # fmt: skip
    kinds = stored_kinds(fsframe.load_run(out).environment["kinds"])
    assert list(kinds) == ["age, in years"]
    assert kinds["age, in years"].levels == ("<18", "18-65", ">65")
    # What is suggested is what can be said: by number, where the name has a comma.
    done = run("chain", "mim", "on", str(path), "--no-out", "--drop", "Blood")
    assert done.code == 4 and """--ordinal '1="<18"<18-65<>65\'""" in done.err
    run(*shlex.split(done.err.splitlines()[-1])[1:], code=0)
    done = run("chain", "mim", "on", str(path), "--no-out", "--ordinal", "1=<18<18-65<>65")
    assert done.code == 2 and 'age="<18"<18-65' in done.err
