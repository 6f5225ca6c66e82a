"""The table and upstream selection as a stage gets them, and its result for the whole table."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.method.donors import Donors
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe.table.frozen_arrays import freeze
from fsframe.table.sparse_columns import SparseColumns

__all__ = [
    "columns_at_hand",
    "filled",
    "filled_rows",
    "first_missing",
    "in_whole_table",
    "local_upstream",
    "nothing_left",
    "view",
    "with_kept",
    "with_whole_groups",
]


def columns_at_hand(data: Dataset, upstream: Selection | None) -> NDArray[np.intp]:
    """The columns of `data` that the stage on the left kept, ascending, read-only; all without one.

    RequestError if `data` is not a table, or not the one that `upstream` belongs to.
    """
    if not isinstance(data, Dataset):
        raise RequestError(
            f"select takes a Dataset, not {type(data).__name__}: make one with "
            "Dataset.from_arrays(X, y), or read one with fsframe.read(path)"
        )
    if upstream is not None and upstream.n_features != data.n_features:
        raise RequestError(
            f"the stage on the left saw {upstream.n_features} columns, {data.name!r} has "
            f"{data.n_features}: both must belong to the same table"
        )
    columns = np.arange(data.n_features) if upstream is None else np.sort(upstream.selected)
    # Results of all resamples share this array.
    return freeze(columns)


def filled(data: Dataset, fill: NDArray[np.float64] | None) -> Dataset:
    """`data` with `fill`, (n_features,), in place of missing values; NaN in it leaves them."""
    if fill is None or data.matrix.dtype.kind != "f" or np.isnan(fill).all():
        return data
    if isinstance(data.matrix, SparseColumns):
        complete = data.matrix.complete
        return data if complete else attrs.evolve(data, matrix=data.matrix.filled(fill))
    if not data.in_memory:
        # Genotypes in bits stay that if what fills them are genotypes.
        own = getattr(data.matrix, "filled", lambda fill: None)(fill)
        return attrs.evolve(data, matrix=own or _FilledColumns(source=data.matrix, fill=fill))
    # A sum is NaN if any term is: most tables are complete.
    if not np.isnan(data.matrix.sum()):
        return data
    matrix = np.where(np.isnan(data.matrix), fill, data.matrix)
    return attrs.evolve(data, matrix=freeze(matrix))


def view(data: Dataset, columns: NDArray[np.intp], upstream: Selection | None) -> Dataset:
    """`data` with these columns only, its missing values filled by `upstream`.

    A table in parts is read into memory if its missing values are filled.
    """
    given = data.take_columns(columns)
    if upstream is None or upstream.fill is None:
        return given
    given = given.loaded()
    donors = upstream.donors
    if donors is None or first_missing(given) is None:
        return filled(given, upstream.fill[columns])
    rows = data.take_columns(donors.columns).loaded().X
    matrix = _from_donors(given.X, rows, columns, upstream.fill, donors)
    return attrs.evolve(given, matrix=freeze(matrix))


def filled_rows(
    table: NDArray[np.float64],
    columns: NDArray[np.intp],
    fill: NDArray[np.float64] | None,
    donors: Donors | None,
) -> NDArray[np.float64]:
    """These columns of new rows (n, n_features), with missing values filled, as (n, k) float64.

    All columns are given, since the nearest donors may depend on others. `fill` and `donors` are as
    in a Selection; NaN stays where there is no value to fill in.
    """
    taken = np.take(table, columns, axis=1)
    if fill is None or not np.isnan(taken).any():
        return taken
    if donors is None:
        return np.where(np.isnan(taken), fill[columns], taken)
    return _from_donors(taken, table[:, donors.columns], columns, fill, donors)


def _from_donors(
    taken: NDArray[np.float64],
    rows: NDArray[np.float64],
    columns: NDArray[np.intp],
    fill: NDArray[np.float64],
    donors: Donors,
) -> NDArray[np.float64]:
    """`taken`, (n, k), filled with values of donors; `rows` has the donors' columns."""
    known = np.flatnonzero(~np.isnan(fill[columns]))
    found = np.array(taken)
    lacking = np.isnan(taken[:, known]).any(axis=1)
    place = np.searchsorted(donors.columns, columns[known])
    # Only rows with missing values in these columns.
    found[np.ix_(lacking, known)] = donors.filled(rows[lacking])[:, place]
    return found


@attrs.frozen(kw_only=True, eq=False)
class _FilledColumns:
    """A table on disk, read with its missing values filled."""

    source: Any
    fill: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int]:
        found: tuple[int, int] = self.source.shape
        return found

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.source.dtype)

    @property
    def nbytes(self) -> int:
        return int(getattr(self.source, "nbytes", 0))

    def read(self, start: int, stop: int) -> NDArray[Any]:
        block = self.source.read(start, stop)
        return np.where(np.isnan(block), self.fill[start:stop], block)


def with_kept(found: Selection, local: Dataset) -> Selection:
    """`found` with the columns of `local` that are always kept; those it lacks come at the end."""
    if local.keep is None:
        return found
    lacking = np.setdiff1d(np.flatnonzero(local.keep), found.selected)
    if not lacking.size:
        return found
    return attrs.evolve(found, selected=np.concatenate([found.selected, lacking]))


def with_whole_groups(found: Selection, local: Dataset) -> Selection:
    """`found` with all columns of each group of features of which it has one, right after that one.

    A column added this way without a score has the score of the one that brought it. If missing
    values are filled, columns that cannot be filled stay out.
    """
    sets = local.feature_sets
    taken = np.zeros(local.n_features, dtype=bool)
    taken[found.selected] = True
    lacking = ~taken & np.isin(sets, sets[found.selected][sets[found.selected] >= 0])
    if found.fill is not None:
        lacking &= ~np.isnan(found.fill)
    if not lacking.any():
        return found
    scores, order, done = found.scores.copy(), [], set()
    for column in found.selected.tolist():
        order.append(column)
        if sets[column] < 0 or sets[column] in done:
            continue
        done.add(sets[column])
        brought = np.flatnonzero(lacking & (sets == sets[column]))
        order += brought.tolist()
        scores[brought] = np.where(np.isnan(scores[brought]), scores[column], scores[brought])
    return attrs.evolve(found, selected=np.array(order, dtype=np.intp), scores=scores)


def local_upstream(
    upstream: Selection | None, columns: NDArray[np.intp], rows: NDArray[np.intp]
) -> Selection | None:
    """`upstream` in the numbering of a table that has these ascending columns and these rows only.

    A row that occurs twice was copied.
    """
    if upstream is None:
        return None
    local = upstream.restrict(columns)
    if local.instance_weights is None:
        return local
    return attrs.evolve(local, instance_weights=local.instance_weights[rows])


def in_whole_table(
    found: Selection,
    data: Dataset,
    columns: NDArray[np.intp],
    rows: NDArray[np.intp],
    upstream: Selection | None,
    notes: tuple[str, ...],
) -> Selection:
    """`found` in the numbering of `data`, with weights of earlier stages and the warnings `notes`.

    `found` is a selection on a table with only these columns and rows of `data`, as for
    `local_upstream`; `upstream`, that of the stage on the left, has the numbering of `data`.
    """
    lifted = found.lift(columns, data.n_features)
    changes: dict[str, Any] = {}
    own = found.instance_weights
    if own is not None and not np.array_equal(rows, np.arange(data.n_samples)):
        # The weight of a copied row is the sum over its copies.
        changes["instance_weights"] = np.bincount(rows, weights=own, minlength=data.n_samples)
    if lifted.fill is not None and upstream is not None and upstream.fill is not None:
        # The first stage that fills a column determines the values.
        first = upstream.fill
        changes["fill"] = np.where(np.isnan(first), lifted.fill, first)
        changes["donors"] = upstream.donors
    carried = _carried(lifted, upstream)
    if carried or found.carried:
        changes.update(carried, carried=frozenset(carried))
    if notes:
        changes["warnings"] = found.warnings + notes
    return attrs.evolve(lifted, **changes) if changes else lifted


def _carried(found: Selection, upstream: Selection | None) -> dict[str, Any]:
    """The weights of earlier stages that this one passes on, for the columns that it kept."""
    if upstream is None:
        return {}
    carried: dict[str, Any] = {}
    kept = np.sort(found.selected)
    if found.weights is None and upstream.weights is not None:
        weights = np.zeros_like(upstream.weights)
        weights[kept] = upstream.weights[kept]
        carried["weights"] = weights
    if found.pair_weights is None and upstream.pair_weights is not None:
        carried["pair_weights"] = upstream.pair_weights.restrict(kept).lift(kept)
    if found.instance_weights is None and upstream.instance_weights is not None:
        carried["instance_weights"] = upstream.instance_weights
    if found.fill is None and upstream.fill is not None:
        carried["fill"] = upstream.fill
        if upstream.donors is not None:
            carried["donors"] = upstream.donors
    return carried


def nothing_left(data: Dataset) -> Selection:
    """The result of a stage that received no column."""
    return Selection(
        selected=[],
        scores=np.full(data.n_features, np.nan),
        features_in=[],
        warnings=("no column was left by the stage before; nothing was done",),
    )


def first_missing(data: Dataset) -> tuple[int, int, int] | None:
    """Row and column of the first missing value, and how many there are; None if there is none."""
    if data.in_parts:
        return _first_in_parts(data)
    total, first = 0, None
    if data.matrix.dtype.kind != "f":
        return None
    if isinstance(data.matrix, SparseColumns) and data.matrix.complete:
        return None
    for start, stop in data.column_blocks():
        block = data.columns(start, stop)
        # A sum is NaN if any term is: one pass without a temporary array for complete tables.
        if not np.isnan(block.sum()):
            continue
        places = np.argwhere(np.isnan(block))
        total += len(places)
        if len(places):
            # argwhere goes row by row, so its first result is in the first row.
            place = (int(places[0, 0]), start + int(places[0, 1]))
            first = place if first is None else min(first, place)
    return None if first is None else (first[0], first[1], total)


def _first_in_parts(data: Dataset) -> tuple[int, int, int] | None:
    """`first_missing` of a table in parts, whose number of missing values is known."""
    total = int(data.matrix.facts.missing.sum())
    row = 0
    for block in data.matrix.blocks() if total else ():
        places = np.argwhere(np.isnan(block))
        if len(places):
            return row + int(places[0, 0]), int(places[0, 1]), total
        row += len(block)
    return None
