"""Where the processor time of a small warm command goes, by imported package.

    python benchmarks/first_run/warm.py               # chain mim:top=3 on the example table
    python benchmarks/first_run/warm.py -- methods    # any other command

The command runs once to compile what it needs, then five times in fresh interpreters, with byte
code as an installed package has it; the smallest time counts. The table is of another run, under
``-X importtime``, which adds to each import; its figures are elapsed times.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ["chain", "mim:top=3", "on", "examples/parkinsons.csv", "--no-out", "-q"]
RUNS, SHOWN = 5, 15


def processor_time(words: list[str], environment: dict[str, str]) -> float:
    """Seconds of processor time of a child process that runs `words`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_times(text: str) -> Counter[str]:
    """Milliseconds by package, from the output of ``-X importtime``."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        own, _, name = line.removeprefix("import time:").partition("|")
        if line.startswith("import time:") and own.strip().isdigit():
            found[name.rpartition("|")[2].strip().partition(".")[0]] += int(own) / 1000
    return found


def main() -> None:
    """Print the time of the command, of a bare interpreter, and of the imports."""
    words = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else COMMAND
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        run = [sys.executable, "-m", "fsframe", *words]
        processor_time(run, environment)
        best = min(processor_time(run, environment) for _ in range(RUNS))
        bare = min(
            processor_time([sys.executable, "-c", "import numba, h5py"], environment)
            for _ in range(RUNS)
        )
        print(f"{best:.2f} s  fsframe {' '.join(words)}")
        print(f"{bare:.2f} s  import numba, h5py")
        timed = [sys.executable, "-X", "importtime", *run[1:]]
        done = subprocess.run(timed, cwd=ROOT, env=environment, capture_output=True, text=True)
    found = import_times(done.stderr)
    for name, milliseconds in found.most_common(SHOWN):
        print(f"{milliseconds:8.0f} ms  import {name}")
    print(f"{sum(found.values()):8.0f} ms  all imports")


if __name__ == "__main__":
    main()
