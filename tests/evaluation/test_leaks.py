"""Nothing leaks: on pure noise every chain is at chance, and a leak is caught when there is one.

A smaller copy of ``benchmarks/published/leaks.py``, which looks at 50 × 5000 tables over 20 seeds.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fsframe.chains.chain import Chain
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.summary import summarise
from fsframe.registry import selectors
from fsframe.table.dataset import Dataset

SEEDS, ROWS, COLUMNS = 6, 40, 200
SCREEN = "anova-f:top=15"
# What is slow on many columns, wraps another selector, or has no `top`.
SETTINGS = {
    "immigrate": f"{SCREEN} immigrate:max-iter=3",
    "bim": f"{SCREEN} bim:rounds=2,top=5",
    "lfe": f"{SCREEN} lfe:top=5",
    "gflip": f"{SCREEN} gflip:max-passes=1",
    "logo": f"{SCREEN} logo:max-iter=2",
    "irelief": f"{SCREEN} irelief:top=5",
    "jmi3": f"{SCREEN} jmi3:top=4",
    "mbiw": f"{SCREEN} mbiw",
    "fcbf": "fcbf",
    "interactions": "anova-f:top=6 interactions:keep=3,calibrate=0",
    "interactions-split": "anova-f:top=6 interactions-split:top=4,draws=20",
    "cmim": "cmim:top=4",
    "boruta": f"{SCREEN} boruta:trees=5,max_runs=2,top=5",
    "sklearn-selector": "sklearn-selector:estimator=SelectKBest",
    "importance": f"{SCREEN} importance:of=LogisticRegression,top=5",
    "rfe": f"{SCREEN} rfe:top=5",
    "rfecv": f"{SCREEN} rfecv:step=10,folds=2",
    "sequential": "anova-f:top=4 sequential:top=1,folds=2",
    "turf": "relieff:top=10 turf",
    "iterative-relief": f"{SCREEN} iterative-relief:top=5",
    "npfs": "anova-f:top=40 npfs:null=published,n=10",
    "ensemble": "anova-f:top=10 ensemble:n=5",
    "cpss": "anova-f:top=10 cpss:pairs=3,top=5",
    "ipss": "anova-f ipss:pairs=3,top=5",
    "knockoffs": "anova-f:top=20 knockoffs:base=anova-f,copies=1,top=5",
    "stability-study": "stability-study:base=anova-f:top=10,n=4,sizes=10",
    "cross-validation": "cross-validation:base=(anova-f:top=10 knn),folds=3,repeats=1",
}
LEFT_OUT = {
    "rrelieff": "for a numeric target only",
    "cox-score": "for times only; tests/plugins/survival has its own",
}


def noise(seed):
    generator = np.random.default_rng([seed, 77])
    label = generator.permutation(np.arange(ROWS) % 2)
    return Dataset.from_arrays(generator.standard_normal((ROWS, COLUMNS)), label)


def measured(chain, data):
    method = CrossValidation(base=chain, classifier="knn:k=3", folds=3, repeats=1)
    return summarise(method.select(data)).measures["accuracy"].mean


def lowest_plausible(accuracies):
    """Lower bound of the mean accuracy over independent tables: 99.95 %, Student's t."""
    values = np.asarray(accuracies)
    reach = stats.t.ppf(0.9995, values.size - 1) * values.std(ddof=1) / values.size**0.5
    return values.mean() - reach


@pytest.fixture(scope="module")
def tables():
    return [noise(seed) for seed in range(SEEDS)]


@pytest.mark.parametrize("name", [name for name in selectors if name not in LEFT_OUT])
def test_no_selector_finds_anything_in_noise(name, tables):
    chain = SETTINGS.get(name, f"{name}:top=10")
    accuracies = [measured(chain, data) for data in tables]
    assert lowest_plausible(accuracies) <= 0.5, accuracies
    # Nor is it off in the other direction: that would be a fault of the folds.
    assert -lowest_plausible([-a for a in accuracies]) >= 0.4, accuracies


def test_every_selector_left_out_is_registered():
    assert set(LEFT_OUT) <= set(selectors) and set(SETTINGS) <= set(selectors)


def test_a_selector_that_remembers_test_rows_is_caught(test_methods, tables):
    accuracies = []
    for data in tables:
        test_methods.Leaky.whole = data
        accuracies.append(measured("leaky", data))
    assert lowest_plausible(accuracies) > 0.5, accuracies


def test_selection_before_validation_is_caught(tables):
    accuracies = []
    for data in tables:
        chosen = Chain.parse("anova-f:top=10").select(data).selected
        accuracies.append(measured("mbiw:top=1.0", data.take_columns(np.sort(chosen))))
    assert lowest_plausible(accuracies) > 0.5, accuracies
