"""The digest of every method for each number of threads and of workers, in one table."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["NUMBA_NUM_THREADS"] = "4"

import numpy as np
from trials import RESULTS, ROOT, Trial, add, ended

import fsframe
from fsframe.execution import open_engine
from fsframe.method.run import Run
from fsframe.registry import classifiers, regressors, selectors

THREADS, WORKERS = (1, 2, 4), (0, 2, 3)
TABLE = RESULTS.with_name("seed_equality.csv")


def tables() -> list[fsframe.Dataset]:
    """Classes, a numeric target, survival times: 60 rows of 12 columns, one with five levels."""
    draw = np.random.default_rng(8)
    X = draw.standard_normal((60, 12))
    X[:, 5] = draw.integers(0, 5, 60)
    y = (X[:, 1] + X[:, 3] * X[:, 4] + 0.5 * draw.standard_normal(60) > 0).astype(int)
    lasted, end = draw.standard_exponential((2, 60)) * np.exp([-X[:, 1], 0 * X[:, 1]])
    return [
        fsframe.Dataset.from_arrays(X, y, name="classes"),
        fsframe.Dataset.from_arrays(X, X[:, 1] + 0.1 * X[:, 3], name="number", task="regression"),
        fsframe.Dataset.from_arrays(
            X, np.minimum(lasted, end), name="survival", event=lasted <= end
        ),
    ]


def chains(ways: Any) -> dict[str, str]:
    """Each method alone, and resampled, so that workers have something to compute."""
    found: dict[str, str] = {}
    for name in sorted({*selectors, *classifiers, *regressors}):
        option = ways.OPTIONS.get(name, ("",))[0]
        stage = f"{name}:{option}" if option else name
        found |= {stage: stage, f"{stage}, resampled": ways._resampled(name, stage, "numeric")}
        if name not in selectors or getattr(selectors[name], "wrapping", False):
            found.pop(stage if name not in selectors else f"{stage}, resampled")
    return found


@contextlib.contextmanager
def counted() -> Any:
    """The number of generators that methods ask for, in a list."""
    asked: list[tuple[int, ...]] = []
    real = Run.generator

    def generator(run: Run, *key: int) -> Any:
        asked.append(key)
        return real(run, *key)

    Run.generator = generator  # type: ignore[method-assign]
    try:
        yield asked
    finally:
        Run.generator = real  # type: ignore[method-assign]


def seed_equality(trial: Trial) -> None:
    sys.path.insert(0, str(ROOT / "benchmarks" / "digests"))
    import ways

    data, rows = tables(), []
    takes: dict[str, fsframe.Dataset] = {}
    for what, text in chains(ways).items():
        with counted() as asked:
            for table in data:
                _, outcome = ended(lambda t=text, d=table: fsframe.Chain.parse(t).run(d), 60)
                if outcome == "answer":
                    takes[what] = table
                    wraps = getattr(selectors.get(what.partition(":")[0]), "wrapping", False)
                    way = "wrapping" if wraps else "resampled" if what != text else "alone"
                    rows.append({"chain": what, "way": way, "table": table.name,
                                 "draws": len(asked)})  # fmt: skip
                    break
            else:
                trial.expect(False, f"{what}: no table: {outcome}")
    digests: dict[str, dict[str, str]] = {row["chain"]: {} for row in rows}
    for workers in WORKERS:
        with open_engine("processes" if workers else "serial", workers or None) as engine:
            for row in rows:
                text = chains(ways)[row["chain"]]
                if workers and text == row["chain"] and "wrapping" not in row["way"]:
                    continue
                for threads in THREADS:
                    found, outcome = ended(
                        lambda t=text, d=takes[row["chain"]], n=threads, e=engine: (
                            fsframe.Chain.parse(t).run(d, seed=1, threads=n, executor=e)
                        ),
                        60,
                    )
                    digest = outcome
                    if outcome == "answer":
                        whole = json.dumps(found.digests()).encode()
                        digest = hashlib.sha256(whole).hexdigest()[:12]
                    digests[row["chain"]][f"{threads} threads, {workers} workers"] = digest
    Path(TABLE).unlink(missing_ok=True)
    for row in rows:
        found = digests[row["chain"]]
        equal = len(set(found.values())) == 1 and all(len(one) == 12 for one in found.values())
        most = max(map(list(found.values()).count, found.values()))
        every = [f"{t} threads, {w} workers" for w in WORKERS for t in THREADS]
        row |= {"equal": f"{most} of {len(found)}", **{key: found.get(key, "") for key in every}}
        trial.expect(equal, f"{row['chain']}: {found}")
        add(TABLE, row)


TRIALS = {
    "seed-equality": (seed_equality, 0, "every method alone (threads 1, 2, 4) and resampled "
                      "(these and workers 0, 2, 3) on 60 rows of 12 columns: equal digests"),
}  # fmt: skip
