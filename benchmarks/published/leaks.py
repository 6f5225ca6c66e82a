"""Does anything leak? Every registered selector on pure noise, evaluated as by `evaluate`.

    python benchmarks/published/leaks.py [--seeds 20] [--quick]

Each seed is a table of 50 rows × 5000 normal columns with a label in random order, 25 of each
class. A sound protocol predicts half of the rows. Tables are independent, so the t-interval of the
mean over seeds is valid; a chain is reported if the whole interval lies above one half. As a
positive control, the same features are also chosen on the whole table before validation.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from cells import HERE, RESULTS
from result_tables import percent, write_tables
from scipy import stats

from fsframe.chains.chain import Chain
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.summary import summarise
from fsframe.registry import selectors
from fsframe.table.dataset import Dataset

SCREEN = "anova-f:top=40"
# What takes long on 5000 columns, or needs a base; the others run alone with top=10.
SETTINGS = {
    "immigrate": f"{SCREEN} immigrate",
    "bim": f"{SCREEN} bim:rounds=5,top=10",
    "lfe": f"{SCREEN} lfe:top=10",
    "gflip": f"{SCREEN} gflip",
    "logo": f"{SCREEN} logo",
    "irelief": f"{SCREEN} irelief:top=10",
    "jmi3": f"{SCREEN} jmi3:top=5",
    "mbiw": f"{SCREEN} mbiw",
    "fcbf": "fcbf",
    "turf": "relieff:top=10 turf",
    "iterative-relief": "relieff:top=100 iterative-relief:top=10",
    "vls": "vls:top=10",
    "npfs": "anova-f:top=100 npfs:null=published,n=20",
    "ensemble": "anova-f:top=10 ensemble:n=10",
    "cpss": "anova-f:top=10 cpss:pairs=5,top=10",
    "ipss": "anova-f ipss:pairs=5,top=10",
    "knockoffs": "anova-f:top=20 knockoffs:base=anova-f,copies=1,top=10",
    "stability-study": "stability-study:base=anova-f:top=10,n=5,sizes=10",
    "cross-validation": "cross-validation:base=(anova-f:top=10 knn),folds=3,repeats=1",
    "interactions": "anova-f:top=10 interactions:keep=5,calibrate=0",
    "interactions-split": "anova-f:top=10 interactions-split:top=5,draws=20",
    "boruta": f"{SCREEN} boruta:trees=20,max_runs=5,top=10",
    "sklearn-selector": "sklearn-selector:estimator=SelectKBest",
    "importance": f"{SCREEN} importance:of=LogisticRegression,top=10",
    "rfe": f"{SCREEN} rfe:top=10",
    "rfecv": f"{SCREEN} rfecv:step=5,folds=3",
    "sequential": "anova-f:top=10 sequential:top=3,folds=3",
    "lasso": f"{SCREEN} lasso:top=10",
    "elastic-net": f"{SCREEN} elastic-net:top=10",
    "correlation": f"{SCREEN} correlation",
    "impute": f"impute {SCREEN}",
    "variance": "variance:top=100",
}
# Which registered selectors are left out, and why.
LEFT_OUT = {
    "rrelieff": "for a numeric target only",
    "cox-score": "for times only; tests/plugins/survival/test_survival.py has its own",
}
FOLDS = 5


def noise(seed: int, rows: int = 50, columns: int = 5000) -> Dataset:
    """A table of noise with a random label."""
    generator = np.random.default_rng([seed, rows, columns])
    label = generator.permutation(np.arange(rows) % 2)
    return Dataset.from_arrays(generator.standard_normal((rows, columns)), label, name="noise")


def chains() -> Iterator[str]:
    """One chain for every registered selector, with the stages that it needs on its left."""
    for name in selectors:
        if name not in LEFT_OUT:
            yield SETTINGS.get(name, f"{name}:top=10")


def measured(chain: str, data: Dataset, seed: int = 0) -> float:
    """Accuracy of a chain with three nearest neighbours, as `fsframe evaluate` gives it."""
    method = CrossValidation(base=chain, classifier="knn:k=3", folds=FOLDS, repeats=1)
    return summarise(method.select(data, seed=seed)).measures["accuracy"].mean


def leaky(chain: str, data: Dataset, seed: int = 0) -> float:
    """The same, but the features are chosen on all rows before the folds are made."""
    chosen = np.sort(Chain.parse(chain).select(data, seed=seed).selected)
    method = CrossValidation(base="knn:k=3", folds=FOLDS, repeats=1)
    table = data.take_columns(chosen)
    return summarise(method.select(table, seed=seed)).measures["accuracy"].mean


@attrs.frozen
class Verdict:
    """Accuracies over independent tables: mean, t-interval, and whether a leak is shown."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, accuracies: list[float], level: float = 0.999) -> Verdict:
        """The verdict on one accuracy per table."""
        values = np.asarray(accuracies)
        mean, spread = float(values.mean()), float(values.std(ddof=1))
        reach = float(stats.t.ppf(0.5 + level / 2, values.size - 1)) * spread / values.size**0.5
        return cls(mean, mean - reach, mean + reach)

    @property
    def leak(self) -> bool:
        """Whether significantly more than half of the rows are predicted correctly."""
        return self.low > 0.5


class Kept:
    """Accuracies by chain, stored in a file, so that a stopped run can be continued."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held = json.loads(path.read_text()) if path.exists() else {}

    def get(self, chain: str, compute: Callable[[], list[float]]) -> list[float]:
        """The accuracies of a chain; those that are not stored are computed."""
        if chain not in self._held:
            began = time.perf_counter()
            self._held[chain] = compute()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            partial = self._path.with_suffix(".partial")
            partial.write_text(json.dumps(self._held))
            partial.replace(self._path)
            mean, seconds = np.mean(self._held[chain]), time.perf_counter() - began
            print(f"{chain:60.60} {mean:.3f} {seconds:7.1f} s", flush=True)
        found: list[float] = self._held[chain]
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="6 tables of 500 columns")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--work", type=Path, default=HERE / "work", help="what is finished")
    options = parser.parse_args()
    seeds, columns = (6, 500) if options.quick else (options.seeds, 5000)
    tables = [noise(seed, columns=columns) for seed in range(seeds)]
    rows: list[list[Any]] = []
    kept = Kept(options.work / f"leaks-{seeds}-{columns}.json")
    for chain in chains():
        verdict = Verdict.of(kept.get(chain, lambda c=chain: [measured(c, d) for d in tables]))
        rows.append(_row(chain, "inside the folds", verdict))
    for chain in ("anova-f:top=10", "relieff:top=10", "mim:top=10"):
        found = kept.get(f"leaky {chain}", lambda c=chain: [leaky(c, d) for d in tables])
        rows.append(_row(chain, "before the folds (leaky)", Verdict.of(found)))
    notes = [
        f"50 rows × {columns} columns of noise, {seeds} tables, stratified {FOLDS}-fold, knn with "
        "k = 3. Interval: 99.9 %, Student's t over the tables; wide, for some sixty chains "
        "are looked at. Stratified folds of a balanced table "
        "put the expectation a little below one half: whatever is more frequent in training is "
        "rarer in the test part.",
        f"{sum(row[-1] == 'leak' for row in rows[:-3])} of {len(rows) - 3} chains leak; "
        f"{sum(row[-1] == 'leak' for row in rows[-3:])} of 3 leaky protocols are caught.",
        "Left out: " + ", ".join(f"{name} ({why})" for name, why in LEFT_OUT.items()) + ".",
    ]
    header = ["chain", "selection", "accuracy %", "from", "to", "verdict"]
    write_tables(options.results, "leaks", header, rows, "Selection on pure noise", notes)


def _row(chain: str, where: str, verdict: Verdict) -> list[Any]:
    bounds = [percent(verdict.mean), percent(verdict.low), percent(verdict.high)]
    return [f"`{chain}`", where, *bounds, "leak" if verdict.leak else "at chance"]


if __name__ == "__main__":
    main()
