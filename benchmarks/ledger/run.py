"""Compute rows of the ledger: one for each design, contender and table.

    python benchmarks/ledger/run.py --seconds 1500
    python benchmarks/ledger/page.py          # docs/ledger.md and its figures, from the rows

Stopped at any time and started again, it continues: the CSV is the record, and a row that is there
is not computed again. Cells (a design, with or without a signal, and a contender) take turns so
that each has a few tables before any has many, cheap cells more often. Packages that are not
installed are left out and named; `--path FOLDER` finds them in a folder of `pip install --target`.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from contenders import CONTENDERS, Contender
from designs import DESIGNS, Design, Table, tables
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.errors import FsframeError

OUT = Path(__file__).with_name("results") / "ledger.csv"
COLUMNS = ("design", "label", "contender", "table", "kept", "false_relevant", "false_causal",
           "false_interacting", "f1_relevant", "f1_causal", "held_out", "seconds", "version",
           "commit", "note")  # fmt: skip
Cell = tuple[Design, str, Contender]


def cells(designs: list[str], contenders: list[str]) -> list[Cell]:
    """The cells that can be computed: contenders that take such a task and width, and tables
    without a signal only if something is promised."""
    return [
        (design, label, contender)
        for design in DESIGNS
        for label in ("signal", "null")
        for contender in CONTENDERS
        if (not designs or design.name in designs)
        and (not contenders or contender.name in contenders)
        and design.columns <= contender.widest
        and (label == "signal" or (design.null and contender.promise))
        and _task(design) in contender.tasks
    ]


def _task(design: Design) -> str:
    return tables(design, True, 0, 12)[0].task


def f1(kept: NDArray[np.intp], true: NDArray[np.bool_]) -> float:
    """Harmonic mean of precision and sensitivity; 0 if nothing true is kept."""
    hits = int(true[kept].sum())
    return 2 * hits / (kept.size + int(true.sum())) if hits else 0.0


def held_out(train: Table, test: Table, kept: NDArray[np.intp]) -> float:
    """Balanced accuracy, or R², on rows that were not seen, of one support vector machine with
    a radial kernel and its defaults, on the kept columns; NaN for survival times."""
    from sklearn.compose import ColumnTransformer
    from sklearn.metrics import balanced_accuracy_score, r2_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC, SVR

    if train.task == "survival":
        return float("nan")
    regression = train.task == "regression"
    if not kept.size:
        return 0.0 if regression else 0.5
    nominal = [k for k, j in enumerate(kept) if j in train.categorical]
    numeric = [k for k in range(kept.size) if k not in nominal]
    columns = ColumnTransformer(
        [
            ("n", StandardScaler(), numeric),
            ("c", OneHotEncoder(handle_unknown="ignore"), nominal),
        ]
    )
    model = make_pipeline(columns, SVR() if regression else SVC(class_weight="balanced"))
    predicted = model.fit(train.X[:, kept], train.y).predict(test.X[:, kept])
    score = r2_score if regression else balanced_accuracy_score
    return float(score(test.y, predicted))


def row(cell: Cell, seed: int, commit: str) -> dict[str, str]:
    """One row of the ledger."""
    design, label, contender = cell
    train, test = tables(design, label == "signal", seed)
    found = {
        "design": design.name,
        "label": label,
        "contender": contender.name,
        "table": str(seed),
        "version": contender.version(),
        "commit": commit,
    }
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept = contender.kept(design, train, seed)
    except FsframeError as error:
        return found | {"note": f"refused: {' '.join(str(error).split())}"}
    except Exception as error:  # Of another package: its failure is its result.
        if contender.package == "fsframe":
            raise
        kept = np.zeros(0, dtype=np.intp)
        found["note"] = f"failed: {type(error).__name__}: {' '.join(str(error).split())[:120]}"
    seconds = time.process_time() - began
    truth = {
        kind: design.mask(kind, label == "signal") for kind in ("relevant", "causal", "interacting")
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = held_out(train, test, kept)
    return found | {
        "kept": " ".join(map(str, sorted(kept.tolist()))),
        **{f"false_{kind}": str(int((~true[kept]).sum())) for kind, true in truth.items()},
        "f1_relevant": f"{f1(kept, truth['relevant']):.4f}",
        "f1_causal": f"{f1(kept, truth['causal']):.4f}",
        "held_out": "" if np.isnan(predicted) else f"{predicted:.4f}",
        "seconds": f"{seconds:.3f}",
    }


class Order:
    """Which cell is next: that with the smallest (tables + 1)·√(seconds of a table)."""

    def __init__(self, wanted: list[Cell], rows: list[dict[str, str]], most: int) -> None:
        self.most = most
        self.cells = {(d.name, label, c.name): (d, label, c) for d, label, c in wanted}
        self.done: dict[tuple[str, str, str], list[float]] = {key: [] for key in self.cells}
        self.refused: set[tuple[str, str, str]] = set()
        for found in rows:
            self.add(found)

    def add(self, found: dict[str, str]) -> None:
        """Count a row."""
        key = (found["design"], found["label"], found["contender"])
        if found["note"].startswith("refused"):
            self.refused.add(key)
        elif key in self.done:
            self.done[key].append(float(found["seconds"]))

    def next(self) -> tuple[Cell, int] | None:
        """The next cell and the number of its table; None if all are done."""
        open_cells = [
            key
            for key, seconds in self.done.items()
            if key not in self.refused and len(seconds) < self.most
        ]
        if not open_cells:
            return None
        key = min(open_cells, key=self._turn)
        return self.cells[key], len(self.done[key])

    def _turn(self, key: tuple[str, str, str]) -> float:
        seconds = self.done[key]
        design, _, contender = self.cells[key]
        cost = float(np.mean(seconds)) if seconds else contender.seconds * design.columns / 30
        return (len(seconds) + 1) * float(np.sqrt(max(cost, 0.1)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1500.0, help="processor time to use")
    parser.add_argument("--tables", type=int, default=200, help="most tables of a cell")
    parser.add_argument("--designs", nargs="*", default=[])
    parser.add_argument("--contenders", nargs="*", default=[])
    parser.add_argument("--without", nargs="*", default=[], help="contenders to leave out")
    parser.add_argument("--path", help="folder of further packages")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    threadpool_limits(1)
    if given.path:
        sys.path.append(given.path)
    wanted = []
    missing = set()
    for cell in cells(given.designs, given.contenders):
        if cell[2].name in given.without:
            continue
        try:
            cell[2].version()
        except importlib.metadata.PackageNotFoundError:
            missing.add(cell[2].package)
        else:
            wanted.append(cell)
    if missing:
        print(f"left out, not installed: {', '.join(sorted(missing))}", file=sys.stderr)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parent,
    ).stdout.strip()  # fmt: skip
    rows = list(csv.DictReader(given.out.open())) if given.out.exists() else []
    order = Order(wanted, rows, given.tables)
    given.out.parent.mkdir(exist_ok=True)
    computed, said = 0, 0.0
    with given.out.open("a", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
        if not rows:
            writer.writeheader()
        while time.process_time() < given.seconds and (chosen := order.next()) is not None:
            cell, seed = chosen
            found = dict.fromkeys(COLUMNS, "") | row(cell, seed, commit)
            writer.writerow(found)
            out.flush()
            order.add(found)
            computed += 1
            if time.monotonic() > said + 5:
                said = time.monotonic()
                numbers = [len(s) for key, s in order.done.items() if key not in order.refused]
                print(
                    f"{time.process_time():.0f} of {given.seconds:.0f} s: {computed} rows; cells "
                    f"without a table {numbers.count(0)} of {len(numbers)}, median "
                    f"{int(np.median(numbers))}; now {cell[0].name}, {cell[1]}, {cell[2].name}",
                    file=sys.stderr,
                    flush=True,
                )


if __name__ == "__main__":
    main()
