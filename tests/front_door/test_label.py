"""The label of a table is guessed once: alike by every command and in Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

import fsframe
from fsframe.errors import UntidyTableError
from tests.command_line import Done
from tests.front_door.builder import as_text, patients, without, write

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
    first = call(*shlex.split(ways[0])[1:], "--json")
    assert first.code == 0, first.err
    if command == COMMANDS[0]:
        assert {"GENE2", "GENE5"} < {*first.json["selected"]}
        second = call(*shlex.split(ways[1])[1:], "--json")
        assert second.code == 0 and second.json["data"]["label"] == "GENE12"


def test_no_message_offers_a_likely_label_for_dropping(call, untidy):
    for words in ("", "--label GENE12", "--label Age", "--label Outcome"):
        told = call(f"chain mim on patients.csv --no-out {words}").err
        assert not re.search(r"--drop \S*Outcome", told)


def test_python_guesses_as_the_commands_do(untidy):
    frame = polars.read_csv(untidy)
    for attempt in (
        lambda: fsframe.read(untidy),
        lambda: fsframe.read(frame),
        lambda: fsframe.Dataset.from_frame(frame),
        lambda: fsframe.select("mim:top=2", frame),
        lambda: fsframe.evaluate("mim:top=2 knn", untidy),
    ):
        with pytest.raises(UntidyTableError, match="'Outcome' looks more like one") as caught:
            attempt()
        first = caught.value.ways[0]
        assert first["label"] == "Outcome" and "Outcome" not in first["drop"]
        assert fsframe.read(frame, **first).label_name == "Outcome"


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
    again = call("study study.toml --dry-run")
    assert again.code == 0, again.err


def test_a_last_column_that_is_a_label_needs_no_option(here):
    table = without(patients(), "PatientID", "Date", "Batch", "Comments", "Sex", "ER status")
    for last in ("Outcome", "verdict of the board"):
        outcome = table.pop("Outcome", None) or table.pop("verdict of the board")
        table[last] = outcome
        (here / "last.csv").write_text(as_text(table))
        assert fsframe.read(here / "last.csv").label_name == last


def test_many_alike_columns_are_not_a_label_if_another_is_named_so(here):
    import numpy as np

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
        found = fsframe.read(write(here / "snps.csv", typed | snps | other))
        assert found.label_name == "rs29"
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
    assert call("audit run.h5").code == 0
    Path("study.toml").write_text(
        'chains = ["mim:top=1,bins=2 knn"]\nfolds = 2\n'
        '[[tables]]\npath = "t.csv"\nmissing_label = "drop"\n'
    )
    assert call("study study.toml").code == 0


def test_two_fractions_are_told_apart_as_two_whole_numbers_are(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{0.2 if k < 30 else 0.7},{k * 7 % 13},{'ab'[k >= 30]}" for k in range(60)]
    path.write_text("batch,x,outcome\n" + "\n".join(lines) + "\n")
    (told,) = (f.what for f in fsframe.inspect(path).findings if f.columns == ("batch",))
    assert "0.2 has 30 a, 0 b; 0.7 has 0 a, 30 b" in told
