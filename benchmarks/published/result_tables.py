"""Result tables with their date, machine and versions."""

from __future__ import annotations

import csv
import datetime
import os
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any


def write_tables(
    folder: Path,
    name: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    title: str,
    notes: Sequence[str] = (),
) -> None:
    """Write the rows as ``name.csv``, and as ``name.md`` with date, machine and versions."""
    held = [list(row) for row in rows]
    if not held:
        print(f"{name}: nothing finished, no table")
        return
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([["" if v is None else v for v in row] for row in held])
    lines = [f"# {title}", "", *environment_lines(), ""]
    for note in notes:
        lines += [note, ""]
    lines += ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(_cell(v) for v in row) + " |" for row in held]
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n")
    print(f"wrote {folder / name}.csv and .md ({len(held)} rows)")


def _cell(value: Any) -> str:
    if value is None:
        return "—"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def environment_lines() -> list[str]:
    """Date, machine and versions."""
    packages = ("fsframe", "numpy", "scipy", "numba", "scikit-learn")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return [f"Made {today} on {machine()}, with {versions}."]


def machine() -> str:
    """Cores and vector instructions, as far as the system reports them."""
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        flags = ""
    kinds = [(" avx512f", "AVX-512"), (" avx2", "AVX2"), (" asimd", "NEON")]
    kind = next((name for flag, name in kinds if flag in flags), "unknown")
    return f"{len(os.sched_getaffinity(0))} cores, {kind} class"


def percent(value: float) -> float:
    """A share in percent, to two decimal places."""
    return round(100.0 * value, 2)
