"""The small tables that every method is run on, one for each family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import scipy.sparse
from numpy.typing import NDArray

import fsframe

__all__ = ["FAMILIES", "table"]

ROWS, COLUMNS = 36, 6


def _numbers(seed: int, columns: int = COLUMNS) -> NDArray[np.float64]:
    """Normal numbers; columns 1 and 3 differ between the classes of `_labels`."""
    values = np.random.Generator(np.random.PCG64(seed)).standard_normal((ROWS, columns))
    values[:, 1] += 1.5 * _labels()
    values[:, 3] += 0.7 * _labels()
    return values


def _labels() -> NDArray[np.int64]:
    return np.random.Generator(np.random.PCG64(99)).permutation(np.arange(ROWS) % 2)


def _frame(values: NDArray[np.float64]) -> polars.DataFrame:
    named = {f"f{column + 1}": values[:, column] for column in range(values.shape[1])}
    return polars.DataFrame(named).with_columns(
        polars.Series("class", np.array(["no", "yes"])[_labels()])
    )


def _numeric(_: Path) -> fsframe.Dataset:
    return fsframe.Dataset.from_arrays(_numbers(1), _labels(), name="numeric")


def _nominal(_: Path) -> fsframe.Dataset:
    values = _numbers(2)
    generator = np.random.Generator(np.random.PCG64(3))
    values[:, 0] = generator.integers(0, 3, ROWS)
    values[:, 3] = (_labels() + generator.integers(0, 2, ROWS)) % 3
    three = (_labels() + (values[:, 1] > 1)).astype(int)
    return fsframe.Dataset.from_arrays(values, three, categorical=[0, 3], name="nominal")


def _gaps(_: Path) -> fsframe.Dataset:
    values = _numbers(4)
    values[np.random.Generator(np.random.PCG64(5)).random(values.shape) < 0.1] = np.nan
    return fsframe.Dataset.from_arrays(values, _labels(), name="gaps")


def _sparse(_: Path) -> fsframe.Dataset:
    generator = np.random.Generator(np.random.PCG64(6))
    values = generator.integers(1, 5, (ROWS, 2 * COLUMNS)).astype(float)
    values[generator.random(values.shape) < 0.85] = 0.0
    values[:, 1] = _labels() * generator.integers(0, 3, ROWS)
    return fsframe.Dataset.from_arrays(scipy.sparse.csc_array(values), _labels(), name="sparse")


def _bytes(_: Path) -> fsframe.Dataset:
    generator = np.random.Generator(np.random.PCG64(7))
    values = generator.integers(0, 3, (ROWS, COLUMNS)).astype(np.uint8)
    values[:, 1] = np.minimum(2, values[:, 1] // 2 + _labels())
    return fsframe.Dataset.from_arrays(values, _labels(), name="bytes")


def _parts(folder: Path) -> fsframe.Dataset:
    parts = folder / "parts"
    if not parts.exists():
        parts.mkdir()
        frame = _frame(np.round(_numbers(8), 1))
        for place, (start, stop) in enumerate(((0, 10), (10, 30), (30, ROWS))):
            frame[start:stop].write_parquet(parts / f"{place}.parquet")
    return fsframe.read(parts)


def _regression(_: Path) -> fsframe.Dataset:
    values = _numbers(9)
    noise = np.random.Generator(np.random.PCG64(10)).standard_normal(ROWS)
    target = 2.0 * values[:, 1] + 0.7 * values[:, 3] + 0.3 * noise
    return fsframe.Dataset.from_arrays(values, target, name="regression", task="regression")


def _survival(_: Path) -> fsframe.Dataset:
    values = _numbers(11)
    waiting = np.random.Generator(np.random.PCG64(12)).standard_exponential((2, ROWS))
    time = waiting[0] * np.exp(-values[:, 1] - 0.5 * values[:, 3])
    end = 3.0 * waiting[1]
    lasted = np.ceil(20.0 * np.minimum(time, end)) / 20.0
    return fsframe.Dataset.from_arrays(values, lasted, name="survival", event=time <= end)


def _with_roles(seed: int, name: str, role: str, column: Any) -> fsframe.Dataset:
    frame = _frame(_numbers(seed)).with_columns(polars.Series("side", column))
    given: dict[str, Any] = {role: "side"}
    return fsframe.Dataset.from_frame(frame, label="class", name=name, **given)


def _weights(_: Path) -> fsframe.Dataset:
    return _with_roles(13, "weights", "weight", np.arange(ROWS) % 3 + 1)


def _groups(_: Path) -> fsframe.Dataset:
    people = np.array([f"p{row // 3}" for row in range(ROWS)])
    return _with_roles(14, "groups", "groups", people)


def _time(_: Path) -> fsframe.Dataset:
    return _with_roles(15, "time", "time", np.arange(ROWS) // 2)


def _adjust(_: Path) -> fsframe.Dataset:
    return _with_roles(16, "adjust", "adjust", np.arange(ROWS) % 3 // 2)


FAMILIES: dict[str, Callable[[Path], fsframe.Dataset]] = {
    "numeric": _numeric,
    "nominal": _nominal,
    "gaps": _gaps,
    "sparse": _sparse,
    "bytes": _bytes,
    "parts": _parts,
    "regression": _regression,
    "survival": _survival,
    "weights": _weights,
    "groups": _groups,
    "time": _time,
    "adjust": _adjust,
}
"""Functions that make the tables; one in parts is written to the folder that they are given."""

_made: dict[tuple[str, Path], fsframe.Dataset] = {}


def table(family: str, folder: Path) -> fsframe.Dataset:
    """The table of a family, made once."""
    key = family, folder
    if key not in _made:
        _made[key] = FAMILIES[family](folder)
    return _made[key]
