"""Stability as a wrapping stage: feature sets kept on many resamples, and their similarity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.chains.chain import Chain, Stage
from fsframe.errors import DataError, FsframeError, RequestError
from fsframe.evaluation.folds import kept_by_most
from fsframe.evaluation.grid import ChainGrid
from fsframe.evaluation.measuring import with_parameters
from fsframe.method.answer import full_ranking
from fsframe.method.run import Run, size_text
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.params import choice, either, flag, integer, listing, param, real, text
from fsframe.registry import default_names, stability_metrics
from fsframe.resampling.groups import Grouping, deal_groups, deal_rows, require_two
from fsframe.resampling.resamples import (
    Base,
    Recurring,
    WrappingSelector,
    select_resamples,
    too_many,
)
from fsframe.storage.records import array_name
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import even_blocks, unit_columns


@attrs.frozen(kw_only=True)
class StabilityStudy(WrappingSelector):
    """Stability of the features that a chain selects on resamples of the rows.

    Parameters
    ----------
    base : str
        The chain; by default everything on the left.
    metric : tuple of str
        Names of stability metrics, with parameters where they differ from the defaults
        (``canberra:depth=20``).
    resample : {"subsample", "bootstrap", "folds"}
        Parts of the rows without replacement, as many rows with replacement, or the training parts
        of n-fold cross-validation.
    n : int ≥ 2
        Number of resamples.
    fraction : float in (0, 1]
        Share of the rows in a subsample; not 1, since every resample would be the whole table.
    stratify : bool
        Draw within the classes; if the table has groups, whole groups by the class of most of their
        rows.
    sizes : int ≥ 1 or "all"
        Largest set size up to which the top-ranked features are also compared.

    Notes
    -----
    The score of a feature is the share of resamples that keep it; features above one half are kept.
    Tables: ``kept`` (n, n_features); ``orders`` (n, L), columns best first; for each metric of sets
    ``stability-NAME`` (1,) for the sets as the chain keeps them, and ``sizes-NAME`` (L,) for the
    best 1, 2, … L; for metrics of rankings only ``stability-NAME``; NaN if undefined. NAME is the
    text in `metric`, with its parameters; in one with its provider, ``%2F`` stands for the slash.

    A metric that needs the similarity of features gets their absolute correlations on the whole
    table, which do not use the label. They take 24 p² bytes, at most the run's memory limit. A row
    that an outer resample has drawn several times counts that often.

    References
    ----------
    Kalousis, Prados, Hilario 2007, Stability of feature selection algorithms, Knowledge and
    Information Systems 12; Nogueira, Sechidis, Brown 2018, JMLR 18(174).
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression", "survival"})
    takes_missing: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True
    takes_time: ClassVar[bool] = True
    reads_own_base: ClassVar[bool] = True

    metric: tuple[str, ...] = param(
        default_names(stability_metrics),
        listing(text("the name of a stability metric"), least=1),
        help=f"Stability metrics, such as [{','.join(default_names(stability_metrics))}]; "
        "parameters as in canberra:depth=20.",
    )
    resample: str = param(
        "subsample",
        choice("subsample", "bootstrap", "folds"),
        help="Resampling scheme.",
    )
    n: int = param(30, integer(2), help="Number of resamples.", symbol="M")
    fraction: float = param(0.8, real(above=0, most=1), help="Fraction of the rows in a subsample.")
    stratify: bool = param(True, flag(), help="Draw within classes.")
    sizes: int | str = param(
        "all",
        either(integer(1), choice("all")),
        help="Also compare the top-ranked features for set sizes up to this.",
        symbol="K",
    )

    def base_fits(self, p: int, base: Base | None = None) -> int:
        """One for each resample."""
        return self.n

    def check_parameters(self) -> Iterator[str]:
        yield from too_many(self.n, f"n={self.n}")
        if self.top is not None:
            yield "top is for the chain under study (base), which decides what is kept"
        if self.resample == "subsample" and self.fraction == 1.0:
            yield (
                "fraction=1 draws every row every time; use a smaller fraction, or "
                "resample=bootstrap"
            )
        if self.resample != "subsample" and self.fraction != 0.8:
            yield f"fraction is for resample=subsample, not {self.resample}"
        known: set[str] = set()
        for name in self.metric:
            try:
                canonical, _ = with_parameters(stability_metrics, name)
            except FsframeError as error:
                yield str(error)
                continue
            if canonical in known:
                yield f"the metric {name} is given twice"
            known.add(canonical)
        if self.base is None:
            return
        try:
            chain = Chain.parse(self.base)
        except FsframeError as error:
            sets = (
                f"`{self.base}` holds sets of values, which only evaluate and compare choose "
                "from; give each parameter one value"
            )
            yield sets if _has_sets(self.base) else str(error)
            return
        if not chain.selecting:
            yield f"the chain `{self.base}` selects nothing"

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """Problems of this stage, and of the studied chain, with the roles of columns and rows."""
        yield from super().role_problems(data)
        yield from self.stretch_problems(data)

    def check(self, data: Dataset, run: Run, base: Base | None = None) -> None:
        """Check everything that can be checked before a resample is drawn.

        Raises
        ------
        DataError
            If a metric is undefined for sets of the size that the chain will keep, the table cannot
            be resampled as requested, or a stage does not accept it.
        RequestError
            If the similarity matrix of the features would not fit in memory.
        """
        self.check_data(data)
        chain = Chain.parse(self.base) if self.base is not None else base
        stages = chain.selecting if isinstance(chain, Chain) else ()
        for method, seen in chain.tables_seen(data) if isinstance(chain, Chain) else ():
            if isinstance(method, Selector):
                method.check_data(seen)
        together = data.together
        units, unit_name = data.n_samples, "rows"
        if together is not None:
            units = len(np.unique(together))
            unit_name = "groups" if data.times is None else "stretches of time"
        if self.resample == "folds" and self.n > units:
            raise DataError(f"{units} {unit_name} cannot be split into {self.n} folds")
        p = data.n_features
        known = _known_size(stages, p)
        for name, measure in self._metrics():
            if measure.needs_similarity and 24 * p * p > run.memory:
                raise RequestError(
                    f"{name} needs the similarity of all pairs of {p} features, "
                    f"{size_text(24 * p * p)}; raise --memory to as much, or leave it out"
                )
            if known is None or measure.input != "sets":
                continue
            # Whichever features are kept, the metric will get sets of this size.
            kept = np.zeros((2, p), dtype=bool)
            kept[0, :known] = kept[1, p - known :] = True
            value = measure(kept, np.eye(p) if measure.needs_similarity else None)
            if value.undefined:
                raise DataError(
                    f"{name} is not defined for sets of {known} of {p} features: "
                    f"{value.undefined}; choose another top, or another metric"
                )

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        self.check(data, run, base)
        counts = self._counts(data, run.child(0))
        if data.counts is not None:
            counts = counts * data.counts
        start = upstream if self.base is not None else None
        selections = list(
            select_resamples(
                base,
                data.with_counts(None),
                counts,
                run.child(1),
                upstream=start,
                label="resamples",
                parts=("scores",),
            )
        )
        kept = np.zeros((self.n, data.n_features), dtype=bool)
        notes = Recurring()
        for row, selection in zip(kept, selections, strict=True):
            row[selection.selected] = True
            notes.add(selection.warnings)
        orders = [full_ranking(selection) for selection in selections]
        length = min(order.size for order in orders)
        ranked = np.array([order[:length] for order in orders]).reshape(self.n, length)
        largest = length if self.sizes == "all" else min(int(self.sizes), length)
        scores = np.array([_filled(selection.scores) for selection in selections])
        tables: dict[str, Any] = {"kept": kept, "orders": ranked}
        warnings = list(notes.lines(self.n, "resamples"))
        for name, measure in self._metrics():
            alike = _similarity(data) if measure.needs_similarity else None
            value = _value(measure, scores if measure.input == "ranks" else kept, alike)
            tables[array_name("stability", name)] = np.array([value.value])
            if value.interval is not None:
                tables[array_name("interval", name)] = np.array(value.interval)
            if value.undefined:
                warnings.append(f"{name} is not defined here: {value.undefined}")
            warnings += [f"{name}: {warning}" for warning in value.warnings]
            if measure.input == "sets" and largest:
                values = measure.along_rankings(ranked[:, :largest], data.n_features, None, alike)
                tables[array_name("sizes", name)] = np.array([float(v) for v in values])
        return kept_by_most(kept.mean(axis=0), tables, warnings)

    def _metrics(self) -> Iterator[tuple[str, StabilityMetric]]:
        """Each metric with its parameters, by its text in `metric`."""
        for spelled in self.metric:
            yield spelled, with_parameters(stability_metrics, spelled)[1]

    def _counts(self, data: Dataset, run: Run) -> NDArray[np.int64]:
        """How often each resample draws each row, (n, n_samples); groups are drawn whole."""
        classes = data.y if self.stratify and data.task == "classification" else None
        blocks = data.together
        if blocks is None:
            strata = np.zeros(data.n_samples) if classes is None else classes
            return self._drawn(strata, run)
        if classes is not None:
            require_two(blocks, classes, self.method_name(), data.classes)
        together = Grouping.of(blocks, classes)
        if self.resample == "folds" and classes is not None:
            place = deal_groups(classes, blocks, self.n, run.generator(0))
            return (place[None, :] != np.arange(self.n)[:, None]).astype(np.int64)
        drawn: NDArray[np.int64] = together.rows(self._drawn(together.stratum, run))
        return drawn

    def _drawn(self, strata: NDArray[Any], run: Run) -> NDArray[np.int64]:
        """How often each resample draws each unit, (n, len(strata)); `strata` has one per unit."""
        n_samples = len(strata)
        counts = np.zeros((self.n, n_samples), dtype=np.int64)
        if self.resample == "folds":
            place = deal_rows(strata, self.n, run.generator(0))
            return (place[None, :] != np.arange(self.n)[:, None]).astype(np.int64)
        for b, row in enumerate(counts):
            generator = run.generator(b)
            for code in np.unique(strata):
                members = np.flatnonzero(strata == code)
                if self.resample == "bootstrap":
                    drawn = generator.integers(members.size, size=members.size)
                    row[members] = np.bincount(drawn, minlength=members.size)
                else:
                    size = max(1, round(self.fraction * members.size))
                    row[generator.permutation(members)[:size]] = 1
        return counts


def _has_sets(base: str) -> bool:
    """Whether the text stands for several chains."""
    try:
        return len(ChainGrid.parse(base)) > 1
    except FsframeError:
        return False


def _known_size(stages: tuple[Stage, ...], n_features: int) -> int | None:
    """The number of columns that a chain of one stage will keep, if its `top` determines it."""
    if len(stages) != 1 or not isinstance(stages[0].method, Selector):
        return None
    method = stages[0].method
    return None if method.top is None else method.keep_count(n_features, n_features)


def _filled(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores, with a value below all others for features that were not considered."""
    known = scores[~np.isnan(scores)]
    return np.where(np.isnan(scores), known.min() - 1.0 if known.size else 0.0, scores)


def _similarity(data: Dataset) -> NDArray[np.float64]:
    """Absolute correlations of the columns; a constant column is similar only to itself."""
    scaled = np.empty((data.n_samples, data.n_features))
    for start, stop in even_blocks(*scaled.shape):
        block = np.asarray(data.columns(start, stop), dtype=np.float64)
        scaled[:, start:stop] = unit_columns(block)
    # One thread: the bits of a product depend on how its sums are divided.
    with threadpool_limits(1):
        alike = np.abs(scaled.T @ scaled)
    alike = np.minimum((alike + alike.T) / 2.0, 1.0)
    np.fill_diagonal(alike, 1.0)
    return alike


def _value(
    measure: StabilityMetric, matrix: NDArray[Any], alike: NDArray[np.float64] | None
) -> StabilityValue:
    """The measure, or the reason why it is undefined for these sets."""
    sizes = matrix.sum(axis=1) if measure.input == "sets" else np.zeros(1)
    if not measure.unequal_sizes and np.unique(sizes).size > 1:
        return StabilityValue(
            value=float("nan"),
            undefined=f"the resamples keep between {int(sizes.min())} and {int(sizes.max())} "
            "features, and it compares sets of one size (see the table by set size, or set top)",
        )
    return measure(matrix, alike)
