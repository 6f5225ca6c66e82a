"""Every command's help has an example that works as it stands; what shells offer to complete."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.cli import cli
from fsframe.cli.commands import machine as warming
from tests.command_line import Done
from tests.same_process import fsframe as run

Call = Callable[..., Done]
EXAMPLES = Path(__file__).parents[2] / "examples"


def commands() -> Iterator[tuple[str, click.Command]]:
    """All commands but stages: names as they are typed, and the objects."""
    ctx = click.Context(cli, info_name="fsframe")
    yield "", cli
    for name in cli.list_commands(ctx):
        command = cli.get_command(ctx, name)
        assert command is not None
        yield name, command
        last = getattr(command, "last", None)
        if last is not None:
            yield f"{name} {last.name}", last


def examples(command: click.Command) -> list[str]:
    """The lines of a command's help that begin with ``fsframe``, continued lines joined."""
    text = command.get_help(click.Context(command, info_name="x", terminal_width=200))
    text = re.sub(r"\\\n\s+", "", text)
    return re.findall(r"^ {4}(fsframe(?: .*)?)$", text, flags=re.MULTILINE)


COMMANDS = dict(commands())
LINES = sorted({line for command in COMMANDS.values() for line in examples(command)})


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a clone has it, with the run file that the first example leaves."""
    folder = tmp_path_factory.mktemp("clone")
    (folder / "examples").mkdir()
    shutil.copy(EXAMPLES / "parkinsons.csv", folder / "examples")
    shutil.copytree(EXAMPLES / "study", folder / "examples" / "study")
    stages = "immigrate npfs:n=20,null=published"
    made = f"chain {stages} on examples/parkinsons.csv -q"
    name = "examples/parkinsons.immigrate-npfs.h5"
    made = run(*made.split(), "-o", name, cwd=folder)
    assert made.code == 0, made.err
    shutil.copy(folder / "examples" / "parkinsons.immigrate-npfs.h5", folder)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example(name: str) -> None:
    command = COMMANDS[name]
    lines = examples(command)
    if isinstance(command, click.Group) and name:
        lines += examples(COMMANDS[f"{name} on"])
    assert lines, f"`fsframe {name} --help` has no example"
    first = name.split()[0] if name else ""
    assert all(line.split()[1:2] == [first] for line in lines if first)


@pytest.mark.parametrize("line", LINES)
def test_every_example_works_as_it_stands(
    line: str, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [*warming._tables()][:1]
    monkeypatch.setattr(warming, "_tables", lambda: few)
    words = shlex.split(line)[1:]
    if words[0] in ("chain", "evaluate", "stability", "compare", "resume"):
        # What takes long is tried in small; that the words are understood is what is tested here.
        words += _smaller(words[0])
    if words == ["warm"]:
        # The other families are warmed by another example.
        words += ["relief"]
    if words[0] == "warm":
        # In this process, where kernels are compiled already.
        words += ["--workers", "1"]
    done = run(*words, cwd=clone)
    assert done.code == 0, done.err
    assert done.out.strip()


def _smaller(command: str) -> list[str]:
    return {"chain": ["--dry-run"], "resume": [], "stability": ["--overwrite"]}.get(
        command, ["--folds", "2", "--repeats", "1", "--overwrite"]
    )


def test_examples_of_stages_are_chains() -> None:
    from fsframe.cli.commands.chains import _stage_command

    tried = 0
    for name in [*fsframe.selectors, *fsframe.classifiers]:
        for line in examples(_stage_command(name)):
            words = shlex.split(line)
            assert words[:2] == ["fsframe", "chain"] and words[-2] == "on"
            assert name in [stage.name for stage in Chain.parse(" ".join(words[2:-2])).stages]
            tried += 1
    assert tried >= 30


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_is_for(name: str) -> None:
    silent = [
        param.name
        for param in COMMANDS[name].params
        if isinstance(param, click.Option) and not (param.help or "").strip()
    ]
    assert not silent


def test_every_short_help_fits_one_line() -> None:
    listed = run("--help").out
    for name in cli.list_commands(click.Context(cli)):
        assert re.search(rf"^  {name} +[A-Z].*\.$", listed, flags=re.MULTILINE), name


def completed(line: str) -> list[str]:
    """What bash would be offered at the end of `line`, each behind its kind."""
    count = str(len(f"{line}.".split()) - 1)
    environ = {"_FSFRAME_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": count}
    done = run(env=environ)
    assert done.err == ""
    return done.out.splitlines()


@pytest.mark.parametrize(
    ("line", "wanted", "unwanted"),
    [
        ("fsframe ch", ["chain", "check"], ["methods"]),
        ("fsframe chain im", ["im4e", "immigrate"], ["mim"]),
        ("fsframe chain mim ", ["npfs", "relieff", "margin", "on"], []),
        ("fsframe chain mim o", ["on"], ["npfs"]),
        ("fsframe chain immigrate --s", ["--sigma", "--start", "--standardize"], ["--max-iter"]),
        ("fsframe chain immigrate --update ", ["elementwise", "psd-clip"], []),
        ("fsframe chain mim immigrate --update e", ["elementwise"], ["psd-clip"]),
        ("fsframe chain immigrate:s", ["immigrate:sigma="], ["immigrate:max_iter="]),
        ("fsframe chain immigrate:sigma=1,up", ["immigrate:sigma=1,update="], []),
        ("fsframe chain immigrate:update=e", ["immigrate:update=elementwise"], []),
        ("fsframe chain nonsense:s", [], ["nonsense:sigma="]),
        ("fsframe chain mim on data.csv --s", ["--seed", "--scheduler"], ["--sigma"]),
        ("fsframe methods reli", ["relief", "relieff"], ["mim"]),
        ("fsframe check kun", ["kuncheva"], ["kendall"]),
        ("fsframe evaluate im", ["immigrate"], []),
    ],
)
def test_the_shell_is_offered_what_fits(line: str, wanted: list[str], unwanted: list[str]) -> None:
    found = {each.partition(",")[2] for each in completed(line)}
    assert {*wanted} <= found and not {*unwanted} & found


def test_the_shell_is_offered_files_for_data() -> None:
    assert completed("fsframe chain mim on ")[0].startswith("file,")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script(shell: str) -> None:
    done = run(env={"_FSFRAME_COMPLETE": f"{shell}_source"})
    assert "_FSFRAME_COMPLETE" in done.out
