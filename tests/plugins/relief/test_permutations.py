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
from fsframe_relief.methods.variants import Multisurf, Multisurfstar, Relieff, Surf

from .test_references import make_table

RULES = {
    "surf": Radius(),
    "surfstar": Radius(star=True),
    "multisurf": Radius(own=True),
    "multisurfstar": Radius(own=True, star=True),
    "swrfstar": Sigmoid(),
    "nearest": Nearest(k=4),
}


def one_by_one(X, discrete, y, value, counts, rule, permutations, seed, **options):
    """p-values by refitting the scores under every labelling."""
    n = len(y)
    labellings = [np.arange(n)]
    generator = np.random.default_rng(seed)
    labellings += [generator.permutation(n) for _ in range(permutations)]
    sizes = np.bincount(y, weights=counts)
    results = []
    for moved in labellings:
        labels = y[moved]
        order = np.argsort(labels, kind="stable")
        target = Target(
            y=labels[order],
            prior=sizes / sizes.sum(),
            counts=counts[order],
            omega=counts[order] / counts.sum(),
            value=None if value is None else value[moved][order],
        )
        columns = prepare_columns(X[order], discrete, **options)
        results.append(feature_scores(columns, rule, target))
    observed = results[0]
    reached = sum((scores >= observed - 1e-12).astype(float) for scores in results[1:])
    return (1 + reached) / (permutations + 1)


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("rule", [name for name in RULES if name != "nearest"])
def test_products_equal_refits(rule, gaps, bootstrap):
    X, y, discrete = make_table("mixed", n=40, gaps=gaps, seed=2)
    y = np.sort(y)
    counts = np.ones(40)
    if bootstrap:
        counts = np.random.default_rng(1).integers(1, 4, 40).astype(float)
    columns = prepare_columns(X, discrete)
    sizes = np.bincount(y, weights=counts)
    target = Target(y=y, prior=sizes / sizes.sum(), counts=counts, omega=counts / counts.sum())
    found = permutation_p_values(columns, RULES[rule], target, 30, np.random.default_rng(5))
    truth = one_by_one(X, discrete, y, None, counts, RULES[rule], 30, 5)
    truth[-1] = 1.0
    np.testing.assert_allclose(found, truth, atol=1e-12)


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("rule", ["surf", "multisurf", "nearest"])
def test_products_equal_refits_in_regression(rule, gaps):
    X, _, discrete = make_table("mixed", n=40, gaps=gaps, seed=2)
    value = np.random.default_rng(0).random(40)
    value = (value - value.min()) / np.ptp(value)
    zeros, ones = np.zeros(40, dtype=np.int64), np.ones(40)
    target = Target(y=zeros, prior=np.ones(1), counts=ones, omega=ones / 40, value=value)
    columns = prepare_columns(X, discrete)
    found = permutation_p_values(columns, RULES[rule], target, 30, np.random.default_rng(5))
    truth = one_by_one(X, discrete, zeros, value, ones, RULES[rule], 30, 5)
    truth[-1] = 1.0
    np.testing.assert_allclose(found, truth, atol=1e-12)


@pytest.mark.parametrize("rule", [Nearest(k=4), Ball(least=3)], ids=["nearest", "ball"])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_moving_instances_under_fixed_labels_is_moving_labels(gaps, rule):
    # Nearest hits depend on the labels, and so does a ball that holds so many of each: every
    # labelling is fitted anew, with instances moved.
    X, y, discrete = make_table("mixed", n=40, gaps=gaps, seed=2)
    y = np.sort(y)
    ones = np.ones(40)
    target = Target(y=y, prior=np.bincount(y) / 40, counts=ones, omega=ones / 40)
    columns = prepare_columns(X, discrete)
    found = permutation_p_values(columns, rule, target, 30, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    reached, observed = np.zeros(X.shape[1]), None
    for t in range(31):
        moved = np.arange(40) if t == 0 else rng.permutation(40)
        labels = np.empty(40, dtype=np.int64)
        labels[moved] = y
        order = np.argsort(labels, kind="stable")
        scores = feature_scores(prepare_columns(X[order], discrete), rule, target)
        if observed is None:
            observed = scores
            continue
        reached += scores >= observed - 1e-12
    truth = (1 + reached) / 31
    truth[-1] = 1.0
    np.testing.assert_allclose(found, truth, atol=1e-12)


@pytest.mark.parametrize("method", [Surf(permutations=199), Multisurf(permutations=199)])
def test_p_values_hold_their_level_when_features_and_labels_are_independent(method):
    # 20 tables of 100 × 500, as in the comparison with other packages (they have 6 to 31 %).
    shares, adjusted_hits = [], 0
    for seed in range(20):
        rng = np.random.default_rng(1000 + seed)
        data = Dataset.from_arrays(rng.normal(size=(100, 500)), rng.permutation(np.arange(100) % 2))
        tables = method.select(data, seed=seed).tables
        shares.append((tables["p_values"] < 0.05).mean())
        adjusted_hits += (tables["p_adjusted"] <= 0.05).any()
    assert 0.04 <= np.mean(shares) <= 0.06
    assert adjusted_hits <= 3


def test_the_interacting_pair_is_significant_and_the_noise_is_not(table):
    data = table("gametes2way.csv")
    rows = np.random.default_rng(0).permutation(1600)[:400]
    data = attrs.evolve(data, matrix=data.X[rows], y=data.y[rows])
    found = Multisurf(permutations=199, level=0.05).select(data)
    assert {data.feature_names[c] for c in found.selected} == {"P1", "P2"}
    np.testing.assert_allclose(found.tables["p_values"][found.selected], 1 / 200)


def test_p_values_do_not_depend_on_threads_or_row_order(monkeypatch):
    monkeypatch.setattr("fsframe_relief.methods.problem.SMALL", 0)
    X, y, discrete = make_table("mixed", n=60, gaps=0.05)
    data = Dataset.from_arrays(X, y, categorical=discrete)
    order = np.random.default_rng(1).permutation(60)
    other = attrs.evolve(data, matrix=data.X[order].copy(), y=data.y[order])
    for method in (Multisurfstar(permutations=300), Relieff(k=3, permutations=20)):
        one = method.select(data, run=Run(threads=1)).tables["p_values"]
        for where, threads in ((data, 3), (other, 2)):
            many = method.select(where, run=Run(threads=threads)).tables["p_values"]
            np.testing.assert_array_equal(many, one)


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


def test_impossible_requests_say_what_is_needed():
    with pytest.raises(RequestError, match="at least 19 are needed"):
        Surf(permutations=10, level=0.05)
    with pytest.raises(RequestError, match="level needs permutations"):
        Surf(level=0.05)
    with pytest.raises(RequestError, match="missing=skip"):
        Surf(permutations=99, missing="probability")


def test_more_labellings_than_memory_holds_are_refused_with_their_size():
    with pytest.raises(RequestError, match=r"permutations=4294967296 is 4.* fits, and 800"):
        Relieff(permutations=1 << 32)
    X, y, _ = make_table("continuous")
    data = Dataset.from_arrays(X, y)
    most = (1 << 20) // 16 // data.n_samples - 1
    small = Run(memory=1 << 20)
    with pytest.raises(RequestError, match=rf"of row numbers, .* ask for at most {most}, or allow"):
        Relieff(k=3, permutations=most + 1).select(data, run=small)
    assert Surf(permutations=most).select(data, run=small).tables["p_values"].size


def people(seed: int, n_people: int = 16, rows: int = 4) -> Dataset:
    """Columns that differ between people and have nothing to do with the label, which is theirs."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_people), rows)
    X = rng.normal(size=(n_people, 10))[person] + 0.3 * rng.normal(size=(len(person), 10))
    y = rng.permutation(np.arange(n_people) % 2)[person]
    return Dataset.from_arrays(X, y, groups=person)


def test_labels_are_dealt_out_to_whole_people_and_the_level_holds():
    method = Surf(permutations=39, top=1)
    shares = {True: [], False: []}
    for seed in range(30):
        data = people(seed)
        for grouped in shares:
            table = data if grouped else attrs.evolve(data, groups=None)
            p = method.select(table, seed=seed).tables["p_values"]
            shares[grouped].append((p <= 0.05).mean())
    # 300 p-values, ten of each table alike: a standard error of 0.02 at most.
    assert np.mean(shares[True]) <= 0.05 + 0.04
    assert np.mean(shares[False]) >= 0.2


@pytest.mark.parametrize("rule", [Surf, Relieff])
def test_groups_of_one_row_are_rows(rule):
    data = people(1, rows=1, n_people=30)
    alone = attrs.evolve(data, groups=None)
    found = [
        rule(permutations=19, top=1).select(table).tables["p_values"] for table in (data, alone)
    ]
    # Other labellings are drawn, of the same law.
    assert np.abs(found[0] - found[1]).mean() < 0.15


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
