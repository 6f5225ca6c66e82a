"""Whether declarations are true: covariates, p-values, missing values, ties, classes, the cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.method.run import Run
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
# What changes no score of methods that compare values of a column with each other.
_MOVES: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "64 added to all": lambda X: X + 64.0,
    "the sign changed of all": np.negative,
}


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
        found = method.select(data)
        assert found.scores.tobytes() != without, (
            "adjusts() is declared, but scores with a covariate that determines most of the label "
            "are those without it: use data.covariates"
        )
        drawn = data.with_counts(np.ones(data.n_samples, dtype=np.int64))
        assert_close(method.select(drawn), found, "adjusted, with counts of 1", 1e-9)

    @check
    def test_p_values_hold_their_level_on_noise(self) -> None:
        method = self.make()
        # Twice as many small values as allowed are certain to show among a thousand only.
        n_columns = 24 if method.wrapping else 1000 if method.univariate else 200
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
    def test_p_values_are_those_of_their_columns(self) -> None:
        found = _p_values(self.make().select(self.table()))
        if not found:
            raise not_applicable("it gives no p-values")
        for name, p in found.items():
            assert p[1] <= np.nanmin(p), (
                f"column 1 is the most informative, but its value of {name!r} is {p[1]:.3g}, and "
                f"that of column {int(np.nanargmin(p))} is {np.nanmin(p):.3g}"
            )

    @check
    def test_each_resample_has_a_stream_of_its_own(self) -> None:
        method, data = self.make(), self.table()

        def found(run: Run) -> list[bytes]:
            return frozen_bytes(method.select(data, run=run))

        first = found(Run(entropy=1))
        if all(found(Run(entropy=entropy)) == first for entropy in (2, 3, 4)):
            raise not_applicable("it draws no random numbers")
        run = Run(entropy=1)
        first = found(run.child(0))
        assert any(found(run.child(b)) != first for b in range(1, 9)), (
            "all resamples of a run draw the same random numbers: use run.generator()"
        )

    @check
    def test_a_natural_zero_is_the_lowest_score(self) -> None:
        method, data = self.make(), self.table()
        if not method.natural_zero:
            raise not_applicable("it does not declare natural_zero")
        X = np.insert(data.X, 2, 4.2, axis=1)
        scores = method.select(self._of(X)).scores
        assert np.isnan(scores[2]) or scores[2] == 0, (
            f"natural_zero is declared, but a constant column scores {scores[2]:.3g}"
        )
        assert not (scores < 0).any(), (
            f"natural_zero is declared, but a score is {np.nanmin(scores):.3g}"
        )

    @check
    def test_a_large_offset_changes_nothing(self) -> None:
        method, X = self.make(), self._rounded()
        expected = method.select(self._of(X))
        if not _alike(method.select(self._of(X + 64.0)), expected):
            raise not_applicable("its scores depend on the origin of the columns")
        # As of times in seconds; the sums are exact.
        moved = method.select(self._of(X + 2.0**26))
        assert_close(moved, expected, "with 2²⁶ added to all values", 1e-4)

    @check
    def test_unit_and_origin_of_the_target_do_not_matter(self) -> None:
        if "regression" not in self.make().tasks:
            raise not_applicable("it does not accept numeric targets")
        method, data = self.make(), tables.target()
        y = np.round(data.y * 2**20) / 2**20
        expected = method.select(data.with_labels(y))
        for what, turned in (("of another unit", y / 64.0), ("of another origin", y + 64.0)):
            found = method.select(data.with_labels(turned))
            assert_close(found, expected, f"with a target {what}", 1e-6)

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
    def test_the_label_decides(self) -> None:
        self._of_classes()
        if "a_column_that_separates_the_classes_comes_first" in self.exceptions:
            raise not_applicable("it does not put such a column first")
        data = tables.planted_twice()
        # Shuffled columns rather than shuffled labels: a method may keep what it found in a table.
        order = np.random.Generator(np.random.PCG64(2)).permutation(data.n_samples)
        shuffled = Dataset.from_arrays(data.X[order], data.y)
        if _alike(self.make().select(shuffled), self.make().select(data)):
            raise not_applicable("it does not use the label")
        for column in (0, 4):
            label = (data.X[:, column] > data.X[:, column].mean()) * 1
            selected = self.make().select(data.with_labels(label)).selected
            assert selected.size and selected[0] == column, (
                f"column {column} of the same columns separates the classes of another label, but "
                f"{selected.tolist()} were kept"
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
        # Equal columns, and constant ones of different values.
        X = np.insert(data.X[:, columns], [5, 20, 35], [7.0, 3.0, 5.0], axis=1)
        p = X.shape[1]
        names = [f"x{p - column:02}" for column in range(p)]
        table = attrs.evolve(self._of(X), feature_names=tuple(names))
        for top in (p, p // 2, p // 3):
            _assert_ties_in_order(attrs.evolve(method, top=top).select(table))

    @check
    def test_missing_values_are_not_read_as_numbers(self) -> None:
        method, data = self.make(), self.table()
        if not method.takes_missing:
            raise not_applicable("it does not take missing values")
        if data.task == "survival":
            raise not_applicable("it is made for survival times")
        X = self._rounded()
        expected = method.select(self._of(X))
        same = {
            what: change
            for what, change in _MOVES.items()
            if _alike(method.select(self._of(change(X))), expected)
        }
        if not same:
            raise not_applicable("its scores depend on the origin of the columns")
        # A quarter of each class, so that equal parts of the rows that remain are equal.
        eighth = np.arange(len(X)) % 8
        X[np.isin(eighth, (0, 5)), 1] = np.nan
        X[np.isin(eighth, (3, 6)), 2] = np.nan
        try:
            expected = method.select(self._of(X))
        except DataError:
            raise not_applicable("it requires a parameter for missing values") from None
        for what, change in same.items():
            moved = method.select(self._of(change(X)))
            assert_close(moved, expected, f"with {what} values that are not missing", 1e-5)

    def _rounded(self) -> NDArray[np.float64]:
        """The columns of `table` as multiples of 2⁻²⁰, so that adding 64 is exact."""
        return np.round(self.table().X * 2**20) / 2**20

    def _of(self, X: NDArray[np.float64]) -> Dataset:
        """Other columns with the label of `table`."""
        data = self.table()
        if data.task == "survival":
            return Dataset.from_arrays(X, np.abs(data.y), event=data.y > 0)
        return Dataset.from_arrays(X, data.y, task=data.task)

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
