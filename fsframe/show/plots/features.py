"""Plots of single features: ranked scores, distributions by class, convergence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.method.answer import AnswerTable
from fsframe.show.plots.canvas import (
    BLUE,
    COLOURS,
    GREY,
    MARKERS,
    axes_for,
    drawable,
    feature_label,
    label_axis,
    lacks,
    legend_above,
    look,
    say_left_out,
    short,
    spread,
)
from fsframe.storage import RunRecord
from fsframe.storage.checked_tables import convergence as cost_of
from fsframe.table.dataset import Dataset
from fsframe.text import printable

_POINTS = 150
_CLASSES = 8
_GAP = 0.9
_COLOURS = {True: (BLUE, BLUE), False: (GREY, "white")}
"""Line and face of kept features, and of others."""


def ranked_scores(record: RunRecord, ax: Any = None, *, most: int = 20) -> Any:
    """The scores of the kept features and of the best that were not kept, best first.

    If the last stage counted how often resamples keep a feature, a new figure also shows that
    share, with its interval.

    Parameters
    ----------
    record : RunRecord
    ax : matplotlib Axes, optional
        Only the scores are drawn on it.
    most : int
        Maximum number of kept features; a third as many others.

    Raises
    ------
    RequestError
        If no feature has a score.
    """
    shown, n_kept = _first_rows(record, most)
    if not len(shown):
        raise lacks(record, "scores", "draw a run whose last stage gives them")
    places = -np.arange(len(shown), dtype=float)
    places[n_kept:] -= _GAP
    often = ax is None and "frequency" in shown.columns
    height = 0.9 + 0.24 * (len(shown) + _GAP)
    with axes_for(ax, 8.4 if often else 6.6, height, panels=2 if often else 1) as panels:
        first = panels[0]
        lengths, boundless = _lengths(shown.columns["score"])
        for row, end in enumerate(zip(lengths, places, strict=True)):
            colour, face = _COLOURS[row < n_kept]
            first.plot([0, end[0]], [end[1]] * 2, color=colour, lw=2.2, solid_capstyle="butt")
            first.plot(*end, "o", color=colour, mfc=face, ms=6, zorder=3)
            if boundless[row]:
                first.annotate("∞", end, (6, 0), textcoords="offset points", va="center")
        names = [printable(name, longest=28) for name in shown.columns["feature"]]
        label_axis(first.yaxis, places, names)
        first.tick_params(axis="y", length=0)
        first.axvline(0, color="black", lw=0.8)
        stage = [s for s in record.stages if s.selection is not None][-1]
        first.set_xlabel(f"score ({short(stage.name)})")
        if often:
            _shares(panels[1], shown, places, n_kept)
        if 0 < n_kept < len(shown):
            border = places[n_kept - 1] - (1 + _GAP) / 2
            for panel in panels:
                panel.axhline(border, color="black", lw=0.8, ls=":")
            more = int(record.selected.size) - n_kept
            note = f"kept{f' (and {more} more)' if more else ''} above, not kept below"
            place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
            style = {"ha": "right", "va": "bottom", "fontsize": "small"}
            panels[-1].annotate(note, (1, border), (0, 2), **place, **style)
        return first.figure


def _first_rows(record: RunRecord, most: int) -> tuple[AnswerTable, int]:
    """The best kept features and the best others that have a score, and how many are kept."""
    table = record.feature_table()
    kept, known = table.columns["kept"], ~np.isnan(table.columns["score"])
    first = np.flatnonzero(kept & known)[:most]
    others = np.flatnonzero(~kept & known)[: max(3, most // 3) if first.size else most]
    mask = np.zeros(len(table), dtype=bool)
    mask[first] = mask[others] = True
    return table.where(mask), first.size


def _lengths(scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Lengths for drawing; infinite scores get a little more than the largest finite one."""
    fine = drawable(scores)
    longest = 1.1 * np.abs(scores[fine]).max(initial=0.0) or 1.0
    return np.where(fine, scores, np.sign(scores) * longest), ~fine


def _shares(panel: Any, shown: AnswerTable, places: NDArray[np.float64], n_kept: int) -> None:
    share = shown.columns["frequency"]
    low = shown.columns.get("frequency_low", share)
    high = shown.columns.get("frequency_high", share)
    for row, place in enumerate(places):
        if np.isnan(share[row]):
            continue
        colour, face = _COLOURS[row < n_kept]
        panel.plot([low[row], high[row]], [place, place], color=colour, lw=1.2)
        panel.plot(share[row], place, "s", color=colour, mfc=face, ms=5, zorder=3)
    panel.set(xlim=(-0.03, 1.03), xlabel="share of resamples that keep it")
    panel.tick_params(axis="y", length=0, labelleft=False)


def class_distributions(record: RunRecord, data: Dataset, ax: Any = None, *, most: int = 12) -> Any:
    """Distributions of the best features by class.

    Values are standardised (mean 0, standard deviation 1 over all rows) to share one axis. A dot is
    a row, the bar the interquartile range, the tick the median; of a class with more than 150 rows
    150 are drawn, evenly spaced along the table.

    Parameters
    ----------
    record : RunRecord
    data : Dataset
        The table of the run, with classes.
    ax : matplotlib Axes, optional
    most : int
        Maximum number of kept features.

    Raises
    ------
    DataError
        If `data` is another table.
    RequestError
        If the label is numeric, or nothing was kept.
    """
    record.require_table(data)
    if data.task != "classification":
        raise RequestError(
            f"the label {data.label_name!r} is numeric: there are no classes to show"
        )
    numeric = [int(c) for c in record.selected if not data.categorical[c]]
    columns = numeric[:most]
    if not columns:
        raise lacks(record, "kept features with values to show", "draw a run that keeps some")
    classes = np.sort(np.argsort(-data.class_sizes(), kind="stable")[:_CLASSES])
    band = 0.8 / len(classes)
    height = 1.2 + len(columns) * max(0.42, 0.17 * len(classes))
    with axes_for(ax, 7.2, height) as (panel,):
        for place, column in enumerate(columns):
            values = np.asarray(data.columns(column, column + 1), dtype=np.float64)[:, 0]
            spread_out = np.nanstd(values)
            values = (values - np.nanmean(values)) / (spread_out if spread_out > 0 else 1.0)
            for number, code in enumerate(classes):
                of_class = values[data.y == code]
                of_class = of_class[~np.isnan(of_class)]
                if of_class.size:
                    at = -place + 0.4 - band * (number + 0.5)
                    _strip(panel, of_class, at, band, number)
            panel.axhline(-place - 0.5, color="#D9D9D9", lw=0.6)
        names = [feature_label(record, column) for column in columns]
        label_axis(panel.yaxis, -np.arange(len(columns), dtype=float), names)
        panel.tick_params(axis="y", length=0)
        panel.set_ylim(-len(columns) + 0.5, 0.5)
        more = len(numeric) - len(columns)
        note = f"\nthe first {len(columns)} kept features ({more} more)" if more else ""
        panel.set_xlabel(f"standard deviations from the feature's mean{note}")
        for number, code in enumerate(classes):
            label = short(str(data.classes[code]))
            panel.plot([], [], MARKERS[number], color=COLOURS[number], ms=5, label=label)
        say_left_out(panel, data.n_classes - _CLASSES)
        legend_above(panel, min(4, len(classes)))
        return panel.figure


def _strip(panel: Any, values: NDArray[np.float64], at: float, band: float, number: int) -> None:
    few = values[spread(values.size, _POINTS)]
    # Steps of the golden ratio fill the band evenly, without random numbers.
    jitter = (np.arange(few.size) * 0.6180339887498949 % 1.0 - 0.5) * band * 0.75
    style = {"color": COLOURS[number], "ms": 2.6, "alpha": 0.55, "mew": 0}
    panel.plot(np.clip(few, -5.0, 5.0), at + jitter, MARKERS[number], **style)
    low, middle, high = np.clip(np.quantile(values, [0.25, 0.5, 0.75]), -5.0, 5.0)
    panel.plot([low, high], [at, at], color="black", lw=1.4)
    panel.plot([middle, middle], [at - band * 0.3, at + band * 0.3], color="black", lw=2.0)


def convergence(record: RunRecord, ax: Any = None) -> Any:
    """The cost that each stage minimised, by iteration.

    Parameters
    ----------
    record : RunRecord
    ax : matplotlib Axes, optional

    Raises
    ------
    RequestError
        If no stage stored its cost.
    """
    costs = [(stage.name, cost_of(stage)) for stage in record.stages]
    known = [(name, cost) for name, cost in costs if cost is not None and drawable(cost).all()]
    if not known:
        how = "draw a run of a method that iterates (immigrate)"
        raise lacks(record, "cost per iteration", how)
    with axes_for(ax, 5.4, 3.0) as (panel,):
        for number, (name, cost) in enumerate(known):
            steps = spread(len(cost))
            panel.plot(steps, cost[steps], **look(number), ms=3, label=short(name))
        what = "cost" if len(known) > 1 else f"cost ({short(known[0][0])})"
        panel.set(xlabel="iteration", ylabel=what)
        if len(known) > 1:
            panel.legend()
        return panel.figure
