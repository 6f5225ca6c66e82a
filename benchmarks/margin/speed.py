"""Speed and memory of the margin methods, as ratios taken in one run.

    python benchmarks/margin/speed.py fit            one fit of 10 iterations against others
    python benchmarks/margin/speed.py tuning         σ and pruning by inner cross-validation
    python benchmarks/margin/speed.py resamples      100 bootstraps
    python benchmarks/margin/speed.py npfs [--against CHECKOUT]   the fits of `immigrate npfs`, and
                                                     what bounds them; in turn with another checkout
    python benchmarks/margin/speed.py memory         peak memory of every method under its bound

The R package Immigrate is run if `Rscript` and the package are installed, and its W is compared.
Otherwise the ratio is to its seconds as measured once, version 0.2.1 under R 4.2.2, one thread, on
a machine of the AVX-512 class: such ratios are marked "recorded", and are not measured in this run.

Seconds are processor seconds of one thread unless stated otherwise: the machine may be busy, and R
and the plain expressions use one thread as well. Wall seconds on two threads are given as well,
with the load at the time.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from plain import plain_fit
from threadpoolctl import threadpool_limits
from worker import measured, simulated

HERE = Path(__file__).resolve().parent

# Seconds of R Immigrate 0.2.1 for 10 iterations, recorded once (see above); N × A.
RECORDED = {(194, 22): 0.74, (351, 34): 4.05, (768, 8): 2.82, (1000, 50): 66.62, (300, 200): 94.69}
WANTED = {(351, 34): 40, (1000, 50): 60, (300, 200): 60}


def timed(work: Any, repeats: int, clock: Any) -> list[float]:
    """Seconds of several calls, after a first one that may compile."""
    work()
    seconds = []
    for _ in range(repeats):
        began = clock()
        work()
        seconds.append(clock() - began)
    return seconds


def best(work: Any, repeats: int = 5, clock: Any = time.process_time) -> float:
    """The shortest time of several calls."""
    return min(timed(work, repeats, clock))


def typical(work: Any, repeats: int = 5, clock: Any = time.process_time) -> float:
    """The median time of several calls, to compare with a single call of a slower program."""
    return float(np.median(timed(work, repeats, clock)))


def gemm_rate(size: int = 1500) -> float:
    """GFLOP/s of the linear algebra library on one thread, by processor time."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, size, size))
    with threadpool_limits(1):
        return 2e-9 * size**3 / best(lambda: A @ B)


def package_run(X: Any, y: Any) -> tuple[float, float, int, np.ndarray] | None:
    """Processor and elapsed seconds, iterations and W of the R package, or None without it."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([f"f{a}" for a in range(X.shape[1])] + ["class"])
            writer.writerows([*row, label] for row, label in zip(X.tolist(), y, strict=True))
        weights = path.with_name("weights.csv")
        done = subprocess.run(
            ["Rscript", str(HERE / "package.R"), str(path), str(weights)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            print((done.stderr.strip().splitlines() or ["R failed"])[-1])
            return None
        seconds, elapsed, iterations = done.stdout.split()[-3:]
        return float(seconds), float(elapsed), int(iterations), np.loadtxt(weights, delimiter=",")


def part_fit(options: argparse.Namespace) -> None:
    """One fit of ten full steps: the same work for every program.

    The element-wise update is compared with plain expressions and the machine's GEMM; the update of
    the R package (psd-clip), which needs an eigendecomposition more, with the package.
    """

    from fsframe.method.run import Run
    from fsframe_margin.engine.margins import PairSpace
    from fsframe_margin.engine.training import one_blas_thread, take_training
    from fsframe_margin.methods.immigrate import descend

    rate = gemm_rate()
    print(f"double GEMM, one thread: {rate:.0f} GFLOP/s; load {os.getloadavg()[0]:.1f}")
    print(
        f"{'N':<5} {'A':<4} {'ours s':<8} {'plain s':<8} {'plain/ours':<11} {'GFLOP/s':<8} "
        f"{'of GEMM':<8} {'ours, psd-clip s':<17} {'R s':<8} {'R/ours':<7} "
        f"{'two threads, wall s':<20} {'R wall s':<9} {'R/ours':<7} {'wanted':<7} "
        "W of both differ by"
    )
    for (n, A), recorded in RECORDED.items():
        if options.size and f"{n}x{A}" not in options.size:
            continue
        X, y = simulated(n, A)
        start = np.eye(A) / np.sqrt(A)

        def ours(threads: int, rule: str, steps: int = 10, X=X, y=y, start=start) -> Any:  # type: ignore[no-untyped-def]
            with one_blas_thread:
                rows = take_training("fit", X, y, 2, standardize=False)
                return descend(
                    PairSpace.of(rows, Run(threads=threads)), start, 1.0, rule=rule,
                    line_search=False, max_iter=steps, tol=0.0, keep_best=False,
                ).weights  # fmt: skip

        with threadpool_limits(1):
            difference = np.abs(ours(1, "elementwise", 2) - plain_fit(X, y, 1.0, 2)).max()
            assert difference < 1e-8, f"the programs disagree by {difference}"
            plain = 5 * best(lambda X=X, y=y: plain_fit(X, y, 1.0, 2), 1)
        one = typical(lambda: ours(1, "elementwise"), options.repeats)
        clipped = typical(lambda: ours(1, "psd-clip"), options.repeats)
        both = typical(lambda: ours(2, "psd-clip"), options.repeats, time.perf_counter)
        # nominal work: two products of all pairs with all entries of W, 4 P A² per iteration
        flops = 10 * 4e-9 * (n * (n - 1) / 2) * A * A / one
        run = None if options.no_package else package_run(X, y)
        if run is None:
            r, wall, note = recorded, recorded, "recorded, not run"
        else:
            r, wall, iterations, W = run
            note = f"{np.abs(W - ours(1, 'psd-clip')).max():.1e}"
            assert iterations == 10, f"the package stopped after {iterations} iterations"
        print(
            f"{n:<5} {A:<4} {one:<8.4f} {plain:<8.2f} {plain / one:<11.1f} {flops:<8.0f} "
            f"{flops / rate:<8.2f} {clipped:<17.4f} {r:<8.2f} {r / clipped:<7.0f} "
            f"{both:<20.4f} {wall:<9.2f} {wall / both:<7.0f} {WANTED.get((n, A), '')!s:<7} {note}",
            flush=True,
        )


def part_tuning(options: argparse.Namespace) -> None:
    """5 folds × 6 σ × pruning yes/no with sigma=cv, and as 60 calls of the selector.

    Each call learns on the rows of a fold and predicts the others with the classifier margin.
    """

    import fsframe
    from fsframe.method.run import Run
    from fsframe_margin.engine.prediction import IMMIGRATE_PATH, stratified_folds

    X, y = simulated(351, 34)
    data = fsframe.Dataset.from_arrays(X, y)
    immigrate, margin = fsframe.selectors["immigrate"], fsframe.classifiers["margin"]
    settings = [(sigma, pruned) for sigma in IMMIGRATE_PATH for pruned in (False, True)]

    def together(threads: int) -> Any:
        return immigrate(sigma="cv", top=1.0).select(data, run=Run(entropy=0, threads=threads))

    def apart() -> Any:
        folds = stratified_folds(data.y, 5, Run(entropy=0).generator(1))
        right, run = np.zeros(12), Run(entropy=0, threads=1)
        for fold in range(5):
            train, held = data.take_rows(np.flatnonzero(folds != fold)), folds == fold
            for k, (sigma, pruned) in enumerate(settings):
                found = immigrate(sigma=sigma, prune=pruned, top=1.0).select(train, run=run)
                predicted = margin().fit(train, found, run).predict(data.X[held])
                right[k] += (predicted == data.y[held]).sum()
        return right / 351

    tuned, accuracy = together(1), apart()
    # scaling is learned twice inside (all rows, then the fold): a row at a border may differ
    assert np.abs(tuned.tables["tuning-accuracy"] - accuracy).max() < 1.5 / 351
    best_setting = settings[int(np.argmax(accuracy))]
    assert (tuned.tables["sigma"][0], tuned.tables["pruned"][0]) == best_setting
    alone = immigrate(sigma=best_setting[0], prune=best_setting[1], top=1.0).select(data)
    difference = np.abs(alone.pair_weights.matrix - tuned.pair_weights.matrix).max()
    print(f"chosen by both: sigma {best_setting[0]}, pruning {best_setting[1]}; W of the chosen "
          f"setting differs by {difference:.1e}")  # fmt: skip
    single, whole = best(apart, options.repeats), best(lambda: together(1), options.repeats)
    print(f"60 calls of the selector, one after the other: {single:.3f} s")
    print(
        f"sigma=cv in one thread: {whole:.3f} s, {single / whole:.2f} times as fast "
        "(its 61st model, on all rows, included)"
    )
    walls = [best(lambda t=t: together(t), options.repeats, time.perf_counter) for t in (1, 2)]
    print(
        f"wall: one thread {walls[0]:.3f} s, two {walls[1]:.3f} s (load {os.getloadavg()[0]:.1f})"
    )
    updates = sum(
        len(immigrate(sigma=s, prune=p).select(data).tables["cost"]) - 1 for s, p in settings
    )
    with threadpool_limits(1):
        plain = 5 * updates / 2 * best(lambda: plain_fit(X[:280], y[:280], 1.0, 2), 1)
    print(
        f"as many updates ({5 * updates}) in plain array expressions without line search "
        f"(2 timed, the others by proportion): {plain:.0f} s, {plain / whole:.0f} times sigma=cv"
    )


def part_resamples(options: argparse.Namespace) -> None:
    """100 bootstraps of a table of 195 × 22."""

    import fsframe
    from fsframe.method.run import Run

    X, y = simulated(195, 22)
    data = fsframe.Dataset.from_arrays(X, y)
    rng = np.random.default_rng(0)
    counts = np.array([np.bincount(rng.integers(0, 195, 195), minlength=195) for _ in range(100)])
    method = fsframe.selectors["immigrate"]()
    run = Run(entropy=0, threads=1)
    seconds = best(lambda: method.select_many(data, counts, run=run), options.repeats)
    print(f"100 bootstraps of 195 × 22: {seconds:.2f} s")


FITS, PERMUTED = 1090, 990
"""Of `immigrate npfs` with its defaults on 200 features or fewer; those with permuted labels."""


def part_npfs(options: argparse.Namespace) -> None:
    """The fits of `immigrate npfs` on 120 × 30 (three correlated blocks), by the fastest rounds.

    A whole run adds the choice among labellings, and what a busy machine costs: threads of a run
    that wait for each other lose their caches.
    """
    for _ in range(2 if options.against else 1):
        if options.against:
            before = {"PYTHONPATH": f"{options.against}:{options.against}/plugins"}
            command = [sys.executable, __file__, "npfs", "--repeats", str(options.repeats)]
            subprocess.run(command, check=True, env=os.environ | before)
        _print_fits(options.repeats)


def _print_fits(repeats: int) -> None:
    import fsframe
    from fsframe.method.run import Run
    from fsframe_margin.engine.descent import Objective
    from fsframe_margin.engine.margins import PairSpace
    from fsframe_margin.engine.neighbour_shares import Arc

    rng = np.random.default_rng(0)
    blocks = [rng.normal(size=(120, 1)) * 0.8**0.5 + rng.normal(size=(120, 7)) * 0.2**0.5
              for _ in range(3)]  # fmt: skip
    X = np.hstack([*blocks, rng.normal(size=(120, 9))])
    y = (1.5 * (X[:, 0] + X[:, 7]) + rng.logistic(size=120) > 0).astype(int)
    data = fsframe.Dataset.from_arrays(X, y)
    counts = np.array([np.bincount(rng.integers(0, 120, 120), minlength=120) for _ in range(20)])
    permuted = fsframe.Dataset.from_arrays(X, rng.permutation(y))
    method, run = fsframe.selectors["immigrate"](), Run(entropy=0, threads=1)
    updates = fit = 0.0
    for table, share in ((data, 1 - PERMUTED / FITS), (permuted, PERMUTED / FITS)):
        found = method.select_many(table, counts, run=run)
        updates += share * float(np.mean([len(each.tables["cost"]) - 1 for each in found]))
        seconds = best(lambda: method.select_many(table, counts, run=run), 3 * repeats)  # noqa: B023
        fit += share * seconds / len(counts)
    rows = int((counts > 0).sum(axis=1).mean())
    space = PairSpace(X[:rows], y[:rows])
    point = space.point(np.eye(30) / 30**0.5, 1.0)
    target = np.maximum(-space.gradient(point, 1.0), 0.0)
    target /= np.linalg.norm(target)
    along = (float(np.vdot(space.gradient(point, 1.0), W)) for W in (point.weights, target))
    arc = Arc(*along, float(np.vdot(point.weights, target)))
    objective = Objective(space, 1.0, "elementwise", 0.0)
    parts = {
        "distances to the new weights": lambda: space.measure(target),
        "gradient": lambda: space.gradient(point, 1.0),
        "line search, with these distances": lambda: objective.step(point, arc, target, 0.0, True),
    }
    print(f"{Path(fsframe.__file__).parents[1]}: {1e3 * fit:.2f} ms a fit of {rows} rows, "
          f"{updates:.1f} updates; {FITS} fits {FITS * fit:.1f} s")  # fmt: skip
    # two passes an update, each over the pairs of rows and the upper triangle of W
    products = updates * rows * (rows - 1) * 30 * 31 / 2
    least = 2e-9 * products / gemm_rate()
    print(f"  {FITS} fits of products at the rate of GEMM: {FITS * least:.1f} s, "
          f"{100 * least / fit:.0f}%")  # fmt: skip
    for name, work in parts.items():
        seconds = min(timed(work, 200, time.perf_counter))
        print(f"  {name}: {1e6 * seconds:.0f} µs an update, {100 * updates * seconds / fit:.0f}%")


MEMORY_TASKS = [
    ("immigrate:max_iter=3", 6000, 10), ("immigrate:max_iter=3", 60, 2500),
    ("immigrate:sigma=cv,max_iter=3", 2000, 10), ("im4e:max_iter=3", 6000, 10),
    ("im4e:max_iter=3", 60, 12000), ("irelief:max_iter=3", 6000, 10), ("lfe", 3000, 300),
    ("logo:max_iter=3", 2000, 100), ("simba", 6000, 10), ("simba-mbiw", 4000, 10),
    ("mbiw", 6000, 10), ("gflip", 3000, 8), ("bim:rounds=5", 1000, 20), ("bim:rounds=2", 6000, 10),
    ("bim-vote:rounds=5", 1000, 20), ("bim-vote:rounds=2", 6000, 10), ("margin", 10000, 20),
    ("margin", 60, 12000), ("weighted-knn", 10000, 20), ("weighted-knn", 60, 12000),
    ("knn", 10000, 20), ("knn", 60, 12000),
]  # fmt: skip


def part_memory(options: argparse.Namespace) -> None:
    """Peak resident memory minus that of the imports and the table, with a bound of 512 MB.

    Selectors select; classifiers learn and predict all rows.
    """
    import fsframe

    bound = 512 << 20
    print("method                         N      A      processor s  above start MB   bound MB")
    for method, rows, columns in MEMORY_TASKS:
        if options.method and method.split(":")[0] not in options.method:
            continue
        what = "classify" if method.split(":")[0] in fsframe.classifiers else "select"
        found = measured(
            {"what": what, "rows": rows, "columns": columns, "method": method, "memory": bound}
        )
        if "failed" in found:
            print(f"{method:30} {rows:<6} {columns:<6} {found['failed']}")
            continue
        print(
            f"{method:30} {rows:<6} {columns:<6} {found['processor-seconds']:<12.1f} "
            f"{found['peak'] - found['before']:<16.0f} 512",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = {n.removeprefix("part_"): f for n, f in globals().items() if n.startswith("part_")}
    parser.add_argument("part", choices=sorted(parts))
    parser.add_argument("--against", help="npfs: another checkout, measured in turn")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--size", action="append", help="fit: one size, such as 351x34; repeat")
    parser.add_argument("--method", action="append", help="memory: this method only; repeat")
    parser.add_argument("--no-package", action="store_true", help="fit: leave R out")
    options = parser.parse_args()
    parts[options.part](options)


if __name__ == "__main__":
    main()
