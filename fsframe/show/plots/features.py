"""Plots of features and pairs: scores, distributions by class, pairs that interact."""

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
    colour_bar,
    drawable,
    inside,
    label_axis,
    lacks,
    legend_above,
    say_left_out,
    short,
    spread,
    without_frame,
)
from fsframe.storage import RunRecord
from fsframe.table.dataset import Dataset
from fsframe.text import counted, did_you_mean, feature_labels

Floats = NDArray[np.float64]

_DOTS = 150
_CLASSES = 8
_GAP = 0.9
_COLOURS = {True: (BLUE, BLUE), False: (GREY, "white")}
"""Line and face of kept features, and of others."""
_LABELLED = 60
_LEVEL = 0.05
_LEVELS = 6
_POINTS = 2000
_UPRIGHT = 12


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
        label_axis(first.yaxis, places, feature_labels(shown.columns["feature"]))
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


def _lengths(scores: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Lengths for drawing; infinite scores get a little more than the largest finite one."""
    fine = drawable(scores)
    longest = 1.1 * np.abs(scores[fine]).max(initial=0.0) or 1.0
    return np.where(fine, scores, np.sign(scores) * longest), ~fine


def _shares(panel: Any, shown: AnswerTable, places: Floats, n_kept: int) -> None:
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
        names = feature_labels(record.feature_names[column] for column in columns)
        label_axis(panel.yaxis, -np.arange(len(columns), dtype=float), names)
        panel.tick_params(axis="y", length=0)
        panel.set_ylim(-len(columns) + 0.5, 0.5)
        more, nominal = len(numeric) - len(columns), len(record.selected) - len(numeric)
        note = f"\nthe first {len(columns)} kept features ({more} more)" if more else ""
        note += f"\nnot drawn: {counted(nominal, 'nominal feature')}" if nominal else ""
        panel.set_xlabel(f"standard deviations from the feature's mean{note}")
        for number, code in enumerate(classes):
            label = short(str(data.classes[code]))
            panel.plot([], [], MARKERS[number], color=COLOURS[number], ms=5, label=label)
        say_left_out(panel, data.n_classes - _CLASSES)
        legend_above(panel, min(4, len(classes)))
        return panel.figure


def _strip(panel: Any, values: Floats, at: float, band: float, number: int) -> None:
    few = values[spread(values.size, _DOTS)]
    # Steps of the golden ratio fill the band evenly, without random numbers.
    jitter = (np.arange(few.size) * 0.6180339887498949 % 1.0 - 0.5) * band * 0.75
    style = {"color": COLOURS[number], "ms": 2.6, "alpha": 0.55, "mew": 0}
    panel.plot(np.clip(few, -5.0, 5.0), at + jitter, MARKERS[number], **style)
    low, middle, high = np.clip(np.quantile(values, [0.25, 0.5, 0.75]), -5.0, 5.0)
    panel.plot([low, high], [at, at], color="black", lw=1.4)
    panel.plot([middle, middle], [at - band * 0.3, at + band * 0.3], color="black", lw=2.0)


def pair_matrix(record: RunRecord, ax: Any = None, *, most: int = 30) -> Any:
    """The weights of pairs as a matrix, with features clustered.

    Parameters
    ----------
    record : RunRecord
    ax : matplotlib Axes, optional
    most : int
        Maximum number of features, those with the strongest pairs.

    Raises
    ------
    RequestError
        If no stage has pair weights.

    Notes
    -----
    The order is that of the leaves of average linkage, with larger weights as smaller distances.
    """
    matrix, columns = _matrix(record, most)
    order = _clustered(matrix)
    matrix, columns = matrix[np.ix_(order, order)], [columns[k] for k in order]
    m = len(columns)
    size = 2.2 + min(0.24 * m, 6.5)
    with axes_for(ax, size + 0.9, size) as (panel,):
        limit = float(np.abs(matrix).max()) or 1.0
        signed = bool((matrix < 0).any())
        cmap, lowest = ("PuOr_r", -limit) if signed else ("Blues", 0.0)
        image = panel.imshow(matrix, cmap=cmap, vmin=lowest, vmax=limit)
        if m <= _LABELLED:
            names = feature_labels(record.feature_names[column] for column in columns)
            label_axis(panel.xaxis, range(m), names, rotation=90)
            label_axis(panel.yaxis, range(m), names)
            if signed:
                # Without colour the sign would be lost in print.
                for a, b in np.argwhere(matrix < 0):
                    inside(panel, b, a, "−", fontsize="small")
        else:
            text = f"{m} features, in the order of their clusters"
            panel.set(xlabel=text, xticks=[], yticks=[])
        without_frame(panel)
        bar = panel.figure.colorbar(image, ax=panel, shrink=0.8)
        # Above the bar: beside it, the label of a small matrix would be cut off.
        bar.ax.set_title("weight", fontsize="medium", loc="left")
        return panel.figure


def _matrix(record: RunRecord, most: int) -> tuple[Floats, list[int]]:
    weights = record.pair_weights
    # Enough of the strongest pairs to fill the matrix with columns.
    pairs = [p for p in record.strongest_pairs(most * most * 10) if drawable(p.weight)]
    if weights is None or not pairs:
        how = "draw a run of immigrate, lfe, interactions or jmi:pairs=synergy"
        raise lacks(record, "weights of pairs", how)
    involved = dict.fromkeys(column for a, b, _ in pairs for column in (a, b))
    columns = sorted(list(involved)[:most])
    place = {column: position for position, column in enumerate(columns)}
    matrix = np.zeros((len(columns), len(columns)))
    for a, b, weight in pairs:
        if a in place and b in place:
            matrix[place[a], place[b]] = matrix[place[b], place[a]] = weight
    if (main := weights.main_effects()) is not None:
        for column, effect in zip(weights.columns.tolist(), main, strict=True):
            if column in place and drawable(effect):
                matrix[place[column], place[column]] = effect
    return matrix, columns


def _clustered(matrix: Floats) -> NDArray[np.intp]:
    """The order of the leaves of average linkage."""
    if len(matrix) < 3:
        return np.arange(len(matrix))
    size = np.abs(matrix)
    np.fill_diagonal(size, 0.0)
    distance = size.max() - size
    np.fill_diagonal(distance, 0.0)
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    tree = hierarchy.linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    return np.asarray(hierarchy.leaves_list(tree), dtype=np.intp)


def pair_network(record: RunRecord, ax: Any = None, *, most: int = 30) -> Any:
    """The pairs with significant interactions, as lines between features on a circle.

    Solid lines are pairs with q ≤ 0.05, thicker for smaller p; if there are none, the five best are
    drawn dashed.

    Parameters
    ----------
    record : RunRecord
    ax : matplotlib Axes, optional
    most : int
        Maximum number of pairs.

    Raises
    ------
    RequestError
        If no pair was tested.
    """
    table = record.pair_table()
    name = next((n for n in ("interaction_p", "p") if n in table.columns), None)
    if name is None:
        how = "draw a run of interactions, or of a method that weighs pairs"
        raise lacks(record, "tested pairs", how)
    tested = table.where(~np.isnan(table.columns[name]))
    q = tested.columns[name[:-1] + "q"]
    significant = bool((q <= _LEVEL).any())
    tested = tested.where(q <= _LEVEL).head(most) if significant else tested.head(5)
    ends = [*zip(tested.columns["feature"], tested.columns["with"], strict=True)]
    p = np.maximum(tested.columns[name], 1e-300)
    names = list(dict.fromkeys(end for pair in ends for end in pair))
    place = {name: k for k, name in enumerate(names)}
    strength = np.zeros((len(names), len(names)))
    for (a, b), value in zip(ends, p, strict=True):
        strength[place[a], place[b]] = strength[place[b], place[a]] = -np.log10(value)
    order = _clustered(strength)
    angle = np.empty(len(names))
    # Two features are side by side; more begin at the top.
    first = 0.0 if len(names) == 2 else np.pi / 2
    angle[order] = 2 * np.pi * np.arange(len(names)) / max(1, len(names)) + first
    at = np.column_stack((np.cos(angle), np.sin(angle)))
    flat = len(names) == 2
    with axes_for(ax, 6.4, 2.0 if flat else 6.0) as (panel,):
        strongest = max(1.0, float(-np.log10(p.min())))
        for (a, b), value in zip(ends, p, strict=True):
            start, end = at[place[a]], at[place[b]]
            t = np.linspace(0, 1, 30)[:, None]
            # Bent towards the centre, so that lines between neighbours do not follow the circle.
            curve = (1 - t) ** 2 * start + 2 * t * (1 - t) * 0.35 * (start + end) / 2 + t**2 * end
            width = 0.8 + 3.2 * -np.log10(value) / strongest
            colour, dashes = (BLUE, "-") if significant else (GREY, "--")
            panel.plot(*curve.T, color=colour, lw=width, ls=dashes, alpha=0.8)
        panel.plot(*at.T, "o", color="black", ms=6, zorder=3)
        for k, label in enumerate(feature_labels(names)):
            panel.text(*1.06 * at[k], label, **_around(angle[k], len(names)))
        room = 1.1 + 0.055 * max(min(28, len(n)) for n in names)
        height = 0.3 * room if flat else room if len(names) > _UPRIGHT else 1.25
        panel.set(xlim=(-room, room), ylim=(-height, height), aspect="equal")
        panel.axis("off")
        title, best = ("pairs with", "") if significant else ("no pair has", ": best by p")
        panel.set_title(f"{title} q ≤ {_LEVEL:g}{best}; thicker: smaller p", fontsize="medium")
        return panel.figure


def _around(angle: float, n: int) -> dict[str, Any]:
    """Alignment of a label at a point of a circle of `n`: horizontal if there is space."""
    if n <= _UPRIGHT:
        x, y = np.cos(angle), np.sin(angle)
        if abs(x) < 0.3:
            return {"ha": "center", "va": "bottom" if y > 0 else "top"}
        return {"ha": "left" if x > 0 else "right", "va": "center"}
    turned = np.degrees(angle) % 360
    flip = 90 < turned < 270
    return {
        "rotation": turned - 180 if flip else turned,
        "rotation_mode": "anchor",
        "ha": "right" if flip else "left",
        "va": "center",
    }


def pair_picture(
    record: RunRecord, data: Dataset, ax: Any = None, *, pair: tuple[str, str] | None = None
) -> Any:
    """One pair: rows by class on both features, or, for features with few values, odds by cell.

    Parameters
    ----------
    record : RunRecord
    data : Dataset
        The table of the run.
    ax : matplotlib Axes, optional
    pair : (str, str), optional
        Names of the features; by default the run's best pair.

    Raises
    ------
    DataError
        If `data` is another table.
    RequestError
        If there are no such features, or the run has no pairs and no pair is given.
    """
    record.require_table(data)
    a, b = _ends(record, pair)
    x = np.asarray(data.columns(a, a + 1), dtype=np.float64)[:, 0]
    y = np.asarray(data.columns(b, b + 1), dtype=np.float64)[:, 0]
    known = ~(np.isnan(x) | np.isnan(y))
    few = all(np.unique(v[known]).size <= _LEVELS for v in (x, y))
    with axes_for(ax, 5.6, 4.6) as (panel,):
        if few and data.task == "classification":
            _odds(panel, data, x, y, known)
        else:
            _scatter(panel, data, x, y, np.flatnonzero(known))
        along, up = feature_labels([record.feature_names[a], record.feature_names[b]])
        panel.set(xlabel=along, ylabel=up)
        for text in (panel.xaxis.label, panel.yaxis.label):
            text.set_parse_math(False)
        return panel.figure


def _ends(record: RunRecord, pair: tuple[str, str] | None) -> tuple[int, int]:
    names = list(record.feature_names)
    if pair is None:
        table = record.pair_table()
        if not len(table):
            raise lacks(record, "pairs", "name the two features: --pair NAME,NAME")
        pair = table.columns["feature"][0], table.columns["with"][0]
    wrong = [f"{name!r}{did_you_mean(name, names)}" for name in pair if name not in names]
    if wrong or len(pair) != 2 or pair[0] == pair[1]:
        raise RequestError(
            f"a pair is two features of the table; it has no {', '.join(wrong)}"
            if wrong
            else "a pair is two different features, such as --pair a,b"
        )
    return names.index(pair[0]), names.index(pair[1])


def _scatter(panel: Any, data: Dataset, x: Floats, y: Floats, rows: NDArray[np.intp]) -> None:
    rows = rows[spread(rows.size, _POINTS)]
    if data.task != "classification":
        dots = panel.scatter(x[rows], y[rows], c=data.y[rows], s=14, cmap="cividis", lw=0)
        colour_bar(panel, dots, data.label_name)
        return
    for code in range(min(data.n_classes, len(COLOURS))):
        of_class = rows[data.y[rows] == code]
        face = COLOURS[code] if code % 2 == 0 else "none"
        style = {"color": COLOURS[code], "mfc": face, "ms": 4.5, "alpha": 0.75}
        label = short(str(data.classes[code]))
        panel.plot(x[of_class], y[of_class], MARKERS[code], **style, label=label)
    legend_above(panel, min(4, data.n_classes))


def _odds(panel: Any, data: Dataset, x: Floats, y: Floats, known: NDArray[np.bool_]) -> None:
    """In each cell the share of the last class, its odds, and the number of rows."""
    xs, ys = np.unique(x[known]), np.unique(y[known])
    last = data.n_classes - 1
    share = np.full((ys.size, xs.size), np.nan)
    for i, v in enumerate(ys):
        for j, u in enumerate(xs):
            labels = data.y[known & (x == u) & (y == v)]
            if not labels.size:
                inside(panel, j, i, "no rows", fontsize="small")
                continue
            hits = int((labels == last).sum())
            share[i, j] = hits / labels.size
            odds = "∞" if hits == labels.size else f"{hits / (labels.size - hits):.2g}"
            text = f"{100 * share[i, j]:.0f} %\nodds {odds}\n{labels.size} rows"
            inside(panel, j, i, text, color="white" if share[i, j] > 0.6 else "black")
    image = panel.imshow(share, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto", origin="lower")
    label_axis(panel.xaxis, range(xs.size), [f"{u:g}" for u in xs])
    label_axis(panel.yaxis, range(ys.size), [f"{v:g}" for v in ys])
    colour_bar(panel, image, f"share of class {data.classes[last]}")
