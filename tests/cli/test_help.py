"""Help with examples that work as they stand; what shells complete; what a command imports."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import click
import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.cli import cli
from fsframe.cli.commands import offers as warming
from tests.command_line import Done, python
from tests.command_line import fsframe as fsframe_apart
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
    run(*made.split(), "-o", name, cwd=folder, code=0)
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
    line: str, clone: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None
) -> None:
    few = [*warming._tables()][:1]
    monkeypatch.setattr(warming, "_tables", lambda: few)
    words = shlex.split(line)[1:]
    if words[0] in ("chain", "evaluate", "stability", "compare", "resume"):
        # What takes long is tried in small; that the words are understood is what is tested here.
        words += _smaller(words[0])
    if words == ["warm"]:
        # One family, in this process, where its kernels are compiled already.
        relief = {"relief": warming.compiled_families()["relief"]}
        monkeypatch.setattr(warming, "compiled_families", lambda: relief)
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
    assert "_FSFRAME_COMPLETE" in run(env={"_FSFRAME_COMPLETE": f"{shell}_source"}).out


# What a command imports: listing, help and completion leave the mathematics out


TABLE = str(Path(__file__).parents[2] / "examples" / "parkinsons.csv")
HEAVY = {
    "numpy", "scipy", "h5py", "numba", "llvmlite", "sklearn", "matplotlib", "pandas", "dask",
    "polars", "fastexcel", "xlsxwriter", "joblib",
}  # fmt: skip
LIGHT = (
    "--help", "--version", "methods", "methods --json", "plugins", "plugins --json", "chain --help",
    "chain on --help", "evaluate --help", "stability --help", "compare --help", "show --help",
    "check --help", "new-plugin --help",
)  # fmt: skip
COMPLETION = {
    "_FSFRAME_COMPLETE": "bash_complete", "COMP_WORDS": "fsframe chain im", "COMP_CWORD": "2",
}  # fmt: skip
OFFERED = ("immigrate", "margin", "relieff", "multisurf")
IN_TURN = """
import contextlib, io, json, os, sys
from fsframe.cli import main
for words, environ in json.loads(sys.argv[1]):
    os.environ.update(environ)
    said, code = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), 0
    with contextlib.redirect_stdout(said):
        try:
            main(words)
        except SystemExit as ended:
            code = ended.code or 0
    for name in environ:
        del os.environ[name]
    said.flush()
    print(json.dumps([code, said.buffer.getvalue().decode(), list(sys.modules)]))
"""


def in_turn(
    commands: Iterable[tuple[str, Mapping[str, str]]],
) -> dict[str, tuple[int, str, set[str]]]:
    """Exit code, output and modules loaded so far, of commands one after the other in a process."""
    asked = list(commands)
    given = json.dumps([(line.split(), environ) for line, environ in asked])
    told = map(json.loads, python("-c", IN_TURN, given).out.splitlines())
    lines = [line for line, _ in asked]
    return {
        line: (code, out, set(loaded))
        for line, (code, out, loaded) in zip(lines, told, strict=True)
    }


def mathematics(loaded: set[str], *packages: str) -> set[str]:
    """Of plugins, all modules but the one that names the methods."""
    return {name for name in loaded if name.startswith(packages or "fsframe_") and "." in name}


def test_a_command_imports_what_it_needs_and_its_list_of_methods_nothing() -> None:
    asked = [*((line, {}) for line in LIGHT), ("", COMPLETION)]
    result = in_turn([*asked, *((f"methods {name}", {}) for name in OFFERED)])
    for line in (*LIGHT, ""):
        code, out, loaded = result[line]
        assert code == 0 and "fsframe.cli" in loaded, line
        assert not HEAVY & {name.partition(".")[0] for name in loaded}, line
        assert not mathematics(loaded), line
    assert "plain,immigrate" in out
    for name in OFFERED:
        code, out, loaded = result[f"methods {name}"]
        assert code == 0 and ("sigma" in out or "threshold" in out)
        # What a method offers is shown without the compiler.
        assert "numpy" in loaded and "numba" not in loaded
    assert mathematics(loaded, "fsframe_relief.")


def test_naming_one_stage_imports_no_other_plugins_mathematics() -> None:
    ((_, _, loaded),) = in_turn([("chain mim --help", {})]).values()
    assert mathematics(loaded, "fsframe_infotheory.")
    assert not mathematics(loaded, "fsframe_margin.", "fsframe_relief.")


def test_light_modules_stay_light() -> None:
    code = "import sys, fsframe, fsframe.errors, fsframe.params; print(*sys.modules)"
    assert not HEAVY & set(python("-c", code).out.split())


def imported(done: Done) -> set[str]:
    """The modules that ``python -X importtime`` names on stderr."""
    lines = [line for line in done.err.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


def test_a_warm_chain_imports_neither_the_compiler_nor_large_packages() -> None:
    # scipy.stats alone takes a third of the time of such a command.
    large = ("stats", "spatial", "optimize", "sparse", "cluster", "interpolate")
    needless = {f"scipy.{name}" for name in (*large, "linalg", "special")}
    # Of numba's own helpers only the code is needed, and small tables are read without polars.
    needless |= {"numba.np.arraymath", "numba.np.arrayobj", "numba.typed.typedlist", "polars"}
    for stage, more in (("mim:top=3,bins=3", needless), ("relieff:top=5", set())):
        words = ["chain", stage, "on", TABLE, "--no-out", "--quiet"]
        # Where kernels are not on the disk yet, this process writes them.
        assert not more or run(*words).code == 0
        done = fsframe_apart(*words, interpreter=["-X", "importtime"])
        loaded = imported(done)
        assert done.code == 0 and not loaded & (more | {f"scipy.{name}" for name in large})
        # Nor the statistics of evaluations, which is what the result is not.
        own = {name for name in loaded if name.startswith("fsframe.evaluation.")}
        assert own <= {f"fsframe.evaluation.{name}" for name in ("grid", "plugin", "recorded")}
