"""Tables through the command line: formats, options, roles, and every way a table can be wrong."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.same_process import fsframe

from .conftest import Call, names_and_rows


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


def test_arrays_of_a_file_are_named_by_options(call: Call, here: Path) -> None:
    (*names, _), rows = names_and_rows(here)
    X, y = np.array([row[:-1] for row in rows], float), np.array([row[-1] for row in rows])
    np.savez(here / "named.npz", table=X, state=y, columns=names)
    with h5py.File(here / "deep.h5", "w") as file:
        file["data/table"], file["data/state"] = X, y.astype("S")
        file["columns"] = np.array(names, dtype=object)
    expected = call("chain immigrate:top=3 on small.csv --no-out --json").json
    for line in (
        "named.npz --x table --y state --names columns",
        "deep.h5 --x data/table --y data/state --names columns",
    ):
        done = call(f"chain immigrate:top=3 on {line} --no-out --json", code=0)
        for key in ("selected", "scores", "pairs", "digests"):
            assert done.json[key] == expected[key], (line, key)


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
    chain = ("chain", "impute", "mim:top=2", "on", table, "--decimal", ",", "--no-out", "--json")
    found = [fsframe(*chain, *how).json["scores"] for how in (often, once)]
    assert found[0] == found[1] and set(found[0]) == {"site", "colour", "age"}


def test_impute_leaves_covariates_to_the_stages_behind_it(table):
    options = ("--decimal", ",", "--drop", "id", "--categorical", "site,colour", "--adjust", "site")
    fsframe("chain", "impute", "mim:top=1", "on", table, *options, "--no-out", "--json", code=0)
    refused = fsframe("chain", "impute", "relieff", "on", table, *options, "--no-out", code=4)
    assert "relieff cannot adjust for site" in refused.err
