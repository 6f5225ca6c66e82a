"""The checks of stability metrics."""

from __future__ import annotations

import math
import pickle
import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.testing.conformance import (
    Conformance,
    assert_refused,
    check,
    check_declarations,
    not_applicable,
)
from fsframe.testing.tables import frozen_bytes


class StabilityMetricConformance(Conformance):
    """Everything the core promises of a stability metric; inherit it and write `make`.

    Attributes
    ----------
    name : str, optional
        The name it is registered under.
    """

    rtol: ClassVar[float] = 1e-9

    @staticmethod
    def make() -> StabilityMetric:
        raise NotImplementedError("write make() so that it returns the metric to test")

    def runs(self) -> NDArray[Any]:
        """Six runs that agree in part: sets of three of nine features, or scores without ties."""
        scores = np.random.Generator(np.random.PCG64(1)).random((6, 9))
        scores[:, :2] += 0.6
        if self.make().input == "ranks":
            return scores
        return np.argsort(np.argsort(-scores, axis=1), axis=1) < 3

    def _measure(self, matrix: Any, alike: NDArray[np.float64] | None = None) -> StabilityValue:
        """The metric, with similarities of the features if it needs them."""
        metric = self.make()
        if not metric.needs_similarity:
            return metric(matrix)
        return metric(
            matrix, _similarity(np.atleast_2d(matrix).shape[1]) if alike is None else alike
        )

    @check
    def test_declarations_are_complete(self) -> None:
        method = self.make()
        assert isinstance(method, StabilityMetric), f"make() returned {type(method).__name__}"
        check_declarations(method, self.name)
        assert method.input in ("sets", "ranks"), f"input is {method.input!r}"

    @check
    def test_pickles(self) -> None:
        method = self.make()
        assert pickle.loads(pickle.dumps(method)) == method

    @check
    def test_the_value_is_finite_and_inside_its_interval(self) -> None:
        found = self._measure(self.runs())
        assert math.isfinite(found.value) and not found.undefined
        if self.make().larger_is_stabler:
            assert found.value <= 1 + 1e-9, f"{found.value} is above one"
        else:
            assert found.value >= -1e-9, f"the distance {found.value} is below zero"
        if found.interval is not None:
            assert found.interval[0] <= found.value <= found.interval[1]
            assert found.level is not None and 0 < found.level < 1

    @check
    def test_identical_runs_are_perfectly_stable(self) -> None:
        matrix = np.repeat(self.runs()[:1], 5, axis=0)
        best = 1.0 if self.make().larger_is_stabler else 0.0
        found = self._measure(matrix)
        assert abs(found.value - best) < 1e-9, f"identical runs give {found.value}, not {best}"

    @check
    def test_more_similar_runs_are_more_stable(self) -> None:
        base, alike = self.runs(), self.runs()
        alike[1:4] = alike[0]
        less, more = self._measure(base).value, self._measure(alike).value
        sign = 1 if self.make().larger_is_stabler else -1
        assert sign * more > sign * less, f"{less} became {more} when four of six runs agreed"

    @check
    def test_order_of_runs_does_not_matter(self) -> None:
        matrix = self.runs()
        expected = self._measure(matrix).value
        # A metric of adjacent runs only is the same for runs in reverse.
        for order in ([5, 4, 3, 2, 1, 0], [2, 0, 4, 1, 5, 3]):
            found = self._measure(matrix[order]).value
            assert math.isclose(found, expected, rel_tol=self.rtol, abs_tol=1e-12), (
                f"{expected} became {found} with the runs in another order"
            )

    @check
    def test_order_of_features_does_not_matter(self) -> None:
        matrix = self.runs()
        order = np.random.Generator(np.random.PCG64(1)).permutation(matrix.shape[1])
        alike = _similarity(matrix.shape[1])
        found = self._measure(matrix[:, order], alike[np.ix_(order, order)])
        expected = self._measure(matrix, alike)
        assert math.isclose(found.value, expected.value, rel_tol=self.rtol, abs_tol=1e-12)

    @check
    def test_equal_input_gives_equal_bits(self) -> None:
        matrix = self.runs()
        assert self._measure(matrix) == self._measure(matrix)

    @check
    def test_booleans_and_ones_are_equivalent(self) -> None:
        if self.make().input != "sets":
            raise not_applicable("it compares rankings")
        matrix = self.runs()
        assert self._measure(matrix.astype(float)).value == self._measure(matrix).value
        assert self._measure(matrix.tolist()).value == self._measure(matrix).value

    @check
    def test_inputs_are_not_modified(self) -> None:
        matrix = self.runs()
        alike = _similarity(matrix.shape[1])
        before = frozen_bytes(matrix, alike)
        self._measure(matrix, alike)
        assert frozen_bytes(matrix, alike) == before

    @check
    def test_invalid_matrices_are_refused(self) -> None:
        matrix = self.runs()
        hole = matrix.astype(float)
        hole[0, 0] = np.nan
        for wrong in (matrix[:1], matrix[0], np.empty((3, 0)), hole):
            assert_refused(partial(self._measure, wrong), "an invalid matrix")

    @check
    def test_similarity_is_required_as_declared(self) -> None:
        matrix = self.runs()
        alike = None if self.make().needs_similarity else _similarity(matrix.shape[1])
        try:
            self.make()(matrix, alike)
        except RequestError:
            return
        raise AssertionError("a similarity is missing or unusable, and no error was raised")

    @check
    def test_unequal_sizes_are_accepted_or_refused_as_declared(self) -> None:
        if self.make().input != "sets":
            raise not_applicable("it compares rankings")
        matrix = self.runs()
        matrix[0] = np.arange(matrix.shape[1]) < 5
        if self.make().unequal_sizes:
            assert math.isfinite(self._measure(matrix).value)
            return
        assert_refused(lambda: self._measure(matrix), "sets of different sizes")

    @check
    def test_extreme_matrices_give_a_value_or_a_reason(self) -> None:
        if self.make().input == "sets":
            cases = [np.zeros((3, 5)), np.ones((3, 5)), np.eye(3, 5), np.ones((2, 1))]
        else:
            cases = [np.zeros((3, 5)), np.ones((2, 1)), np.arange(6.0).reshape(2, 3)]
        for matrix in cases:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                found = self._measure(matrix)
            assert math.isnan(found.value) == bool(found.undefined), (
                f"value {found.value} with the reason {found.undefined!r}"
            )
            assert not math.isinf(found.value)
            if found.undefined:
                assert self.make().undefined_when, "undefined_when does not say that this happens"

    @check
    def test_chance_gives_zero_as_declared(self) -> None:
        metric = self.make()
        if not metric.chance_corrected:
            raise not_applicable("it is not corrected for chance")
        generator = np.random.Generator(np.random.PCG64(3))
        values = []
        for _ in range(100):
            scores = generator.random((8, 12))
            sets = np.argsort(np.argsort(scores, axis=1), axis=1) < 4
            values.append(self._measure(scores if metric.input == "ranks" else sets).value)
        error = np.std(values) / 10
        assert abs(np.mean(values)) < 5 * error, f"{np.mean(values):.3f} ± {error:.3f} by chance"


def _similarity(n_features: int) -> NDArray[np.float64]:
    """Neighbouring features are similar in part."""
    distance = np.abs(np.subtract.outer(np.arange(n_features), np.arange(n_features)))
    return np.where(distance == 0, 1.0, np.where(distance == 1, 0.6, 0.1))
