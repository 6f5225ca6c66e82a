"""Plots of resampling: test statistics, selections by resample, stability, intersections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.evaluation.recorded import RecordedStability, recorded_protocol
from fsframe.registry import stability_metrics
from fsframe.show.plots.canvas import (
    BLUE,
    GREY,
    VERMILLION,
    axes_for,
    drawable,
    feature_label,
    label_axis,
    lacks,
    legend_above,
    legend_beside,
    look,
    short,
    spread,
    without_frame,
)
from fsframe.storage import RunRecord
from fsframe.storage.checked_tables import BootstrapTables, bootstrap_tables
from fsframe.text import printable

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
        names = [feature_label(record, tables.columns[k]) for k in order]
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
        If no stage stores what its resamples kept.
    """
    matrix, columns = _kept_matrix(record)
    often = matrix.mean(axis=0)
    order = np.argsort(-often, kind="stable")
    order, rest = np.split(order[often[order] > 0], [most])
    rows = spread(len(matrix), 1000)
    with axes_for(ax, 2.0 + 0.2 * max(len(order), 6), 4.4) as (panel,):
        shown = matrix[np.ix_(rows, order)]
        panel.imshow(shown, cmap="Blues", vmin=0, vmax=1.25, aspect="auto", interpolation="nearest")
        names = [f"{feature_label(record, columns[k])} {100 * often[k]:.0f} %" for k in order]
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
        # Evenly spaced on the logarithmic axis.
        steps = np.unique(np.round(np.geomspace(1, length, min(length, 400))).astype(int)) - 1
        for number, (names, values) in enumerate(groups):
            shown = np.where(drawable(values[steps]), values[steps], np.nan)
            every, label = max(1, len(steps) // 8), short(" = ".join(names), 60)
            panel.plot(steps + 1, shown, **look(number), lw=1.6, ms=4, markevery=every, label=label)
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
