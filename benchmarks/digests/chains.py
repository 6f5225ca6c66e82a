"""Digests of everything that fsframe computes and prints, to show that a change moved no bit.

    python benchmarks/digests/chains.py --out before.json      # on one checkout
    python benchmarks/digests/chains.py --against before.json  # on the other

Three parts, of which ``--part`` chooses some:

methods
    Every method that the registry offers, on a small table of each family (`families.py`): alone;
    resampled; resampled, interrupted and continued; resampled by two workers. A digest covers all
    values of the run file but times, versions and the provider. A refusal is its message. Also all
    stability metrics and measures.
texts
    What each command prints (also as JSON) and the files that it writes, pages included, without
    times, paths, digests and sizes (`texts.py`).
archives
    What is read from run files of each version of the format.

``--only`` takes names of methods, families, ways or commands, joined by commas; what matches one
name of each kind is run: ``--only relieff,surf,gaps`` is two methods on one table. Without it, runs
that differ little from others are left out, unless ``--every`` is given. Differences are
listed by name, with both texts if they are texts. Exit status 1 if there is one.

Within one checkout, too, a run that was interrupted, and one by two workers, must equal the one
without: differences are listed as errors.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import difflib
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from families import FAMILIES
from texts import COMMANDS, archive_digests, text_digests
from ways import METRICS, WAYS, method_digests, metric_digests, named_methods

PARTS = ("methods", "texts", "archives")


def main() -> int:
    """Compute the digests; write, compare or count them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, help="write the digests here")
    parser.add_argument("--against", type=Path, help="compare with digests written before")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part")
    parser.add_argument("--only", default="", help="methods, families, ways, words of commands")
    parser.add_argument("--every", action="store_true", help="every method in every way")
    parser.add_argument("--processes", type=int, default=2, help="default 2")
    parser.add_argument("--jobs", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.jobs:
        _run_all(asked.jobs)
        return 0
    words = [word for word in asked.only.split(",") if word]
    jobs = _jobs(asked.part or PARTS, words, asked.every or bool(words))
    if not jobs:
        parser.error(f"--only {asked.only}: no method, family, way or command has such a name")
    began = time.perf_counter()
    found = _computed(jobs, asked.processes)
    print(f"{len(found)} digests in {time.perf_counter() - began:.0f} s")
    problems = _unlike_themselves(found)
    if asked.out:
        asked.out.write_text(json.dumps(found, indent=0, sort_keys=True), encoding="utf-8")
    if asked.against:
        before = json.loads(asked.against.read_text(encoding="utf-8"))
        problems += _differences(before, found, complete=not words and not asked.part)
    for problem in problems:
        print(problem)
    if asked.against:
        print(f"{len(problems)} differences")
    return int(bool(problems))


Job = tuple[str, str, list[str], list[str], bool]


def _jobs(parts: list[str] | tuple[str, ...], words: list[str], every: bool) -> list[Job]:
    """What to compute, each as a part, a name, families and ways."""
    methods = named_methods()
    families = [name for name in FAMILIES if name in words] or list(FAMILIES)
    ways = [name for name in WAYS if name in words] or list(WAYS)
    rest = [word for word in words if word not in FAMILIES and word not in WAYS]
    jobs: list[Job] = []
    if "texts" in parts:
        lines = [line for line in COMMANDS.splitlines() if line]
        chosen = [line for line in lines if not words or set(line.split()) & set(rest)]
        if chosen:
            jobs.append(("texts", "", chosen, [], every))
    if "methods" in parts:
        chosen = [name for name in methods if name in rest] if rest else methods
        jobs += [("methods", name, families, ways, every) for name in chosen]
    if "archives" in parts and not words:
        jobs.append(("archives", "", [], [], every))
    return jobs


def _computed(jobs: list[Job], processes: int) -> dict[str, str]:
    """The digests of all jobs, every `processes`-th job in the same process."""
    started = []
    with tempfile.TemporaryDirectory() as folder:
        for share in range(min(processes, len(jobs))):
            path = Path(folder) / str(share)
            path.write_text(json.dumps(jobs[share::processes]), encoding="utf-8")
            command = [sys.executable, __file__, "--jobs", str(path)]
            started.append((path, subprocess.Popen(command)))
        found: dict[str, str] = {}
        for path, process in started:
            if process.wait():
                for _, other in started:
                    other.terminate()
                raise SystemExit("a process ended with an error, see above")
            found |= json.loads(path.read_text(encoding="utf-8"))
    return found


def _run_all(path: Path) -> None:
    """Replace the jobs in a file by their digests."""
    found: dict[str, str] = {}
    spawn = multiprocessing.get_context("spawn")
    # Starting workers takes longer than all runs of a method.
    with concurrent.futures.ProcessPoolExecutor(2, spawn) as workers:
        for job in json.loads(path.read_text(encoding="utf-8")):
            began = time.process_time()
            found |= _run(job, workers)
            print(f"{time.process_time() - began:6.1f} s  {job[0]} {job[1]}", flush=True)
    path.write_text(json.dumps(found), encoding="utf-8")


def _run(job: Job, workers: concurrent.futures.Executor) -> dict[str, str]:
    """The digests of one job, by name."""
    part, name, some, ways, every = job
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        folder = Path(made)
        if part == "texts":
            found = dict(text_digests(folder, set(some).__contains__))
        elif part == "archives":
            found = dict(archive_digests())
        elif name == METRICS:
            found = dict(metric_digests())
        else:
            found = dict(method_digests(name, some, ways, folder, workers, every=every))
    return {f"{part} | {name}": value for name, value in found.items()}


def _unlike_themselves(found: dict[str, str]) -> list[str]:
    """Runs whose result depends on an interruption or on workers."""
    problems = []
    for name, value in found.items():
        head, _, way = name.rpartition(" | ")
        plain = found.get(f"{head} | wrapped")
        if way in ("resumed", "workers") and plain is not None and value != plain:
            problems.append(f"{name}: not as without")
    return problems


def _differences(before: dict[str, str], found: dict[str, str], complete: bool) -> list[str]:
    problems = []
    for name in sorted(before.keys() | found.keys()):
        if name not in found:
            if complete:
                problems.append(f"gone: {name}")
        elif name not in before:
            problems.append(f"new: {name}")
        elif before[name] != found[name]:
            problems.append(f"differs: {name}" + _shown(before[name], found[name]))
    return problems


def _shown(before: str, after: str) -> str:
    """The first changed lines of two texts; digests say nothing."""
    if len(before) == len(after) == 16 and " " not in before + after:
        return ""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    return "".join(f"\n    {line[:160]}" for line in changed[:12])


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
