"""IM4E, BIM, I-RELIEF, LFE, Simba, MBIW and weighted kNN against the R package and a prototype."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.table.dataset import Dataset
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.nearest_kernels import Rows, instance_weights, margin_profiles
from fsframe_margin.engine.prediction import (
    boost,
    class_distances,
    nearest_class,
    relative_scores,
    sigma_path,
    vote,
)
from fsframe_margin.methods.im4e import descend_im4e
from fsframe_margin.methods.immigrate import descend
from fsframe_margin.methods.local_learning import Lfe, iterate
from fsframe_margin.methods.nearest_margins import Simba, SimbaMbiw, neighbour_votes

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


def test_mbiw_instance_weights_equal_the_prototype(reference, table):
    name, X, y = table
    rows = Rows(np.ascontiguousarray(X.T), np.zeros(X.shape[1]), y)
    profiles = margin_profiles(rows, np.ones(X.shape[1]))
    omega = instance_weights(profiles, np.ones(len(y)))
    np.testing.assert_allclose(omega, reference[f"{name}/mbiw"], rtol=1e-10)


def test_simba_weights_equal_the_prototype(reference, table):
    name, X, y = table
    found = Simba(order="given", standardize=False).select(Dataset.from_arrays(X, y))
    wanted = reference[f"{name}/simba/simba_natural_order"]
    np.testing.assert_allclose(found.tables["raw-weights"], wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("scale", "variant"), [("sum", "simbambiw_order"), ("mean", "simbambiw_order_timesN")]
)
def test_simba_mbiw_weights_equal_the_prototype(reference, table, scale, variant):
    name, X, y = table
    method = SimbaMbiw(strategy="order", instance_scale=scale, standardize=False)
    found = method.select(Dataset.from_arrays(X, y))
    wanted = reference[f"{name}/simba/{variant}"]
    np.testing.assert_allclose(found.tables["raw-weights"], wanted, rtol=1e-9, atol=1e-9)


def test_weighted_knn_leave_one_out_equals_the_prototype(reference, table):
    name, X, y = table
    raw = reference[f"{name}/simba/simbambiw_order"]
    w = raw**2 / (raw**2).max()
    omega = reference[f"{name}/mbiw"]
    for (k,) in reference.under(name, "wknn"):
        votes = [
            neighbour_votes(X[[i]], *(np.delete(array, i, axis=0) for array in (X, y)), w * w,
                            np.delete(omega, i), int(k), 2, np.zeros(len(w)))[0]
            for i in range(len(X))
        ]  # fmt: skip
        np.testing.assert_array_equal(np.argmax(votes, axis=1), reference[f"{name}/wknn/{k}"])


def test_lfe_matrix_equals_the_prototype(reference, table):
    name, X, y = table
    found = Lfe(standardize=False).select(Dataset.from_arrays(X, y))
    np.testing.assert_allclose(found.model["W"], reference[f"{name}/lfe"], atol=1e-10)


def test_bim_rounds_and_votes_equal_the_prototype(reference, table):
    name, X, y = table
    space, A = PairSpace(X, y), X.shape[1]
    start = np.eye(A) / np.sqrt(A)
    found = boost(
        space,
        sigma_path(4.0, 0.2, 8),
        2,
        lambda t: start,
        lambda space, start, sigma: (
            descend(
                space, start, sigma, rule="psd-clip", line_search=False, max_iter=5, tol=0.0,
                keep_best=False,
            ).weights
        ),
    )  # fmt: skip
    wanted = reference[f"{name}/bim-rounds"]
    np.testing.assert_allclose(found.every_sigma, wanted[:, 0], rtol=1e-12)
    np.testing.assert_allclose(found.every_error, wanted[:, 1], rtol=1e-10)
    np.testing.assert_allclose(found.alpha, wanted[:, 2], rtol=1e-10)
    for t in range(8):
        np.testing.assert_allclose(found.weights[t], reference[f"{name}/bim/{t}"], atol=1e-10)
    votes = vote(space, found, None, 2)
    np.testing.assert_array_equal(np.argmax(votes, axis=1), reference[f"{name}/bim-votes"][:, 0])


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
