"""Result tables with their date, machine and versions."""

from __future__ import annotations

import csv
import datetime
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

MADE = ("made", "code")
"""Columns of a table that grows: the day of a row, and the digest of the code that made it."""


def grown(
    folder: Path, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]], key: int
) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of a table that keeps the stored rows which are not computed anew.

    A row is known by its first `key` cells. New rows take the place of stored ones of the same key
    and are followed by today's date and the digest of today's code; those that are kept show when,
    and by which code, they were made. A row that has not changed keeps its date. One of fewer
    ``repeats`` than the stored one, where there is such a column, is left out.

    Raises
    ------
    SystemExit
        If the stored table has other columns.
    """
    columns = [*header, *MADE]
    path = folder / f"{name}.csv"
    held: dict[tuple[str, ...], list[Any]] = {}
    if path.exists():
        with open(path, newline="", encoding="utf-8") as file:
            stored = list(csv.reader(file))
        if stored[0] != columns:
            raise SystemExit(f"{path} has the columns {stored[0]}, not {columns}")
        # A digest of digits alone is no number.
        held = {tuple(row[:key]): [*map(_value, row[:-2]), *row[-2:]] for row in stored[1:]}
    today = [today_utc(), code_digest()]
    for row in rows:
        cells = [None if value == "" else value for value in row]
        place = tuple(str(cell) for cell in cells[:key])
        if place in held and fewer(header, cells, held[place]):
            print(f"{', '.join(place)}: the stored row has more repetitions and is kept")
        elif place not in held or held[place][: len(cells)] != cells:
            held[place] = [*cells, *today]
    return columns, list(held.values())


def fewer(header: Sequence[str], new: Sequence[Any], stored: Sequence[Any]) -> bool:
    """Whether a row comes from fewer repetitions than the stored one of the same columns."""
    if "repeats" not in header:
        return False
    column = list(header).index("repeats")
    return bool((new[column] or 0) < (stored[column] or 0))


def code_digest() -> str:
    """The first digits of the digest of the code behind the published tables."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    try:
        import provenance
    finally:
        sys.path.pop(0)
    return provenance.digest(provenance.code("published"))[:8]


def _value(cell: str) -> Any:
    if cell == "":
        return None
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


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
    return [f"Made {today_utc()} on {machine()}, with {versions}."]


def today_utc() -> str:
    """The date, as 2026-11-24."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


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
