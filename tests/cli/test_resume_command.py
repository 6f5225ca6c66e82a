"""`fsframe resume RUN.h5`: how the table was read is remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

import fsframe
from fsframe.cli.commands.runs import _json_object
from fsframe.cli.run_file import valid_reading
from fsframe.errors import StoreError

from .conftest import Call, Context


def test_an_interrupted_run_of_a_table_that_had_to_be_explained_goes_on(
    call: Call, here: Path, full_disk: Context
) -> None:
    # Names that look like one more row, and a delimiter that is not looked for.
    rows = (here / "small.csv").read_text(encoding="utf-8").splitlines()[1:]
    text = "\n".join(["1,2,3,4,5,ill", *rows]).replace(",", "|")
    (here / "bare.csv").write_text(text + "\n", encoding="utf-8")
    how = "--header --delimiter |"

    with full_disk():
        assert call(f"chain mim:top=2 npfs:n=5 on bare.csv --out r.h5 {how}").code == 5
    done = call("resume r.h5 --json")
    assert done.code == 0, done.err
    assert done.json["data"]["label"] == "ill"
    again = call(f"chain mim:top=2 npfs:n=5 on bare.csv --no-out --json {how}")
    assert done.json["digests"] == again.json["digests"]


def test_other_commands_say_how_an_unfinished_run_is_continued(
    call: Call, here: Path, full_disk: Context
) -> None:
    with full_disk():
        assert call("chain mim:top=2 npfs:n=5 on small.csv --out r.h5").code == 5
    for command in ("show", "verify", "report", "table", "audit"):
        told = call(f"{command} r.h5")
        assert told.code == 5 and "not finished: `fsframe resume r.h5` continues it" in told.err
    (here / "empty.h5.units").mkdir()
    assert "there is no run file" in call("show empty.h5").err


def test_what_the_manifest_says_of_reading_is_checked() -> None:
    stored = _json_object('{"label": "x", "header": false, "drop": 3.5, "other": "y"}')
    assert valid_reading(stored) == {"label": "x", "header": False}
    assert _json_object("[") == _json_object("[1]") == {}


def test_damaged_manifests_are_reported_with_the_way_that_is_left(
    call: Call, here: Path, full_disk: Context
) -> None:
    command = "chain mim:top=2 npfs:n=5 on small.csv --out r.h5"
    with full_disk():
        assert call(command).code == 5
    for name in ("manifest", "manifest-copy"):
        path = here / "r.h5.units" / name
        path.write_bytes(path.read_bytes()[:-1])
    for words in ("resume r.h5", command):
        told = call(words)
        assert told.code == 5 and "restore `manifest`" in told.err and "--restart" in told.err
    assert call(f"{command} --restart").code == 0


def test_an_unfinished_run_keeps_the_memory_that_its_algorithms_were_chosen_for(
    call: Call, here: Path, full_disk: Context
) -> None:
    def of_command() -> None:
        command = "chain mim:top=2 npfs:n=5 on small.csv --out r.h5"
        assert call(f"{command} --memory 200MB").code == 5
        refused = call(command)
        assert refused.code == 5 and "of memory beside the table, not 2.0 GiB" in refused.err

    def of_function() -> None:
        with pytest.raises(StoreError, match="disk is full"):
            fsframe.select(
                "mim:top=2 npfs:n=5", here / "small.csv", out=here / "r.h5", memory=200_000_000
            )

    limited = fsframe.select("mim:top=2 npfs:n=5", here / "small.csv", memory=200_000_000)
    for begin in (of_command, of_function):
        with full_disk():
            begin()
        assert call("resume r.h5 --data small.csv").code == 0
        assert fsframe.load_run("r.h5").environment["request"] == limited.environment["request"]
        (here / "r.h5").unlink()


def test_what_a_killed_run_wrote_is_told_from_the_file_of_another_request(
    call: Call, here: Path, full_disk: Context
) -> None:
    chain, out, units = "mim:top=2 npfs:n=5", here / "r.h5", here / "r.h5.units"
    with full_disk():
        assert call(f"chain {chain} on small.csv --out r.h5 --memory 200MB").code == 5
    fsframe.select(chain, here / "small.csv").save(out)
    refused = call("resume r.h5")
    assert refused.code == 5 and "is the file of another run" in refused.err and units.exists()
    out.unlink()
    same = fsframe.select(chain, here / "small.csv", memory=200_000_000)
    same.save(out)
    done = call("resume r.h5 --json")
    assert done.code == 0 and done.json["digests"] == same.digests() and not units.exists()
