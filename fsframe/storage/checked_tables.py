"""The tables of stages that displays read, with their types, shapes and ranges checked.

A run file may be well-formed, sealed and meaningless: a fold number of a billion, a metric without
a value. Displays get tables from here: consistent arrays, or an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.storage.records import array_name
from fsframe.storage.spec import require
from fsframe.text import are_texts, printable

if TYPE_CHECKING:
    from fsframe.storage.records import StageRecord

_MOST_SPLITS = 100_000
_MOST_CHAINS = 1_000
_MOST_MEASURES = 1_000
_LONGEST_TEXT = 60_000


Arrays = Mapping[str, NDArray[Any]]


@attrs.frozen(kw_only=True)
class TableForm:
    """What a table holds; all that write, join, read or check tables go by it.

    Parameters
    ----------
    stored_as : str
        Its name in a Selection and in files.
    kind : {"codes", "counts", "flags", "reals", "texts", "predictions", "truth"}
        Codes number something, from 0; counts are at least 1.
    shape : tuple of str, int or None
        Sizes by name, which are the same for all tables of a stage; None for any.
    of : str
        The size that bounds codes (below it) and counts (at most it).
    least : int
        The least code: −1 where there may be none.
    complete : bool
        Whether every tested row has a prediction.
    needs : str
        The table without which this one is not read.
    optional : bool
        Whether the table may be missing.
    """

    stored_as: str
    kind: str
    shape: tuple[str | int | None, ...]
    of: str = ""
    least: int = 0
    complete: bool = False
    needs: str = ""
    optional: bool = False


def stored(
    kind: str, *shape: str | int | None, needs: str = "", optional: bool = False, **more: Any
) -> Any:
    """A field that holds a table of such a form; if it may be missing, nothing by default."""
    form = {"kind": kind, "shape": shape, "needs": needs, "optional": optional, **more}
    if optional or needs:
        return attrs.field(default=() if kind == "texts" else None, metadata=form)
    return attrs.field(metadata=form)


def table_forms(declared: type) -> dict[str, TableForm]:
    """The forms of a class's tables by the names of its fields, in order."""
    return {
        field.name: TableForm(**{"stored_as": field.name.replace("_", "-"), **field.metadata})
        for field in attrs.fields(declared)
        if field.metadata
    }


def axes_over(declared: type, *sizes: str) -> dict[str, int]:
    """The axis of the tables that have one of these sizes, by the name that they are stored as.

    >>> axes_over(FoldTables, "sizes")
    {'sizes': 0, 'curve': 0}
    """
    return {
        form.stored_as: form.shape.index(size)
        for form in table_forms(declared).values()
        for size in sizes
        if size in form.shape
    }


class CheckedArrays:
    """Arrays by name, checked for type, shape and range when they are read.

    `sizes` holds the sizes of forms that are known, by name; reading adds those that it meets.
    """

    def __init__(self, tables: Arrays, where: str, **sizes: int) -> None:
        self._tables = tables
        self._where = where
        self.sizes = sizes
        self.tested: NDArray[np.bool_] | None = None

    def __contains__(self, name: str) -> bool:
        return name in self._tables

    def fields(self, declared: type, **read: Any) -> dict[str, Any]:
        """All tables that a class declares, by field; those in `read` as they are."""
        found = read
        for field, form in table_forms(declared).items():
            left_out = form.optional and form.stored_as not in self
            if field not in found and not left_out and (not form.needs or form.needs in self):
                found[field] = self.of_form(form)
        return found

    def of_form(self, form: TableForm) -> Any:
        """The table of this form."""
        name = form.stored_as
        shape = tuple(self.sizes.get(s) if isinstance(s, str) else s for s in form.shape)
        array: Any
        if form.kind == "texts":
            array = self.texts(name)
        elif form.kind == "codes":
            array = self.integers(name, shape, form.least, self.sizes[form.of])
        elif form.kind == "counts":
            array = self.integers(name, shape, 1, self.sizes[form.of] + 1)
        elif form.kind == "flags":
            array = self.flags(name, shape)
        elif form.kind == "predictions":
            tested = self.tested if form.complete else None
            array = self.predictions(name, shape, self.sizes["classes"], tested)
        else:
            array = self.reals(name, shape)
        met = (len(array),) if form.kind == "texts" else array.shape
        self.sizes |= {s: n for s, n in zip(form.shape, met, strict=True) if isinstance(s, str)}
        return array

    def require(self, sound: object, name: str, problem: str) -> None:
        require(sound, f"{printable(self._where)}: the table {printable(name)} {problem}")

    def _array(self, name: str, kinds: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        self.require(name in self._tables, name, "is missing")
        array = np.asarray(self._tables[name])
        fits = array.ndim == len(shape) and all(
            wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
        )
        expected = " × ".join("any" if size is None else str(size) for size in shape)
        self.require(fits, name, f"has shape {array.shape}, not {expected}")
        self.require(array.dtype.kind in kinds, name, f"holds {array.dtype.name}")
        return array

    def integers(
        self, name: str, shape: tuple[int | None, ...], least: int, below: int
    ) -> NDArray[np.int64]:
        array = self._array(name, "iu", shape)
        inside = not array.size or (least <= int(array.min()) and int(array.max()) < below)
        self.require(inside, name, f"holds numbers outside {least} … {below - 1}")
        return array.astype(np.int64, copy=False)

    def flags(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.bool_]:
        array = self._array(name, "biu", shape)
        truth = array.dtype.kind == "b" or np.isin(array, (0, 1)).all()
        self.require(truth, name, "holds other values than 0 and 1")
        return array.astype(np.bool_, copy=False)

    def reals(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
        """Numbers; NaN and infinite ones are allowed."""
        return self._array(name, "fiub", shape).astype(np.float64, copy=False)

    def holds_whole(self, name: str) -> bool:
        return np.asarray(self._tables[name]).dtype.kind in "iu"

    def length(self, name: str) -> int:
        return len(self._array(name, "iu", (None, None)))

    def finite(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
        numbers = self.reals(name, shape)
        self.require(np.isfinite(numbers).all(), name, "holds numbers that are not finite")
        return numbers

    def predictions(
        self,
        name: str,
        shape: tuple[int | None, ...],
        n_classes: int,
        tested: NDArray[np.bool_] | None = None,
    ) -> NDArray[Any]:
        """Class codes, −1 for none; or numbers, NaN for none, if there are no classes.

        All tested rows must have a prediction.
        """
        if n_classes:
            predictions: NDArray[Any] = self.integers(name, shape, -1, n_classes)
            known = predictions >= 0
        else:
            predictions = self.reals(name, shape)
            known = np.isfinite(predictions)
            self.require(not np.isinf(predictions).any(), name, "holds infinite numbers")
        complete = tested is None or known[..., tested].all()
        self.require(complete, name, "lacks rows that a fold tests")
        return predictions

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(str(text) for text in self._array(name, "U", (None,)))


@attrs.frozen(kw_only=True, eq=False)
class FoldTables:
    """The tables of a `cross-validation` stage.

    Parameters
    ----------
    fold : (n_repeats, n_samples) int
        Which fold tests a row, from 0; −1 where none does.
    truth : (n_samples,) int, or float64
        Class codes, or a numeric target.
    predicted : (n_repeats, n_samples) int, or float64
        Class codes, −1 in rows that no fold tests; for a numeric target numbers, NaN in such rows.
    class_scores : (n_repeats, n_samples, n_classes) float64
        Without classes, n_classes is 0.
    kept : (n_splits, n_features) bool
    chosen : (n_splits,) int
        Which chain of the grid each split chose.
    tuning : (n_splits, n_chains) float64
    sizes : (n_sizes,) int, optional
    curve : (n_sizes, n_repeats, n_samples) int, optional
        Predictions with the best features of each number.
    place : (n_splits, n_features) int, optional
        Rank of each feature, from 0.
    all_features : (n_repeats, n_samples) int, optional
        Predictions of the classifier on all columns; −1 where there are none.
    all_features_scores : (n_repeats, n_samples, n_classes) float64, optional
    measures : tuple of str
        Names of the measures; empty in files without them.
    measure_facts : (m, 4) float64, optional
        For each measure: the lowest and highest value, 1 if larger is better and 0 if smaller is,
        and 1 if it needs every class.
    measured : (3, m, n_splits) float64, optional
        The measures of the chain, of the rule without features and of the classifier on all
        columns, in every fold; NaN where undefined.
    measured_repeats : (3, m, n_repeats) float64, optional
        The same over all predictions of a repetition.
    group_sizes : (g,) int, optional
        Number of rows of each group.
    group_right : (n_repeats, g) float64, optional
        Share of a group's rows that were predicted right; NaN where none was tested.
    group_vote : (n_repeats, g) float64, optional
        1 where the most frequent prediction is the group's class, 0 where it is not, NaN for groups
        of several classes.
    event : (n_samples,) bool, optional
        If `truth` holds times until an event, negative where censored: whether it was seen.
    """

    fold: NDArray[np.int64] = stored("codes", "repeats", "rows", of="rows", least=-1)
    truth: NDArray[Any] = stored("truth", "rows")
    predicted: NDArray[Any] = stored("predictions", "repeats", "rows", complete=True)
    class_scores: NDArray[np.float64] = stored("reals", "repeats", "rows", "classes")
    all_features: NDArray[Any] | None = stored("predictions", "repeats", "rows", optional=True)
    all_features_scores: NDArray[np.float64] | None = stored(
        "reals", "repeats", "rows", "classes", optional=True, needs="all-features"
    )
    sizes: NDArray[np.int64] | None = stored("counts", "sizes", of="features", optional=True)
    curve: NDArray[Any] | None = stored(
        "predictions", "sizes", "repeats", "rows", complete=True, needs="sizes"
    )
    place: NDArray[np.int64] | None = stored(
        "codes", "splits", "features", of="features", least=-1, needs="sizes"
    )
    event: NDArray[np.bool_] | None = stored("flags", "rows", optional=True)
    kept: NDArray[np.bool_] = stored("flags", "splits", "features")
    tuning: NDArray[np.float64] = stored("reals", "splits", "chains")
    chosen: NDArray[np.int64] = stored("codes", "splits", of="chains")
    measures: tuple[str, ...] = stored("texts", "measures", optional=True)
    measure_facts: NDArray[np.float64] | None = stored("reals", "measures", 4, needs="measures")
    measured: NDArray[np.float64] | None = stored(
        "reals", 3, "measures", "splits", needs="measures"
    )
    measured_repeats: NDArray[np.float64] | None = stored(
        "reals", 3, "measures", "repeats", needs="measures"
    )
    group_sizes: NDArray[np.int64] | None = stored("counts", "groups", of="rows", optional=True)
    group_right: NDArray[np.float64] | None = stored(
        "reals", "repeats", "groups", needs="group-sizes"
    )
    group_vote: NDArray[np.float64] | None = stored(
        "reals", "repeats", "groups", needs="group-sizes"
    )

    @property
    def task(self) -> str:
        """``"classification"``, ``"regression"``, or ``"survival"`` for times until an event."""
        if self.class_scores.shape[2]:
            return "classification"
        return "regression" if self.event is None else "survival"

    @property
    def on_all_features(self) -> NDArray[Any] | None:
        """`all_features` if every tested row has a prediction there."""
        every = self.all_features
        if every is None:
            return None
        lacking = every < 0 if self.task == "classification" else np.isnan(every)
        return None if lacking[self.fold >= 0].any() else every


@attrs.frozen(kw_only=True, eq=False)
class MetricTables:
    """The results of a stability study for one metric: value, interval, values by set size."""

    name: str
    value: float
    interval: tuple[float, float] | None
    by_size: NDArray[np.float64] | None


@attrs.frozen(kw_only=True, eq=False)
class StabilityTables:
    """The tables of a `stability-study` stage: ``kept`` (n, n_features) and the metrics."""

    kept: NDArray[np.bool_]
    metrics: tuple[MetricTables, ...]


def fold_tables(
    tables: Arrays,
    n_features: int,
    where: str = "cross-validation",
    classes: Sequence[str] | None = None,
) -> FoldTables:
    """The tables of a cross-validation, checked for consistency; messages call it `where`.

    If the names of the `classes` are given, there must be as many: none for a numeric target.
    StoreError names the first table that is missing or does not fit.
    """
    given = CheckedArrays(tables, where, features=n_features)
    declared = table_forms(FoldTables)
    truth: NDArray[Any]
    if "class-scores" in given or "truth" not in given or given.holds_whole("truth"):
        scores = given.of_form(declared["class_scores"])
        n, n_classes = given.sizes["rows"], given.sizes["classes"]
        given.require(scores.size, "class-scores", "is empty")
        truth = given.integers("truth", (n,), 0, n_classes)
    else:
        truth = given.finite("truth", (None,))
        repeats, n, n_classes = given.length("fold"), len(truth), 0
        given.require(repeats and n, "truth", "is empty, or fold is")
        scores = np.empty((repeats, n, 0))
        given.sizes |= {"repeats": repeats, "rows": n, "classes": 0}
    fold = given.of_form(declared["fold"])
    given.tested = fold >= 0
    n_splits = 0
    for row in fold:
        sizes = np.bincount(row[row >= 0])
        numbered = sizes.size and sizes.all() and sizes.max() < n
        problem = "does not number folds from 0, each with some of the rows"
        given.require(numbered, "fold", problem)
        n_splits += sizes.size
    few = n_splits <= _MOST_SPLITS
    given.require(few, "fold", f"has {n_splits} folds, more than {_MOST_SPLITS}")
    named = n_classes if classes is None else len(classes)
    problem = f"is of {n_classes} classes, and {named} are named"
    given.require(named == n_classes, "class-scores", problem)
    given.sizes["splits"] = n_splits
    tuning = given.of_form(declared["tuning"])
    chains = given.sizes["chains"]
    problem = f"is about {chains} chains, not 1 to {_MOST_CHAINS}"
    given.require(1 <= chains <= _MOST_CHAINS, "tuning", problem)
    read = given.fields(FoldTables, fold=fold, truth=truth, class_scores=scores, tuning=tuning)
    found = FoldTables(**read)
    if found.sizes is not None:
        ascending = found.sizes.size and (np.diff(found.sizes) > 0).all()
        given.require(ascending, "sizes", "is not ascending")
    if found.measure_facts is not None:
        names, m = found.measures, len(found.measures)
        few = 1 <= m <= _MOST_MEASURES and max(map(len, names)) <= 1000
        given.require(few and len(set(names)) == m, "measures", "does not name different measures")
        facts = found.measure_facts
        ranges = not np.isnan(facts).any() and (facts[:, 0] < facts[:, 1]).all()
        given.require(ranges, "measure-facts", "holds a range without values")
    return found


def stability_tables(stage: StageRecord, n_features: int, where: str) -> StabilityTables:
    """The tables of a stability study, for the metrics its parameters name; see `fold_tables`."""
    given = CheckedArrays(stage.tables, where)
    kept = given.flags("kept", (None, n_features))
    given.require(len(kept) >= 2, "kept", "holds fewer than two resamples")
    metrics, length = [], None
    for name in texts_parameter(stage, "metric", where):
        bounds, sizes = array_name("interval", name), array_name("sizes", name)
        interval = given.reals(bounds, (2,)).tolist() if bounds in given else None
        by_size = None
        if sizes in given:
            by_size = given.reals(sizes, (length,))
            length = by_size.size
            known = 1 <= length <= n_features
            given.require(known, sizes, f"has {length} set sizes of {n_features}")
        metrics.append(
            MetricTables(
                name=name,
                value=float(given.reals(array_name("stability", name), (1,))[0]),
                interval=None if interval is None else (interval[0], interval[1]),
                by_size=by_size,
            )
        )
    return StabilityTables(kept=kept, metrics=tuple(metrics))


def text_parameter(stage: StageRecord, name: str, where: str) -> str:
    """A parameter that is text, such as the chain under study; StoreError if it is not."""
    value = stage.params.get(name)
    short = isinstance(value, str) and len(value) <= _LONGEST_TEXT
    require(short, f"{printable(where)}: the parameter {name} is not a text")
    return str(value)


def texts_parameter(stage: StageRecord, name: str, where: str) -> tuple[str, ...]:
    """A parameter that lists different texts, such as names of metrics; StoreError if not."""
    value = stage.params.get(name)
    several: tuple[str, ...] = tuple(value) if value and are_texts(value) else ()
    different = several and len(set(several)) == len(several)
    require(different, f"{printable(where)}: the parameter {name} is not a list of texts")
    return several


_DOUBTFUL = 0.05


@attrs.frozen(kw_only=True, eq=False)
class BootstrapTables:
    """How often each column was kept, and the critical count above which it is relevant.

    Parameters
    ----------
    columns : (m,) int
    z, critical : (m,) float64
    relevant : (m,) bool
    n : int
        Number of bootstraps.
    promise : tuple of str
        What the test guarantees for relevant columns.
    lower, upper : (m,) float64, optional
        Bounds of z / n.
    p : (m,) float64, optional
    level : float, optional
        The largest p of a relevant column.
    doubt : (m,) float64, optional
        Probability that another seed decides differently.
    matrix : (n, m) bool, optional
        Which bootstrap kept which column.
    """

    columns: NDArray[np.int64] = stored("codes", "columns", of="seen")
    z: NDArray[np.float64] = stored("reals", "columns")
    critical: NDArray[np.float64]
    relevant: NDArray[np.bool_] = stored("flags", "columns", optional=True)
    n: int
    promise: tuple[str, ...] = stored("texts", "promises", optional=True)
    lower: NDArray[np.float64] | None = stored("reals", "columns", optional=True)
    upper: NDArray[np.float64] | None = stored("reals", "columns", optional=True)
    p: NDArray[np.float64] | None = stored("reals", "columns", optional=True, stored_as="p-values")
    level: float | None = None
    doubt: NDArray[np.float64] | None = stored("reals", "columns", optional=True)
    matrix: NDArray[np.bool_] | None = stored(
        "flags", "bootstraps", "columns", optional=True, stored_as="bootstrap-matrix"
    )

    @property
    def passing(self) -> NDArray[np.bool_]:
        """Mask, (m,), of columns that pass by themselves, not with a group of features."""
        if self.p is None or self.level is None:
            return self.z > self.critical
        return self.p <= self.level

    @property
    def borderline(self) -> NDArray[np.bool_]:
        """Mask, (m,), of decisions that another seed reverses with a probability above 0.05."""
        return np.zeros(len(self.z), bool) if self.doubt is None else self.doubt > _DOUBTFUL


def bootstrap_tables(stage: StageRecord) -> BootstrapTables | None:
    """The tables of a test over bootstraps, or None if the stage has none.

    Plugins may use the names for something else; inconsistent tables give None.
    """
    # Stages number their input columns, displays number those of the table.
    seen = stage.features_in
    given = CheckedArrays(stage.tables, stage.name, seen=seen.size)
    if not all(name in given for name in ("z", "critical-value", "columns")):
        return None
    try:
        found = given.fields(BootstrapTables)
        z = found["z"]
        if not z.size or not np.isfinite(z).all():
            return None
        n = int(stage.tables["kept"].size) if "kept" in given else int(min(z.max(), 2**53))
        if n < 1:
            return None
        shape = z.shape if np.shape(stage.tables["critical-value"]) == z.shape else (1,)
        critical = np.broadcast_to(given.reals("critical-value", shape), z.shape)
        found["columns"] = seen[found["columns"]]
        found.setdefault("relevant", z > critical)
        if "level" in given:
            found["level"] = float(given.reals("level", (1,))[0])
        return BootstrapTables(n=n, critical=critical, **found)
    except StoreError:
        return None


def clusters(stage: StageRecord) -> dict[int, list[int]] | None:
    """The columns of the table that each kept column stands for, by the kept column.

    None if the stage has no table ``stands-for`` (n_in,). For each column that the stage saw, this
    holds the place, among these, of the one kept in its stead; its own place if it stands for
    itself.
    """
    stands_for, seen = stage.tables.get("stands-for"), stage.features_in
    if stands_for is None or stands_for.shape != seen.shape or stands_for.dtype.kind not in "iu":
        return None
    if not stands_for.size or stands_for.min() < 0 or stands_for.max() >= stands_for.size:
        return None
    members: dict[int, list[int]] = {}
    for column, stand in enumerate(stands_for.tolist()):
        if stand != column:
            members.setdefault(int(seen[stand]), []).append(int(seen[column]))
    return members
