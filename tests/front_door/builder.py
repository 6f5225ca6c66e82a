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


WIDE = 203
"""Genes of a wide table."""


FEW = 30
"""Rows of a table of few."""


def without(table: dict[str, list[str]], *names: str) -> dict[str, list[str]]:
    """A table that lacks some of its columns."""
    return {name: cells for name, cells in table.items() if name not in names}


def _plain() -> dict[str, list[str]]:
    """The patients without what other tables have besides."""
    return without(patients(FEW, genes=WIDE), "Date", "Batch", "Comments", "ER status")


def _with(name: str, values: list[str]) -> dict[str, list[str]]:
    table = _plain()
    table[name] = values
    table["GENE203"] = table.pop("GENE203")
    return table


def _some(values: list[str], text: str, every: int = 9) -> list[str]:
    return [text if k % every == 0 else value for k, value in enumerate(values)]


def _commas(table: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: [cell.replace(".", ",") for cell in cells] for name, cells in table.items()}


def _german() -> str:
    """An export with a decimal comma in all numbers, also in those with a unit or a point."""
    plain = _plain()
    n = len(plain["Age"])
    table = _commas(plain) | {
        "CRP": ["n.d." if k % 11 == 0 else f"{k % 7},{k % 10}" for k in range(n)],
        "Cells": [f"{20 + k},5 %" for k in range(n)],
        "Platelets": [f"{90 + k}.000" for k in range(n)],
    }
    table["GENE203"] = table.pop("GENE203")
    last = f"Summe;{n}{';' * (len(table) - 2)}\n"
    return f"Studie A;;\n{as_text(table, ';')}{last}"


def _rare() -> dict[str, list[str]]:
    """Two rows in a hundred are of the positive class."""
    draw = np.random.default_rng(5)
    n = 100
    values = draw.lognormal(2, 0.4, (n, WIDE))
    values[:2, 1] *= 30
    table = {"Outcome": ["Poor"] * 2 + ["Good"] * (n - 2)}
    return table | {f"GENE{k + 1}": [f"{v:.3f}" for v in values[:, k]] for k in range(WIDE)}


def _visits() -> dict[str, list[str]]:
    """Three visits of each of thirty patients, ids in the order of the clinic."""
    table = _plain()
    n = len(table["PatientID"])
    outcome = [table["Outcome"][k // 3 * 2] for k in range(n)]
    follows = [f"{2 + (label == 'Poor') * 4 + k % 7 / 10:.1f}" for k, label in enumerate(outcome)]
    ids = [f"P{k // 3 + 1:03d}" for k in range(n)]
    return table | {"PatientID": ids, "Outcome": outcome, "GENE2": follows}


def _texts() -> dict[str, str]:
    plain = _plain()
    outcome = plain["Outcome"]
    text = as_text(plain)
    names, rows = text.split("\n", 1)
    width = len(plain)
    units = ",".join("" if name in ("PatientID", "Outcome", "Sex") else "au" for name in plain)
    ages = plain["Age"]
    return {
        "everything": as_text(patients(genes=WIDE)),
        "spreadsheet errors": as_text(_with("CRP", _some(plain["GENE9"], "#N/A"))),
        "code": as_text(_with("Weight", _some(ages, "-999"))),
        "spellings of a class": as_text(
            plain | {"Outcome": [c.lower() if k % 7 == 0 else c for k, c in enumerate(outcome)]}
        ),
        "units in cells": as_text(_with("CRP", [f"{v} mg/l" for v in plain["GENE9"]])),
        "a German export": _german(),
        "title above": f"Study A: export of 3 March 2021{',' * (width - 1)}\n\n{text}",
        "two lines of names": f"{names}\n{units}\n{rows}",
        "totals below": f"{text}Total,60{',' * (width - 2)}\n",
        "a name twice": text.replace("GENE8,", "GENE7,", 1),
        "label first": as_text({"diagnosis": outcome} | without(plain, "Outcome")),
        "rare class": as_text(_rare()),
        "visits": as_text(_visits()),
        "labels missing": as_text(plain | {"Outcome": _some(outcome, "", 7)}),
        "an empty column": as_text(_with("Spare", [""] * len(ages))),
        "names with blanks and commas": as_text(
            {{"Age": "Age, years", "Sex": "Sex (f or m)"}.get(k, k): v for k, v in plain.items()}
        ),
    }


TEXTS = _texts()
"""Untidy tables as text, by what is untidy about them."""


def write_workbook(path: Path) -> Path:
    """A workbook with a title, and patients whose cells are merged over their three visits."""
    import xlsxwriter

    table = _visits()
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet()
    sheet.write(0, 0, "Study A, export")
    for column, (name, cells) in enumerate(table.items()):
        sheet.write(1, column, name)
        for row, cell in enumerate(cells):
            if name == "PatientID":
                if row % 3 == 0:
                    sheet.merge_range(row + 2, column, row + 4, column, cell)
            elif name.startswith(("GENE", "Age")):
                sheet.write_number(row + 2, column, float(cell))
            else:
                sheet.write(row + 2, column, cell)
    book.close()
    return path
