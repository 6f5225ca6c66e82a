"""ReliefF and MultiSURF against other programs, side by side in one run.

    python benchmarks/relief/speed.py [--peers PYTHON] [--threads 1 2] [--quick]

`--peers` is an interpreter that has the other programs (skrebate, fast-select, Orange3); by default
this one. What cannot be imported there is said, and left out. Every measurement is a process of its
own; programs take turns on each table. Ratios are peer seconds / fsframe seconds: above 1, fsframe
is faster.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

SIZES = [(200, 1000), (500, 1000), (1000, 500), (2000, 100), (100, 10000)]
PEERS = ["fast-select", "skrebate", "orange"]
WORKER = Path(__file__).with_name("worker.py")


def measure(python: str, program: str, method: str, size: tuple[int, int], threads: int,
            repeats: int, kind: str = "normal") -> dict[str, float]:  # fmt: skip
    """What one worker says."""
    command = [
        python,
        str(WORKER),
        program,
        method,
        *map(str, size),
        str(threads),
        str(repeats),
        kind,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"missing": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def best_of(found: list[dict[str, float]]) -> dict[str, float]:
    """The fastest of several workers, wall and processor time each."""
    return {key: min(one[key] for one in found) for key in ("best", "cpu")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--peers", default=sys.executable, help="interpreter with the other programs"
    )
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--quick", action="store_true", help="one table, no slow program")
    arguments = parser.parse_args()
    sizes = SIZES[:1] if arguments.quick else SIZES
    missing: dict[str, str] = {}
    head = "method     N      A      threads  fsframe s  cpu s    peer          peer s    cpu s"
    print(head + "     ratio  cpu ratio")
    for method in ("relieff", "multisurf"):
        for threads in arguments.threads:
            for size in sizes:
                # twice in turn: a busy moment of the machine hits both
                turns: dict[str, list[dict[str, float]]] = {"fsframe": []}
                for _ in range(2):
                    for program in ("fsframe", *PEERS):
                        slow = program == "skrebate"
                        if program in missing or (slow and (arguments.quick or threads > 1)):
                            continue
                        if program == "orange" and (threads > 1 or method != "relieff"):
                            continue
                        if slow and turns.get(program):
                            continue
                        python = sys.executable if program == "fsframe" else arguments.peers
                        repeats = 0 if slow else 7
                        found = measure(python, program, method, size, threads, repeats)
                        if "missing" in found:
                            missing[program] = str(found["missing"])
                        else:
                            turns.setdefault(program, []).append(found)
                own = best_of(turns.pop("fsframe"))
                for program, found in turns.items():
                    peer = best_of(found)
                    print(
                        f"{method:<10} {size[0]:<6} {size[1]:<6} {threads:<8} "
                        f"{own['best']:<10.4f} {own['cpu']:<8.4f} {program:<13} "
                        f"{peer['best']:<9.4f} {peer['cpu']:<9.4f} "
                        f"{peer['best'] / own['best']:<6.1f} {peer['cpu'] / own['cpu']:.1f}",
                        flush=True,
                    )
    for program, reason in missing.items():
        print(f"{program} was left out: {reason}")
    print()
    print("2000 x 5000, one thread: genotypes (three levels) against continuous columns")
    for method in ("relieff", "multisurf"):
        if arguments.quick:
            break
        levels = measure(sys.executable, "fsframe", method, (2000, 5000), 1, 2, "genotypes")
        normal = measure(sys.executable, "fsframe", method, (2000, 5000), 1, 2)
        print(
            f"{method:<10} genotypes {levels['cpu']:.3f} s, continuous {normal['cpu']:.3f} s "
            f"(processor time), ratio {normal['cpu'] / levels['cpu']:.1f}",
            flush=True,
        )
    print()
    print("A process from nothing (compiled code kept by an earlier run), ReliefF 200 x 1000")
    own = measure(sys.executable, "fsframe", "relieff", (200, 1000), 1, 3)
    extra = own["imports"] + own["first"] - own["best"]
    print(
        f"imports {own['imports']:.2f} s, first call {own['first']:.3f} s, "
        f"later calls {own['best']:.4f} s: {extra:.2f} s more than the fit"
    )


if __name__ == "__main__":
    main()
