"""20,000 cells × 30,000 genes, 5 % filled: seconds and the largest resident set of each chain.

    python benchmarks/tables/sparse_cells.py [--cells 20000] [--genes 30000] [--folder DIR]

Writes the table (csr, float32, as h5ad files hold counts) once, then runs each chain on it in a
separate process, with the run's memory bounded to 1 GB, and prints one line for each: seconds to
read it, processor and elapsed seconds of the run, the peak, and what was kept. As dense float64,
the table would take 4.8 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np
from scipy import sparse

CHAINS = ("mim:top=50", "anova-f:top=50", "chi2:top=50", "mrmr:top=20", "cmim:top=20",
          "mim:top=200 relieff:top=10", "relieff:top=10")  # fmt: skip
CHILD = """
import json, resource, sys, time
import fsframe
from fsframe.method.run import Run
from fsframe.errors import FsframeError
path, chain = sys.argv[1:]
started = time.perf_counter()
data = fsframe.read(path, label="type")
read = time.perf_counter() - started
clock, busy = time.perf_counter(), time.process_time()
told = ""
try:
    kept = fsframe.Chain.parse(chain).run(data, memory=1_000_000_000, threads=1).selected_names
    told = f"{len(kept)} kept, {sum(name.startswith('marker') for name in kept)} of them markers"
except FsframeError as error:
    told = f"refused: {error}"
print(json.dumps({"read": read, "busy": time.process_time() - busy,
    "elapsed": time.perf_counter() - clock, "told": told,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""


def write(path: Path, cells: int, genes: int, filled: float = 0.05) -> None:
    """Write counts as an h5ad file; 50 genes depend on the cell's type."""
    draw = np.random.default_rng(0)
    types = draw.integers(0, 3, cells)
    each = np.full(cells, int(filled * genes))
    indptr = np.concatenate([[0], np.cumsum(each)])
    indices = np.empty(indptr[-1], np.int32)
    for row in range(cells):
        start, stop = indptr[row : row + 2]
        found = np.unique(draw.integers(50, genes, stop - start + 200))
        found = draw.permutation(found)[: stop - start - 8]
        marked = draw.choice(np.arange(50)[np.arange(50) % 3 == types[row]], 8, replace=False)
        indices[start:stop] = np.sort(np.concatenate([found, marked]))
    counts = draw.geometric(0.5, len(indices)).astype(np.float32)
    matrix = sparse.csr_array((counts, indices, indptr), shape=(cells, genes))
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", matrix.shape
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(matrix, name)
        names = [f"marker{k}" if k < 50 else f"gene{k}" for k in range(genes)]
        file["var/_index"] = np.array(names, "S12")
        file["obs/_index"] = np.array([f"cell{k}" for k in range(cells)], "S12")
        file["obs/type"] = np.array(["B", "NK", "T"], "S2")[types]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=20_000)
    parser.add_argument("--genes", type=int, default=30_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("chains", nargs="*", default=CHAINS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        path = Path(folder) / "cells.h5ad"
        write(path, asked.cells, asked.genes)
        print(f"{path.stat().st_size / 1e6:.0f} MB on disk")
        for chain in asked.chains:
            done = subprocess.run([sys.executable, "-c", CHILD, str(path), chain],
                                  capture_output=True, text=True, check=True)  # fmt: skip
            f = json.loads(done.stdout.splitlines()[-1])
            print(
                f"{chain:28} read {f['read']:5.1f} s, run {f['busy']:6.1f} s busy, "
                f"{f['elapsed']:6.1f} s elapsed, peak {f['peak'] / 1e9:.2f} GB: {f['told'][:200]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
