"""Where the bounds of `cpss` and `ipss` fail and hold, on tables of the ledger's designs.

    python benchmarks/resampling/halves_on_designs.py --out FILE

Prints, for each chain and design, the mean number of false (not relevant) features kept and their
mean share among the kept, with standard errors, and the mean number of relevant ones. Tables are
numbers 1000 and up of their designs, which the ledger does not use. Cells that are in the file are
not computed again.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from fsframe import Chain

sys.path.insert(0, str(Path(__file__).parents[1] / "ledger"))
from designs import DESIGNS, tables

FIRST = 1000
BOUNDS = ("auto", "r-concave", "unimodal", "worst-case")


def cells() -> Iterator[tuple[str, str, bool, int]]:
    """Chain, design, whether features are relevant, and number of tables."""
    for base in ("relieff:top=5", "anova-f:top=5"):
        for bound in BOUNDS:
            for design in ("60x1000", "95-5"):
                yield f"{base} cpss:bound={bound}", design, False, 200
    for base in ("relieff", "anova-f"):
        for signal in (False, True):
            yield f"{base} ipss:bound=published", "60x1000", signal, 200
    permuted = "bound=permutation,pairs=15"
    for design in ("60x1000", "95-5", "blocks"):
        yield f"relieff:top=5 cpss:{permuted}", design, False, 60
    yield f"relieff ipss:{permuted}", "60x1000", False, 60
    for bound in ("permutation", "auto", "r-concave", "unimodal"):
        yield f"relieff:top=5 cpss:bound={bound},pairs=15", "60x1000", True, 30
    for bound in ("permutation", "published"):
        yield f"relieff ipss:bound={bound},pairs=15", "60x1000", True, 30


def measured(text: str, name: str, signal: bool, many: int) -> dict[str, str]:
    """What a chain keeps on tables of a design."""
    (design,) = (one for one in DESIGNS if one.name == name)
    chain, relevant = Chain.parse(text), design.mask("relevant", signal)
    false, true = np.empty(many), np.empty(many)
    began = time.process_time()
    for place in range(many):
        table = tables(design, signal, FIRST + place, 12)[0].dataset()
        kept = relevant[chain.select(table, seed=FIRST + place).selected]
        false[place], true[place] = (~kept).sum(), kept.sum()
    seconds = (time.process_time() - began) / many
    share = false / np.maximum(false + true, 1)
    return {
        "chain": text,
        "design": name,
        "label": "signal" if signal else "null",
        "tables": str(many),
        "false": f"{false.mean():.2f}",
        "false_se": f"{false.std(ddof=1) / np.sqrt(many):.2f}",
        "share_false": f"{share.mean():.3f}",
        "share_se": f"{share.std(ddof=1) / np.sqrt(many):.3f}",
        "true": f"{true.mean():.2f}",
        "seconds_each": f"{seconds:.2f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="file that rows are added to")
    given = parser.parse_args()
    held = set()
    if given.out.exists():
        with given.out.open(newline="", encoding="utf-8") as file:
            held = {(row["chain"], row["design"], row["label"]) for row in csv.DictReader(file)}
    with threadpool_limits(1):
        for cell in cells():
            if (cell[0], cell[1], "signal" if cell[2] else "null") in held:
                continue
            row = measured(*cell)
            print(*row.values(), flush=True)
            fresh = not given.out.exists()
            with given.out.open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(row), lineterminator="\n")
                if fresh:
                    writer.writeheader()
                writer.writerow(row)


if __name__ == "__main__":
    main()
