"""The plugin template, as its author would use it, and the adapters of examples/."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from fsframe.cli.commands.offers import KINDS, plugin_files
from fsframe.registry.manager import HOOKS
from tests.command_line import Done, python
from tests.same_process import fsframe

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two plugins that `fsframe new-plugin` has just written."""
    folder = tmp_path_factory.mktemp("new")
    for name in ("gap", "my-selector"):
        done = fsframe("new-plugin", name, cwd=folder, code=0)
        assert done.out.splitlines()[-1] == f"plugin: fsframe-{name}"
    return folder


@pytest.fixture(scope="module")
def installed(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed wheels of both."""
    build = tmp_path_factory.mktemp("build")
    # A copy: building leaves folders beside the source.
    shutil.copytree(written, build / "source")
    pip = ["-m", "pip", "--disable-pip-version-check", "-q"]
    options = ["--no-deps", *(["--no-build-isolation"] if _can_build_wheels() else [])]
    sources = [str(folder) for folder in sorted((build / "source").iterdir())]
    python(*pip, "wheel", *options, "-w", build / "wheels", *sources)
    wheels = sorted(str(wheel) for wheel in (build / "wheels").glob("*.whl"))
    assert [Path(wheel).name.partition("-")[0] for wheel in wheels] == [
        "fsframe_gap",
        "fsframe_my_selector",
    ]
    site = build / "site"
    python(*pip, "install", "--no-deps", "--no-index", "--target", site, *wheels)
    return site


def _can_build_wheels() -> bool:
    """Whether the setuptools at hand makes wheels by itself; else pip fetches one that does."""
    try:
        result = tuple(int(part) for part in version("setuptools").split(".")[:2])
    except PackageNotFoundError:
        return False
    return result >= (70, 1)


def test_it_has_command_line_help_and_storage_without_another_line(installed, tmp_path):
    data = ROOT / "examples" / "parkinsons.csv"
    run = tmp_path / "run.h5"
    listed = fsframe("plugins", "--json", fakes=[installed]).json["plugins"]
    assert {row["name"]: row["status"] for row in listed}["gap"] == "loaded"
    helped = fsframe("chain", "gap", "--help", fakes=[installed])
    assert "--s0" in helped.out
    assert "Tusher, Tibshirani, Chu 2001, eq. 1]" in " ".join(helped.out.split())
    done = fsframe(
        *f"chain gap --s0 0.1 --top 3 npfs:n=20,null=published on {data} -o {run} --json".split(),
        fakes=[installed],
        code=0,
    )
    assert done.json["chain"] == "gap:s0=0.1,top=3 npfs:n=20,null=published"
    assert fsframe("show", str(run), "--json").json["stages"][0]["params"]["s0"] == 0.1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *((name, "entry name") for name in ("on", "My-Selector", "a b", "9x", "a--b", "-a")),
        *((name, f"my-{name}") for name in ("class", "import", "none")),
    ],
)
def test_a_name_that_nobody_could_type_or_that_python_reserves_is_refused(name, said, tmp_path):
    done = fsframe("new-plugin", "--", name, cwd=tmp_path)
    assert done.code == 2 and said in done.err
    assert said == "entry name" or f"{name!r} is a reserved word of Python" in done.err
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "fsframe-mine").mkdir()
    (tmp_path / "fsframe-mine" / "notes.txt").write_text("mine")
    assert "fsframe-mine already exists" in fsframe("new-plugin", "mine", cwd=tmp_path, code=5).err
    assert [path.name for path in (tmp_path / "fsframe-mine").iterdir()] == ["notes.txt"]


def test_a_name_that_is_taken_is_reported(tmp_path):
    done = fsframe("new-plugin", "relieff", cwd=tmp_path, code=0)
    assert "relief offers 'relieff' already" in done.err


def test_a_plugin_of_every_kind_is_written_loaded_and_passes_its_own_tests(
    installed, written, tmp_path
):
    """A selector against its wheel; all others as if they were installed, without pip."""
    folders = []
    for kind in KINDS:
        name = f"my-{kind}"
        done = fsframe("new-plugin", name, "--kind", kind, cwd=tmp_path, code=0)
        folder = tmp_path / f"fsframe-{name}"
        described = tomllib.loads((folder / "pyproject.toml").read_text())
        (point,) = described["project"]["entry-points"]["fsframe"].items()
        info = folder / f"fsframe_my_{kind.replace('-', '_')}-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: fsframe-{name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[fsframe]\n{point[0]} = {point[1]}\n")
        folders.append(str(folder))
    listed = fsframe("plugins", "--json", fakes=folders).json["plugins"]
    status = {row["distribution"]: row for row in listed}
    for kind in KINDS:
        row = status[f"fsframe-my-{kind}"]
        assert row["status"] == "loaded", row["reason"]
        assert not row["notes"]
    paths = os.pathsep.join([str(installed), *folders, os.environ.get("PYTHONPATH", "")])
    tested = [written / "fsframe-gap", *folders[1:]]
    words = ["-m", "pytest", "-v", "-p", "no:cacheprovider", "--import-mode=importlib"]
    words += [f"{folder}/tests" for folder in tested]
    done = python(*words, cwd=tmp_path, env={"PYTHONPATH": paths})
    assert done.out.count("::TestGap::test_") >= 35


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_passes_its_own_settings_of_ruff(kind, tmp_path):
    ruff = shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    for path, text in plugin_files(f"my-{kind}", kind).items():
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for words in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [ruff, *words, "--no-cache", "."], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_no_kind_is_without_a_template():
    offered = {f"{kind.replace('-', '_')}s" for kind in KINDS if kind != "wrapping"}
    assert offered == {
        hook.removeprefix("fsframe_") if hook != "fsframe_events" else "observers" for hook in HOOKS
    }
    for kind in KINDS:
        for path, text in plugin_files("my-thing", kind).items():
            assert "@" not in path and not re.search(r"@[A-Za-z]+@", text), (kind, path)


# The adapters of examples/: installed, held to the checks, and used


FOLDER = ROOT / "examples" / "adapters"
PACKAGE = FOLDER / "fsframe_adapters"
# What each needs, as pip knows it, with what that does not ask for by itself or need not have.
NEEDS = {
    "boruta-py": ["boruta"],
    "skrebate-multisurf": ["skrebate"],
    "relieff-package": ["ReliefF"],
    "fast-can": ["fastcan"],
    "pandas-mrmr": ["mrmr_selection", "category_encoders", "patsy", "statsmodels", "tqdm"],
    "hsic-lasso": ["pyHSICLasso", "future", "six", "seaborn"],
    "mlxtend-forward": ["mlxtend"],
}
QUICK = {"boruta-py": "boruta-py:trees=10,max_iter=4,top=2"}


def _constant(module: str, name: str) -> object:
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    (found,) = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name
    ]
    return ast.literal_eval(found)


def test_each_adapter_is_a_module_of_at_most_sixty_lines():
    offers = _constant("__init__", "_OFFERS")
    assert {name for name, *_ in offers} == set(NEEDS)  # type: ignore[attr-defined]
    for _, target, *_ in offers:  # type: ignore[attr-defined]
        lines = (PACKAGE / f"{target.partition(':')[0]}.py").read_text(encoding="utf-8")
        assert lines.count("\n") <= 60, target


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the adapters, from a copy."""
    build = tmp_path_factory.mktemp("adapters")
    shutil.copytree(FOLDER, build / "source")
    _install(build / "site", str(build / "source"))
    return build / "site"


def _install(target: Path, *what: str) -> None:
    python("-m", "pip", "-q", "install", "--no-deps", "--target", target, *what, timeout=300)


def _fsframe(site: Path, *words: str) -> Done:
    return python("-m", "fsframe", *words, fakes=[site], cwd=site)


@pytest.mark.slow
def test_listing_needs_none_of_the_packages(site):
    assert "7 methods" in _fsframe(site, "plugins").out


@pytest.mark.slow
@pytest.mark.parametrize("name", list(NEEDS))
def test_an_adapter_passes_the_checks_and_is_a_stage_like_any_other(name, site):
    try:
        _install(site, *NEEDS[name])
    except (AssertionError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{', '.join(NEEDS[name])} cannot be installed here: {error}")
    _fsframe(site, "check", name)
    data = "parkinsons.csv"
    shutil.copy(ROOT / "examples" / data, site)
    stage = QUICK.get(name, f"{name}:top=2")
    few, end = ["--folds", "2", "--repeats", "1"], ["--no-out", "-q", "--json"]
    for words in (
        ["chain", "mim:top=8", stage, "npfs:n=3,null=published", "on", data, *end],
        ["stability", "mim:top=8", stage, "on", data, "--n", "3", *end],
        ["compare", f"mim:top=8 {stage} knn", "mim:top=2 knn", "on", data, *few, "--json"],
    ):
        assert _fsframe(site, *words).json
