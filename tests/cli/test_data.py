"""Tables through the command line: formats, options, roles, and every way a table can be wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.same_process import fsframe

from .conftest import Call


@pytest.mark.parametrize(
    ("method", "content", "parts"),
    [
        # tests/table/test_errors.py has all that can be wrong with a table.
        ("mim", "a,b,class\n1,2,x\n3,oops,y\n5,6,x\n7,8,y\n", ["line 3, column 2 (b)", "'oops'"]),
        ("mim", "", ["is empty"]),
        ("immigrate", "a,b,class\n1,2,x\n3,,y\n5,6,x\n7,1,y\n", ["immigrate", "missing", "'b'"]),
    ],
)
def test_a_wrong_table_ends_with_4_and_one_message(
    call: Call, here: Path, method: str, content: str, parts: list[str]
) -> None:
    (here / "wrong.csv").write_text(content, encoding="utf-8")
    done = call(f"chain {method} on wrong.csv")
    assert done.code == 4 and done.out == ""
    told = [line for line in done.err.splitlines() if not line.startswith("note: ")]
    assert told[0].startswith("fsframe: ") and all(part in told[0] for part in parts)
    # Further lines are commands that settle it.
    assert all(line.startswith("  ") for line in told[1:])
    assert not list(here.glob("*.h5*"))


def arrays(here: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    lines = (here / "small.csv").read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines[1:]]
    X = np.array([[float(cell) for cell in row[:-1]] for row in cells])
    return X, np.array([row[-1] for row in cells]), lines[0].split(",")[:-1]


def test_every_format_gives_the_same_result(call: Call, here: Path) -> None:
    X, y, names = arrays(here)
    text = (here / "small.csv").read_text(encoding="utf-8")
    (here / "tabs.tsv").write_text(text.replace(",", "\t"), encoding="utf-8")
    for name, content in (("packed.csv.gz", text), ("packed.tsv.gz", text.replace(",", "\t"))):
        with gzip.open(here / name, "wt", encoding="utf-8") as stream:
            stream.write(content)
    np.savez(here / "plain.npz", X=X, y=y, feature_names=np.array(names))
    np.savez(here / "named.npz", table=X, state=y, columns=np.array(names))
    with h5py.File(here / "deep.h5", "w") as file:
        file["data/table"] = X
        file["data/state"] = y.astype("S")
        file["columns"] = np.array(names, dtype=object)
    with h5py.File(here / "plain.h5", "w") as file:
        file["X"], file["y"] = X, y.astype("S")
        file["feature_names"] = np.array(names, dtype=object)
    expected = call("chain immigrate:top=3 on small.csv --no-out --json").json
    for line in (
        "tabs.tsv",
        "packed.csv.gz",
        "packed.tsv.gz",
        "plain.npz",
        "named.npz --x table --y state --names columns",
        "plain.h5",
        "deep.h5 --x data/table --y data/state --names columns",
    ):
        done = call(f"chain immigrate:top=3 on {line} --no-out --json")
        assert done.code == 0, (line, done.err)
        for key in ("selected", "scores", "pairs", "digests"):
            assert done.json[key] == expected[key], (line, key)


def test_a_target_is_found_or_told(call: Call, here: Path) -> None:
    X, _, _ = arrays(here)
    target = (X @ [0.0, 2.0, 0.0, 0.0, 1.0]).round(3)
    rows = ["a,b,c,d,e,t"] + [",".join(map(str, [*x, t])) for x, t in zip(X, target, strict=True)]
    (here / "target.csv").write_text("\n".join(rows) + "\n")
    found = call("chain rrelieff --top 1 on target --label t --no-out --json")
    assert found.code == 0, found.err
    assert found.json["selected"] == ["b"]
    refused = call("chain immigrate on target --label t")
    assert refused.code == 4
    assert "immigrate does not take a numeric target" in refused.err
    whole = [line.rpartition(",")[0] + f",{i % 7}" for i, line in enumerate(rows[1:])]
    (here / "whole.csv").write_text("\n".join([rows[0], *whole]) + "\n")
    assert call("chain rrelieff on whole --no-out").code == 4
    assert call("chain rrelieff on whole --no-out --task regression").code == 0


def test_categorical_columns_are_reported(call: Call, here: Path) -> None:
    text = (here / "small.csv").read_text(encoding="utf-8").splitlines()
    rows = [text[0] + ""] + [
        ",".join(["ABC"[i % 3], *row.split(",")[1:]]) for i, row in enumerate(text[1:])
    ]
    (here / "letters.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    refused = call("chain mim on letters")
    assert refused.code == 4
    assert "--categorical" in refused.err or "categorical" in refused.err
    done = call("chain mim on letters --categorical gene-a --no-out --json")
    assert done.code == 0, done.err
    assert done.json["selected"][0] == "gene-b"


ROWS = [
    f"S{k};{'ab'[k % 2]};{'xyz'[k % 3]};{'' if k == 7 else f'{k % 5},{k}'};{(k * 7) % 11},5;"
    f"{['ill', 'well'][k // 20]}"
    for k in range(40)
]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["id;site;colour;age;dose;outcome", *ROWS]) + "\n")
    return str(path)


def test_lists_of_columns_may_be_given_in_several_options(table):
    often = ("--categorical", "site", "--categorical", "colour", "--drop", "id", "--drop", "dose")
    once = ("--categorical", "site,colour", "--drop", "id,dose")
    found = [
        fsframe("chain", "impute", "mim:top=2", "on", table, "--decimal", ",", *how, "--no-out",
                "--json").json
        for how in (often, once)
    ]  # fmt: skip
    assert found[0]["scores"] == found[1]["scores"]
    assert set(found[0]["scores"]) == {"site", "colour", "age"}


def test_decimal_commas_are_read_where_nothing_else_fits(table):
    columns = ("--drop", "id,site", "--categorical", "colour", "--no-out", "--json")
    found, given = (
        fsframe("chain", "impute", "mim:top=1", "on", table, *how, *columns).json
        for how in ((), ("--decimal", ","))
    )
    assert found["scores"] == given["scores"]
    told = fsframe("inspect", table).out
    assert "0 … 4.9" in told
    command = told.partition("Suggested command:")[2].partition("answers:")[0]
    assert "--categorical colour" in command and "age" not in command


def test_impute_leaves_covariates_to_the_stages_behind_it(table):
    options = ("--decimal", ",", "--drop", "id", "--categorical", "site,colour", "--adjust", "site")
    done = fsframe("chain", "impute", "mim:top=1", "on", table, *options, "--no-out", "--json")
    assert done.code == 0, done.err
    refused = fsframe("chain", "impute", "relieff", "on", table, *options, "--no-out")
    assert refused.code == 4
    assert "relieff cannot adjust for site" in refused.err
