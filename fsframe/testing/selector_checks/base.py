"""Base of the checks of selectors: the method under test, its tables, and a valid result."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, FsframeError
from fsframe.method.selection import PairWeights, Selection
from fsframe.method.selector import Selector
from fsframe.table.dataset import Dataset
from fsframe.testing import tables
from fsframe.testing.conformance import Conformance, not_applicable

__all__ = ["SelectorChecks", "assert_sound", "resamples", "some_upstream"]


class SelectorChecks(Conformance):
    """Base of the groups of checks; `SelectorConformance` documents `name` and `gives`."""

    gives: ClassVar[frozenset[str] | None] = None

    @staticmethod
    def make() -> Selector:
        raise NotImplementedError("write make() so that it returns the selector to test")

    def table(self) -> Dataset:
        """The table that most checks use: classes, else a numeric target, else survival times."""
        return tables.suited(self.make().tasks)

    def _with_levels(self) -> Dataset:
        """A table with nominal columns, and classes or a numeric target as in `table`."""
        taken = "classification" in self.make().tasks
        return tables.categories(task="classification" if taken else "regression")

    def _confounded(self) -> Dataset:
        """A covariate determines column 0 and the label; column 1 follows the label given it."""
        draw = np.random.Generator(np.random.PCG64(5))
        z = np.arange(120) % 3.0
        y = (draw.random(120) < 0.2 + 0.3 * z).astype(np.int64)
        X = draw.normal(size=(120, 5))
        X[:, 0], X[:, 1], X[:, 4] = z + 0.2 * X[:, 0], 1.2 * y + 0.6 * X[:, 1], z
        target = "classification" not in self.make().tasks
        task = "regression" if target else "classification"
        return Dataset.from_arrays(X, y, task=task).with_roles(adjust="f5")

    def _of_classes(self) -> Dataset:
        if "classification" not in self.make().tasks:
            raise not_applicable("it does not accept classes")
        return self.table()

    @staticmethod
    def _quietly(select: Callable[[], Selection]) -> Selection:
        """The result of `select`, with RuntimeWarnings of numpy as errors."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            return select()

    def _sound_or_refused(self, table: Dataset) -> None:
        """Assert that the method gives a valid result on `table`, or refuses it with a message."""
        try:
            found = self._quietly(lambda: self.make().select(table))
        except FsframeError as error:
            assert isinstance(error, DataError) or error.exit_code == 2, (
                f"{type(error).__name__} instead of a DataError: {error}"
            )
            assert str(error).strip(), "refused without a message"
            return
        assert_sound(found, table)


def assert_sound(found: Selection, data: Dataset) -> None:
    problems = found.problems(data.n_features, data.n_samples)
    assert not problems, "; ".join(problems)
    unranked = [int(column) for column in found.selected if np.isnan(found.scores[column])]
    assert not unranked, f"columns {unranked} are kept but have no score"
    own = [("selected", found.selected), ("scores", found.scores)]
    for name, array in (*own, *found.model.items(), *found.tables.items()):
        assert not array.flags.writeable, f"{name} can be written to"
    if found.pair_weights is not None:
        weights = found.pair_weights.triplets()[2]
        assert np.isfinite(weights).all(), "pair_weights hold non-finite values"


def resamples(data: Dataset, n: int) -> NDArray[np.int64]:
    """Bootstraps as counts, at least two rows of every class in each."""
    generator = np.random.Generator(np.random.PCG64(4))
    counts = generator.multinomial(data.n_samples, np.full(data.n_samples, 1 / data.n_samples), n)
    if data.task == "classification":
        for code in range(data.n_classes):
            counts[:, np.flatnonzero(data.y == code)[:2]] += 1
    return counts.astype(np.int64)


def some_upstream(data: Dataset) -> Selection:
    """The selection of an upstream stage: five columns, and weights of every kind."""
    p, n = data.n_features, data.n_samples
    columns = np.arange(min(5, p))
    weights = np.zeros(p)
    weights[columns] = 1.0 / (1.0 + columns)
    matrix = np.diag(1.0 / (1.0 + columns)) + 0.1
    return Selection(
        selected=columns,
        scores=np.where(np.arange(p) < 5, 1.0 / (1.0 + np.arange(p)), np.nan),
        weights=weights,
        pair_weights=PairWeights(columns, matrix),
        instance_weights=np.linspace(0.1, 3.0, n),
        features_in=np.arange(p),
    )
