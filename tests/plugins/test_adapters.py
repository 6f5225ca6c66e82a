"""The adapters of examples/: other packages' selectors, installed, held to the checks, and used."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
    offers = _constant("plugin", "_OFFERS")
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
    command = [sys.executable, "-m", "pip", "-q", "install", "--no-deps", "--target", str(target)]
    done = subprocess.run([*command, *what], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])


def _fsframe(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command, env = [sys.executable, "-m", "fsframe", *words], os.environ | {"PYTHONPATH": str(site)}
    return subprocess.run(command, env=env, cwd=site, capture_output=True, text=True)


@pytest.mark.slow
def test_listing_needs_none_of_the_packages(site):
    assert "7 methods" in _fsframe(site, "plugins").stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", list(NEEDS))
def test_an_adapter_passes_the_checks_and_is_a_stage_like_any_other(name, site):
    try:
        _install(site, *NEEDS[name])
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{', '.join(NEEDS[name])} cannot be installed here: {error}")
    done = _fsframe(site, "check", name)
    assert done.returncode == 0, done.stdout + done.stderr
    data = "parkinsons.csv"
    shutil.copy(ROOT / "examples" / data, site)
    stage = QUICK.get(name, f"{name}:top=2")
    few, end = ["--folds", "2", "--repeats", "1"], ["--no-out", "-q", "--json"]
    for words in (
        ["chain", "mim:top=8", stage, "npfs:n=3,null=published", "on", data, *end],
        ["stability", "mim:top=8", stage, "on", data, "--n", "3", *end],
        ["compare", f"mim:top=8 {stage} knn", "mim:top=2 knn", "on", data, *few, "--json"],
    ):
        found = _fsframe(site, *words)
        assert found.returncode == 0, (words, found.stderr)
        json.loads(found.stdout)
