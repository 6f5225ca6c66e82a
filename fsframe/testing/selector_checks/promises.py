"""Whether declarations are true: covariates, p-values, missing values, ties, classes, the cost."""

from __future__ import annotations

import time

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe.testing import tables
from fsframe.testing.conformance import check, not_applicable
from fsframe.testing.selector_checks.results import SelectorChecks
from fsframe.testing.tables import assert_close, frozen_bytes

_SMALL_P = 0.05
# Five standard deviations: the fixed table of noise fails no valid test.
_DEVIATIONS = 5.0
_COST_FACTOR = 100.0
_SPARED_SECONDS = 1.0


class PromiseChecks(SelectorChecks):
    """Promises that are wrong in silence: the result is well-formed, and not what was declared."""

    @check
    def test_covariates_change_scores_of_methods_that_adjust(self) -> None:
        data, method = self._confounded(), self.make()
        if method.wrapping or not method.adjusts() or list(method.role_problems(data)):
            raise not_applicable("it does not adjust for covariates itself")
        plain = attrs.evolve(data, covariates=None)
        turned = attrs.evolve(plain, y=np.roll(plain.y, 1))
        without = method.select(plain).scores.tobytes()
        if method.select(turned).scores.tobytes() == without:
            raise not_applicable("it does not use the label")
        assert method.select(data).scores.tobytes() != without, (
            "adjusts() is declared, but scores with a covariate that determines most of the label "
            "are those without it: use data.covariates"
        )

    @check
    def test_p_values_hold_their_level_on_noise(self) -> None:
        method = self.make()
        n_columns = 24 if method.wrapping else 200
        if not _p_values(method.select(self.table())):
            raise not_applicable("it gives no p-values")
        data = tables.noise(method.tasks, 90, n_columns)
        for name, p in _p_values(method.select(data)).items():
            tested = p[~np.isnan(p)]
            small = int((tested <= _SMALL_P).sum())
            mean = _SMALL_P * tested.size
            most = mean + _DEVIATIONS * np.sqrt(mean * (1 - _SMALL_P))
            assert small <= most, (
                f"{small} of {tested.size} values of {name!r} are at most {_SMALL_P} on a table of "
                f"noise, where about {mean:.0f} are expected"
            )

    @check
    def test_a_later_call_leaves_results_as_they_are(self) -> None:
        data, method = self.table(), self.make()
        found = method.select(data)
        before = frozen_bytes(found)
        order = np.arange(data.n_features)[::-1]
        method.select(data.take_columns(order))
        assert frozen_bytes(found) == before, (
            "the arrays of a result changed when the method was called again: give each result "
            "arrays of its own"
        )

    @check
    def test_every_class_counts(self) -> None:
        self._of_classes()
        method, data = self.make(), tables.only_two_apart((1, 2))
        if _same(method.select(data), method.select(data.with_labels(np.roll(data.y, 1)))):
            raise not_applicable("it does not use the label")
        for pair in ((0, 1), (0, 2), (1, 2)):
            data = tables.only_two_apart(pair)
            y = data.y.copy()
            both = np.flatnonzero(np.isin(y, pair))
            y[both] = np.random.Generator(np.random.PCG64(2)).permutation(y[both])
            assert not _same(method.select(data), method.select(data.with_labels(y))), (
                f"exchanging rows of classes {pair[0]} and {pair[1]}, which column 4 tells apart, "
                "changes no score: are the two merged?"
            )

    @check
    def test_ties_keep_the_order_of_the_table(self) -> None:
        if {"kept_columns_come_best_first", "top_is_honoured"} & {*self.exceptions}:
            raise not_applicable("it does not keep the columns of the largest scores")
        data, method = self.table(), self.make()
        columns = np.concatenate([np.arange(data.n_features), np.tile([0, 2], 17)])
        copied = data.take_columns(columns)
        p = copied.n_features
        names = [f"x{p - column:02}" for column in range(p)]
        table = Dataset.from_arrays(copied.X, data.y, names, task=data.task) if (
            data.task != "survival"
        ) else copied  # fmt: skip
        for top in (p, p // 2):
            _assert_ties_in_order(attrs.evolve(method, top=top).select(table))

    @check
    def test_missing_values_are_not_read_as_numbers(self) -> None:
        method, data = self.make(), self.table()
        if not method.takes_missing:
            raise not_applicable("it does not take missing values")
        if data.task == "survival":
            raise not_applicable("it is made for survival times")
        # Multiples of 2⁻²⁰, so that adding 64 is exact.
        X = np.round(data.X * 2**20) / 2**20
        expected = method.select(Dataset.from_arrays(X, data.y, task=data.task))
        moved = method.select(Dataset.from_arrays(X + 64.0, data.y, task=data.task))
        if not _alike(moved, expected):
            raise not_applicable("its scores depend on the origin of the columns")
        X[::5, 1], X[::7, 2] = np.nan, np.nan
        try:
            expected = method.select(Dataset.from_arrays(X, data.y, task=data.task))
        except DataError:
            raise not_applicable("it requires a parameter for missing values") from None
        moved = method.select(Dataset.from_arrays(X + 64.0, data.y, task=data.task))
        assert_close(moved, expected, "with 64 added to all values that are not missing", 1e-5)

    @check
    def test_the_declared_cost_is_near_the_time_taken(self) -> None:
        method = self.make()
        data = tables.suited(method.tasks, 150, 12)
        cost = method.cost(data.n_samples, data.n_features)
        if cost is None:
            raise not_applicable("it declares no cost")
        method.select(data)  # Compiles.
        start = time.process_time()
        method.select(data)
        taken = time.process_time() - start
        assert 0 <= cost.seconds <= _SPARED_SECONDS + _COST_FACTOR * taken, (
            f"cost() says {cost.seconds:.3g} s for {data.n_samples} rows and {data.n_features} "
            f"columns ({cost.formula}); it took {taken:.3g} s"
        )


def _p_values(found: Selection) -> dict[str, NDArray[np.float64]]:
    """The p-values of columns that are not adjusted for their number."""
    return {
        name: array
        for name, array in found.tables.items()
        if name in ("p_values", "p-values") and array.shape == found.scores.shape
    }


def _same(found: Selection, expected: Selection) -> bool:
    kept = found.selected.tolist() == expected.selected.tolist()
    return kept and found.scores.tobytes() == expected.scores.tobytes()


def _alike(found: Selection, expected: Selection) -> bool:
    try:
        assert_close(found, expected, "", 1e-6)
    except AssertionError:
        return False
    return True


def _assert_ties_in_order(found: Selection) -> None:
    """Assert that of equal scores the first columns are kept, in the order of the table."""
    scores = found.scores
    for score in np.unique(scores[found.selected]):
        equal = np.flatnonzero(scores == score)
        kept = found.selected[scores[found.selected] == score]
        assert kept.tolist() == equal[: kept.size].tolist(), (
            f"columns {equal.tolist()} have equal scores; kept are {kept.tolist()}, not the first "
            "in the order of the table: rank with rank_by_score"
        )
