"""A sound selector that makes every promise, and faulty ones of which each breaks a promise.

A check has a fault for each of its assertions, tables and comparisons, not for each mistake that an
author could make.
"""

from __future__ import annotations

import os
import random
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
from scipy import stats

from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import param, real
from fsframe.table.dataset import Dataset

__all__ = ["FAULTS", "Explained", "answering", "failing", "made", "ranked", "scoring"]


@attrs.frozen(kw_only=True)
class Explained(Selector):
    """Columns by the largest share of a class, or of a numeric target, that each explains."""

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    takes_counts: ClassVar[bool] = True
    takes_missing: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    univariate: ClassVar[bool] = True
    natural_zero: ClassVar[bool] = True

    power: float = param(1.0, real(above=0), help="Exponent of the share.")

    def adjusts(self) -> bool:
        return True

    def top_only_cuts(self) -> bool:
        return True

    def cost(self, n: int, p: int) -> Cost:
        return Cost(seconds=1e-8 * n * p, formula="10⁻⁸·n·p")

    def weights(self, data: Dataset) -> np.ndarray:
        return np.ones(data.n_samples) if data.counts is None else data.counts.astype(float)

    def targets(self, data: Dataset) -> np.ndarray:
        """One column for each class, or the target."""
        if data.task == "regression":
            return data.y[:, None] / max(np.abs(data.y).max(), 1e-300)
        return (data.y[:, None] == np.arange(data.n_classes)) * 1.0

    def design(self, data: Dataset) -> np.ndarray:
        if data.covariates is None:
            return np.ones((data.n_samples, 1))
        return data.covariates.design()

    def column(self, data: Dataset, j: int) -> np.ndarray:
        """The column as one of size 1, or as one for each of its levels."""
        values = data.X[:, j]
        if data.categorical[j]:
            return (values[:, None] == np.unique(values[~np.isnan(values)])) * 1.0
        return between_0_and_2(values)[:, None]

    def known(self, data: Dataset, j: int) -> np.ndarray:
        return ~np.isnan(data.X[:, j])

    def share(self, data: Dataset, j: int) -> float:
        weights, known = self.weights(data), self.known(data, j)
        rows = known & (weights > 0)
        if rows.sum() < 3:
            return 0.0
        root = np.sqrt(weights[rows])[:, None]
        design, column = self.design(data)[rows] * root, self.column(data, j)[rows] * root
        targets = without(self.targets(data)[rows] * root, design)
        rest = without(column, design)
        left = (without(targets, rest) ** 2).sum(axis=0)
        there = (targets**2).sum(axis=0)
        sure = there > 1e-20
        return float(np.max(1.0 - left[sure] / there[sure], initial=0.0)) if sure.any() else 0.0

    def p_value(self, data: Dataset, j: int, share: float) -> float:
        free = self.weights(data)[self.known(data, j)].sum() - self.design(data).shape[1] - 1
        if data.categorical[j] or free < 1 or share >= 1:
            return float("nan") if share < 1 else 0.0
        classes = data.n_classes if data.task == "classification" else 1
        p = stats.f.sf(share / (1 - share) * free, 1, free)
        return float(min(1.0, p * (classes if classes > 2 else 1)))

    def order(self, data: Dataset, scores: np.ndarray) -> np.ndarray:
        return rank_by_score(scores)

    def many_kept(self, data: Dataset) -> int:
        return self.keep_count(data.n_features, 3)

    def scores(self, data: Dataset, upstream: Selection | None, run: Run) -> np.ndarray:
        shares = [max(0.0, self.share(data, j)) for j in range(data.n_features)]
        return np.where(np.array(shares) < 1e-12, 0.0, shares) ** self.power

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        scores = self.scores(data, upstream, run)
        shares = scores ** (1 / self.power)
        p = [self.p_value(data, j, share) for j, share in enumerate(shares)]
        kept = self.order(data, scores)[: self.many_kept(data)]
        return Selection(selected=kept, scores=scores, tables={"p_values": np.array(p)})


def between_0_and_2(values: np.ndarray) -> np.ndarray:
    """Values of any size between 0 and 2; 0 for equal ones."""
    low, high = np.nanmin(values), np.nanmax(values)
    size = max(abs(low), abs(high)) or 1.0
    # Half the width, since the width of very large values is infinite.
    half = high / size / 2 - low / size / 2
    if half == 0:
        return np.zeros(len(values))
    return (values / size - low / size) / half


def without(values: np.ndarray, design: np.ndarray) -> np.ndarray:
    """The columns of `values` without what `design` explains."""
    basis, sizes, _ = np.linalg.svd(design, full_matrices=False)
    basis = basis[:, sizes > 1e-9 * max(sizes.max(initial=0.0), 1e-150)]
    return values - basis @ (basis.T @ values)


def made(**body: Any) -> type[Explained]:
    """`Explained` with other parts."""
    body = {"__doc__": "Columns by what they explain.", **body}
    return attrs.frozen(kw_only=True)(type("Faulty", (Explained,), body))


def sound(name: str) -> Callable[..., Any]:
    return getattr(Explained, name)  # type: ignore[no-any-return]


Parts = dict[str, Any]


def answering(change: Callable[..., Any]) -> Parts:
    """Results that are `change(result, self, data, upstream, run)`."""

    def _select(self: Any, data: Dataset, upstream: Selection | None, run: Run) -> Any:
        result = Explained._select(self, data, upstream, run)
        return change(result, self, data, upstream, run)

    return {"_select": _select}


def failing(happens: Callable[[Dataset, Run], Any]) -> Parts:
    """A fault that happens beside a sound answer, or instead of one."""
    return answering(lambda result, self, data, up, run: [happens(data, run), result][1])


def scoring(change: Callable[..., Any]) -> Parts:
    """Scores that are `change(scores, self, data, upstream, run)`."""

    def scores(self: Any, data: Dataset, upstream: Selection | None, run: Run) -> Any:
        return change(Explained.scores(self, data, upstream, run), self, data, upstream, run)

    return {"scores": scores}


def ranked(change: Callable[..., Any]) -> Parts:
    """Scores of any sign that are `change(scores, self, data, upstream, run)`."""

    def select(result: Selection, self: Any, data: Dataset, upstream: Any, run: Run) -> Selection:
        scores = change(result.scores, self, data, upstream, run)
        kept = rank_by_score(scores)[: self.many_kept(data)]
        return Selection(selected=kept, scores=scores)

    return answering(select)


def _with(part: str, change: Callable[..., Any]) -> Parts:
    """A part of `Explained` that gives `change(what it gives, data)`."""
    return {part: lambda self, data, *a: change(sound(part)(self, data, *a), data)}


def _column(change: Callable[[Dataset, int], np.ndarray], **more: Any) -> Parts:
    """Another reading of a column, or the sound one where `change` gives None."""

    def column(self: Any, data: Dataset, j: int) -> np.ndarray:
        result = change(data, j)
        return Explained.column(self, data, j) if result is None else result[:, None]

    return {"column": column, **more}


def _everything(self: Any, data: Dataset, j: int) -> np.ndarray:
    return np.ones(data.n_samples, bool)


def _of_numbers(change: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Any]:
    return lambda data, j: None if data.categorical[j] else between_0_and_2(change(data.X[:, j]))


def _of_levels(change: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Any]:
    return lambda data, j: change(data.X[:, j]) if data.categorical[j] else None


def _targets(change: Callable[[np.ndarray, Dataset], np.ndarray], task: str) -> Parts:
    """Other targets where the label is of that task."""
    return _with("targets", lambda t, data: change(t, data) if data.task == task else t)


def _many(change: Callable[..., Any]) -> Parts:
    """A fast way through resamples: `change(self, data, upstream, run, b)` for resample b."""

    def select_many(self: Any, data: Dataset, counts: Any, upstream: Any, run: Run) -> Any:
        found = []
        for b, row in enumerate(counts):
            rows = np.flatnonzero(row)
            found.append(change(self, data.with_counts(row).take_rows(rows), upstream, run, b))
        return found

    return {"_select_many": select_many}


def _jitter(draw: Callable[[Dataset, Run], np.random.Generator]) -> Parts:
    """Scores that depend a little on drawn numbers, as those of a sampling method do."""
    return scoring(lambda s, self, data, up, run: s * (1 - 1e-6 * draw(data, run).random()))


def _permuted(self: Any, data: Dataset, j: int, share: float) -> float:
    """A p-value over labels that are permuted row by row, whatever rows belong together."""
    draw = np.random.Generator(np.random.PCG64(j))
    if data.task != "classification" or data.n_samples > 200:
        return Explained.p_value(self, data, j, share)
    beaten = sum(
        Explained.share(self, data.with_labels(draw.permutation(data.y)), j) >= share - 1e-12
        for _ in range(19)
    )
    return (1 + beaten) / 20


def _without_covariates(self: Any, data: Dataset, j: int, share: float) -> float:
    if data.covariates is not None:
        share = Explained.share(self, attrs.evolve(data, covariates=None), j)
    return Explained.p_value(self, data, j, share)


def _first_row_of_its_level(column: np.ndarray) -> np.ndarray:
    _, first, level = np.unique(column, return_index=True, return_inverse=True)
    return first[level] * 1.0


def _a_share_rounded_down(self: Any, data: Dataset) -> int:
    if isinstance(self.top, float):
        return max(1, int(self.top * data.n_features * 0.9))
    return Explained.many_kept(self, data)


_OF_COLUMNS: dict[bytes, np.ndarray] = {}


def _kept_without_the_label(scores: np.ndarray, self: Any, data: Dataset, *_: Any) -> np.ndarray:
    counts = b"" if data.counts is None else data.counts.tobytes()
    return _OF_COLUMNS.setdefault(data.X.tobytes() + counts, scores)


def _overwrite(data: Dataset, run: Run) -> None:
    X = data.matrix.view()
    base = X.base
    while base is not None and base.base is not None:
        base = base.base
    if isinstance(base, np.ndarray) and base.flags.writeable and base.shape == X.shape:
        base[0, 0] += 1


def _link(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("elsewhere")


def _count_down(data: Dataset, run: Run) -> None:
    run.progress(5, 10, "x")
    run.progress(3, 10, "x")


def _endless(data: Dataset, run: Run) -> None:
    # A step that is shortened until something changes.
    while (np.ptp(data.X, axis=0) == 0).any():
        time.sleep(0.01)


def _backend(data: Dataset, run: Run) -> None:
    import matplotlib

    matplotlib.use("svg")


def _by_chunks(scores: np.ndarray, self: Any, data: Dataset, up: Any, run: Run) -> np.ndarray:
    # Threads are used for large tables only, and sums are rounded by the number of their parts.
    parts = run.threads if data.n_samples > 1000 else 1
    sums = sum(part.sum(axis=0) for part in np.array_split(data.X, parts))
    return scores + 1e-3 * np.abs(sums)


_shared: dict[int, np.ndarray] = {}


def _in_one_buffer(result: Selection, self: Any, data: Dataset, *_: Any) -> Selection:
    buffer = _shared.setdefault(data.n_features, np.empty(data.n_features))
    buffer[:] = result.scores
    seen = buffer.view()
    seen.flags.writeable = False
    return attrs.evolve(result, tables={"shares": seen})


def _changed(**fields: Any) -> Parts:
    """Results with other fields, of which each is made from the result and the table."""
    return answering(
        lambda result, self, data, *_: attrs.evolve(
            result, **{name: make(result, data) for name, make in fields.items()}
        )
    )


@attrs.frozen
class Fault:
    """The parts that differ, what the check says of it, and the patience of the check."""

    parts: Parts
    says: str = ""
    seconds: float = 300


FAULTS: dict[tuple[str, str], Fault] = {
    # Roles of rows and columns.
    ("covariates_change_scores_of_methods_that_adjust", "covariates ignored"): Fault(
        _with("design", lambda design, data: design[:, :1]), "use data.covariates"
    ),
    ("covariates_change_scores_of_methods_that_adjust", "covariates forgotten in resamples"): Fault(
        _with("design", lambda design, data: design[:, : None if data.counts is None else 1]),
        "with counts of 1",
    ),
    ("how_covariates_are_given_does_not_matter", "covariates of other rows"): Fault(
        _with("design", lambda design, data: np.roll(design, 1, axis=0)), "shuffled"
    ),
    ("how_covariates_are_given_does_not_matter", "the first covariate only"): Fault(
        _with("design", lambda design, data: design[:, :2]), "in another order"
    ),
    ("how_covariates_are_given_does_not_matter", "covariates through the origin"): Fault(
        _with("design", lambda d, data: d if data.covariates is None else data.covariates.values),
        "with 64 added",
    ),
    ("p_values_hold_their_level_given_covariates", "p-values without the covariates"): Fault(
        {"p_value": _without_covariates}
    ),
    ("row_weights_count_as_copies_or_are_refused", "weights squared"): Fault(
        _with("weights", lambda weights, data: weights ** (2 if data.weight_name else 1))
    ),
    ("columns_always_kept_are_kept_or_refused", "a table with columns to keep fails"): Fault(
        _with("many_kept", lambda kept, data: kept if data.keep is None else 1 / 0)
    ),
    ("columns_always_kept_are_kept_or_refused", "a resample with columns to keep fails"): Fault(
        _with(
            "many_kept",
            lambda kept, data: kept if data.keep is None or data.counts is None else 1 / 0,
        )
    ),
    ("labels_are_permuted_in_whole_groups", "labels permuted row by row within groups"): Fault(
        {"p_value": _permuted}
    ),
    ("names_of_levels_do_not_matter", "levels as numbers"): Fault(_column(_of_levels(lambda x: x))),
    ("nominal_codes_do_not_order_rows", "levels by first appearance"): Fault(
        _column(_of_levels(_first_row_of_its_level))
    ),
    # The stage before.
    ("upstream_weights_matter_as_declared", "weights of the stage before"): Fault(
        scoring(
            lambda s, self, data, up, run: (
                s * (1 if up is None or up.weights is None else 1 + np.nan_to_num(up.weights))
            )
        ),
        "declare uses_upstream_weights",
    ),
    ("upstream_weights_matter_as_declared", "weights of rows of the stage before"): Fault(
        scoring(
            lambda s, self, data, up, run: (
                s * (1 if up is None or up.instance_weights is None else up.instance_weights[0])
            )
        ),
        "declare uses_upstream_weights",
    ),
    ("upstream_weights_matter_as_declared", "weights asked for that change nothing"): Fault(
        {"uses_upstream_weights": True}, "they change no score"
    ),
    ("only_columns_kept_upstream_are_seen", "upstream scores in the sum"): Fault(
        scoring(
            lambda s, self, data, up, run: s if up is None else s * (1 + np.nan_to_num(up.scores))
        )
    ),
    # The label.
    ("order_of_classes_does_not_matter", "class codes as numbers"): Fault(
        _targets(lambda t, data: data.y[:, None] * 1.0, "classification"), "three classes turned"
    ),
    ("order_of_classes_does_not_matter", "rows of the first class twice"): Fault(
        _with("weights", lambda w, data: w * (1 + (data.y == 0) * (data.task != "regression"))),
        "classes in reverse",
    ),
    ("the_label_does_not_matter_if_the_method_says_so", "a label used in silence"): Fault(
        {"uses_label": False}, "labels of other rows"
    ),
    ("every_class_counts", "classes one and two merged"): Fault(
        _targets(lambda t, data: np.column_stack([t[:, 0], t[:, 1:].sum(axis=1)]), "classification")
    ),
    ("unit_and_origin_of_the_target_do_not_matter", "a target cut to whole numbers"): Fault(
        _targets(lambda t, data: np.trunc(data.y)[:, None], "regression"), "another unit"
    ),
    ("unit_and_origin_of_the_target_do_not_matter", "a target above and below nought"): Fault(
        _targets(lambda t, data: (data.y > 0)[:, None] * 1.0, "regression"), "another origin"
    ),
    ("a_column_that_determines_the_target_comes_first", "a numeric target not looked at"): Fault(
        scoring(
            lambda s, self, data, *_: np.ptp(data.X, axis=0) if data.task == "regression" else s
        ),
        "column 4 is the target",
    ),
    ("a_column_that_separates_the_classes_comes_first", "worst first"): Fault(
        ranked(lambda s, *_: -s)
    ),
    ("a_column_that_separates_the_classes_comes_first", "nothing kept of numeric targets"): Fault(
        {"tasks": frozenset({"regression"}), "many_kept": lambda self, data: 0},
        "column 1 determines the target, but [] were kept",
    ),
    ("the_label_decides", "kept by the columns without the label"): Fault(
        scoring(_kept_without_the_label)
    ),
    # Missing values.
    ("missing_values_are_not_read_as_numbers", "missing read as nought"): Fault(
        _column(_of_numbers(np.nan_to_num), known=_everything), "with 64 added"
    ),
    ("missing_values_are_not_read_as_numbers", "missing as the largest"): Fault(
        _column(_of_numbers(lambda x: np.where(np.isnan(x), np.nanmax(x), x)), known=_everything),
        "with the sign changed",
    ),
    # p-values.
    ("p_values_hold_their_level_on_noise", "p-values halved"): Fault(
        _with("p_value", lambda p, data: p / 2), "(classification)"
    ),
    ("p_values_hold_their_level_on_noise", "p-values of numeric targets squared"): Fault(
        _with("p_value", lambda p, data: p ** (2 if data.task == "regression" else 1)),
        "(regression)",
    ),
    ("p_values_hold_their_level_on_noise", "p-values of the score, never small"): Fault(
        {"p_value": lambda self, data, j, share: float(np.exp(-10 * share))}, "they are no p-values"
    ),
    ("p_values_are_those_of_their_columns", "p-values turned over"): Fault(
        _with("p_value", lambda p, data: 1 - p)
    ),
    # Resamples.
    ("counts_equal_copies", "counts under a root"): Fault(
        _with("weights", lambda weights, data: weights**0.5)
    ),
    ("counts_equal_copies", "p-values of rows without their counts"): Fault(
        {
            "p_value": lambda self, data, j, share: sound("p_value")(
                self, data.with_counts(None), j, share
            )
        },
        "'p_values' of rows with counts",
    ),
    ("equal_counts_change_nothing", "counts in the sum"): Fault(
        scoring(lambda s, self, data, *_: s * (1 if data.counts is None else data.counts.sum()))
    ),
    ("counts_of_one_change_nothing", "counts at all"): Fault(
        ranked(lambda s, self, data, *_: s + (data.counts is not None))
    ),
    ("rows_with_count_zero_are_left_out", "the rows that were left out"): Fault(
        scoring(lambda s, self, data, *_: s * (1.0 if data.counts is None else 1.1))
    ),
    ("many_resamples_equal_one_by_one", "many resamples keep three"): Fault(
        _many(
            lambda self, data, up, run, b: attrs.evolve(self, top=3 + (b > 2))._select(
                data, up, run.child(b)
            )
        ),
        "resample 3 among many: selected differ",
    ),
    ("many_resamples_equal_one_by_one", "streams of another batch"): Fault(
        {
            "univariate": False,
            **_jitter(lambda data, run: run.generator()),
            **_many(
                lambda self, data, up, run, b: self._select(
                    data, up, attrs.evolve(run, first=0).child(b)
                )
            ),
        },
        "another batch",
    ),
    (
        "many_resamples_after_a_stage_equal_one_by_one",
        "many resamples forget the stage before",
    ): Fault(
        {
            "uses_upstream_weights": True,
            **scoring(
                lambda s, self, data, up, run: (
                    s if up is None or up.weights is None else s * up.weights
                )
            ),
            **_many(lambda self, data, up, run, b: self._select(data, None, run.child(b))),
        }
    ),
    # Repeatable results.
    ("equal_seeds_give_equal_bits", "numpy's global stream"): Fault(
        failing(lambda data, run: np.random.random()), "global random state was used"
    ),
    ("equal_seeds_give_equal_bits", "a generator without a seed"): Fault(
        _jitter(lambda data, run: np.random.default_rng()), "the second run"
    ),
    ("each_resample_has_a_stream_of_its_own", "one stream for all resamples"): Fault(
        {"univariate": False, **_jitter(lambda data, run: np.random.default_rng(run.entropy))}
    ),
    ("number_of_threads_changes_no_bit", "threads"): Fault(
        scoring(lambda s, self, data, up, run: s * (1 + 1e-12 * run.threads))
    ),
    ("number_of_threads_changes_no_bit_on_many_rows", "threads above a thousand rows"): Fault(
        ranked(_by_chunks)
    ),
    ("a_small_memory_limit_changes_nothing", "the bound on memory"): Fault(
        ranked(lambda s, self, data, up, run: s + (run.memory < 2**30) * np.arange(data.n_features))
    ),
    ("the_memory_limit_holds_on_many_rows", "all distances at once"): Fault(
        failing(lambda data, run: np.abs(data.X[:, None, :] - data.X[None, :, :]).sum())
    ),
    ("a_later_call_leaves_results_as_they_are", "a buffer shared by calls"): Fault(
        answering(_in_one_buffer)
    ),
    # Order, names and numbers.
    ("order_of_columns_does_not_matter", "the place of a column"): Fault(
        ranked(lambda s, self, data, *_: s + 0.1 * np.arange(data.n_features))
    ),
    ("order_of_rows_does_not_matter", "the first row"): Fault(
        ranked(lambda s, self, data, *_: s + abs(data.X[0]))
    ),
    ("names_do_not_matter", "the name of a column"): Fault(
        ranked(lambda s, self, data, *_: s + len(data.feature_names[0]) * 0.1)
    ),
    ("a_large_offset_changes_nothing", "single precision"): Fault(
        _column(_of_numbers(lambda x: x.astype(np.float32).astype(float)))
    ),
    ("scale_changes_nothing", "the unit of the column"): Fault(
        scoring(lambda s, self, data, *_: s * np.minimum(1, np.nanstd(data.X, axis=0)))
    ),
    ("a_univariate_score_needs_no_other_column", "compared with the other columns"): Fault(
        scoring(lambda s, *_: s / max(s.max(), 1e-300))
    ),
    ("a_natural_zero_is_the_lowest_score", "a score for a constant column"): Fault(
        scoring(lambda s, *_: s + 1e-3), "a constant column"
    ),
    ("a_natural_zero_is_the_lowest_score", "a score below a natural zero"): Fault(
        ranked(lambda s, *_: np.where(s < s.max() / 2, -s, s)), "a score is -"
    ),
    ("a_constant_column_comes_last", "a bonus for constants"): Fault(
        ranked(lambda s, self, data, *_: s + 9.0 * (np.ptp(data.X, axis=0) == 0)),
        "kept before informative ones",
    ),
    ("a_constant_column_comes_last", "an endless loop on a constant column"): Fault(
        failing(_endless), "did not finish within 0.5 s", seconds=0.5
    ),
    ("a_duplicated_column_scores_as_its_original", "a malus for duplicates"): Fault(
        ranked(
            lambda s, self, data, *_: (
                s - [np.equal(data.X[:, :j].T, c).all(axis=1).any() for j, c in enumerate(data.X.T)]
            )
        )
    ),
    # What is kept.
    ("top_is_honoured", "a share of columns rounded down"): Fault(
        {"many_kept": _a_share_rounded_down}, "top=0.5 of 6 kept 2"
    ),
    ("top_is_honoured", "never all columns"): Fault(
        _with("many_kept", lambda kept, data: max(1, min(data.n_features - 1, kept))),
        "top=6 of 6 kept 5",
    ),
    ("a_larger_top_only_adds", "in the order of the table"): Fault(
        {"order": lambda self, data, s: np.sort(rank_by_score(s)[: sound("many_kept")(self, data)])}
    ),
    ("results_that_top_only_cuts_are_beginnings", "scores over the sum of those kept"): Fault(
        {
            "univariate": False,
            **scoring(lambda s, self, *_: s / max(sum(sorted(s)[-(self.top or 3) :]), 1e-9)),
        }
    ),
    ("ties_keep_the_order_of_the_table", "ties by the names of columns"): Fault(
        {"order": lambda self, data, s: np.lexsort((data.feature_names, -s))}
    ),
    ("ties_keep_the_order_of_the_table", "ties by the values"): Fault(
        {"order": lambda self, data, s: np.lexsort((data.X.sum(axis=0), -s))}
    ),
    ("kept_columns_come_best_first", "best last"): Fault(
        _changed(selected=lambda r, data: r.selected[::-1])
    ),
    ("result_is_sound", "nothing kept"): Fault(
        _changed(selected=lambda r, data: []), "nothing was kept"
    ),
    ("result_is_sound", "kept without a score"): Fault(
        _changed(scores=lambda r, data: np.full(data.n_features, np.nan)), "have no score"
    ),
    ("result_is_sound", "a score that is not finite"): Fault(
        ranked(lambda s, *_: np.where(s > 0, np.inf, 0.0)), "infinite"
    ),
    ("result_is_sound", "no selection at all"): Fault(answering(lambda *_: 5), "returned int"),
    ("result_can_be_stored_and_read", "complex numbers in a table"): Fault(
        _changed(tables=lambda r, data: {"z": np.array([1j])})
    ),
    ("what_the_entry_promises_is_given", "weights that the entry does not name"): Fault(
        _changed(weights=lambda r, data: np.ones(data.n_features))
    ),
    ("arrays_of_the_model_are_declared", "a model that says nothing of its columns"): Fault(
        _changed(model=lambda r, data: {"w": r.scores})
    ),
    (
        "declared_axes_of_the_model_follow_the_columns",
        "axes of a model that are not columns",
    ): Fault(
        _changed(
            model=lambda r, data: {"first": data.X[:1], "place": np.arange(data.n_features)},
            model_columns=lambda r, data: {"first": 1, "place": 0},
        )
    ),
    # What happens besides.
    ("nothing_is_printed_and_progress_only_grows", "stdout"): Fault(
        failing(lambda data, run: print("hello")), "stdout is for results"
    ),
    ("nothing_is_printed_and_progress_only_grows", "progress that goes back"): Fault(
        failing(_count_down), "progress went"
    ),
    ("ties_and_contradictory_rows_are_handled", "warnings of numpy"): Fault(
        failing(lambda data, run: warnings.warn("overflow", RuntimeWarning, stacklevel=1))
    ),
    ("small_and_constant_tables_are_handled", "a ValueError on flat tables"): Fault(
        failing(lambda data, run: None if np.ptp(data.X) else int("flat"))
    ),
    ("inputs_are_not_modified", "the user's own array"): Fault(failing(_overwrite)),
    ("no_file_is_written", "a file of its own"): Fault(
        failing(lambda data, run: Path("scores.txt").write_text("1")), "scores.txt"
    ),
    ("no_file_is_written", "a folder of its own"): Fault(
        failing(lambda data, run: os.makedirs("results", exist_ok=True)), "results"
    ),
    ("no_file_is_written", "a link of its own"): Fault(
        failing(lambda data, run: _link(Path("link"))), "link"
    ),
    **{
        ("nothing_global_is_changed", says): Fault(failing(happens), says)
        for says, happens in {
            "numpy's error handling": lambda data, run: np.seterr(all="ignore"),
            "numpy's random state": lambda data, run: np.random.seed(0),
            "Python's random state": lambda data, run: random.seed(0),
            "numpy's print options": lambda data, run: np.set_printoptions(precision=3),
            "matplotlib's settings or backend": _backend,
            "the warning filters": lambda data, run: warnings.simplefilter("ignore"),
            "environment variables": lambda data, run: os.environ.update(OMP_NUM_THREADS="1"),
            "the working directory": lambda data, run: os.chdir(Path.cwd().parent),
        }.items()
    },
    # Declarations.
    ("the_declared_cost_is_near_the_time_taken", "a cost far too high"): Fault(
        {"cost": lambda self, n, p: Cost(seconds=1e6, formula="10⁶ s")}, "cost() says 1e+06 s"
    ),
    ("the_declared_cost_is_near_the_time_taken", "a cost below zero"): Fault(
        {"cost": lambda self, n, p: Cost(seconds=-1.0, formula="−1 s")}, "cost() says -1 s"
    ),
}
"""The check and what it has to find, to how that is done."""
