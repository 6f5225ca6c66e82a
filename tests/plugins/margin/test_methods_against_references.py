"""IM4E against the R package, I-RELIEF against a prototype, and the steps of Simba."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.table.dataset import Dataset
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.prediction import (
    class_distances,
    nearest_class,
    relative_scores,
)
from fsframe_margin.methods.im4e import descend_im4e
from fsframe_margin.methods.local_learning import iterate
from fsframe_margin.methods.nearest_margins import Simba

TABLES = ("park", "syn_xor")


@pytest.fixture(params=TABLES)
def table(request, reference):
    return request.param, *reference.table(request.param)


def test_im4e_weights_equal_the_r_package_after_1_2_and_10_updates(reference, table):
    name, X, y = table
    space, A = PairSpace(X, y, linear=True), X.shape[1]
    cases = reference.under(name, "im4e")
    assert len(cases) == 9
    for sigma, updates in cases:
        found = descend_im4e(
            space,
            np.full(A, 1 / A),
            float(sigma),
            max_iter=int(updates),
            tol=0.0,
            keep_best=False,
        )
        wanted = reference[f"{name}/im4e/{sigma}/{updates}"]
        assert np.abs(found.weights - wanted).max() < 1e-10


def test_im4e_predictions_of_rows_among_themselves_equal_the_r_package(reference, table):
    name, X, y = table
    space = PairSpace(X, y, linear=True)
    for sigma, protocol in reference.under(name, "im4e-prediction"):
        w = reference[f"{name}/im4e-final/{sigma}"]
        wanted = reference[f"{name}/im4e-prediction/{sigma}/{protocol}"]
        distances = class_distances(space, w, float(sigma), X, 2)
        np.testing.assert_array_equal(nearest_class(distances), wanted[:, 1])
        np.testing.assert_allclose(-relative_scores(distances), wanted[:, 2:], atol=1e-10)


def test_irelief_weights_equal_the_prototype_also_where_they_never_settle(reference, table):
    name, X, y = table
    A = X.shape[1]
    for (sigma,) in reference.under(name, "irelief"):
        found = iterate(
            PairSpace(X, y, linear=True),
            np.full(A, 1 / np.sqrt(A)),
            float(sigma),
            max_iter=100,
            tol=1e-10,
        )
        np.testing.assert_allclose(found.weights, reference[f"{name}/irelief/{sigma}"], atol=1e-9)
        assert found.converged == (name == "park")


def test_small_steps_of_simba_add_up_to_the_gradient_at_equal_weights():
    # w − 1 over the size of the step, as that goes to zero, is the sum of all rows' Δ at w = 1.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), np.arange(40) % 2
    gradient = np.zeros(4)
    for i in range(40):
        d = np.sqrt(((X - X[i]) ** 2).sum(axis=1))
        d[i] = np.inf
        hit = np.argmin(np.where(y == y[i], d, np.inf))
        miss = np.argmin(np.where(y != y[i], d, np.inf))
        gradient += 0.5 * ((X[i] - X[miss]) ** 2 / d[miss] - (X[i] - X[hit]) ** 2 / d[hit])
    data = Dataset.from_arrays(X, y)
    found = Simba(step=1e-7, standardize=False).select(data, seed=0)
    np.testing.assert_allclose((found.tables["raw-weights"] - 1) / 1e-7, gradient, rtol=1e-4)
    one, other = (Simba(step=s).select(data, seed=0).scores for s in ("1/n", 1 / 40))
    np.testing.assert_array_equal(one, other)
