"""Variables of numba that no plugin is to be blamed for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = "\n".join(f"{7 * k % 11},{5 * k % 13},{k % 2}" for k in range(30))
    path = tmp_path / "small.csv"
    path.write_text(f"a,b,y\n{rows}\n")
    return path


def mim(table: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fsframe", "chain", "mim:top=1", "on", table.name, "--no-out"],
        cwd=table.parent,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize("value", ["0", "many"])
def test_a_senseless_number_of_threads_is_noted_and_not_used(table, value):
    """0 ended with the name of a plugin, `many` printed a traceback of numba."""
    done = mim(table, NUMBA_NUM_THREADS=value)
    assert done.returncode == 0, done.stderr
    assert f"NUMBA_NUM_THREADS={value!r} is no number of threads" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_number_of_threads_is_left_as_it_is(table):
    done = mim(table, NUMBA_NUM_THREADS="2")
    assert done.returncode == 0, done.stderr
    assert "NUMBA_NUM_THREADS" not in done.stderr


def test_without_a_compiler_counting_says_what_to_do(table):
    done = mim(table, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 2
    assert "unset NUMBA_DISABLE_JIT" in done.stderr
    assert "plugin" not in done.stderr
