"""Roles as users type them: options given twice, decimal commas, covariates behind impute."""

from __future__ import annotations

import pytest

from tests.command_line import fsframe

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
