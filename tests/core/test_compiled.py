"""Kernels on disk are those of the sources; what is said of compiling; variables of numba."""

from __future__ import annotations

import ast
import gc
import tomllib
from pathlib import Path

import numba
import pytest

from tests.command_line import fsframe

from .small_kernels import KERNEL, python, write_package

OUTER = """
from fsframe.kernels.compiled import njit
from kernels.inner import factor

@njit()
def times(x):
    return factor() * x
"""


def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(tmp_path: Path) -> None:
    ask = "from kernels.outer import times; print(times(2), sum(times.stats.cache_misses.values()))"
    package = write_package(tmp_path / "kernels", outer=OUTER)
    for factor, answer in ((3, "6"), (50, "100")):
        (package / "inner.py").write_text(KERNEL.format(factor=factor))
        assert python(ask, tmp_path)[0] == f"{answer} 1"
        assert python(ask, tmp_path)[0] == f"{answer} 0"


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


def test_that_kernels_are_compiled_is_said_once_for_an_installation(tmp_path: Path) -> None:
    for name in ("first", "second"):
        one, two = (KERNEL.format(factor=factor) for factor in (3, 5))
        write_package(tmp_path / name, one=one, two=two)

    def said(module: str, **environ: str) -> str:
        return python(f"from {module} import factor; factor()", tmp_path, **environ)[1]

    assert "compiling numerical kernels: the first run of a method takes" in said("first.one")
    # Another kernel, another plugin, and new sources are compiled without a word.
    assert said("first.two") == said("second.one") == ""
    (tmp_path / "first" / "one.py").write_text(KERNEL.format(factor=30))
    assert said("first.one") == ""
    assert len(list(tmp_path.rglob("*.kernel"))) == 3
    # In another folder it has not been said.
    chosen = {"NUMBA_CACHE_DIR": str(tmp_path / "chosen")}
    (tmp_path / "first" / "one.py").write_text(KERNEL.format(factor=300))
    assert "compiling" in said("first.one", **chosen)
    assert said("second.two", **chosen) == ""


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


@pytest.mark.parametrize(
    ("environ", "code", "said"),
    [
        ({"NUMBA_NUM_THREADS": "0"}, 0, "NUMBA_NUM_THREADS='0' is no number of threads"),
        ({"NUMBA_NUM_THREADS": "many"}, 0, "NUMBA_NUM_THREADS='many' is no number of threads"),
        ({"NUMBA_NUM_THREADS": "2"}, 0, ""),
        ({"NUMBA_DISABLE_JIT": "1"}, 2, "unset NUMBA_DISABLE_JIT"),
    ],
)
def test_senseless_variables_of_numba_are_blamed_on_no_plugin(tmp_path, environ, code, said):
    rows = "\n".join(f"{7 * k % 11},{5 * k % 13},{k % 2}" for k in range(30))
    (tmp_path / "small.csv").write_text(f"a,b,y\n{rows}\n")
    done = fsframe("chain", "mim:top=1", "on", "small.csv", "--no-out", cwd=tmp_path, env=environ)
    assert done.code == code, done.err
    assert said in done.err and "plugin" not in done.err
    assert ("NUMBA" in done.err) == bool(said)
