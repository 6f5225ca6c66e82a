"""The archives that are published: complete, equal to the byte when built again, usable."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.command_line import fsframe, python
from tests.scripts import ROOT, script

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BUILD = "import sys; from setuptools import build_meta as b; print(getattr(b, sys.argv[1])('.'))"


def _build(source: Path, what: str) -> Path:
    done = python("-c", BUILD, what, cwd=source, env={"SOURCE_DATE_EPOCH": "1700000000"})
    return source / done.out.splitlines()[-1]


def _copy(folder: Path) -> Path:
    ignored = shutil.ignore_patterns(
        ".git", ".venv*", "__pycache__", "*.egg-info", "build", "dist", "site", ".*_cache"
    )
    shutil.copytree(ROOT, folder, ignore=ignored)
    return folder


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(_copy(tmp_path_factory.mktemp("source") / "fsframe"), "build_sdist")


@pytest.fixture(scope="module")
def unpacked(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.mark.slow
def test_the_source_archive_holds_everything_that_is_kept(unpacked: Path) -> None:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("no repository here: this is an unpacked archive itself")
    kept = {line for line in done.stdout.splitlines() if not line.startswith(".git")}
    missing = {path for path in kept if not (unpacked / path).exists()}
    assert missing <= {".pre-commit-config.yaml"}


@pytest.mark.slow
def test_two_wheels_are_equal_to_the_byte(unpacked: Path, tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        shutil.copytree(unpacked, tmp_path / name)
        wheel = _build(tmp_path / name, "build_wheel")
        digests.append(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert digests[0] == digests[1]
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    assert "fsframe/cli/plugin_template/kinds/reader/@package@/__init__.py.txt" in names
    shown = ("checklist.toml", "page.css", "page.js", "plots/kinds.toml", "study.bib")
    assert {f"fsframe/show/{name}" for name in shown} <= {*names}
    assert {"fsframe/evaluation/entries.toml", "fsframe/sklearn/docstrings.toml"} <= {*names}
    assert "fsframe/py.typed" in names and "fsframe_npfs/engine/nulls.py" in names
    assert not [name for name in names if name.startswith(("tests", "docs", "benchmarks"))]
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.slow
def test_what_is_installed_from_the_archive_works_and_passes_tests(
    archive: Path, unpacked: Path, tmp_path: Path
) -> None:
    pip = ["-m", "pip", "-q", "--disable-pip-version-check", "install"]
    options = ["--no-deps", "--no-build-isolation", "--target", tmp_path / "site"]
    python(*pip, *options, archive)
    installed = {"PYTHONPATH": str(tmp_path / "site")}
    where = "import fsframe, fsframe_npfs; print(fsframe.__file__, fsframe_npfs.__file__)"
    result = python("-c", where, cwd=tmp_path, env=installed)
    assert result.out.count(str(tmp_path / "site")) == 2
    table = str(unpacked / "examples" / "parkinsons.csv")
    words = ["chain", "mim:top=3", "on", table, "--no-out", "-q"]
    assert "spread1" in fsframe(*words, cwd=tmp_path, env=installed, code=0).out
    tests = ["tests/core/test_grammar.py", "tests/table/test_written.py"]
    python("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, cwd=unpacked, env=installed)


def test_what_is_said_of_versions_is_the_same_everywhere() -> None:
    conda = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    for requirement in PROJECT["dependencies"]:
        name, bound = requirement.split(">=")
        assert f"- {name} >={bound}" in conda, requirement
    assert f'version = "{PROJECT["version"]}"' in conda
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {PROJECT['version']}" in citation


def test_the_trial_of_recipe_and_container_reads_what_they_say() -> None:
    trial = script("packaging/try_packaging.py")
    assert trial.requirements("run") == PROJECT["dependencies"]
    assert set(PROJECT["dependencies"]) < set(trial.requirements("host"))
    recipe = trial.recipe_script(Path("/host/bin/python"))
    assert recipe[:4] == ["/host/bin/python", "-m", "pip", "install"]
    assert trial.items("test", "imports") == ["fsframe"]
    assert all(line.startswith("fsframe ") for line in trial.items("test", "commands"))
    install, last = trial.container_commands()
    assert "--prefix=/opt/fsframe" in install and "/opt/parkinsons.csv" in last


@pytest.mark.slow
def test_recipe_and_container_work_as_far_as_they_can_be_tried() -> None:
    done = python(ROOT / "packaging" / "try_packaging.py", code=None, timeout=7200)
    if "Could not find a version" in done.err or "No matching distribution" in done.err:
        pytest.skip("the package index cannot be reached")
    done.ended(0)
    assert "recipe: its" in done.out and "container file: its" in done.out


def test_the_bill_of_materials_lists_what_is_locked_with_its_licences() -> None:
    folder = ROOT / "tests" / "dependencies"
    lines = (folder / "lock.txt").read_text(encoding="utf-8").splitlines()
    locked = {line.split(" ;")[0] for line in lines if not line.startswith("#")}
    bill = json.loads((folder / "sbom.cdx.json").read_text(encoding="utf-8"))
    listed = {
        each["purl"].removeprefix("pkg:pypi/").replace("@", "==") for each in bill["components"]
    }
    assert listed == locked
    licences = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    assert "not declared" not in licences and "not declared" not in json.dumps(bill)
    always, _, others = licences.partition("## With extras")
    listing = re.compile(r"^\* \*\*(.+?)\*\*: (.+)$", re.M)
    pages = {"required": dict(listing.findall(always)), "optional": dict(listing.findall(others))}
    for each in bill["components"]:
        declared = each["licenses"][0]
        name = declared.get("expression") or declared["license"]["name"]
        packages = pages[each["scope"]][name].split(", ")
        assert f"{each['name']} {each['version']}" in packages
    told = [
        each for page in pages.values() for names in page.values() for each in names.split(", ")
    ]
    assert len(told) == len(bill["components"])


# They check and build the project; none is imported by it or by a test that has to pass.
_TOOLS = {
    *("import-linter", "mkdocs-material", "mkdocstrings[python]", "mypy", "ruff", "setuptools"),
    *("axe-core-python", "playwright", "pypdf"),
}


def test_every_dependency_is_tested_at_its_lowest_version() -> None:
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    stated = dict(text.split(">=") for text in {text for group in groups for text in group})
    stated = {name: lowest for name, lowest in stated.items() if name not in _TOOLS}
    lines = (ROOT / "tests" / "dependencies" / "lowest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert set(tested) == set(stated)
    for name, lowest in stated.items():
        assert re.fullmatch(rf"{re.escape(lowest)}(\.0)*", tested[name]), name


def test_what_is_installed_in_ci_is_fixed_and_high_enough() -> None:
    lines = (ROOT / "tests" / "dependencies" / "lock.txt").read_text().splitlines()
    fixed = dict(re.findall(r"^([\w.-]+)==([\w.]+) ;", "\n".join(lines), re.M))
    assert len(fixed) == len(lines) - 1
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    for text in {text for group in groups for text in group}:
        name, lowest = re.sub(r"\[.*?\]", "", text).split(">=")
        parts = [[int(part) for part in re.findall(r"\d+", v)] for v in (fixed[name], lowest)]
        assert parts[0] >= parts[1], f"{name}: run .ci/lock"
