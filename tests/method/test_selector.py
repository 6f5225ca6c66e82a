"""The selector contract: what authors see, what comes back, what is refused."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsframe.chains.request import _tests_record
from fsframe.chains.stage import Stage
from fsframe.errors import DataError, PluginError, RequestError
from fsframe.method.run import Run
from fsframe.method.selection import PairWeights, Selection
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.registry import selectors
from fsframe.table.dataset import Dataset

from .methods_for_tests import CopiedMean, Mean, Vote, Weighing, table


@pytest.mark.parametrize(
    ("top", "kept"),
    [(None, 2), (1, 1), (3, 3), (99, 4), (0.25, 1), (0.26, 2), (0.5, 2), (1.0, 4), (1e-9, 1)],
)
def test_top_is_a_count_or_a_fraction_rounded_up(top: Any, kept: int) -> None:
    assert Mean(top=top).select(table()).selected.tolist() == [3, 2, 1, 0][:kept]


@given(st.integers(1, 400), st.integers(1, 100))
def test_a_fraction_that_is_a_whole_number_of_columns_is_that_number(
    p: int, hundredth: int
) -> None:
    exact = -(-hundredth * p // 100)
    assert Mean(top=hundredth / 100).keep_count(p, 1) == exact


def test_authors_see_only_the_columns_left_upstream_in_the_order_of_the_table() -> None:
    upstream = Selection(selected=[3, 0], scores=[1.0, np.nan, np.nan, 2.0])
    selection = Mean(top=1).select(table(), upstream)
    assert selection.selected.tolist() == [3]
    assert selection.features_in.tolist() == [0, 3]
    assert np.isnan(selection.scores).tolist() == [False, True, True, False]
    assert selection.tables["rows"].tolist() == table().X[:, 0].tolist()


def test_rows_that_were_not_drawn_are_gone_before_the_author_looks() -> None:
    data = table().with_counts([2, 0, 1, 0, 1, 2])
    selection = Mean().select(data)
    assert selection.tables["rows"].tolist() == table().X[[0, 2, 4, 5], 0].tolist()
    assert selection.tables["counts"].tolist() == [2, 1, 1, 2]
    assert not selection.warnings


def test_rows_are_copied_with_a_warning_where_counts_are_not_taken() -> None:
    data = table().with_counts([2, 0, 1, 0, 1, 2])
    selection = CopiedMean().select(data)
    assert selection.tables["rows"].tolist() == table().X[[0, 0, 2, 4, 5, 5], 0].tolist()
    assert selection.warnings == (
        "copied-mean does not take bootstrap counts: rows drawn twice were copied",
    )
    assert np.allclose(selection.scores, Mean().select(data).scores)
    once = CopiedMean().select(table().with_counts([1, 0, 1, 0, 1, 1]))
    assert not once.warnings


def test_instance_weights_come_back_for_the_rows_of_the_table() -> None:
    class Copying(Weighing):
        takes_counts = False

    drawn = table().with_counts([2, 0, 1, 0, 1, 2])
    assert Weighing().select(drawn).instance_weights.tolist() == [1, 0, 2, 0, 3, 4]
    # Copies 1 and 2 are row 0, copy 3 is row 2, and so on: their weights are added.
    assert Copying().select(drawn).instance_weights.tolist() == [1 + 2, 0, 3, 0, 4, 5 + 6]


def test_weights_travel_past_a_stage_that_has_none_for_the_columns_it_keeps() -> None:
    upstream = Weighing().select(table())
    selection = Mean(top=2).select(table(), upstream)
    assert selection.carried == {"weights", "pair_weights", "instance_weights"}
    assert selection.weights.tolist() == [0, 0, 3, 4]
    assert selection.pair_weights.columns.tolist() == [2, 3]
    assert selection.instance_weights.tolist() == [1, 2, 3, 4, 5, 6]
    own = Weighing().select(table(), upstream)
    assert own.carried == frozenset()


def test_upstream_is_seen_in_the_stages_own_numbering() -> None:
    seen: list[Selection] = []

    class Looking(Mean):
        def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
            assert upstream is not None
            seen.append(upstream)
            return super()._select(data, upstream, run)

    upstream = Selection(
        selected=[3, 1],
        scores=[np.nan, 0.5, np.nan, 0.7],
        weights=[0.0, 0.2, 0.0, 0.8],
        pair_weights=PairWeights([1, 3], [[0.1, 0.4], [0.4, 0.2]]),
        instance_weights=np.arange(6.0),
    )
    Looking().select(table().with_counts([1, 0, 0, 2, 1, 0]), upstream)
    (local,) = seen
    assert local.selected.tolist() == [1, 0]
    assert local.weights.tolist() == [0.2, 0.8]
    assert local.pair_weights.columns.tolist() == [0, 1]
    assert local.instance_weights.tolist() == [0, 3, 4]


def test_nothing_left_upstream_is_a_warning_not_an_error() -> None:
    nothing = Selection(selected=[], scores=np.full(4, np.nan))
    selection = Mean().select(table(), nothing)
    assert selection.selected.size == 0
    assert selection.warnings == ("the stage before kept no column, so there was nothing to do",)
    assert len(Mean().select_many(table(), np.ones((2, 6), int), nothing)) == 2


def test_missing_values_are_counted_and_the_first_is_shown() -> None:
    X = np.ones((5, 4))
    X[[3, 1, 1], [0, 3, 2]] = np.nan
    data = Dataset.from_arrays(X, [0, 1, 0, 1, 0], ["a", "b", "c", "d"], name="holes")
    with pytest.raises(DataError) as caught:
        Mean().select(data)
    assert "3 in 'holes', the first in sample 2, feature 'c'" in str(caught.value)


def test_what_is_no_dataset_and_what_belongs_to_another_table_is_refused() -> None:
    with pytest.raises(RequestError, match=r"takes a Dataset, not ndarray.*from_arrays"):
        Mean().select(np.eye(3))  # type: ignore[arg-type]
    other = Selection(selected=[0], scores=[1.0])
    with pytest.raises(RequestError, match="saw 1 columns, 'table' has 4"):
        Mean().select(table(), other)


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        (None, "returned NoneType, not a Selection"),
        (Selection(selected=[9], scores=np.ones(4)), "selected has columns outside 0 … 3"),
        (Selection(selected=[0], scores=np.ones(3)), "scores have shape"),
        (
            Selection(selected=[0], scores=np.ones(4), tables={"of": {"a": 1}, "who": ["b"]}),
            "tables has an array 'of' of object: arrays hold numbers or texts$",
        ),
        (
            Selection(selected=[0], scores=np.ones(4), model={"w": np.ones(2, np.float16)}),
            "model has an array 'w' of float16: arrays hold float32 or float64$",
        ),
    ],
)
def test_an_unsound_result_is_the_plugins_fault(monkeypatch, found: Any, complaint: str) -> None:
    monkeypatch.setattr(Mean, "_select", lambda *_: found)
    with pytest.raises(PluginError, match=f"stage `mean` .*{complaint}"):
        Mean().select(table())


@attrs.frozen(kw_only=True)
class Fast(Mean):
    """A fast way through many resamples that keeps the first column, in as many as it likes."""

    seen: ClassVar[list[Any]] = []
    fewer: ClassVar[int] = 0

    def _select_many(self, data: Dataset, counts: Any, upstream: Any, run: Run) -> Any:
        assert data.counts is None
        self.seen.append(counts.dtype)
        selection = Selection(selected=[0], scores=np.ones(data.n_features))
        return [selection] * (len(counts) - self.fewer)


def test_a_fast_way_through_many_resamples_is_used_and_checked() -> None:
    selections = Fast().select_many(table(), np.ones((2, 6), int))
    assert [s.selected.tolist() for s in selections] == [[0], [0]]

    class Short(Fast):
        fewer = 2

    with pytest.raises(PluginError, match="returned 0 selections for 2 resamples"):
        Short().select_many(table(), np.ones((2, 6), int))


@pytest.mark.parametrize(("short", "expected"), [(False, np.int64), (True, np.uint16)])
def test_short_counts_reach_only_those_who_take_them(monkeypatch, short, expected) -> None:
    monkeypatch.setattr(Fast, "takes_short_counts", short)
    Fast.seen.clear()
    Fast().select_many(table(), np.ones((2, 6), np.uint16))
    assert Fast.seen == [expected]


@pytest.mark.parametrize(
    ("counts", "what"),
    [
        (np.ones((2, 5), int), "6 numbers"),
        (np.array([[1] * 6, [0] * 6]), "not all zero"),
        (np.array([[1] * 6, [2, -1, 0, 1, 1, 1]]), "≥ 0"),
        (np.full((2, 6), 0.5), "whole numbers"),
    ],
)
def test_counts_of_many_resamples_are_looked_at_before_a_fast_way(counts, what) -> None:
    Fast.seen.clear()
    with pytest.raises(DataError, match=what):
        Fast().select_many(table(), counts)
    assert not Fast.seen


def test_a_wrapping_stage_without_anything_to_wrap_says_what_to_do() -> None:
    with pytest.raises(RequestError, match=r"put one on its left .* or name it \(`vote:base="):
        Vote().select(table())


def test_invalid_tests_of_pairs_name_the_plugin() -> None:
    tester = Stage("interactions", selectors["interactions"]())
    data = Dataset.from_arrays(np.eye(6), np.arange(6) % 2)
    with pytest.raises(PluginError, match=r"stage `interactions` of plugin `interactions` \d"):
        _tests_record(tester, selectors.offer("interactions"), (0,), "p = 2", data)  # type: ignore


@attrs.frozen(kw_only=True)
class Kept(StabilityMetric):
    """Share of ones; what it was handed stands in `seen`."""

    seen: ClassVar[list[Any]] = []

    def _measure(self, matrix: Any, similarity: Any = None) -> StabilityValue:
        self.seen.append((matrix, similarity))
        return StabilityValue(value=float(matrix.mean()))


class KeptOfEqualSize(Kept):
    unequal_sizes = False


class KeptRanks(Kept):
    input = "ranks"


class KeptAlike(Kept):
    needs_similarity = True


def test_sets_arrive_as_truth_values_however_they_were_written_and_rankings_as_numbers() -> None:
    for written in ([[1, 0], [1, 1]], [[True, False], [True, True]], [[1.0, 0.0], [1.0, 1.0]]):
        assert float(Kept()(written)) == 0.75
        matrix, similarity = Kept.seen[-1]
        assert matrix.dtype == bool and similarity is None
    assert KeptRanks()([[3, 1], [1, 2]]).value == 1.75
    assert Kept.seen[-1][0].dtype == np.float64


@pytest.mark.parametrize(
    ("metric", "matrix", "complaint"),
    [
        (Kept(), [[1, 0]], "at least two, not 1"),
        (Kept(), [1, 0], "a matrix of runs × features"),
        (Kept(), np.empty((2, 0)), "a matrix of runs × features"),
        (Kept(), [[2, 0], [1, 1]], "0 and 1"),
        (Kept(), [[0.5, 0], [1, 1]], "0 and 1"),
        (Kept(), [[np.nan, 0], [1, 1]], "0 and 1"),
        (KeptRanks(), [[np.nan, 0], [1, 1]], "a finite score or rank"),
        (KeptRanks(), [[np.inf, 0], [1, 1]], "a finite score or rank"),
        (KeptOfEqualSize(), [[1, 0], [1, 1]], "not between 1 and 2; use one that allows it"),
    ],
)
def test_what_is_no_set_of_runs_is_refused(metric: Any, matrix: Any, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        metric(matrix)


def test_similarity_is_asked_for_and_checked() -> None:
    runs = [[1, 0], [1, 1]]
    assert KeptAlike()(runs, [[1, 0.5], [0.5, 1]]).value == 0.75
    with pytest.raises(RequestError, match="needs the similarity"):
        KeptAlike()(runs)
    with pytest.raises(RequestError, match="does not use a similarity"):
        Kept()(runs, np.eye(2))
    for wrong in (np.eye(3), [[1, 0.5], [0.2, 1]], [1, 1]):
        with pytest.raises(DataError, match="symmetric 2 × 2 matrix"):
            KeptAlike()(runs, wrong)
