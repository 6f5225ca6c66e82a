"""Pairs: which interactions recur, with the same nulls as features."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.errors import RequestError
from fsframe.method.selection import PairWeights, Selection
from fsframe.method.selector import Selector
from fsframe.table.dataset import Dataset
from fsframe.testing.tables import assert_equal
from fsframe_npfs.engine.candidates import CandidatePairs, FragileColumns

from .conftest import outcome


@attrs.frozen(kw_only=True)
class Products(Selector):
    """Weighs the pair (a, b) by |cov(x_a x_b, y)| of standardised columns."""

    takes_counts = True
    sparse: bool = False

    def _select(self, data: Any, upstream: Any, run: Any) -> Selection:
        counts = np.ones(data.n_samples) if data.counts is None else data.counts
        X = data.X - np.average(data.X, axis=0, weights=counts)
        y = (data.y - np.average(data.y, weights=counts)) * counts
        matrix = np.abs(np.einsum("na,nb,n->ab", X, X, y))
        columns = np.arange(data.n_features)
        weights = PairWeights(columns, matrix)
        if self.sparse:
            i, j, weight = weights.triplets()
            weights = PairWeights.from_triplets(columns, i, j, weight)
        return Selection(
            selected=columns[:2], scores=np.zeros(data.n_features), pair_weights=weights
        )


def xor_table(seed: int, n: int = 200, noise: int = 8) -> Dataset:
    """Two columns whose signs' product is the class, among noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2 + noise))
    return Dataset.from_arrays(X, (X[:, 0] * X[:, 1] > 0).astype(int))


def relevant_pairs(found: Selection) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in found.tables["pairs"][found.tables["relevant"]]}


def test_the_xor_pair_recurs_and_is_all_that_is_kept():
    hits, false = 0, 0
    for seed in range(3):
        found = outcome(
            Products(), xor_table(seed), seed=seed, of="pairs", n=20, pairs=3, permutations=20
        )
        pairs = relevant_pairs(found)
        hits += (0, 1) in pairs
        false += len(pairs - {(0, 1)})
        assert found.pair_weights.top(1)[0][:2] == (0, 1)
        assert found.scores[0] == found.scores[1] == found.pair_weights.top(1)[0].weight
        assert {0, 1} <= set(found.selected[:2])
    # Of 44 other pairs one per cent may be named: 1.3 in three tables; more than 5 in 1 of 300.
    assert hits == 3 and false <= 5


def test_pairs_keep_the_false_positive_rate_where_the_label_is_dealt_out_anew():
    false = 0
    for seed in range(5):
        data = xor_table(seed)
        shuffled = data.with_labels(np.random.default_rng(seed).permutation(data.y))
        found = outcome(Products(), shuffled, seed=seed, of="pairs", n=12, pairs=3, permutations=20)
        false += len(relevant_pairs(found))
    # 45 pairs at one per cent: 2.3 in 5 tables.
    assert false <= 2.25 + 3 * np.sqrt(2.25)


def test_published_form_of_pairs_uses_the_share_of_pairs_marked():
    found = outcome(Products(), xor_table(0), of="pairs", n=20, pairs=3, null="published")
    np.testing.assert_allclose(found.tables["p0"], 3 / 45)
    np.testing.assert_array_equal(found.tables["bootstrap-matrix"].sum(axis=1), 3)
    assert (0, 1) in relevant_pairs(found)


def test_listed_pair_weights_give_what_the_matrix_gives():
    dense, listed = (
        outcome(Products(sparse=sparse), xor_table(1), of="pairs", n=8, pairs=5, permutations=10)
        for sparse in (False, True)
    )
    assert_equal(listed, dense, "listed", besides=("pair_weights", "warnings"))


def test_marks_are_the_largest_weights_above_zero_ties_by_column():
    data = Dataset.from_arrays(np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 2)
    columns = FragileColumns.find(data)
    weights = PairWeights([3, 0, 2, 1], [[9, 1, 1, 0], [1, 9, 1, 2], [1, 1, 9, -3], [0, 2, -3, 9]])
    found = Selection(selected=[0], scores=np.zeros(4), pair_weights=weights)
    counts = np.ones(60, np.int64)

    def marked(n: int) -> list[tuple[int, int]]:
        codes = CandidatePairs(columns, n).selected(found, counts)
        return [divmod(int(code), 4) for code in codes]

    assert marked(1) == [(0, 1)]
    assert marked(2) == [(0, 1), (0, 2)]
    assert marked(9) == [(0, 1), (0, 2), (0, 3), (2, 3)]


@pytest.mark.parametrize("top", [2, 5])
def test_top_counts_features_in_the_order_of_their_best_pair(top):
    found = outcome(Products(), xor_table(0), of="pairs", n=10, top=top, permutations=10)
    assert found.selected.size == top and set(found.selected[:2]) == {0, 1}


def test_pairs_of_a_base_without_signs_are_warned_of_and_a_better_base_is_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    data = Dataset.from_arrays(X, (X[:, 0] * X[:, 1] > 0).astype(int))
    rest = "npfs:of=pairs,n=3,permutations=2,alpha=0.4,pairs=2"
    told = {}
    for base in ("immigrate:sigma=1", "mim:pairs=synergy"):
        warnings = Chain.parse(f"{base} {rest}").select(data).warnings
        told[base] = [text for text in warnings if "exclusive or" in text]
    assert told["mim:pairs=synergy"] == []
    [text] = told["immigrate:sigma=1"]
    assert "`interactions` tests" in text
    with pytest.raises(RequestError, match=r"such as interactions, `mim:pairs=synergy`"):
        Chain.parse(f"mim {rest}").select(data)
