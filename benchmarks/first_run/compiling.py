"""What compiling kernels adds to the first run of the README's command.

    python benchmarks/first_run/compiling.py

The command runs three times in a new virtual environment into which this checkout is installed:
with no kernel cached, then twice with all of them. The time of the first less the shorter of the
others is what compilation adds on a new machine. A line of JSON is added to `--out`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ["chain", "immigrate", "npfs", "on", str(ROOT / "examples" / "parkinsons.csv")]


def main() -> int:
    """Install, run three times, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).with_name("results") / "first_run.jsonl"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fsframe-first-run-") as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        programs = folder / "venv" / "bin"
        subprocess.run([programs / "pip", "install", "-q", str(ROOT)], check=True)
        # Kernels are kept beside the packages, so nothing is shared with other installations.
        places = {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": ""}
        seconds = []
        for k in range(3):
            began = time.perf_counter()
            subprocess.run(
                [programs / "fsframe", *COMMAND, "-o", folder / f"{k}.h5", "-q"],
                env={**os.environ, **places}, check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            seconds.append(time.perf_counter() - began)
    line = {
        "what": "immigrate npfs on the shipped table",
        "first_run_s": round(seconds[0], 1),
        "later_runs_s": [round(s, 1) for s in seconds[1:]],
        "compiling_s": round(seconds[0] - min(seconds[1:]), 1),
        "load": round(os.getloadavg()[0], 1),
    }
    text = json.dumps(line, ensure_ascii=False)
    print(text)
    with given.out.open("a", encoding="utf-8") as file:
        file.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
