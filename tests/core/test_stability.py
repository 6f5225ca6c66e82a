"""The stability-metric contract: what is checked before an author's formula sees a matrix."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
import pytest

from fsframe.errors import DataError, RequestError
from fsframe.method.stability_metric import StabilityMetric, StabilityValue


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
