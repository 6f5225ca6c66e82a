"""`fsframe check NAME`; commands are found: ours by their folder, strangers' through their hook."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import fsframe as fsframe_apart
from tests.same_process import fsframe


def test_a_method_that_passes_every_check_ends_with_the_number_of_checks() -> None:
    done = fsframe("check", "kuncheva", code=0)
    lines = done.out.splitlines()
    assert lines[-1] == f"kuncheva: {len(lines) - 1} checks: {len(lines) - 1} passed"
    assert all(line.lstrip().startswith("ok  ") for line in lines[:-1])


def test_declared_exceptions_are_shown_with_their_reason() -> None:
    done = fsframe("check", "lustgarten", code=0)
    (line,) = [line for line in done.out.splitlines() if "excepted  " in line]
    assert "identical runs are perfectly stable: published:" in line
    assert done.out.splitlines()[-1].endswith("1 excepted, 16 passed")


def test_a_check_that_fails_is_named_and_ends_with_3() -> None:
    done = fsframe("check", "fake-spread", "--quiet", fakes=["fake_sound"], code=3)
    lines = done.out.splitlines()
    assert any("FAILED  scale changes nothing" in line for line in lines)
    assert all("FAILED" in line for line in lines[:-1])
    assert done.err.startswith("fsframe: fake-spread fails ")


def test_json_has_every_check_with_its_status() -> None:
    done = fsframe("check", "fake-majority", "--json", fakes=["fake_sound"])
    said = done.json
    assert said["checks"] == len(said["outcomes"]) == sum(said["sums"].values())
    status = {row["check"]: row["status"] for row in said["outcomes"]}
    assert status["a_separable_table_is_learned"] == "failed"
    assert status["pickles"] == "passed"
    assert done.code == 3


def test_parameters_are_checked_too_and_a_base_is_asked_for() -> None:
    done = fsframe("check", "nogueira:level=0.9", "--json")
    assert done.code == 0 and done.json["method"] == "nogueira:level=0.9"
    refused = fsframe("check", "fake-spread:power=-1", fakes=["fake_sound"], code=2)
    assert "power must be a number > 0" in refused.err
    fsframe("check", "nonsense", code=2)
    fsframe("check", "mim npfs", code=2)


@pytest.mark.parametrize(("fake", "what"), [("seconds", "plot"), ("jsonl", "writer")])
def test_a_part_without_a_suite_is_named(fake: str, what: str) -> None:
    done = fsframe("check", fake, fakes=[f"fake_{fake}"], code=2)
    assert f"the {what} {fake} has no conformance suite" in done.err
    assert f"plugin fake-{fake} check it" in done.err


# Commands are found: ours by their folder, strangers' through their hook


@pytest.mark.parametrize(
    ("words", "chain"),
    [
        (["mim:top=3 knn"], "mim:top=3 knn"),
        (["mim:top=3 npfs:n=5", "--null", "published"], "mim:top=3 npfs:n=5,null=published"),
        (["npfs:base=(mim:top=3 immigrate)", "knn"], "npfs:base=(mim:top=3 immigrate) knn"),
        (['sklearn:estimator=SVC,options={"C": 5}'], 'sklearn:estimator=SVC,options={"C": 5}'),
    ],
)
def test_a_chain_in_quotes_is_its_stages(words: list[str], chain: str) -> None:
    table = str(Path(__file__).parents[2] / "examples" / "parkinsons.csv")
    done = fsframe("chain", *words, "on", table, "--dry-run")
    assert done.out.strip() == chain, done.err


def test_a_plugin_adds_commands() -> None:
    done = fsframe("--help", fakes=["fake_commands"])
    assert "count-lines" in done.out and "Count lines. [fake-commands]" in done.out
    assert fsframe("count-lines", __file__, fakes=["fake_commands"]).out.strip().isdigit()


def test_a_plugins_command_does_not_take_the_name_of_ours() -> None:
    shown = fsframe_apart("show", "-h", fakes=["fake_commands"])
    assert "Show what a run file holds" in shown.out
    assert fsframe("fake-commands/show", __file__, fakes=["fake_commands"]).out.strip().isdigit()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fail", "command 'fail' of plugin 'fake-commands' 1.0: ValueError: nothing to count"),
        ("no-command", "is not a Command"),
    ],
)
def test_a_broken_command_is_its_plugins_fault(name: str, words: str) -> None:
    done = fsframe(name, fakes=["fake_commands"], code=3)
    assert words in done.err


def test_a_blocked_plugins_command_says_so() -> None:
    env = {"FSFRAME_BLOCK": "fake-commands"}
    done = fsframe("fake-commands/fail", fakes=["fake_commands"], env=env, code=3)
    assert "blocked by FSFRAME_BLOCK" in done.err


def test_an_unknown_command_suggests_those_of_plugins_too() -> None:
    done = fsframe("count-line", fakes=["fake_commands"], code=2)
    assert "Did you mean `count-lines`?" in done.err
