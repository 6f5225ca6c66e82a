"""A sound selector, and selectors made from it that fail one conformance check each."""

from __future__ import annotations

import os
import random
import time
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np

from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import param, real
from fsframe.table.dataset import Dataset

__all__ = ["BROKEN", "Gap", "breaking", "scored"]


@attrs.frozen(kw_only=True)
class Gap(Selector):
    """Features by the gap between class means, in standard deviations."""

    takes_counts: ClassVar[bool] = True

    power: float = param(1.0, real(above=0), help="Exponent of the gap.")

    def scores(self, data: Dataset, weights: np.ndarray, run: Run) -> np.ndarray:
        means = np.array(
            [
                np.average(data.X[data.y == c], axis=0, weights=weights[data.y == c])
                for c in np.unique(data.y)
            ]
        )
        centre = np.average(data.X, axis=0, weights=weights)
        spread = np.sqrt(np.average((data.X - centre) ** 2, axis=0, weights=weights))
        largest = np.abs(data.X).max(axis=0)
        # A constant column has a spread of rounding errors only.
        flat = spread <= 1e-12 * largest
        gap = (means.max(axis=0) - means.min(axis=0)) / np.where(flat, 1.0, spread)
        return np.where(flat, 0.0, gap) ** self.power

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        weights = np.ones(data.n_samples) if data.counts is None else data.counts.astype(float)
        scores = self.scores(data, weights, run)
        kept = rank_by_score(scores)[: self.keep_count(data.n_features, 3)]
        return Selection(selected=kept, scores=scores)


def breaking(change: Callable[..., Any]) -> type[Selector]:
    """A `Gap` whose `_select` is `change(super()._select, self, data, upstream, run)`."""

    @attrs.frozen(kw_only=True)
    class Broken(Gap):
        """A selector that breaks a check."""

        def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
            inner = super()._select
            return change(lambda: inner(data, upstream, run), self, data, upstream, run)

    return Broken


def scored(scores: np.ndarray, self: Selector) -> Selection:
    """What `self` would keep by `scores`."""
    kept = rank_by_score(scores)[: self.keep_count(len(scores), 3)]
    return Selection(selected=kept, scores=scores)


def _print(inner: Any, *_: Any) -> Selection:
    print("hello")
    return inner()


def _by_global_stream(inner: Any, self: Selector, *_: Any) -> Selection:
    np.random.random()
    return inner()


def _warn(inner: Any, *_: Any) -> Selection:
    warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    return inner()


def _overwrite(inner: Any, self: Selector, data: Dataset, *_: Any) -> Selection:
    X = data.matrix.view()
    base = X.base
    while base is not None and base.base is not None:
        base = base.base
    if isinstance(base, np.ndarray) and base.flags.writeable and base.shape == X.shape:
        base[0, 0] += 1
    return inner()


def _count_down(inner: Any, self: Selector, data: Dataset, upstream: Any, run: Run) -> Selection:
    run.progress(5, 10, "x")
    run.progress(3, 10, "x")
    return inner()


def _before(change: Callable[[Dataset, Run], Any]) -> Callable[..., Selection]:
    """A fault that happens beside a sound answer."""

    def broken(inner: Any, self: Selector, data: Dataset, up: Any, run: Run) -> Selection:
        change(data, run)
        return inner()

    return broken


def _endless(data: Dataset, run: Run) -> None:
    # A step that is shortened until something changes.
    while (np.ptp(data.X, axis=0) == 0).any():
        time.sleep(0.01)


def _backend(data: Dataset, run: Run) -> None:
    import matplotlib

    matplotlib.use("svg")


def _write(data: Dataset, run: Run) -> None:
    with open("scores.txt", "w") as file:
        file.write("1")


def _by_chunks(inner: Any, self: Selector, data: Dataset, up: Any, run: Run) -> Selection:
    # Threads are used for large tables only, and sums are rounded by the number of their parts.
    parts = run.threads if data.n_samples > 1000 else 1
    sums = sum(part.sum(axis=0) for part in np.array_split(data.X, parts))
    return scored(inner().scores + 1e-3 * np.abs(sums), self)


def _all_distances(data: Dataset, run: Run) -> Any:
    return np.abs(data.X[:, None, :] - data.X[None, :, :]).sum()


_kept_between: list[Any] = []


def _remember(inner: Any, self: Selector, *_: Any) -> Selection:
    _kept_between.append(inner().scores)
    return scored(_kept_between[-1] * len(_kept_between), self)


_shared: dict[int, np.ndarray] = {}


def _in_one_buffer(inner: Any, self: Selector, data: Dataset, *_: Any) -> Selection:
    buffer = _shared.setdefault(data.n_features, np.empty(data.n_features))
    found = inner()
    buffer[:] = found.scores
    return attrs.evolve(found, scores=_view(buffer), tables={"gaps": _view(buffer)})


def _view(buffer: np.ndarray) -> np.ndarray:
    seen = buffer.view()
    seen.flags.writeable = False
    return seen


BROKEN: dict[str, tuple[Callable[..., Any], str]] = {
    "numpy's global stream": (_by_global_stream, "equal_seeds_give_equal_bits"),
    "threads": (
        lambda inner, self, data, up, run: scored(inner().scores * (1 + 1e-12 * run.threads), self),
        "number_of_threads_changes_no_bit",
    ),
    "the bound on memory": (
        lambda inner, self, data, up, run: scored(
            inner().scores + (run.memory < 2**30) * np.arange(data.n_features), self
        ),
        "a_small_memory_limit_changes_nothing",
    ),
    "the place of a column": (
        lambda inner, self, data, *a: scored(
            inner().scores + 0.1 * np.arange(data.n_features), self
        ),
        "order_of_columns_does_not_matter",
    ),
    "the first row": (
        lambda inner, self, data, *a: scored(inner().scores + abs(data.X[0]), self),
        "order_of_rows_does_not_matter",
    ),
    "the name of a column": (
        lambda inner, self, data, *a: scored(
            inner().scores + len(data.feature_names[0]) * 0.1, self
        ),
        "names_do_not_matter",
    ),
    "the unit": (
        lambda inner, self, data, *a: scored(inner().scores * data.X.std(axis=0), self),
        "scale_changes_nothing",
    ),
    "a bonus for constants": (
        lambda inner, self, data, *a: scored(
            inner().scores + 9.0 * (np.ptp(data.X, axis=0) == 0), self
        ),
        "a_constant_column_comes_last",
    ),
    "a malus for duplicates": (
        lambda inner, self, data, *a: scored(
            inner().scores
            - np.array(
                [np.equal(data.X[:, :j].T, c).all(axis=1).any() for j, c in enumerate(data.X.T)]
            ),
            self,
        ),
        "a_duplicated_column_scores_as_its_original",
    ),
    "worst first": (
        lambda inner, self, *a: scored(-inner().scores, self),
        "a_column_that_separates_the_classes_comes_first",
    ),
    "best last": (
        lambda inner, self, *a: attrs.evolve(inner(), selected=inner().selected[::-1]),
        "kept_columns_come_best_first",
    ),
    "one too many": (
        lambda inner, self, data, *a: Selection(
            selected=rank_by_score(inner().scores)[: inner().selected.size + 1],
            scores=inner().scores,
        ),
        "top_is_honoured",
    ),
    "another best one for another top": (
        lambda inner, self, data, *a: scored(
            inner().scores if self.top in (None, 2) else np.roll(inner().scores, 1), self
        ),
        "a_larger_top_only_adds",
    ),
    "nothing kept": (
        lambda inner, self, *a: attrs.evolve(inner(), selected=[]),
        "result_is_sound",
    ),
    "kept without a score": (
        lambda inner, self, data, *a: attrs.evolve(
            inner(), scores=np.full(data.n_features, np.nan)
        ),
        "result_is_sound",
    ),
    "no selection at all": (lambda inner, *a: 5, "result_is_sound"),
    "complex numbers in a table": (
        lambda inner, *a: attrs.evolve(inner(), tables={"z": np.array([1j])}),
        "result_can_be_stored_and_read",
    ),
    "counts in the sum": (
        lambda inner, self, data, *a: scored(
            inner().scores * (1 if data.counts is None else data.counts.sum()), self
        ),
        "equal_counts_change_nothing",
    ),
    "counts at all": (
        lambda inner, self, data, *a: scored(inner().scores + (data.counts is not None), self),
        "counts_of_one_change_nothing",
    ),
    "the rows that were left out": (
        lambda inner, self, data, *a: scored(
            inner().scores * (1.0 if data.counts is None else 1.1), self
        ),
        "rows_with_count_zero_are_left_out",
    ),
    "weights used in silence": (
        lambda inner, self, data, up, run: scored(
            inner().scores
            + (0 if up is None or up.instance_weights is None else up.instance_weights[0]),
            self,
        ),
        "upstream_weights_matter_as_declared",
    ),
    "weights that the entry does not name": (
        lambda inner, *a: attrs.evolve(inner(), weights=np.ones(inner().scores.size)),
        "what_the_entry_promises_is_given",
    ),
    "a model that says nothing of its columns": (
        lambda inner, *a: attrs.evolve(inner(), model={"w": inner().scores}),
        "arrays_of_the_model_are_declared",
    ),
    "axes of a model that are not columns": (
        lambda inner, self, data, *a: attrs.evolve(
            inner(),
            model={"first": data.X[:1], "place": np.arange(data.n_features)},
            model_columns={"first": 1, "place": 0},
        ),
        "declared_axes_of_the_model_follow_the_columns",
    ),
    "a model of fewer columns than it declares": (
        lambda inner, *a: attrs.evolve(
            inner(), model={"w": inner().scores[1:]}, model_columns={"w": 0}
        ),
        "result_is_sound",
    ),
    "stdout": (_print, "nothing_is_printed_and_progress_only_grows"),
    "progress that goes back": (_count_down, "nothing_is_printed_and_progress_only_grows"),
    "warnings of numpy": (_warn, "ties_and_contradictory_rows_are_handled"),
    "the user's own array": (_overwrite, "inputs_are_not_modified"),
    "numpy's error handling": (
        _before(lambda data, run: np.seterr(all="ignore")),
        "nothing_global_is_changed",
    ),
    "numpy's seed": (_before(lambda data, run: np.random.seed(0)), "nothing_global_is_changed"),
    "Python's seed": (_before(lambda data, run: random.seed(0)), "nothing_global_is_changed"),
    "matplotlib's backend": (_before(_backend), "nothing_global_is_changed"),
    "the warning filters": (
        _before(lambda data, run: warnings.simplefilter("ignore")),
        "nothing_global_is_changed",
    ),
    "a variable of the environment": (
        _before(lambda data, run: os.environ.update(OMP_NUM_THREADS="1")),
        "nothing_global_is_changed",
    ),
    "the working directory": (
        _before(lambda data, run: os.chdir(os.path.dirname(os.getcwd()))),
        "nothing_global_is_changed",
    ),
    "the way numpy prints": (
        _before(lambda data, run: np.set_printoptions(precision=3)),
        "nothing_global_is_changed",
    ),
    "a file of its own": (_before(_write), "no_file_is_written"),
    "a folder of its own": (
        _before(lambda data, run: os.makedirs("results", exist_ok=True)),
        "no_file_is_written",
    ),
    "threads above a thousand rows": (_by_chunks, "number_of_threads_changes_no_bit_on_many_rows"),
    "all distances at once": (
        _before(_all_distances),
        "the_memory_limit_holds_on_many_rows",
    ),
    "an endless loop on a constant column": (_before(_endless), "a_constant_column_comes_last"),
    "what an earlier call found": (_remember, "equal_seeds_give_equal_bits"),
    "a score that is not finite": (
        lambda inner, self, *a: scored(np.where(inner().scores > 0, np.inf, 0.0), self),
        "result_is_sound",
    ),
    "a column beyond the last": (
        lambda inner, self, data, *a: attrs.evolve(inner(), selected=[data.n_features]),
        "result_is_sound",
    ),
    "a column twice": (
        lambda inner, self, *a: attrs.evolve(inner(), selected=[1, 1]),
        "result_is_sound",
    ),
    "a buffer shared by calls": (_in_one_buffer, "a_later_call_leaves_results_as_they_are"),
    "a ValueError on flat tables": (
        lambda inner, self, data, *a: inner() if np.ptp(data.X) else int("flat"),
        "small_and_constant_tables_are_handled",
    ),
}
"""What is wrong, to how it is done and the check that has to find it."""
