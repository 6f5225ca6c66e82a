"""Stability of a chain: the sets it keeps, the sizes along its rankings, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.errors import DataError, RequestError
from fsframe.evaluation.stability_study import StabilityStudy
from fsframe.method.run import Run
from fsframe.registry import stability_metrics
from fsframe.table.dataset import Dataset
from tests.evaluation.tables import separated


def table(n=60, **options):
    """Half of the columns tell the classes apart, the first best."""
    return separated(n, 10, signal=np.linspace(1.5, 0.5, 5), **options)


def studied(data, base="anova-f:top=4", run=None, **options):
    return StabilityStudy(base=base, **{"n": 8, **options}).select(data, run=run, seed=1)


def test_values_are_the_metrics_of_the_kept_sets_or_rankings():
    names = ("nogueira", "kuncheva", "jaccard")
    study = studied(table(), metric=(*names, "spearman"))
    kept = study.tables["kept"]
    assert kept.shape == (8, 10) and (kept.sum(axis=1) == 4).all()
    for name in names:
        expected = float(stability_metrics[name]()(kept))
        assert study.tables[f"stability-{name}"][0] == expected
    assert study.scores.tolist() == kept.mean(axis=0).tolist()
    assert -1 <= study.tables["stability-spearman"][0] <= 1
    assert "sizes-spearman" not in study.tables


def test_sizes_are_measured_along_the_rankings():
    study = studied(table(), metric=("kuncheva",))
    orders = study.tables["orders"]
    assert np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(10), (8, 1)))
    metric = stability_metrics["kuncheva"]()
    for size in (1, 4, 7):
        kept = np.zeros((8, 10), dtype=bool)
        np.put_along_axis(kept, orders[:, :size], True, axis=1)
        assert study.tables["sizes-kuncheva"][size - 1] == pytest.approx(float(metric(kept)))
    assert np.isnan(study.tables["sizes-kuncheva"][9])
    assert studied(table(), metric=("kuncheva",), sizes=3).tables["sizes-kuncheva"].size == 3


@pytest.mark.parametrize("resample", ["subsample", "bootstrap", "folds"])
def test_rows_are_drawn_as_asked(resample, test_methods):
    data = table(40)
    share = {"fraction": 0.5} if resample == "subsample" else {}
    studied(data, base="witness", resample=resample, n=5, metric=("jaccard",), **share)
    seen = test_methods.Witness.seen
    assert len(seen) == 5
    for _, values, labels in seen:
        if resample == "subsample":
            assert len(values) == 20 == np.unique(values).size and labels.sum() == 10
        elif resample == "bootstrap":
            assert len(values) == 40 and np.unique(values).size < 40 and labels.sum() == 20
        else:
            assert len(values) == 32 == np.unique(values).size
    if resample == "folds":
        left_out = [set(data.X[:, 0]) - set(values) for _, values, _ in seen]
        assert sum(map(len, left_out)) == 40 and set.union(*left_out) == set(data.X[:, 0])


def test_similarity_is_the_absolute_correlation():
    data = table()
    X = data.X.copy()
    X[:, 9] = -3 * X[:, 0] + 1
    X[:, 8] = 0.1
    same = Dataset.from_arrays(X, data.y)
    study = studied(same, metric=("zucknick",))
    alike = np.abs(np.corrcoef(np.delete(X, 8, axis=1).T))
    full = np.insert(np.insert(alike, 8, 0.0, axis=0), 8, 0.0, axis=1)
    np.fill_diagonal(full, 1.0)
    expected = float(stability_metrics["zucknick"]()(study.tables["kept"], full))
    assert study.tables["stability-zucknick"][0] == pytest.approx(expected, rel=1e-9)


def test_unequal_sets_leave_a_measure_of_equal_ones_undefined_and_say_why():
    study = studied(table(30), base="gflip", metric=("kuncheva",), n=10)
    assert np.unique(study.tables["kept"].sum(axis=1)).size > 1
    assert np.isnan(study.tables["stability-kuncheva"][0])
    assert any("kuncheva is not defined here" in warning for warning in study.warnings)


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (table(), {"base": "anova-f:top=10"}, "nogueira is not defined for sets of 10 of 10"),
        (table(), {"base": "anova-f:top=1.0", "metric": ("kuncheva",)}, "kuncheva is not defined"),
        (table(12), {"resample": "folds", "n": 13}, "12 rows cannot be split into 13 folds"),
        (
            Dataset.from_arrays([[np.nan, 1.0], [2, 2], [3, 3], [1, 1]], [0, 1, 0, 1]),
            {"base": "immigrate"},
            "missing values",
        ),
        (
            table(),
            {"metric": ("zucknick",), "run": Run(memory=1000)},
            r"similarity of all pairs of 10 features",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_before_work(no_work, data, options, words):
    with pytest.raises((DataError, RequestError), match=words):
        studied(data, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": "[kuncheva,no-such]"}, "no-such"),
        ({"fraction": "1"}, "fraction=1"),
        ({"resample": "bootstrap", "fraction": "0.5"}, "fraction is for resample=subsample"),
        ({"base": "knn"}, "selects nothing"),
        ({"base": "mim:top=0"}, "top"),
        ({"n": "1"}, "n must be"),
        ({"top": "3"}, "top is for the chain"),
    ],
)
def test_a_wrong_request_is_refused(options, words):
    with pytest.raises(RequestError, match=words):
        StabilityStudy.from_texts({"base": "mim", **options})


def test_what_an_outer_resample_drew_twice_is_drawn_twice(test_methods):
    studied(table(40).with_counts(np.full(40, 2)), base="witness", n=2, fraction=0.5)
    for _, values, _ in test_methods.Witness.seen:
        assert len(values) == 40 and np.unique(values).size == 20


def test_in_rankings_what_was_not_considered_comes_last(monkeypatch):
    matrices = []
    spearman = stability_metrics["spearman"]
    real = spearman._measure
    monkeypatch.setattr(
        spearman, "_measure", lambda self, m, s=None: (matrices.append(m), real(self, m, s))[1]
    )
    study = studied(table(), base="anova-f:top=3 mim:top=2", metric=("spearman",))
    for scores, order in zip(matrices[0], study.tables["orders"], strict=True):
        assert set(np.argsort(-scores)[:2]) == set(order[:2])
