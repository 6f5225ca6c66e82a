"""Chains: immutable sequences of stages, each applied to the columns kept by the previous one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.stage import Stage, StageResult, find_method
from fsframe.errors import (
    DataError,
    FsframeError,
    GatheredErrors,
    RequestError,
    UntidyTableError,
    refuse,
)
from fsframe.grammar import StageText, format_stages, parse_stages
from fsframe.method.classifier import Classifier, FittedOnColumns
from fsframe.method.ranking import Statement
from fsframe.method.run import Cost, Progress, Run, make_run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.method.stage_view import filled, wraps_left
from fsframe.registry import classifiers, real_name, selectors
from fsframe.storage.spec import Limits
from fsframe.table.dataset import Dataset
from fsframe.text import printable

if TYPE_CHECKING:
    import os
    from concurrent.futures import Executor

    from fsframe.execution import Engine
    from fsframe.storage import RunRecord
    from fsframe.storage.checkpoint import Checkpoint

__all__ = ["Chain", "Stage"]


# A forecast of more than this many seconds is reported before a chain runs.
_LONG = 3600.0
_MOST_STAGES = Limits().stages


@attrs.frozen(repr=False)
class Chain:
    """An immutable sequence of stages, run from left to right.

    Each stage gets the columns that the stage on its left kept, and their weights. A wrapping stage
    without a base resamples all stages on its left and gets the whole table. The last stage may be
    a classifier.

    Parameters
    ----------
    stages : tuple of Stage
        Left to right, at least one.

    Raises
    ------
    RequestError
        If there is no stage, a classifier is not the last stage, or a wrapping stage has nothing to
        wrap.

    Examples
    --------
    >>> chain = Chain.parse("mim:top=5   immigrate:sigma=0.5 npfs")
    >>> str(chain)
    'mim:top=5 immigrate:sigma=0.5 npfs'
    """

    stages: tuple[Stage, ...] = attrs.field(converter=tuple[Stage, ...])

    def __attrs_post_init__(self) -> None:
        if not self.stages:
            raise RequestError(
                "the chain is empty: name at least one selector, such as `immigrate`"
            )
        others = [stage for stage in self.stages if not isinstance(stage, Stage)]
        if others:
            raise RequestError(
                f"a chain is built of Stage objects, not {type(others[0]).__name__}: write "
                "Chain.parse('mim:top=3 npfs'), or "
                "Chain([Stage('mim', fsframe.selectors['mim'](top=3))])"
            )
        problems = [*_order_problems(self.stages), *_nested_problems(self.stages)]
        if problems:
            raise RequestError("; ".join(problems))

    @classmethod
    def parse(cls, text: str) -> Chain:
        """The chain that `text` describes, its names looked up in the registry.

        Raises
        ------
        RequestError
            Listing all problems of the text: unknown names, unknown parameters, values out of
            range, stages in an invalid order.
        PluginError
            If a named method belongs to a plugin that cannot be used.
        """
        return cls.from_texts(parse_stages(text))

    @classmethod
    def recorded(cls, text: str) -> Chain:
        """`parse` for the chain of a run, which another version may have made.

        Raises
        ------
        RequestError
            As `parse`; the message names the chain and says what to do.
        """
        try:
            return cls.parse(text)
        except RequestError as error:
            raise RequestError(
                f"{error}; the run is of `{printable(text)}`, which cannot be computed with the "
                "fsframe and plugins installed here: use those of the run, or another chain"
            ) from error

    @classmethod
    def from_texts(cls, texts: tuple[StageText, ...]) -> Chain:
        """The chain of these parsed stages; raises the errors of `parse`."""
        if len(texts) > _MOST_STAGES:
            raise RequestError(
                f"a chain has at most {_MOST_STAGES} stages, as its run file has; these are "
                f"{len(texts)}"
            )
        stages: list[Stage] = []
        errors = GatheredErrors()
        for text in texts:
            with errors:
                name = real_name(text.name, selectors, classifiers)
                stages.append(Stage(name, find_method(name).from_texts(text.params)))
        errors.end()
        return cls(tuple(stages))

    def __str__(self) -> str:
        return format_stages(stage.text for stage in self.stages)

    def __repr__(self) -> str:
        return f"Chain.parse({str(self)!r})"

    def check_request(self, data: Dataset) -> None:
        """Raise the errors that stages would raise on `data`, before any stage runs.

        Stages in the bases of wrapping stages are checked too, on the whole table.

        Raises
        ------
        RequestError
            Listing every stage whose parameters do not suit the table.
        DataError
            If stages do not support the label, or roles of columns or rows, such as groups or
            nominal columns, or the first stage the missing values. All of these are listed,
            together with unsuitable parameters. A sparse or packed table is searched for missing
            values when the first stage begins.
        """
        refused = list(self.role_problems(data))
        if data.in_memory or data.in_parts:
            refused += self.stages[0].method.missing_problems(data)
        problems = [*self.request_problems(data), *self.first_problems()]
        # A protocol asks the classifiers of its chains for both.
        problems = [text for text in problems if text.partition(": ")[2] not in refused]
        refuse(DataError if refused else RequestError, [*refused, *problems])

    @property
    def _named_selectors(self) -> tuple[tuple[str, Selector], ...]:
        """The names of the stages that select, and their methods."""
        methods = ((stage.name, stage.method) for stage in self.stages)
        return tuple((name, method) for name, method in methods if isinstance(method, Selector))

    def first_problems(self) -> Iterator[str]:
        """The problems of the first stage without a stage on its left."""
        for name, method in self._named_selectors[:1]:
            yield from (f"{name}: {problem}" for problem in method.first_problems())

    def request_problems(self, data: Dataset) -> Iterator[str]:
        """The problems with parameters that `check_request` raises, one sentence each."""
        for name, method in self._named_selectors:
            # A label that the method does not take is reported by `role_problems`.
            if data.task in method.tasks_taken():
                yield from (f"{name}: {problem}" for problem in method.check_request(data))

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """Problems of stages with the label and the roles of columns and rows
        (`Selector.role_problems`, `Selector.task_problems`)."""
        columns = self._columns_given(data.n_features)
        for place, (stage, n) in enumerate(zip(self.stages, columns, strict=True)):
            method = stage.method
            yield from method.role_problems(self._adjusted(data, place))
            if not wraps_left(method):
                yield from method.task_problems(data)
            if data.in_parts and isinstance(method, Selector) and n is not None:
                problem = method.parts_problem(data, n)
                if problem:
                    yield problem

    def _columns_given(self, n_features: int) -> Iterator[int | None]:
        """The number of columns that each stage gets; None if a stage before it does not declare
        how many it keeps."""
        kept: int | None = n_features
        for stage in self.stages:
            method = stage.method
            given = n_features if getattr(method, "wrapping", False) else kept
            yield given
            if isinstance(method, Selector):
                if method.top is None or given is None:
                    kept = None
                else:
                    kept = method.keep_count(given, given)

    def _adjusted(self, data: Dataset, place: int) -> Dataset:
        """The table for a stage, without covariates if a later stage that resamples it adjusts."""
        if data.covariates is None:
            return data
        later = (stage.method for stage in self.stages[place + 1 :])
        if any(isinstance(m, Selector) and m.adjusts_base() and wraps_left(m) for m in later):
            return data.without_adjusting()
        return data

    def forewarnings(self, data: Dataset) -> Iterator[str]:
        """Warnings for the user before the chain runs, one sentence each.

        The number of columns is unknown after a stage that does not declare how many it keeps.
        """
        columns = [*self._columns_given(data.n_features)]
        for stage, n in zip(self.stages, columns, strict=True):
            if isinstance(stage.method, Selector):
                for warning in stage.method.forewarnings(data, n):
                    yield f"{stage.name}: {warning}"
        wrapping = [k for k, stage in enumerate(self.stages) if wraps_left(stage.method)]
        if wrapping:
            last = self.stages[wrapping[-1]].method
            assert isinstance(last, Selector)
            base = Chain(self.stages[: wrapping[-1]])
            yield from last.said_of_base(base, data, columns[wrapping[-1]])
        cost = self.cost(data.n_samples, data.n_features)
        if cost is not None and cost.seconds > _LONG:
            screening = "Screen first (mim:top=100), or try" if data.n_features > 200 else "Try"
            yield (
                f"forecast: about {cost.seconds / 3600:,.1f} hours of processor time. {screening} "
                f"a smaller table{', or ' * bool(cost.remedy)}{cost.remedy}"
            )

    def told(self, text_of: Callable[[Selector], str]) -> Iterator[str]:
        """The text for each selector that is not empty, with the name of its stage."""
        for name, method in self._named_selectors:
            if text := text_of(method):
                yield f"{name}: {text}"

    def cost(self, n: int, p: int) -> Cost | None:
        """Processor time on n rows and p columns, as declared by the stages.

        Returns
        -------
        Cost or None
            None if a stage does not declare its cost. A stage that does not declare how many
            columns it keeps is assumed to keep all of them.
        """
        total, formula, left, largest = 0.0, "", p, Cost(seconds=0.0, formula="")
        for position, (_, method) in enumerate(self._named_selectors):
            base = self._base_of(position)
            cost = None if base is None else _cost_of_fits(method, base, n, p)
            cost = cost or method.cost(n, left)
            if cost is None:
                return None
            total += cost.seconds
            largest = max(largest, cost, key=lambda one: one.seconds)
            formula = cost.formula if method.wrapping or not formula else formula + " + …"
            left = method.keep_count(left, left)
        return Cost(seconds=total, formula=formula, remedy=largest.remedy)

    def tables_seen(self, data: Dataset) -> Iterator[tuple[Selector | Classifier, Dataset]]:
        """Each method with the table it sees, with all columns; gaps are filled after a stage that
        fills them."""
        filling = False
        for stage in self.stages:
            if filling:
                data = filled(data, np.zeros(data.n_features))
                filling = False
            yield stage.method, data
            filling = getattr(stage.method, "fills_missing", False)

    @property
    def selecting(self) -> tuple[Stage, ...]:
        """The stages without the classifier."""
        return self.stages if self.classifier is None else self.stages[:-1]

    @property
    def natural_zero(self) -> bool:
        """Whether a score of 0 means that a column has no information (`Selector.natural_zero`)."""
        return bool(self._named_selectors) and self._named_selectors[-1][1].natural_zero

    @property
    def joint(self) -> bool:
        """Whether its last selector judges features in one model of all (`Selector.joint`)."""
        return bool(self._named_selectors) and self._named_selectors[-1][1].joint

    @property
    def competing(self) -> bool:
        """Whether features compete for a place in the model of its last selector
        (`Selector.competing`)."""
        last = self._named_selectors[-1][1] if self._named_selectors else None
        return last is not None and (last.competing or last.joint)

    def statements(self) -> Iterator[tuple[str, Statement]]:
        """The name of each stage that tests, with its statement (`Selector.statement`).

        Stages that a later one resamples are left out, since their decisions do not count.
        """
        counting: list[tuple[str, Statement]] = []
        for place, (name, method) in enumerate(self._named_selectors):
            if wraps_left(method):
                counting.clear()
            base = self._base_of(place)
            resampled = [each for _, each in base._named_selectors] if base is not None else []
            statement = method.statement(resampled[-1] if resampled else None)
            if statement is not None:
                counting.append((name, statement))
        yield from counting

    def _base_of(self, place: int) -> Chain | None:
        """The chain that the stage at `place` resamples; None if it resamples no chain."""
        method = self.stages[place].method
        named = getattr(method, "base", None)
        try:
            if getattr(method, "wrapping", False):
                return Chain.parse(named) if named else Chain(self.stages[:place])
        except FsframeError:
            # The base of a stage that reads it itself need not be the text of a chain.
            pass
        return None

    @property
    def classifier(self) -> Classifier | None:
        """The classifier at the end, if there is one."""
        last = self.stages[-1].method
        return last if isinstance(last, Classifier) else None

    def steps(
        self,
        data: Dataset,
        run: Run,
        upstream: Selection | None = None,
        start: int = 0,
        part: int | None = None,
    ) -> Iterator[StageResult]:
        """Run the stages from `start` on `data`, and yield their results.

        Stage i draws from ``run.child(i)``, or, in resample `part`, from ``run.child(i, part)``.
        Stages that a later stage resamples also run on the whole table, for their weights and
        pairs.
        """
        for position in range(start, len(self.stages)):
            stage = self.stages[position]
            context = run.child(position) if part is None else run.stage(position).child(part)
            method = stage.method
            table = self._adjusted(data, position)
            if isinstance(method, Classifier):
                yield method.fit(table, upstream, context)
                return
            if wraps_left(method):
                base = Chain(self.stages[:position])
                by_parts = table.in_parts and method.works_in_parts(table)
                inside = table if by_parts else table.loaded()
                upstream = method.select_wrapped(base, inside, upstream, context)
            else:
                upstream = method.select(table, upstream, context)
            yield upstream

    def select(
        self,
        data: Dataset,
        upstream: Selection | None = None,
        run: Run | None = None,
        seed: int | None = None,
    ) -> Selection:
        """The selection of the last selector of the chain on `data`.

        Raises
        ------
        RequestError
            If the chain consists of a classifier only.
        DataError, PluginError
            As raised by the stages.
        """
        return _last(self._selecting_chain().steps(data, make_run(run, seed), upstream))

    def select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None = None,
        run: Run | None = None,
        seed: int | None = None,
    ) -> list[Selection]:
        """Run the chain on each resample, a row of `counts` (n_resamples, n_samples).

        Stage i of resample b draws from ``run.child(i, b)``. The first stage gets all resamples at
        once, so that methods with a faster algorithm for this use it.
        """
        context = make_run(run, seed)
        chain = self._selecting_chain()
        first = chain.stages[0].method
        assert isinstance(first, Selector)
        selections = first.select_many(self._adjusted(data, 0), counts, upstream, context.stage(0))
        if len(chain.stages) == 1:
            return selections
        return [
            _last(chain.steps(data.with_counts(row), context, selections[b], start=1, part=b))
            for b, row in enumerate(counts)
        ]

    def _selecting_chain(self) -> Chain:
        if not self.selecting:
            raise RequestError(f"the chain `{self}` selects nothing")
        return Chain(self.selecting)

    def fit(
        self, data: Dataset, run: Run | None = None, seed: int | None = None
    ) -> FittedOnColumns:
        """The fitted classifier at the end of the chain, after the selectors have run on `data`.

        Raises
        ------
        RequestError
            If the chain does not end with a classifier.
        """
        if self.classifier is None:
            raise RequestError(f"the chain `{self}` does not end with a classifier")
        fitted = deque(self.steps(data, make_run(run, seed)), maxlen=1).pop()
        assert isinstance(fitted, FittedOnColumns)
        return fitted

    def run(
        self,
        data: Any,
        seed: int = 0,
        out: str | os.PathLike[str] | None = None,
        *,
        overwrite: bool = False,
        listener: Callable[[Progress], None] | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
        executor: Engine | Executor | None = None,
        checkpoint: Checkpoint | None = None,
        restart: bool = False,
        mixed: bool = False,
        source: str = "",
        command: str = "",
        label: str | int | None = None,
    ) -> RunRecord:
        """Run the chain on a table and return its result, with a record of every stage.

        Parameters
        ----------
        data : Dataset, or anything else that `fsframe.read` takes
            The table: a data frame of pandas, polars or pyarrow, an AnnData, a lazy frame, a path.
        seed : int
            Random seed; equal seeds give equal bits on the same kind of processor
            (`fsframe.storage.encoding`).
        out : path, optional
            Where to write the run file; by default none is written.
        overwrite : bool
            Whether a file at `out` may be replaced.
        listener : callable, optional
            Called with a Progress from time to time.
        memory : int or str, optional
            Memory limit of the whole run in bytes, or such as ``"2GB"``, including workers and
            copies of the table but not interpreters and libraries; by default each fit is limited,
            as in Run.
        threads : int, optional
            Maximum number of threads of a fit, as in Run.
        executor : Engine or concurrent.futures.Executor, optional
            Where resamples are computed, such as a process pool or a dask client's executor; by
            default in this process, one after the other. Results do not depend on it.
        checkpoint : Checkpoint, optional
            An open checkpoint; by default one beside `out`. Results of an interrupted attempt of
            the same run are reused.
        restart : bool
            Whether to discard such results instead.
        mixed : bool
            Whether to reuse such results even if they were computed on another kind of processor,
            or with other versions of the numerical libraries; the run file records this.
        source, command : str
            Path of the table and the command, for the run file.
        label : str or int, optional
            The label of a data frame, as in `Dataset.from_frame`; a Dataset has its own.

        Returns
        -------
        RunRecord
            With `.selected`, `.scores`, `.pairs`, `.stages`, `.warnings` and
            `.to_frame()`: a `fsframe.SelectionResult` with `.plot()`, `.save(path)` and
            `.to_sklearn()`, or the result of an evaluation or stability study.

        Raises
        ------
        StoreError
            Before any work starts if `out` exists, or if an unfinished run of something else or of
            another process is beside it; later if a file cannot be written.
        EngineError
            If the workers are lost.
        DataError, PluginError, RequestError
            As raised by the stages.
        """
        from fsframe.chains.request import Request
        from fsframe.table.read import read

        if not isinstance(data, Dataset):
            try:
                data = read(data, label)
            except UntidyTableError as error:
                message = f"{error.problem}\n`fsframe.read` takes, and so does `fsframe.select`:"
                raise UntidyTableError(message, error.ways) from None
        elif label is not None:
            raise RequestError("a Dataset already has its label; label= is for data frames")
        request = Request(
            chain=self,
            data=data,
            seed=seed,
            out=out,
            source=source,
            command=command,
            memory=memory,
            threads=threads,
            overwrite=overwrite,
            restart=restart,
            mixed=mixed,
        )
        return request.run(executor, listener, checkpoint).as_result()


def _cost_of_fits(wrapping: Selector, base: Chain, n: int, p: int) -> Cost | None:
    """Cost of all fits of the base that a stage resamples; None if one of them is not declared."""
    one, many = base.cost(n, p), wrapping.base_fits(p, base)
    if one is None or many is None:
        return None
    return Cost(
        seconds=many * one.seconds,
        formula=f"{many} fits of {one.formula} seconds",
        remedy=one.remedy,
    )


def _last(results: Iterator[StageResult]) -> Selection:
    selection = deque(results, maxlen=1).pop()
    assert isinstance(selection, Selection)
    return selection


def _order_problems(stages: tuple[Stage, ...]) -> Iterator[str]:
    for stage in stages[:-1]:
        if isinstance(stage.method, Classifier):
            yield f"{stage.name} is a classifier: it can only be the last stage of a chain"
    first = stages[0]
    if wraps_left(first.method):
        yield (
            f"{first.name} resamples another selector: put one on its left "
            f"(`immigrate {first.name}`) or name it (`{first.name}:base=mim`)"
        )


def _nested_problems(stages: tuple[Stage, ...]) -> Iterator[str]:
    """Problems of the bases of wrapping stages, found before they run."""
    for stage in stages:
        text = getattr(stage.method, "base", None)
        if text is None or not getattr(stage.method, "wrapping", False):
            continue
        if getattr(stage.method, "reads_own_base", False):
            continue
        try:
            base = Chain.parse(text)
        except RequestError as error:
            yield f"{stage.name}: base={text}: {error}"
            continue
        if base.classifier is not None:
            yield (
                f"{stage.name}: base={text} ends with {base.stages[-1].name}, a classifier; the "
                "resampled chain must select features"
            )
