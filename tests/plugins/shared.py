"""What tests of several plugins share: tables in parts, and packages that results are held to."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars
import pytest
from numpy.typing import NDArray

import fsframe
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_tables.genetics import PackedGenotypes

ROOT = Path(__file__).parents[2]
ROWS = 500
GREEDY = (
    "mifs", "mrmr", "jmi", "cmim", "disr", "icap", "cife", "condred", "betagamma", "jmim", "njmim",
    "cmi", "jmi3",
)  # fmt: skip
CODES = ("kind", "person", "gap", "real", "half", "many", "far", "wide", "near")
"""What is left without these are columns of codes."""


def mixed_table(*without: str, twins: int = 0) -> polars.DataFrame:
    """Columns of many kinds, without those whose names begin so, and rows that are copies."""
    n, rng = ROWS, np.random.default_rng(5)
    y = rng.integers(0, 3, n)
    columns = {f"code{k}": np.where(rng.random(n) < 0.1 * k, y, rng.integers(0, 3 + k % 2, n))
               for k in range(6)}  # fmt: skip
    columns |= {f"real{k}": rng.normal(size=n) + 0.3 * k * y for k in range(5)}
    columns["real1"] += columns["real0"]
    columns["code5"] = np.where(rng.random(n) < 0.7, (y + columns["code4"]) % 3, columns["code5"])
    columns |= {"half": rng.integers(0, 9, n) / 2, "many": rng.integers(0, 300, n) + 5 * y}
    columns |= {"far": rng.integers(0, 2, n) * 9000.0, "wide": rng.integers(0, 5000, n) * 1e6}
    columns |= {"near": 1e9 + rng.normal(size=n), "same": np.full(n, 0.1)}
    columns["gap"] = np.where(rng.random(n) < 0.2, np.nan, y + rng.random(n))
    columns |= {"kind": rng.choice(list("abcdefg"), n), "person": rng.integers(0, 40, n), "y": y}
    frame = polars.DataFrame(columns).with_columns(kind=polars.col("kind").cast(polars.Categorical))
    frame = frame.drop([name for name in columns if name.startswith(without)])
    # Neighbours at distance zero, of their own class and of others.
    copies = frame[:twins].with_columns(y=polars.Series(rng.integers(0, 3, twins)))
    return polars.concat([frame, copies, frame[: twins // 2]])


def people(
    seed: int, persons: int = 16, rows: int = 4, columns: int = 10, spread: float = 0.3
) -> Dataset:
    """Columns that differ from person to person; the label belongs to the person, and is noise."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(persons), rows)
    X = rng.normal(size=(persons, columns))[who] + spread * rng.normal(size=(len(who), columns))
    y = rng.permutation(np.arange(persons) % 2)[who]
    return Dataset.from_arrays(X, y, groups=who, group_name="person")


def divided(frame: polars.DataFrame, folder: Path, cuts: tuple[int, ...], **roles: str) -> Dataset:
    """The table in parts that begin at these rows."""
    folder.mkdir()
    for k, (start, stop) in enumerate(zip((0, *cuts), (*cuts, len(frame)), strict=True)):
        frame[start:stop].write_parquet(folder / f"{k:02}.parquet")
    return fsframe.read(folder, **roles)


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


def keep_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs keep what a stage computes step by step, as those do that continue after a stop."""
    kept: dict[int, dict[str, NDArray[Any]]] = {}

    def get(number: int, compute: Callable[[], dict[str, Any]]) -> dict[str, NDArray[Any]]:
        if number not in kept:
            kept[number] = {name: np.array(value) for name, value in compute().items()}
        return kept[number]

    monkeypatch.setattr(Run, "units", lambda *_: SimpleNamespace(get=get))
