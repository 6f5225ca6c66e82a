"""The three-way form of benchmarks/margin/three_way.py: its sums, its gradient, what it finds."""

from __future__ import annotations

import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[3] / "benchmarks" / "margin"


@pytest.fixture(scope="module", autouse=True)
def script():
    """The script can be imported, as when it is run."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def symmetric(rng, p):
    W = rng.random((p, p, p))
    return sum(W.transpose(order) for order in permutations(range(3)))


@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_distances_and_moments_are_their_sums_whatever_the_blocks(monkeypatch, kept):
    import three_way

    monkeypatch.setattr(three_way, "BLOCK", 3)
    monkeypatch.setattr(three_way, "KEPT", kept)
    rng = np.random.default_rng(0)
    D, W, c = rng.random((8, 4)), symmetric(rng, 4), rng.normal(size=8)
    products = three_way.Products(D)
    q = np.einsum("abc,ia,ib,ic->i", W, D, D, D)
    assert three_way.cubes(products, W) == pytest.approx(q)
    whole = np.einsum("i,ia,ib,ic->abc", c, D, D, D)
    assert three_way.moments(products, c) == pytest.approx(whole)


@pytest.mark.parametrize("sigma", [0.01, 3.0])
def test_cost_and_gradient_are_those_of_the_plain_form(sigma):
    import three_way

    from fsframe_margin.plain import coefficients

    rng = np.random.default_rng(1)
    q, y = rng.random((9, 9)), np.arange(9) % 2
    hits = np.equal.outer(y, y) & ~np.eye(9, dtype=bool)
    cost, c = three_way.coefficients(q, hits, sigma)
    expected, gradient = coefficients(q, y, sigma)
    assert cost == pytest.approx(expected)
    assert c == pytest.approx(gradient)


def test_w_is_symmetric_of_norm_one_and_finds_a_parity_of_three():
    import three_way

    rng = np.random.default_rng(0)
    X = 2.0 * rng.integers(0, 2, (120, 5)) - 1.0
    y = (X[:, :3].prod(axis=1) > 0).astype(int)
    W = three_way.three_way(X, y, three_way.WIDE)
    assert np.linalg.norm(W) == pytest.approx(1.0) and W.min() >= 0
    assert all(W.transpose(order) == pytest.approx(W) for order in permutations(range(3)))
    triple, share, beyond = three_way.top_triple(W)
    assert triple == (0, 1, 2) == three_way.screened(X, y)[0] and share > 0.5 and beyond
    assert (three_way.predicted(X[:60], y[:60], W, 16.0, X[60:]) == y[60:]).mean() > 0.9
