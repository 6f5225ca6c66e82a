"""Filters and chains on wide tables: selection inside every fold, three classifiers.

    python benchmarks/wide/run.py --data DATA [--minutes 60] [--tables khan,golub] [--work WORK]
    python benchmarks/wide/run.py --data DATA --methods 'mine=my-method:top={SIZES}'

Stratified five-fold cross-validation. Thirty features are kept; with --sizes 10,30,100 their number
is chosen inside the training rows, by three folds, for each classifier, at four times the cost.
Labels in a random order are the control: no method may predict them, but for one that chooses
features on all rows before the folds are made (`leak`), which shows what a leak looks like. Each
method of a table is a study of its own; with --work its folder of pages and runs is kept, which
takes as long again. Finished rows are not computed again. Tables come in the order of their size, a
random order of labels after the true one. A method that would take more than --most processor
seconds, judged by the last table on which it ran and growth with rows × columns, is left out.

The first fifty features of each method on all rows are kept too, in `chosen.csv`: they tell which
methods rank alike, and no accuracy is computed with them.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from scipy import sparse

import fsframe
from fsframe_stability.agreement import Overlap
from fsframe_stability.similar_features import ZucknickCorrected

RESULTS = Path(__file__).parent / "results" / "wide.csv"
SIZES = "30"
CHOSEN = 50
FOLDS = 5
CLASSIFIERS = {
    "knn": "knn:k=5,ties=index",
    "svm": "sklearn:estimator=LinearSVC,options='{\"random_state\":0}',standardize=true",
    "bayes": "sklearn:estimator=GaussianNB",
}
TABLES = (
    "COL",
    "khan",
    "pomeroy",
    "gravier",
    "golub",
    "su",
    "prostate_ge",
    "tox171",
    "GLI",
    "PRO",
    "BRE",
    "arcene",
    "lungcancer_gordon",
    "chowdary",
    "nakayama",
    "relathe",
    "pcmac",
)
METHODS = {
    "all features": "variance:top=1.0",
    "variance": "variance:top={SIZES}",
    "anova-f": "anova-f:top={SIZES}",
    "chi2": "chi2:top={SIZES}",
    "mim": "mim:top={SIZES}",
    "symmetric-uncertainty": "symmetric-uncertainty:top={SIZES}",
    "mrmr": "mrmr:top={SIZES}",
    "jmi": "jmi:top={SIZES}",
    "jmim": "jmim:top={SIZES}",
    "njmim": "njmim:top={SIZES}",
    "disr": "disr:top={SIZES}",
    "cmim": "cmim:top={SIZES}",
    "icap": "icap:top={SIZES}",
    "cife": "cife:top={SIZES}",
    "mifs": "mifs:top={SIZES}",
    "fcbf": "fcbf:top={SIZES}",
    "relief": "relief:top={SIZES}",
    "relieff": "relieff:top={SIZES}",
    "surf": "surf:top={SIZES}",
    "multisurf": "multisurf:top={SIZES}",
    "im4e": "im4e:top={SIZES}",
    "simba": "simba:top={SIZES}",
    "logo": "anova-f:top=500 logo:top={SIZES}",
    "immigrate": "anova-f:top=200 immigrate:top={SIZES}",
    "elastic-net": "elastic-net:top={SIZES}",
    "importance": "importance:top={SIZES}",
    "mim + mrmr": "mim:top=500 mrmr:top={SIZES}",
    "anova-f + correlation": "anova-f:top=300 correlation anova-f:top={SIZES}",
    "anova-f, q ≤ .05": "anova-f:alpha=0.05,top={SIZES}",
}
LEAK = "leak: anova-f"
COLUMNS = (
    "table",
    "rows",
    "columns",
    "classes",
    "label",
    "method",
    "sizes",
    "classifier",
    "balanced_accuracy",
    "features",
    "phi",
    "similar",
    "seconds",
    "made",
    "version",
)
NEAR = ZucknickCorrected().threshold
"""Columns whose absolute correlation is at least this are much alike."""

BLOCK = 1024
"""Columns whose correlations with all others are computed at a time."""


def permuted(data: fsframe.Dataset) -> fsframe.Dataset:
    """The table with its labels in a random order."""
    order = np.random.default_rng(0).permutation(data.n_samples)
    return attrs.evolve(data, y=data.y[order])


def chains(text: str, sizes: str) -> dict[str, str]:
    """The chain of each classifier behind a method; of several sizes one is tuned in the folds."""
    sizes = "{" + sizes + "}" if "," in sizes else sizes
    return {
        name: f"{text.replace('{SIZES}', sizes)} {ending}" for name, ending in CLASSIFIERS.items()
    }


def similar(kept: np.ndarray, near: Any) -> float | None:
    """Stability over the folds where features that are much alike count as the same.

    The value of `zucknick-corrected:impute=0`, which takes p × p similarities and looks through all
    of them each time; here those above its threshold are found once for a table.
    """
    if near is None or not kept.any():
        return None
    overlap = Overlap.of(kept)
    pairs = overlap.pairs()
    scores = ZucknickCorrected()._scores(kept, overlap, near)[pairs]
    return float(np.nan_to_num(scores, nan=0.0).mean())


def rows(
    name: str,
    data: fsframe.Dataset,
    label: str,
    method: str,
    text: str,
    sizes: str,
    work: Path | None,
    near: Any,
) -> Iterator[dict[str, Any]]:
    """One row for each classifier; for labels in a random order for the first alone.

    The seconds are those of the processor for a method, over the number of classifiers.
    """
    texts = chains(text, sizes)
    if label == "permuted":
        texts = dict([next(iter(texts.items()))])
    begun = time.process_time()
    folder = None
    if work is not None:
        folder = work / f"{name}-{label}" / method.translate(str.maketrans(" :,≤+", "-----"))
    found = fsframe.study(
        {name: data},
        chains=list(texts.values()),
        measures=["balanced-accuracy"],
        folds=FOLDS,
        inner_folds=3,
        all_features=False,
        out=folder,
    )
    seconds = (time.process_time() - begun) / len(texts)
    # At one size all classifiers have the same sets, whose similarity costs more than they do.
    known: dict[bytes, float | None] = {}
    for (classifier, _), chain in zip(texts.items(), found.chains, strict=True):
        run = found.result(chain, name, 0)
        evaluation = run.evaluation
        kept = np.asarray(run.stages[-1].tables["kept"], dtype=bool)
        if kept.tobytes() not in known:
            known[kept.tobytes()] = similar(kept, near)
        yield {
            "table": name,
            "rows": data.n_samples,
            "columns": data.n_features,
            "classes": len(data.classes),
            "label": label,
            "method": method,
            "sizes": sizes,
            "classifier": classifier,
            "balanced_accuracy": round(float(evaluation.measures["balanced-accuracy"].mean), 4),
            "features": round(float(kept.sum(axis=1).mean()), 1),
            "phi": rounded(evaluation.stability.value if evaluation.stability else None),
            "similar": rounded(known[kept.tobytes()]),
            "seconds": round(seconds, 2),
            "made": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "version": fsframe.__version__,
        }


def leak(name: str, data: fsframe.Dataset, work: Path | None) -> Iterator[dict[str, Any]]:
    """Thirty features chosen on all rows, test rows included, then cross-validated."""
    chosen = fsframe.selectors["anova-f"](top=30).select(data, seed=0).selected
    narrow = data.take_columns(np.sort(chosen))
    for row in rows(name, narrow, "permuted", LEAK, "variance:top=1.0", SIZES, work, None):
        yield row | {"columns": data.n_features, "phi": "", "similar": ""}


def rounded(value: float | None) -> float | str:
    """Three digits; blank where there is no value."""
    return "" if value is None or not np.isfinite(value) else round(value, 3)


def read(path: Path) -> list[dict[str, str]]:
    """The rows so far."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def similarity(X: np.ndarray) -> Any:
    """The absolute correlations of different columns from `NEAR` on, sparse (p, p)."""
    centred = np.asarray(X, dtype=np.float32) - np.asarray(X.mean(axis=0), dtype=np.float32)
    length = np.linalg.norm(centred, axis=0)
    unit = centred / np.where(length > 0, length, 1.0)
    parts = []
    for first in range(0, unit.shape[1], BLOCK):
        block = np.abs(unit[:, first : first + BLOCK].T @ unit)
        own = np.arange(block.shape[0])
        block[own, first + own] = 0.0
        block[block < NEAR] = 0.0
        parts.append(sparse.csr_array(np.minimum(block, 1.0).astype(np.float64)))
    return sparse.csr_array(sparse.vstack(parts))


def first_features(name: str, data: fsframe.Dataset, method: str, text: str) -> dict[str, Any]:
    """The numbers of the columns that a method chooses on all rows of a table."""
    chosen = fsframe.select(text.replace("{SIZES}", str(CHOSEN)), data, threads=1).selected
    return {"table": name, "method": method, "chosen": " ".join(map(str, chosen))}


def add(path: Path, columns: Sequence[str], made: list[dict[str, Any]]) -> None:
    """Write rows at the end of a CSV file, the header first where there is none."""
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(made)


def too_dear(
    rows: list[dict[str, str]], method: str, label: str, sizes: str, cells: int, most: float
) -> bool:
    """Whether a method would take more than `most` seconds on a table of so many cells.

    It is judged by the largest table on which it ran with the label in that order.
    """
    ran = [r for r in rows if (r["method"], r["label"]) == (method, label)]
    ran = [r for r in ran if r["sizes"] == sizes]
    if not ran:
        return False
    last = max(ran, key=lambda r: int(r["rows"]) * int(r["columns"]))
    of_it = [r for r in ran if r["table"] == last["table"]]
    seconds = sum(float(r["seconds"]) for r in of_it)
    return seconds * cells / (int(last["rows"]) * int(last["columns"])) > most


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="keep each study here")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--methods", nargs="*", default=[], help="names, or NAME=CHAIN of your own")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--most", type=float, default=60.0, help="seconds for a method of a table")
    parser.add_argument("--sizes", default=SIZES, help="of several one is tuned inside the folds")
    parser.add_argument("--labels", default="true,permuted")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    methods = dict(m.split("=", 1) if "=" in m else (m, METHODS[m]) for m in asked.methods)
    methods = methods or dict(METHODS)
    end = time.monotonic() + 60 * asked.minutes
    for label in asked.labels.split(","):
        for table in asked.tables.split(","):
            wanted = [*methods]
            if label == "permuted" and not asked.methods and asked.sizes == SIZES:
                wanted.append(LEAK)
            if not on_table(asked, label, table, wanted, methods, end):
                print("stopped by --minutes; the same command continues")
                return


def on_table(
    asked: argparse.Namespace,
    label: str,
    table: str,
    wanted: list[str],
    methods: dict[str, str],
    end: float,
) -> bool:
    """Compute what is missing of a table; False when the time is over."""
    rows_now = read(asked.out)
    done = {(r["table"], r["label"], r["method"], r["sizes"]) for r in rows_now}
    wanted = [method for method in wanted if (table, label, method, asked.sizes) not in done]
    path = next(asked.data.glob(f"{table}.*"), None)
    if path is None or not wanted:
        print(f"{table} {label}: " + ("nothing to do" if path else f"not in {asked.data}"))
        return True
    data = fsframe.read(path)
    if np.bincount(data.y).min() < FOLDS:
        print(f"{table}: a class has fewer members than the {FOLDS} folds, left out")
        return True
    near = similarity(np.asarray(data.X)) if label == "true" else None
    used = permuted(data) if label == "permuted" else data
    chosen_file = asked.out.with_name("chosen.csv")
    for method in wanted:
        if time.monotonic() > end:
            return False
        cells = data.n_samples * data.n_features
        if too_dear(rows_now, method, label, asked.sizes, cells, asked.most):
            print(f"{table} {label} {method}: would take too long, left out")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method == LEAK:
                made = list(leak(table, used, asked.work))
            else:
                how = (methods[method], asked.sizes, asked.work, near)
                made = list(rows(table, used, label, method, *how))
            if label == "true" and method != "all features" and asked.sizes == SIZES:
                first = first_features(table, data, method, methods[method])
                add(chosen_file, ("table", "method", "chosen"), [first])
        add(asked.out, COLUMNS, made)
        took = sum(row["seconds"] for row in made)
        print(f"{table} {label} {method}: {took:.1f} s", flush=True)
    return True


if __name__ == "__main__":
    main()
