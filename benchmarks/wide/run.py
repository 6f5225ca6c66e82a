"""Filters and chains on wide tables: selection and tuning inside every fold, three classifiers.

    python benchmarks/wide/run.py --data DATA --work WORK [--minutes 60] [--tables khan,golub]
    python benchmarks/wide/run.py --data DATA --work WORK --methods 'mine=my-method:top={SIZES}'

Stratified five-fold cross-validation. How many features are kept (10, 30 or 100) is chosen inside
the training rows, by three folds, for each classifier. Labels in a random order are the control: no
method may predict them, but for one that chooses features on all rows before the folds are made
(`leak`), which shows what a leak looks like. Each method of a table is a study of its own, kept in
WORK; finished rows are not computed again.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np

import fsframe

RESULTS = Path(__file__).parent / "results" / "wide.csv"
SIZES = (10, 30, 100)
FOREST = 'sklearn:estimator=RandomForestClassifier,options=\'{"n_estimators":50,"random_state":0}\''
CLASSIFIERS = {
    "knn": "knn:k=5",
    "svm": "sklearn:estimator=LinearSVC,options='{\"random_state\":0}',standardize=true",
    "forest": FOREST,
}
TABLES = (
    "khan",
    "COL",
    "gravier",
    "golub",
    "pomeroy",
    "su",
    "prostate_ge",
    "tox171",
    "PRO",
    "GLI",
    "arcene",
    "lungcancer_gordon",
    "BRE",
    "chowdary",
    "nakayama",
    "pcmac",
    "relathe",
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
    "classifier",
    "balanced_accuracy",
    "features",
    "phi",
    "similar",
    "seconds",
    "version",
)
SIMILARITY_UP_TO = 8000
"""Columns of the widest table whose similarities (p × p floats, 0.5 GB) are computed."""


def permuted(data: fsframe.Dataset) -> fsframe.Dataset:
    """The table with its labels in a random order."""
    order = np.random.default_rng(0).permutation(data.n_samples)
    return attrs.evolve(data, y=data.y[order])


def chains(method: str, text: str) -> dict[str, str]:
    """The chain of each classifier behind a method, sizes to be tuned inside the folds."""
    sizes = "{" + ",".join(map(str, SIZES)) + "}"
    return {
        name: f"{text.replace('{SIZES}', sizes)} {ending}" for name, ending in CLASSIFIERS.items()
    }


def similar(kept: np.ndarray, alike: np.ndarray | None) -> float | None:
    """Stability over the folds where features that are much alike count as the same."""
    if alike is None or not kept.any():
        return None
    value = fsframe.stability_metrics["zucknick-corrected"](impute=0.0)(kept, alike).value
    return float(value)


def rows(
    name: str, data: fsframe.Dataset, label: str, method: str, text: str, work: Path, alike: Any
) -> Iterator[dict[str, Any]]:
    """One row for each classifier; for labels in a random order for the first alone."""
    texts = chains(method, text)
    if label == "permuted":
        texts = dict([next(iter(texts.items()))])
    folder = work / f"{name}-{label}" / method.translate(str.maketrans(" :,≤+", "-----"))
    found = fsframe.study(
        {name: data},
        chains=list(texts.values()),
        measures=["balanced-accuracy"],
        folds=5,
        inner_folds=3,
        out=folder,
    )
    for (classifier, _), chain in zip(texts.items(), found.chains, strict=True):
        run = found.result(chain, name, 0)
        evaluation = run.evaluation
        kept = np.asarray(run.stages[-1].tables["kept"], dtype=bool)
        yield {
            "table": name,
            "rows": data.n_samples,
            "columns": data.n_features,
            "classes": len(data.classes),
            "label": label,
            "method": method,
            "classifier": classifier,
            "balanced_accuracy": round(float(evaluation.measures["balanced-accuracy"].mean), 4),
            "features": round(float(kept.sum(axis=1).mean()), 1),
            "phi": rounded(evaluation.stability.value if evaluation.stability else None),
            "similar": rounded(similar(kept, alike)),
            "seconds": round(run.stages[-1].seconds, 2),
            "version": fsframe.__version__,
        }


def leak(name: str, data: fsframe.Dataset, work: Path) -> Iterator[dict[str, Any]]:
    """Thirty features chosen on all rows, test rows included, then cross-validated."""
    chosen = fsframe.selectors["anova-f"](top=30).select(data, seed=0).selected
    narrow = data.take_columns(np.sort(chosen))
    for row in rows(name, narrow, "permuted", LEAK, "variance:top=1.0", work, None):
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


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--methods", nargs="*", default=[], help="names, or NAME=CHAIN of your own")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    methods = dict(m.split("=", 1) if "=" in m else (m, METHODS[m]) for m in asked.methods)
    methods = methods or dict(METHODS)
    begun = time.monotonic()
    done = {(r["table"], r["label"], r["method"]) for r in read(asked.out)}
    for table in asked.tables.split(","):
        path = next(asked.data.glob(f"{table}.*"), None)
        if path is None:
            print(f"{table}: not in {asked.data}, left out")
            continue
        wanted = [(label, m) for label in ("true", "permuted") for m in methods]
        wanted += [("permuted", LEAK)] if not asked.methods else []
        wanted = [w for w in wanted if (table, *w) not in done]
        if not wanted:
            continue
        data = fsframe.read(path)
        alike = None
        if data.n_features <= SIMILARITY_UP_TO:
            with np.errstate(invalid="ignore"):
                alike = np.nan_to_num(np.abs(np.corrcoef(np.asarray(data.X), rowvar=False)))
            np.fill_diagonal(alike, 1.0)
        for label, method in wanted:
            if time.monotonic() - begun > 60 * asked.minutes:
                print("stopped by --minutes; the same command continues")
                return
            used = permuted(data) if label == "permuted" else data
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = list(
                    leak(table, used, asked.work)
                    if method == LEAK
                    else rows(table, used, label, method, methods[method], asked.work, alike)
                )
            new = not asked.out.exists()
            asked.out.parent.mkdir(parents=True, exist_ok=True)
            with asked.out.open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerows(made)
            took = sum(row["seconds"] for row in made)
            print(f"{table} {label} {method}: {took:.1f} s", flush=True)


if __name__ == "__main__":
    main()
