"""What a selector returns: the kept columns, scores, weights and tables; frozen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Pair", "PairWeights", "Selection", "rank_by_score"]


class Pair(NamedTuple):
    """Two columns and the weight of their interaction."""

    a: int
    b: int
    weight: float


def _freeze(value: Any, dtype: Any = None) -> Any:
    """`value` as a read-only array, or None; the caller's own array stays writable."""
    if value is None:
        return None
    # Thousands of resamples arrive with arrays that are as they should be.
    ready = type(value) is np.ndarray and not value.flags.writeable
    if ready and (dtype is None or value.dtype == dtype):
        return value
    array = np.array(value, dtype=dtype, copy=None)
    if array.flags.writeable:
        array = array.view()
        array.setflags(write=False)
    return array


def _indices(value: Any) -> Any:
    kind = value.dtype.kind if isinstance(value, np.ndarray) else np.asarray(value).dtype.kind
    if kind not in "iu" and value is not None and np.size(value):
        # Rounding a column number would silently name another column.
        raise ValueError("column numbers must be whole numbers")
    return _freeze(value, np.intp)


def _floats(value: Any) -> Any:
    return _freeze(value, np.float64)


class _Arrays(Mapping[str, NDArray[Any]]):
    """Read-only arrays by name; unlike a mapping proxy it travels between processes."""

    def __init__(self, arrays: Mapping[str, ArrayLike]) -> None:
        self._arrays = {str(key): _freeze(array) for key, array in arrays.items()}

    def __getitem__(self, key: str) -> NDArray[Any]:
        return self._arrays[key]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return repr(self._arrays)

    def __reduce__(self) -> tuple[type[_Arrays], tuple[dict[str, NDArray[Any]]]]:
        # Through the constructor: unpickled arrays are writable until they are frozen again.
        return _Arrays, (self._arrays,)


_NO_ARRAYS = _Arrays({})


def _arrays(value: Any) -> Mapping[str, NDArray[Any]]:
    if type(value) is _Arrays:
        return value
    return _Arrays(value) if value else _NO_ARRAYS


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(value)


def _words(value: Any) -> frozenset[str]:
    return frozenset(value)


@attrs.frozen(eq=False)
class PairWeights:
    """Symmetric weights over pairs of columns, dense or as a list of pairs.

    Parameters
    ----------
    columns : (m,) int
        Which columns the rows and columns of the weights are.
    matrix : (m, m) float64, symmetric, optional
        The weights; the diagonal holds main effects.
    i, j, weight : (n_pairs,) arrays, optional
        In place of `matrix`: positions in `columns`, ``i < j``, where all weights would not fit;
        what is not listed is unknown or negligible.
    diagonal : (m,) float64, optional
        Main effects beside a list of pairs.

    Notes
    -----
    Memory is 8 m² bytes dense, 24 bytes per pair as a list.
    """

    columns: NDArray[np.intp] = attrs.field(converter=_indices)
    matrix: NDArray[np.float64] | None = attrs.field(default=None, converter=_floats)
    i: NDArray[np.intp] | None = attrs.field(default=None, converter=_indices)
    j: NDArray[np.intp] | None = attrs.field(default=None, converter=_indices)
    weight: NDArray[np.float64] | None = attrs.field(default=None, converter=_floats)
    diagonal: NDArray[np.float64] | None = attrs.field(default=None, converter=_floats)

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
        """Positions i < j and weights of all pairs held."""
        if self.matrix is None:
            assert self.i is not None and self.j is not None and self.weight is not None
            return self.i, self.j, self.weight
        i, j = np.triu_indices(len(self.columns), k=1)
        return i, j, self.matrix[i, j]

    def main_effects(self) -> NDArray[np.float64] | None:
        """The diagonal as (m,), or None where only pairs are known."""
        return self.diagonal if self.matrix is None else np.diagonal(self.matrix)

    def top(self, n: int | None = None) -> list[Pair]:
        """The n pairs of the largest weights above zero, best first, ties by column.

        >>> PairWeights([4, 7, 9], [[0, 1, 3], [1, 0, 2], [3, 2, 0]]).top(2)
        [Pair(a=4, b=9, weight=3.0), Pair(a=7, b=9, weight=2.0)]
        """
        i, j, weight = self.triplets()
        live = np.flatnonzero(weight > 0)
        a, b, w = self.columns[i[live]], self.columns[j[live]], weight[live]
        a, b = np.minimum(a, b), np.maximum(a, b)
        order = np.lexsort((b, a, -w))[:n]
        return [Pair(int(a[k]), int(b[k]), float(w[k])) for k in order]

    def count(self) -> int:
        """Number of pairs with a weight above zero."""
        return int(np.count_nonzero(self.triplets()[2] > 0))

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


@attrs.frozen(kw_only=True, eq=False)
class Selection:
    """What a selector found.

    Parameters
    ----------
    selected : (n_selected,) int
        Kept columns, best first.
    scores : (n_features,) float64
        Larger is better; NaN means not considered.
    weights : (n_features,) float64, optional
        Non-negative, for distances.
    pair_weights : PairWeights, optional
        Weights of interactions.
    instance_weights : (n_samples,) float64, optional
        Non-negative importance of rows.
    model : mapping of str to array
        What a classifier needs to predict as the method does; columns as in `features_in`.
    tables : mapping of str to array
        Named extra arrays, such as the cost per iteration.
    warnings : tuple of str
        What makes the result weak.
    features_in : (n_in,) int, optional
        The columns that the method saw; set by the core.
    carried : frozenset of str
        Which of the weights come from an earlier stage; set by the core.
    """

    selected: NDArray[np.intp] = attrs.field(converter=_indices)
    scores: NDArray[np.float64] = attrs.field(converter=_floats)
    weights: NDArray[np.float64] | None = attrs.field(default=None, converter=_floats)
    pair_weights: PairWeights | None = None
    instance_weights: NDArray[np.float64] | None = attrs.field(default=None, converter=_floats)
    model: Mapping[str, NDArray[Any]] = attrs.field(factory=dict, converter=_arrays)
    tables: Mapping[str, NDArray[Any]] = attrs.field(factory=dict, converter=_arrays)
    warnings: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    features_in: NDArray[np.intp] | None = attrs.field(default=None, converter=_indices)
    carried: frozenset[str] = attrs.field(default=frozenset(), converter=_words)

    @property
    def n_features(self) -> int:
        """Number of columns of the table that the indices refer to."""
        return len(self.scores)

    def with_selected(self, selected: ArrayLike) -> Selection:
        """The same but for the kept columns; the quick way to thousands of them.

        >>> found = Selection(selected=[1], scores=[0.1, 0.9])
        >>> found.with_selected([0]).selected, found.selected
        (array([0]), array([1]))
        """
        other = object.__new__(Selection)
        for name in _FIELDS:
            object.__setattr__(other, name, getattr(self, name))
        object.__setattr__(other, "selected", _indices(selected))
        return other

    def problems(self, n_features: int, n_samples: int) -> list[str]:
        """What is wrong with this selection for a table of that shape; nothing if it is sound."""
        found = []
        if self.scores.shape != (n_features,):
            found.append(f"scores have shape {self.scores.shape}, not ({n_features},)")
        if self.selected.ndim != 1:
            found.append("selected is not a list of different columns")
        elif self.selected.size and (self.selected.min() < 0 or self.selected.max() >= n_features):
            found.append(f"selected has columns outside 0 … {n_features - 1}")
        elif np.bincount(self.selected, minlength=1).max() > 1:
            found.append("selected is not a list of different columns")
        if np.isinf(self.scores).any():
            found.append("scores hold infinite values")
        for name, array, length in (
            ("weights", self.weights, n_features),
            ("instance_weights", self.instance_weights, n_samples),
        ):
            if array is None:
                continue
            if array.shape != (length,):
                found.append(f"{name} have shape {array.shape}, not ({length},)")
            elif not np.isfinite(array).all() or (array < 0).any():
                found.append(f"{name} hold negative or non-finite values")
        if self.pair_weights is not None and self.pair_weights.columns.size:
            columns = self.pair_weights.columns
            if columns.min() < 0 or columns.max() >= n_features:
                found.append(f"pair_weights name columns outside 0 … {n_features - 1}")
            if not np.isfinite(self.pair_weights.triplets()[2]).all():
                found.append("pair_weights hold non-finite values")
        return found

    def restrict(self, columns: NDArray[np.intp]) -> Selection:
        """This selection as a stage sees it that has only `columns`, renumbered 0, 1, …

        `model` stays as it is, in terms of `features_in`.
        """
        place = {int(column): position for position, column in enumerate(columns)}
        return attrs.evolve(
            self,
            selected=[place[int(c)] for c in self.selected if int(c) in place],
            scores=self.scores[columns],
            weights=None if self.weights is None else self.weights[columns],
            pair_weights=None if self.pair_weights is None else self.pair_weights.restrict(columns),
        )

    def lift(self, columns: NDArray[np.intp], n_features: int) -> Selection:
        """This selection in the original table's numbering, position p being ``columns[p]``."""
        scores = np.full(n_features, np.nan)
        scores[columns] = self.scores
        weights = None
        if self.weights is not None:
            weights = np.zeros(n_features)
            weights[columns] = self.weights
        return attrs.evolve(
            self,
            selected=columns[self.selected],
            scores=scores,
            weights=weights,
            pair_weights=None if self.pair_weights is None else self.pair_weights.lift(columns),
            features_in=columns,
        )


_FIELDS = tuple(field.name for field in attrs.fields(Selection))


def rank_by_score(scores: NDArray[np.float64], count: int | None = None) -> NDArray[np.intp]:
    """Columns from the best score to the worst, ties by column, NaN left out.

    Of all columns, or of the first `count` in that order, which takes less than to order all.

    >>> rank_by_score(np.array([0.2, np.nan, 0.9, 0.2])).tolist()
    [2, 0, 3]
    >>> rank_by_score(np.array([0.2, np.nan, 0.9, 0.2]), 2).tolist()
    [2, 0]
    """
    known = np.flatnonzero(~np.isnan(scores))
    falling = -scores[known]
    if count is not None and count < len(known):
        if count < 1:
            return known[:0]
        # all that are as good as the last: which of them are kept is up to the order below
        good = falling <= np.partition(falling, count - 1)[count - 1]
        known, falling = known[good], falling[good]
    return known[np.argsort(falling, kind="stable")[:count]]
