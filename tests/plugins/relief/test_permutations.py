"""Permuted labels against refits one by one; rounds that drop the worst columns."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import attrs
import numpy as np
import pytest
from scipy.stats import false_discovery_control

from fsframe.chains.chain import Chain
from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_relief.engine.columns import prepare_columns
from fsframe_relief.engine.feature_scores import feature_scores
from fsframe_relief.engine.neighbours import Ball, Nearest, Radius, Sigmoid, Target
from fsframe_relief.engine.permutations import adjusted, permutation_p_values
from fsframe_relief.methods.repeated import Turf, ranked_scores
from fsframe_relief.methods.variants import Relieff
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


def test_adjustment_is_scipys_and_leaves_gaps_out():
    p = np.random.default_rng(0).random(20) ** 3
    q = adjusted(np.append(p, np.nan), "benjamini-hochberg")
    np.testing.assert_allclose(q, [*false_discovery_control(p), np.nan])
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


# TuRF: rounds end at the target, dropped columns rank by round, and what it wraps


def make_data(p=30, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, p)).astype(float)
    y = (X[:, 2].astype(int) ^ X[:, 5].astype(int)).astype(int)
    return Dataset.from_arrays(X, y, categorical=np.ones(p, bool))


@pytest.mark.parametrize(
    ("drop", "top", "sizes"),
    [
        (0.5, 4, [30, 15, 8, 4]),
        (7, 4, [30, 23, 16, 9, 4]),
        (1.0, 3, [30, 3]),
        (0.01, 28, [30, 29, 28]),
        (100, 1, [30, 1]),
    ],
)
def test_rounds_shrink_to_the_target_and_never_below(drop, top, sizes):
    found = Turf(base="relieff:k=5", drop=drop, top=top).select(make_data())
    rounds = found.tables["round"]
    assert [int((rounds >= t).sum()) for t in range(rounds.max() + 1)] == sizes
    assert len(found.selected) == top


def test_columns_rank_by_the_round_they_survived_then_by_score():
    found = Turf(base="multisurf", drop=0.2, top=5).select(make_data())
    rounds, last = found.tables["round"], found.tables["last_score"]
    order = np.argsort(-found.scores, kind="stable")
    expected = np.lexsort((-last, -rounds))
    np.testing.assert_array_equal(order, expected)
    assert set(found.selected) == set(np.flatnonzero(rounds == rounds.max()))
    assert set(found.selected[:2]) == {2, 5}
    survivors = rounds == rounds.max()
    np.testing.assert_array_equal(found.scores[survivors], last[survivors])


def test_without_base_the_stages_on_the_left_are_wrapped():
    data = make_data()
    wrapped = Chain.parse("relieff:k=5 turf:drop=0.5,top=4").run(data, seed=1)
    named = Turf(base="relieff:k=5", drop=0.5, top=4).select(data, seed=1)
    np.testing.assert_array_equal(wrapped.selected, named.selected)
    with pytest.raises(RequestError, match="resamples another selector"):
        Turf().select(data)


def test_columns_that_the_base_did_not_look_at_go_first():
    data = make_data()
    found = Turf(base="mim:top=12 multisurf", drop=4, top=3).select(data)
    assert len(found.selected) == 3
    assert np.isnan(found.tables["last_score"]).sum() > 0


def test_scores_of_equal_or_rising_rounds_stay_in_order():
    scores = ranked_scores(np.array([0.0, 5.0, 0.0, np.nan, 7.0]), np.array([2, 1, 2, 0, 0]))
    assert np.argsort(-scores[[0, 2, 1, 4]], kind="stable").tolist() == [0, 1, 2, 3]
    assert scores[1] < 0.0
    assert scores[4] < scores[1]
    assert np.isnan(scores[3])


class Stop(Exception):
    """Ends a run as any failure would."""


@pytest.mark.parametrize("base", ["relieff:k=5,m=60", "mim:top=20 relieff:k=5"])
def test_an_interrupted_run_continues_after_its_last_finished_round(base, tmp_path, monkeypatch):
    chain, data = Chain.parse(f"{base} turf:drop=6,top=4"), make_data()
    whole = chain.run(data, seed=3)
    out = tmp_path / "run.h5"

    def stop_late(progress):
        if progress.label == "columns dropped" and progress.done >= 18:
            raise Stop

    with pytest.raises(Stop):
        chain.run(data, seed=3, out=out, listener=stop_late)
    looks = mock.Mock(side_effect=Relieff._select)
    monkeypatch.setattr(Relieff, "_select", lambda *given: looks(*given))
    record = chain.run(data, seed=3, out=out)
    # rounds of 30, 24 and 18 columns were finished, and the stages on the left
    assert [call.args[1].n_features for call in looks.call_args_list] == [12, 6, 4]
    assert record.digests() == whole.digests()


def test_a_base_that_resamples_keeps_its_own_units_and_gets_the_executor(monkeypatch):
    resampled = mock.Mock(side_effect=Relieff.select_many)
    monkeypatch.setattr(Relieff, "select_many", lambda *given, **more: resampled(*given, **more))
    with ThreadPoolExecutor(1) as pool:
        run = Run(executor=pool)
        Turf(base="relieff:k=3,top=5 ensemble:n=2", drop=0.5, top=8).select(make_data(), run=run)
        # two rounds of two resamples, in one batch or two; a round by itself is no resample
        assert resampled.call_count >= 2
        resampled.reset_mock()
        Turf(base="relieff:k=3", drop=0.5, top=8).select(make_data(), run=run)
    assert not resampled.called
