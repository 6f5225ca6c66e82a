"""Options of every run: `--log`, `--memory`; and how an unfinished run is continued."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import fsframe
from fsframe.cli.commands.runs import _json_object
from fsframe.cli.run_file import valid_reading
from fsframe.errors import StoreError

from .conftest import Call, Context

CHAIN = "mim:top=2 npfs:n=5,permutations=5,alpha=0.2"
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (INFO|WARNING|ERROR) (.*)")


def lines(path: Path) -> list[tuple[str, str]]:
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    assert first == "# fsframe log"
    found = [LINE.fullmatch(line) for line in rest]
    assert all(found)
    return [(match[1], match[2]) for match in found if match]


def test_a_log_tells_begin_stages_warnings_and_end(call: Call, here: Path) -> None:
    done = call("chain mim:top=2 npfs:n=20,null=published on small --log run.log -q")
    assert done.code == 0 and done.err == ""
    told = lines(here / "run.log")
    texts = [text for _, text in told]
    assert texts[1] == "mim:top=2 npfs:n=20,null=published on small (40 × 5), seed 0"
    assert texts[2].startswith("mim: 2 columns, ") and any(t.startswith("npfs: ") for t in texts)
    assert any(level == "WARNING" and "null=published" in text for level, text in told)
    assert texts[-1].startswith("kept ")


def test_later_commands_add_to_a_log_and_failures_are_in_it(call: Call, here: Path) -> None:
    call("chain mim:top=2 on small --log run.log", code=0)
    before = lines(here / "run.log")
    failed = call("chain mim:top=2 npfs:n=4,null=published on small --no-out --log run.log", code=2)
    added = lines(here / "run.log")[len(before) :]
    assert lines(here / "run.log")[: len(before)] == before
    assert added[-1][0] == "ERROR"
    # What was told on the screen is told there once, by the command alone.
    assert failed.err.count("fsframe: ") == 1
    call("stability mim:top=1 on small --n 3 -q --log run.log", code=0)
    call("compare knn margin on small --folds 2 --repeats 1 -q --log run.log", code=0)
    assert sum(text.startswith("kept ") for _, text in lines(here / "run.log")) == 4


@pytest.mark.parametrize(
    "command",
    ["chain mim on nosuch.csv", "compare mim knn on nosuch.csv -o cmp", "resume nosuch.h5",
     "chain mim on small --no-out --memory 20MB", "study nosuch.toml"],
)  # fmt: skip
def test_what_fails_before_a_run_begins_is_in_the_log_and_an_event(
    call: Call, here: Path, command: str
) -> None:
    done = call(f"{command} --log run.log --progress json")
    event = json.loads(done.err.splitlines()[0])
    assert done.code > 1 and event["event"] == "error" and done.err.count('"error"') == 1
    assert done.err.splitlines()[1] == f"fsframe: {event['text']}"
    level, text = lines(here / "run.log")[-1]
    assert level == "ERROR" and text == f"{event['kind']}: {event['text']}"


@pytest.mark.parametrize("file", ["r.h5", "./r.h5"])
def test_an_early_error_makes_no_log_where_the_run_is_to_be(
    call: Call, here: Path, file: str
) -> None:
    call(f"chain mim on nosuch.csv -o r.h5 --log {file}", code=4)
    assert not (here / "r.h5").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("chain mim on small --log small.csv", "same file"),
        ("chain mim on small --overwrite -o out.h5 --log ./out.h5", "same file"),
        ("chain mim on small --log mine.txt", "is not a log of fsframe"),
        ("chain mim on small --log no/run.log", "there is no folder"),
        ("compare knn margin on small --folds 2 -o cmp --log cmp/results.csv", "folder"),
    ],
)  # fmt: skip
def test_no_file_of_another_kind_becomes_a_log(
    call: Call, here: Path, command: str, words: str
) -> None:
    (here / "mine.txt").write_text("mine\n")
    before = {path: path.read_bytes() for path in here.iterdir()}
    assert words in call(command, code=5).err
    # Refused before anything was done.
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def test_names_forge_no_line_of_the_log(call: Call, here: Path) -> None:
    text = (here / "small.csv").read_text(encoding="utf-8")
    name = "a\n2026-01-01T00:00:00Z INFO forged.csv"
    (here / name).write_text(text, encoding="utf-8")
    call("chain", "mim", "on", name, "--no-out", "--log", "run.log", code=0)
    assert len(lines(here / "run.log")) == 5


COMMANDS = (
    ("chain", "im4e:top=3", "on", "wide.npz"),
    ("evaluate", "im4e:top=3", "margin", "on", "wide.npz", "--folds", "2", "--repeats", "1"),
    ("stability", "im4e:top=3", "on", "wide.npz", "--n", "2"),
    ("compare", "im4e:top=3 knn", "im4e:top=2 knn", "on", "wide.npz", "--folds", "2", "--repeats",
     "1", "--out", "cells"),
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=[c[0] for c in COMMANDS])
def test_what_cannot_be_held_is_refused_before_anything_is_written(call, here: Path, command):
    rng = np.random.default_rng(0)
    np.savez(here / "wide.npz", X=rng.standard_normal((24, 40_000)), y=np.arange(24) % 2)
    before = {path.name for path in here.iterdir()}
    done = call(*command, "--memory", "17MB", code=2)
    assert "not enough for 24 × 40000 values" in done.err
    assert "allow --memory" in done.err
    assert {path.name for path in here.iterdir()} - before <= {"cells"}
    assert not list(here.glob("cells/*"))


def test_workers_without_anything_to_resample_are_said_to_have_no_effect(call: Call) -> None:
    said = "note: nothing is resampled: --workers has no effect"
    assert said in call("chain mim:top=2 on small --workers 1 --out a.h5").err
    assert said not in call("chain mim:top=2 on small --out b.h5").err
    resampled = call("chain mim:top=2 npfs:n=20,null=published on small --workers 1 --out c.h5")
    assert resampled.code == 0 and said not in resampled.err


# `fsframe resume RUN.h5`: how the table was read is remembered


def test_an_interrupted_run_of_a_table_that_had_to_be_explained_goes_on(
    call: Call, here: Path, full_disk: Context
) -> None:
    # Names that look like one more row, and a delimiter that is not looked for.
    rows = (here / "small.csv").read_text(encoding="utf-8").splitlines()[1:]
    text = "\n".join(["1,2,3,4,5,ill", *rows]).replace(",", "|")
    (here / "bare.csv").write_text(text + "\n", encoding="utf-8")
    how = "--header --delimiter |"

    with full_disk():
        call(f"chain {CHAIN} on bare.csv --out r.h5 {how}", code=5)
    done = call("resume r.h5 --json", code=0)
    assert done.json["data"]["label"] == "ill"
    again = call(f"chain {CHAIN} on bare.csv --no-out --json {how}")
    assert done.json["digests"] == again.json["digests"]


def test_other_commands_say_how_an_unfinished_run_is_continued(
    call: Call, here: Path, full_disk: Context
) -> None:
    with full_disk():
        call(f"chain {CHAIN} on small.csv --out r.h5", code=5)
    for command in ("show", "verify", "report", "table", "audit"):
        told = call(f"{command} r.h5")
        assert told.code == 5 and "not finished: `fsframe resume r.h5` continues it" in told.err
    (here / "empty.h5.units").mkdir()
    assert "there is no run file" in call("show empty.h5").err


def test_what_the_manifest_says_of_reading_is_checked() -> None:
    stored = _json_object('{"label": "x", "header": false, "drop": 3.5, "other": "y"}')
    assert valid_reading(stored) == {"label": "x", "header": False}
    assert _json_object("[") == _json_object("[1]") == {}


def test_a_damaged_manifest_is_reported_with_the_way_that_is_left(
    call: Call, here: Path, full_disk: Context
) -> None:
    command = f"chain {CHAIN} on small.csv --out r.h5"
    with full_disk():
        call(command, code=5)
    path = here / "r.h5.units" / "manifest"
    path.write_bytes(path.read_bytes()[:-1])
    for words in ("resume r.h5", command):
        told = call(words)
        assert told.code == 5 and "restore `manifest`" in told.err and "--restart" in told.err
    call(f"{command} --restart", code=0)


def test_an_unfinished_run_keeps_the_memory_that_its_algorithms_were_chosen_for(
    call: Call, here: Path, full_disk: Context
) -> None:
    def of_command() -> None:
        command = f"chain {CHAIN} on small.csv --out r.h5"
        call(f"{command} --memory 200MB", code=5)
        assert "of memory beside the table, not 2.0 GiB" in call(command, code=5).err

    def of_function() -> None:
        with pytest.raises(StoreError, match="disk is full"):
            fsframe.select(CHAIN, here / "small.csv", out=here / "r.h5", memory=200_000_000)

    limited = fsframe.select(CHAIN, here / "small.csv", memory=200_000_000)
    for begin in (of_command, of_function):
        with full_disk():
            begin()
        call("resume r.h5 --data small.csv", code=0)
        assert fsframe.load_run("r.h5").environment["request"] == limited.environment["request"]
        (here / "r.h5").unlink()


def test_what_a_killed_run_wrote_is_told_from_the_file_of_another_request(
    call: Call, here: Path, full_disk: Context
) -> None:
    chain, out, units = CHAIN, here / "r.h5", here / "r.h5.units"
    with full_disk():
        call(f"chain {chain} on small.csv --out r.h5 --memory 200MB", code=5)
    fsframe.select(chain, here / "small.csv").save(out)
    refused = call("resume r.h5")
    assert refused.code == 5 and "is the file of another run" in refused.err and units.exists()
    out.unlink()
    same = fsframe.select(chain, here / "small.csv", memory=200_000_000)
    same.save(out)
    done = call("resume r.h5 --json")
    assert done.code == 0 and done.json["digests"] == same.digests() and not units.exists()
