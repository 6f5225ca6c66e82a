"""What papers and their packages print for `cpss` and `ipss`, and what fsframe gives.

    python benchmarks/resampling/published_examples.py --tables 24 --out FILE

* Bounds on E[V] of complementary pairs: the stored test output of the R package stabs 0.6
  (`tests/regtest-inference.Rout.save`), which is checked there against the code of Shah and
  Samworth: p = 100, 50 pairs, tau = 0.6, q = 1 to 10, and what follows from p = 200, E[V] <= 0.2.
* The example of the authors of IPSS (`examples/simple` of their package): 100 rows, 200 normal
  features, ten with normal coefficients, signal-to-noise ratio 2, E(FP) = 1, base lasso. It is
  printed there as a figure, so the promise is checked: the mean number of false features kept.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from fsframe import Chain, Dataset
from fsframe_npfs.methods.halves import expected_false, least_count

PUBLISHED = {
    "unimodal": (
        0.02631579, 0.1052632, 0.2368421, 0.4210526, 0.6578947,
        0.9473684, 1.289474, 1.684211, 2.131579, 2.631579,
    ),
    "r-concave": (
        0.006971364, 0.03342845, 0.08691176, 0.1637231, 0.2605329,
        0.3820466, 0.5295188, 0.7042719, 0.9077127, 1.141338,
    ),
}  # fmt: skip
"""E[V] for q = 1 … 10."""

FURTHER = (
    ("r-concave, q 6, tau 0.60", 0.174, lambda: expected_false(60, 50, 6, 200, "r-concave")),
    ("r-concave, q 7, tau 0.60", 0.248, lambda: expected_false(60, 50, 7, 200, "r-concave")),
    ("r-concave, q 7, tau 0.61", 0.219, lambda: expected_false(61, 50, 7, 200, "r-concave")),
    ("r-concave, q 7, tau 0.62", 0.196, lambda: expected_false(62, 50, 7, 200, "r-concave")),
    ("least tau, r-concave, q 7", 0.62, lambda: least_count(0.2, 50, 7, 200, "r-concave") / 100),
    ("least tau, unimodal, q 7", 0.81, lambda: least_count(0.2, 50, 7, 200, "unimodal") / 100),
)
"""Of p = 200, as printed: three digits, thresholds two."""

IPSS = "lasso:top=20 ipss:false_selections=1"


def bounds() -> Iterator[dict[str, str]]:
    """Published values of the bounds, and those computed here."""
    for bound, values in PUBLISHED.items():
        for q, value in enumerate(values, start=1):
            found = expected_false(60, 50, q, 100, bound)
            yield row("cpss", f"{bound}, q {q}, tau 0.60", f"{value:.7g}", f"{found:.7g}")
    for what, value, compute in FURTHER:
        yield row("cpss", f"p 200, {what}", f"{value:g}", f"{compute():.3g}")


def simple(seed: int) -> tuple[Dataset, np.ndarray]:
    """One draw of the authors' example, and which features are true."""
    draw = np.random.default_rng(seed)
    true = np.zeros(200, dtype=bool)
    true[draw.choice(200, size=10, replace=False)] = True
    X, effects = draw.normal(size=(100, 200)), np.where(true, draw.normal(size=200), 0.0)
    signal = X @ effects
    y = signal + draw.normal(size=100) * np.sqrt(signal.var() / 2.0)
    return Dataset.from_arrays(X, y, name="simple"), true


def paths(tables: int) -> Iterator[dict[str, str]]:
    """False and true features kept in the example of IPSS."""
    method, false, found = Chain.parse(IPSS), [], []
    for seed in range(tables):
        data, true = simple(seed)
        kept = method.select(data, seed=seed).selected
        false.append(int((~true[kept]).sum()))
        found.append(int(true[kept].sum()))
    for what, values, promised in (("false kept", false, "at most 1"), ("true of 10", found, "")):
        error = np.std(values, ddof=1) / np.sqrt(tables)
        said = f"{np.mean(values):.2f} ± {error:.2f} ({tables} tables)"
        yield row("ipss", f"{IPSS}: {what}", promised, said)


def row(method: str, what: str, published: str, here: str) -> dict[str, str]:
    """A row of the results."""
    return {"method": method, "what": what, "published": published, "here": here}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=24)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    out = given.out or Path(__file__).with_name("results") / "published_examples.csv"
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, ("method", "what", "published", "here"), lineterminator="\n")
        writer.writeheader()
        for found in chain(bounds(), paths(given.tables)):
            writer.writerow(found)
            print(*found.values(), sep="  ", flush=True)


if __name__ == "__main__":
    main()
