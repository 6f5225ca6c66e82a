"""Seconds of one selection by fsframe and by other programs, in one run on one table.

    python benchmarks/infotheory/speed.py [--sizes 0,1,2,3,4] [--criteria jmi,mrmr,disr,cmim,mim]

Five tables of five levels and two classes; ratios are to the first row of each. "codes" starts from
a table of bytes in memory, the best form for every program compared, and includes packing into bit
rows in fsframe; "packed" is the selection alone; "doubles" starts from a float64 Dataset and
includes finding the levels. `plain C` is our own loop in this folder.

Processor seconds are shown, elapsed ones with FSFRAME_BENCHMARK_CLOCK=wall (the only ones in which
a second thread can help). FEAST and praznik are run if they are installed, see `peers.py`;
otherwise "published seconds" are what FEAST 2.0.0 or praznik 13.0.0 took, one thread, elapsed, on
another day on a machine of the same kind: constants, not measured here.
"""

from __future__ import annotations

import argparse
import os

import numpy as np
import peers
from numpy.typing import NDArray

import fsframe
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine import bins
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.encode import encode
from fsframe_infotheory.engine.greedy import select_greedily

SIZES = ((62, 2000, 50), (500, 1000, 50), (5000, 1000, 50), (2000, 5000, 50), (7000, 5000, 20))
PUBLISHED = {
    "feast": {
        "mim": (0.0007, 0.0018, 0.0206, 0.0258, 0.103),
        "mrmr": (0.0502, 0.0781, 0.79, 1.9762, 2.4305),
        "jmi": (0.0945, 0.1649, 1.6135, 2.4069, 2.9511),
        "cmim": (0.0024, 0.0069, 0.0661, 0.0477, 0.0936),
    },
    "praznik": {
        "mim": (0.002, 0.001, 0.010, 0.025, 0.069),
        "mrmr": (0.032, 0.046, 0.354, 0.907, 1.075),
        "jmi": (0.063, 0.092, 0.736, 1.647, 1.996),
        "cmim": (0.004, 0.005, 0.035, 0.038, 0.074),
    },
}


class Bytes:
    """A table of bytes in memory, column after column."""

    def __init__(self, X: NDArray[np.uint8]) -> None:
        self.columns = np.asfortranarray(X)
        self.shape, self.dtype = X.shape, X.dtype

    def read(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Columns start … stop−1."""
        return self.columns[:, start:stop]


def make(n: int, p: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Random levels, of which 20 columns follow the class weakly."""
    rng = np.random.default_rng(n + p)
    y = rng.integers(0, 2, n).astype(np.uint8)
    X = rng.integers(0, 5, (n, p)).astype(np.uint8)
    for j in range(20):
        X[:, j] = np.where(rng.random(n) < 0.1 + 0.01 * j, y, X[:, j])
    return X, y


def ours(
    criterion: str, data: Dataset, k: int, threads: int, repeats: int, packed: bool
) -> tuple[float, list[int]]:
    """Seconds and selection; with `packed`, seconds of the selection alone."""
    run = Run(threads=threads)
    selector = fsframe.selectors[criterion](top=k)

    def select() -> list[int]:
        # Each call reads the table: its bytes are not kept from the call before.
        bins.forget()
        return selector.select(data, run=run).selected.tolist()

    select()  # compiled kernels are loaded
    if criterion == "mim" or not packed:
        return peers.best_of(repeats, select)
    rule = selector.criterion()
    encoded, _ = encode(data, Discretiser(), keep="bytes" if rule.lazy else "codes", run=run)
    return peers.best_of(
        repeats, lambda: select_greedily(encoded, rule, k, run=run).selected.tolist()
    )


def line(label: str, seconds: float, base: float, note: str = "") -> None:
    print(f"    {label:34} {seconds * 1e3:10.2f} ms {seconds / base:9.2f} ×  {note}", flush=True)


def compare(size: int, criterion: str, repeats: int) -> None:
    """Print one table of seconds."""
    n, p, k = SIZES[size]
    X, y = make(n, p)
    codes = Dataset.from_arrays(Bytes(X), y)
    doubles = Dataset.from_arrays(X.astype(np.float64), y)
    print(f"{criterion}  {n} × {p}, k = {k}   (load {os.getloadavg()[0]:.1f})")
    base, selected = ours(criterion, codes, k, 1, repeats, packed=False)
    line("fsframe, codes, 1 thread", base, base)
    if peers.wall():
        line("fsframe, codes, 2 threads", ours(criterion, codes, k, 2, repeats, False)[0], base)
        if criterion != "mim":
            two = ours(criterion, codes, k, 2, repeats, True)[0]
            line("fsframe, packed, 2 threads", two, base)
    if criterion != "mim":
        line("fsframe, packed, 1 thread", ours(criterion, codes, k, 1, repeats, True)[0], base)
    line("fsframe, doubles, 1 thread", ours(criterion, doubles, k, 1, repeats, False)[0], base)
    table = (criterion, X, y, k, repeats)
    for label, find in (
        ("our own plain C loop, 1 thread", lambda: peers.plain_c(*table)),
        ("FEAST, 1 thread", lambda: peers.feast(*table)),
        ("praznik, 1 thread", lambda: peers.praznik(*table, threads=1)),
        ("praznik, 2 threads", lambda: peers.praznik(*table, threads=2)),
        ("scikit-learn, 1 thread", lambda: peers.scikit_learn(*table)),
        ("mrmr_selection, 1 process", lambda: peers.mrmr_selection(*table)),
    ):
        found = find()
        if found is not None:
            same = found[1] == selected
            other = "another criterion" if label.startswith("mrmr") else "OTHER SELECTION"
            line(label, found[0], base, "same selection" if same else other)
    for peer, times in PUBLISHED.items():
        absent = peers.feast_missing() if peer == "feast" else peers.praznik_missing()
        if absent and criterion in times:
            line(f"{peer}, published seconds", times[criterion][size], base, "not measured here")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="0,1,2,3,4")
    parser.add_argument("--criteria", default="jmi,mrmr,disr,cmim,mim")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    for reason in (peers.feast_missing(), peers.praznik_missing()):
        if reason:
            print(f"not compared with {reason}")
    for size in map(int, options.sizes.split(",")):
        for criterion in options.criteria.split(","):
            compare(size, criterion, options.repeats)


if __name__ == "__main__":
    main()
