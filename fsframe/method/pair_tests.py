"""Tests of pairs of columns: the interface of methods that make them, and their result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.table.arrays import are_columns, arrays, floats, indices
from fsframe.table.dataset import Dataset

PAIR_TEST = "pair-test"
"""The word in an entry's `gives` for a method that is a `PairTester`."""


@attrs.frozen(kw_only=True, eq=False)
class PairTests:
    """p-values of pairs of columns.

    Parameters
    ----------
    columns : (m,) int, ascending
        Every pair of these was tested.
    pairs : (q, 2) int
        Columns a < b of the pairs listed, the smallest p first. A pair of `columns` that is not
        listed has a larger p, or a table that cannot show an interaction.
    p_values, q_values : (q,) float64 in [0, 1]
        p-values, and q-values adjusted for `n_chosen_from`.
    n_tested : int
        Number of pairs that were tested: those of `columns`, and others that were asked for.
    n_chosen_from : int
        Number of pairs that these were chosen from, if the choice considered columns jointly; at
        least `n_tested`.
    tables : mapping of str to array
        Further arrays per pair, such as the statistic; first axis of length q.

    Examples
    --------
    >>> tests = PairTests(columns=[1, 4], pairs=[[1, 4]], p_values=[0.01], q_values=[0.01],
    ...                   n_tested=1, n_chosen_from=1)
    >>> tests.of(1, 4), tests.of(0, 1), tests.problems(5)
    ((0.01, 0.01), None, [])
    """

    columns: NDArray[np.intp] = attrs.field(converter=indices)
    pairs: NDArray[np.intp] = attrs.field(converter=indices)
    p_values: NDArray[np.float64] = attrs.field(converter=floats)
    q_values: NDArray[np.float64] = attrs.field(converter=floats)
    n_tested: int = attrs.field(converter=int)
    n_chosen_from: int = attrs.field(converter=int)
    tables: Mapping[str, NDArray[Any]] = attrs.field(factory=dict, converter=arrays)

    @cached_property
    def _place(self) -> dict[tuple[int, int], int]:
        listed = self.pairs.tolist() if self.pairs.ndim == 2 and self.pairs.shape[1] == 2 else []
        return {(a, b): place for place, (a, b) in enumerate(listed)}

    def of(self, a: int, b: int) -> tuple[float, float] | None:
        """p and q of the pair of two columns; None if it is not listed."""
        place = self._place.get((min(a, b), max(a, b)))
        return None if place is None else (float(self.p_values[place]), float(self.q_values[place]))

    def values_of(self, a: int, b: int, names: Sequence[str]) -> list[float]:
        """The values of some `tables` for the pair of two columns; NaN where there are none."""
        place = self._place.get((min(a, b), max(a, b)))
        return [
            float("nan")
            if place is None or name not in self.tables
            else float(self.tables[name][place])
            for name in names
        ]

    def problems(self, n_features: int) -> list[str]:
        """Inconsistencies, for a table of `n_features` columns; empty if the tests are valid."""
        columns, pairs = self.columns, self.pairs
        if not are_columns(columns, n_features) or np.any(np.diff(columns) < 0):
            return [f"columns are not ascending columns below {n_features}"]
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            return [f"pairs have shape {pairs.shape}, not (n_pairs, 2)"]
        problems = []
        if len(pairs) and (pairs.min() < 0 or pairs.max() >= n_features):
            problems.append(f"pairs name columns outside 0 … {n_features - 1}")
        elif np.any(pairs[:, 0] >= pairs[:, 1]):
            problems.append("pairs are not columns a < b")
        elif len(self._place) != len(pairs):
            problems.append("pairs name a pair twice")
        for name, values in (("p_values", self.p_values), ("q_values", self.q_values)):
            if values.shape != (len(pairs),):
                problems.append(f"{name} have shape {values.shape}, not ({len(pairs)},)")
            elif not ((values >= 0) & (values <= 1)).all():
                problems.append(f"{name} are not all from 0 to 1")
        if self.n_tested < len(pairs):
            problems.append(f"n_tested is {self.n_tested}, less than the {len(pairs)} pairs listed")
        if self.n_chosen_from < self.n_tested:
            problems.append(f"n_chosen_from is {self.n_chosen_from}, less than n_tested")
        for name, array in self.tables.items():
            if array.ndim < 1 or len(array) != len(pairs):
                problems.append(
                    f"tables/{name} does not have an entry for each of {len(pairs)} pairs"
                )
        return problems


@runtime_checkable
class PairTester(Protocol):
    """A selector that can test pairs of columns for interaction.

    Its entry's `gives` has ``"pair-test"``. After a chain whose result has pair weights, it tests
    the pairs of the kept columns.
    """

    def test_pairs(
        self,
        data: Dataset,
        columns: NDArray[np.intp],
        pairs: NDArray[np.intp],
        chosen_from: int,
        run: Run,
    ) -> PairTests:
        """Test every pair of `columns`, and `pairs`, which the result lists whatever their p.

        Parameters
        ----------
        data : Dataset
            The whole table, which the method takes (`Selector.check_data` has been called).
        columns : (m,) int, ascending
        pairs : (q, 2) int
            Columns a < b of these pairs, which need not be among `columns`.
        chosen_from : int
            Number of pairs that q is adjusted for, at least the number tested; the others count as
            p = 1.
        run : Run
        """
        ...

    def tests_found(self, selection: Selection) -> PairTests:
        """The tests contained in a result of this method, in the numbering of the whole table."""
        ...
