"""Tables of two or more classes that the first columns tell apart, in memory and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np

from fsframe.table.dataset import Dataset


def separated(
    n: int = 60,
    p: int = 8,
    seed: int = 0,
    n_classes: int = 2,
    signal: float | Sequence[float] = 2.0,
    **options: Any,
) -> Dataset:
    """Noise, and the code of the class in the first columns as often as `signal` says."""
    y = np.arange(n) % n_classes
    X = np.random.default_rng(seed).standard_normal((n, p))
    shift = np.atleast_1d(signal)
    X[:, : shift.size] += y[:, None] * shift
    return Dataset.from_arrays(X, y, **options)


def write_csv(path: Path, data: Dataset, **columns: Sequence[object]) -> None:
    """The features as a, b, c …, further columns, and the label as `class`."""
    labels = [data.classes[code] for code in data.y] if data.classes else data.y.tolist()
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*ascii_lowercase[: data.n_features], *columns, "class"])
        out.writerows(zip(*data.X.T.tolist(), *columns.values(), labels, strict=True))


def rows_of(path: str | Path) -> list[dict[str, str]]:
    """The rows of a CSV file, by the names of columns."""
    return list(csv.DictReader(Path(path).read_text().splitlines()))
