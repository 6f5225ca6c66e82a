"""Selection and PairWeights: numbering, freezing, soundness, travel."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fsframe.method.selection import Pair, PairWeights, Selection, rank_by_score

column_sets = st.sets(st.integers(0, 19), min_size=1, max_size=12).map(sorted)


def selection(p: int, seed: int = 0) -> Selection:
    generator = np.random.default_rng(seed)
    scores = generator.random(p)
    matrix = generator.random((p, p))
    return Selection(
        selected=rank_by_score(scores)[: max(1, p // 2)],
        scores=scores,
        weights=generator.random(p),
        pair_weights=PairWeights(np.arange(p), matrix + matrix.T),
        features_in=np.arange(p),
    )


@given(column_sets)
def test_restriction_takes_back_what_lifting_did(columns: list[int]) -> None:
    local = selection(len(columns))
    back = local.lift(np.array(columns), 20).restrict(np.array(columns))
    for of in (
        lambda s: s.selected,
        lambda s: s.scores,
        lambda s: s.weights,
        lambda s: s.pair_weights.columns,
        lambda s: s.pair_weights.matrix,
    ):
        assert of(back).tolist() == of(local).tolist()


@given(column_sets)
def test_lifting_names_the_original_columns(columns: list[int]) -> None:
    local = selection(len(columns))
    lifted = local.lift(np.array(columns), 20)
    assert not lifted.problems(20, 5)
    assert lifted.selected.tolist() == [columns[c] for c in local.selected]
    others = np.setdiff1d(np.arange(20), columns)
    assert np.isnan(lifted.scores[others]).all()
    assert not lifted.weights[others].any()
    assert lifted.features_in.tolist() == columns


@given(column_sets, st.integers(0, 30))
def test_dense_and_listed_pairs_say_the_same(columns: list[int], seed: int) -> None:
    m = len(columns)
    matrix = np.random.default_rng(seed).integers(-2, 3, (m, m)).astype(float)
    matrix = matrix + matrix.T
    dense = PairWeights(columns, matrix)
    i, j, weight = dense.triplets()
    listed = PairWeights.from_triplets(columns, i, j, weight, np.diagonal(matrix))
    assert listed.top() == dense.top()
    assert dense.main_effects().tolist() == listed.main_effects().tolist()
    some = np.array(columns[::2])
    assert dense.restrict(some).top() == listed.restrict(some).top()


def test_pairs_come_by_size_with_their_sign_ties_by_column() -> None:
    weights = PairWeights([9, 2, 5], [[0, 1, 1], [1, 0, -3], [1, -3, 0]])
    assert weights.top() == [Pair(2, 5, -3.0), Pair(2, 9, 1.0), Pair(5, 9, 1.0)]
    assert weights.top(2) == [Pair(2, 5, -3.0), Pair(2, 9, 1.0)]
    assert weights.count() == 3
    assert PairWeights([4], [[7.0]]).top() == []
    assert PairWeights.from_triplets([1, 2], [0], [1], [0.5]).main_effects() is None


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (([0, 1], np.zeros((3, 3))), "shape"),
        (([0, 1], [[0, 1], [2, 0]]), "not symmetric"),
        (([0, 1],), "need a matrix, or i, j and weight"),
        (([0, 1], None, [1], [0], [1.0]), "i < j"),
        (([0, 1], None, [1], [1], [1.0]), "i < j"),
        (([0, 1], None, [0], [1], [1.0, 2.0]), "one weight each"),
        (([0, 1], None, [0], [2], [1.0]), "outside 0 … 1"),
        (([0, 1], None, [0], [1], [1.0], [1.0]), "diagonal"),
        (([3, 3], [[0, 1], [1, 0]]), "twice"),
        (([0.5, 1.5], [[0, 1], [1, 0]]), "whole numbers"),
    ],
)
def test_unsound_pair_weights_are_refused(arguments: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        PairWeights(*arguments)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"scores": [1.0, 2.0]}, r"scores have shape \(2,\), not \(3,\)"),
        ({"scores": [1.0, np.inf, 0.0]}, "infinite"),
        ({"selected": [0, 0]}, "not a list of different columns"),
        ({"selected": [3]}, "outside 0 … 2"),
        ({"selected": [-1]}, "outside 0 … 2"),
        ({"selected": [[0]]}, "not a list"),
        ({"weights": [1.0, -1.0, 0.0]}, "weights hold negative"),
        ({"weights": [1.0, np.nan, 0.0]}, "non-finite"),
        ({"weights": [1.0]}, "weights have shape"),
        ({"instance_weights": [1.0]}, "instance_weights have shape"),
        ({"pair_weights": PairWeights([0, 3], np.eye(2))}, "outside 0 … 2"),
        ({"pair_weights": PairWeights([0, 1], [[0, np.nan], [np.nan, 0]])}, "non-finite"),
    ],
)
def test_what_is_wrong_with_a_selection_is_said(fields: dict[str, Any], complaint: str) -> None:
    sound = {"selected": [1], "scores": [0.0, 1.0, np.nan]}
    assert not Selection(**sound).problems(3, 4)
    (problem,) = Selection(**{**sound, **fields}).problems(3, 4)
    assert re.search(complaint, problem)


def test_arrays_of_a_selection_are_frozen_and_the_authors_stay_writable() -> None:
    scores = np.ones(3)
    found = Selection(selected=[0], scores=scores, tables={"cost": scores}, model={"w": scores})
    copy = pickle.loads(pickle.dumps(found))
    assert copy.scores.tobytes() == scores.tobytes() == copy.tables["cost"].tobytes()
    for array in (found.selected, found.scores, found.model["w"], copy.tables["cost"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(TypeError):
        found.tables["new"] = scores
    scores[0] = 2.0
    with pytest.raises(ValueError, match="whole numbers"):
        Selection(selected=[0.7], scores=[1.0])
    assert Selection(selected=[], scores=[1.0]).selected.dtype == np.intp


@example([0.25, 1.5, 1.5], 1)
@example([0.25, 1.5, 1.5], 0)
@given(
    st.lists(st.sampled_from([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 0.25]), max_size=30),
    st.integers(0, 32),
)
def test_the_first_of_a_ranking_are_those_of_the_whole_ranking(scores, count) -> None:
    values = np.array(scores)
    whole = rank_by_score(values)
    literal = sorted(
        (k for k in range(len(scores)) if scores[k] == scores[k]), key=lambda k: -scores[k]
    )
    assert whole.tolist() == literal
    assert rank_by_score(values, count).tolist() == literal[:count]


@pytest.mark.parametrize("name", ["scores", "weights", "instance_weights"])
def test_complex_numbers_are_refused_and_not_cut_to_their_real_part(name):
    given = {"selected": [0], "scores": [1.0, 2.0], name: np.array([1 + 2j, 0.5])}
    with pytest.raises(ValueError, match="must be real, not complex128"):
        Selection(**given)
    with pytest.raises(ValueError, match="must be real"):
        PairWeights([0, 1], np.array([[1, 1j], [1j, 1]]))


@pytest.mark.parametrize("name", ["", ".", "a/b", "nul\0", "x" * 4097, "\udc80"])
def test_a_name_that_no_file_can_hold_is_a_problem(name):
    found = Selection(selected=[0], scores=[1.0, 0.0], tables={name: [1.0]})
    [problem] = found.problems(2, 5)
    assert "tables has an array named" in problem
    assert not Selection(selected=[0], scores=[1.0, 0.0], tables={"a b.ü": [1.0]}).problems(2, 5)
