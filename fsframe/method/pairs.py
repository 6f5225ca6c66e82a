"""Weights and tests of pairs of columns, and the table of a selector's result by pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.method.answer import (
    MISSING,
    AnswerTable,
    Floats,
    SelectionLike,
    by_common_names,
    columns_seen,
    marked,
    statistics,
    texts_of,
)
from fsframe.table.arrays import floats, indices, places_among


class Pair(NamedTuple):
    """Two columns and the weight of their pair."""

    a: int
    b: int
    weight: float


@attrs.frozen(eq=False)
class PairWeights:
    """Symmetric weights over pairs of columns, dense or as a list of pairs.

    Parameters
    ----------
    columns : (m,) int
        The columns that the rows and columns of the weights stand for.
    matrix : (m, m) float64, symmetric, optional
        The weights; the diagonal holds main effects.
    i, j, weight : (n_pairs,) arrays, optional
        Instead of `matrix`, if all weights would not fit: positions in `columns`, ``i < j``; pairs
        not listed are unknown or negligible.
    diagonal : (m,) float64, optional
        Main effects, if the weights are a list of pairs.

    Notes
    -----
    Memory is 8 m² bytes dense, 24 bytes per pair as a list.
    """

    columns: NDArray[np.intp] = attrs.field(converter=indices)
    matrix: NDArray[np.float64] | None = attrs.field(default=None, converter=floats)
    i: NDArray[np.intp] | None = attrs.field(default=None, converter=indices)
    j: NDArray[np.intp] | None = attrs.field(default=None, converter=indices)
    weight: NDArray[np.float64] | None = attrs.field(default=None, converter=floats)
    diagonal: NDArray[np.float64] | None = attrs.field(default=None, converter=floats)

    def __attrs_post_init__(self) -> None:
        m = len(self.columns)
        if self.matrix is not None:
            if self.matrix.shape != (m, m):
                raise ValueError(f"pair weights of shape {self.matrix.shape} over {m} columns")
            same = np.array_equal(self.matrix, self.matrix.T)
            if not (same or np.allclose(self.matrix, self.matrix.T, 1e-9, 1e-12, equal_nan=True)):
                raise ValueError("pair weights are not symmetric")
        elif self.i is None or self.j is None or self.weight is None:
            raise ValueError("pair weights need a matrix, or i, j and weight")
        elif not (len(self.i) == len(self.j) == len(self.weight)) or np.any(self.i >= self.j):
            raise ValueError("listed pairs need i < j and one weight each")
        elif len(self.i) and (self.i.min() < 0 or self.j.max() >= m):
            raise ValueError(f"listed pairs name positions outside 0 … {m - 1}")
        elif self.diagonal is not None and self.diagonal.shape != (m,):
            raise ValueError(f"a diagonal of shape {self.diagonal.shape} over {m} columns")
        if len(np.unique(self.columns)) != m:
            raise ValueError("pair weights name a column twice")

    @classmethod
    def from_triplets(
        cls,
        columns: ArrayLike,
        i: ArrayLike,
        j: ArrayLike,
        weight: ArrayLike,
        diagonal: ArrayLike | None = None,
    ) -> PairWeights:
        """Pair weights as a list of pairs; `i` and `j` are positions in `columns`, i < j."""
        return cls(columns, None, i, j, weight, diagonal)

    def triplets(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """Positions i < j and weights of all stored pairs."""
        if self.matrix is None:
            assert self.i is not None and self.j is not None and self.weight is not None
            return self.i, self.j, self.weight
        i, j = np.triu_indices(len(self.columns), k=1)
        return i, j, self.matrix[i, j]

    def main_effects(self) -> NDArray[np.float64] | None:
        """The diagonal as (m,), or None if only pairs are known."""
        return self.diagonal if self.matrix is None else np.diagonal(self.matrix)

    def top(self, n: int | None = None) -> list[Pair]:
        """The n pairs of largest absolute weight, signs kept, best first, ties by column.

        Weights of zero are left out.

        >>> PairWeights([4, 7, 9], [[0, 1, -3], [1, 0, 2], [-3, 2, 0]]).top(2)
        [Pair(a=4, b=9, weight=-3.0), Pair(a=7, b=9, weight=2.0)]
        """
        i, j, weight = self.triplets()
        live = np.flatnonzero(weight)
        a, b, w = self.columns[i[live]], self.columns[j[live]], weight[live]
        a, b = np.minimum(a, b), np.maximum(a, b)
        order = np.lexsort((b, a, -np.abs(w)))[:n]
        return [Pair(int(a[k]), int(b[k]), float(w[k])) for k in order]

    def count(self) -> int:
        """Number of pairs with a weight other than zero."""
        return int(np.count_nonzero(self.triplets()[2]))

    def restrict(self, columns: NDArray[np.intp]) -> PairWeights:
        """The weights among `columns` only, renumbered to positions in `columns`."""
        place = places_among(columns, self.columns)
        kept = np.flatnonzero(place >= 0)
        names = place[kept]
        if self.matrix is not None:
            return PairWeights(names, self.matrix[np.ix_(kept, kept)])
        assert self.i is not None and self.j is not None and self.weight is not None
        inverse = np.full(len(self.columns), -1, dtype=np.intp)
        inverse[kept] = np.arange(len(kept))
        both = (inverse[self.i] >= 0) & (inverse[self.j] >= 0)
        diagonal = None if self.diagonal is None else self.diagonal[kept]
        return PairWeights.from_triplets(
            names, inverse[self.i[both]], inverse[self.j[both]], self.weight[both], diagonal
        )

    def lift(self, columns: NDArray[np.intp]) -> PairWeights:
        """The same weights, with position p renamed to ``columns[p]``."""
        return attrs.evolve(self, columns=columns[self.columns])


class SelectionOfPairs(SelectionLike, Protocol):
    """The result of one stage that may have weights of pairs."""

    @property
    def pair_weights(self) -> PairWeights | None: ...
    @property
    def carried(self) -> frozenset[str]: ...


class PairsTested(Protocol):
    """Tests of pairs of columns of the table, such as `PairTests`."""

    @property
    def pairs(self) -> NDArray[np.intp]: ...
    @property
    def p_values(self) -> Floats: ...
    @property
    def q_values(self) -> Floats: ...
    @property
    def tables(self) -> Mapping[str, NDArray[Any]]: ...


def pair_table(
    names: Sequence[str],
    stages: Sequence[tuple[str, SelectionOfPairs]],
    tests: PairsTested | None = None,
) -> AnswerTable:
    """One row per pair that was weighted or tested by the last stage with pairs, best first.

    Parameters
    ----------
    names, stages
        As in `fsframe.method.answer.feature_table`.
    tests : PairTests, optional
        Tests of pairs after the last stage.

    Returns
    -------
    AnswerTable
        ``rank``, ``feature``, ``with``, ``kept`` (whether both are), and if known ``weight``,
        ``G2`` or ``F``, ``df``, ``p``, ``q``, ``frequency`` with its bounds; sorted by p, then by
        absolute weight, then by column. Untested pairs of weight zero are left out. If the stage
        has p-values, those of `tests` are ``interaction_p``, and so on.

    Examples
    --------
    >>> from fsframe.method.selection import Selection
    >>> weights = PairWeights([0, 1], [[0, 3], [3, 0]])
    >>> selection = Selection(selected=[0], scores=[1.0, 1.0], pair_weights=weights)
    >>> pair_table("ab", [("f", selection)]).columns["weight"]
    array([3.])
    """
    selection = _pair_finder(stages)
    empty = np.empty((0, 2), np.intp)
    pairs, columns = (empty, {}) if selection is None else _weighed_or_tested(selection, len(names))
    if tests is not None:
        pairs, columns = _with_tests(pairs, columns, tests, len(names))
    order = _pair_order(pairs, columns)
    texts = texts_of(names)
    in_answer = marked(len(names), stages[-1][1].selected if stages else empty[0:0, 0])
    head = {
        "rank": np.arange(1, len(pairs) + 1),
        "feature": texts[pairs[order, 0]],
        "with": texts[pairs[order, 1]],
        "kept": in_answer[pairs[order]].all(axis=1),
    }
    return AnswerTable(head | {name: column[order] for name, column in columns.items()})


def _pair_finder(stages: Sequence[tuple[str, SelectionOfPairs]]) -> SelectionOfPairs | None:
    """The last stage with pair weights or tests of its own."""
    for _, selection in reversed(stages):
        computed_here = (
            selection.pair_weights is not None and "pair_weights" not in selection.carried
        )
        seen = columns_seen(selection, len(selection.scores))
        if computed_here or pairs_tested(by_common_names(selection.tables), seen.size) is not None:
            return selection
    return None


def _weighed_or_tested(
    selection: SelectionOfPairs, n: int
) -> tuple[NDArray[np.intp], dict[str, NDArray[Any]]]:
    """The pairs of a stage as (m, 2) columns, the lower first, and its statistics of each."""
    seen, tables = columns_seen(selection, n), by_common_names(selection.tables)
    tested = pairs_tested(tables, seen.size)
    weights = None if "pair_weights" in selection.carried else selection.pair_weights
    if tested is None:
        assert weights is not None
        i, j, w = weights.triplets()
        live = np.flatnonzero(w)
        pairs = np.column_stack((weights.columns[i[live]], weights.columns[j[live]]))
        return np.sort(pairs, axis=1), {"weight": w[live].astype(np.float64)}
    pairs = np.sort(seen[tested], axis=1)
    columns: dict[str, NDArray[Any]] = {}
    if weights is not None:
        i, j, w = weights.triplets()
        place = _places(np.column_stack((weights.columns[i], weights.columns[j])), pairs, n)
        known = place >= 0
        columns["weight"] = np.full(len(pairs), np.nan)
        columns["weight"][known] = w[place[known]]
    return pairs, columns | statistics(tables, len(pairs))


def _with_tests(
    pairs: NDArray[np.intp], columns: dict[str, NDArray[Any]], tests: PairsTested, n: int
) -> tuple[NDArray[np.intp], dict[str, NDArray[Any]]]:
    """The pairs of a stage and those tested afterwards, with the columns of both."""
    new = tests.pairs[_places(pairs, tests.pairs, n) < 0]
    every = np.concatenate((pairs, np.sort(new, axis=1)))
    more = {
        name: _lengthened(column, len(every), np.arange(len(pairs)))
        for name, column in columns.items()
    }
    place = _places(every, tests.pairs, n)
    known = statistics(by_common_names(tests.tables), len(tests.pairs))
    test_columns: dict[str, NDArray[Any]] = {
        name: known[name] for name in ("G2", "F", "df") if name in known
    }
    test_columns |= {"p": tests.p_values, "q": tests.q_values}
    for name, column in test_columns.items():
        title = f"interaction_{name}" if name in columns else name
        more[title] = _lengthened(column, len(every), place)
    return every, more


def _lengthened(column: NDArray[Any], length: int, place: NDArray[np.intp]) -> NDArray[Any]:
    missing: float = MISSING if column.dtype.kind == "i" else np.nan
    longer = np.full(length, missing, dtype=column.dtype)
    longer[place] = column
    return longer


def pairs_tested(tables: Mapping[str, NDArray[Any]], m: int) -> NDArray[np.intp] | None:
    """The tested pairs as (q, 2) positions among the m columns seen; None if there are none."""
    pairs = tables.get("pairs")
    if pairs is None or pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        return None
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < m):
        return None
    return pairs.astype(np.intp)


def _places(pairs: NDArray[np.intp], wanted: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Position of each wanted pair in `pairs`, −1 if absent; O(m log m)."""
    keys, sought = (
        each.min(axis=1, initial=n) * n + each.max(axis=1, initial=0) for each in (pairs, wanted)
    )
    return places_among(keys, sought)


def _pair_order(pairs: NDArray[np.intp], columns: Mapping[str, NDArray[Any]]) -> NDArray[np.intp]:
    none = np.zeros(len(pairs))
    size = np.abs(np.nan_to_num(columns.get("weight", none)))
    often = np.nan_to_num(columns.get("frequency", none))
    p = np.nan_to_num(columns.get("p", none), nan=np.inf)
    return np.lexsort((pairs[:, 1], pairs[:, 0], -often, -size, p))
