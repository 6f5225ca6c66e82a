"""What a command imports: listing, help and completion leave the mathematics out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import Done, fsframe

HEAVY = (
    "numpy",
    "scipy",
    "h5py",
    "numba",
    "llvmlite",
    "sklearn",
    "matplotlib",
    "pandas",
    "dask",
    "polars",
    "fastexcel",
    "xlsxwriter",
    "joblib",
)
LIGHT = [
    "--help",
    "--version",
    "methods",
    "methods --json",
    "plugins",
    "plugins --json",
    "chain --help",
    "chain on --help",
    "evaluate --help",
    "stability --help",
    "compare --help",
    "show --help",
    "check --help",
    "new-plugin --help",
]


def imported(done: Done) -> set[str]:
    """The modules that ``python -X importtime`` names on stderr."""
    lines = [line for line in done.err.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


def assert_light(done: Done) -> None:
    modules = imported(done)
    assert "fsframe.cli" in modules
    heavy = {name for name in modules if name.partition(".")[0] in HEAVY}
    assert not heavy
    # Of a plugin, only the module that names its methods.
    mathematics = {
        name
        for name in modules
        if name.startswith("fsframe_") and name.count(".") and not name.endswith(".plugin")
    }
    assert not mathematics


@pytest.mark.parametrize("command", LIGHT)
def test_light_commands_import_no_mathematics(command: str) -> None:
    done = fsframe(*command.split(), python=["-X", "importtime"])
    assert done.code == 0
    assert_light(done)


def test_completing_a_stage_imports_no_mathematics() -> None:
    done = fsframe(
        env={
            "_FSFRAME_COMPLETE": "bash_complete",
            "COMP_WORDS": "fsframe chain im",
            "COMP_CWORD": "2",
        },
        python=["-X", "importtime"],
    )
    assert "plain,immigrate" in done.out
    assert_light(done)


def test_the_budget_sees_what_a_heavy_command_imports() -> None:
    modules = imported(fsframe("methods", "relieff", python=["-X", "importtime"]))
    assert "numpy" in modules
    assert any(name.startswith("fsframe_relief.") for name in modules - {"fsframe_relief.plugin"})


def test_naming_one_stage_imports_no_other_plugins_mathematics() -> None:
    modules = imported(fsframe("chain", "mim", "--help", python=["-X", "importtime"]))
    assert {name.partition(".")[0] for name in modules if name.startswith("fsframe_infotheory.")}
    assert not any(
        name.startswith(("fsframe_margin.", "fsframe_relief.")) and not name.endswith(".plugin")
        for name in modules
    )


@pytest.mark.parametrize("stage", ["mim", "relieff"])
def test_scipys_large_packages_are_imported_when_they_are_used(stage: str) -> None:
    # scipy.stats alone takes a third of the time of such a command.
    table = str(Path(__file__).parents[2] / "examples" / "parkinsons.csv")
    words = ["chain", f"{stage}:top=5", "on", table, "--no-out", "-q"]
    modules = imported(fsframe(*words, python=["-X", "importtime"]))
    large = ("stats", "spatial", "optimize", "sparse", "cluster", "interpolate")
    assert not modules & {f"scipy.{name}" for name in large}
    # Nor the statistics of evaluations, which is what the result is not.
    loaded = {name for name in modules if name.startswith("fsframe.evaluation.")}
    assert loaded <= {f"fsframe.evaluation.{name}" for name in ("grid", "plugin", "recorded")}


@pytest.mark.parametrize("module", ["fsframe", "fsframe.errors", "fsframe.params"])
def test_light_modules_stay_light(module: str) -> None:
    code = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("method", ["immigrate", "margin", "relieff", "multisurf"])
def test_what_a_method_offers_is_shown_without_the_compiler(method: str) -> None:
    done = fsframe("methods", method, python=["-X", "importtime"])
    assert done.code == 0
    assert "sigma" in done.out or "threshold" in done.out
    assert "numba" not in imported(done)


def test_a_warm_chain_imports_neither_the_compiler_nor_evaluations(tmp_path: Path) -> None:
    words = ["chain", "mim:top=3,bins=3", "on", "examples/parkinsons.csv", "--no-out"]
    assert fsframe(*words, "--quiet").code == 0
    done = fsframe(*words, python=["-X", "importtime"])
    assert done.code == 0
    needless = {"numba.np.arraymath", "numba.typed.typedlist", "scipy.linalg", "scipy.special"}
    needless |= {"fsframe.evaluation.cross_validation", "fsframe.evaluation.comparison"}
    # Of numba's own helpers only the code is needed, and small tables are read without polars.
    needless |= {"numba.np.arrayobj", "polars"}
    loaded = imported(done)
    assert sorted(needless & loaded) == []
