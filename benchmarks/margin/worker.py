"""One measurement in a separate process: seconds, peak memory and the result, as JSON.

python worker.py '{"what": "select", "method": "immigrate", "rows": 200, "columns": 20}'
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np


def shares(found: Any) -> np.ndarray:
    """Σ_b W_ab² of each feature, or w where there is no W."""
    return found.weights if found.pair_weights is None else found.weights**2


def simulated(rows: int, columns: int, seed: int = 0) -> tuple[Any, Any]:
    """Two classes: one main effect, one interaction, noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    y = X[:, 0] + X[:, 1] * X[:, min(2, columns - 1)] + 0.5 * rng.standard_normal(rows) > 0
    return X, y.astype(int)


def table(task: dict[str, Any]) -> Any:
    """The table of a task: a file, or simulated."""
    import fsframe

    if "data" in task:
        return fsframe.read(task["data"])
    return fsframe.Dataset.from_arrays(*simulated(task["rows"], task["columns"]))


def peak_mb() -> float:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def select(task: dict[str, Any]) -> dict[str, Any]:
    """A selector, or a chain, on a table."""
    import fsframe
    from fsframe.chains.chain import Chain
    from fsframe.method.run import Run

    small = fsframe.Dataset.from_arrays(*simulated(40, 5))
    Chain.parse(task["method"]).select(small)  # compilation is not what is measured
    data = table(task)
    before = peak_mb()
    run = Run(
        entropy=task.get("seed", 0),
        memory=int(task.get("memory", 2 << 30)),
        threads=task.get("threads", 2),
    )
    began, used = time.perf_counter(), time.process_time()
    found = Chain.parse(task["method"]).select(data, run=run)
    seconds, used = time.perf_counter() - began, time.process_time() - used
    return {
        "seconds": seconds,
        "processor-seconds": used,
        "peak": peak_mb(),
        "before": before,
        "iterations": len(found.tables["cost"]) - 1 if "cost" in found.tables else None,
        "selected": found.selected[:20].tolist(),
        "kept": len(found.selected),
        "shares": shares(found).tolist() if task.get("shares") else None,
        "top": [list(p) for p in found.pair_weights.top(5)] if found.pair_weights else None,
        "warnings": list(found.warnings),
    }


def classify(task: dict[str, Any]) -> dict[str, Any]:
    """A classifier learns from a table and predicts all its rows."""
    import fsframe
    from fsframe.method.run import Run

    name, _, settings = task["method"].partition(":")
    values = dict(part.split("=") for part in settings.split(",")) if settings else {}
    method = fsframe.classifiers[name](**{key: int(value) for key, value in values.items()})
    small = fsframe.Dataset.from_arrays(*simulated(40, 5))
    method.fit(small, None).predict(small.X)  # compilation is not what is measured
    data = table(task)
    before = peak_mb()
    run = Run(entropy=0, memory=int(task.get("memory", 2 << 30)), threads=task.get("threads", 2))
    began, used = time.perf_counter(), time.process_time()
    fitted = method.fit(data, None, run)
    right = float((fitted.predict(data.X) == data.y).mean())
    return {
        "seconds": time.perf_counter() - began,
        "processor-seconds": time.process_time() - used,
        "peak": peak_mb(),
        "before": before,
        "right": right,
    }


def continued(task: dict[str, Any]) -> dict[str, Any]:
    """IMMIGRATE on all rows, started from prototypes, two updates at a time."""
    import fsframe
    from fsframe.method.run import Run

    selector = fsframe.selectors["immigrate"]
    selector().select(fsframe.Dataset.from_arrays(*simulated(40, 5)))  # as above
    data = table(task)
    run = Run(entropy=0, memory=int(task["memory"]), threads=task.get("threads", 2))
    used, found = time.process_time(), None
    for size in task["first"]:
        found = selector(prototypes=size, top=1.0).select(data, found, run)
    changes: list[float] = []
    while not changes or changes[-1] > task["settled"]:
        piece = selector(max_iter=2, tol=0.0, top=1.0)
        before, found = shares(found), piece.select(data, found, run)
        changes.append(float(np.abs(shares(found) - before).max()))
        print(f"{time.process_time() - used:.0f} s: {changes[-1]:.6f}", file=sys.stderr, flush=True)
    return {
        "processor-seconds": time.process_time() - used,
        "peak": peak_mb(),
        "changes": changes,
        "selected": selector(max_iter=0).select(data, found, run).selected.tolist(),
        "shares": shares(found).tolist(),
    }


def measured(task: dict[str, Any], watch: bool = False) -> dict[str, Any]:
    """The result of a task in a worker, or the last line of its stderr, which may be shown."""
    done = subprocess.run(
        [sys.executable, __file__, json.dumps(task)], text=True, check=False,
        stdout=subprocess.PIPE, stderr=None if watch else subprocess.PIPE,
    )  # fmt: skip
    if done.returncode:
        return {"failed": ((done.stderr or "").strip().splitlines() or ["?"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    task = json.loads(sys.argv[1])
    print(json.dumps(globals()[task["what"]](task)))


if __name__ == "__main__":
    main()
