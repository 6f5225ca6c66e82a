"""Seconds, processor time and memory of chains on a table in parts, in new processes.

    python benchmarks/parts/measured.py FOLDER LABEL CHAIN [CHAIN ...] --memory 1 --workers 0 2

For every chain and number of workers the table is opened and the chain is run once without a cache
beside the table (`cold`), and once more in a new process (`again`). A line of JSON for each is
added to `--out` (default `benchmarks/parts/results/measured.jsonl`).

Memory is the peak of the private memory of this process and its workers (`RssAnon`, sampled every
10 ms, beyond that after imports and compiling), and for this process the resident set, which
includes mapped files and libraries. Files are read once before, so that they come from the system's
cache: `read_mb_s` is the rate of reading from it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def anonymous(pid: int) -> int:
    """Private bytes of a process; 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in text.splitlines() if "RssAnon" in line)


def children(pid: int) -> list[int]:
    """All descendants of a process."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            own = [int(word) for word in task.read_text().split()]
        except OSError:
            continue
        for child in own:
            found += [child, *children(child)]
    return found


class Watch(threading.Thread):
    """Peak memory of this process, and of its largest worker."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.least = anonymous(os.getpid())
        self.most = self.worker = 0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.01):
            self.most = max(self.most, anonymous(os.getpid()) - self.least)
            for child in children(os.getpid()):
                self.worker = max(self.worker, anonymous(child))


def clock() -> tuple[float, float]:
    """Elapsed and processor seconds."""
    spent = os.times()
    own = spent.user + spent.system + spent.children_user + spent.children_system
    return time.perf_counter(), own


def one(given: argparse.Namespace) -> dict[str, Any]:
    """Open the table and run one chain, in a process of its own."""
    import fsframe
    from fsframe.execution import open_engine
    from fsframe.method.run import Run

    chain = fsframe.Chain.parse(given.chains[0])
    # Kernels are compiled, or fetched, before anything is measured.
    rng = fsframe.Dataset.from_arrays([[k % 3, k % 2, k / 7] for k in range(60)], [0, 1, 1] * 20)
    chain.select(rng)
    watch = Watch()
    watch.start()
    begun = clock()
    data = fsframe.read(given.folder, label=given.label)
    opened = clock()
    with open_engine(workers=given.workers[0] or None) as engine:
        run = Run(memory=int(given.memory * 1e9), threads=given.threads, executor=engine)
        chain.select(data, run=run)
    done = clock()
    watch.over.set()
    watch.join()
    status = Path("/proc/self/status").read_text().splitlines()
    high = next(int(line.split()[1]) for line in status if "VmHWM" in line)
    return {
        "rows": data.n_samples,
        "columns": data.n_features,
        "opened_s": round(opened[0] - begun[0], 2),
        "seconds": round(done[0] - opened[0], 2),
        "processor_s": round(done[1] - opened[1], 2),
        "held_gb": round(watch.most / 1e9, 3),
        "worker_gb": round(watch.worker / 1e9, 3),
        "resident_gb": round(high * 1024 / 1e9, 3),
    }


def read_again(folder: Path) -> tuple[float, float]:
    """Size of the files in GB, and the rate of reading them in MB/s."""
    buffer = bytearray(1 << 24)
    size, begun = 0, time.perf_counter()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        with path.open("rb", buffering=0) as file:
            while got := file.readinto(buffer):
                size += got
    return size / 1e9, size / 1e6 / (time.perf_counter() - begun)


def main() -> int:
    """Measure every chain with every number of workers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("label")
    parser.add_argument("chains", nargs="+")
    parser.add_argument("--memory", type=float, default=2.0, help="GB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--workers", type=int, nargs="+", default=[0])
    parser.add_argument("--only-again", action="store_true", help="keep what lies beside the table")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "benchmarks/parts/results/measured.jsonl"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given)))
        return 0
    shelf = given.folder / ".fsframe-parts"
    size, rate = read_again(given.folder)
    for chain in given.chains:
        for workers in given.workers:
            for turn in ("again",) if given.only_again else ("cold", "again"):
                if turn == "cold":
                    shutil.rmtree(shelf, ignore_errors=True)
                words = [
                    sys.executable, __file__, str(given.folder), given.label, chain, "--one",
                    "--memory", str(given.memory), "--threads", str(given.threads),
                    "--workers", str(workers),
                ]  # fmt: skip
                done = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True)
                kept = sum(p.stat().st_size for p in shelf.rglob("*") if p.is_file())
                line = {
                    "what": f"{chain}, {turn}",
                    **json.loads(done.stdout),
                    "memory_gb": given.memory,
                    "threads": given.threads,
                    "workers": workers,
                    "files_gb": round(size, 3),
                    "read_mb_s": round(rate),
                    "kept_gb": round(kept / 1e9, 3),
                    "load": round(os.getloadavg()[0], 1),
                }
                print(json.dumps(line), flush=True)
                with given.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
