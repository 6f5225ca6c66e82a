"""The rule for ties: what it says, literally, and what it must never depend on."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import fsframe
from fsframe.method.ranking import (
    TIE,
    adjusted_p_values,
    mean_ranks,
    rank_by_score,
    tied_order,
)
from fsframe.table.dataset import Dataset


def literal(values, least=0.0):
    """A group begins with the least value left and takes in all within reach, by index."""
    left, out = list(range(len(values))), []
    while left:
        low = min(values[i] for i in left)
        reach = low + (max(TIE * abs(low), least) if np.isfinite(low) else 0.0)
        group = [i for i in left if values[i] <= reach]
        out += group
        left = [i for i in left if i not in group]
    return out


@st.composite
def near_ties(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = int(rng.integers(1, 40))
    base = rng.normal(size=rng.integers(1, 5)) * 10.0 ** int(rng.integers(-20, 20))
    steps = rng.integers(-8, 9, n) * rng.choice([0, 1e-16, 3e-11, 5e-11])
    values = base[rng.integers(0, len(base), n)] * (1 + steps)
    if rng.random() < 0.3:
        odd = [np.inf, -np.inf, 0.0, np.finfo(float).max, -np.finfo(float).max]
        values[rng.random(n) < 0.4] = rng.choice(odd)
    return values.tolist()


@settings(max_examples=200, deadline=None)
@given(values=near_ties(), least=st.sampled_from([0.0, 1e-10, 0.5]))
def test_ties_are_groups_that_begin_with_their_best(values, least):
    array = np.array(values)
    expected = literal(values, least)
    assert tied_order(array, least=least).tolist() == expected
    assert rank_by_score(-array, least=least).tolist() == expected
    # the first k do not depend on what follows
    for count in range(len(values) + 1):
        assert rank_by_score(-array, count, least=least).tolist() == expected[:count]


def test_a_chain_of_small_steps_does_not_tie_its_ends():
    scores = 1 - 0.8e-10 * np.arange(4)[::-1]
    assert rank_by_score(scores).tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize("name", ["anova-f", "relieff", "vls", "turf:base=relieff", "chi2", "im4e"])
def test_columns_of_equal_worth_come_in_the_order_of_the_table(name):
    # The same column in other units: equal in worth, unequal in the last digit of the score.
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 90)
    wanted = []
    X = []
    for strength in (0.5, 2.0, 1.0):
        x = rng.normal(size=90) + strength * y
        wanted.append(len(X))
        X += [x, x * 3 + 7, 0.1 - x, x / 7, x * 1e-3 + 1, x * 11]
    if name == "chi2":
        X = [np.round(3 * x) for x in X[::6] for _ in range(6)]
    data = Dataset.from_arrays(np.column_stack(X), y)
    method = fsframe.Chain.parse(f"{name}:top=18" if ":" not in name else f"{name},top=18")
    found = method.select(data, seed=0).selected
    for start in wanted:
        group = [c for c in found.tolist() if start <= c < start + 6]
        assert group == sorted(group)


@pytest.mark.parametrize("seed", range(20))
def test_mean_ranks_and_adjusted_p_values_are_those_of_scipy(seed):
    generator = np.random.default_rng(seed)
    values = generator.integers(0, 12, generator.integers(0, 60)) / 7 - 0.5
    assert (mean_ranks(values) == scipy.stats.rankdata(values)).all()
    assert np.isnan(mean_ranks(np.append(values, np.nan))).all()
    p = generator.random(generator.integers(1, 50)) ** 3
    p[generator.random(p.size) < 0.2] = p[0]
    for correction in ("bh", "by"):
        expected = scipy.stats.false_discovery_control(p, method=correction)
        assert (adjusted_p_values(p, correction) == expected).all()
