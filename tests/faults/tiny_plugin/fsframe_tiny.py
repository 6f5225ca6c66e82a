"""A selector so quick that a run of it can be killed a thousand times in a minute."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import attrs
import numpy as np

from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import param, real
from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl
from fsframe.table.dataset import Dataset


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    yield SelectorEntry(name="tiny", target="fsframe_tiny:Tiny", summary="For tests")


@attrs.frozen(kw_only=True)
class Tiny(Selector):
    """Distance of the class means, and a little of the run's own noise."""

    takes_counts = True

    seconds: float = param(0.0, real(least=0), help="How long to sleep, unless TINY_AWAKE is set.")

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        if "TINY_AWAKE" not in os.environ:
            time.sleep(self.seconds)
        weight = np.ones(data.n_samples) if data.counts is None else data.counts.astype(float)
        first = weight * (data.y == 0)
        second = weight * (data.y == 1)
        gap = first @ data.X / first.sum() - second @ data.X / second.sum()
        scores = np.abs(gap) + 0.2 * run.generator().random(data.n_features)
        kept = rank_by_score(scores)[: self.keep_count(data.n_features, 2)]
        return Selection(selected=kept, scores=scores, tables={"gap": gap})
