"""Sums over neighbours and passes over pairs that store nothing: against SciPy and stored ones."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp

from fsframe_margin.engine import margins
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.neighbour_shares import Rows, log_sums


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
    assert stored.stored
    assert not streamed.stored
    assert len(streamed.chunks) > 2
    a, b = stored.point(weights, sigma), streamed.point(weights, sigma)
    assert b.measured is None
    np.testing.assert_allclose(a.log_hits, b.log_hits, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(a.log_misses, b.log_misses, rtol=1e-12, atol=1e-12)
    wanted = stored.gradient(a, sigma)
    found = streamed.gradient(b, sigma)
    # a share of the far row has a relative error of q/σ roundings, and meets squares of 15
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11 * 15**2)


def test_a_row_far_away_is_measured_with_a_shift_and_no_other(monkeypatch):
    X, y = many_rows()
    shifted = []
    rows_of = margins.linear_kernels.streamed_rows
    monkeypatch.setattr(
        margins.linear_kernels,
        "streamed_rows",
        lambda *given: shifted.append(given[-1].tolist()) or rows_of(*given),
    )
    space = PairSpace(X, y, memory=1 << 20)
    hits = space.point(np.eye(6) / np.sqrt(6), 0.5).log_hits
    far = int(np.argmin(np.where(space.alone, np.inf, hits)))
    assert np.isfinite(hits[far])
    assert hits[far] < np.log(1e-200)
    probed, again = shifted
    assert len(probed) == 16
    assert again == [far]


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


def test_a_long_table_has_a_bounded_number_of_chunks():
    X, y = many_rows(20_000, 2)
    space = PairSpace(X, y)
    assert not space.stored
    assert len(space.chunks) == 64
    assert space.chunks[0][0] == 0
    assert space.chunks[-1][1] == 20_000
    assert all(a[1] == b[0] for a, b in pairwise(space.chunks))


def test_one_thread_starts_no_other():
    X, y = many_rows()
    space = PairSpace(X, y, memory=1 << 20, threads=1)
    point = space.point(np.eye(6) / np.sqrt(6), 0.5)
    space.gradient(point, 0.5)
    assert "pool" not in vars(space)


@pytest.mark.parametrize("sizes", [(3, 4), (1, 9, 1), (20, 1, 30)])
def test_log_sums_over_hits_and_misses(sizes):
    rng = np.random.default_rng(sum(sizes))
    n = sum(sizes)
    q, other, count = (
        rng.uniform(0, 30, (n, n)),
        rng.uniform(0, 1, (n, n)),
        1.0 + rng.integers(0, 3, n),
    )
    ends = np.cumsum(sizes)
    end, begin = np.repeat(ends, sizes), np.repeat(ends - sizes, sizes)
    logs = np.full((2, n), np.nan)
    log_sums(q, other, 0.5, 2.0, Rows(count, begin, end), logs, 0, n)
    hits, misses = logs

    weighted = np.log(count) - (0.5 * q + 2.0 * other)
    own = np.equal.outer(begin, begin)
    for i in range(n):
        alike = own[i] & (np.arange(n) != i)
        # A class of one row has no hit.
        truth = logsumexp(weighted[i, alike]) if alike.any() else -np.inf
        assert hits[i] == pytest.approx(truth, rel=1e-12)
        assert misses[i] == pytest.approx(logsumexp(weighted[i, ~own[i]]), rel=1e-12)
