"""Growth of show, verify, report, apply and predict with the file, and of a run with its units.

    python benchmarks/trust/growth.py [--features 2000 20000 200000] [--out FILE]
    python benchmarks/trust/growth.py --units 10000 100000 [--out FILE]

Processor seconds and the largest resident set of each command in a separate process. With
`--units`, a folder of finished units is filled, opened again, and every unit read back.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

UNITS = """
import sys
from pathlib import Path
import numpy as np
from fsframe.chains.chain import Chain
from fsframe.table.dataset import Dataset
from fsframe.method.run import Run
from fsframe.chains.request import Request
n, out = int(sys.argv[1]), Path(sys.argv[2])
data = Dataset.from_arrays(np.arange(12.0).reshape(6, 2), np.arange(6) % 2)
checkpoint = Request(chain=Chain.parse("mim:top=1"), data=data, out=out).checkpoint()
run = Run(checkpoint=checkpoint)
units = run.units("growth", data)
total = 0.0
for k in range(n):
    total += units.get(k, lambda: {"x": np.full(4, float(k))})["x"][0]
checkpoint.flush()
checkpoint.close()
assert total == n * (n - 1) / 2
"""


def measured(command: list[str], folder: Path) -> tuple[float, float]:
    """Processor seconds, and megabytes of the largest resident set, of a command."""
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, (command, status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def lines(options: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """The measurements, one line for each command and size."""
    found: list[dict[str, object]] = []
    program = [sys.executable, "-m", "fsframe"]
    for p in [] if options.units else options.features:
        rng = np.random.default_rng(0)
        y = np.arange(40) % 2
        X = rng.standard_normal((40, p))
        X[:, :5] += y[:, None]
        np.savez(folder / "table.npz", X=X, y=y)
        run = ["chain", "anova-f:top=20", "margin", "on", "table.npz", "-q", "-o", f"{p}.h5"]
        measured([*program, *run], folder)
        size = (folder / f"{p}.h5").stat().st_size / 1e6
        for command in (["show", f"{p}.h5"], ["verify", f"{p}.h5"],
                        ["report", f"{p}.h5", "--no-means"],
                        ["apply", f"{p}.h5", "on", "table.npz", "-o", f"{p}.csv"],
                        ["predict", f"{p}.h5", "on", "table.npz", "-o", f"{p}p.csv"]):  # fmt: skip
            seconds, peak = measured([*program, *command], folder)
            found.append({"what": command[0], "size": f"{p} features, {size:.1f} MB",
                          "seconds": round(seconds, 2), "peak_mb": round(peak)})  # fmt: skip
            print(found[-1], flush=True)
    for n in options.units or ():
        for what in ("kept", "taken over again"):
            command = [sys.executable, "-c", UNITS, str(n), f"{n}.h5"]
            seconds, peak = measured(command, folder)
            found.append({"what": f"units {what}", "size": f"{n} units",
                          "seconds": round(seconds, 2), "peak_mb": round(peak)})  # fmt: skip
            print(found[-1], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--features", type=int, nargs="*", default=[2_000, 20_000, 200_000])
    parser.add_argument("--units", type=int, nargs="*")
    parser.add_argument("--out", type=Path, help="a CSV file; lines are added to it")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        found = lines(options, Path(name))
    print(f"{time.monotonic() - began:.0f} s")
    if options.out and found:
        new = not options.out.exists()
        with options.out.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
