"""The arguments of `fsframe.read` are declared once; what spells them out has the same ones."""

from __future__ import annotations

import inspect

import attrs
import pytest

import fsframe
from fsframe.ask.options import TableOptions
from fsframe.cli.options import READING
from fsframe.evaluation.study_plan import read_plan
from fsframe.table.guesses.doubts import as_words
from fsframe.table.reader import Form
from fsframe.table.reading_options import OPTIONS, stored_types
from fsframe.table.roles import ROLES

OWN_ROLES = set(ROLES) - {"label", "groups"}
"""The roles that are not arguments by themselves of the functions for programs."""


def test_the_types_for_programs_are_those_that_are_declared():
    assert set(TableOptions.__annotations__) == {*OPTIONS, *OWN_ROLES}


def test_the_form_of_a_file_is_what_is_not_for_frames():
    of_files = {name for name, option in OPTIONS.items() if not option.of_frames}
    assert {field.name for field in attrs.fields(Form)} == of_files


def test_read_and_commands_take_them():
    assert set(OPTIONS) <= set(inspect.signature(fsframe.read).parameters)
    assert {*READING} == {*ROLES, *(name for name, each in OPTIONS.items() if each.flag)}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"header": False, "transpose": True}, "--no-header --transpose"),
        ({"transpose": False, "header": True, "categorical": True}, "--header"),
        ({"weight": 0, "missing_label": "drop"}, "--weight 1 --missing-label drop"),
        ({"in_memory": True, "na": ["-9", "?"]}, "--na -9 --na ?"),
    ],
)
def test_they_are_spelled_as_commands_take_them(given, words):
    assert as_words(given) == words.split()


def test_a_study_file_takes_each(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,class\n" + "1,2,x\n2,3,y\n" * 9)
    lines = ['chains = ["mim:top=1 knn"]', "folds = 3", "[[tables]]", 'path = "t.csv"']
    lines += ["in_memory = true", "header = true", 'decimal = "."', 'task = "classification"']
    (tmp_path / "study.toml").write_text("\n".join(lines))
    assert read_plan(tmp_path / "study.toml").tables[0].data.n_samples == 18
    assert {"x", "y", "names", "label", "ordinal"} <= set(stored_types())
