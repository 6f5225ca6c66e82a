"""Σ, W and costs against the R package and an independent prototype."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.prediction import nearest_class, relative_scores, training_distances
from fsframe_margin.methods.immigrate import descend

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


@pytest.mark.parametrize("table", TABLES)
def test_clipped_updates_without_line_search_equal_the_r_package(reference, table):
    space = PairSpace(*reference.table(table))
    stages = [s for s in reference.under(table, "package") if s[2].startswith("iter")]
    assert len(stages) == 18
    for sigma, start, stage in stages:
        found = descend(
            space,
            reference[f"{table}/start/{start}"],
            float(sigma),
            rule="psd-clip",
            line_search=False,
            max_iter=int(stage.removeprefix("iter")),
            tol=0.0,
            keep_best=False,
        )
        wanted = reference[f"{table}/package/{sigma}/{start}/{stage}"]
        assert np.abs(found.weights - wanted).max() < 1e-10  # 1e-14 where this was written


@pytest.mark.parametrize("table", TABLES)
def test_cost_of_plain_iterations_equals_the_prototype(reference, table):
    space = PairSpace(*reference.table(table))
    for sigma, start, rule in reference.under(table, "cost"):
        found = descend(
            space,
            reference[f"{table}/start/{start}"],
            float(sigma),
            rule=RULES[rule],
            line_search=False,
            max_iter=9,
            tol=0.0,
        )
        wanted = reference[f"{table}/cost/{sigma}/{start}/{rule}"]
        np.testing.assert_allclose(found.cost, wanted, rtol=1e-10)


@pytest.mark.parametrize("table", TABLES)
def test_line_search_ends_where_the_prototype_ends(reference, table):
    space = PairSpace(*reference.table(table))
    for sigma, start, rule in reference.under(table, "descent"):
        found = descend(
            space,
            reference[f"{table}/start/{start}"],
            float(sigma),
            rule=RULES[rule],
            max_iter=300,
            tol=1e-10,
        )
        wanted = reference[f"{table}/descent/{sigma}/{start}/{rule}"]
        cost = reference[f"{table}/descent-cost/{sigma}/{start}/{rule}"][0]
        assert np.abs(found.weights - wanted).max() < 1e-3
        assert found.cost[-1] <= cost + 1e-6 * abs(cost)
        assert np.all(np.diff(found.cost) <= 0)
        assert found.converged


@pytest.mark.parametrize("table", TABLES)
def test_training_predictions_leave_one_out_equal_the_r_package(reference, table):
    X, y = reference.table(table)
    space = PairSpace(X, y)
    for sigma, start, protocol in reference.under(table, "prediction"):
        if protocol != "train_loo":
            continue
        W = reference[f"{table}/package/{sigma}/{start}/package"]
        wanted = reference[f"{table}/prediction/{sigma}/{start}/{protocol}"]
        distances = training_distances(space, W, float(sigma), 2)
        np.testing.assert_array_equal(nearest_class(distances), wanted[:, 1])
        np.testing.assert_allclose(-relative_scores(distances), wanted[:, 2:], atol=1e-10)


def test_predictions_of_new_rows_equal_the_r_package(reference):
    # `train_self` treats training rows as new ones: each is its own neighbour
    from fsframe_margin.engine.prediction import class_distances

    for table in TABLES:
        X, y = reference.table(table)
        space = PairSpace(X, y)
        for sigma, start, protocol in reference.under(table, "prediction"):
            if protocol != "train_self":
                continue
            W = reference[f"{table}/package/{sigma}/{start}/package"]
            wanted = reference[f"{table}/prediction/{sigma}/{start}/{protocol}"]
            distances = class_distances(space, W, float(sigma), X, 2)
            np.testing.assert_array_equal(nearest_class(distances), wanted[:, 1])
            np.testing.assert_allclose(-relative_scores(distances), wanted[:, 2:], atol=1e-10)
