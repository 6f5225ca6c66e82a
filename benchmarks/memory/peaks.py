"""Memory that fits and whole commands take, compared with the bound set by `--memory`.

    python benchmarks/memory/peaks.py fits --shape 1000x20000 --memory 400MB
    python benchmarks/memory/peaks.py fits --shape 100x15000 --memory 100MB immigrate:screen=500
    python benchmarks/memory/peaks.py runs --shape 100x60000 --memory least,400MB
    python benchmarks/memory/peaks.py runs --shape 2000x200000 --kind bytes --memory least
    python benchmarks/memory/peaks.py runs --shape 300000x30 --memory least --chain im4e
    python benchmarks/memory/peaks.py files --shape 100x60000
    python benchmarks/memory/peaks.py files --shape 300000x30 --chain "mim:top=20 ensemble:n=4"

`fits` runs every selector (or the chains that are named) in a separate process: libraries are
imported and kernels loaded by a fit on a small table, the table is made, the peak resident set is
reset, and the fit runs. It prints by how much the peak rose, not counting the table itself, and how
many tables the fit declares that it holds. With `--kind gaps` a twentieth of the values is missing.

`runs` starts whole commands, with and without workers, and samples the memory of all their
processes (proportional set size without pages of files, such as libraries); the peak of the same
command on a table of 40 × 8, which is that of the imported programs, is subtracted. With `--memory
least` each command is first given 17 MB, refused, and then given the bound that the refusal
suggests. Tables of bytes are HDF5 files, others NPZ.

`files` does the same for commands that look at a run file or use one, such as `report` and
`verify`, which have no such option.

With `--add FILE` a line is added to a table for each command.

Every process has a limit on its address space (`--limit`), so that a process that exceeds its bound
ends with an error and does not exhaust the machine. Linux only.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

CHILD = """
import json, sys, time
import numpy as np
import fsframe
from fsframe.method.run import Run
text, kind = sys.argv[1], sys.argv[5]
n, p, memory, threads = (int(sys.argv[k]) for k in (2, 3, 4, 6))

def table(n, p):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    if kind == "bytes":
        X = rng.integers(0, 3, (n, p), dtype=np.uint8)
        X[:, 0] = y
        X = X.astype(np.float64)
    else:
        X = rng.standard_normal((n, p))
        X[:, :5] += y[:, None]
    if kind == "gaps":
        X[rng.random(X.shape) < 0.05] = np.nan
    if text.split(":")[0] == "rrelieff":
        return fsframe.Dataset.from_arrays(X, X[:, 0] + 0.5, task="regression")
    return fsframe.Dataset.from_arrays(X, y)

def mark(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

chain = fsframe.Chain.parse(text)
try:
    chain.select(table(60, 40), run=Run(memory=memory, threads=threads))
except fsframe.errors.FsframeError:
    pass
data = table(n, p)
before = mark("VmRSS")
print(before, flush=True)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
began = time.process_time()
try:
    found = chain.select(data, run=Run(memory=memory, threads=threads))
    said = f"kept {found.selected.size}"
except fsframe.errors.FsframeError as error:
    said = f"refused: {error}"
except MemoryError as error:
    said = f"MemoryError: {error}"
seconds = time.process_time() - began
print(json.dumps({"held": mark("VmHWM") - before, "said": said, "seconds": seconds}))
"""

_WRAPPERS = {"npfs", "ensemble", "turf", "cross-validation", "stability-study"}


def bytes_of(text: str) -> int:
    """100MB, 2GB … as bytes."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("GiB", 1 << 30), ("MiB", 1 << 20)):
        if text.endswith(unit):
            return int(float(text.removesuffix(unit)) * size)
    return int(text)


def limited(limit: int) -> Any:
    """Limit the address space of a child process, before anything else."""

    def limit_space() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return limit_space


def one_fit(
    text: str, shape: tuple[int, int], memory: int, limit: int, kind: str, threads: int, most: float
) -> dict[str, Any]:
    """Bytes that one fit held, and its messages."""
    command = [sys.executable, "-c", CHILD, text, *map(str, (*shape, memory)), kind, str(threads)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=limited(limit),
    )  # fmt: skip
    try:
        said, wrong = process.communicate(timeout=most)
    except subprocess.TimeoutExpired:
        mark = _mark(process.pid)
        process.kill()
        said, _ = process.communicate()
        before = int(said.splitlines()[0]) if said else 0
        text = f"not finished after {most:.0f} s: so much until then"
        return {"held": mark - before, "said": text, "seconds": most}
    if process.returncode:
        last = wrong.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        return {"held": float("nan"), "said": f"failed: {last[0]}", "seconds": float("nan")}
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


def _mark(pid: int) -> int:
    """Largest resident set of a process so far."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def every_selector() -> Iterator[str]:
    """All selectors; wrapping stages get a quick base."""
    import fsframe

    for name in sorted(fsframe.selectors):
        if name in _WRAPPERS:
            if name in ("npfs", "ensemble"):
                yield f"mim {name}:n=5" + (",permutations=0" if name == "npfs" else "")
            continue
        yield name
    yield "relieff:top=100 turf"
    yield "immigrate:screen=2"


def copies_said(text: str, p: int) -> float:
    """Copies of the table declared by the last stage of a chain, and by what it resamples."""
    import fsframe
    from fsframe.chains.stage import most_tables_held

    methods = [stage.method for stage in fsframe.Chain.parse(text).stages]
    return float(most_tables_held(methods, p))


def fits(options: argparse.Namespace) -> None:
    n, p = map(int, options.shape.split("x"))
    memory = bytes_of(options.memory)
    print(f"{n} × {p}, table {8e-6 * n * p:.0f} MB, allowed {memory / 1e6:.0f} MB", flush=True)
    for text in options.chains or every_selector():
        found = one_fit(
            text, (n, p), memory, bytes_of(options.limit), options.kind, options.threads,
            options.timeout,
        )  # fmt: skip
        held = found["held"]
        table, said = 8 * n * p, copies_said(text, p)
        add(options, command=text, allowed_mb=memory // 10**6, table_mb=round(table / 1e6, 1),
            copies=round(held / table, 2), copies_said=said)  # fmt: skip
        note = " <<<" if held > 1.1 * memory else ""
        print(
            f"{text:40} {held / 1e6:8.0f} MB {held / memory:7.2f}  {held / table:5.2f} of "
            f"{said:.1f} tables  {found['seconds']:6.1f} s  "
            f"{found['said'][:160]}{note}",
            flush=True,
        )


def held_by(pid: int) -> int:
    """Bytes held by a process and its descendants: private pages, and shared ones once.

    Pages of files, such as libraries, are not counted: other programs share them.
    """
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children") as file:
                    waiting += map(int, file.read().split())
            with open(f"/proc/{one}/smaps_rollup") as file:
                for line in file:
                    if line.startswith(("Pss_Anon:", "Pss_Shmem:")):
                        total += int(line.split()[1]) * 1024
        except OSError:
            continue
    return total


def one_run(arguments: list[str], limit: int, most: float) -> tuple[int, str, float]:
    """Peak of a command, the last line of its output, and its seconds."""
    began, peak = time.monotonic(), 0
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "fsframe", *arguments], stdout=said, stderr=said,
            preexec_fn=limited(limit),
        )  # fmt: skip
        while process.poll() is None:
            peak = max(peak, held_by(process.pid))
            time.sleep(0.03)
            if time.monotonic() - began > most:
                process.terminate()
        said.seek(0)
        lines = [line for line in said.read().splitlines() if line.strip()]
    text = f"exit {process.returncode}: " + (lines[-1] if lines else "")
    return peak, text, time.monotonic() - began


def write_table(folder: Path, n: int, p: int, kind: str) -> Path:
    """A table of numbers as an NPZ file, or of bytes as an HDF5 file."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    if kind == "bytes":
        import h5py

        path, step = folder / f"{n}x{p}.h5", 20_000
        with h5py.File(path, "w") as file:
            held = file.create_dataset("X", (n, p), dtype="u1", chunks=(n, min(p, 200)))
            for start in range(0, p, step):
                block = rng.integers(0, 3, (n, min(step, p - start)), dtype=np.uint8)
                if not start:
                    block[:, 0] = y
                held[:, start : start + step] = block
            file["y"] = y
        return path
    X = rng.standard_normal((n, p))
    X[:, :5] += y[:, None]
    if kind == "gaps":
        X[rng.random(X.shape) < 0.05] = np.nan
    path = folder / f"{n}x{p}.npz"
    np.savez(path, X=X, y=y)
    return path


def commands(path: Path, options: argparse.Namespace) -> Iterator[list[str]]:
    """Commands as users give them, without their bound; npfs with three times the resamples."""
    screen, resamples, (first, second) = "mim:top=20", options.resamples, options.classifiers
    n, folds = str(resamples), str(max(2, resamples - 1))
    if options.chain:
        yield ["chain", *options.chain.split(), "on", str(path), "--no-out"]
        return
    npfs = f"npfs:n={3 * resamples},null=published"
    for workers in ([], ["--workers", "2"]):
        yield ["chain", screen, f"ensemble:n={n}", "on", str(path), "--no-out", *workers]
        yield ["chain", screen, npfs, "on", str(path), "--no-out", *workers]
        yield ["evaluate", screen, second, "on", str(path), "--repeats", "1", "--folds", folds,
               "--no-out", *workers]  # fmt: skip
        yield ["stability", screen, "on", str(path), "--n", n, "--no-out", *workers]
        yield ["compare", f"{screen} {first}", f"{screen} {second}", "on", str(path),
               "--repeats", "1", "--folds", folds, *workers]  # fmt: skip


def runs(options: argparse.Namespace) -> None:
    n, p = map(int, options.shape.split("x"))
    limit = bytes_of(options.limit)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = commands(write_table(folder, 40, 8, options.kind), options)
        large = commands(write_table(folder, n, p, options.kind), options)
        print(f"{n} × {p}, {8e-6 * n * p:.0f} MB as float64, allowed {options.memory}", flush=True)
        for less, more in zip(small, large, strict=True):
            label = " ".join(w for w in more if "/" not in w and w not in ("on", "--no-out"))
            if (options.chains and more[0] not in options.chains) or options.only not in label:
                continue
            smaller = [word.replace("top=20", "top=4") for word in less]
            base = one_run(smaller, limit, options.timeout)[0]
            for bound in options.memory.split(","):
                one_bound(options, label, more, bound, base)


def one_bound(
    options: argparse.Namespace, label: str, command: list[str], bound: str, base: int
) -> None:
    """What one command holds with this bound, or with the least bound that it accepts."""
    limit = bytes_of(options.limit)
    if bound == "least":
        refusal = one_run([*command, "--memory", "17MB"], limit, options.timeout)[1]
        found = re.search(r"allow --memory (\w+)", refusal)
        if not found:
            print(f"{label:70} {refusal[:160]}", flush=True)
            return
        bound = found[1]
    memory = bytes_of(bound)
    peak, said, seconds = one_run([*command, "--memory", bound], limit, options.timeout)
    if "memory is not enough" in said:
        print(f"{label:70} refused at {bound}: {said[-40:]}", flush=True)
        return
    held = peak - base
    print(
        f"{label:70} base {base / 1e6:5.0f} MB  held {held / 1e6:6.0f} MB of "
        f"{memory / 1e6:5.0f} {held / memory:5.2f}  {seconds:5.1f} s  {said[:70]}"
        + (" <<<" if held > 1.1 * memory else ""),
        flush=True,
    )
    ended = f"stopped at {options.timeout:.0f} s" if seconds > options.timeout else said[:6]
    add(options, command=label, allowed_mb=memory // 10**6, base_mb=base // 10**6,
        held_mb=held // 10**6, share=round(held / memory, 3), ended=ended)  # fmt: skip


def add(options: argparse.Namespace, **facts: object) -> None:
    """Add a line to the table of results, if one is requested."""
    if not options.add:
        return
    line = {"shape": options.shape, "values": options.kind, **facts}
    new = not options.add.exists()
    with options.add.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(line), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(line)


def files(options: argparse.Namespace) -> None:
    """Memory of commands that read the run file of a chain with resamples."""
    n, p = map(int, options.shape.split("x"))
    limit = bytes_of(options.limit)
    chain = (options.chain or "mim:top=20 ensemble:n=4 immigrate:max-iter=2 margin").split()
    with tempfile.TemporaryDirectory() as name:
        folder, sizes, peaks = Path(name), [], {}
        for shape in ((40, 24), (n, p)):
            table, run = write_table(folder, *shape, options.kind), folder / f"{shape[1]}.run.h5"
            told = one_run(["chain", *chain, "on", str(table), "-o", str(run)], limit,
                           options.timeout)[1]  # fmt: skip
            if not run.exists():
                raise SystemExit(told)
            sizes.append(run.stat().st_size)
            for command in (
                ["show", str(run)],
                ["verify", str(run)],
                ["report", str(run), "-o", str(folder / f"{shape[1]}.html")],
                ["apply", str(run), "on", str(table), "-o", str(folder / f"{shape[1]}a.csv")],
                ["predict", str(run), "on", str(table), "-o", str(folder / f"{shape[1]}p.csv")],
            ):
                peaks.setdefault(command[0], []).append(one_run(command, limit, options.timeout))
        print(f"{n} × {p}, run file {sizes[1] / 1e6:.1f} MB ({sizes[0] / 1e6:.1f} on 40 × 24)")
        for command, ((base, _, _), (peak, said, seconds)) in peaks.items():
            print(f"{command:10} base {base / 1e6:5.0f} MB  held {(peak - base) / 1e6:6.0f} MB  "
                  f"{seconds:5.1f} s  {said[:90]}", flush=True)  # fmt: skip
            add(options, chain=" ".join(chain), command=command,
                file_mb=round(sizes[1] / 1e6, 1), base_mb=base // 10**6,
                held_mb=(peak - base) // 10**6, seconds=round(seconds, 1),
                ended=said[:6])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["fits", "runs", "files"])
    parser.add_argument(
        "chains", nargs="*", help="chains for fits, commands for runs; all by default"
    )
    parser.add_argument("--shape", default="1000x20000")
    parser.add_argument("--memory", default="400MB")
    parser.add_argument("--kind", choices=["normal", "bytes", "gaps"], default="normal")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", default="6GB", help="address space of every process")
    parser.add_argument("--timeout", type=float, default=300.0)
    parser.add_argument("--resamples", type=int, default=4, help="runs: how many a command has")
    parser.add_argument("--classifiers", nargs=2, default=["knn", "margin"],
                        help="runs: two of compare, and the second of evaluate")  # fmt: skip
    parser.add_argument(
        "--chain", default="", help="runs: this chain alone, without workers; files: this chain"
    )
    parser.add_argument("--only", default="", help="runs: commands with these words alone")
    parser.add_argument("--add", type=Path, help="a CSV file; lines are added to it")
    options = parser.parse_intermixed_args()
    {"fits": fits, "runs": runs, "files": files}[options.what](options)


if __name__ == "__main__":
    main()
