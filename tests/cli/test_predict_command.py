"""`fsframe predict RUN.h5 on NEW.csv`: the classifier of a run, fitted again from its file."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import fsframe
from fsframe import Chain, load_run
from fsframe.errors import DataError

from .conftest import Call, names_and_rows, write_rows


def scores(text: str) -> np.ndarray:
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["row", "class", "score ill", "score well"]
    return np.array([row[2:] for row in rows[1:]], dtype=float)


@pytest.mark.parametrize(
    "chain",
    [
        "immigrate margin",
        "im4e mim:top=2 weighted-knn",
        "simba-mbiw weighted-knn",
        "bim:rounds=3 bim-vote",
        "mim:top=3 knn:k=3",
    ],
)
def test_a_stored_run_predicts_as_the_chain_itself_does(call: Call, here: Path, chain: str) -> None:
    call(f"chain {chain} on small.csv --out r.h5 --seed 3", code=0)
    done = call("predict r.h5 on small.csv", code=0)
    data = fsframe.read(here / "small.csv")
    fitted = Chain.parse(chain).fit(data, seed=3)
    assert np.array_equal(scores(done.out), fitted.predict_scores(data.X))


def test_an_evaluation_keeps_no_model_and_says_how_to_get_one(call: Call, here: Path) -> None:
    call("evaluate mim:top=2 knn on small.csv --folds 2 --repeats 1 -o e.h5", code=0)
    for further in ("", " --classifier margin"):
        refused = call(f"predict e.h5 on small.csv{further}", code=2)
        assert "(fsframe chain mim:top=2 knn on TABLE)" in " ".join(refused.err.split())


def test_rows_are_named_by_a_column_of_the_table(call: Call, here: Path) -> None:
    call("chain mim:top=2 knn on small.csv --out r.h5", code=0)
    numbered = call("predict r.h5 on small.csv").out.splitlines()
    first, rest = names_and_rows(here)
    names = ["patient", "=1+1", '"Doe, J"', "007", *(f"P{k}" for k in range(3, len(rest)))]
    named = ([name, *row] for name, row in zip(names, [first, *rest], strict=True))
    write_rows(here / "new.csv", named)
    assert call("predict r.h5 on new.csv").out.splitlines() == numbered
    result = list(csv.reader(io.StringIO(call("predict r.h5 on new.csv --id patient").out)))
    assert [row[0] for row in result[:5]] == ["patient", "'=1+1", "Doe, J", "007", "P3"]
    assert [row[1:] for row in result] == [line.split(",")[1:] for line in numbered]
    assert "pateint" in call("predict r.h5 on new.csv --id pateint", code=4).err


@pytest.mark.parametrize("chain", ["mim:top=2 knn", "impute mim:top=2 knn"])
def test_only_the_columns_that_the_classifier_uses_are_needed(
    call: Call, here: Path, chain: str
) -> None:
    call(f"chain {chain} on small.csv --out r.h5", code=0)
    kept = load_run(here / "r.h5").selected
    data = fsframe.read(here / "small.csv")
    kept_names = [data.feature_names[column] for column in sorted(kept)]
    write_rows(here / "few.csv", [kept_names, *data.X[:, sorted(kept)].tolist()])
    done = call("predict r.h5 on few.csv", code=0)
    assert done.out == call("predict r.h5 on small.csv").out


def test_all_columns_are_needed_where_the_nearest_rows_fill_gaps(call: Call, here: Path) -> None:
    call("chain impute:method=neighbours mim:top=2 knn on small.csv --out r.h5", code=0)
    data = fsframe.read(here / "small.csv")
    write_rows(here / "few.csv", [[data.feature_names[0]], [1.5]])
    assert data.feature_names[1] in call("predict r.h5 on few.csv", code=4).err


def test_the_column_without_a_value_has_its_number_in_the_table(here: Path) -> None:
    data = fsframe.read(here / "small.csv")
    fitted = Chain.parse("mim:top=1 knn").fit(data).restricted_to_its_columns()
    (column,) = fitted.numbers
    with pytest.raises(DataError, match=rf"row 2, column {column + 1};"):
        fitted.predict([[1.0], [np.nan]])


def test_a_classifier_is_named_for_a_run_without_one(call: Call) -> None:
    call("chain immigrate on small.csv --out r.h5", code=0)
    assert "--classifier" in call("predict r.h5 on small.csv", code=2).err
    call("predict r.h5 on small.csv --classifier margin", code=0)


def test_the_table_is_read_again_as_it_was_for_the_run(call: Call, here: Path) -> None:
    how = "--drop gene-a --categorical last --label state"
    names, rows = names_and_rows(here)
    coded = ([*row[:-2], k % 3, row[-1]] for k, row in enumerate(rows))
    write_rows(here / "coded.csv", [names, *coded])
    call(f"chain mim:top=2 knn on coded.csv --out r.h5 {how}", code=0)
    # The run file says how; the same said again changes nothing, another label does.
    done = call("predict r.h5 on coded.csv", code=0)
    assert call(f"predict r.h5 on coded.csv {how}").out == done.out
    call("predict r.h5 on coded.csv --label last", code=4)


def test_classes_that_a_spreadsheet_would_compute_are_written_as_text(call: Call) -> None:
    text = Path("small.csv").read_text(encoding="utf-8")
    Path("small.csv").write_text(text.replace("well", "=cmd()").replace("ill", "-"), "utf-8")
    call("chain mim:top=2 knn on small.csv -q -o run.h5", code=0)
    shown = call("predict run.h5 on small.csv").out.splitlines()
    classes = {line.split(",")[1] for line in shown[1:]}
    assert "'=cmd()" in classes and "-" in classes and "=cmd()" not in classes
    raw = call("predict run.h5 on small.csv --no-defuse").out
    assert ",=cmd()," in raw and "'" not in raw


def test_a_column_in_other_units_is_noted(call: Call, here: Path) -> None:
    call("chain mim:top=2 knn on small.csv --out r.h5", code=0)
    names, rows = names_and_rows(here)
    write_rows(here / "other.csv", [names, *([a, 1000 * float(b), *c] for a, b, *c in rows)])
    noted = "most values of gene-b are far outside"
    other, same = call("predict r.h5 on other.csv"), call("predict r.h5 on small.csv")
    assert other.code == same.code == 0
    assert noted in " ".join(other.err.split())
    assert noted not in " ".join(same.err.split())
    # Nor is a level that is spelled otherwise an error.
    write_rows(here / "sex.csv", [["sex", "grp"], *([s, s == "F"] for s in "FM" * 9)])
    write_rows(here / "new.csv", [["sex"], ["F"], ["m"]])
    call("chain mim:top=1 knn on sex.csv --categorical sex --out s.h5", code=0)
    noted = "sex: levels that do not occur in the table of the run"
    other, same = call("predict s.h5 on new.csv"), call("predict s.h5 on sex.csv")
    assert noted in other.err and noted not in same.err


@pytest.mark.parametrize(
    ("order", "options"),
    [("yabc", "--label 1"), ("iabcy", "--drop 1"), ("abcy", ""), ("ayib", "--label 2 --drop 3")],
)
def test_columns_without_names_are_found_by_their_place(
    call: Call, here: Path, order: str, options: str
) -> None:
    """Whatever was left out in front of them."""
    draw = np.random.default_rng(5)
    y = np.arange(40) % 2
    columns = {name: draw.normal(size=40).round(3) for name in "abc"} | {"y": y}
    columns |= {"b": (columns["b"] + 9 * y).round(3), "i": 500 + 7 * np.arange(40)}
    text = "\n".join(",".join(str(columns[name][k]) for name in order) for k in range(40))
    (here / "t.data").write_text(text)
    done = call(f"chain mim:top=1 knn:k=3 on t.data {options} --out r.h5 --json")
    assert done.code == 0 and done.json["selected"] == [f"f{order.index('b') + 1}"], done.err
    predicted = call("predict r.h5 on t.data").out.splitlines()[1:]
    assert [int(line.split(",")[1]) for line in predicted] == y.tolist()
    reduced = call("apply r.h5 on t.data -o -").out
    kept = [name for name in order if name in "by"]
    rows = [",".join(str(columns[name][k]) for name in kept) for k in range(40)]
    assert reduced.splitlines() == rows
    # New rows, of which nobody knows the label.
    without = [place for place, name in enumerate(order) if name != "y"]
    cells = [[line.split(",")[place] for place in without] for line in text.splitlines()]
    (here / "new.data").write_text("\n".join(map(",".join, cells)))
    new = call("predict r.h5 on new.data")
    if order.index("y") == len(order) - 1:
        assert new.out.splitlines()[1:] == predicted
    else:
        assert new.code == 4 and "such as the label, must be there, if only empty" in new.err
    empty = text.splitlines()
    at = order.index("y")
    cells = [[c if k != at else "" for k, c in enumerate(line.split(","))] for line in empty]
    (here / "new.data").write_text("\n".join(map(",".join, cells)))
    assert call("predict r.h5 on new.data").out.splitlines()[1:] == predicted


def test_new_rows_may_be_parted_by_blanks_as_r_writes_them(call: Call, here: Path) -> None:
    names, rows = names_and_rows(here)
    numbered = ([f'"{k + 1}"', *row] for k, row in enumerate(rows))
    write_rows(here / "r.txt", [[f'"{name}"' for name in names], *numbered], " ")
    call("chain mim:top=2 knn on r.txt --out r.h5", code=0)
    call("chain mim:top=2 knn on small.csv --out s.h5", code=0)
    assert call("predict r.h5 on r.txt").out == call("predict s.h5 on small.csv").out
    (here / "one.txt").write_text("size of it\n1\n2\n")
    assert "it has 1 column\n" in call("predict r.h5 on one.txt", code=4).err


def test_a_column_left_out_for_its_name_is_left_out_of_new_rows(call: Call, here: Path) -> None:
    """As `inspect` proposes where two columns have one name."""
    names, rows = names_and_rows(here)
    first, number = names[0], len(names)
    twice = ([*row[:-1], 7.5, row[-1]] for row in rows)
    write_rows(here / "twice.csv", [[*names[:-1], first, names[-1]], *twice])
    assert f"--drop {number}" in call("inspect twice.csv").out
    chain = f"mim:top={number - 1} knn"
    call(f"chain {chain} on twice.csv --drop {number} --out t.h5", code=0)
    call(f"chain {chain} on small.csv --out s.h5", code=0)
    assert call("predict t.h5 on twice.csv").out == call("predict s.h5 on small.csv").out
    assert call("apply t.h5 on twice.csv -o -").out == call("apply s.h5 on small.csv -o -").out
    other = call("predict s.h5 on twice.csv")
    assert other.code == 4 and f"several columns are named {first!r}; rename them" in other.err


def test_new_rows_may_have_other_delimiters_than_the_table_of_the_run(
    call: Call, here: Path
) -> None:
    points = (here / "small.csv").read_text()
    (here / "commas.csv").write_text(points.replace(",", ";").replace(".", ","))
    call("chain mim:top=2 knn on commas.csv --out r.h5", code=0)
    refused = call("predict r.h5 on small.csv", code=4)
    assert "(--decimal ,): say how it is written (--delimiter, --decimal)" in refused.err
    done = call("predict r.h5 on small.csv --delimiter , --decimal .")
    assert done.code == 0 and done.out == call("predict r.h5 on commas.csv").out
