"""The selector contract: the core checks the input, the author's part selects, the core checks the
result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, PluginError, refuse
from fsframe.method.ranking import Statement
from fsframe.method.run import Cost, Run, make_run
from fsframe.method.selection import Selection
from fsframe.method.stage_view import (
    Base,
    Method,
    columns_at_hand,
    first_missing,
    in_whole_table,
    local_upstream,
    nothing_left,
    one_by_one,
    selectors_for,
    selectors_that,
    view,
    ways_with_missing,
    weights_in_parts,
    without_values,
)
from fsframe.method.statistics import PermutationTest
from fsframe.params import number_to_keep
from fsframe.registry import in_stage
from fsframe.registry.registry import stage_words
from fsframe.table.arrays import as_counts
from fsframe.table.dataset import Dataset
from fsframe.table.roles import ROLES
from fsframe.table.side_columns import LABELS
from fsframe.table.spelling.text_file import shown


@attrs.frozen(kw_only=True)
class Selector(Method):
    """Base of all selectors; authors declare parameters and write `_select`.

    Class attributes declare what the author's part supports; the core does the rest.

    Attributes
    ----------
    tasks : frozenset of str
        Some of ``"classification"``, ``"regression"`` and ``"survival"``.
    uses_label : bool
        Whether the label may change the result; if not, its estimator is fitted without one, too.
    takes_missing : bool
        Whether NaN in the features is allowed.
    fills_missing : bool
        Whether its result has values that replace missing ones for later stages (`Selection.fill`).
    takes_counts : bool
        Whether `data.counts` is supported; otherwise drawn rows are copied, with a warning.
    takes_short_counts : bool
        Whether `_select_many` accepts counts of any integer type, such as uint16, which saves
        memory and time; otherwise it gets int64.
    takes_groups : bool
        Whether a method that resamples rows or permutes labels keeps the rows of a group together.
        A method that does neither keeps the default.
    takes_nominal : bool
        Whether values of nominal columns (`data.categorical`) are only compared for equality, so
        that other codes of their levels give the same result. Otherwise a table with nominal
        columns raises an error.
    honours : set of str
        Side roles of columns (`fsframe.table.roles`) that it uses, besides the time and the
        covariates; a table with other side roles is refused.
    takes_kept : bool
        Whether it supports columns that are always kept (`data.keep`). The core adds those that the
        author's part does not return; a greedy method starts from them.
    takes_time : bool
        Whether a method that samples, splits or permutes rows keeps the order of time
        (`data.times`). Other methods keep the default.
    takes_weights : bool
        Whether row weights, given as `data.counts`, have the effect of copies; otherwise a table
        with weights raises an error.
    takes_parts : bool
        Whether `_select` works on a table in parts (`data.in_parts`) without loading it. Other
        methods are given the table in memory, or refuse it if it is too large.
    takes_weighted_parts : bool
        Whether it supports a table in parts with row weights: every row then counts as often as its
        weight says, as in sums over rows.
    univariate : bool
        Whether a column's score depends only on that column and the label. Choosing by such scores
        does not select pairs, so tests of pairs need no correction for the choice.
    greedy : bool
        Whether features are ranked in the order in which they were chosen, each scored given those
        chosen before it.
    natural_zero : bool
        Whether a score of 0 means that the column has no information, and none is lower. Stages
        that average scores over resamples then give 0 to columns without a score, such as those
        that an earlier stage dropped; otherwise the lowest score of the resample.
    joint : bool
        Whether features are judged in one model of all of them, so that those that say the same as
        a kept one are left out. Features kept by a stage that resamples it are then needed, not
        only relevant.
    competing : bool
        Whether features compete for a place in one model, so that most of them score 0 or nearly
        so; implied by `joint`.
    uses_upstream_weights : bool
        Whether upstream weights change the result.
    reads_columns : bool
        Whether it reads some columns at a time (`data.columns`), never the whole table (`data.X`),
        which would convert a sparse table or load one from disk.
    reads_bytes : bool
        Whether it takes tables of uint8, int8 and of packed bits as bytes (`data.values`,
        `data.byte_values`), not as float64 (`data.X`).
    table_copies : float
        How many float64 copies of its table a fit holds in addition to it, not counting work in
        blocks. A memory limit below that raises an error.

    Examples
    --------
    >>> import attrs, numpy as np
    >>> from fsframe.method.selection import rank_by_score
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
    uses_label: ClassVar[bool] = True
    fills_missing: ClassVar[bool] = False
    takes_counts: ClassVar[bool] = False
    takes_short_counts: ClassVar[bool] = False
    takes_groups: ClassVar[bool] = True
    honours: ClassVar[frozenset[str]] = frozenset()
    takes_kept: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    takes_parts: ClassVar[bool] = False
    takes_weighted_parts: ClassVar[bool] = False
    takes_time: ClassVar[bool] = True
    univariate: ClassVar[bool] = False
    greedy: ClassVar[bool] = False
    natural_zero: ClassVar[bool] = False
    joint: ClassVar[bool] = False
    competing: ClassVar[bool] = False
    uses_upstream_weights: ClassVar[bool] = False
    wrapping: ClassVar[bool] = False
    reads_columns: ClassVar[bool] = False
    reads_bytes: ClassVar[bool] = False

    top: int | float | None = number_to_keep("the method's own published rule")

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        """The author's part: select among the columns of `data`, numbered 0 … n_features-1."""
        raise NotImplementedError

    def keep_count(self, n_features: int, default: int) -> int:
        """Number of `n_features` columns to keep: by `top` if it is set, else `default`.

        A fraction is rounded up; more than there are means all.
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
        """Run the method on `data` and return its selection.

        Parameters
        ----------
        data : Dataset
            The whole table; `data.counts` makes it a bootstrap.
        upstream : Selection, optional
            Selection of the stage on the left: only its columns are seen, and its weights are
            passed on.
        run : Run, optional
            Random stream and limits; by default a new one with `seed`.
        seed : int, optional
            Seed if no run is given; 0 by default.

        Returns
        -------
        Selection
            In the column numbers of `data`.

        Raises
        ------
        DataError
            If the data hold something the method does not accept.
        PluginError
            If the method returns an invalid result.
        """
        context = make_run(run, seed)
        columns = columns_at_hand(data, upstream)
        if not columns.size:
            self.check_data(data.take_columns(columns))
            return nothing_left(data)
        seen = self._seen(data, columns, upstream)
        self._require_memory(data, columns.size, context)
        local, rows, notes = self._localise(seen)
        arrived = local_upstream(upstream, columns, rows)
        with in_stage(type(self), self.method_name()):
            selection = self._select(local, arrived, context)
        self._check(selection, local)
        return in_whole_table(selection, local, data, columns, rows, upstream, notes)

    def select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None = None,
        run: Run | None = None,
        seed: int | None = None,
    ) -> list[Selection]:
        """One Selection per row of `counts`, (n_resamples, n_samples): bootstraps of one table.

        The results are those of `select` on ``data.with_counts(counts[b])`` with ``run.child(b)``.
        A method that is faster for all resamples together provides `_select_many`, whose results
        may lack `model`, `tables` and `warnings`.
        """
        context = make_run(run, seed)
        many = getattr(self, "_select_many", None)
        columns = columns_at_hand(data, upstream)
        if many is None or not columns.size:
            return one_by_one(self.select, data, counts, upstream, context)
        seen = self._seen(data, columns, upstream)
        self._require_memory(data, columns.size, context)
        local = attrs.evolve(seen, counts=None)
        every = np.arange(data.n_samples)
        arrived = local_upstream(upstream, columns, every)
        given = as_counts(counts, (len(counts), data.n_samples))
        if not self.takes_short_counts:
            given = given.astype(np.int64, copy=False)
        with in_stage(type(self), self.method_name()):
            selections = many(local, given, arrived, context)
        if len(selections) != len(given):
            raise PluginError(
                f"{self.method_name()}: _select_many returned {len(selections)} selections for "
                f"{len(given)} resamples"
            )
        for selection in selections:
            self._check(selection, local)
        return [
            in_whole_table(one, local, data, columns, every, upstream, ()) for one in selections
        ]

    def permutation_test(self) -> PermutationTest | None:
        """The test that decides, or is reported, if its p-values are counted over permutations.

        Authors who compute such p-values override this: a run warns before any work starts if the
        test cannot reach its level.
        """
        return None

    def top_only_cuts(self) -> bool:
        """Whether a smaller count `top` keeps the first features that a larger one keeps, with the
        same scores, weights and model for them.

        Tuning `top` then takes one fit for all its values. Authors override this.
        """
        return False

    def statement(self, base: Selector | None = None) -> Statement | None:
        """The statement that its p-values or error rate are about, by its parameters; None if none.

        Authors of methods that test or bound errors override this, for screens, reports and methods
        texts. `base` is the last of the stages that a resampling stage repeats.

        Returns
        -------
        Statement or None
            One of `fsframe.method.ranking`, or another.
        """
        return None

    def cost(self, n: int, p: int) -> Cost | None:
        """Processor time of one fit among many on n rows and p columns; None if unknown.

        Authors override this with a formula fitted to measurements, correct within a factor of
        three. Forecasts use it (`Chain.cost`). A resampling stage has `base_fits` instead.
        """
        return None

    def base_fits(self, p: int, base: Base | None = None) -> int | None:
        """Number of fits of `base` by a resampling stage on p columns; None if unknown.

        Authors of resampling stages override this.
        """
        return None

    def resampled_forewarning(self) -> str:
        """A sentence for the user before a stage repeats this method in resamples; mostly empty.

        Authors override this if their parameters suit a single fit only.
        """
        return ""

    def halves_forewarning(self, data: Dataset) -> str:
        """A sentence for the user before a stage bounds its errors by selections of this method on
        halves of the rows, if errors on such tables are known to exceed the bound; mostly empty.
        """
        return ""

    def said_of_base(self, base: Base, data: Dataset, n_tests: int | None) -> Iterator[str]:
        """Warnings before the run about `base`, which this stage repeats in resamples.

        Parameters as in `forewarnings`; each sentence begins with the name of its stage.
        """
        yield from base.told(lambda method: method.resampled_forewarning())

    def forewarnings(self, data: Dataset, n_tests: int | None) -> Iterator[str]:
        """Warnings for the user before a run that is possible but weak.

        Parameters
        ----------
        data : Dataset
            The whole table.
        n_tests : int, optional
            Number of features that the method will see, if known.

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
        """Problems of parameters with the table `data`, reported before any stage runs.

        Authors override this if the whole table is enough to decide, without the selections of
        stages on the left; anything else raises an error in `_select`. It is quick, fits nothing,
        and yields nothing if it cannot decide.

        Parameters
        ----------
        data : Dataset
            The whole table, even if another stage resamples the chain of the method.

        Yields
        ------
        str
            A sentence for each problem, without the method's name: what is asked for, what the
            table allows, what to ask for instead.
        """
        return iter(())

    def first_problems(self) -> Iterator[str]:
        """Problems of parameters if no stage is on the left, reported before any stage runs.

        Authors override this if a parameter refers to the previous stage; sentences as in
        `check_request`.
        """
        return iter(())

    def ignores_groups(self) -> str:
        """How this method ignores groups of rows, for messages; empty if it does not.

        Authors override this if it depends on parameters; a table with groups then raises an error.
        """
        return "" if self.takes_groups else "it resamples rows or permutes labels one by one"

    def ignores_time(self) -> str:
        """How this method ignores the order of rows, for messages; empty if it does not.

        Authors override this if it depends on parameters; a table with times then raises an error.
        """
        if self.takes_time and (self.wrapping or self.permutation_test() is None):
            return ""
        return "it samples, splits or permutes rows without regard to their order"

    def adjusts(self) -> bool:
        """Whether it adjusts its results for covariates (`data.covariates`)."""
        return False

    def adjusts_base(self) -> bool:
        """Whether a resampling stage adjusts for covariates in the stages that it resamples, such
        as by permuting labels within strata."""
        return False

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """As `Method.role_problems`."""
        name = self.method_name()
        ignored = "" if data.groups is None else self.ignores_groups()
        if ignored:
            yield (
                f"{name} cannot keep rows of one {data.group_name!r} together: "
                f"{ignored}; leave out the groups (--groups) and their column (--drop "
                f"{data.group_name}), or use a method that honours them"
            )
        if data.keep is not None and not self.takes_kept:
            yield (
                f"{name} compares what is selected in many resamples or rounds, where columns "
                "that are always kept carry no information: leave them out of the table "
                f"(--drop), or use --keep only in a chain without {name}"
            )
        if data.weight_name and not self.takes_weights:
            yield (
                f"{name} samples or splits single rows, and rows have weights "
                f"({data.weight_name!r}): leave out the weights and their column, or give a "
                "table that repeats each row as often as its weight says"
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
            others = selectors_that(
                lambda method: method.uses_label and data.task in method.tasks and method.adjusts()
            )
            instead = f"use a method with conditional or partial relevance ({others}), or "
            after = selectors_that(lambda method: bool(method.adjusts_base()), wrapping=True)
            yield (
                f"{name} cannot adjust for {', '.join(adjusted.names)} (--adjust): "
                f"{instead if others else ''}add after it a stage that permutes labels within "
                f"strata ({after})"
            )
        elif adjusted is not None and not adjusted.handled and self.uses_label:
            determining = ", ".join(adjusted.names_that_determine(data.y))
            if determining:
                yield (
                    f"{name}: the label is the same in all rows of each level of {determining} "
                    "(--adjust), which leaves nothing for a feature to explain: leave it out "
                    f"(--drop {determining.replace(', ', ',')} in place of --adjust)"
                )
        for role, columns in data.sides.items():
            if role not in self.honours:
                yield (
                    f"{name} does not use {', '.join(columns.names)} ({ROLES[role].option}): leave "
                    f"the option out and the column too (--drop {','.join(columns.names)}), or use "
                    "a method that honours it"
                )
        yield from super().role_problems(data)

    def works_in_parts(self, data: Dataset) -> bool:
        """Whether it works on `data` in parts with its parameters (`takes_parts`)."""
        return self.takes_parts

    def parts_problem(self, data: Dataset, n_features: int | None = None) -> str:
        """The problem if a table in parts, or `n_features` of its columns, is too large; or ""."""
        p = data.n_features if n_features is None else n_features
        if not data.in_parts or self.works_in_parts(data):
            return ""
        needed, most = 8 * data.n_samples * p, data.matrix.most_bytes
        if needed <= most:
            return ""
        return (
            f"{self.method_name()} needs its table in memory, where {data.n_samples} × {p} values "
            f"take {shown(needed)} and {shown(most)} are allowed "
            "(FSFRAME_TABLE_MEMORY): put a filter that counts over parts before it, such as "
            f"mim:top={max(1, most // (16 * data.n_samples))}"
        )

    def task_problems(self, data: Dataset) -> Iterator[str]:
        """A sentence that it does not support the label of `data`; nothing if it does."""
        if data.task not in self.tasks_taken():
            yield (
                f"{self.method_name()} does not take {LABELS[data.task]} (label "
                f"{data.label_name!r}); it is made for "
                + " and ".join(sorted(self.tasks))
                + (" (--event names the column of events)" if self.tasks == {"survival"} else "")
                + selectors_for(data.task)
            )

    def missing_problems(self, data: Dataset) -> Iterator[str]:
        """A sentence that it does not accept the missing values of `data`; nothing if it does.

        Authors override this if it depends on parameters.
        """
        missing = None if self.takes_missing else first_missing(data)
        if missing is not None:
            row, column, total = missing
            name = self.method_name()
            yield (
                f"{name} does not take missing values (NaN): {total} in {data.name!r}, the first "
                f"in sample {row + 1}, feature {data.feature_names[column]!r}"
                f"{without_values(data, column)}; {ways_with_missing(name, data.task)}"
            )

    def check_data(self, data: Dataset) -> None:
        """Raise DataError, with all reasons, if `data` holds something this method does not
        accept."""
        refused = [*self.role_problems(data), *self.task_problems(data)]
        refuse(DataError, [*refused, *self.missing_problems(data)])

    def tasks_taken(self) -> frozenset[str]:
        """`tasks`, or those of the stages that it resamples."""
        return self.tasks

    def _require_memory(self, data: Dataset, p: int, run: Run) -> None:
        """Refuse a memory limit that is too small for copies of the table."""
        if data.in_parts and self.works_in_parts(data):
            return
        n, copies, what = data.n_samples, self.table_copies, "its working copy of"
        if self.reads_bytes and data.holds_bytes:
            copies += 0.0 if data.in_memory else 0.125
        elif not data.in_memory and not self.reads_columns:
            copies += 1.0  # read whole first
            what = (
                "the sparse or packed table, which it needs as full floats:"
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
        """`data` with these columns only, filled by `upstream`, and checked."""
        if data.in_parts:
            given = data.take_columns(columns)
            self.check_roles(given)
            refuse(DataError, filter(None, [self.parts_problem(given)]))
        seen = view(data, columns, upstream)
        if seen.in_parts and (not self.works_in_parts(seen) or data.counts is not None):
            seen = seen.loaded()
        self.check_data(seen)
        return seen

    def _localise(self, local: Dataset) -> tuple[Dataset, NDArray[np.intp], tuple[str, ...]]:
        """`local` with only its drawn rows, those rows, and warnings.

        If the method does not support counts, drawn rows are copied.
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

    def _check(self, selection: Selection, local: Dataset) -> None:
        if not isinstance(selection, Selection):
            raise PluginError(
                f"{self._stage_words()} returned {type(selection).__name__}, not a Selection"
                " (selected=column numbers, best first, scores=one of each column)"
            )
        # The method saw the columns of `local`, even if a copied Selection has others.
        as_local = (
            selection
            if selection.features_in is None
            else attrs.evolve(selection, features_in=None)
        )
        problems = as_local.problems(local.n_features, local.n_samples)
        if problems:
            raise PluginError(
                f"{self._stage_words()} returned an invalid result: " + "; ".join(problems)
            )

    def _stage_words(self) -> str:
        """The stage, its plugin and the version, as errors name them."""
        return stage_words(type(self), self.method_name())
