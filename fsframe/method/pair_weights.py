"""Weights of pairs of columns, as a matrix or a list; each method defines what they mean."""

from __future__ import annotations

from typing import NamedTuple

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.table.arrays import floats, indices

__all__ = ["Pair", "PairWeights"]


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
        Main effects beside a list of pairs.

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
            if not np.allclose(self.matrix, self.matrix.T, rtol=1e-9, atol=1e-12, equal_nan=True):
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
        place = {int(column): position for position, column in enumerate(columns)}
        kept = np.array([p for p, c in enumerate(self.columns) if int(c) in place], dtype=np.intp)
        names = np.array([place[int(self.columns[p])] for p in kept], dtype=np.intp)
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
