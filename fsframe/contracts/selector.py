"""The selector contract: the core checks, the author's part selects, the core checks again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol, TypeGuard

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.array_checks import as_counts
from fsframe.contracts.boundary import in_stage
from fsframe.contracts.cost import Cost
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.nominal import nominal_problems
from fsframe.contracts.params import Parameterised, count_or_fraction, optional, param
from fsframe.contracts.permutation_test import PermutationTest
from fsframe.contracts.roles import weights_in_parts
from fsframe.contracts.run import Run, make_run
from fsframe.contracts.selection import Selection
from fsframe.contracts.stage_view import (
    columns_at_hand,
    first_missing,
    in_whole_table,
    local_upstream,
    nothing_left,
    view,
    with_kept,
    with_whole_groups,
)
from fsframe.contracts.survival import LABELS
from fsframe.errors import DataError, PluginError
from fsframe.registry import Offer, selectors

__all__ = ["Base", "Selector", "WrapsLeft", "one_by_one", "wraps_left"]


@attrs.frozen(kw_only=True)
class Selector(Parameterised):
    """Base of all selectors; authors declare parameters and write `_select`.

    Class attributes say what the author's part can take; the core sees to the rest.

    Attributes
    ----------
    tasks : frozenset of str
        Some of ``"classification"``, ``"regression"`` and ``"survival"``.
    takes_missing : bool
        Whether NaN in the features is allowed.
    fills_missing : bool
        Whether what it returns says what stands for them from there on (`Selection.fill`).
    takes_counts : bool
        Whether `data.counts` is honoured; otherwise drawn rows are copied, with a warning.
    takes_short_counts : bool
        Whether `_select_many` takes counts of any integer type, such as uint16, which spare memory
        and time where there are many; otherwise it gets int64.
    takes_groups : bool
        Whether a method that resamples rows or permutes labels keeps the rows of a group together.
        A method that does neither has nothing to honour, and leaves it as it is.
    takes_nominal : bool
        Whether values of nominal columns (`data.categorical`) are only ever compared for being
        equal, so that other codes of their levels give the same result. A table with nominal
        columns is refused otherwise.
    takes_kept : bool
        Whether a table with columns that are always kept (`data.keep`) makes sense for it. The core
        adds those that the author's part does not return; a greedy method starts from them.
    takes_time : bool
        Whether a method that draws, deals out or permutes rows keeps the order of time
        (`data.times`). One that does nothing of the kind has nothing to honour.
    takes_weights : bool
        Whether weights of rows, which come as `data.counts`, mean in it what copies would; a table
        with weights is refused otherwise.
    takes_parts : bool
        Whether `_select` works on a table in parts (`data.in_parts`) without holding it. Another
        method is given the table in memory, or, where it is too large for that, refuses it.
    takes_weighted_parts : bool
        Whether it takes parts with weights of rows: they hold every row as often as it counts,
        which must be what the weight means in it, as it is in sums over rows.
    univariate : bool
        Whether a column's score depends on that column and the label alone. Choosing by such scores
        says nothing of pairs beforehand, so that tests of pairs need no allowance for it.
    uses_upstream_weights : bool
        Whether the weights that travel along the chain change the result.
    reads_columns : bool
        Whether it asks for some columns at a time (`data.columns`), never for the whole table
        (`data.X`), which a sparse one or one on disk has to be widened or loaded for.
    table_copies : float
        How many times a fit holds the values of the table that it is given, as float64 and beside
        it, before anything that it can do in blocks. A bound on memory below that is refused.

    Examples
    --------
    >>> import attrs, numpy as np
    >>> from fsframe.contracts.selection import rank_by_score
    >>> @attrs.frozen(kw_only=True)
    ... class Variance(Selector):
    ...     takes_counts = True
    ...     def _select(self, data, upstream, run):
    ...         scores = np.cov(data.X.T, fweights=data.counts).diagonal()
    ...         kept = rank_by_score(scores)[: self.keep_count(data.n_features, 1)]
    ...         return Selection(selected=kept, scores=scores)
    >>> data = Dataset.from_arrays([[0, 5], [1, 9], [0, 1]], ["a", "b", "a"])
    >>> Variance(top=1).select(data).selected
    array([1])
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    takes_missing: ClassVar[bool] = False
    fills_missing: ClassVar[bool] = False
    takes_counts: ClassVar[bool] = False
    takes_short_counts: ClassVar[bool] = False
    takes_groups: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = False
    takes_kept: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    takes_parts: ClassVar[bool] = False
    takes_weighted_parts: ClassVar[bool] = False
    takes_time: ClassVar[bool] = True
    univariate: ClassVar[bool] = False
    uses_upstream_weights: ClassVar[bool] = False
    wrapping: ClassVar[bool] = False
    reads_columns: ClassVar[bool] = False
    table_copies: ClassVar[float] = 0.0

    top: int | float | None = param(
        None,
        optional(count_or_fraction()),
        help="Number of features to keep: a count, or a fraction of the features it is given. "
        "By default the method's own published rule.",
    )

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        """The author's part: select among the columns of `data`, numbered 0 … n_features-1."""
        raise NotImplementedError

    def keep_count(self, n_features: int, default: int) -> int:
        """How many of `n_features` columns to keep: by `top` if it is set, else `default`.

        A fraction is rounded up to a whole column; more than there are means all.
        """
        if self.top is None:
            return min(default, n_features)
        if isinstance(self.top, int):
            return min(self.top, n_features)
        # 1e-9 keeps 0.1 × 30 (3.0000000000000004) at three columns.
        return min(n_features, int(np.ceil(self.top * n_features - 1e-9)))

    def select(
        self,
        data: Dataset,
        upstream: Selection | None = None,
        run: Run | None = None,
        seed: int | None = None,
    ) -> Selection:
        """Which columns of `data` this method keeps.

        Parameters
        ----------
        data : Dataset
            The whole table; `data.counts` makes it a bootstrap.
        upstream : Selection, optional
            What the stage on the left kept: only those columns are seen, and its weights travel.
        run : Run, optional
            Random stream and bounds; by default a new one with `seed`.
        seed : int, optional
            Seed where no run is given; 0 by default.

        Returns
        -------
        Selection
            In the column numbers of `data`.

        Raises
        ------
        DataError
            If the data hold what the method does not take.
        PluginError
            If the method returns something unsound.
        """
        surroundings = make_run(run, seed)
        columns = columns_at_hand(data, upstream)
        if not columns.size:
            self.check_data(data.take_columns(columns))
            return nothing_left(data)
        seen = self._seen(data, columns, upstream)
        self._require_memory(data, columns.size, surroundings)
        local, rows, notes = self._localise(seen)
        arrived = local_upstream(upstream, columns, rows)
        with in_stage(type(self), self.method_name()):
            found = self._select(local, arrived, surroundings)
        self._check(found, local)
        whole = with_whole_groups(with_kept(found, local), local)
        return in_whole_table(whole, data, columns, rows, upstream, notes)

    def select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None = None,
        run: Run | None = None,
        seed: int | None = None,
    ) -> list[Selection]:
        """One Selection per row of `counts`, (n_resamples, n_samples): bootstraps of one table.

        Equal to `select` on ``data.with_counts(counts[b])`` with ``run.child(b)``, one by one; a
        method with a faster way through all of them together provides `_select_many`, which may
        leave out `model`, `tables` and `warnings`: they are for people who look at one result.
        """
        surroundings = make_run(run, seed)
        many = getattr(self, "_select_many", None)
        columns = columns_at_hand(data, upstream)
        if many is None or not columns.size:
            return one_by_one(self.select, data, counts, upstream, surroundings)
        seen = self._seen(data, columns, upstream)
        self._require_memory(data, columns.size, surroundings)
        local = attrs.evolve(seen, counts=None)
        every = np.arange(data.n_samples)
        arrived = local_upstream(upstream, columns, every)
        given = as_counts(counts, (len(counts), data.n_samples))
        if not self.takes_short_counts:
            given = given.astype(np.int64, copy=False)
        with in_stage(type(self), self.method_name()):
            found = many(local, given, arrived, surroundings)
        if len(found) != len(given):
            raise PluginError(
                f"{self.method_name()}: _select_many returned {len(found)} selections for "
                f"{len(given)} resamples"
            )
        for selection in found:
            self._check(selection, local)
        whole = (with_whole_groups(with_kept(one, local), local) for one in found)
        return [in_whole_table(one, data, columns, every, upstream, ()) for one in whole]

    def permutation_test(self) -> PermutationTest | None:
        """The test that decides, or is reported, where its p-values are counted over permutations.

        Authors who compute such p-values override this: before any work starts, a run says of a
        test that cannot reach its level how far it is from that.
        """
        return None

    def cost(self, n: int, p: int) -> Cost | None:
        """Processor time of one fit among many on n rows and p columns; None: not known.

        Authors override this with a formula fitted to measurements, good to a factor of three.
        Forecasts are made of it (`Chain.cost`). A stage that resamples has `base_fits` instead.
        """
        return None

    def base_fits(self, p: int) -> int | None:
        """How often a stage that resamples runs what it resamples, of p columns; None: not known.

        Authors of stages that resample override this.
        """
        return None

    @classmethod
    def proposal(cls, data: Dataset, gaps: bool) -> str:
        """The stage to begin with on a table of a task that it takes; empty if another is better.

        Authors override this where the entry says `proposed`. `gaps` says that values are missing:
        where `takes_missing` is False, a stage that fills them is put before it.
        """
        return ""

    def forewarnings(self, data: Dataset, n_tests: int | None) -> Iterator[str]:
        """What the user should know before this runs, though it can.

        Parameters
        ----------
        data : Dataset
            The whole table.
        n_tests : int, optional
            How many features it will see, where that is known.

        Yields
        ------
        str
            A sentence each, without the method's name.
        """
        test = self.permutation_test()
        weakness = "" if test is None or n_tests is None else test.weakness(n_tests)
        if weakness:
            yield weakness

    def check_request(self, data: Dataset) -> Iterator[str]:
        """Parameters that cannot be met on the table `data`, told before any stage runs.

        Authors override this where that can be told from the whole table alone, without what stages
        on the left will keep; whatever cannot is refused in `_select`. It is quick, raises nothing
        for a table that it can say nothing about, and fits nothing.

        Parameters
        ----------
        data : Dataset
            The whole table, also where the method stands in a chain that another stage resamples.

        Yields
        ------
        str
            A sentence for each problem, without the method's name: what is asked for, what the
            table allows, what to ask for instead.
        """
        return iter(())

    def ignores_groups(self) -> str:
        """What this method does with rows as if each were by itself; empty if nothing.

        Authors override this where it depends on parameters; a table with groups is refused then.
        """
        return "" if self.takes_groups else "it resamples rows or permutes labels one by one"

    def ignores_time(self) -> str:
        """What this method does with rows as if they had no order; empty if nothing.

        Authors override this where it depends on parameters; a table with times is refused then.
        """
        if self.takes_time and (self.wrapping or self.permutation_test() is None):
            return ""
        return "it draws, deals out or permutes rows as if they had no order"

    def adjusts(self) -> bool:
        """Whether it takes the effect of covariates (`data.covariates`) out of what it finds."""
        return False

    def adjusts_base(self) -> bool:
        """Of a stage that resamples: whether it does that for what it resamples, as one that
        permutes labels within strata."""
        return False

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """Parts that columns and rows of `data` play and that this method cannot honour.

        Yields
        ------
        str
            A sentence each: which part, why not, what to do.
        """
        name = self.method_name()
        ignored = "" if data.groups is None else self.ignores_groups()
        if ignored:
            yield (
                f"{name} cannot keep rows of one {data.group_name!r} together: "
                f"{ignored}; leave the groups out (--groups), or use a method that honours them"
            )
        if data.keep is not None and not self.takes_kept:
            yield (
                f"{name} compares what is selected in many resamples or rounds, where columns that "
                "are always kept say nothing: leave them out of the table (--drop), or say --keep "
                "where the chain is run without it"
            )
        if data.weight_name and not self.takes_weights:
            yield (
                f"{name} draws or deals out rows, each as one, and rows have weights "
                f"({data.weight_name!r}): leave the weights and their column out, or give it a "
                "table that holds every row as often as it counts"
            )
        elif data.weight_name and self.permutation_test() is not None:
            yield (
                f"{name}: permutations shuffle labels row by row, and rows have weights "
                f"({data.weight_name!r}): leave permutations or the weights out"
            )
        if data.weight_name and data.in_parts and self.takes_weights:
            works = self.takes_weighted_parts and self.works_in_parts(data)
            yield from () if works else (weights_in_parts(name, data.weight_name),)
        ignored = "" if data.times is None else self.ignores_time()
        if data.times is not None and ignored:
            yield (
                f"{name} cannot keep the order of {data.times.names[0]!r}: {ignored}; leave the "
                f"time out (--drop {data.times.names[0]}), or use a method that honours it"
            )
        adjusted = data.covariates
        if adjusted is not None and not adjusted.handled and not self.adjusts():
            yield (
                f"{name} cannot take out the effect of {', '.join(adjusted.names)} (--adjust): "
                "take a method with conditional or partial relevance (mim, chi2, anova-f, jmi, "
                "cmim, cmi), or npfs behind it, which permutes labels within strata"
            )
        yield from nominal_problems(name, self.takes_nominal, data)

    def works_in_parts(self, data: Dataset) -> bool:
        """Whether it works on `data` in parts, with its parameters, as `takes_parts` says."""
        return self.takes_parts

    def parts_problem(self, data: Dataset, n_features: int | None = None) -> str:
        """Why a table in parts, or so many columns of it, is too much; empty if it is not."""
        p = data.n_features if n_features is None else n_features
        if not data.in_parts or self.works_in_parts(data):
            return ""
        needed, most = 8 * data.n_samples * p, data.matrix.most_bytes
        if needed <= most:
            return ""
        return (
            f"{self.method_name()} needs its table in memory, where {data.n_samples} × {p} values "
            f"take {needed / 1e9:.1f} GB and {most / 1e9:.1f} GB are allowed "
            "(FSFRAME_TABLE_MEMORY): put a filter that counts over parts before it, such as "
            f"mim:top={max(1, most // (16 * data.n_samples))}"
        )

    def check_roles(self, data: Dataset) -> None:
        """Raise DataError with everything that `role_problems` says."""
        problems = list(self.role_problems(data))
        if problems:
            raise DataError("\n".join(problems))

    def check_data(self, data: Dataset) -> None:
        """Raise DataError if `data` holds what this method does not take."""
        name = self.method_name()
        self.check_roles(data)
        if data.task not in self.tasks:
            kind = LABELS[data.task]
            raise DataError(
                f"{name} does not take {kind} (label {data.label_name!r}); it is made for "
                + " and ".join(sorted(self.tasks))
                + (" (--event names the events)" if self.tasks == {"survival"} else "")
                + _made_for(data.task)
            )
        if not self.takes_missing:
            missing = first_missing(data)
            if missing is not None:
                row, column, total = missing
                raise DataError(
                    f"{name} does not take missing values: {total} in {data.name!r}, the first in "
                    f"sample {row + 1}, feature {data.feature_names[column]!r}; "
                    f"{_ways_out(name, data.task)}"
                )

    def tables_held(self) -> float:
        """As `table_copies` says, of this stage or of what it resamples."""
        return self.table_copies

    def rows_copied(self) -> float:
        """How many copies of the table's rows resampling makes for one fit; 0 without."""
        return 0.0

    def _require_memory(self, data: Dataset, p: int, run: Run) -> None:
        """Refuse a bound on memory that not even copies of the table fit into."""
        if data.in_parts and self.works_in_parts(data):
            return
        n, copies, what = data.n_samples, self.table_copies, "what it makes of"
        if not data.in_memory and not self.reads_columns:
            copies += 1.0  # read whole first
            what = (
                "the whole table, which it needs widened, is sparse or packed:"
                if data.nbytes
                else what
            )
        run.must_hold(
            int(copies * 8 * n * p),
            f"{self.method_name()}: {what} {n} × {p} values",
            "put a filter such as mim:top=1000 before",
        )

    def _seen(
        self, data: Dataset, columns: NDArray[np.intp], upstream: Selection | None
    ) -> Dataset:
        """`data` with these columns only, its gaps filled as `upstream` says; checked."""
        if data.in_parts:
            given = data.take_columns(columns)
            self.check_roles(given)
            problem = self.parts_problem(given)
            if problem:
                raise DataError(problem)
        seen = view(data, columns, upstream)
        if seen.in_parts and (not self.works_in_parts(seen) or data.counts is not None):
            seen = seen.loaded()
        self.check_data(seen)
        return seen

    def _localise(self, local: Dataset) -> tuple[Dataset, NDArray[np.intp], tuple[str, ...]]:
        """`local` with only its live rows, those rows, and what to warn of.

        Where the method does not take counts, drawn rows are copied.
        """
        if local.counts is None:
            return local, np.arange(local.n_samples), ()
        rows = np.flatnonzero(local.counts)
        if self.takes_counts:
            return (local if rows.size == local.n_samples else local.take_rows(rows)), rows, ()
        copies = np.repeat(rows, local.counts[rows])
        copied = local.with_counts(None).take_rows(copies)
        if (local.counts <= 1).all():
            return copied, copies, ()
        note = f"{self.method_name()} does not take bootstrap counts: rows drawn twice were copied"
        if local.weight_name:
            note = f"{self.method_name()} does not take weights of rows: heavier ones were copied"
        return copied, copies, (note,)

    def _check(self, found: Selection, local: Dataset) -> None:
        if not isinstance(found, Selection):
            raise PluginError(
                f"{self.method_name()} returned {type(found).__name__}, not a Selection"
            )
        # What the method saw are the columns of `local`, whatever a copied Selection says.
        own = found if found.features_in is None else attrs.evolve(found, features_in=None)
        problems = own.problems(local.n_features, local.n_samples)
        if problems:
            raise PluginError(
                f"{self.method_name()} returned an unsound result: " + "; ".join(problems)
            )


def _bundled() -> Iterator[tuple[Offer, type[Selector]]]:
    """The selectors that come with fsframe: others are not imported for the sake of a message."""
    for offer in selectors.offers():
        if offer.plugin.source.distribution == "fsframe":
            with contextlib.suppress(PluginError):
                yield offer, selectors[offer.name]


def _made_for(task: str) -> str:
    """Which selectors take such a label, as the end of a sentence."""
    named = [o.name for o, m in _bundled() if task in m.tasks and not m.wrapping and m.univariate]
    return f". {', '.join(named)} and others do (`fsframe methods`)" if named else ""


def _ways_out(name: str, task: str) -> str:
    """What to do where a method takes no missing values."""
    fill, take = [], []
    for offer, method in _bundled():
        if "fill" in getattr(offer.entry, "gives", ()):
            fill.append(offer.name)
        elif not method.wrapping and method.takes_missing and task in method.tasks:
            take.append(offer.name)
    ways = [f"fill them in every resample by a stage before it (`{f} {name}`)" for f in fill[:1]]
    ways += [f"drop them, or take a method that bears them: {', '.join(take)}"] if take else []
    return "; ".join(ways) or "drop or fill them"


class Base(Protocol):
    """What a wrapping stage resamples: the chain on its left, or the one that `base` names."""

    def select(
        self, data: Dataset, upstream: Selection | None = None, run: Run | None = None
    ) -> Selection: ...

    def select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None = None,
        run: Run | None = None,
    ) -> list[Selection]: ...


class WrapsLeft(Protocol):
    """A stage that resamples everything on its left."""

    def select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection: ...


def wraps_left(method: object) -> TypeGuard[WrapsLeft]:
    """Whether a method resamples what stands on its left: a wrapping one without a `base`."""
    return bool(getattr(method, "wrapping", False)) and getattr(method, "base", None) is None


def one_by_one(
    select: Callable[[Dataset, Selection | None, Run], Selection],
    data: Dataset,
    counts: NDArray[np.integer[Any]],
    upstream: Selection | None,
    run: Run | None,
) -> list[Selection]:
    """What `select` finds on each resample of `data`: the plain way, which all faster ones equal.

    Parameters
    ----------
    select : callable
        Takes a table, what arrives from the left, and a run.
    data : Dataset
    counts : (n_resamples, n_samples) int ≥ 0
        How often each resample draws each row.
    upstream : Selection, optional
    run : Run, optional
        Resample b draws from ``run.child(b)``.

    Returns
    -------
    list of Selection
        One per row of `counts`.
    """
    surroundings = Run() if run is None else run
    return [
        select(data.with_counts(row), upstream, surroundings.child(b))
        for b, row in enumerate(counts)
    ]
