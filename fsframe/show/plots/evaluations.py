"""Plots of evaluations, comparisons and resampling: accuracy by size, ROC, calibration, Pareto
front, ranks; test statistics, selections by resample, stability, intersections.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.evaluation.comparison import study_of_runs
from fsframe.evaluation.comparison_tests import critical_difference as cd_of
from fsframe.evaluation.comparison_tests import pareto_front
from fsframe.evaluation.measures import Brier, are_probabilities
from fsframe.evaluation.recorded import RecordedEvaluation, RecordedStability, recorded_protocol
from fsframe.evaluation.summary import Measure
from fsframe.registry import stability_metrics
from fsframe.show.plots.canvas import (
    BLUE,
    COLOURS,
    DASHES,
    GREY,
    VERMILLION,
    axes_for,
    drawable,
    label_axis,
    lacks,
    legend_above,
    legend_beside,
    look,
    say_left_out,
    short,
    spread,
    square_of_shares,
    without_frame,
)
from fsframe.storage import RunRecord
from fsframe.storage.checked_tables import (
    BootstrapTables,
    FoldTables,
    bootstrap_tables,
)
from fsframe.table.side_columns import LABELS
from fsframe.text import feature_labels, printable, some_of

_BINS = 10
_CURVES = 8
_SIZES = 401
"""Sizes that a curve of stability shows at most: eight times fifty steps, so that every fiftieth is
one of nine marks."""


def evaluation_of(record: RunRecord) -> RecordedEvaluation:
    """The evaluation in a run; RequestError for a run of another kind."""
    recorded = recorded_protocol(record)
    if not isinstance(recorded, RecordedEvaluation):
        raise lacks(record, "cross-validation", "draw a run of `fsframe evaluate` or `compare -o`")
    return recorded


def chosen_measures(evaluations: Sequence[RecordedEvaluation], metric: str | None) -> list[Measure]:
    """The measure `metric` of every run, by default the leading measure that they share."""
    name = _leading(evaluations) if metric is None else metric
    measures = [each.evaluation.measures.get(name) for each in evaluations]
    known = [measure for measure in measures if measure is not None]
    if len(known) < len(measures):
        some = ", ".join(evaluations[measures.index(None)].evaluation.measures)
        raise RequestError(f"not all of the runs were measured by {name!r}; one has {some}")
    return known


def axis_name(name: str) -> str:
    """The name of a measure on an axis."""
    return "R²" if name == "r2" else printable(name)


def _leading(evaluations: Sequence[RecordedEvaluation]) -> str:
    """The leading measure of the runs, if it is the same for all."""
    names = {each.evaluation.leading.name for each in evaluations}
    if len(names) > 1:
        raise RequestError(
            f"the runs have different leading measures ({', '.join(sorted(names))}); draw those "
            "with the same one together"
        )
    return names.pop()


def _folds(record: RunRecord) -> FoldTables:
    tables = evaluation_of(record).tables
    if tables.task != "classification":
        what = f"classes, but {LABELS[tables.task]}"
        raise lacks(record, what, "draw `sizes` or `pareto` instead")
    return tables


def accuracy_by_size(record: RunRecord, ax: Any = None) -> Any:
    """Accuracy with its corrected standard error, and stability, by number of features.

    The dotted line marks the smallest number within one standard error of the best.

    Parameters
    ----------
    record : RunRecord
        An evaluation of a chain that ranks features.
    ax : matplotlib Axes, optional

    Raises
    ------
    RequestError
        If the run is not an evaluation, or has no curve.
    """
    recorded = evaluation_of(record)
    evaluation, quality = recorded.evaluation, axis_name(_leading([recorded]))
    if not evaluation.curve:
        raise lacks(record, "accuracy by number of features", "evaluate with --curve auto")
    sizes = [point.size for point in evaluation.curve]
    ticks = [sizes[k] for k in spread(len(sizes), 20)]
    with axes_for(ax, 6.2, 3.6) as (panel,):
        means = np.array([point.accuracy for point in evaluation.curve])
        errors = np.nan_to_num([point.standard_error for point in evaluation.curve])
        panel.fill_between(sizes, means - errors, means + errors, color=BLUE, alpha=0.15, lw=0)
        panel.plot(sizes, means, color=BLUE, marker="o", ms=4, label=f"{quality} ± standard error")
        stability = [point.stability for point in evaluation.curve]
        style = {"color": VERMILLION, "marker": "s", "ms": 4, "ls": "--"}
        panel.plot(sizes, stability, **style, label="stability φ (chance 0)")
        plain = evaluation.baseline
        panel.axhline(plain.mean, color=GREY, ls="-.", lw=1.0, label=plain.name)
        if evaluation.all_features is not None:
            panel.axhline(evaluation.all_features.mean, color="black", lw=0.8, label="all features")
        if evaluation.one_standard_error is not None:
            panel.axvline(evaluation.one_standard_error, color=GREY, ls=":")
        panel.set_xscale("log", base=2)
        panel.set_xticks(ticks, [str(size) for size in ticks])
        panel.set_xticks([], minor=True)
        panel.set_xlabel("features used")
        legend_beside(panel)
        return panel.figure


def roc(records: Sequence[RunRecord], ax: Any = None) -> Any:
    """ROC curve on held-out rows: true against false positive rate over all thresholds.

    With two classes there is one line per run, the second class being positive; with more classes,
    one line per class against the others, for a single run. A line is the mean over repetitions.

    Parameters
    ----------
    records : sequence of RunRecord
        Evaluations.
    ax : matplotlib Axes, optional

    Raises
    ------
    RequestError
        If a run is not an evaluation, or several runs have more than two classes.
    """
    curves = list(_roc_curves(records))
    with axes_for(ax, 4.8, 4.4) as (panel,):
        square_of_shares(panel, "chance", "false positive rate", "true positive rate")
        grid = np.linspace(0, 1, 201)
        for number, (label, area, lines) in enumerate(curves[:_CURVES]):
            mean = np.mean([np.interp(grid, *line) for line in lines], axis=0)
            style = {"color": COLOURS[number], "ls": DASHES[number], "lw": 1.6}
            # From the origin: an interpolated mean would begin above it.
            panel.plot([0, *grid], [0, *mean], **style, label=f"{label}: {area:.3f}")
        say_left_out(panel, len(curves) - _CURVES)
        panel.legend(loc="lower right", title="area under the curve", fontsize="small")
        return panel.figure


Line = tuple[NDArray[np.float64], NDArray[np.float64]]


def _roc_curves(records: Sequence[RunRecord]) -> Iterator[tuple[str, float, list[Line]]]:
    for record in records:
        tables = _folds(record)
        n_classes = tables.class_scores.shape[2]
        if n_classes > 2 and len(records) > 1:
            raise RequestError("with more than two classes, draw the ROC of one run at a time")
        for code in range(1, 2) if n_classes == 2 else range(n_classes):
            lines, areas = [], []
            for repeat, fold in enumerate(tables.fold):
                rows = np.flatnonzero(fold >= 0)
                scores = tables.class_scores[repeat, rows, code]
                if n_classes == 2:
                    # A file that was changed may hold infinite scores, which cannot be drawn.
                    with np.errstate(invalid="ignore"):
                        scores = scores - tables.class_scores[repeat, rows, 0]
                truth = tables.truth[rows] == code
                if not drawable(scores).all() or truth.all() or not truth.any():
                    continue
                line = _roc_line(truth, scores)
                lines.append(line)
                areas.append(float(np.trapezoid(line[1], line[0])))
            if not lines:
                how = "evaluate with a classifier that gives them"
                raise lacks(record, "scores of classes", how)
            base = printable(evaluation_of(record).base, longest=36)
            name = base if n_classes == 2 else short(record.class_names[code])
            yield short(name, 40), float(np.mean(areas)), lines


def _roc_line(truth: NDArray[np.bool_], scores: NDArray[np.float64]) -> Line:
    """False and true positive rates from the largest score down, ties together."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    hits, misses = np.cumsum(truth[order])[ends], np.cumsum(~truth[order])[ends]
    return np.append(0.0, misses / misses[-1]), np.append(0.0, hits / hits[-1])


def calibration(record: RunRecord, ax: Any = None) -> Any:
    """Calibration: observed frequency of the second class by its predicted probability.

    Predictions of all repetitions are in ten bins of equal size; a perfect classifier lies on the
    diagonal. The histogram below shows the number of predictions by probability. With more than two
    classes there is a line for each, at most eight.

    Parameters
    ----------
    record : RunRecord
        An evaluation.
    ax : matplotlib Axes, optional

    Raises
    ------
    RequestError
        If the run is not an evaluation, its target is numeric, or its scores are not probabilities.
    """
    tables = _folds(record)
    tested = tables.fold >= 0
    given = tables.class_scores[tested]
    if not are_probabilities(given):
        how = "evaluate with a classifier that gives them, such as logistic"
        raise lacks(record, "probabilities", how)
    truth = np.broadcast_to(tables.truth, tables.fold.shape)[tested]
    classes = given.shape[1]
    codes = [1] if classes == 2 else list(range(min(classes, _CURVES)))
    whose = short(record.class_names[1]) if classes == 2 else "the class"
    with axes_for(ax, 4.8, 4.4) as (panel,):
        square_of_shares(panel, "perfect", f"probability given to {whose}", "share that came true")
        for number, code in enumerate(codes):
            probability, share = _reliability(given[:, code], truth == code)
            label = "bins" if classes == 2 else short(record.class_names[code])
            panel.plot(probability, share, **look(number), ms=5, label=label)
        say_left_out(panel, classes - _CURVES)
        count, borders = np.histogram(given[:, codes], bins=20, range=(0, 1))
        height = 0.12 * count / count.max()
        style = {"align": "edge", "color": GREY, "alpha": 0.5}
        panel.bar(borders[:-1], height, np.diff(borders), **style, label="predictions")
        panel.set_title(f"Brier score {Brier.of(truth, given):.3f}", fontsize="medium", loc="left")
        panel.legend(loc="upper left")
        return panel.figure


def _reliability(
    p: NDArray[np.float64], true: NDArray[np.bool_]
) -> tuple[list[float], list[float]]:
    """Mean predicted probability and observed frequency, in bins of equally many predictions.

    If there are few distinct probabilities, each has its own bin.
    """
    values = np.unique(p)
    if values.size <= _BINS:
        return values.tolist(), [float(true[p == value].mean()) for value in values]
    edges = np.unique(np.quantile(p, np.linspace(0, 1, _BINS + 1)))
    place = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, max(0, edges.size - 2))
    bins = [np.flatnonzero(place == k) for k in np.unique(place)]
    return [float(p[rows].mean()) for rows in bins], [float(true[rows].mean()) for rows in bins]


def accuracy_against_stability(
    records: Sequence[RunRecord], ax: Any = None, metric: str | None = None
) -> Any:
    """Accuracy against stability of several chains on one table, with their Pareto front.

    The line joins the chains for which no other is both more accurate and more stable. Bars show
    the corrected standard error of the accuracy and the 95 % interval of φ. The axis of a loss is
    inverted.

    Parameters
    ----------
    records : sequence of RunRecord
        At least two evaluations, of one table.
    ax : matplotlib Axes, optional
    metric : str, optional
        Measure to use instead of accuracy (R², c-index).

    Raises
    ------
    RequestError
        If there are fewer, or they are of several tables.
    """
    if len(records) < 2:
        raise RequestError("chains are compared: give at least two runs")
    if len({record.data.sha256 for record in records}) > 1:
        raise RequestError("the runs are of different tables; draw those of one table")
    evaluations = [evaluation_of(record) for record in records]
    measures = chosen_measures(evaluations, metric)
    quality, sign = axis_name(measures[0].name), 1 if measures[0].larger_is_better else -1
    points = [
        (e.evaluation.stability.value, m.mean) for e, m in zip(evaluations, measures, strict=True)
    ]
    known = [k for k, point in enumerate(points) if drawable(np.array(point)).all()]
    if len(known) < 2:
        raise RequestError(f"fewer than two of the runs have both {quality} and a stability")
    unbeaten = pareto_front(*np.array([(points[k][0], sign * points[k][1]) for k in known]).T)
    front = sorted(np.array(known)[unbeaten].tolist(), key=lambda k: points[k])
    labels = [short(evaluations[k].base, 44) for k in known]
    columns = 1 if len(known) <= 4 else 2 if max(map(len, labels)) > 26 else 3
    with axes_for(ax, 6.6, 3.9 + 0.17 * -(-len(known) // columns)) as (panel,):
        panel.plot(*np.array([points[k] for k in front]).T, color="black", lw=1.0, ls="--")
        for number, k in enumerate(known):
            x, y = points[k]
            measure, stability = measures[k], evaluations[k].evaluation.stability
            style = look(number) | {"ls": "none"}
            error = measure.standard_error if drawable(measure.standard_error) else 0.0
            low, high = stability.interval or (x, x)
            sides = [[max(0.0, x - low)], [max(0.0, high - x)]]
            face = style["color"] if k in front else "white"
            bars = {"yerr": error, "xerr": sides, "elinewidth": 0.9}
            panel.errorbar(x, y, **bars, **style, mfc=face, ms=7, label=labels[number])
        # With equal stabilities the axis would extend beyond 1.
        panel.set_xlim(right=min(panel.get_xlim()[1], 1.03))
        panel.set(xlabel="stability φ of the kept features", ylabel=f"{quality} on held-out rows")
        if sign < 0:
            panel.invert_yaxis()
        title = "filled: on the Pareto front"
        if missing := [short(e.base, 44) for k, e in enumerate(evaluations) if k not in known]:
            title += f"\nwithout {quality} or φ, not drawn: {some_of(missing, 2)}"
        legend_above(panel, columns, title=title, fontsize="small")
        return panel.figure


def critical_difference(
    records: Sequence[RunRecord], ax: Any = None, metric: str | None = None
) -> Any:
    """Mean ranks of several chains over several tables, with Nemenyi's critical difference.

    Thick bars join chains without a significant difference by Wilcoxon's test with Holm's
    adjustment.

    Parameters
    ----------
    records : sequence of RunRecord
        Evaluations of every chain on every table, as written by ``fsframe compare -o FOLDER``.
    ax : matplotlib Axes, optional
    metric : str, optional
        A measure to rank by instead of accuracy (R², c-index).

    Raises
    ------
    RequestError
        If a chain lacks a table, there are fewer than two of either, or seeds differ.

    References
    ----------
    Demšar 2006, Statistical comparisons of classifiers over multiple data sets, J. Mach. Learn.
    Res. 7:1.
    """
    measures = chosen_measures([evaluation_of(record) for record in records], metric)
    study = study_of_runs(records)
    if len(study.tables) < 2:
        raise RequestError(
            "a critical difference needs at least two tables; `fsframe compare … on DATA DATA -o "
            "FOLDER` writes such runs"
        )
    # Larger is better.
    sign = 1 if measures[0].larger_is_better else -1
    mean_of = {id(record): measure.mean for record, measure in zip(records, measures, strict=True)}
    means = [[sign * mean_of[id(run)] for run in row] for row in study.first_runs()]
    summary = cd_of(np.array(means))
    order = np.argsort(summary.mean_ranks, kind="stable")
    m = len(study.chains)
    half = (m + 1) // 2
    with axes_for(ax, 7.4, 1.6 + 0.26 * (half + len(summary.groups))) as (panel,):
        low = -0.5 * (len(summary.groups) + half + 1.5)
        panel.set(xlim=(0.4, m + 0.6), ylim=(low, 1.6))
        panel.axis("off")
        panel.plot([1, m], [0, 0], color="black", lw=1.0)
        for rank in range(1, m + 1):
            panel.plot([rank, rank], [0, 0.15], color="black", lw=1.0)
            panel.text(rank, 0.2, str(rank), ha="center", va="bottom")
        panel.plot([1, 1 + summary.difference], [1.05, 1.05], color=VERMILLION, lw=2)
        text = f"critical difference {summary.difference:.2f}"
        panel.text(1, 1.12, text, va="bottom", color=VERMILLION)
        for level, group in enumerate(summary.groups):
            ranks = summary.mean_ranks[list(group)]
            y, ends = -0.3 - 0.45 * level, [ranks.min() - 0.04, ranks.max() + 0.04]
            panel.plot(ends, [y, y], color="black", lw=4, solid_capstyle="butt")
        below = -0.3 - 0.45 * len(summary.groups)
        for number, k in enumerate(order):
            left = number < half
            y = below - 0.5 * (number if left else m - 1 - number) - 0.25
            rank = summary.mean_ranks[k]
            edge = 0.9 if left else m + 0.1
            panel.plot([rank, rank, edge], [0, y, y], color=GREY, lw=0.9)
            text = f" {short(study.chains[k], 40)} ({rank:.2f}) "
            panel.text(edge, y, text, ha="right" if left else "left", va="center")
        quality, number = axis_name(measures[0].name), len(study.tables)
        title = f"mean rank of {quality} over {number} tables (1 is best); all alike: "
        panel.set_title(f"{title}p = {summary.friedman_p:.2g}", fontsize="medium")
        return panel.figure


_INTERSECTIONS = 20


def test_statistics(record: RunRecord, ax: Any = None, *, most: int = 40) -> Any:
    """Test statistics of NPFS: the count of every feature and its critical value, or −log₁₀ p.

    Counts are shown as shares of the bootstraps, with intervals and the share that each must
    exceed. If scores and ranks are compared, the line is the level that −log₁₀ p must reach. Hollow
    diamonds are decisions that another seed would reverse with a probability above 0.05.

    Parameters
    ----------
    record : RunRecord
    ax : matplotlib Axes, optional
    most : int
        Maximum number of features, the strongest first, of equal ones the better ranked. The axis
        says how many more there are.

    Raises
    ------
    RequestError
        If no stage of the run tests by bootstraps.
    """
    tables = _tests(record)
    by_counts = bool(drawable(tables.critical).all()) or tables.p is None or tables.level is None
    by_p = None if by_counts or tables.p is None else -np.log10(np.maximum(tables.p, 1e-300))
    values = tables.z / tables.n if by_p is None else by_p
    answer = {name: at for at, name in enumerate(record.feature_table().columns["feature"])}
    rank = [answer[record.feature_names[column]] for column in tables.columns]
    order, rest = np.split(np.lexsort(np.array([rank, -values])), [most])
    places = np.arange(len(order), dtype=float)
    width = 2.2 + 0.22 * len(order)
    with axes_for(ax, width, 4.6) as (panel,):
        if by_counts and tables.lower is not None and tables.upper is not None:
            panel.vlines(places, tables.lower[order], tables.upper[order], color=GREY, lw=1.2)
        for decided, marker, note in (
            (~tables.borderline, "o", ""),
            (tables.borderline, "D", ", may change with another seed"),
        ):
            for chosen, colour, word in (
                (tables.relevant, BLUE, "relevant"),
                (~tables.relevant, GREY, "not relevant"),
            ):
                mask = (chosen & decided)[order]
                face = BLUE if (marker, colour) == ("o", BLUE) else "white"
                if mask.any():
                    x, y = places[mask], values[order][mask]
                    panel.plot(x, y, marker, color=colour, mfc=face, ms=6, label=word + note)
        if by_counts:
            critical = np.where(drawable(tables.critical), tables.critical, np.nan) / tables.n
            style = {"color": VERMILLION, "lw": 1.8, "label": "critical value ζ / n"}
            panel.hlines(critical[order], places - 0.42, places + 0.42, **style)
            share = f"share of {tables.n} bootstraps that keep it"
            panel.set(ylabel=share, ylim=(-0.03, 1.03))
        else:
            assert tables.level is not None
            line = -np.log10(max(tables.level, 1e-300))
            panel.axhline(line, color=VERMILLION, lw=1.4, label=f"level: p = {tables.level:.3g}")
            panel.set_ylabel("−log₁₀ p")
            panel.set_ylim(bottom=0)
        names = feature_labels(record.feature_names[tables.columns[k]] for k in order)
        label_axis(panel.xaxis, places, names, rotation=90)
        panel.set_xlim(-0.7, len(order) - 0.3)
        if rest.size:
            more = f"{rest.size} more were tested, {tables.relevant[rest].sum()} of them relevant"
            panel.set_xlabel(f"the {len(order)} strongest ({more})")
        legend_above(panel, max(1, int(width / 3.2)))
        return panel.figure


# Not a test for pytest to collect.
test_statistics.__test__ = False  # type: ignore[attr-defined]


def _tests(record: RunRecord) -> BootstrapTables:
    for stage in reversed(record.stages):
        tables = bootstrap_tables(stage)
        if tables is not None and drawable(tables.z).all():
            return tables
    raise lacks(record, "test over bootstraps of features", "draw a run that ends with npfs")


def bootstrap_matrix(record: RunRecord, ax: Any = None, *, most: int = 60) -> Any:
    """Which resample kept which feature: dark cells are kept; most frequent features first.

    Parameters
    ----------
    record : RunRecord
    ax : matplotlib Axes, optional
    most : int
        Maximum number of features. The axis says how many more were kept.

    Raises
    ------
    RequestError
        If no stage stores what its resamples kept, or none of them kept a feature.
    """
    matrix, columns = _kept_matrix(record)
    often = matrix.mean(axis=0)
    if not often.any():
        raise lacks(record, "feature that some resample kept", "draw a run that keeps some")
    order = np.argsort(-often, kind="stable")
    order, rest = np.split(order[often[order] > 0], [most])
    rows = spread(len(matrix), 1000)
    with axes_for(ax, 2.0 + 0.2 * max(len(order), 6), 4.4) as (panel,):
        shown = matrix[np.ix_(rows, order)]
        panel.imshow(shown, cmap="Blues", vmin=0, vmax=1.25, aspect="auto", interpolation="nearest")
        labels = feature_labels(record.feature_names[columns[k]] for k in order)
        names = [f"{name} {100 * often[k]:.0f} %" for name, k in zip(labels, order, strict=True)]
        label_axis(panel.xaxis, range(len(order)), names, rotation=90)
        panel.set_xticks(np.arange(len(order) + 1) - 0.5, minor=True)
        panel.grid(which="minor", axis="x", color="white", lw=1.0)
        panel.tick_params(which="both", length=0)
        panel.set_ylabel(f"resample (of {len(matrix)})")
        if rest.size:
            panel.set_xlabel(f"the {len(order)} kept most often ({rest.size} more were kept)")
        return panel.figure


def _kept_matrix(record: RunRecord) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    for stage in reversed(record.stages):
        tables = bootstrap_tables(stage)
        if tables is not None and tables.matrix is not None and len(tables.matrix):
            return tables.matrix, tables.columns
        kept = stage.tables.get("kept")
        if kept is not None and kept.dtype.kind == "b" and kept.ndim == 2 and len(kept):
            seen = stage.features_in if stage.features_in.size else np.arange(record.n_features)
            if kept.shape[1] == seen.size:
                return kept, seen
    how = "draw a run of npfs, stability or evaluate"
    raise lacks(record, "record of what each resample kept", how)


def stability_path(record: RunRecord, ax: Any = None) -> Any:
    """Stability of the best k features of all resamples, against k.

    Metrics that agree everywhere share one line. Random selection is at 0 for metrics that are
    corrected for chance.

    Parameters
    ----------
    record : RunRecord
        A run of `fsframe stability`.
    ax : matplotlib Axes, optional

    Raises
    ------
    RequestError
        If the run is not a stability study, or has no metric of sets.
    """
    study = recorded_protocol(record)
    if not isinstance(study, RecordedStability):
        raise lacks(record, "stability by set size", "draw a run of `fsframe stability`")
    named = [(m.name, m.by_size) for m in study.tables.metrics if m.by_size is not None]
    if not named:
        raise lacks(record, "stability by set size", "ask for a metric of sets, such as nogueira")
    groups: list[tuple[list[str], NDArray[np.float64]]] = []
    for name, values in named:
        for names, known in groups:
            if np.allclose(known, values, rtol=0, atol=1e-9, equal_nan=True):
                names.append(name)
                break
        else:
            groups.append(([name], values))
    kinds = [(name, name.partition(":")[0]) for name, _ in named]
    corrected = [
        name
        for name, kind in kinds
        if kind in stability_metrics and stability_metrics[kind].chance_corrected
    ]
    with axes_for(ax, 6.4, 3.8) as (panel,):
        length = len(groups[0][1])
        # Many sizes, and the marks, are evenly spaced on the logarithmic axis.
        steps, marks = (
            np.unique(np.round(np.geomspace(1, length, count)).astype(int)) - 1
            for count in (_SIZES, 9)
        )
        if length <= _SIZES:
            steps = np.arange(length)
        for number, (names, values) in enumerate(groups):
            shown = np.where(drawable(values[steps]), values[steps], np.nan)
            style = {**look(number), "lw": 1.6, "ms": 4, "label": short(" = ".join(names), 60)}
            panel.plot(steps + 1, shown, markevery=np.isin(steps, marks), **style)
        if corrected:
            label = f"chance ({short(', '.join(corrected), 40)})"
            panel.axhline(0, color="black", lw=0.8, ls=":", label=label)
        panel.set_xscale("log")
        ticks = [k for p in range(9) for k in (10**p, 2 * 10**p, 5 * 10**p) if k <= length]
        panel.set_xticks(ticks, [f"{k:,}" for k in ticks])
        panel.set_xticks([], minor=True)
        panel.set(xlabel="best-ranked features compared (k)", ylabel="stability")
        legend_beside(panel)
        return panel.figure


def kept_sets(records: Sequence[RunRecord], ax: Any = None) -> Any:
    """How many features several runs keep in common: an UpSet plot.

    Each column is a set of runs (dark dots), its bar the number of features that exactly these runs
    keep, in descending order.

    Parameters
    ----------
    records : sequence of RunRecord
        Two to twelve, of tables with the same features.
    ax : matplotlib Axes, optional

    Raises
    ------
    RequestError
        If there are fewer or more, or their features differ.

    References
    ----------
    Lex et al. 2014, UpSet: visualization of intersecting sets, IEEE Trans. Vis. Comput. Graph.
    20:1983.
    """
    if not 2 <= len(records) <= 12:
        raise RequestError(f"give 2 to 12 runs to compare, not {len(records)}")
    if len({frozenset(record.feature_names) for record in records}) > 1:
        raise RequestError("the tables of the runs have different features")
    sets = [set(record.selected_names) for record in records]
    members = Counter(tuple(name in kept for kept in sets) for name in set().union(*sets))
    if not members:
        raise RequestError("none of the runs keeps a feature")
    shown = sorted(members.items(), key=lambda item: (-item[1], [not k for k in item[0]]))
    shown, rest = shown[:_INTERSECTIONS], len(shown) - _INTERSECTIONS
    m, labels = len(records), _run_labels(records)
    rows = -np.arange(1.0, m + 1)
    with axes_for(ax, 3.6 + 0.34 * len(shown), 2.2 + 0.3 * m) as (panel,):
        height = 0.9 * m + 2
        scale = height / max(count for _, count in shown)
        for x, (key, count) in enumerate(shown):
            panel.bar(x, count * scale, 0.6, bottom=0.0, color=BLUE)
            above = {"ha": "center", "va": "bottom", "fontsize": "small"}
            panel.text(x, count * scale + 0.1, str(count), **above)
            within = rows[list(key)]
            panel.plot([x] * m, rows, "o", color="#D9D9D9", ms=6)
            panel.plot([x] * len(within), within, "o-", color="black", ms=6, lw=1.6)
        names = [f"{label} ({len(kept)})" for label, kept in zip(labels, sets, strict=True)]
        label_axis(panel.yaxis, rows, names)
        low = -m - 0.6
        panel.set(xticks=[], xlim=(-0.7, len(shown) - 0.3), ylim=(low, height + 0.9))
        without_frame(panel)
        more = f"; {rest} smaller intersections are left out" if rest > 0 else ""
        title = f"features kept by exactly these runs{more}"
        panel.set_title(title, fontsize="medium", loc="right")
        return panel.figure


def _chain(record: RunRecord) -> str:
    """The chain of a run; for a stability study or an evaluation, the chain it measures."""
    protocol = recorded_protocol(record)
    return record.chain if protocol is None else protocol.base


def _run_labels(records: Sequence[RunRecord]) -> list[str]:
    """Labels that distinguish the runs: the chain, and if chains are equal the table or seed."""
    labels = [printable(_chain(record), longest=40) for record in records]
    tables = [printable(record.data.name, longest=20) for record in records]
    seeds = [f"seed {record.seed}" for record in records]
    for more in (tables, seeds):
        if len(set(labels)) < len(labels):
            labels = [", ".join(both) for both in zip(labels, more, strict=True)]
    return labels
