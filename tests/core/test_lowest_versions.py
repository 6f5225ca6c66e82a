"""The set of lowest versions that is tested is the one that pyproject.toml states."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
# They check and build the project; none is imported by it or by a test that has to pass.
_TOOLS = {
    *("import-linter", "mkdocs-material", "mkdocstrings[python]", "mypy", "ruff", "setuptools"),
    *("axe-core-python", "playwright", "pypdf"),
}


def test_every_dependency_is_tested_at_its_lowest_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    stated = dict(text.split(">=") for text in {text for group in groups for text in group})
    stated = {name: lowest for name, lowest in stated.items() if name not in _TOOLS}
    lines = (ROOT / "tests" / "dependencies" / "lowest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert set(tested) == set(stated)
    for name, lowest in stated.items():
        assert re.fullmatch(rf"{re.escape(lowest)}(\.0)*", tested[name]), name


def test_what_is_installed_in_ci_is_fixed_and_high_enough() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "tests" / "dependencies" / "lock.txt").read_text().splitlines()
    fixed = dict(re.findall(r"^([\w.-]+)==([\w.]+) ;", "\n".join(lines), re.M))
    assert len(fixed) == len(lines) - 1
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    for text in {text for group in groups for text in group}:
        name, lowest = re.sub(r"\[.*?\]", "", text).split(">=")
        parts = [[int(part) for part in re.findall(r"\d+", v)] for v in (fixed[name], lowest)]
        assert parts[0] >= parts[1], f"{name}: run .ci/lock"
