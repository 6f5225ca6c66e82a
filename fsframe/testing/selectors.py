"""The conformance suites of selectors, and of stages that resample others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain, Stage
from fsframe.errors import DataError, RequestError
from fsframe.execution.engine import Engine
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.table.dataset import Dataset
from fsframe.testing import tables
from fsframe.testing.conformance import only_if, refusal_of
from fsframe.testing.invariance import InvarianceChecks
from fsframe.testing.promises import PromiseChecks
from fsframe.testing.results import ResultChecks
from fsframe.testing.tables import assert_equal, frozen_bytes


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
                if given.counts is None and frozen_bytes(given.X, given.y) == whole:
                    return super()._select(given, upstream, run)
                seen.append(given)
                raise DataError(_REFUSAL)

        whole = frozen_bytes(data.X, data.y)
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
