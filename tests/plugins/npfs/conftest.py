"""A small mutual-information selector and the slides' synthetic table, for the tests of NPFS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.params import integer, param
from fsframe.table.dataset import Dataset
from fsframe_npfs.methods.npfs import Npfs

LEVELS = 11


@attrs.frozen(kw_only=True)
class TinyMim(Selector):
    """The k features of integers 0 … 10 with the largest I(X; Y), ties by column."""

    takes_counts: ClassVar[bool] = True
    k: int = param(5, integer(1))

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        counts = np.ones(data.n_samples, np.int64) if data.counts is None else data.counts
        return self._select_many(data, counts[None, :], upstream, run)[0]

    def _select_many(self, data: Any, counts: Any, upstream: Any, run: Any) -> list[Selection]:
        n, p = data.X.shape
        hot = np.zeros((n, p * LEVELS), np.float32)
        place = np.arange(p) * LEVELS + data.X.astype(np.int64)
        hot[np.arange(n)[:, None], place] = 1.0
        # Counts are whole numbers far below 2**24, so that single precision adds them exactly.
        cells = [(counts * (data.y == c)).astype(np.float32) @ hot for c in range(data.n_classes)]
        together = sum(_xlogx(c) for c in cells) - _xlogx(sum(cells))
        scores = together.reshape(len(counts), p, LEVELS).sum(axis=2)
        sizes = [(counts * (data.y == c)).sum(axis=1) for c in range(data.n_classes)]
        total = counts.sum(axis=1)
        scores += (_xlogx(total) - sum(_xlogx(s) for s in sizes))[:, None]
        scores /= total[:, None]
        scores = np.where(np.abs(scores) < 1e-12, 0.0, scores)
        order = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
        return [Selection(selected=o, scores=s) for o, s in zip(order, scores, strict=True)]


def watching(look: Callable[[Dataset, Any], object], k: int) -> TinyMim:
    """The selector, which hands each table and its counts to a function first."""

    class Watching(TinyMim):
        def _select_many(self, data: Any, counts: Any, upstream: Any, run: Any) -> Any:
            look(data, counts)
            return super()._select_many(data, counts, upstream, run)

    return Watching(k=k)


def _xlogx(v: Any) -> Any:
    v = np.asarray(v, dtype=np.float64)
    return v * np.log(np.maximum(v, 1.0))


def slides(seed: int, n: int = 1000, features: int = 50, relevant: int = 15) -> Dataset:
    """Slide 26: integers 0 … 10, label 1 where the sum of the first k* is at most k*·5."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, LEVELS, size=(n, features))
    if relevant:
        y = (X[:, :relevant].sum(axis=1) <= 5 * relevant).astype(int)
    else:
        y = rng.permutation(np.arange(n) % 2)
    return Dataset.from_arrays(X, y)


def noise(
    seed: int, n: int, p: int, copies: int = 1, relevant: int = 0, numeric: bool = False
) -> Dataset:
    """Normal columns, the first of which are shifted by the label or added up in it."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, p))
    if numeric:
        y = X[:, :relevant].sum(axis=1) + 2 * draw.normal(size=n)
    else:
        y = draw.permutation(np.arange(n) % 2)
        X[:, :relevant] += 1.5 * y[:, None]
    return Dataset.from_arrays(np.repeat(X, copies, axis=1), y, name="noise")


def outcome(base: Any, data: Dataset, seed: int = 0, **settings: Any) -> Selection:
    """What the test with these settings finds of a base."""
    return Npfs(**settings).select_wrapped(base, data, None, Run(entropy=seed))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Many small matrix products: more threads only wait for each other."""
    with threadpool_limits(1):
        yield
