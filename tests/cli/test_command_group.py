"""Commands are found: ours by their folder, strangers' through their hook."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import fsframe as fsframe_apart
from tests.same_process import fsframe


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
    done = fsframe(name, fakes=["fake_commands"])
    assert done.code == 3
    assert words in done.err


def test_a_blocked_plugins_command_says_so() -> None:
    env = {"FSFRAME_BLOCK": "fake-commands"}
    done = fsframe("fake-commands/fail", fakes=["fake_commands"], env=env)
    assert done.code == 3
    assert "blocked by FSFRAME_BLOCK" in done.err


def test_an_unknown_command_suggests_those_of_plugins_too() -> None:
    done = fsframe("count-line", fakes=["fake_commands"])
    assert done.code == 2
    assert "Did you mean `count-lines`?" in done.err
