"""Compiled kernels that are kept on disk are those of the sources."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
import tomllib
from pathlib import Path

import numba
import pytest

INNER = """
from fsframe.kernels.compiled import njit

@njit()
def factor():
    return {factor}
"""
OUTER = """
from fsframe.kernels.compiled import njit
from kernels.inner import factor

@njit()
def times(x):
    return factor() * x
"""
ASK = "from kernels.outer import times; print(times(2), sum(times.stats.cache_misses.values()))"


def ask(folder: Path) -> tuple[str, bool]:
    """What the kernel says in a process of its own, and whether it was compiled there."""
    done = subprocess.run(
        [sys.executable, "-c", ASK], cwd=folder, capture_output=True, text=True, check=True
    )
    answer, missed = done.stdout.split()
    return answer, missed == "1"


def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(tmp_path: Path) -> None:
    package = tmp_path / "kernels"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "outer.py").write_text(OUTER)
    (package / "inner.py").write_text(INNER.format(factor=3))
    assert ask(tmp_path) == ("6", True)
    assert ask(tmp_path) == ("6", False)
    (package / "inner.py").write_text(INNER.format(factor=50))
    assert ask(tmp_path) == ("100", True)
    assert ask(tmp_path) == ("100", False)


def test_nothing_but_kernels_goes_without_types() -> None:
    root = Path(__file__).parents[2]
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    (untyped,) = [o["module"] for o in settings if o.get("disallow_untyped_defs") is False]
    for module in untyped:
        path = root / "plugins" / f"{module.replace('.', '/')}.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.returns is None:
                decorators = [ast.unparse(each).partition("(")[0] for each in node.decorator_list]
                assert "njit" in decorators, f"{module}.{node.name}"


def test_that_kernels_are_compiled_is_said_once_for_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "one.py").write_text(INNER.format(factor=3))
        (package / "two.py").write_text(INNER.format(factor=5))

    def said(module: str) -> str:
        ask = f"from {module} import factor; factor()"
        found = subprocess.run(
            [sys.executable, "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return found.stderr

    assert "compiling numerical kernels: the first run of a method takes" in said("first.one")
    # Another kernel, another plugin, and new sources are compiled without a word.
    assert said("first.two") == said("second.one") == ""
    (tmp_path / "first" / "one.py").write_text(INNER.format(factor=30))
    assert said("first.one") == ""
    assert len(list(tmp_path.rglob("*.kernel"))) == 3
    # In another folder it has not been said.
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    (tmp_path / "first" / "one.py").write_text(INNER.format(factor=300))
    assert "compiling" in said("first.one")
    assert said("second.two") == ""


def test_the_search_for_garbage_rests_only_while_kernels_are_compiled():
    from fsframe.kernels.compiled import njit

    @njit(cache=False)
    def half(x):
        return x / 2

    @njit(cache=False)
    def wrong(x):
        return x.no_such_thing

    assert half(3.0) == 1.5 and gc.isenabled()
    with pytest.raises(numba.errors.TypingError):
        wrong(1.0)
    assert gc.isenabled()
    gc.disable()
    try:
        assert half(3) == 1.5 and not gc.isenabled()
    finally:
        gc.enable()
