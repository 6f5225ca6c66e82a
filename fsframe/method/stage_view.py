"""What methods have in common: their view of the table and of other stages, and their result in
the whole table."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol, TypeGuard

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, PluginError, RequestError, refuse
from fsframe.method.run import Run
from fsframe.method.selection import Donors, Selection
from fsframe.params import Parameterised
from fsframe.registry import Offer, Registry, selectors
from fsframe.table.arrays import SparseColumns, freeze
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import LABELS
from fsframe.text import some_of


class Base(Protocol):
    """The chain that a wrapping stage resamples: the one on its left, or that of `base`."""

    @property
    def joint(self) -> bool:
        """Whether it judges features in one model of all (`Selector.joint`)."""
        return False

    @property
    def competing(self) -> bool:
        """Whether features compete for a place in one model (`Selector.competing`)."""
        return False

    @property
    def natural_zero(self) -> bool:
        """Whether a score of 0 means that a column has no information (`Selector.natural_zero`)."""
        return False

    def told(self, text_of: Callable[[Any], str]) -> Iterator[str]:
        """The text for each of its selectors that is not empty, with the name of the stage."""
        yield from ()

    def select(
        self, data: Dataset, upstream: Selection | None = None, run: Run | None = None
    ) -> Selection: ...

    def select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None = None,
        run: Run | None = None,
    ) -> list[Selection]:
        """`select` on each resample, a row of `counts`, unless there is a faster way."""
        return one_by_one(self.select, data, counts, upstream, run)


class WrapsLeft(Protocol):
    """A stage that resamples everything on its left."""

    def works_in_parts(self, data: Dataset) -> bool: ...

    def select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection: ...


def wraps_left(method: object) -> TypeGuard[WrapsLeft]:
    """Whether a method resamples the chain on its left: a wrapping stage without `base`."""
    return bool(getattr(method, "wrapping", False)) and getattr(method, "base", None) is None


def one_by_one(
    select: Callable[[Dataset, Selection | None, Run], Selection],
    data: Dataset,
    counts: NDArray[np.integer[Any]],
    upstream: Selection | None,
    run: Run | None,
) -> list[Selection]:
    """The result of `select` on each resample of `data`: the reference for all faster ways.

    `counts`, (n_resamples, n_samples), says how often each resample draws each row; resample b
    draws from ``run.child(b)``.
    """
    context = Run() if run is None else run
    return [
        select(data.with_counts(row), upstream, context.child(b)) for b, row in enumerate(counts)
    ]


def drawn_rows(
    data: Dataset, counts: NDArray[np.integer[Any]], upstream: Selection | None
) -> tuple[NDArray[np.intp], Dataset, Selection | None]:
    """The rows that a resample has drawn, their table, and the upstream selection for them.

    `counts`, (n_samples,), become the counts of the table; the instance weights of `upstream` are
    restricted to the drawn rows.
    """
    rows = np.flatnonzero(counts)
    if upstream is not None:
        upstream = upstream.of_rows(rows)
    local = data.with_counts(counts)
    return rows, (local if rows.size == data.n_samples else local.take_rows(rows)), upstream


_NAMED = 6


def _bundled_offers(registry: Registry) -> Iterator[Offer]:
    """The offers of bundled methods; those of other plugins are not imported for a message."""
    return (offer for offer in registry.offers() if offer.plugin.source.bundled)


def _bundled(registry: Registry) -> Iterator[tuple[Offer, type[Any]]]:
    """The bundled methods with their classes."""
    for offer in _bundled_offers(registry):
        with contextlib.suppress(PluginError):
            yield offer, registry[offer.name]


def selectors_for(task: str) -> str:
    """The selectors for a task, as the end of a message."""
    named = [
        o.name
        for o, m in _bundled(selectors)
        if task in m.tasks and not m.wrapping and m.univariate
    ]
    if not named:
        return ""
    return f". For {LABELS[task]} use {', '.join(named)} or others (`fsframe methods` lists them)"


def selectors_that(does: Callable[[Any], bool], *, wrapping: bool = False) -> str:
    """The first bundled selectors with a property, as a list for a message.

    The best known come first (`SelectorEntry.named`).

    Parameters
    ----------
    does : callable
        Whether a selector with its default parameters has the property.
    wrapping : bool
        Whether to list stages that resample others, instead of selectors that do not.
    """
    named: list[str] = []
    for offer in sorted(_bundled_offers(selectors), key=_place):
        if len(named) > _NAMED:
            # Further methods are not imported for a message.
            break
        if offer.entry.wraps != wrapping:  # type: ignore[attr-defined]
            continue
        with contextlib.suppress(PluginError):
            method = selectors[offer.name]
            if not any(p.required for p in method.parameters()) and does(method()):
                named.append(offer.name)
    return ", ".join(named[:_NAMED]) + (", …" if len(named) > _NAMED else "")


def _place(offer: Offer) -> tuple[float, str]:
    return getattr(offer.entry, "named", 0) or math.inf, offer.name


def weights_in_parts(name: str, weights: str) -> str:
    """The message that the method `name` does not support row weights of a table in parts."""
    others = selectors_that(lambda method: bool(method.takes_weighted_parts))
    return (
        f"{name} does not support row weights ({weights!r}) of a table in parts; methods that sum "
        f"over rows do ({others}). Leave the weights out (--drop "
        f"{weights}), or read the table into memory, as fsframe.read(polars.read_parquet(…))"
    )


def filling_stage() -> str:
    """The first bundled selector that fills missing values, by name; empty if none is loaded."""
    offers = _bundled_offers(selectors)
    return next((o.name for o in offers if "fill" in getattr(o.entry, "gives", ())), "")


def way_to_fill(name: str) -> str:
    """Advice for a message that `name` does not accept missing values; empty if nothing fills."""
    fill = filling_stage()
    return f"fill them in every resample by a stage before it (`{fill} {name}`)" if fill else ""


def ways_with_missing(name: str, task: str) -> str:
    """Advice for a message that a selector does not accept missing values: all that helps."""
    take = [
        offer.name
        for offer, method in _bundled(selectors)
        if not method.wrapping
        and "fill" not in getattr(offer.entry, "gives", ())
        and method.takes_missing
        and task in method.tasks
    ]
    other = f"drop them, or use a method that accepts them: {', '.join(take)}" if take else ""
    return "; ".join(filter(None, (way_to_fill(name), other))) or "drop or fill them"


@attrs.frozen(kw_only=True)
class Method(Parameterised):
    """What selectors, classifiers and regressors have in common.

    Attributes
    ----------
    takes_missing : bool
        Whether NaN in the features is allowed.
    takes_nominal : bool
        Whether values of nominal columns (`data.categorical`) are only compared for equality, so
        that other codes of their levels give the same result. Otherwise a table with nominal
        columns raises an error.
    table_copies : float
        How many float64 copies of its table a fit holds in addition to it.
    """

    takes_missing: ClassVar[bool] = False
    takes_nominal: ClassVar[bool] = False
    table_copies: ClassVar[float] = 0.0

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """Roles of columns and rows of `data` that this method does not support.

        Yields
        ------
        str
            A sentence each: which role, why not, what to do.
        """
        places = () if self.takes_nominal else np.flatnonzero(data.categorical)
        if len(places):
            named = some_of([repr(data.feature_names[place]) for place in places])
            hold = "holds" if len(places) == 1 else "hold"
            others = selectors_that(lambda method: bool(method.takes_nominal))
            yield (
                f"{self.method_name()} needs numeric columns, and {named} {hold} categories: "
                "encode them as indicator columns (--encode onehot, encode='onehot'), leave them "
                f"out (--drop), or use a method that accepts them ({others})"
            )

    def check_roles(self, data: Dataset) -> None:
        """Raise DataError with all `role_problems`."""
        refuse(DataError, self.role_problems(data))

    def missing_taken(self) -> bool:
        """Whether NaN is allowed with these parameters, as estimators declare to scikit-learn.

        Authors override this if neither `takes_missing` nor a parameter `missing` decides it.
        """
        return self.takes_missing and getattr(self, "missing", None) != "refuse"

    def unlike_copies(self) -> str:
        """Why a row of weight k differs from k equal rows for this method; empty if it does not.

        Authors override this where rows are told apart, such as by neighbours or folds; it may
        depend on parameters. ``sample_weight`` of `fsframe.sklearn` then raises an error.
        """
        return ""

    def tables_held(self, n_features: int) -> float:
        """Number of copies (`table_copies`) that this stage, or one that it resamples, holds of the
        `n_features` columns it sees."""
        return self.table_copies

    def bytes_for_rows(self, n_samples: int) -> int:
        """Bytes that this stage, or one that it resamples, cannot do without besides copies of the
        table, such as for all pairs of rows."""
        return 0

    def check_rows(self, n_samples: int, run: Run) -> None:
        """Raise MemoryBoundError if `bytes_for_rows` is more than a fit may hold.

        Authors whose methods have such bytes override this (`Run.must_hold`); it is called before
        any stage runs.
        """

    def rows_copied(self) -> float:
        """Number of copies of the table's rows that resampling makes for one fit; 0 without
        resampling.
        """
        return 0.0


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
    """`data` with `fill`, (n_features,), in place of missing values; NaN in `fill` leaves them."""
    if fill is None or data.matrix.dtype.kind != "f" or np.isnan(fill).all():
        return data
    if isinstance(data.matrix, SparseColumns):
        complete = data.matrix.complete
        return data if complete else attrs.evolve(data, matrix=data.matrix.filled(fill))
    if not data.in_memory:
        # Genotypes in packed bits stay packed if the fill values are genotypes.
        filled_matrix = getattr(data.matrix, "filled", lambda fill: None)(fill)
        return attrs.evolve(
            data, matrix=filled_matrix or _FilledColumns(source=data.matrix, fill=fill)
        )
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
    completed = np.array(taken)
    lacking = np.isnan(taken[:, known]).any(axis=1)
    place = np.searchsorted(donors.columns, columns[known])
    # Only rows with missing values in these columns.
    completed[np.ix_(lacking, known)] = donors.filled(rows[lacking])[:, place]
    return completed


@attrs.frozen(kw_only=True, eq=False)
class _FilledColumns:
    """A table of packed genotypes, read with its missing values filled."""

    source: Any
    fill: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int]:
        shape: tuple[int, int] = self.source.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.source.dtype)

    @property
    def nbytes(self) -> int:
        return int(self.source.nbytes)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        block = self.source.read(start, stop)
        return np.where(np.isnan(block), self.fill[start:stop], block)

    def take(self, columns: NDArray[np.intp]) -> _FilledColumns:
        return attrs.evolve(self, source=self.source.take(columns), fill=self.fill[columns])

    def take_rows(self, rows: NDArray[np.intp]) -> _FilledColumns:
        return attrs.evolve(self, source=self.source.take_rows(rows))


def _with_kept(selection: Selection, local: Dataset) -> Selection:
    """`selection` with all columns of `local` that are always kept; those it lacks come last."""
    if local.keep is None:
        return selection
    lacking = np.setdiff1d(np.flatnonzero(local.keep), selection.selected)
    if not lacking.size:
        return selection
    return attrs.evolve(selection, selected=np.concatenate([selection.selected, lacking]))


def _with_whole_groups(selection: Selection, local: Dataset) -> Selection:
    """`selection`, with each selected column followed by the other columns of its feature group.

    A column added this way that has no score gets the score of the selected one. If missing values
    are filled, columns that cannot be filled stay out.
    """
    sets = local.feature_sets
    taken = np.isin(np.arange(local.n_features), selection.selected)
    lacking = ~taken & np.isin(sets, sets[selection.selected][sets[selection.selected] >= 0])
    if selection.fill is not None:
        lacking &= ~np.isnan(selection.fill)
    if not lacking.any():
        return selection
    scores, order, done = selection.scores.copy(), [], set()
    for column in selection.selected.tolist():
        order.append(column)
        if sets[column] < 0 or sets[column] in done:
            continue
        done.add(sets[column])
        brought = np.flatnonzero(lacking & (sets == sets[column]))
        order += brought.tolist()
        scores[brought] = np.where(np.isnan(scores[brought]), scores[column], scores[brought])
    return attrs.evolve(selection, selected=np.array(order, dtype=np.intp), scores=scores)


def local_upstream(
    upstream: Selection | None, columns: NDArray[np.intp], rows: NDArray[np.intp]
) -> Selection | None:
    """`upstream` in the numbering of a table that has these ascending columns and these rows only.

    A row that was copied occurs several times in `rows`.
    """
    return None if upstream is None else upstream.restrict(columns).of_rows(rows)


def in_whole_table(
    selection: Selection,
    local: Dataset,
    data: Dataset,
    columns: NDArray[np.intp],
    rows: NDArray[np.intp],
    upstream: Selection | None,
    notes: tuple[str, ...],
) -> Selection:
    """`selection` in the numbering of `data`, with earlier weights and the warnings `notes`.

    `selection` was made on `local`, the table with only `columns` and `rows` of `data`, as in
    `local_upstream`. `upstream`, the selection of the stage on the left, is in the numbering of
    `data`. Columns that are always kept, and the rest of feature groups, are added.
    """
    selection = _with_whole_groups(_with_kept(selection, local), local)
    lifted = selection.lift(columns, data.n_features)
    changes: dict[str, Any] = {}
    instance_weights = selection.instance_weights
    if instance_weights is not None and not np.array_equal(rows, np.arange(data.n_samples)):
        # The weight of a copied row is the sum over its copies.
        changes["instance_weights"] = np.bincount(
            rows, weights=instance_weights, minlength=data.n_samples
        )
    if lifted.fill is not None and upstream is not None and upstream.fill is not None:
        # The first stage that fills a column determines the values.
        first = upstream.fill
        changes["fill"] = np.where(np.isnan(first), lifted.fill, first)
        changes["donors"] = upstream.donors
    carried = _carried(lifted, upstream)
    if carried or selection.carried:
        changes.update(carried, carried=frozenset(carried))
    if notes:
        changes["warnings"] = selection.warnings + notes
    return attrs.evolve(lifted, **changes) if changes else lifted


def _carried(selection: Selection, upstream: Selection | None) -> dict[str, Any]:
    """The weights of earlier stages that this one passes on, for the columns that it kept."""
    if upstream is None:
        return {}
    carried: dict[str, Any] = {}
    kept = np.sort(selection.selected)
    if selection.weights is None and upstream.weights is not None:
        weights = np.zeros_like(upstream.weights)
        weights[kept] = upstream.weights[kept]
        carried["weights"] = weights
    if selection.pair_weights is None and upstream.pair_weights is not None:
        carried["pair_weights"] = upstream.pair_weights.restrict(kept).lift(kept)
    if selection.instance_weights is None and upstream.instance_weights is not None:
        carried["instance_weights"] = upstream.instance_weights
    if selection.fill is None and upstream.fill is not None:
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
        warnings=("the stage before kept no column, so there was nothing to do",),
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


def without_values(data: Dataset, column: int) -> str:
    """That a feature has no value at all, in parentheses for refusals; empty if it has one."""
    if data.in_parts:
        empty = data.matrix.facts.missing[column] == data.n_samples
    else:
        empty = np.isnan(data.columns(column, column + 1)).all()
    return " (it has no value at all: leave it out)" if empty else ""


def undecided_gaps(name: str, data: Dataset, ways: str) -> Iterator[str]:
    """A sentence that a method with a parameter `missing` refuses the missing values of `data`.

    `ways` are the settings that accept them; nothing if no value is missing.
    """
    first = first_missing(data)
    if first is not None:
        row, column, _ = first
        yield (
            f"{name}: missing values in feature {data.feature_names[column]!r}"
            f"{without_values(data, column)}, the first in sample {row + 1}; use {ways}; or fill "
            f"them by a stage before it (`impute {name}`)"
        )


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
