"""A sound selector that makes every promise, and sixty-seven faulty ones that break one in silence.

`broken_selectors` has a fault for each check; a fault here leaves the result well-formed, and makes
some promise of the method, its entry or the core untrue.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np
from scipy import stats

from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import param, real
from fsframe.table.dataset import Dataset

__all__ = ["FAULTS", "SAID", "Explained", "made"]


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


def _scores(change: Callable[..., Any]) -> dict[str, Any]:
    """Scores that are `change(scores, self, data, upstream, run)`."""

    def scores(self: Any, data: Dataset, upstream: Selection | None, run: Run) -> Any:
        return change(Explained.scores(self, data, upstream, run), self, data, upstream, run)

    return {"scores": scores}


def _p(change: Callable[[float], float]) -> dict[str, Any]:
    return {"p_value": lambda self, *a: change(sound("p_value")(self, *a))}


def _weights(change: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
    return {"weights": lambda self, data: change(sound("weights")(self, data))}


def _column(change: Callable[[Dataset, int], np.ndarray], **more: Any) -> dict[str, Any]:
    """Another reading of a column, or the sound one where `change` gives None."""

    def column(self: Any, data: Dataset, j: int) -> np.ndarray:
        found = change(data, j)
        return Explained.column(self, data, j) if found is None else found[:, None]

    return {"column": column, **more}


def _everything(self: Any, data: Dataset, j: int) -> np.ndarray:
    return np.ones(data.n_samples, bool)


def _of_numbers(change: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Any]:
    return lambda data, j: None if data.categorical[j] else between_0_and_2(change(data.X[:, j]))


def _of_levels(change: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Any]:
    return lambda data, j: change(data.X[:, j]) if data.categorical[j] else None


def _targets(change: Callable[[np.ndarray, Dataset], np.ndarray]) -> dict[str, Any]:
    return {"targets": lambda self, data: change(sound("targets")(self, data), data)}


def _naive_share(self: Any, data: Dataset, j: int) -> float:
    """The variance as the mean of squares less the square of the mean."""
    if data.categorical[j] or data.covariates is not None or np.isnan(data.X[:, j]).any():
        return Explained.share(self, data, j)
    w, x = self.weights(data), data.X[:, j] / (np.abs(data.X[:, j]).max() or 1.0)
    if np.ptp(x[w > 0]) <= 1e-13:
        return 0.0
    w = w / w.sum()
    own = w @ x**2 - (w @ x) ** 2
    shares = []
    for t in self.targets(data).T:
        its = w @ t**2 - (w @ t) ** 2
        if own > 0 and its > 1e-14:
            shares.append(min(1.0, (w @ (x * t) - (w @ x) * (w @ t)) ** 2 / own / its))
    return float(max(shares, default=0.0))


def _many(change: Callable[..., Any]) -> dict[str, Any]:
    """A fast way through resamples: `change(self, data, upstream, run, b)` for resample b."""

    def select_many(self: Any, data: Dataset, counts: Any, upstream: Any, run: Run) -> Any:
        found = []
        for b, row in enumerate(counts):
            rows = np.flatnonzero(row)
            found.append(change(self, data.with_counts(row).take_rows(rows), upstream, run, b))
        return found

    return {"_select_many": select_many}


_CALLS = itertools.count()
_CACHE: dict[Any, np.ndarray] = {}


def _cached(key: Callable[..., Any]) -> dict[str, Any]:
    return _scores(
        lambda scores, self, data, upstream, run: _CACHE.setdefault(
            (key(data), data.n_features), scores
        )
    )


def _jitter(draw: Callable[[Dataset, Run], np.random.Generator]) -> dict[str, Any]:
    """Scores that depend a little on drawn numbers, as those of a sampling method do."""
    return {
        **_scores(lambda s, self, data, up, run: s * (1 - 1e-6 * draw(data, run).random())),
    }


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


def _kept(change: Callable[..., Any]) -> dict[str, Any]:
    return {"many_kept": lambda self, data: change(self, data)}


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    # Roles of rows and columns.
    "covariates ignored": (
        {"design": lambda self, data: np.ones((data.n_samples, 1))},
        "covariates_change_scores_of_methods_that_adjust",
    ),
    "covariates forgotten in resamples": (
        {
            "design": lambda self, data: sound("design")(self, data)[
                :, : None if data.counts is None else 1
            ]
        },
        "covariates_change_scores_of_methods_that_adjust",
    ),
    "covariates of other rows": (
        {"design": lambda self, data: np.roll(sound("design")(self, data), 1, axis=0)},
        "how_covariates_are_given_does_not_matter",
    ),
    "the first covariate only": (
        {"design": lambda self, data: sound("design")(self, data)[:, :2]},
        "how_covariates_are_given_does_not_matter",
    ),
    "covariates through the origin": (
        {
            "design": lambda self, data: sound("design")(self, data)[
                :, 0 if data.covariates is None else 1 :
            ]
        },
        "p_values_hold_their_level_given_covariates",
    ),
    "p-values without the covariates": (
        {
            "p_value": lambda self, data, j, share: sound("p_value")(
                self,
                data,
                j,
                share
                if data.covariates is None
                else Explained.share(self, attrs.evolve(data, covariates=None), j),
            )
        },
        "p_values_hold_their_level_given_covariates",
    ),
    "one covariate of a level only": (
        {"design": lambda self, data: (sound("design")(self, data)[:, -1:] > 1e9) + 1.0},
        "covariates_change_scores_of_methods_that_adjust",
    ),
    "weights squared": (
        {
            "weights": lambda self, data: sound("weights")(self, data)
            ** (2 if data.weight_name else 1)
        },
        "row_weights_count_as_copies_or_are_refused",
    ),
    "weights as presence": (_weights(lambda w: (w > 0) * 1.0), "counts_equal_copies"),
    "a table with columns to keep fails": (
        _kept(lambda self, data: sound("many_kept")(self, data) if data.keep is None else 1 / 0),
        "columns_always_kept_are_kept_or_refused",
    ),
    "labels permuted row by row within groups": (
        {"p_value": _permuted},
        "labels_are_permuted_in_whole_groups",
    ),
    "levels as numbers": (_column(_of_levels(lambda x: x)), "names_of_levels_do_not_matter"),
    "levels by first appearance": (
        _column(
            _of_levels(
                lambda x: np.unique(x, return_index=True)[1][np.unique(x, return_inverse=True)[1]]
                * 1.0
            )
        ),
        "nominal_codes_do_not_order_rows",
    ),
    "levels in the order of their codes": (
        _column(_of_levels(lambda x: np.unique(x, return_inverse=True)[1] * 1.0)),
        "names_of_levels_do_not_matter",
    ),
    "weights of the stage before": (
        _scores(
            lambda s, self, data, up, run: s
            * (1 if up is None or up.weights is None else 1 + np.nan_to_num(up.weights))
        ),
        "upstream_weights_matter_as_declared",
    ),
    # The label.
    "class codes as numbers": (
        _targets(lambda t, data: data.y[:, None] * 1.0 if data.task != "regression" else t),
        "order_of_classes_does_not_matter",
    ),
    "the last class merged": (
        _targets(
            lambda t, data: t[:, :1] if data.task != "regression" else t
        ),
        "order_of_classes_does_not_matter",
    ),
    "classes one and two merged": (
        _targets(
            lambda t, data: np.column_stack([t[:, 0], t[:, 1:].sum(axis=1)])
            if data.task != "regression"
            else t
        ),
        "every_class_counts",
    ),
    "the largest class only": (
        _targets(
            lambda t, data: t[:, [np.argmax(np.bincount(data.y))]]
            if data.task != "regression"
            else t
        ),
        "order_of_classes_does_not_matter",
    ),
    "a target cut to whole numbers": (
        _targets(lambda t, data: np.trunc(data.y)[:, None] if data.task == "regression" else t),
        "unit_and_origin_of_the_target_do_not_matter",
    ),
    "a target above and below nought": (
        _targets(lambda t, data: (data.y > 0)[:, None] * 1.0 if data.task == "regression" else t),
        "unit_and_origin_of_the_target_do_not_matter",
    ),
    "a numeric target not looked at": (
        _scores(
            lambda s, self, data, *a: np.ptp(data.X, axis=0) if data.task == "regression" else s
        ),
        "a_column_that_determines_the_target_comes_first",
    ),
    "rows of the first class twice": (
        {
            "weights": lambda self, data: sound("weights")(self, data)
            * (1 + (data.y == 0) * (data.task == "classification"))
        },
        "order_of_classes_does_not_matter",
    ),
    # Missing values.
    "missing read as nought": (
        _column(_of_numbers(np.nan_to_num), known=_everything),
        "missing_values_are_not_read_as_numbers",
    ),
    "missing as the largest": (
        _column(
            _of_numbers(lambda x: np.where(np.isnan(x), np.nanmax(x), x)), known=_everything
        ),
        "missing_values_are_not_read_as_numbers",
    ),
    "missing as minus one": (
        _column(_of_numbers(lambda x: np.nan_to_num(x, nan=-1.0)), known=_everything),
        "missing_values_are_not_read_as_numbers",
    ),
    "missing as the smallest": (
        _column(
            _of_numbers(lambda x: np.where(np.isnan(x), np.nanmin(x), x)), known=_everything
        ),
        "missing_values_are_not_read_as_numbers",
    ),
    # p-values.
    "p-values above one": (_p(lambda p: 1.0 + p), "result_is_sound"),
    "p-values below zero": (_p(lambda p: p - 0.5), "result_is_sound"),
    "p-values halved": (_p(lambda p: p / 2), "p_values_hold_their_level_on_noise"),
    "p-values of rows without their counts": (
        {
            "p_value": lambda self, data, j, share: sound("p_value")(
                self, data.with_counts(None), j, share
            )
        },
        "counts_equal_copies",
    ),
    "p-values squared": (_p(lambda p: p**2), "p_values_hold_their_level_on_noise"),
    "p-values of the score": (
        {"p_value": lambda self, data, j, share: float(np.exp(-100 * share))},
        "p_values_hold_their_level_on_noise",
    ),
    "p-values of numeric targets squared": (
        {
            "p_value": lambda self, data, j, share: sound("p_value")(self, data, j, share)
            ** (2 if data.task == "regression" else 1)
        },
        "p_values_hold_their_level_on_noise",
    ),
    "p-values of the score, never small": (
        {"p_value": lambda self, data, j, share: float(np.exp(-10 * share))},
        "p_values_hold_their_level_on_noise",
    ),
    "p-values turned over": (_p(lambda p: 1 - p), "p_values_are_those_of_their_columns"),
    "p-values of other columns": (
        {
            "p_value": lambda self, data, j, share: sound("p_value")(
                self, data, j, Explained.share(self, data, (j + 1) % data.n_features)
            )
        },
        "p_values_are_those_of_their_columns",
    ),
    "p-values of copied rows": (
        {
            "p_value": lambda self, data, j, share: float(
                stats.f.sf(share / (1 - share + 1e-12) * 10 * data.n_samples, 1, 900)
            )
        },
        "p_values_hold_their_level_on_noise",
    ),
    # Resamples.
    "counts under a root": (_weights(np.sqrt), "counts_equal_copies"),
    "a copy more of each row": (_weights(lambda w: w + 1.0), "counts_equal_copies"),
    "many resamples as the first": (
        _many(lambda self, data, up, run, b: self._select(data, up, run.child(0))
              if b == 0 else self._select(data.with_counts(None), up, run.child(0))),
        "many_resamples_equal_one_by_one",
    ),
    "many resamples in single precision": (
        _many(lambda self, data, up, run, b: attrs.evolve(
            found := self._select(data, up, run.child(b)),
            scores=found.scores.astype(np.float32).astype(float))),
        "many_resamples_equal_one_by_one",
    ),
    "many resamples keep three": (
        _many(lambda self, data, up, run, b: attrs.evolve(
            self, top=3 + (b > 2))._select(data, up, run.child(b))),
        "many_resamples_equal_one_by_one",
    ),
    # Repeatable results.
    "a generator without a seed": (
        _jitter(lambda data, run: np.random.default_rng()),
        "equal_seeds_give_equal_bits",
    ),
    "seeded by the number of the call": (
        _jitter(lambda data, run: np.random.default_rng(next(_CALLS))),
        "equal_seeds_give_equal_bits",
    ),
    "seeded by the clock": (
        _jitter(lambda data, run: np.random.default_rng(time.perf_counter_ns())),
        "equal_seeds_give_equal_bits",
    ),
    "one stream for all resamples": (
        {
            "univariate": False,
            **_jitter(lambda data, run: np.random.default_rng(run.entropy)),
        },
        "each_resample_has_a_stream_of_its_own",
    ),
    "kept by the shape of the table": (
        _cached(lambda data: data.X.shape),
        "order_of_columns_does_not_matter",
    ),
    "kept by the table without counts": (
        _cached(lambda data: data.X.tobytes() + data.y.tobytes()),
        "covariates_change_scores_of_methods_that_adjust",
    ),
    "kept by the columns without the label": (
        _cached(lambda data: data.X.tobytes() + self_counts(data)),
        "the_label_decides",
    ),
    "by the names of columns": (
        {
            "order": lambda self, data, s: np.lexsort(
                ([hash(name) for name in data.feature_names], -s)
            )
        },
        "ties_keep_the_order_of_the_table",
    ),
    # Numbers.
    "single precision": (
        _column(_of_numbers(lambda x: x.astype(np.float32).astype(float))),
        "a_large_offset_changes_nothing",
    ),
    "squares of large values": ({"share": _naive_share}, "a_large_offset_changes_nothing"),
    "the unit of the column": (
        _scores(lambda s, self, data, *a: s * np.minimum(1, np.nanstd(data.X, axis=0))),
        "scale_changes_nothing",
    ),
    "compared with the other columns": (
        _scores(lambda s, *a: s / max(s.max(), 1e-300)),
        "a_univariate_score_needs_no_other_column",
    ),
    "centred scores with a natural zero": (
        {"univariate": False, **_scores(lambda s, *a: s - s.mean())},
        "a_natural_zero_is_the_lowest_score",
    ),
    "a score for a constant column": (
        _scores(lambda s, *a: s + 1e-3),
        "a_natural_zero_is_the_lowest_score",
    ),
    "scores over the sum of those kept": (
        {
            "univariate": False,
            **_scores(lambda s, self, *a: s / max(sum(sorted(s)[-(self.top or 3) :]), 1e-9)),
        },
        "results_that_top_only_cuts_are_beginnings",
    ),
    # What is kept.
    "a share of columns rounded down": (
        _kept(
            lambda self, data: max(1, int(self.top * data.n_features * 0.9))
            if isinstance(self.top, float)
            else sound("many_kept")(self, data)
        ),
        "top_is_honoured",
    ),
    "never all columns": (
        _kept(lambda self, data: max(1, min(data.n_features - 1, self.keep_count(99, 3)))),
        "top_is_honoured",
    ),
    "in the order of the table": (
        {
            "order": lambda self, data, s: np.sort(
                rank_by_score(s)[: sound("many_kept")(self, data)]
            )
        },
        "a_larger_top_only_adds",
    ),
    "ties from the end": (
        {"order": lambda self, data, s: np.argsort(s, kind="stable")[::-1]},
        "ties_keep_the_order_of_the_table",
    ),
    "ties by the values": (
        {"order": lambda self, data, s: np.lexsort((data.X.sum(axis=0), -s))},
        "ties_keep_the_order_of_the_table",
    ),
    # Declarations.
    "a cost far too high": (
        {"cost": lambda self, n, p: Cost(seconds=1e6, formula="10⁶ s")},
        "the_declared_cost_is_near_the_time_taken",
    ),
    "a cost below zero": (
        {"cost": lambda self, n, p: Cost(seconds=-1.0, formula="−1 s")},
        "the_declared_cost_is_near_the_time_taken",
    ),
    "a cost in hours": (
        {"cost": lambda self, n, p: Cost(seconds=n * p / 3.6, formula="n·p")},
        "the_declared_cost_is_near_the_time_taken",
    ),
    "upstream scores in the sum": (
        _scores(
            lambda s, self, data, up, run: s if up is None else s * (1 + np.nan_to_num(up.scores))
        ),
        "only_columns_kept_upstream_are_seen",
    ),
}  # fmt: skip
"""What is wrong, to the parts that differ and the check that finds it."""

SAID = {
    "a numeric target not looked at": "the target is column 4",
    "a cost far too high": "cost() says 1e+06 s",
    "covariates ignored": "use data.covariates",
    "missing read as nought": "with 64 added",
}
"""Of some faults, what the check has to say."""


def self_counts(data: Dataset) -> bytes:
    return b"" if data.counts is None else data.counts.tobytes()
