"""The command that `inspect` prints for an untidy table runs as printed, to a sensible answer."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import Done
from tests.front_door.builder import TEXTS, write_workbook

Call = Callable[..., Done]
LABELS = {"label first": "diagnosis", "label last": "class"}
NO_FEATURES = {"PatientID", "Date", "Batch", "Comments", "Outcome", "Spare", "", "f1"}
KEEP = {"below the limit": "CRP", "not done": "CRP", "spreadsheet errors": "CRP", "code": "Weight"}
KEEP |= {"units in cells": "CRP", "percent": "Cells", "thousands": "Platelets"}


def answered(call: Call, path: Path) -> Done:
    """The result of the command that `inspect` prints, as printed."""
    told = call("inspect", str(path), "--json").json
    assert told["refused"] == "", told["refused"]
    words = shlex.split(told["command"])
    assert "alpha=0.05" in words[2], words
    done = call(*words[1:], "--no-out", "--json", "--quiet")
    assert done.code == 0, (words, done.err)
    return done


@pytest.mark.parametrize("what", TEXTS)
def test_an_untidy_table_reaches_an_answer(call, here, what):
    path = here / "my table.csv"
    path.write_text(TEXTS[what], encoding="utf-8")
    found = answered(call, path).json
    assert found["data"]["label"] == LABELS.get(what, "Outcome")
    assert len(found["data"]["classes"]) == 2
    features = {*found["scores"]}
    assert not NO_FEATURES & features
    assert {"GENE1", "GENE2", "GENE5"} <= features and len(features) > 200
    assert KEEP.get(what, "GENE1") in features
    if what == "a German export":
        assert {"CRP", "Cells", "Platelets"} <= features
    if what != "rare class":
        assert {"GENE2", "GENE5"} & {*found["selected"]}
    if what == "visits":
        assert found["data"]["groups"] == ["PatientID", 10]


def test_a_workbook_is_read_as_text_is(call, here):
    path = write_workbook(here / "visits.xlsx")
    found = answered(call, path).json
    assert found["data"]["label"] == "Outcome" and found["data"]["groups"] == ["PatientID", 10]
    assert "GENE2" in found["selected"]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("title above", "title"),
        ("two lines of names", "names or units"),
        ("totals below", "totals"),
        ("semicolons and decimal commas", "decimal commas"),
        ("spellings of a class", "'good' as 'Good'"),
        ("units in cells", "'mg/l'"),
        ("thousands", "separators of thousands"),
    ],
)
def test_what_was_read_otherwise_than_spelled_is_said(here, what, said):
    import fsframe

    (here / "table.csv").write_text(TEXTS[what], encoding="utf-8")
    drop = ["PatientID"]
    read = fsframe.read(here / "table.csv", label="Outcome", drop=drop, categorical=["Sex"])
    assert any(said in warning for warning in read.warnings), read.warnings


def test_the_command_for_correlated_columns_runs_as_printed(call, here):
    draw = np.random.default_rng(1)
    shared = np.repeat(draw.normal(size=(120, 5)), 5, axis=1)
    X = np.sqrt(0.8) * shared + np.sqrt(0.2) * draw.normal(size=(120, 25))
    label = np.where(X[:, 3] + X[:, 12] + 0.5 * draw.normal(size=120) > 0, "ill", "well")
    names = [f"m{k}" for k in range(25)]
    rows = [",".join([*(f"{v:.4f}" for v in row), label[i]]) for i, row in enumerate(X)]
    path = here / "markers.csv"
    path.write_text("\n".join([",".join([*names, "state"]), *rows]))
    told = call("inspect", str(path), "--json").json
    (needed,) = [each for each in told["proposals"] if "needed" in each["question"]]
    assert needed["processor_seconds"] > 0
    assert "costs: about" in call("inspect", str(path)).out
    found = call(*shlex.split(needed["command"])[1:], "--no-out", "--json", "--quiet")
    assert found.code == 0, found.err
    # Of five that are alike the two causes, at most one more.
    assert {"m3", "m12"} <= {*found.json["selected"]} and len(found.json["selected"]) <= 3
