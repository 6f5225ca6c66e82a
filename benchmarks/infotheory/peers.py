"""Other programs for the same selection; each returns None where it is not installed."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
CRITERIA = ("mim", "mrmr", "jmi", "disr", "cmim")
Found = tuple[float, list[int]] | None


def best_of(repeats: int, work: Callable[[], list[int]]) -> tuple[float, list[int]]:
    """Least processor seconds of several repeats, and the result of the last one.

    Processor seconds of this process, all its threads: on a shared machine elapsed seconds
    depend on the load. Set FSFRAME_BENCHMARK_CLOCK=wall for elapsed seconds.
    """
    clock = time.perf_counter if wall() else time.process_time
    least, found = np.inf, []
    for _ in range(repeats):
        started = clock()
        found = work()
        least = min(least, clock() - started)
        if least > 2:
            break
    return float(least), found


def wall() -> bool:
    """Whether elapsed seconds are measured."""
    return os.environ.get("FSFRAME_BENCHMARK_CLOCK") == "wall"


def plain_c(
    criterion: str, X: NDArray[np.uint8], y: NDArray[np.uint8], k: int, repeats: int
) -> Found:
    """Our own plain C loop (`plain_loop.c`), one thread; needs gcc."""
    library = _compiled()
    if library is None:
        return None
    columns = np.ascontiguousarray(X.T)
    n, p = X.shape
    selected, scores = np.zeros(k, np.int32), np.zeros(k)

    def work() -> list[int]:
        library.plain_select(
            CRITERIA.index(criterion), columns.ctypes.data_as(ctypes.c_void_p),
            y.ctypes.data_as(ctypes.c_void_p), ctypes.c_long(n), ctypes.c_long(p),
            int(X.max()) + 1, int(y.max()) + 1, k, selected.ctypes.data_as(ctypes.c_void_p),
            scores.ctypes.data_as(ctypes.c_void_p),
        )  # fmt: skip
        return selected.tolist()

    return best_of(repeats, work)


def _compiled() -> ctypes.CDLL | None:
    if shutil.which("gcc") is None:
        return None
    target = Path(tempfile.gettempdir()) / f"plain_loop_{os.getuid()}.so"
    source = HERE / "plain_loop.c"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(
            ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", target, source, "-lm"],
            check=True,
        )
    return ctypes.CDLL(str(target))


def scikit_learn(
    criterion: str, X: NDArray[np.uint8], y: NDArray[np.uint8], k: int, repeats: int
) -> Found:
    """`mutual_info_classif` of discrete features: mim only."""
    if criterion != "mim" or importlib.util.find_spec("sklearn") is None:
        return None
    from sklearn.feature_selection import mutual_info_classif

    def work() -> list[int]:
        scores = mutual_info_classif(X, y, discrete_features=True)
        return np.argsort(-scores, kind="stable")[:k].tolist()

    return best_of(repeats, work)


def mrmr_selection(
    criterion: str, X: NDArray[np.uint8], y: NDArray[np.uint8], k: int, repeats: int
) -> Found:
    """`mrmr_classif`: an F statistic over correlations, another criterion of the same name."""
    if criterion != "mrmr" or importlib.util.find_spec("mrmr") is None:
        return None
    import pandas
    from mrmr import mrmr_classif

    table, target = pandas.DataFrame(X.astype(float)), pandas.Series(y)
    return best_of(1, lambda: mrmr_classif(table, target, K=k, n_jobs=1, show_progress=False))


def praznik(
    criterion: str, X: NDArray[np.uint8], y: NDArray[np.uint8], k: int, repeats: int, threads: int
) -> Found:
    """The R package, from factors in memory; seconds are of the selection alone.

    Needs Rscript, and the package or the environment variable PRAZNIK_LIBRARY, which names a
    shared library with its C entry points (``C_JMI(X, Y, K, threads)`` and so on).
    """
    if praznik_missing():
        return None
    library = os.environ.get("PRAZNIK_LIBRARY")
    name = criterion.upper()
    call = (
        f'.Call("C_{name}", X, y, {k}L, {threads}L)'
        if library
        else f"praznik::{name}(X, y, k = {k}, threads = {threads})"
    )
    script = f"""
    {f'dyn.load("{library}")' if library else ""}
    p <- {X.shape[1]}; n <- {X.shape[0]}
    X <- matrix(readBin("X.bin", "integer", n * p, size = 1), n, p)
    X <- as.data.frame(lapply(seq_len(p), function(j) as.factor(X[, j])))
    y <- as.factor(readBin("y.bin", "integer", n, size = 1))
    now <- function() {{ {"as.numeric(Sys.time())" if wall() else "sum(proc.time()[1:2])"} }}
    r <- {call}
    least <- Inf
    # Some calls per reading of a clock that may tick in milliseconds.
    for (i in 1:{repeats}) {{
      calls <- 0; started <- now()
      while (calls == 0 || now() - started < 0.05) {{ r <- {call}; calls <- calls + 1 }}
      least <- min(least, (now() - started) / calls)
    }}
    cat(least, r$selection - 1)
    """
    with tempfile.TemporaryDirectory() as folder:
        np.ascontiguousarray(X.T).tofile(Path(folder) / "X.bin")
        y.tofile(Path(folder) / "y.bin")
        done = subprocess.run(
            ["Rscript", "-e", script], cwd=folder, capture_output=True, text=True, check=True
        )
    seconds, *selected = done.stdout.split()
    return float(seconds), [int(j) for j in selected]


@cache
def praznik_missing() -> str:
    """Why praznik cannot be run; empty if it can."""
    if shutil.which("Rscript") is None:
        return "praznik: no Rscript"
    if os.environ.get("PRAZNIK_LIBRARY"):
        return ""
    asked = 'quit(status = !requireNamespace("praznik", quietly = TRUE))'
    if subprocess.run(["Rscript", "-e", asked], capture_output=True).returncode:
        return "praznik: not installed in R, and PRAZNIK_LIBRARY names no library"
    return ""


def feast(
    criterion: str, X: NDArray[np.uint8], y: NDArray[np.uint8], k: int, repeats: int
) -> Found:
    """FEAST 2, from columns of integers in memory, if FEAST_LIBRARY names its shared library."""
    name = {"mim": "MIM", "mrmr": "mRMR_D", "jmi": "JMI", "disr": "DISR", "cmim": "CMIM"}[criterion]
    if feast_missing():
        return None
    function = getattr(ctypes.CDLL(os.environ["FEAST_LIBRARY"]), name)
    function.restype = ctypes.c_void_p
    columns = np.ascontiguousarray(X.T, dtype=np.uint32)
    rows = (ctypes.c_void_p * len(columns))(*(column.ctypes.data for column in columns))
    labels = y.astype(np.uint32)
    selected, scores = np.zeros(k, np.uint32), np.zeros(k)

    def work() -> list[int]:
        function(
            ctypes.c_uint(k), ctypes.c_uint(X.shape[0]), ctypes.c_uint(X.shape[1]), rows,
            labels.ctypes.data_as(ctypes.c_void_p), selected.ctypes.data_as(ctypes.c_void_p),
            scores.ctypes.data_as(ctypes.c_void_p),
        )  # fmt: skip
        return selected.astype(int).tolist()

    return best_of(repeats, work)


def feast_missing() -> str:
    """Why FEAST cannot be run; empty if it can."""
    path = os.environ.get("FEAST_LIBRARY")
    if not path:
        return "FEAST: the environment variable FEAST_LIBRARY names no library"
    return "" if Path(path).exists() else f"FEAST: no file {path}"
