"""Features that NPFS selects under each null, with and without relevant features in the table.

    python benchmarks/resampling/npfs_levels.py [--repeats 100] [--only PATTERN] [--out FILE]

Table of the slides: integers 0 … 10, class 1 where the sum of the first k* features is at most
5·k*; k* = 0 is a random label. Table of copies: normal columns, a random label, and the first of
them (`copies`) are equal but for three rows of a hundred; table of blocks: integers 0 … 10, several
blocks of 20 such columns, the others independent. `nominal` is alpha·K, the number of features that
a test which holds its level names on average; `se` is the standard error of `named` over the
repeats, `true_se` that of the relevant ones. `--only "^1000 250 25 15 npfs slides"` measures the
case of that N, K, k, k*, stage and table, and replaces its line. `any` is the share of tables in
which anything is named (`any_se` its standard error), which is what a corrected test (above 200
features; alpha = 0.05 here) promises where nothing is relevant. The last cases permute the labels
of the Parkinsons table, with immigrate as the base. Seconds are processor seconds.
"""

from __future__ import annotations

import argparse
import csv
import re
import time
from pathlib import Path

import attrs
import numpy as np

import fsframe
from fsframe.chains.chain import Chain
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset

HERE = Path(__file__).parent


@attrs.frozen
class Case:
    """One test on one kind of table."""

    rows: int
    features: int
    kept: int
    relevant: int
    stage: str
    repeats: float = 1.0  # times the repeats asked for; long cases take fewer, at least 20
    copies: int = 0
    blocks: int = 0

    @property
    def table(self) -> str:
        if self.blocks:
            return f"{self.blocks} blocks of {self.copies} near-copies"
        return f"{self.copies} near-copies" if self.copies else "slides"


PUBLISHED = "npfs:null=published,stratify=false"


def cases() -> list[Case]:
    found = []
    # Power: 15 relevant features of K, lists of k.
    for features, kept in ((50, 3), (50, 10), (50, 25), (100, 25), (250, 15), (250, 25)):
        found += [
            Case(1000, features, kept, 15, "npfs", 0.2),
            Case(1000, features, kept, 15, f"{PUBLISHED},n=100", 0.2),
        ]
        if features > 200:
            found.append(Case(1000, features, kept, 15, "npfs:correction=none", 0.2))
    # Level: nothing is relevant.
    for copies in (0, 20):
        found += [
            Case(150, 60, 6, 0, "npfs", 1.6, copies),
            Case(150, 60, 6, 0, "npfs:n=20,permuted_n=20", 0.8, copies),
            Case(150, 60, 6, 0, "npfs:settle=0.05", 0.8, copies),
        ]
    # What a corrected test promises: anything named in a share alpha of tables at most.
    found.append(Case(100, 250, 25, 0, "npfs:alpha=0.05", 2.0))
    found += [Case(100, 250, 25, 0, "npfs:alpha=0.05", 1.0, 20, blocks) for blocks in (1, 5, 12)]
    for rows, features, kept in ((1000, 100, 10), (1000, 250, 25), (200, 22, 5)):
        found += [
            Case(rows, features, kept, 0, "npfs"),
            *(
                Case(rows, features, kept, relevant, stage, 0.5)
                for relevant in (0, 15 if features > 22 else 3)
                for stage in (
                    f"{PUBLISHED},n=100",
                    f"{PUBLISHED},n=500",
                    f"{PUBLISHED},n=100,correction=bonferroni",
                )
            ),
        ]
    for features, kept in ((100, 10), (250, 25)):
        for relevant in (0, 15):
            found.append(Case(20000, features, kept, relevant, "npfs:null=shards,n=100", 0.5))
    return found


def table_of(seed: int, case: Case) -> Dataset:
    rng = np.random.default_rng(seed)
    if case.copies and not case.blocks:
        X = rng.normal(size=(case.rows, case.features))
    else:
        X = rng.integers(0, 11, size=(case.rows, case.features))
    for column in range(case.copies * max(1, case.blocks)):
        first = column - column % max(1, case.copies)
        if column != first:
            own = rng.choice(case.rows, max(1, round(0.03 * case.rows)), replace=False)
            kept = X[own, column]
            X[:, column] = X[:, first]
            X[own, column] = kept
    if case.relevant:
        y = (X[:, : case.relevant].sum(axis=1) <= 5 * case.relevant).astype(int)
    else:
        y = rng.permutation(np.arange(case.rows) % 2)
    return Dataset.from_arrays(X, y)


def alone(seed: int) -> Run:
    """Use one thread: the tables are small, and several processes may run at a time."""
    return Run(entropy=seed, threads=1)


def measured(case: Case, repeats: int) -> dict[str, object]:
    """Means over `repeats` tables, one seed each."""
    number = max(20, int(repeats * case.repeats))
    chain = Chain.parse(f"mim:top={case.kept} {case.stage}")
    true, false = np.zeros(number), np.zeros(number)
    began = time.process_time()
    for seed in range(number):
        found = chain.select(table_of(seed, case), run=alone(seed)).selected
        true[seed] = (found < case.relevant).sum()
        false[seed] = (found >= case.relevant).sum()
    return line(case.table, str(chain), case.rows, case.features, case.relevant, true, false, began)


def immigrate_under_permuted_labels(stage: str, repeats: int) -> dict[str, object]:
    data = fsframe.read(HERE.parents[1] / "examples" / "parkinsons.csv")
    chain = Chain.parse(f"immigrate {stage}")
    false = np.zeros(repeats)
    began = time.process_time()
    for seed in range(repeats):
        y = np.random.default_rng(seed).permutation(data.y)
        false[seed] = chain.select(data.with_labels(y), run=alone(seed)).selected.size
    rows, features = data.n_samples, data.n_features
    return line(
        "parkinsons, label permuted", str(chain), rows, features, 0, 0 * false, false, began
    )


def line(table: str, chain: str, rows: int, features: int, relevant: int,
         true: np.ndarray, false: np.ndarray, began: float) -> dict[str, object]:  # fmt: skip
    named = true + false
    any_named = (named > 0).mean()
    alpha = Chain.parse(chain).stages[-1].method.alpha
    return {
        "table": table,
        "chain": chain,
        "N": rows,
        "K": features,
        "k_star": relevant,
        "repeats": len(named),
        "named": round(named.mean(), 3),
        "se": round(named.std(ddof=1) / np.sqrt(len(named)), 3),
        "true": round(true.mean(), 3),
        "true_se": round(true.std(ddof=1) / np.sqrt(len(true)), 3),
        "false": round(false.mean(), 3),
        "nominal": round(alpha * features, 3),
        "any": round(any_named, 4),
        "any_se": round(np.sqrt(any_named * (1 - any_named) / len(named)), 4),
        "seconds_each": round((time.process_time() - began) / len(named), 2),
    }


def key_of(row: dict[str, object]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("table", "chain", "N", "K", "k_star"))


def known_lines(path: Path) -> dict[tuple[str, ...], dict[str, object]]:
    """Lines of earlier runs: a run of some cases replaces only their lines."""
    if not path.exists():
        return {}
    with path.open() as lines:
        return {key_of(row): row for row in csv.DictReader(lines)}


def write_lines(path: Path, found: dict[tuple[str, ...], dict[str, object]]) -> None:
    path.parent.mkdir(exist_ok=True)
    rows = [found[key] for key in sorted(found)]
    with path.open("w", newline="") as lines:
        names = max(rows, key=len).keys()
        writer = csv.DictWriter(lines, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--only", default="", help="cases whose line matches")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "npfs_levels.csv")
    arguments = parser.parse_args()
    found = known_lines(arguments.out)

    def report(row: dict[str, object]) -> None:
        print(*row.values(), sep="  ", flush=True)
        found[key_of(row)] = row
        write_lines(arguments.out, found)

    for case in cases():
        sizes = f"{case.rows} {case.features} {case.kept} {case.relevant}"
        if re.search(arguments.only, f"{sizes} {case.stage} {case.table}"):
            report(measured(case, arguments.repeats))
    for stage in ("npfs", "npfs:null=published,stratify=false,n=100"):
        if re.search(arguments.only, f"parkinsons {stage}"):
            report(immigrate_under_permuted_labels(stage, max(20, arguments.repeats // 5)))


if __name__ == "__main__":
    main()
