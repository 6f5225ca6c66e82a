"""What holds for the cost, its gradient and the descent on any data, stored or streamed."""

from __future__ import annotations

import pickle
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsframe.table.dataset import Dataset
from fsframe_margin import plain
from fsframe_margin.engine import margins
from fsframe_margin.engine.descent import prune
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.prediction import class_distances, training_distances
from fsframe_margin.methods.im4e import Im4e
from fsframe_margin.methods.immigrate import descend
from tests.grids import examples


@st.composite
def tables(draw):
    n = draw(st.integers(4, 24))
    features = draw(st.integers(1, 6))
    classes = draw(st.integers(2, 3))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, features))
    kind = draw(st.sampled_from(["plain", "ties", "duplicates", "far"]))
    if kind == "ties":
        X = np.round(X)
    if kind == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    y = rng.integers(0, classes, n)
    y[:4] = [0, 0, 1, 1]
    if kind == "far":
        X[:, 0] += 1e4 * y
    W = rng.random((features, features)) + 0.01
    W = W + W.T
    return X, y, W / np.linalg.norm(W), rng


SIGMAS = st.sampled_from([1e-4, 0.05, 1.0, 7.0, 1e4])


@examples(60)
@given(tables(), SIGMAS, st.booleans())
def test_cost_and_gradient_equal_their_definitions(table, sigma, weighted):
    X, y, W, rng = table
    outer = rng.random(len(y)) if weighted else np.ones(len(y))
    count = rng.integers(1, 4, len(y)).astype(float) if weighted else np.ones(len(y))
    space = PairSpace(X, y, outer, count)
    point = space.point(W, sigma)
    cost, gradient = plain.immigrate_cost(X, y, W, sigma, outer, count)
    q_size = np.abs(space.measure(W)).max()
    assert point.cost == pytest.approx(cost, rel=1e-9, abs=1e-10 * len(y) * (q_size + sigma))
    # exponents of size q/σ carry an error of that size times the unit roundoff
    slack = 1e-10 + 1e-15 * q_size / sigma
    result = space.gradient(point, sigma)
    assert np.abs(result - gradient).max() <= slack * (1 + (X.max() - X.min()) ** 2 * len(y))


@examples(60)
@given(tables(), SIGMAS, st.sampled_from(["elementwise", "psd", "psd-clip"]))
def test_cost_never_increases_with_the_line_search(table, sigma, rule):
    X, y, W, _ = table
    fit = descend(PairSpace(X, y), W, sigma, rule=rule, max_iter=30, tol=0.0)
    assert np.isfinite(fit.weights).all()
    assert np.all(np.diff(fit.cost) < 0)
    assert np.linalg.norm(fit.weights) == pytest.approx(1.0, abs=1e-9)
    if rule != "psd":
        assert (fit.weights >= 0).all()


@examples(30)
@given(
    tables(),
    SIGMAS,
    st.sampled_from(["elementwise", "psd", "psd-clip"]),
    st.booleans(),
)
def test_no_weight_is_below_the_threshold_of_pruning(table, sigma, rule, line_search):
    X, y, W, _ = table
    threshold = 1 / X.shape[1]
    fit = descend(
        PairSpace(X, y), W, sigma, rule=rule, line_search=line_search, max_iter=30, tol=0.1,
        prune_below=threshold,
    )  # fmt: skip
    held = fit.weights[fit.weights != 0]
    assert held.min() >= min(threshold, held.max()) - 1e-12
    assert len(fit.cost) == len(fit.gap) == len(fit.step) == fit.iterations + 1


@examples(30)
@given(st.integers(1, 40), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_measurements_by_the_columns_that_count_are_those_of_all(features, share, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((23, features)), np.arange(23) % 2
    W = rng.standard_normal((features, features)) * (rng.random((features, features)) < share)
    W[rng.random(features) < 1 - share] = 0.0
    W = W * W.T
    space = PairSpace(X, y)
    found, XT = space.measure(W), space.measured_by(W).XT
    few = 0 < 2 * np.count_nonzero(W.any(axis=0)) <= features
    assert (len(XT) <= len(space.XT) // 2 + 1) if few else XT is space.XT
    d = np.abs(space.XT[:features, :, None] - space.XT[:features, None])
    expected = np.triu(np.einsum("aij,ab,bij->ij", d, W, d), 1)
    np.testing.assert_allclose(found, expected, atol=1e-10 * (1 + np.abs(expected).max()))


def test_pairs_without_a_share_are_left_out_of_the_gradient_and_nothing_is_lost():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 9))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    W = np.eye(9) / 3
    space = PairSpace(X, y)
    point = space.point(W, 0.02)
    result = space.gradient(point, 0.02)
    _, wanted = plain.immigrate_cost(X, y, W, 0.02)
    np.testing.assert_allclose(result, wanted, rtol=1e-12, atol=1e-11)


@examples(30)
@given(tables(), st.sampled_from([0.2, 1.0, 5.0]))
def test_predictions_equal_eq_3_18_row_by_row(table, sigma):
    X, y, W, rng = table
    count = rng.integers(1, 4, len(y)).astype(float)
    space = PairSpace(X, y, count=count)
    classes = int(y.max()) + 1
    alone = training_distances(space, W, sigma, classes)
    new = class_distances(space, W, sigma, X, classes)
    for n in range(len(y)):
        difference = np.abs(X[n] - X)
        q = np.einsum("ja,ab,jb->j", difference, W, difference)
        for c in range(classes):
            for found, members in ((new, y == c), (alone, (y == c) & (np.arange(len(y)) != n))):
                if not members.any():
                    assert found[n, c] == np.inf
                    continue
                share = count[members] * np.exp((q[members].min() - q[members]) / sigma)
                wanted = share @ q[members] / share.sum()
                assert found[n, c] == pytest.approx(wanted, rel=1e-7, abs=1e-9)


def test_pruning_keeps_the_largest_weight_when_all_are_small():
    np.testing.assert_array_equal(prune(np.array([[0.1, 0.0], [0.0, 0.05]]), 0.5), [[1, 0], [0, 0]])


@pytest.mark.parametrize("penalty", [0.0, 0.02])
@pytest.mark.parametrize("sigma", [1.0, 0.01])
def test_descents_over_one_chunk_of_pairs_or_many_are_the_same(sigma, penalty, monkeypatch):
    # At the smaller σ sums of exponentials underflow, and trials shift them.
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 6))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(60) > 0).astype(int)
    whole = PairSpace(X, y)
    assert whole.differences is not None
    for bound in ("_CHUNK", "_LEAST_CHUNK"):
        monkeypatch.setattr(margins, bound, 400)
    parts = PairSpace(X, y)
    assert len(whole.chunks) == 1 < len(parts.chunks)
    assert parts.differences is None
    start = np.eye(6) / np.sqrt(6)
    one, many = (descend(space, start, sigma, penalty=penalty) for space in (whole, parts))
    assert one.iterations == many.iterations > 1
    assert (one.step[: one.iterations] < 1).any()
    for name in ("step", "cost", "weights"):
        np.testing.assert_allclose(getattr(one, name), getattr(many, name), rtol=1e-9, atol=1e-12)


# Sums over neighbours and passes over pairs that store nothing


def many_rows(n: int = 1000, features: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """More rows than the loops take at a time, in classes of unlike sizes; one row is far away."""
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((n, features)), (rng.random(n) < 0.3).astype(int)
    y[:3] = [2, 2, 3]  # class 3 has one member
    X[5] += 12.0
    return X, y


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("sigma", [4.0, 0.5, 0.02])
@pytest.mark.parametrize("zeros", [0.0, 0.9])
def test_streamed_passes_over_many_rows_equal_stored_ones(sigma, linear, zeros):
    X, y = many_rows()
    rng = np.random.default_rng(1)
    weights = rng.random(6) if linear else rng.random((6, 6)) * (rng.random((6, 6)) >= zeros)
    weights = weights / weights.sum() if linear else (weights + weights.T) / 8
    stored, streamed = (PairSpace(X, y, linear=linear, memory=m) for m in (1 << 31, 1 << 20))
    assert stored.stored and not streamed.stored and len(streamed.chunks) > 2
    a, b = stored.point(weights, sigma), streamed.point(weights, sigma)
    assert b.measured is None
    np.testing.assert_allclose(a.log_hits, b.log_hits, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(a.log_misses, b.log_misses, rtol=1e-12, atol=1e-12)
    wanted = stored.gradient(a, sigma)
    result = streamed.gradient(b, sigma)
    # a share of the far row has a relative error of q/σ roundings, and meets squares of 15
    np.testing.assert_allclose(result, wanted, rtol=1e-11, atol=1e-11 * 15**2)


def test_a_row_far_away_is_measured_with_a_shift_and_no_other(monkeypatch):
    X, y = many_rows()
    shifted = mock.Mock(wraps=margins.linear_kernels.streamed_log_sums)
    monkeypatch.setattr(margins.linear_kernels, "streamed_log_sums", shifted)
    space = PairSpace(X, y, memory=1 << 20)
    hits = space.point(np.eye(6) / np.sqrt(6), 0.5).log_hits
    far = int(np.argmin(np.where(space.alone, np.inf, hits)))
    assert -np.inf < hits[far] < np.log(1e-200)
    probed, again = (call.args[-1].tolist() for call in shifted.call_args_list)
    assert len(probed) == 16 and again == [far]


@pytest.mark.parametrize("linear", [False, True])
def test_streamed_bits_do_not_depend_on_the_number_of_threads(linear):
    X, y = many_rows()
    weights = np.full(6, 1 / 6) if linear else np.eye(6) / np.sqrt(6)
    found = []
    for threads in (1, 2, 5):
        space = PairSpace(X, y, linear=linear, memory=1 << 20, threads=threads)
        point = space.point(weights, 0.5)
        found.append((point.log_hits, point.log_misses, space.gradient(point, 0.5)))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_a_space_that_has_threads_can_be_pickled():
    X, y = many_rows()
    space = PairSpace(X, y, threads=2)
    W = np.eye(6) / np.sqrt(6)
    point = space.point(W, 1.0)
    assert "pool" in vars(space)
    copy = pickle.loads(pickle.dumps(space))
    assert copy.point(W, 1.0).cost == point.cost


def test_the_informative_columns_have_the_largest_weights_after_a_line_search():
    generator = np.random.default_rng(3)
    X = generator.normal(size=(45, 6))
    y = (X[:, 1] + X[:, 4] + 0.4 * generator.normal(size=45) > 0.5).astype(int)
    selection = Im4e(line_search=True).select(Dataset.from_arrays(X, y))
    assert set(np.argsort(-selection.weights)[:2]) == {1, 4}
    assert selection.weights.sum() == pytest.approx(1.0)
    assert (np.diff(selection.tables["cost"]) <= 1e-12).all()
