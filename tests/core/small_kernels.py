"""Packages of small kernels, and what a process of its own says that uses them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

KERNEL = """
from fsframe.kernels.compiled import njit

@njit()
def factor():
    return {factor}

@njit()
def triple(x):
    return 3 * x
"""


def write_package(folder: Path, **modules: str) -> Path:
    """A package in the folder, with these modules."""
    folder.mkdir()
    for name, text in {"__init__": "", **modules}.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def python(code: str, folder: Path, **environ: str) -> tuple[str, str]:
    """What a process of its own says on stdout and stderr; kernels lie where they do by default."""
    unset = ("NUMBA_CACHE_DIR", "FSFRAME_KERNELS")
    inherited = {key: value for key, value in os.environ.items() if key not in unset}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**inherited, **environ},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr
