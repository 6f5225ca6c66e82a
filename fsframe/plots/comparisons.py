"""Plots that compare chains: accuracy against stability, critical differences of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.evaluation.comparison_tests import critical_difference as cd_of
from fsframe.evaluation.comparison_tests import pareto_front
from fsframe.plots.canvas import COLOURS, GREY, MARKERS, VERMILLION, axes_for, drawable, short
from fsframe.plots.evaluations import axis_name, chosen_measures, evaluation_of
from fsframe.storage import RunRecord, printable


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
    found = [evaluation_of(record) for record in records]
    measures = chosen_measures(found, metric)
    quality, sign = axis_name(measures[0].name), 1 if measures[0].larger_is_better else -1
    points = [(e.found.stability.value, m.mean) for e, m in zip(found, measures, strict=True)]
    known = [k for k, point in enumerate(points) if drawable(np.array(point)).all()]
    if len(known) < 2:
        raise RequestError(f"fewer than two of the runs have both {quality} and a stability")
    unbeaten = pareto_front(*np.array([(points[k][0], sign * points[k][1]) for k in known]).T)
    front = sorted(np.array(known)[unbeaten].tolist(), key=lambda k: points[k])
    with axes_for(ax, 6.6, 4.6) as (panel,):
        panel.plot(
            [points[k][0] for k in front],
            [points[k][1] for k in front],
            color="black",
            lw=1.0,
            ls="--",
        )
        for number, k in enumerate(known):
            x, y = points[k]
            measure, stability = measures[k], found[k].found.stability
            look = number % len(COLOURS)
            error = measure.standard_error if drawable(measure.standard_error) else 0.0
            sides = [[0.0], [0.0]]
            if stability.interval is not None:
                sides = [
                    [max(0.0, x - stability.interval[0])],
                    [max(0.0, stability.interval[1] - x)],
                ]
            panel.errorbar(
                x,
                y,
                yerr=error,
                xerr=sides,
                color=COLOURS[look],
                marker=MARKERS[look],
                mfc=COLOURS[look] if k in front else "white",
                ms=7,
                elinewidth=0.9,
                ls="none",
                label=short(found[k].base, 44),
            )
        # With equal stabilities the axis would extend beyond 1.
        panel.set_xlim(right=min(panel.get_xlim()[1], 1.03))
        panel.set_xlabel("stability φ of the kept features")
        panel.set_ylabel(f"{quality} on held-out rows")
        if sign < 0:
            panel.invert_yaxis()
        panel.legend(
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            title="filled: on the Pareto front",
            fontsize="small",
        )
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
        If a chain lacks a table, or there are fewer than two of either.

    References
    ----------
    Demšar 2006, Statistical comparisons of classifiers over multiple data sets, J. Mach. Learn.
    Res. 7:1.
    """
    results, chains, tables, quality = _means(records, metric)
    summary = cd_of(results)
    order = np.argsort(summary.mean_ranks, kind="stable")
    m = len(chains)
    half = (m + 1) // 2
    with axes_for(ax, 7.4, 1.6 + 0.26 * (half + len(summary.groups))) as (panel,):
        panel.set_xlim(0.4, m + 0.6)
        low = -0.5 * (len(summary.groups) + half + 1.5)
        panel.set_ylim(low, 1.6)
        panel.axis("off")
        panel.plot([1, m], [0, 0], color="black", lw=1.0)
        for rank in range(1, m + 1):
            panel.plot([rank, rank], [0, 0.15], color="black", lw=1.0)
            panel.text(rank, 0.2, str(rank), ha="center", va="bottom")
        panel.plot([1, 1 + summary.difference], [1.05, 1.05], color=VERMILLION, lw=2)
        panel.text(
            1, 1.12, f"critical difference {summary.difference:.2f}", va="bottom", color=VERMILLION
        )
        for level, group in enumerate(summary.groups):
            ranks = summary.mean_ranks[list(group)]
            y = -0.3 - 0.45 * level
            panel.plot(
                [ranks.min() - 0.04, ranks.max() + 0.04],
                [y, y],
                color="black",
                lw=4,
                solid_capstyle="butt",
            )
        below = -0.3 - 0.45 * len(summary.groups)
        for number, k in enumerate(order):
            left = number < half
            y = below - 0.5 * (number if left else m - 1 - number) - 0.25
            rank = summary.mean_ranks[k]
            edge = 0.9 if left else m + 0.1
            panel.plot([rank, rank, edge], [0, y, y], color=GREY, lw=0.9)
            text = f" {short(chains[k], 40)} ({rank:.2f}) "
            panel.text(edge, y, text, ha="right" if left else "left", va="center")
        p = summary.friedman_p
        panel.set_title(
            f"mean rank of {quality} over {len(tables)} tables (1 is best); all alike: p = {p:.2g}",
            fontsize="medium",
        )
        return panel.figure


def _means(
    records: Sequence[RunRecord], metric: str | None
) -> tuple[NDArray[np.float64], list[str], list[str], str]:
    """Means of the measure (n_tables, n_chains), larger is better; chains, tables, measure."""
    every = [evaluation_of(record) for record in records]
    measures = chosen_measures(every, metric)
    cells: dict[tuple[str, str], float] = {}
    for record, found, measure in zip(records, every, measures, strict=True):
        key = (record.data.name, found.base)
        if key in cells:
            raise RequestError(
                f"`{printable(found.base, longest=60)}` on {printable(record.data.name)} is given "
                "twice"
            )
        cells[key] = measure.mean if measure.larger_is_better else -measure.mean
    tables, chains = (list(dict.fromkeys(key[side] for key in cells)) for side in (0, 1))
    if len(tables) < 2 or len(chains) < 2:
        raise RequestError(
            f"a critical difference needs at least two tables and two chains, not {len(tables)} "
            f"and {len(chains)}; `fsframe compare … on DATA DATA -o FOLDER` writes such runs"
        )
    missing = [f"`{c}` on {t}" for t in tables for c in chains if (t, c) not in cells]
    if missing:
        raise RequestError(
            "a critical difference needs every chain on every table; missing: "
            f"{'; '.join(missing[:5])}"
        )
    values = np.array([[cells[t, c] for c in chains] for t in tables])
    return values, chains, tables, axis_name(measures[0].name)
