"""ReliefF and MultiSURF compared with other programs in one run.

    python benchmarks/relief/speed.py [--peers PYTHON] [--programs NAME …] [--threads 1 2]

`--peers` is an interpreter that has the other programs (skrebate, fast-select, Orange3); by default
this one. Programs that cannot be imported there are named and left out. Every program has a
separate process for each method and number of threads; programs take turns, twice (--turns). Ratios
are peer seconds / fsframe seconds: above 1, fsframe is faster. On a busy machine the ratio of
processor times is the reliable one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SIZES = ["200x1000", "500x1000", "1000x500", "2000x100", "100x10000"]
METHODS = ["relieff", "multisurf"]
PEERS = ["fast-select", "skrebate", "orange"]
ONE_THREAD = {"skrebate", "orange"}
"""Programs measured on one thread only: Orange has no more, skrebate is slower with two."""
WORKER = Path(__file__).with_name("worker.py")


def measure(
    python: str, program: str, method: str, threads: int, repeats: int, kind: str, sizes: list[str]
) -> dict[str, Any]:
    """The measurements of one worker."""
    command = [python, str(WORKER), program, method, str(threads), str(repeats), kind, *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"missing": (done.stderr.strip().splitlines() or ["killed"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(
    method: str, threads: int, programs: list[str], peers: str, sizes: list[str], turns: int
) -> dict[str, str]:
    """Print the ratios of one method and number of threads; return what is missing, and why."""
    best: dict[tuple[str, str, str], float] = {}
    missing: dict[str, str] = {}
    for turn in range(turns):
        for program in ("fsframe", *programs):
            if program in missing or (threads > 1 and program in ONE_THREAD):
                continue
            if (program == "orange" and method != "relieff") or (program == "skrebate" and turn):
                continue
            python = sys.executable if program == "fsframe" else peers
            repeats = 0 if program == "skrebate" else 7
            found = measure(python, program, method, threads, repeats, "normal", sizes)
            if "missing" in found and program == "fsframe":
                raise SystemExit(f"fsframe: {found['missing']}")
            if "missing" in found:
                missing[program] = found["missing"]
                continue
            for size in sizes:
                for key in ("best", "cpu"):
                    place = (program, size, key)
                    best[place] = min(best.get(place, float("inf")), found[size][key])
    for size in sizes:
        for program in programs:
            if (program, size, "best") not in best:
                continue
            wall, cpu = (best["fsframe", size, key] for key in ("best", "cpu"))
            peer_wall, peer_cpu = (best[program, size, key] for key in ("best", "cpu"))
            print(
                f"| {method} | {size} | {threads} | {wall:.4f} | {cpu:.4f} | {program} | "
                f"{peer_wall:.4f} | {peer_cpu:.4f} | {peer_wall / wall:.1f} | "
                f"{peer_cpu / cpu:.1f} |",
                flush=True,
            )
    return missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", default=sys.executable, help="interpreter that has them")
    parser.add_argument("--programs", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--only", choices=["ratios", "genotypes"], help="a part of all this")
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="N x A, such as 200x1000")
    parser.add_argument("--turns", type=int, default=2, help="processes of each program")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    arguments = parser.parse_args()
    if arguments.only != "genotypes":
        ratios(arguments)
    if arguments.only != "ratios":
        genotypes()


def ratios(arguments: argparse.Namespace) -> None:
    """The table of ratios, and what is missing."""
    missing: dict[str, str] = {}
    print(
        "| method | size | threads | s | cpu s | peer | peer s | peer cpu s | ratio | cpu ratio |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for threads in arguments.threads:
        for method in arguments.methods:
            missing |= compare(
                method, threads, arguments.programs, arguments.peers, arguments.sizes,
                arguments.turns,
            )  # fmt: skip
    for program, reason in missing.items():
        print(f"{program} was left out: {reason}")


def genotypes() -> None:
    """Genotypes compared with continuous columns, and the time of a new process."""
    print()
    print("2000 x 5000, one thread, processor time: genotypes against continuous columns")
    for method in METHODS:
        cpu = [
            measure(sys.executable, "fsframe", method, 1, 2, kind, ["2000x5000"])["2000x5000"][
                "cpu"
            ]
            for kind in ("genotypes", "normal")
        ]
        print(f"{method}: {cpu[0]:.3f} s against {cpu[1]:.3f} s, ratio {cpu[1] / cpu[0]:.1f}")

    print()
    print("A process from nothing (compiled code kept by an earlier run), ReliefF 200 x 1000")
    own = measure(sys.executable, "fsframe", "relieff", 1, 3, "normal", ["200x1000"])
    first, best = own["200x1000"]["first"], own["200x1000"]["best"]
    print(
        f"imports {own['imports']:.2f} s, first call {first:.3f} s, later calls {best:.4f} s: "
        f"{own['imports'] + first - best:.2f} s more than the fit"
    )


if __name__ == "__main__":
    main()
