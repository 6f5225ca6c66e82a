"""Σ, W, costs, IM4E and I-RELIEF against the R package and an independent prototype."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.prediction import (
    class_distances,
    nearest_class,
    relative_scores,
    training_distances,
)
from fsframe_margin.methods.im4e import descend_im4e
from fsframe_margin.methods.immigrate import descend
from fsframe_margin.methods.local_learning import iterate

TABLES = ("park", "syn_xor")
RULES = {"leave": "psd", "nn": "elementwise"}


@pytest.mark.parametrize("table", TABLES)
def test_gradient_equals_sigma_of_theorem_3_1(reference, table):
    space = PairSpace(*reference.table(table))
    for sigma, start in reference.under(table, "gradient"):
        point = space.point(reference[f"{table}/start/{start}"], float(sigma))
        wanted = reference[f"{table}/gradient/{sigma}/{start}"]
        found = space.gradient(point, float(sigma))
        assert np.abs(found - wanted).max() <= 1e-13 * np.abs(wanted).max()


def whole_steps(reference, table, sigma, start, rule, max_iter, **options):
    """A descent from a stored start without line search, of so many iterations."""
    return descend(
        PairSpace(*reference.table(table)), reference[f"{table}/start/{start}"], float(sigma),
        rule=rule, line_search=False, max_iter=max_iter, tol=0.0, **options,
    )  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_clipped_updates_without_line_search_equal_the_r_package(reference, table):
    stages = [s for s in reference.under(table, "package") if s[2].startswith("iter")]
    assert len(stages) == 18
    for sigma, start, stage in stages:
        updates = int(stage.removeprefix("iter"))
        found = whole_steps(reference, table, sigma, start, "psd-clip", updates, keep_best=False)
        wanted = reference[f"{table}/package/{sigma}/{start}/{stage}"]
        assert np.abs(found.weights - wanted).max() < 1e-10  # 1e-14 where this was written


@pytest.mark.parametrize("table", TABLES)
def test_cost_of_plain_iterations_equals_the_prototype(reference, table):
    for sigma, start, rule in reference.under(table, "cost"):
        found = whole_steps(reference, table, sigma, start, RULES[rule], 9)
        wanted = reference[f"{table}/cost/{sigma}/{start}/{rule}"]
        np.testing.assert_allclose(found.cost, wanted, rtol=1e-10)


@pytest.mark.parametrize("table", TABLES)
def test_line_search_ends_where_the_prototype_ends(reference, table):
    space = PairSpace(*reference.table(table))
    for sigma, start, rule in reference.under(table, "descent"):
        first = reference[f"{table}/start/{start}"]
        found = descend(space, first, float(sigma), rule=RULES[rule], max_iter=300, tol=1e-10)
        wanted = reference[f"{table}/descent/{sigma}/{start}/{rule}"]
        cost = reference[f"{table}/descent-cost/{sigma}/{start}/{rule}"][0]
        assert np.abs(found.weights - wanted).max() < 1e-3
        assert found.cost[-1] <= cost + 1e-6 * abs(cost)
        assert np.all(np.diff(found.cost) <= 0)
        assert found.converged


@pytest.mark.parametrize("protocol", ["train_loo", "train_self"])
@pytest.mark.parametrize("table", TABLES)
def test_predictions_equal_the_r_package(reference, table, protocol):
    X, y = reference.table(table)
    space = PairSpace(X, y)
    cases = [s[:2] for s in reference.under(table, "prediction") if s[2] == protocol]
    assert cases
    for sigma, start in cases:
        W = reference[f"{table}/package/{sigma}/{start}/package"]
        wanted = reference[f"{table}/prediction/{sigma}/{start}/{protocol}"]
        if protocol == "train_loo":
            distances = training_distances(space, W, float(sigma), 2)
        else:  # as new rows: each is its own neighbour
            distances = class_distances(space, W, float(sigma), X, 2)
        np.testing.assert_array_equal(nearest_class(distances), wanted[:, 1])
        np.testing.assert_allclose(-relative_scores(distances), wanted[:, 2:], atol=1e-10)


# IM4E and I-RELIEF, and the steps of Simba


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
