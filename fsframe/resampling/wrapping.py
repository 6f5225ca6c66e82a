"""The base class of stages that resample another selector or a chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import attrs
import numpy as np

from fsframe.chains.chain import Chain
from fsframe.chains.stage import most_tables_held
from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.method.stage_view import (
    Base,
    in_whole_table,
    local_upstream,
)
from fsframe.params import optional, param, stages
from fsframe.registry import in_stage
from fsframe.resampling.groups import FEWEST_GROUPS
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import time_blocks

__all__ = ["Base", "WrappingSelector"]


@attrs.frozen(kw_only=True)
class WrappingSelector(Selector):
    """Base of stages that resample another selector; authors write `_select_wrapped`.

    Without `base`, everything on the left in the chain is wrapped, screening included, so that all
    steps that use labels are inside the resample. With `base`, it is an ordinary stage.

    Attributes
    ----------
    reads_own_base : bool
        Whether `base` may be more than a chain that selects (one with a classifier, or with sets of
        values) and is checked by the class itself; otherwise the chain that holds the stage parses
        it when it is built.
    tasks_of_base : bool
        Whether, besides `tasks`, those of the first stage of `base` are supported, because the
        method uses labels through its base alone.
    takes_kept : bool
        False: counting how often columns are selected makes no sense for those that always are. A
        method that does not count sets True.
    takes_weights : bool
        False: a resample draws single rows, whatever their weight.
    reads_columns : bool
        True: the base decides.
    takes_nominal : bool
        True: the base decides.
    takes_time : bool
        False unless the resamples draw blocks of time (`Dataset.together`).
    takes_groups : bool
        False unless the resamples keep groups of rows together (`fsframe.resampling.groups`):
        otherwise a table with groups raises an error.
    """

    wrapping: ClassVar[bool] = True
    reads_own_base: ClassVar[bool] = False
    tasks_of_base: ClassVar[bool] = False
    takes_counts: ClassVar[bool] = True
    reads_columns: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = False
    takes_nominal: ClassVar[bool] = True
    takes_kept: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = False
    takes_time: ClassVar[bool] = False

    base: str | None = param(
        None,
        optional(stages()),
        help="Selector or chain to resample; by default everything on its left.",
    )

    def chains_of_base(self) -> tuple[Chain, ...]:
        """The chains that `base` stands for: one, or none without it.

        A class that reads its own base gives those that it makes from it.
        """
        return () if self.base is None else (Chain.parse(self.base),)

    def _texts_of_base(self, told: Callable[[Chain], Iterator[str]]) -> Iterator[str]:
        """The texts that `told` yields for the chains of `base`, each once."""
        yield from dict.fromkeys(text for chain in self.chains_of_base() for text in told(chain))

    def check_request(self, data: Dataset) -> Iterator[str]:
        """Problems of stages of `base` with the table; authors who override this include them."""
        yield from self._texts_of_base(lambda chain: chain.request_problems(data))

    def first_problems(self) -> Iterator[str]:
        """Problems of the first stages of `base` without a stage on their left."""
        yield from self._texts_of_base(lambda chain: chain.first_problems())

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """Problems of this stage, and of stages of `base`."""
        yield from super().role_problems(data)
        seen = self.seen_by_base(data.without_adjusting() if self.adjusts_base() else data)
        yield from self._texts_of_base(lambda chain: chain.role_problems(seen))

    def missing_problems(self, data: Dataset) -> Iterator[str]:
        """Problem of this stage, or of the first stages of `base`, with missing values."""
        yield from super().missing_problems(data)
        yield from self._texts_of_base(lambda c: c.stages[0].method.missing_problems(data))

    def seen_by_base(self, data: Dataset) -> Dataset:
        """A table with the columns and roles of the tables that `base` receives.

        Authors whose stage passes parts of a table in parts, each in memory, override this.
        """
        return data

    def stretch_problems(self, data: Dataset) -> Iterator[str]:
        """Problem with too few blocks to draw from, if groups are kept whole in the order of time.

        Authors whose resamples draw blocks of time include it in `role_problems`.
        """
        if data.when is None or data.groups is None:
            return
        assert data.times is not None
        many = np.unique(time_blocks(data.when)).size
        if many < FEWEST_GROUPS:
            time = data.times.names[0]
            yield (
                f"{self.method_name()} resamples blocks of {time!r} that hold whole groups "
                f"({data.group_name!r}), and groups that overlap in time share a block: "
                f"{data.n_groups} groups make {many} blocks, and at least {FEWEST_GROUPS} are "
                f"needed; leave out the time (--drop {time}) or the groups"
            )

    def adjusts(self) -> bool:
        """True: the base decides, unless `adjusts_base`."""
        return True

    def forewarnings(self, data: Dataset, n_tests: int | None) -> Iterator[str]:
        """Warnings of this stage, and of the stages of `base`."""
        yield from super().forewarnings(data, n_tests)
        yield from self._texts_of_base(lambda chain: chain.forewarnings(data))
        if not self.reads_own_base:
            own = f"{self.method_name()}: "
            for text in self._texts_of_base(lambda base: self.said_of_base(base, data, n_tests)):
                yield text.removeprefix(own)

    def tasks_taken(self) -> frozenset[str]:
        """`tasks`, and with `tasks_of_base` also those of the first stage of `base`."""
        if self.base is None or not self.tasks_of_base:
            return self.tasks
        first = Chain.parse(self.base).stages[0].method
        return self.tasks | first.tasks if isinstance(first, Selector) else self.tasks

    def tables_held(self, n_features: int) -> float:
        """The largest number of copies that a stage of `base` holds."""
        if self.base is None:
            return 0.0
        methods = [stage.method for stage in Chain.parse(self.base).stages]
        return most_tables_held(methods, n_features)

    def bytes_for_rows(self, n_samples: int) -> int:
        """The largest number of bytes of a stage of the chains of `base`."""
        stages = [stage for chain in self.chains_of_base() for stage in chain.stages]
        return max((stage.method.bytes_for_rows(n_samples) for stage in stages), default=0)

    def rows_copied(self) -> float:
        """One copy: the rows of a resample."""
        return 1.0

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        """The author's part: resample `base` on `data`, and select among the columns of `data`.

        `upstream` is the selection of the wrapped chain on the whole table or, with `base`, that of
        the stage on the left.
        """
        raise NotImplementedError

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        if self.base is None:
            raise RequestError(
                f"{self.method_name()} resamples another selector: put one on its left "
                f"(`immigrate {self.method_name()}`) or name it (`{self.method_name()}:base=mim`)"
            )
        return self._select_wrapped(Chain.parse(self.base), data, upstream, run)

    def select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        """The selection of this stage on the whole table `data`, resampling `base`."""
        self.check_roles(data)
        every = np.arange(data.n_features)
        local, rows, notes = self._localise(data)
        arrived = local_upstream(upstream, every, rows)
        with in_stage(type(self), self.method_name()):
            selection = self._select_wrapped(base, local, arrived, run)
        self._check(selection, local)
        return in_whole_table(selection, local, data, every, rows, upstream, notes)
