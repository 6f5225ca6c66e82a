"""Ensembles of rankings: by hand, by law, and the stability-selection bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from fsframe.method.run import Run
from fsframe_npfs.engine.bounds import (
    complete_ranks,
    linear_scores,
    list_ranks,
)
from fsframe_npfs.methods.stability_selection import Ensemble


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.integers(-3, 3).map(float), st.just(np.nan)), min_size=1, max_size=12))
def test_complete_ranks_are_mean_ranks_with_missing_scores_last(scores: list[float]) -> None:
    array = np.array(scores)
    expected = rankdata(np.where(np.isnan(array), 99.0, -array), method="average")
    np.testing.assert_allclose(complete_ranks(array), expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12).flatmap(lambda p: st.permutations(range(p))), st.integers(0, 12))
def test_ranks_of_a_list_sum_to_those_of_a_complete_ranking(order: list[int], k: int) -> None:
    p = len(order)
    ranks = list_ranks(np.array(order[:k], dtype=int), p)
    assert ranks.sum() == pytest.approx(p * (p + 1) / 2)


def test_linear_aggregation_by_hand() -> None:
    # Ranks of features a, b, c in three resamples.
    ranks = np.array([[1.0, 2, 3], [1, 3, 2], [2, 1, 3]])
    np.testing.assert_allclose(linear_scores(ranks), [(3 - 4 / 3) / 2, 0.5, (3 - 8 / 3) / 2])


@pytest.mark.parametrize("aggregate", ["mean-rank", "linear"])
def test_relevant_features_come_first(mim: Any, slides: Any, aggregate: str) -> None:
    found = Ensemble(n=30, aggregate=aggregate).select_wrapped(
        mim(k=5), slides(0, 1000, 40, 5), None, Run()
    )
    assert set(found.selected[:4]) <= set(range(5))
    assert found.tables["ranks"].shape == (30, 40)
    np.testing.assert_array_equal(found.tables["kept"], 5)
    assert (found.scores >= 0).all() and (found.scores <= 1).all()


def test_without_top_as_many_are_kept_as_the_base_keeps(mim: Any, slides: Any) -> None:
    data = slides(0, 400, 40, 5)
    assert Ensemble(n=10).select_wrapped(mim(k=7), data, None, Run()).selected.size == 7
    assert Ensemble(n=10, top=3).select_wrapped(mim(k=7), data, None, Run()).selected.size == 3


def test_linear_uses_scores_of_features_that_no_list_holds(mim: Any, slides: Any) -> None:
    data = slides(2, 1000, 30, 8)
    lists, complete = (
        Ensemble(n=20, aggregate=a, top=8).select_wrapped(mim(k=1), data, None, Run())
        for a in ("mean-rank", "linear")
    )
    # Lists of one leave most features tied; complete rankings tell them apart.
    assert np.unique(lists.scores).size < 10 < np.unique(complete.scores).size
    assert set(complete.selected) == set(range(8))
