"""What must not change a score, and what must: order, scale, threads, memory, odd columns."""

from __future__ import annotations

import tracemalloc

import attrs
import numpy as np
import pytest

from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset

from .conftest import make_table, method

CLASSIFIERS = [
    "relief", "relieff:k=5", "relieff:weighting=rank,k=9", "relieff:weighting=distance,k=9",
    "relieff:k=5,m=20", "surf", "surfstar", "multisurf", "multisurfstar", "swrfstar", "relieved-f",
    "iterative-relief:least=3,rounds=4", "relieff:k=5,missing=probability",
    "relieff:k=5,ramp=[0.05,0.2]",
]  # fmt: skip
NUMERIC = ["rrelieff:k=7", "relieff:k=5", "multisurf", "surf:m=20"]
NUMERIC += ["surfstar", "multisurfstar", "swrfstar"]
TASKS = [*((text, False) for text in CLASSIFIERS), *((text, True) for text in NUMERIC)]


def make_data(regression=False, n=150, gaps=0.05, seed=0):
    X, y, discrete = make_table("mixed", n=n, gaps=gaps, seed=seed)
    if regression:
        y = np.random.default_rng(seed).normal(size=n) + np.nan_to_num(X[:, 4])
    return Dataset.from_arrays(X, y, categorical=discrete)


def shuffled_rows(data, seed=1):
    order = np.random.default_rng(seed).permutation(data.n_samples)
    counts = None if data.counts is None else data.counts[order]
    return attrs.evolve(data, matrix=data.X[order].copy(), y=data.y[order], counts=counts)


@pytest.mark.parametrize(("text", "regression"), TASKS)
def test_order_of_rows_and_number_of_threads_change_no_bit(text, regression, monkeypatch):
    monkeypatch.setattr("fsframe_relief.methods.problem.SMALL", 0)
    selector, data = method(text), make_data(regression)
    drawn = data.with_counts(np.random.default_rng(2).integers(0, 3, data.n_samples))
    for table in (data, drawn):
        one = selector.select(table, run=Run(entropy=4, threads=1)).scores
        for other, threads in ((shuffled_rows(table), 1), (table, 2), (table, 5)):
            found = selector.select(other, run=Run(entropy=4, threads=threads)).scores
            np.testing.assert_array_equal(found, one)
        found = selector.select(table, run=Run(entropy=4, threads=2, memory=120_000)).scores
        np.testing.assert_allclose(found, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("text", CLASSIFIERS)
def test_scale_and_columns_that_tell_nothing_do_not_matter(text):
    X, y, discrete = make_table("continuous", n=80)
    X[:, 1] = np.exp(X[:, 1])
    base = method(text).select(Dataset.from_arrays(X, y, categorical=discrete), seed=1)
    other = X * np.array([1e-200, 1e140, 3, 1, 7e5, 1, 1])
    scaled = method(text).select(Dataset.from_arrays(other, y, categorical=discrete), seed=1)
    np.testing.assert_allclose(scaled.scores, base.scores, rtol=0, atol=1e-12)
    X, y, discrete = make_table("mixed", n=80)
    X, discrete = X[:, :-1], discrete[:-1]
    base = method(text).select(Dataset.from_arrays(X, y, categorical=discrete), seed=1)
    wide = np.column_stack([np.full(80, 3.0), X, np.full(80, np.nan), np.full(80, -1.0)])
    mask = np.concatenate([[True], discrete, [False, False]])
    found = method(text).select(Dataset.from_arrays(wide, y, categorical=mask), seed=1)
    assert found.scores[0] == 0 == found.scores[-1]
    assert np.isnan(found.scores[-2])
    assert any("without any value" in note for note in found.warnings)
    assert X.shape[1] + 1 not in found.selected
    if "iterative" not in text and "m=" not in text:
        np.testing.assert_allclose(found.scores[1:-2], base.scores, rtol=0, atol=1e-12)


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


def test_bad_parameters_are_all_named_at_once():
    with pytest.raises(RequestError) as raised:
        method("relieff", k=0, weighting="near", m=-1, ramp=[0.5])
    for word in ("k must", "weighting must", "m must", "ramp must"):
        assert word in str(raised.value)
    with pytest.raises(RequestError, match="equal < different"):
        method("surf", ramp=[0.3, 0.1])


# Memory


@pytest.mark.parametrize("text", ["relieff", "surf", "multisurf"])
@pytest.mark.parametrize("kind", ["continuous", "gaps", "discrete"])
def test_many_rows_stay_within_the_bound(text, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 12))
    if kind == "discrete":
        X = X.round(0)
    if kind == "gaps":
        X[rng.random(X.shape) < 0.1] = np.nan
    data = Dataset.from_arrays(
        X, rng.integers(0, 2, 2000), categorical=np.full(12, kind == "discrete")
    )
    bound = 8 << 20  # the matrix of distances would take 32 MB
    run = Run(memory=bound, threads=2)
    method(text).select(data, run=run)  # compiled code and imports are not counted
    tracemalloc.start()
    method(text).select(data, run=run)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    prepared = 3 * X.nbytes + (4 << 20)  # scaled or coded columns, and blocks of conversion
    assert peak <= bound + prepared


def test_p_values_that_would_not_fit_are_refused_with_the_size():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.normal(size=(500, 3)), np.arange(500) % 2)
    with pytest.raises(RequestError, match="500 × 500 matrix"):
        method("surf:permutations=19").select(data, run=Run(memory=1 << 20))


@pytest.mark.parametrize("seed", [5, 15, 17, 33])
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


@pytest.mark.parametrize("missing", ["skip", "probability"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("p", [60, 600])
def test_a_fit_holds_the_copies_that_it_states(missing: str, gaps: bool, p: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_400_000 // p, p))
    if gaps:
        X[rng.random(X.shape) < 0.05] = np.nan
    data = Dataset.from_arrays(X, np.arange(len(X)) % 2)
    stage = method("relieff", m=5, missing=missing)
    allowed = int(stage.tables_held(p) * X.nbytes)
    # All kernels are loaded, those of large tables too.
    stage.select(data, run=Run(memory=allowed, threads=2))
    tracemalloc.start()
    try:
        stage.select(data, run=Run(memory=allowed, threads=2))
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert held <= allowed
