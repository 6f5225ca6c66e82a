"""Compiled sums over neighbours against `scipy.special.logsumexp`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from fsframe_margin.engine.neighbour_shares import log_sums


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
    hits, misses = np.full(n, np.nan), np.full(n, np.nan)
    log_sums(q, other, 0.5, 2.0, count, begin, end, hits, misses, 0, n)

    weighted = np.log(count) - (0.5 * q + 2.0 * other)
    own = np.equal.outer(begin, begin)
    for i in range(n):
        alike = own[i] & (np.arange(n) != i)
        # A class of one row has no hit.
        truth = logsumexp(weighted[i, alike]) if alike.any() else -np.inf
        assert hits[i] == pytest.approx(truth, rel=1e-12)
        assert misses[i] == pytest.approx(logsumexp(weighted[i, ~own[i]]), rel=1e-12)
