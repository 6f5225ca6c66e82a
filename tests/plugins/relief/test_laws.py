"""What must not change a score, and what must; permuted labels; rounds that drop columns."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import attrs
import numpy as np
import polars
import pytest

import fsframe
from fsframe import Chain
from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe.testing.conformance import peak_bytes
from fsframe_relief.engine import part_scores
from fsframe_relief.engine.columns import prepare_columns
from fsframe_relief.engine.feature_scores import feature_scores
from fsframe_relief.engine.neighbours import Ball, Nearest, Radius, Sigmoid, Target
from fsframe_relief.engine.permutations import permutation_p_values
from fsframe_relief.methods.repeated import Turf, ranked_scores
from fsframe_relief.methods.variants import Relieff
from tests.grids import diagonal, shortened, slow
from tests.plugins.shared import CODES, divided, mixed_table, people

from .conftest import make_table, method


def make_data(n=150, gaps=0.05):
    X, y, discrete = make_table("mixed", n=n, gaps=gaps)
    return Dataset.from_arrays(X, y, categorical=discrete)


@pytest.mark.parametrize("text", ["relieff:k=5", "surf", "multisurfstar", "swrfstar", "relieved-f"])
def test_extreme_units_and_columns_that_tell_nothing_do_not_matter(text):
    X, y, _ = make_table("continuous", n=80)
    base = method(text).select(Dataset.from_arrays(X, y))
    other = X * np.array([1e-200, 1e140, 3, 1, 7e5, 1, 1])
    wide = np.column_stack([other, np.full(80, np.nan), np.full(80, -1.0)])
    selection = method(text).select(Dataset.from_arrays(wide, y))
    np.testing.assert_allclose(selection.scores[:-2], base.scores, rtol=0, atol=1e-12)
    assert (
        selection.scores[-1] == 0 and np.isnan(selection.scores[-2]) and 7 not in selection.selected
    )
    assert any("without any value" in note for note in selection.warnings)


def test_k_beyond_the_class_takes_all_and_says_so():
    X, y, discrete = make_table("mixed", n=40)
    data = Dataset.from_arrays(X, y, categorical=discrete)
    least = int(np.bincount(y).min())
    enough = method("relieff", k=40).select(data)
    more = method("relieff", k=4000).select(data)
    np.testing.assert_array_equal(enough.scores, more.scores)
    assert any(f"the {least - 1} other members of a class" in w for w in more.warnings)
    assert not any(
        "other members" in w for w in method("relieff", k=least - 1).select(data).warnings
    )


def test_an_instance_is_not_warned_of_its_own_copies():
    # Class 0 has 2 + 3 copies, class 1 has 4 + 4: the second row has 2 hits, not 4.
    data = Dataset.from_arrays([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).with_counts([2, 3, 4, 4])
    assert any("the 2 other members" in w for w in method("relieff", k=3).select(data).warnings)
    assert not any("other members" in w for w in method("relieff", k=2).select(data).warnings)
    # four copies of one row are one member, without a hit
    alone = Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 1]).with_counts([4, 1, 1])
    assert any("single member" in w for w in method("relieff", k=1).select(alone).warnings)
    target = Dataset.from_arrays([[0.0], [1.0], [2.0]], [0.1, 0.2, 0.7]).with_counts([4, 1, 1])
    assert any("the 2 other instances" in w for w in method("relieff", k=3).select(target).warnings)


def test_drawing_all_targets_is_no_drawing():
    data = make_data()
    full = method("relieff", k=5).select(data).scores
    all_drawn = method("relieff", k=5, m=data.n_samples).select(data, seed=9).scores
    np.testing.assert_array_equal(all_drawn, full)
    few = [method("relieff", k=5, m=30).select(data, seed=s).scores for s in (1, 1, 2)]
    np.testing.assert_array_equal(few[0], few[1])
    assert not np.array_equal(few[0], few[2])
    many = np.mean(
        [method("relieff", k=5, m=30).select(data, seed=s).scores for s in range(200)], axis=0
    )
    np.testing.assert_allclose(many, full, atol=0.02)


def test_few_levels_are_discrete_when_nobody_says_and_it_is_said():
    X, y, discrete = make_table("mixed", n=60)
    said = method("relieff", k=3).select(Dataset.from_arrays(X, y, categorical=discrete))
    guessed = method("relieff", k=3).select(Dataset.from_arrays(X, y))
    np.testing.assert_array_equal(said.scores, guessed.scores)
    assert any("taken as discrete" in note for note in guessed.warnings)
    assert not any("taken as discrete" in note for note in said.warnings)
    named = method("relieff", k=3, discrete_features=["f1", 1, "f3"]).select(
        Dataset.from_arrays(X, y)
    )
    np.testing.assert_array_equal(named.scores, said.scores)
    none = method("relieff", k=3, discrete_features="none").select(Dataset.from_arrays(X, y))
    assert not np.allclose(none.scores, said.scores)


def test_the_task_can_be_said():
    data = make_data(gaps=0)
    as_numbers = Dataset.from_arrays(data.X, data.y.astype(float), task="regression")
    asked = method("relieff", k=5, task="regression", discrete_features="none").select(data).scores
    given = method("relieff", k=5, discrete_features="none").select(as_numbers).scores
    np.testing.assert_array_equal(asked, given)
    with pytest.raises(RequestError, match="classification"):
        method("relief", task="regression").select(data)
    words = Dataset.from_arrays(data.X, np.array(["a", "b", "c"])[data.y])
    with pytest.raises(RequestError, match="needs numbers"):
        method("relieff", task="regression").select(words)


# Memory


def test_p_values_that_would_not_fit_are_refused_with_the_size():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.normal(size=(500, 3)), np.arange(500) % 2)
    with pytest.raises(RequestError, match="500 × 500 matrix"):
        method("surf:permutations=19").select(data, run=Run(memory=1 << 20))


@pytest.mark.parametrize("seed", [slow(5), slow(15), slow(17), 33])
def test_ties_and_gaps_of_iterative_relief_do_not_hang_on_the_bound(seed):
    # Values on a grid, so that often all of a class lie on the edge of the ball.
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(30, 140)), int(rng.integers(3, 9))
    X = rng.integers(0, 3, (n, p)).astype(float)
    X[:, : p // 2] = rng.normal(size=(n, p // 2)).round(1)
    X[rng.random((n, p)) < 0.15] = np.nan
    data = Dataset.from_arrays(X, rng.integers(0, 2, n))
    stage = method("iterative-relief:least=3")
    ample = stage.select(data, run=Run(memory=1 << 31)).scores
    # From the least that is not refused: the prepared columns.
    for bound in (8 * n * p, 1 << 16, 8 * n * (n + p)):
        scarce = stage.select(data, run=Run(memory=bound)).scores
        np.testing.assert_allclose(scarce, ample, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "p"),
    shortened(
        [*itertools.product(itertools.product(("skip", "probability"), (False, True)), (60, 600))],
        [(("skip", False), 600), (("skip", True), 60), (("probability", True), 60)],
    ),
)
def test_a_fit_holds_the_copies_that_it_states(kind, p):
    missing, gaps = kind
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_400_000 // p, p))
    if gaps:
        X[rng.random(X.shape) < 0.05] = np.nan
    data = Dataset.from_arrays(X, np.arange(len(X)) % 2)
    stage = method("relieff", m=5, missing=missing)
    allowed = int(stage.tables_held(p) * X.nbytes)
    # All kernels are loaded, those of large tables too.
    run = Run(memory=allowed, threads=2)
    stage.select(data, run=run)
    assert peak_bytes(lambda: stage.select(data, run=run)) <= allowed


# Tables in parts


WITHOUT = ("kind", "person", "gap", "near")


def test_equal_rows_beyond_the_lists_are_found_in_longer_ones(tmp_path, monkeypatch):
    frame = mixed_table(*CODES, twins=30)
    data = divided(polars.concat([frame] * 3), tmp_path / "p", (150,))
    chain = Chain.parse("relieff:m=50,k=1")
    monkeypatch.setattr(part_scores, "MOST_LISTED", 1)
    lost: list[int] = []
    real = part_scores.near_rows

    def near_rows(*given: Any) -> Any:
        lost.append(int((found := real(*given)).lost.sum()))
        return found

    monkeypatch.setattr(part_scores, "near_rows", near_rows)
    found = chain.select(data).scores
    assert lost[0] > 0 == lost[-1]
    monkeypatch.undo()
    assert chain.select(data).scores.tobytes() == found.tobytes()


@pytest.mark.parametrize("more", [0, 240])
def test_shuffled_rows_give_the_same_bits(tmp_path, more):
    """With many columns, the rows of a part are in two tiles."""
    frame = mixed_table(*WITHOUT, twins=30)
    noise = np.random.default_rng(2).normal(size=(len(frame), more))
    frame = frame.hstack([polars.Series(f"n{k}", noise[:, k]) for k in range(more)])
    method = fsframe.selectors["relieff"](m=60)
    expected = method.select(divided(frame, tmp_path / "a", (150,), label="y"))
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    selection = method.select(divided(shuffled, tmp_path / "b", (10, 150), label="y"))
    assert selection.scores.tobytes() == expected.scores.tobytes()


def test_weights_that_arrive_count_as_in_memory(tmp_path):
    frame = mixed_table(*WITHOUT, "code", twins=30)
    rng = np.random.default_rng(1)
    whole = fsframe.read(frame)
    every = np.arange(whole.n_features)
    before = fsframe.Selection(
        selected=every, scores=0.0 * every, instance_weights=rng.random(len(frame))
    )
    method = fsframe.selectors["relieff"](m=60)
    expected = method.select(whole, before)
    selection = method.select(divided(frame, tmp_path / "a", (150,)), before)
    np.testing.assert_allclose(selection.scores, expected.scores, rtol=0, atol=1e-13)


def test_codes_further_apart_than_a_byte_holds_stay_apart(tmp_path):
    frame = mixed_table(*CODES).with_columns(apart=polars.col("code0") * 256)
    chain, whole = Chain.parse("relieff:m=20"), fsframe.read(frame, label="y")
    scores = chain.select(divided(frame, tmp_path / "p", (150,), label="y")).scores
    np.testing.assert_allclose(scores, chain.select(whole).scores, rtol=0, atol=1e-13)


# Permuted labels against refits one by one; rounds that drop the worst columns


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


@pytest.mark.parametrize(("case", "gaps"), diagonal(CASES, [0.0, 0.1]))
def test_p_values_equal_those_of_refits(case, gaps):
    rule, numeric, bootstrap = case
    X, discrete, target = problem(gaps, rule, numeric, bootstrap)
    columns, given = prepare_columns(X, discrete), target(np.arange(40))[0]
    result = permutation_p_values(columns, RULES[rule], given, 15, np.random.default_rng(5))
    rng, results = np.random.default_rng(5), []
    for t in range(16):
        moved = rng.permutation(40) if t else np.arange(40)
        if given.alike is not None or (not numeric and rule in ("nearest", "ball")):
            # Neighbours that hang on the labels: instances are moved, under fixed labels.
            moved = np.argsort(moved)
        made, order = target(moved)
        results.append(feature_scores(prepare_columns(X[order], discrete), RULES[rule], made))
    truth = (1 + sum(scores >= results[0] - 1e-12 for scores in results[1:])) / 16
    truth[-1] = 1.0
    np.testing.assert_allclose(result, truth, atol=1e-12)


def test_the_interacting_pair_is_significant_and_the_noise_is_not(table):
    data = table("gametes2way.csv")
    rows = np.random.default_rng(0).permutation(1600)[:400]
    data = attrs.evolve(data, matrix=data.X[rows], y=data.y[rows])
    selection = method("multisurf", permutations=199, level=0.05).select(data)
    assert {data.feature_names[c] for c in selection.selected} == {"P1", "P2"}
    np.testing.assert_allclose(selection.tables["p_values"][selection.selected], 1 / 200)


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


def xor_data(p=30, n=120, seed=0):
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
    selection = Turf(base="relieff:k=5", drop=drop, top=top).select(xor_data())
    rounds = selection.tables["round"]
    assert [int((rounds >= t).sum()) for t in range(rounds.max() + 1)] == sizes
    assert len(selection.selected) == top


def test_turf_drops_down_to_top_beside_columns_that_are_always_kept():
    data = xor_data()
    turf = Turf(base="relieff:k=5", drop=0.1, top=3)
    worst = np.argsort(turf.select(data).scores)[:2]
    kept = attrs.evolve(data, keep=np.isin(np.arange(data.n_features), worst))
    chosen = turf.select(kept).selected
    assert len(chosen) == 5 and set(worst) < set(chosen)


def test_columns_rank_by_the_round_they_survived_then_by_score():
    selection = Turf(base="multisurf", drop=0.2, top=5).select(xor_data())
    rounds, last = selection.tables["round"], selection.tables["last_score"]
    order = np.argsort(-selection.scores, kind="stable")
    expected = np.lexsort((-last, -rounds))
    np.testing.assert_array_equal(order, expected)
    assert set(selection.selected) == set(np.flatnonzero(rounds == rounds.max()))
    assert set(selection.selected[:2]) == {2, 5}
    survivors = rounds == rounds.max()
    np.testing.assert_array_equal(selection.scores[survivors], last[survivors])


def test_without_base_the_stages_on_the_left_are_wrapped():
    data = xor_data()
    wrapped = Chain.parse("relieff:k=5 turf:drop=0.5,top=4").run(data, seed=1)
    named = Turf(base="relieff:k=5", drop=0.5, top=4).select(data, seed=1)
    np.testing.assert_array_equal(wrapped.selected, named.selected)
    with pytest.raises(RequestError, match="resamples another selector"):
        Turf().select(data)


def test_columns_that_the_base_did_not_look_at_go_first():
    data = xor_data()
    selection = Turf(base="mim:top=12 multisurf", drop=4, top=3).select(data)
    assert len(selection.selected) == 3
    assert np.isnan(selection.tables["last_score"]).sum() > 0


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
    chain, data = Chain.parse(f"{base} turf:drop=6,top=4"), xor_data()
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
        Turf(base="relieff:k=3,top=5 ensemble:n=2", drop=0.5, top=8).select(xor_data(), run=run)
        # two rounds of two resamples, in one batch or two; a round by itself is no resample
        assert resampled.call_count >= 2
        resampled.reset_mock()
        Turf(base="relieff:k=3", drop=0.5, top=8).select(xor_data(), run=run)
    assert not resampled.called
