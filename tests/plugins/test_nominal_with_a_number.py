"""Nominal columns with a numeric target: levels may be called anything, in every family."""

import numpy as np
import pytest

import fsframe
from fsframe.errors import DataError
from fsframe.table.dataset import Dataset

LEVELS = 6
RENAMED = {
    "in another order": ([4, 0, 5, 2, 1, 3], [1, 0]),
    "far apart": ([10, -3, 77, 2.5, 1000, 0], [7, 3]),
}
TAKEN = [
    *("anova-f", "mim", "mim:discretise=mdl", "cmim", "jmi", "mrmr", "fcbf", "chi2", "correlation"),
    *("interactions", "relieff", "rrelieff", "surf", "multisurf", "vls", "relieff:permutations=99"),
    *("surfstar", "multisurfstar:permutations=99", "swrfstar"),
    *("mim turf:base=rrelieff", "mim:top=4 npfs:base=mim,n=10,permutations=29"),
]
NUMBERS_ONLY = ("lasso", "elastic-net", "rfe", "importance", "boruta")


def _table(levels=range(LEVELS), two=(0, 1), n=80):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 5))
    level, half = rng.integers(0, LEVELS, n), rng.integers(0, 2, n)
    y = np.array([0.0, 3, -1, 2, -2, 1])[level] + X[:, 0] + 0.3 * rng.standard_normal(n)
    X[:, 1], X[:, 4] = np.array(list(levels))[level], np.array(two)[half]
    return Dataset.from_arrays(X, y, list("abcde"), categorical=[1, 4], task="regression")


@pytest.mark.parametrize("chain", TAKEN)
def test_renaming_levels_changes_nothing(chain):
    stages = fsframe.Chain.parse(chain)
    found = stages.run(_table(), seed=1)
    assert found.selected.size or "interactions" in chain
    for levels in RENAMED.values():
        other = stages.run(_table(*levels), seed=1)
        assert other.selected.tolist() == found.selected.tolist()
        # Sums over levels go in the order of their codes: the last bits may differ.
        assert other.scores == pytest.approx(found.scores, rel=1e-9, abs=1e-12, nan_ok=True)


def test_anova_f_is_that_of_groups_for_levels():
    from scipy.stats import f_oneway

    data = _table()
    groups = [data.y[data.X[:, 1] == level] for level in range(LEVELS)]
    scores = fsframe.Chain.parse("anova-f:rank_by=statistic").run(data).scores
    assert scores[1] == pytest.approx(f_oneway(*groups).statistic, rel=1e-10)


def test_relieff_gives_0_to_a_column_whose_level_all_neighbours_share():
    # 25 rows for each pair of levels: the nearest 10 differ in none, and nothing is learned of it.
    scores = fsframe.Chain.parse("relieff:k=10").run(_table(n=300)).scores
    assert scores[1] == 0 and scores[4] == 0 < scores[0]


@pytest.mark.parametrize("predictor", ["knn", "weighted-knn", "ridge"])
def test_predictions_do_not_depend_on_what_levels_are_called(predictor):
    kinds = fsframe.regressors if predictor == "ridge" else fsframe.classifiers

    def predictions(*levels):
        data = _table(*levels, n=300)
        fitted = kinds[predictor]().fit(data.take_rows(np.arange(240)))
        return np.asarray(fitted.predict(data.X[240:])), data.y[240:]

    found, y = predictions()
    assert np.mean((found - y) ** 2) < 0.8 * np.var(y)
    for levels in RENAMED.values():
        assert predictions(*levels)[0] == pytest.approx(found, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", NUMBERS_ONLY)
def test_what_reads_numbers_refuses_levels_by_name_and_takes_them_encoded(name):
    with pytest.raises(DataError, match=rf"{name} .*'b', 'e'.*--encode onehot"):
        fsframe.Chain.parse(name).run(_table())
    if name in ("lasso", "rfe"):
        found = fsframe.Chain.parse(name).run(_table().encoded("onehot"), seed=1).selected_names
        assert any(feature.startswith("b=") for feature in found)
