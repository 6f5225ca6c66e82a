"""Time that a new process takes in addition to the fit, for every method of the family.

    python benchmarks/relief/cold.py [--methods NAME …]

Every method is fitted in a process of its own, on 200 × 100 normal columns with gaps in a tenth of
them and three-level codes in a fifth, so that most loops are run; the first process of a method
leaves its compiled code on disk, the next two are measured. Printed are the seconds to import and
to make the method, the first call, the second call (the fit), and the time in addition to the fit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

METHODS = {
    "relief": "relief",
    "relieff": "relieff:k=5",
    "rrelieff": "rrelieff:k=5",
    "surf": "surf",
    "surfstar": "surfstar",
    "multisurf": "multisurf",
    "multisurfstar": "multisurfstar",
    "swrfstar": "swrfstar",
    "relieved-f": "relieved-f",
    "iterative-relief": "iterative-relief:rounds=3",
    "vls": "vls:subset=20,rounds=3",
    "turf": "turf:base=relieff,top=10,drop=0.3",
    "relieff, continuous": "relieff:k=3,discrete_features=none",
}


def one(text: str, complete: bool, numeric: bool) -> None:
    """Import, fit twice, and print the times as JSON."""
    start = time.perf_counter()
    import numpy as np

    import fsframe
    from fsframe.grammar import parse_stages

    (stage,) = parse_stages(text)
    method = fsframe.selectors[stage.name].from_texts(stage.params)
    ready = time.perf_counter() - start
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 100))
    if not complete:
        X[:, :20] = rng.integers(0, 3, (200, 20))
        X[:, 15:25][rng.random((200, 10)) < 0.1] = np.nan
    data = fsframe.Dataset.from_arrays(
        X, rng.normal(size=200) if numeric else rng.integers(0, 2, 200)
    )
    calls = []
    for _ in range(2):
        start = time.perf_counter()
        method.select(data, seed=0)
        calls.append(time.perf_counter() - start)
    print(json.dumps([ready, *calls]))


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        one(sys.argv[2], sys.argv[3] == "True", sys.argv[4] == "True")
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    arguments = parser.parse_args()
    print("| method | import s | first call s | second call s | more than the fit s |")
    print("|---|---|---|---|---|")
    for name in arguments.methods:
        command = [sys.executable, __file__, "one", METHODS[name]]
        command += [str("continuous" in name), str(name == "rrelieff")]
        times = []
        for _ in range(3):
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            times.append(json.loads(done.stdout.splitlines()[-1]))
        ready, first, second = min(times[1:], key=sum)
        more = ready + first - second
        print(f"| {name} | {ready:.2f} | {first:.2f} | {second:.3f} | {more:.2f} |", flush=True)


if __name__ == "__main__":
    main()
