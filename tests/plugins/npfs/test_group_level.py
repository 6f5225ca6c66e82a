"""The level of the permutation null where rows come in groups: held with them, not without."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.table.dataset import Dataset


def named(tables: int) -> tuple[int, int]:
    """Features named with groups and without, of 12 in each table that mean nothing."""
    chain = Chain.parse("mim:top=3 npfs:n=20,permutations=10,alpha=0.05")
    with_groups = without = 0
    for seed in range(tables):
        generator = np.random.default_rng(seed)
        who = np.repeat(np.arange(24), 8)
        X = generator.normal(size=(24, 12))[who] + 0.3 * generator.normal(size=(192, 12))
        y = generator.permutation(np.arange(24) % 2)[who]
        data = Dataset.from_arrays(X, y, groups=who)
        with_groups += chain.run(data, seed=seed).selected.size
        without += chain.run(attrs.evolve(data, groups=None), seed=seed).selected.size
    return with_groups, without


def test_people_are_not_found_where_only_people_differ():
    with_groups, without = named(6)
    # 72 × 0.05 = 3.6 are promised.
    assert with_groups <= 8 < without


@pytest.mark.slow
def test_the_level_is_held_by_groups_and_not_by_rows():
    with_groups, without = named(30)
    # Two standard errors of 360 × 0.05, features of one table taken as dependent.
    assert with_groups <= 30 < 45 < without
