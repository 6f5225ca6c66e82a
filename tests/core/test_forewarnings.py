"""Tests that cannot reach their level are told before any work starts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.errors import Forewarning
from fsframe.method.ranking import PermutationTest
from fsframe.table.dataset import Dataset


def table(p: int = 40) -> Dataset:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.standard_normal((40, p))
    X[:, 0] += 4 * y
    return Dataset.from_arrays(X, y)


@pytest.mark.parametrize("correction", ["none", "bonferroni", "benjamini-hochberg"])
@pytest.mark.parametrize("permutations", [1, 19, 20, 99, 999])
@pytest.mark.parametrize("level", [0.01, 0.05, 0.1])
def test_the_number_needed_is_that_of_the_adjusted_p_values(correction, permutations, level):
    """By scipy's adjustment of k smallest p-values among m, the others at one."""
    from scipy.stats import false_discovery_control

    m = 23
    needed = PermutationTest(permutations=permutations, level=level, correction=correction)
    for k in range(1, m + 1):
        p = np.ones(m)
        p[:k] = 1 / (permutations + 1)
        if correction == "benjamini-hochberg":
            p = false_discovery_control(p)
        elif correction == "bonferroni":
            p = np.minimum(1, p * m)
        assert bool((p <= level + 1e-12).any()) == (k >= needed.needed(m)), k


@pytest.mark.parametrize(
    ("chain", "told"),
    [
        ("relieff:permutations=99", "relieff: p is at least 1/100"),
        ("mim:top=30 relieff:permutations=99,level=0.05", "over 30 features"),
        ("relieff:permutations=99,level=0.05 npfs:n=20,null=published", "unless at least 8 feat"),
        ("jmi:stop=significant,test=permutation,alpha=0.01,permutations=19", "nothing can be"),
        ("stability-study:base=relieff:permutations=99,n=3", "relieff: p is at least"),
        ("cross-validation:base=(relieff:permutations=99 knn),folds=2", "relieff: p is at least"),
        ("mim:top=5 relieff:permutations=99", ""),
        ("mim relieff:permutations=19", ""),
        ("relieff:permutations=99,correction=none", ""),
        ("relieff npfs", ""),
    ],
)  # fmt: skip
def test_chains_tell_what_their_tests_cannot_reach(chain, told):
    found = list(Chain.parse(chain).forewarnings(table()))
    assert len(found) == bool(told)
    assert told in "".join(found)


def test_a_run_warns_once_before_it_starts_and_its_record_says_so():
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        record = Chain.parse("relieff:permutations=9").run(
            table(), listener=lambda _: told.extend(str(w.message) for w in caught)
        )
    mine = [w for w in caught if issubclass(w.category, Forewarning)]
    assert len(mine) == 1
    assert "permutations=799 would do for one" in str(mine[0].message)
    assert sum("p is at least 1/10 " in text for text in record.all_warnings()) == 1
