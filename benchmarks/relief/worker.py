"""Measurements in a separate process: a program scores simulated tables, as JSON on stdout.

    python worker.py PROGRAM METHOD THREADS REPEATS KIND NxA [NxA …]

PROGRAM is fsframe, fast-select, skrebate or orange; METHOD relieff (k = 10) or multisurf; KIND is
normal or genotypes. Data are drawn from a fixed seed, so that all programs score the same tables.
For every table `first` is the first call (compiled code is loaded in it), `best` the fastest of the
calls after it and `cpu` the least processor time of one, all without making the data; `imports` is
the time to import.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings


def scorer(program: str, method: str, threads: int):
    """A function of (X, y) that scores all features, and the program's version."""
    if program == "fsframe":
        import fsframe
        from fsframe.method.run import Run
        from fsframe.table.dataset import Dataset
        from fsframe_relief.methods.variants import Multisurf, Relieff

        selector = Relieff(k=10) if method == "relieff" else Multisurf()
        run = Run(threads=threads)
        version = getattr(fsframe, "__version__", "")
        return lambda X, y: selector.select(Dataset.from_arrays(X, y), run=run).scores, version
    if program == "fast-select":
        import fast_select
        from fast_select import MultiSURF, ReliefF

        options = {"backend": "cpu", "n_jobs": threads}
        if method == "relieff":
            return (
                lambda X, y: ReliefF(n_neighbors=10, **options).fit(X, y).feature_importances_,
                getattr(fast_select, "__version__", ""),
            )
        return (
            lambda X, y: MultiSURF(**options).fit(X, y).feature_importances_,
            getattr(fast_select, "__version__", ""),
        )
    if program == "skrebate":
        import skrebate
        from skrebate import MultiSURF, ReliefF

        if method == "relieff":
            return (
                lambda X, y: ReliefF(n_neighbors=10, n_jobs=threads).fit(X, y).feature_importances_,
                skrebate.__version__,
            )
        return (
            lambda X, y: MultiSURF(n_jobs=threads).fit(X, y).feature_importances_,
            skrebate.__version__,
        )
    import numpy as np
    import Orange
    from Orange.preprocess._relieff import relieff

    if method != "relieff" or threads != 1:
        raise ImportError("Orange has ReliefF on one thread only")

    def score(X, y):
        # its scorer's own core; it draws N targets with replacement
        discrete = np.array([len(np.unique(X[:, 0])) <= 10] * X.shape[1], dtype=np.int8)
        return relieff(X, y.astype(float), len(y), 10, discrete, np.random.RandomState(0))

    return score, Orange.__version__


def main() -> None:
    program, method, threads, repeats, kind, *sizes = sys.argv[1:]
    os.environ["NUMBA_NUM_THREADS"] = threads
    os.environ["OMP_NUM_THREADS"] = threads
    warnings.simplefilter("ignore")
    import numpy as np

    try:
        start = time.perf_counter()
        score, version = scorer(program, method, int(threads))
        answer = {"imports": time.perf_counter() - start, "version": version}
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return
    for size in sizes:
        n, p = map(int, size.split("x"))
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p))
        if kind == "genotypes":
            X = rng.binomial(2, 0.3, (n, p)).astype(float)
        y = rng.integers(0, 2, n)
        seconds, processor = [], []
        for _ in range(int(repeats) + 1):
            start, used = time.perf_counter(), time.process_time()
            score(X, y)
            seconds.append(time.perf_counter() - start)
            processor.append(time.process_time() - used)
        answer[size] = {
            "first": seconds[0],
            "best": min(seconds[1:] or seconds),
            "cpu": min(processor[1:] or processor),
        }
    answer["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
