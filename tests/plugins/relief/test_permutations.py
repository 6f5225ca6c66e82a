"""p-values: the matrix products against refits one by one, their level, and their adjustment."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.resampling.groups import permuted_rows
from fsframe.table.dataset import Dataset
from fsframe_relief.engine.columns import prepare_columns
from fsframe_relief.engine.feature_scores import feature_scores
from fsframe_relief.engine.neighbours import Ball, Nearest, Radius, Sigmoid, Target
from fsframe_relief.engine.permutations import adjusted, permutation_p_values
from tests.plugins.shared import people

from .conftest import make_table, method

RULES = {
    "surf": Radius(),
    "surfstar": Radius(star=True),
    "multisurf": Radius(own=True),
    "multisurfstar": Radius(own=True, star=True),
    "swrfstar": Sigmoid(),
    "nearest": Nearest(k=4),
    "ball": Ball(least=3),
}


def problem(gaps, rule, numeric=False, bootstrap=False):
    """Columns, a rule and a target, and how the target of moved instances is made."""
    X, y, discrete = make_table("mixed", n=40, gaps=gaps, seed=2)
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 4, 40).astype(float) if bootstrap else np.ones(40)
    y, value = (np.zeros(40, int), rng.random(40)) if numeric else (np.sort(y), None)
    if numeric:
        value = (value - value.min()) / np.ptp(value)
    sizes = np.bincount(y, weights=counts)

    def target(moved):
        """That of labels which are dealt out in this order, and the rows in order of class."""
        order = np.argsort(y[moved], kind="stable")
        made = Target(
            y=y[moved][order],
            prior=sizes / sizes.sum(),
            counts=counts[order],
            omega=counts[order] / counts.sum(),
            value=None if value is None else value[moved][order],
            alike=0.25 if numeric and "star" in rule else None,
        )
        return made, order

    return X, discrete, target


CASES = [
    *((rule, False, False) for rule in RULES),
    *((rule, False, True) for rule in RULES if rule not in ("nearest", "ball")),
    *((rule, True, False) for rule in RULES if rule != "ball"),
]


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize(("rule", "numeric", "bootstrap"), CASES)
def test_p_values_equal_those_of_refits(rule, numeric, bootstrap, gaps):
    X, discrete, target = problem(gaps, rule, numeric, bootstrap)
    columns, given = prepare_columns(X, discrete), target(np.arange(40))[0]
    found = permutation_p_values(columns, RULES[rule], given, 30, np.random.default_rng(5))
    rng, results = np.random.default_rng(5), []
    for t in range(31):
        moved = rng.permutation(40) if t else np.arange(40)
        if given.alike is not None or (not numeric and rule in ("nearest", "ball")):
            # Neighbours that hang on the labels: instances are moved, under fixed labels.
            moved = np.argsort(moved)
        made, order = target(moved)
        results.append(feature_scores(prepare_columns(X[order], discrete), RULES[rule], made))
    truth = (1 + sum(scores >= results[0] - 1e-12 for scores in results[1:])) / 31
    truth[-1] = 1.0
    np.testing.assert_allclose(found, truth, atol=1e-12)


def test_the_interacting_pair_is_significant_and_the_noise_is_not(table):
    data = table("gametes2way.csv")
    rows = np.random.default_rng(0).permutation(1600)[:400]
    data = attrs.evolve(data, matrix=data.X[rows], y=data.y[rows])
    found = method("multisurf", permutations=199, level=0.05).select(data)
    assert {data.feature_names[c] for c in found.selected} == {"P1", "P2"}
    np.testing.assert_allclose(found.tables["p_values"][found.selected], 1 / 200)


def test_adjustment_follows_benjamini_and_hochberg_and_leaves_gaps_out():
    # Table 1 of Benjamini & Hochberg 1995 has 15 p-values; the first four are kept at 0.05.
    p = np.array(
        [
            *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
            *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0),
        ]
    )
    q = adjusted(np.append(p, np.nan), "benjamini-hochberg")
    assert (q[:15] <= 0.05).sum() == 4
    assert np.isnan(q[15])
    assert q[3] == pytest.approx(0.0095 * 15 / 4)
    np.testing.assert_array_equal(adjusted(p, "none"), p)


def test_more_labellings_than_memory_holds_are_refused_with_their_size():
    X, y, _ = make_table("continuous")
    data = Dataset.from_arrays(X, y)
    most = (1 << 20) // 16 // data.n_samples - 1
    small = Run(memory=1 << 20)
    with pytest.raises(RequestError, match=rf"of row numbers, .* ask for at most {most}, or allow"):
        method("relieff", k=3, permutations=most + 1).select(data, run=small)
    assert method("surf", permutations=most).select(data, run=small).tables["p_values"].size


def test_labels_are_dealt_out_to_whole_people_and_the_level_holds():
    surf = method("surf:permutations=39,top=1")
    shares = {True: [], False: []}
    for seed in range(30):
        data = people(seed)
        for grouped in shares:
            table = data if grouped else attrs.evolve(data, groups=None)
            p = surf.select(table, seed=seed).tables["p_values"]
            shares[grouped].append((p <= 0.05).mean())
    # 300 p-values, ten of each table alike: a standard error of 0.02 at most.
    assert np.mean(shares[True]) <= 0.05 + 0.04
    assert np.mean(shares[False]) >= 0.2


def test_an_order_of_rows_keeps_groups_whole():
    groups = np.array([0, 0, 1, 1, 2, 2, 2, 3, 3, 4])
    y = np.array([0, 0, 1, 1, 0, 0, 0, 1, 0, 1])
    seen = set()
    for seed in range(40):
        order = permuted_rows(y, groups, np.random.default_rng(seed))
        assert sorted(order.tolist()) == list(range(10))
        moved = y[order]
        assert moved[0] == moved[1] and moved[2] == moved[3] and not moved[4:7].any()
        assert sorted(order[7:9].tolist()) == [7, 8] and order[9] == 9
        seen.add(tuple(moved.tolist()))
    assert len(seen) == 4
