"""How far results agree across processors: every selector under other instruction sets.

``python benchmarks/processors/agreement.py`` runs each selector on two tables in child processes
that are told to use another BLAS core, no vector instructions in NumPy, a generic compile target,
or all of these, and compares with an unchanged process: digests that change, the largest difference
of a score relative to the largest score of the method, and whether the kept columns change.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import fsframe
from fsframe.errors import FsframeError
from fsframe.storage.encoding import fingerprint

HERE = Path(__file__).resolve().parent
GENERIC = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
OPTIONS = {
    "npfs": "npfs:base=immigrate,n=10,permutations=3,alpha=0.3",
    "ensemble": "ensemble:base=immigrate,n=10",
    "turf": "relieff turf",
    "cross-validation": "cross-validation:base='immigrate margin',folds=3,repeats=1",
    "stability-study": "stability-study:base=immigrate,n=5",
    "bim": "bim:rounds=20",
}


def surroundings() -> dict[str, dict[str, str]]:
    """Names and environments of the processes to compare with this one."""
    known = np.show_config(mode="dicts").get("SIMD Extensions", {})  # type: ignore[union-attr]
    narrow = {"NPY_DISABLE_CPU_FEATURES": " ".join(known.get("found", ()))}
    every = {"OPENBLAS_CORETYPE": "Nehalem", **narrow, **GENERIC}
    return {
        "as it is, again": {},
        "BLAS core Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
        "BLAS core Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
        "NumPy without AVX": narrow,
        "kernels for a generic processor": GENERIC,
        "all three": every,
    }


def tables() -> dict[str, fsframe.Dataset]:
    """The example data, and one with more columns, products and noise."""
    generator = np.random.default_rng(7)
    X = generator.standard_normal((240, 60))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * generator.standard_normal(240) > 0).astype(int)
    return {
        "parkinsons": fsframe.read(HERE.parents[1] / "examples" / "parkinsons.csv"),
        "products": fsframe.Dataset.from_arrays(X, y, name="products"),
    }


def measure() -> dict[str, dict[str, object]]:
    """Digest, scores and kept columns of every selector on every table, and processor time."""
    found: dict[str, dict[str, object]] = {}
    for table, data in tables().items():
        for name in fsframe.selectors:
            text = OPTIONS.get(name, name)
            start = time.process_time()
            try:
                record = fsframe.Chain.parse(text).run(data, seed=1)
            except FsframeError as error:
                print(f"{text} on {table}: {error}", file=sys.stderr)
                continue
            found[f"{name} on {table}"] = {
                "digests": record.digests(),
                "scores": record.scores.tolist(),
                "selected": record.selected.tolist(),
                "seconds": time.process_time() - start,
            }
    return found


def child(environ: dict[str, str], cache: str, times: int = 1) -> dict[str, dict[str, object]]:
    """`measure` in a process with these environment variables; the last of several runs."""
    found = {}
    for _ in range(times):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", __file__, "--child"],
            env={**os.environ, "NUMBA_CACHE_DIR": cache, **environ},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found = json.loads(done.stdout)
    return found


def main() -> None:
    """Print a table in Markdown."""
    print(f"{platform.machine()}; " + "; ".join(f"{k} {v}" for k, v in fingerprint().items()))
    print()
    print("| surroundings | digests changed | largest relative difference | kept sets changed |")
    print("|---|---:|---:|---|")
    with tempfile.TemporaryDirectory() as cache:
        # Twice: compiling is no part of the processor time.
        here = child({}, cache, times=2)
        for name, environ in surroundings().items():
            times = 2 if "NUMBA_CPU_NAME" in environ else 1
            compare(name, here, child(environ, cache, times))


def compare(name: str, here: dict[str, dict], there: dict[str, dict]) -> None:
    """One line of the table, and on stderr which results differ and how."""
    changed, kept, largest = 0, [], (0.0, "")
    for key, mine in here.items():
        yours = there[key]
        changed += mine["digests"] != yours["digests"]
        a, b = (np.array(each["scores"], dtype=float) for each in (mine, yours))
        scale = np.nanmax(np.abs(a), initial=0.0) or 1.0
        gap = float(np.nanmax(np.abs(a - b), initial=0.0) / scale)
        largest = max(largest, (gap, key))
        if mine["selected"] != yours["selected"]:
            same = sorted(mine["selected"]) == sorted(yours["selected"])
            kept.append(f"{key} ({'order only' if same else 'set'})")
        if gap:
            print(f"{name}: {key}: {gap:.1e}", file=sys.stderr)
    ratio = sum(there[k]["seconds"] for k in here) / sum(here[k]["seconds"] for k in here)
    told = ", ".join(kept) or "none"
    where = f" ({largest[1]})" if largest[0] else ""
    print(f"| {name} | {changed} of {len(here)} | {largest[0]:.1e}{where} | {told} |", flush=True)
    print(f"{name}: processor time × {ratio:.2f}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--child"]:
        json.dump(measure(), sys.stdout)
    else:
        main()
