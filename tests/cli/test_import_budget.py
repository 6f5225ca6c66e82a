"""What a command imports: listing, help and completion leave the mathematics out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.command_line import Done, environment, fsframe

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
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN, given],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    told = map(json.loads, done.stdout.splitlines())
    lines = [line for line, _ in asked]
    return {
        line: (code, out, set(loaded))
        for line, (code, out, loaded) in zip(lines, told, strict=True)
    }


def mathematics(loaded: set[str], *packages: str) -> set[str]:
    """Of plugins, all modules but the one that names the methods."""
    return {
        name
        for name in loaded
        if name.startswith(packages or "fsframe_") and "." in name and not name.endswith(".plugin")
    }


def test_a_command_imports_what_it_needs_and_its_list_of_methods_nothing() -> None:
    asked = [*((line, {}) for line in LIGHT), ("", COMPLETION)]
    found = in_turn([*asked, *((f"methods {name}", {}) for name in OFFERED)])
    for line in (*LIGHT, ""):
        code, out, loaded = found[line]
        assert code == 0 and "fsframe.cli" in loaded, line
        assert not HEAVY & {name.partition(".")[0] for name in loaded}, line
        assert not mathematics(loaded), line
    assert "plain,immigrate" in out
    for name in OFFERED:
        code, out, loaded = found[f"methods {name}"]
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())


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
        assert not more or fsframe(*words).code == 0
        done = fsframe(*words, python=["-X", "importtime"])
        loaded = imported(done)
        assert done.code == 0 and not loaded & (more | {f"scipy.{name}" for name in large})
        # Nor the statistics of evaluations, which is what the result is not.
        own = {name for name in loaded if name.startswith("fsframe.evaluation.")}
        assert own <= {f"fsframe.evaluation.{name}" for name in ("grid", "plugin", "recorded")}
