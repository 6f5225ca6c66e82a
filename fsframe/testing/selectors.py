"""The conformance suites of selectors, and of stages that resample others; checks that order,
names, scale, copies, threads and memory do not matter; and of groups.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain, Stage
from fsframe.errors import DataError, FsframeError, RequestError
from fsframe.execution.engine import Engine
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.method.stage_view import Base
from fsframe.params import Parameter
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import SideColumns
from fsframe.testing import tables
from fsframe.testing.conformance import only_if, peak_bytes, read_attributes, refusal_of
from fsframe.testing.promises import PromiseChecks
from fsframe.testing.results import (
    ResultChecks,
    SelectorChecks,
    assert_first,
    assert_sound,
    p_values_of,
    resamples,
    some_upstream,
)
from fsframe.testing.tables import assert_close, assert_equal, frozen_bytes, shuffled

# Fields of a table for rows that belong together: the words for all parts, and for one.
_TOGETHER = {"groups": ("groups", "a group"), "together": ("times", "a block of time")}


class Probe(Base):
    """A base with random scores that checks that no resample splits rows that belong together."""

    def __init__(self, *together: str) -> None:
        self.together = together
        self.seen: list[bytes] = []

    def __str__(self) -> str:
        return "probe"

    def select(
        self, data: Dataset, upstream: Selection | None = None, run: Run | None = None
    ) -> Selection:
        counts = data.row_counts
        for name in self.together:
            (all_of_them, one), parts = _TOGETHER[name], getattr(data, name)
            assert parts is not None, f"a resample has lost its {all_of_them}"
            for part in np.unique(parts):
                rows = parts == part
                assert np.unique(counts[rows]).size == 1, f"a resample splits {one}"
                if name == "groups":
                    assert np.unique(data.y[rows]).size == 1, "labels are permuted within a group"
        self.seen.append(np.where(counts > 0, data.y, -1).tobytes())
        scores = (Run() if run is None else run).generator().random(data.n_features)
        return Selection(selected=np.argsort(-scores)[:2], scores=scores)


_MEMORY = 2 << 20
# Besides `run.memory`, a fit may hold copies of this small table, tables of counts and results.
_BESIDE = 2 << 20
_TRIED = 4
_FOR_ONE = ("model", "tables", "warnings")


class InvarianceChecks(SelectorChecks):
    """Changes that must not matter, and rows that belong together, in groups or in time."""

    def _grouped(self) -> Dataset:
        """The table of most checks, with its rows in groups of two or three of equal label."""
        data = self.table()
        place = np.empty(data.n_samples, dtype=np.int64)
        place[np.argsort(data.y, kind="stable")] = np.arange(data.n_samples)
        _, groups = np.unique(place // 3 * data.n_samples + data.y, return_inverse=True)
        y = data.y
        if data.task != "classification":
            groups, y = place // 3, np.sort(data.y)[place // 3 * 3]
        return attrs.evolve(data, y=y, groups=groups.astype(np.int64), group_name="person")

    def _resamples(self) -> bool:
        """Whether the method resamples a base that another can replace."""
        method = self.make()
        return method.wrapping and not getattr(method, "reads_own_base", False)

    def _seen_whole(self, data: Dataset, *together: str) -> set[bytes]:
        """Assert that no resample splits rows that belong together; return the resamples."""
        probe, wrapping = Probe(*together), attrs.evolve(self.make(), base=None)  # type: ignore[call-arg]
        selection = wrapping.select_wrapped(probe, data, None, Run())  # type: ignore[attr-defined]
        assert_sound(selection, data)
        assert len(probe.seen) > 1, "the base was given no resample"
        return set(probe.seen)

    def _whole_or_refused(self, data: Dataset, what: str, *together: str) -> None:
        """Assert that a table with times is refused, or that no resample splits its parts."""
        if self._refuses(data, what):
            return
        if self._resamples():
            self._seen_whole(data, *together)
        else:
            self._assert_sound_on(data)

    def test_groups_are_accepted_or_refused_as_declared(self) -> None:
        data = self._grouped()
        if not self._refuses(data, "groups"):
            self._assert_sound_on(data)

    def test_resamples_keep_blocks_of_time_whole(self) -> None:
        plain = self.table()
        data = plain.with_roles(time=plain.feature_names[-1])
        self._whole_or_refused(data, "time", "together")

    def test_resamples_keep_consecutive_groups_whole_in_time(self) -> None:
        grouped = self._grouped()
        day = np.random.default_rng(11).permutation(grouped.n_groups)[grouped.groups]
        hours = np.linspace(0, 0.9, grouped.n_samples)
        times = SideColumns.of({"day": day + hours}, [False], "column")
        data = attrs.evolve(grouped, times=times)
        self._whole_or_refused(data, "day", "groups", "together")
        overlapping = attrs.evolve(times, values=times.values % 1.0)
        self._refuses(attrs.evolve(data, times=overlapping), "overlap in time")

    def test_resamples_keep_groups_whole(self) -> None:
        data = self._grouped()
        only_if(self._resamples(), "it does not resample a base")
        only_if(not self.make().ignores_groups(), "it refuses a table with groups")
        assert len(self._seen_whole(data, "groups")) > 1, "all resamples are the same"

    # Changes that must not matter: order, names, scale, duplicated columns, equal counts

    def test_inputs_are_not_modified(self) -> None:
        data = self.table()
        X, y = data.X.copy(), data.y.copy()
        given = Dataset.from_arrays(X, y, task=data.task)
        counts = resamples(given, 2)
        resample, upstream = given.with_counts(counts[0]), some_upstream(given)
        before = frozen_bytes(X, y, counts, upstream, resample.counts)
        self._result(given)
        self._result(given, upstream)
        self._result(resample)
        self.make().select_many(given, counts)
        assert frozen_bytes(X, y, counts, upstream, resample.counts) == before

    def test_order_of_columns_does_not_matter(self) -> None:
        data = self.table()
        order = shuffled(data.n_features, 1)
        selection = self._result(data.take_columns(order))
        # Column p of the shuffled table is column order[p] of the first.
        back = Selection(
            selected=order[selection.selected], scores=selection.scores[np.argsort(order)]
        )
        assert_close(back, self._plain(), "with shuffled columns", self.rtol)

    def test_order_of_rows_does_not_matter(self) -> None:
        data = self.table()
        rows = shuffled(data.n_samples, 2)
        self._assert_unchanged(data.take_rows(rows), self._plain(), "with shuffled rows")

    def test_names_do_not_matter(self) -> None:
        data = self.table()
        named = data.task == "classification"
        labels = np.array([f"c{code}" for code in data.y]) if named else data.y
        names = [f"größe {i}" for i in range(data.n_features)]
        selection = self._result(Dataset.from_arrays(data.X, labels, names, task=data.task))
        assert_equal(selection, self._plain(), "with other names", besides=("warnings",))

    def test_order_of_classes_does_not_matter(self) -> None:
        data = self._of_classes()
        turned = data.with_labels(data.n_classes - 1 - data.y)
        self._assert_unchanged(turned, self._plain(), "with classes in reverse")
        # A method that takes codes for numbers may not notice that three classes are reversed.
        data = tables.classes(45, n_classes=3)
        if list(self.make().task_problems(data)):
            return
        turned = data.with_labels((data.y + 1) % 3)
        self._assert_unchanged(turned, self._result(data), "with three classes turned")

    def test_the_label_does_not_matter_if_the_method_says_so(self) -> None:
        only_if(not self.make().uses_label, "it uses the label")
        data = self.table()
        other = data.with_labels(data.y[shuffled(data.n_samples, 2)])
        self._assert_unchanged(other, self._plain(), "with labels of other rows")

    def test_scale_changes_nothing(self) -> None:
        data = self.table()
        powers = 2.0 ** np.array([3, -5, 0, 7, -2, 11])
        scaled = tables.with_columns(data, data.X * powers[: data.n_features])
        self._assert_unchanged(scaled, self._plain(), "with other units")

    def test_a_constant_column_comes_last(self) -> None:
        data = self.table()
        table = tables.with_columns(data, np.insert(data.X, 2, 4.2, axis=1))
        selection = self._result(table)
        assert_sound(selection, table)
        assert 2 not in selection.selected[:2], "a constant column was kept before informative ones"
        if not self._promises("kept_columns_come_best_first"):
            return  # Scores of different columns are not comparable.
        score, others = selection.scores[2], np.delete(selection.scores, 2)
        # Noise may score below zero, and a constant column zero.
        least = max(0.0, float(np.nanmin(others)))
        assert np.isnan(score) or score <= least + 1e-12, (
            f"the constant column scores {score:.3g}, others from {least:.3g}"
        )

    def test_a_duplicated_column_scores_as_its_original(self) -> None:
        data = self.table()
        X = np.insert(data.X, 4, data.X[:, 1], axis=1)
        scores = self._result(tables.with_columns(data, X)).scores
        first, second = scores[1], scores[4]
        close = abs(first - second) <= self.rtol * max(abs(first), abs(second))
        assert close or (np.isnan(first) and np.isnan(second)), (
            f"equal columns score {first:.6g} and {second:.6g}"
        )

    # Bootstraps as counts

    def test_counts_of_one_change_nothing(self) -> None:
        data = self.table()
        ones = data.with_counts(np.ones(data.n_samples, dtype=np.int64))
        self._assert_unchanged(ones, self._plain(), "with counts of 1", 1e-12)

    def test_rows_with_count_zero_are_left_out(self) -> None:
        data = self.table()
        counts = (np.arange(data.n_samples) % 7 > 1).astype(np.int64)
        without = self._result(data.take_rows(np.flatnonzero(counts)))
        self._assert_unchanged(data.with_counts(counts), without, "with rows left out", 1e-9)

    def test_counts_equal_copies(self) -> None:
        reason = self.make().unlike_copies()
        only_if(not reason, reason)
        data = self.table()
        counts = resamples(data, 1)[0]
        copied = data.take_rows(np.repeat(np.arange(data.n_samples), counts))
        selection, expected = self._result(data.with_counts(counts)), self._result(copied)
        assert_close(selection, expected, "with rows copied", self.rtol)
        for name, p in p_values_of(expected).items():
            assert np.allclose(selection.tables[name], p, 1e-6, 1e-12, equal_nan=True), (
                f"{name!r} of rows with counts are not those of as many copies"
            )

    def test_equal_counts_change_nothing(self) -> None:
        data = self.table()
        only_if(self.make().takes_counts, "counts are not taken; rows are copied")
        threes = data.with_counts(np.full(data.n_samples, 3))
        self._assert_unchanged(threes, self._plain(), "with every count 3")

    # Threads, memory and batches, and parameters that have an effect

    def test_threads_of_linear_algebra_change_no_bit(self) -> None:
        from threadpoolctl import threadpool_limits

        # Large enough for a library to divide its products among threads: more than 2^18 steps.
        data = self.table(64, 72)
        with threadpool_limits(1, user_api="blas"):
            one = self._result(data, run=Run(entropy=1))
        with threadpool_limits(2, user_api="blas"):
            two = self._result(data, run=Run(entropy=1))
        assert_equal(two, one, "with two threads in the library of linear algebra")

    def test_a_small_memory_limit_changes_nothing(self) -> None:
        data = self.table(150, 12)
        wide = self._result(data, run=Run(entropy=1))
        try:
            tight = self._result(data, run=Run(entropy=1, memory=1 << 18))
        except FsframeError as error:
            # A method that cannot work in blocks may refuse, and must name the limit.
            assert "memory" in str(error), f"refused with 256 KB: {error}"
            return
        assert_close(tight, wide, "with 256 KB for temporaries", self.rtol)

    def test_many_resamples_equal_one_by_one(self) -> None:
        run = Run(entropy=5, key=(2,))
        data, counts, many = self._assert_many_as_one_by_one(4, None, run)
        tail = self.make().select_many(data, counts[1:], run=run.batch(1))
        assert_equal(tail[0], many[1], "resample 1 in another batch")
        assert_equal(tail[-1], many[-1], "the last resample in another batch")

    def test_many_resamples_after_a_stage_equal_one_by_one(self) -> None:
        self._assert_many_as_one_by_one(2, some_upstream(self.table()), Run(entropy=5))

    def _assert_many_as_one_by_one(
        self, n: int, upstream: Selection | None, run: Run
    ) -> tuple[Dataset, NDArray[np.int64], list[Selection]]:
        method, data = self.make(), self.table()
        counts = resamples(data, n)
        many = method.select_many(data, counts, upstream, run)
        for b, (row, selection) in enumerate(zip(counts, many, strict=True)):
            alone = method.select(data.with_counts(row), upstream, run.child(b))
            # Tables are for single results and may be left out here.
            assert_equal(selection, alone, f"resample {b} among many", besides=_FOR_ONE)
        return data, counts, many

    def test_the_memory_limit_holds_on_many_rows(self) -> None:
        method, data = self.make(), self.table(800, 4)

        def select() -> None:
            method.select(data, run=Run(entropy=1, memory=_MEMORY))

        try:
            select()
            peak = peak_bytes(select)
        except FsframeError as error:
            assert "memory" in str(error) or "allowed" in str(error), f"refused: {error}"
            return
        allowed = 2 * _MEMORY + _BESIDE
        assert peak <= allowed, (
            f"run.memory is {_MEMORY >> 20} MiB, but {peak / 2**20:.0f} MiB were held for "
            f"{data.n_samples} rows: work in blocks, or refuse with run.must_hold()"
        )

    def test_a_column_that_determines_the_target_comes_first(self) -> None:
        only_if("regression" in self.make().tasks, "it does not accept numeric targets")
        assert_first(self._result(tables.followed()), 4, "is the target with a little noise")

    def test_every_parameter_has_an_effect(self) -> None:
        # Whether a parameter is read does not depend on the number of rows.
        method, data = self.make(), self.table(48)
        X = data.X.copy()
        X[::9, 2] = np.nan
        holed = tables.with_columns(data, X)
        parameters = [p for p in method.parameters() if p.name not in ("top", "base")]
        changes = [
            {p.name: value} for p in parameters for value in _others(p, getattr(method, p.name))
        ]
        wanted = {p.name for p in parameters}
        # A parameter may matter only with other values of another: change one at a time.
        for change in ({}, *changes):
            if not wanted:
                return
            try:
                variant = attrs.evolve(method, **change)
                wanted -= read_attributes(variant, partial(_select_as_chain, variant, data))
            except FsframeError:
                # A value that is refused is not ignored.
                wanted -= {*change}
                continue
            if method.takes_missing:
                with contextlib.suppress(FsframeError):
                    wanted -= read_attributes(variant, partial(_select_as_chain, variant, holed))
        unread = [p.name for p in parameters if p.name in wanted]
        assert not unread, f"never read for any value of the other parameters: {', '.join(unread)}"


def _others(parameter: Parameter, value: Any) -> list[Any]:
    """Some other valid values of a parameter."""
    wanted: list[Any] = [not value] if isinstance(value, bool) else []
    wanted += parameter.kind.choices()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        wanted += [value * 2, value / 2, value + 1, value - 1]
    given: list[Any] = [value]
    for each in (*wanted, 1, 2, 3, 0.1, 0.5, 0.9, 10):
        with contextlib.suppress(ValueError, TypeError):
            taken = parameter.kind.convert(each)
            # A parameter of free text would accept anything.
            free = isinstance(taken, str) and not isinstance(each, str)
            known = any(type(taken) is type(old) and taken == old for old in given)
            if not (each is None or free or known):
                given.append(taken)
    return given[1 : 1 + _TRIED]


def _select_as_chain(method: Selector, data: Dataset) -> None:
    """Check the request, then select, as a chain does."""
    list(method.check_request(data))
    method.select(data, seed=2)


class SelectorConformance(ResultChecks, InvarianceChecks, PromiseChecks):
    """Everything the core promises of a selector; inherit it and write `make`.

    Attributes
    ----------
    name : str, optional
        The name it is registered under.
    gives : frozenset of str, optional
        The field `gives` of its entry.

    Notes
    -----
    A stage that resamples others needs a base, such as ``Npfs(base="mim:top=2")``.
    """


BASE = "mim:top=2"
"""A base for any stage: it takes classes and numeric targets, and keeps few columns."""

_WARNING = "a warning of the base"
_REFUSAL = "the base refuses this table"


@attrs.frozen(kw_only=True)
class _Spread(Selector):
    """A base that keeps the `top` columns with the largest distance between means of classes."""

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression", "survival"})

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        scores = self._scores(data, run)
        kept = rank_by_score(scores)[: self.keep_count(data.n_features, 2)]
        return Selection(selected=kept, scores=scores, warnings=self._notes())

    def _scores(self, data: Dataset, run: Run) -> NDArray[np.float64]:
        # For a numeric target or times: the distance between rows above and below the median.
        side = data.y if data.task == "classification" else (data.y > np.median(data.y)) * 1
        means = [data.X[side == code].mean(axis=0) for code in np.unique(side)]
        return np.ptp(np.array(means), axis=0)

    def _notes(self) -> tuple[str, ...]:
        return ()


@attrs.frozen(kw_only=True)
class _Drawing(_Spread):
    """`_Spread` with random numbers added to the scores."""

    def _scores(self, data: Dataset, run: Run) -> NDArray[np.float64]:
        return super()._scores(data, run) + run.generator().random(data.n_features)


@attrs.frozen(kw_only=True)
class _Warning(_Spread):
    """`_Spread` with a warning."""

    def _notes(self) -> tuple[str, ...]:
        return (_WARNING,)


@attrs.frozen(kw_only=True)
class _Empty(_Spread):
    """`_Spread` that keeps nothing."""

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        selection = super()._select(data, upstream, run)
        return attrs.evolve(selection, selected=np.zeros(0, dtype=np.int64))


class WrappingConformance(SelectorConformance):
    """Everything the core promises of a stage that resamples others; inherit it and write `make`.

    The checks of selectors apply to the stage with the base that `make` gives it, which should keep
    few of six columns, such as ``mim:top=2``: a stage that counts how often columns are kept cannot
    tell them apart otherwise. The checks of this class bring bases of their own.
    """

    def _after(self, method: Selector) -> Chain:
        """The chain of a base and this stage after it."""
        stage = self._stage()
        return Chain([Stage(method.method_name(), method), Stage(stage.method_name(), stage)])

    def _stage(self) -> Any:
        """The stage without a base of its own."""
        method: Any = self.make()
        only_if(method.wrapping, "it does not resample others")
        only_if(not method.reads_own_base, "it reads its base itself")
        return attrs.evolve(method, base=None)

    def _select_with(self, base: Selector) -> Selection:
        return self._after(base).select(self.table(), run=Run(entropy=5))

    def test_it_derives_from_the_class_of_such_stages(self) -> None:
        method = self.make()
        assert method.wrapping, f"{type(method).__name__} does not derive from WrappingSelector"

    def test_a_missing_base_is_asked_for(self) -> None:
        stage = self._stage()
        otherwise = "without a base and without a stage on its left it gives a result"
        error = refusal_of(lambda: stage.select(self.table()), otherwise, RequestError)
        assert "base" in str(error), f"the message does not say how to name a base: {error}"

    def test_a_base_that_keeps_few_many_or_no_columns_is_handled(self) -> None:
        data = self.table()
        for base in (_Spread(top=1), _Spread(top=2), _Spread(top=data.n_features), _Empty()):
            self._sound_or_refused(data, partial(self._after(base).select, run=Run(entropy=5)))

    def test_warnings_of_the_base_are_kept(self) -> None:
        self._stage()
        texts = self._select_with(_Warning(top=2)).warnings
        assert any(_WARNING in text for text in texts), (
            "the warnings of the base in resamples are lost: collect them "
            "(fsframe.resampling.resamples.Recurring)"
        )

    def test_errors_of_the_base_are_its_own(self) -> None:
        self._stage()
        data = self.table()
        seen: list[Dataset] = []

        @attrs.frozen(kw_only=True)
        class Refusing(_Spread):
            """A base that takes the table, and refuses every resample of it."""

            def _select(self, given: Dataset, upstream: Selection | None, run: Run) -> Selection:
                if given.counts is None and frozen_bytes(given.X, given.y) == full_table:
                    return super()._select(given, upstream, run)
                seen.append(given)
                raise DataError(_REFUSAL)

        full_table = frozen_bytes(data.X, data.y)
        try:
            self._select_with(Refusing(top=2))
        except DataError as error:
            assert _REFUSAL in str(error), f"the message of the base is lost: {error}"
            return
        only_if(seen, "it runs the base on the whole table only")
        raise AssertionError("the base refuses a resample, and the stage gives a result")

    def test_workers_change_no_bit(self) -> None:
        self._stage()
        # On noise, every resample and every stream of random numbers keeps other columns.
        data, base = tables.noise(self.make().tasks, 60, 8), _Drawing(top=2)
        alone = self._after(base).select(data, run=Run(entropy=5))
        with ThreadPoolExecutor(2) as pool, Engine(pool, 2) as engine:
            shared = self._after(base).select(data, run=Run(entropy=5, executor=engine))
        assert_equal(shared, alone, "with two workers")
