"""The output folder of a comparison: names and contents of its files."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from pathlib import Path

from fsframe.analysis.comparison_display import CSV_NAMES, csv_text, hdf5_image
from fsframe.errors import StoreError
from fsframe.evaluation.comparison import Cell, Comparison
from fsframe.storage import check_destination, place_file

RESULTS = ("results.csv", "results.h5")
"""The files in the folder of a comparison besides the run files."""


def run_file(folder: Path, table: str, chain: str) -> Path:
    """Path of the run file of a chain on a table."""
    return folder / f"{table}.{_slug(chain)}.h5"


def check_folder(folder: Path, apart_from: Sequence[Path]) -> None:
    """Refuse to replace files in `folder` that no earlier comparison has written.

    Raises
    ------
    StoreError
        Also if the folder cannot be written to.
    """
    for name in RESULTS if folder.is_dir() else ():
        check_destination(folder / name, overwrite=True, apart_from=list(apart_from))
    results = folder / RESULTS[0]
    if not results.is_file():
        return
    with open(results, "rb") as file:
        if file.readline(200).strip() != ",".join(CSV_NAMES).encode():
            raise StoreError(
                f"{results} already exists and does not come from an earlier comparison; move "
                "it, or choose another folder with --out"
            )


def recorded_request(folder: Path) -> tuple[list[str], str] | None:
    """The chains of the comparison in `folder`, and its measure.

    None if there is no table of results. The other runs in it are classifiers on all features.
    """
    try:
        with open(folder / RESULTS[0], newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        return None
    if len(rows) < 2 or tuple(rows[0]) != CSV_NAMES or any(len(r) != len(rows[0]) for r in rows):
        return None
    # Baselines have no standard error, stability or time.
    chains = dict.fromkeys(row[1] for row in rows[1:] if row[-1])
    return list(chains), rows[1][2]


def make_folder(folder: Path) -> None:
    """Create the folder; StoreError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is not a folder" if folder.exists() else error.strerror or str(error)
        raise StoreError(f"cannot make {folder}: {reason}; choose another --out") from error


def write_comparison(
    comparison: Comparison,
    cells: Sequence[Sequence[Cell]],
    folder: Path | None = None,
    csv_out: Path | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write the table of results, and to `folder` also the accuracy of every split."""
    text = csv_text([comparison])
    if folder is not None:
        # Made again from the run files at every call.
        contents = (text.encode(), hdf5_image(comparison, cells))
        for name, content in zip(RESULTS, contents, strict=True):
            place_file(folder / name, content, overwrite=True)
    # Last: once this file is there, the same command is refused, so the folder must be whole.
    if csv_out is not None:
        place_file(csv_out, text.encode(), overwrite=overwrite)


def _slug(text: str) -> str:
    """A chain's text as part of a file name, different for different chains."""
    plain = "".join(c if c.isalnum() else "-" for c in text).strip("-")[:60]
    return f"{plain}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"
