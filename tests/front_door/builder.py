"""Untidy tables, as people have them: each with its label and what has to be among the features."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

N_ROWS, N_GENES = 60, 12


def patients(n: int = N_ROWS, genes: int = N_GENES, seed: int = 33) -> dict[str, list[str]]:
    """Columns of a spreadsheet: `Outcome` in the middle, two genes that follow it, one batch that
    is all good."""
    draw = np.random.default_rng(seed)
    third = n // 4
    batch = ["B1"] * third + ["B2"] * third + ["B3"] * (n - 2 * third)
    outcome = ["Good"] * third + draw.permutation(["Good", "Poor", "Poor"] * (n - third)).tolist()[
        : n - third
    ]
    values = draw.lognormal(2, 0.4, (n, genes))
    poor = np.array(outcome) == "Poor"
    values[:, 1] *= np.where(poor, 3.0, 1.0)
    values[:, 4] *= np.where(poor, 0.3, 1.0)
    remarks = ["", "repeated", "haemolysed sample, see lab book"]
    table = {
        "PatientID": [f"P{k + 1:03d}" for k in range(n)],
        "Date": [f"2021-{k % 12 + 1:02d}-{k % 28 + 1:02d}" for k in range(n)],
        "Batch": batch,
        "Comments": [remarks[k] for k in draw.integers(0, 3, n)],
        "Age": draw.integers(30, 85, n).astype(str).tolist(),
        "Sex": draw.choice(["F", "M"], n).tolist(),
        "ER status": draw.choice(["pos", "neg"], n).tolist(),
        "Outcome": outcome,
    }
    for k in range(genes):
        table[f"GENE{k + 1}"] = [f"{value:.3f}" for value in values[:, k]]
    return table


def as_text(table: dict[str, list[str]], delimiter: str = ",") -> str:
    """A table as delimited text."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return out.getvalue()


def write(path: Path, table: dict[str, list[str]]) -> Path:
    """A table as a CSV file."""
    path.write_text(as_text(table), encoding="utf-8")
    return path
