"""What tests of several plugins share: tables in parts, and packages that results are held to."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from numpy.typing import NDArray

import fsframe
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe_tables.genetics import PackedGenotypes


def divided(frame: polars.DataFrame, folder: Path, cuts: tuple[int, ...], **roles: str) -> Dataset:
    """The table in parts that begin at these rows."""
    folder.mkdir()
    for k, (start, stop) in enumerate(zip((0, *cuts), (*cuts, len(frame)), strict=True)):
        frame[start:stop].write_parquet(folder / f"{k:02}.parquet")
    return fsframe.read(folder, **roles)


def selected_in_parts(
    chain: Any,
    frame: polars.DataFrame,
    folder: Path,
    ways: Sequence[tuple[tuple[int, ...], int, int]],
    entropy: int = 0,
    **roles: str,
) -> list[Selection]:
    """What a chain selects in several ways: begins of parts, number of threads, memory."""
    return [
        chain.select(
            divided(frame, folder / str(k), cuts, **roles),
            run=Run(entropy=entropy, threads=threads, memory=memory),
        )
        for k, (cuts, threads, memory) in enumerate(ways)
    ]


def packed(genotypes: NDArray[Any], gaps: NDArray[np.bool_] | None = None) -> PackedGenotypes:
    """A table of genotypes 0, 1, 2 in two bits each; gaps are missing."""
    codes = np.array([3, 2, 0], np.uint8)[genotypes]
    if gaps is not None:
        codes[gaps] = 1
    rows, columns = codes.shape
    padded = np.vstack([codes, np.zeros((-rows % 4, columns), np.uint8)])
    bits = (padded.T.reshape(columns, -1, 4) << np.array([0, 2, 4, 6])).sum(axis=2)
    return PackedGenotypes.of(bits.astype(np.uint8), rows)


@contextmanager
def peer(requirement: str, module: str, site: Path) -> Iterator[Any]:
    """A package installed into a folder of its own; the test is skipped where it cannot be."""
    command = [sys.executable, "-m", "pip", "-q", "install", "--no-deps", "--target", str(site)]
    done = subprocess.run([*command, requirement], capture_output=True, text=True, timeout=300)
    if done.returncode:
        told = done.stderr.strip().splitlines()[-1]
        pytest.skip(f"{requirement} cannot be installed: {told}")
    sys.path.insert(0, str(site))
    try:
        yield importlib.import_module(module)
    finally:
        sys.path.remove(str(site))
