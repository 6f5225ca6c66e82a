"""The label of a table is guessed once, and what `inspect` and errors advise runs as printed."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import fsframe
from fsframe.errors import DataError, UntidyTableError
from tests.command_line import Done
from tests.front_door.builder import TEXTS, as_text, patients, write, write_workbook

Call = Callable[..., Done]

COMMANDS = (
    "chain mim:top=3 on patients.csv --no-out",
    "evaluate mim:top=3 knn on patients.csv --folds 3 --repeats 1 --no-out",
    "stability mim:top=3 on patients.csv --n 5 --no-out",
    "compare 'mim:top=3 knn' 'mim:top=2 knn' on patients.csv --folds 3 --repeats 1 --out both",
)


@pytest.fixture
def untidy(here: Path) -> Path:
    return write(here / "patients.csv", patients())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_measurement_in_the_last_column_is_no_default_label(call, untidy, command):
    done = call(*shlex.split(command))
    assert done.code == 4 and "'GENE12', may not be it: 'Outcome' looks more like one" in done.err
    ways = [line.strip() for line in done.err.splitlines()[1:] if line.startswith("  fsframe ")]
    assert [re.search(r"--label (\S+)", way)[1] for way in ways] == ["Outcome", "GENE12"]
    for way in ways:
        dropped = re.findall(r"--drop (\S+)", way)[0].split(",")
        assert "Outcome" not in dropped and {"PatientID", "Date"} <= {*dropped}
    first = call(*shlex.split(ways[0])[1:], "--json", code=0)
    if command == COMMANDS[0]:
        assert {"GENE2", "GENE5"} < {*first.json["selected"]}
        second = call(*shlex.split(ways[1])[1:], "--json")
        assert second.code == 0 and second.json["data"]["label"] == "GENE12"


def test_a_likely_label_given_as_groups_is_named_and_no_other_is_offered(call, untidy):
    done = call("chain mim on patients.csv --no-out --groups Outcome")
    assert (
        done.code == 4 and "'Outcome', which looks like it, has another role (--groups" in done.err
    )
    assert "--label GENE12" not in done.err


def test_no_message_offers_a_likely_label_for_dropping(call, untidy):
    for words in ("", "--label GENE12", "--label Age", "--label Outcome"):
        told = call(f"chain mim on patients.csv --no-out {words}").err
        assert not re.search(r"--drop \S*Outcome", told)


def test_a_table_in_parts_asks_for_its_label_too(here):
    (here / "parts").mkdir()
    frame = polars.DataFrame({"outcome": ["a", "b"] * 10, "g1": range(20), "g2": range(20)})
    frame.write_parquet(here / "parts" / "one.parquet")
    with pytest.raises(UntidyTableError, match="'outcome' looks more like one"):
        fsframe.read(here / "parts")


def test_a_study_says_what_to_write_into_its_file(call, untidy):
    Path("study.toml").write_text('chains = ["mim:top=2 knn"]\ntables = ["patients.csv"]\n')
    done = call("study study.toml")
    assert done.code == 2 and 'label = "Outcome"; drop = ["PatientID"' in done.err
    way = next(line for line in done.err.splitlines() if 'label = "Outcome"' in line)
    keys = way.partition("it: ")[2].replace("; ", "\n")
    Path("study.toml").write_text(
        f'chains = ["mim:top=2 knn"]\nfolds = 3\n[[tables]]\npath = "patients.csv"\n{keys}\n'
    )
    call("study study.toml --dry-run", code=0)


def test_many_alike_columns_are_not_a_label_if_another_is_named_so(here):
    draw = np.random.default_rng(0)
    snps = {f"rs{k}": list(map(str, draw.integers(0, 3, 60))) for k in range(30)}
    table = {"diagnosis": list(map(str, draw.integers(0, 2, 60)))} | snps
    with pytest.raises(UntidyTableError, match="'diagnosis' looks more like one"):
        fsframe.read(write(here / "snps.csv", table))
    typed = {"tumour_type": table.pop("diagnosis")}
    assert fsframe.read(write(here / "snps.csv", table)).label_name == "rs29"
    measured = [f"{value:.3f}" for value in draw.normal(size=60)]
    # The last is compared with the ten before it.
    for other in ({"rs29": typed["tumour_type"]}, {"rs28": measured}):
        data = fsframe.read(write(here / "snps.csv", typed | snps | other))
        assert data.label_name == "rs29"
    with pytest.raises(UntidyTableError, match="'tumour_type' looks more like one"):
        fsframe.read(write(here / "snps.csv", typed | snps | {"rs18": measured}))


def test_confounding_is_said_in_words_and_adjusted_for(call, untidy):
    told = call("inspect patients.csv --json").json
    about = {f["columns"][0]: f for f in told["findings"] if f["columns"]}
    assert "B1 has 15 Good, 0 Poor" in about["Batch"]["what"]
    assert "confounded with Outcome" in about["Batch"]["what"]
    assert about["Batch"]["option"] == "--adjust Batch" and "--adjust Batch" in told["command"]
    assert next(iter(about)) == "Batch"
    assert {"Age", "Sex"} <= {*about}
    assert "Batch" not in told["command"].partition("--categorical")[2].partition("--")[0]


def test_a_batch_that_is_the_label_is_said_to_be_inseparable(call, here):
    table = patients()
    table["Batch"] = ["B1" if outcome == "Good" else "B2" for outcome in table["Outcome"]]
    write(here / "same.csv", table)
    told = call("inspect same.csv --json").json
    first = told["findings"][0]
    assert first["columns"] == ["Batch"] and "cannot be told apart" in first["what"]
    assert first["option"] == "--drop Batch" and "--adjust" not in told["command"]


def test_rows_without_a_label_are_left_out_if_asked(call, here):
    table = patients()
    table["Outcome"] = ["" if k in (2, 7) else v for k, v in enumerate(table["Outcome"])]
    path = write(here / "gaps.csv", table)
    said = {
        "label": "Outcome",
        "drop": ["PatientID", "Date", "Batch", "Comments"],
        "categorical": ["Sex", "ER status"],
    }
    with pytest.raises(fsframe.DataError, match="missing_label='drop'"):
        fsframe.read(path, **said)
    frame = polars.read_csv(path)
    with pytest.raises(fsframe.DataError, match="missing_label='drop'"):
        fsframe.read(frame, **said)
    kept = [row for row in range(60) if row not in (2, 7)]
    without = {name: [cells[row] for row in kept] for name, cells in table.items()}
    expected = fsframe.read(write(here / "gaps_.csv", without), **said)
    for source in (path, frame):
        data = fsframe.read(source, missing_label="drop", groups="Age", **said)
        assert data.X.shape == (58, 14) and len(data.groups) == 58
        assert (data.y == expected.y).all()
        assert (data.X[:, 3] == expected.X[:, 4]).all()
        assert any("2 rows without a label left out" in text for text in data.warnings)
    with pytest.raises(fsframe.RequestError, match="missing_label must be drop"):
        fsframe.read(path, missing_label="keep", **said)


def test_a_run_remembers_that_rows_without_a_label_were_left_out(call, here):
    lines = ["a,b,class"] + [f"{k % 7},{k % 5},{'xy'[k % 2] if k != 9 else ''}" for k in range(30)]
    (here / "t.csv").write_text("\n".join(lines))
    refused = call("chain mim:top=1,bins=2 on t.csv --out run.h5")
    assert refused.code == 4 and "line 11" in refused.err and "--missing-label drop" in refused.err
    done = call("chain mim:top=1,bins=2 on t.csv --missing-label drop --out run.h5")
    assert done.code == 0 and "29 samples" in done.out
    call("audit run.h5", code=0)
    Path("study.toml").write_text(
        'chains = ["mim:top=1,bins=2 knn"]\nfolds = 2\n'
        '[[tables]]\npath = "t.csv"\nmissing_label = "drop"\n'
    )
    call("study study.toml", code=0)


def test_two_fractions_are_told_apart_as_two_whole_numbers_are(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{0.2 if k < 30 else 0.7},{k * 7 % 13},{'ab'[k >= 30]}" for k in range(60)]
    path.write_text("batch,x,outcome\n" + "\n".join(lines) + "\n")
    (told,) = (f.what for f in fsframe.inspect(path).findings if f.columns == ("batch",))
    assert "0.2 has 30 a, 0 b; 0.7 has 0 a, 30 b" in told


# What an error advises a program is an argument of the function that was called


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "select": lambda frame, **more: fsframe.select("mim:top=2,bins=3", frame, **more),
    "evaluate": lambda frame, **more: fsframe.evaluate(
        "mim:top=2,bins=3 knn", frame, folds=2, repeats=1, **more
    ),
    "stability": lambda frame, **more: fsframe.stability("mim:top=2,bins=3", frame, n=3, **more),
    "compare": lambda frame, **more: fsframe.compare(
        ["mim:top=2,bins=3 knn", "mim:top=1,bins=3 knn"], frame, folds=2, repeats=1, **more
    ),
    "study": lambda frame, **more: fsframe.study(
        frame, ["mim:top=2,bins=3 knn"], folds=2, measures="accuracy", **more
    ),
}


@pytest.fixture
def frame() -> polars.DataFrame:
    return polars.read_csv(io.StringIO(as_text(patients())))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_advice_is_taken_by_the_function_that_gives_it(frame, function):
    with pytest.raises(UntidyTableError) as caught:
        fsframe.read(frame)
    advised = caught.value.ways[0]
    said = ", ".join(f"{key}={value!r}" for key, value in advised.items())
    assert said in _refusal(function, frame)
    assert {"label", "drop", "categorical"} <= {*advised}
    assert FUNCTIONS[function](frame, **advised) is not None


def _refusal(function: str, frame: polars.DataFrame, **more: Any) -> str:
    with pytest.raises((fsframe.FsframeError, TypeError)) as caught:
        FUNCTIONS[function](frame, **more)
    return str(caught.value)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_argument_of_another_package_is_answered_with_ours(frame, function):
    told = _refusal(function, frame, target="Outcome")
    assert told == (
        f"{function}() got an unexpected keyword argument 'target'; did you mean `label=`?"
    )
    assert "it takes" in _refusal(function, frame, colour="red")
    told = _refusal(function, frame, target="Outcome", ignore="Date")
    assert told.endswith("'target', 'ignore'; did you mean `label=`, `drop=`?")
    for attempt in (fsframe.read, fsframe.Dataset.from_frame):
        with pytest.raises(TypeError, match="did you mean `label=`"):
            attempt(frame, target="Outcome")


def test_a_chain_says_which_functions_take_what_it_advises(frame):
    with pytest.raises(UntidyTableError, match=r"`fsframe.read` takes, and so does `fsframe.sel"):
        fsframe.Chain.parse("mim").run(frame, label="Outcome")


def test_features_without_options_are_advised_about_the_frame(frame):
    outcome = frame["Outcome"]
    with pytest.raises(DataError, match=r"make them categories \(X.astype"):
        fsframe.Dataset.from_arrays(frame.drop("Outcome"), outcome)


def test_missing_values_are_answered_with_what_can_be_typed():
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[2, 1] = np.nan
    data = fsframe.Dataset.from_arrays(X, np.arange(20) % 2)
    with pytest.raises(DataError) as caught:
        fsframe.select("mim", data)
    assert "`mim:missing=pairwise`" in str(caught.value)
    assert 'missing="pairwise"' in str(caught.value)
    assert fsframe.select("mim:missing=pairwise,top=1,bins=3", data).selected_names


def test_a_dataset_with_roles_besides_is_refused_by_name():
    data = fsframe.Dataset.from_arrays(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(fsframe.RequestError, match="label= drop= is for data frames"):
        fsframe.select("mim", data, label="y", drop=["x"])


def test_the_array_of_a_file_is_no_label_of_a_frame(frame):
    assert "y is for files, not for DataFrame; its label is label=" in _refusal(
        "select", frame, y="Outcome"
    )


def test_ranks_whose_scores_rise_are_explained():
    draw = np.random.default_rng(1)
    X = draw.integers(0, 3, (80, 5)).astype(float)
    data = fsframe.Dataset.from_arrays(X, (X[:, 0] + X[:, 1] + draw.random(80) > 2.5).astype(int))
    rising, falling = (str(fsframe.select(text, data)) for text in ("jmi:top=3", "mim:top=3"))
    assert "rank: the order in which the features were chosen" in rising
    assert "rank: the order" not in falling


# The command that `inspect` prints for an untidy table runs as printed, to a sensible answer


LABELS = {"label first": "diagnosis"}
NO_FEATURES = {"PatientID", "Date", "Batch", "Comments", "Outcome", "Spare", "", "f1"}
KEEP = {"spreadsheet errors": "CRP", "code": "Weight", "units in cells": "CRP"}


def answered(call: Call, path: Path) -> Done:
    """The result of the command that `inspect` prints, as printed."""
    told = call("inspect", str(path), "--json").json
    assert told["refused"] == "", told["refused"]
    words = shlex.split(told["command"])
    assert "alpha=0.05" in words[2], words
    done = call(*words[1:], "--no-out", "--json", "--quiet", code=0)
    return done


@pytest.mark.parametrize("what", TEXTS)
def test_an_untidy_table_reaches_an_answer(call, here, what):
    path = here / "my table.csv"
    path.write_text(TEXTS[what], encoding="utf-8")
    said = answered(call, path).json
    assert said["data"]["label"] == LABELS.get(what, "Outcome")
    assert len(said["data"]["classes"]) == 2
    features = {*said["scores"]}
    assert not NO_FEATURES & features
    assert {"GENE1", "GENE2", "GENE5"} <= features and len(features) > 200
    assert KEEP.get(what, "GENE1") in features
    if what == "a German export":
        assert {"CRP", "Cells", "Platelets"} <= features
    if what != "rare class":
        assert {"GENE2", "GENE5"} & {*said["selected"]}
    if what == "visits":
        assert said["data"]["groups"] == ["PatientID", 10]


def test_a_workbook_is_read_as_text_is(call, here):
    path = write_workbook(here / "visits.xlsx")
    said = answered(call, path).json
    assert said["data"]["label"] == "Outcome" and said["data"]["groups"] == ["PatientID", 10]
    assert "GENE2" in said["selected"]


@pytest.mark.parametrize(
    ("what", "said"),
    # tests/table has what else is read otherwise than it is spelled.
    [("two lines of names", "names or units"), ("totals below", "totals")],
)
def test_what_was_read_otherwise_than_spelled_is_said(here, what, said):
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
    result = call(*shlex.split(needed["command"])[1:], "--no-out", "--json", "--quiet", code=0)
    # Of five that are alike the two causes, at most one more.
    assert {"m3", "m12"} <= {*result.json["selected"]} and len(result.json["selected"]) <= 3
