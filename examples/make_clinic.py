"""Writes clinic.csv: simulated patients in a spreadsheet as people keep them.

    python examples/make_clinic.py

120 patients, 20 measurements. By design the outcome goes with CRP, albumin and marker 3, and with
the sum of markers 5 and 8; batch B1 has only good outcomes. The cells are as untidy as those of an
export: a title, an id, a date, comments, a code for missing values, cells below a limit of
detection, a class in two spellings, and a line of totals.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

N_PATIENTS, N_MARKERS, SEED = 120, 14, 7
FILE = Path(__file__).parent / "clinic.csv"


def main() -> None:
    """Write the table."""
    draw = np.random.default_rng(SEED)
    n = N_PATIENTS
    markers = draw.normal(size=(n, N_MARKERS))
    crp, albumin = draw.normal(size=n), draw.normal(size=n)
    risk = 1.4 * crp - 1.2 * albumin + 1.3 * markers[:, 2] + 1.2 * (markers[:, 4] + markers[:, 7])
    poor = risk + draw.logistic(size=n) > 0
    batch = np.where(draw.random(n) < 0.5, "B2", "B3")
    batch[np.flatnonzero(~poor)[:22]] = "B1"
    outcome = np.where(poor, "Poor", "Good").astype(object)
    outcome[::9] = [text.lower() for text in outcome[::9]]
    age, weight = draw.integers(30, 85, n), draw.integers(52, 105, n)
    weight[draw.choice(n, 6, replace=False)] = -999
    crp_cells = [f"{np.exp(1.5 + 0.9 * value):.1f}" for value in crp]
    for row in draw.choice(n, 7, replace=False):
        crp_cells[row] = "n.d."
    table = {
        "PatientID": [f"P{k + 1:03d}" for k in range(n)],
        "Date": [f"2021-{k // 10 + 1:02d}-{k % 10 * 2 + 1:02d}" for k in range(n)],
        "Batch": batch,
        "Age": age,
        "Sex": draw.choice(["F", "M"], n),
        "Outcome": outcome,
        "Weight": weight,
        "CRP": crp_cells,
        "Albumin": [f"{42 + 4 * value:.1f}" for value in albumin],
        "Comments": [["", "", "sample thawed twice"][k] for k in draw.integers(0, 3, n)],
    }
    for k in range(N_MARKERS):
        table[f"Marker {k + 1}"] = [f"{np.exp(2 + 0.4 * v):.2f}" for v in markers[:, k]]
    with FILE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["Outcome study, export of 3 March 2021", *[""] * (len(table) - 1)])
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        writer.writerow(["Total", n, *[""] * (len(table) - 2)])


if __name__ == "__main__":
    main()
