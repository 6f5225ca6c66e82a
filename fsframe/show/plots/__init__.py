"""Plots of runs as matplotlib figures, never pyplot; the kinds of plots by name.

Every function takes finished runs and optionally an `Axes` to draw on, and returns the figure.
`KINDS` says what each kind shows and needs, and which function draws it; a run that lacks what a
kind needs is refused. The functions are imported when they are used, so that listing the kinds
stays light.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import attrs

from fsframe.errors import RequestError
from fsframe.lazy_imports import lazy_attributes
from fsframe.registry import in_stage, plots
from fsframe.text import did_you_mean, facts

if TYPE_CHECKING:
    from fsframe.storage import RunRecord
    from fsframe.table.dataset import Dataset


@attrs.frozen(kw_only=True)
class Kind:
    """One kind of plot.

    Parameters
    ----------
    target : str
        ``module:function`` in `fsframe.show.plots`; empty for a kind of a plugin.
    shows, needs : str
        Descriptions for users.
    several : bool
        Whether it takes several runs.
    data : bool
        Whether it takes the table of the run.
    options : tuple of str
        Which of ``most``, ``pair`` and ``metric`` it takes.
    heading, caption : str
        Above and below the figure on the page about a run.
    place : int
        Place on that page, ascending; 0 if it is not there.
    compares : str
        Its caption on a page about several runs.
    """

    target: str
    shows: str
    needs: str
    several: bool = False
    data: bool = False
    options: tuple[str, ...] = ()
    heading: str = ""
    caption: str = ""
    place: int = 0
    compares: str = ""


KINDS: Mapping[str, Kind] = {
    "scores": Kind(
        target="features:ranked_scores",
        shows="scores of the kept features and the next best, and how often resamples keep them",
        needs="a stage that scores",
        options=("most",),
        heading="Which features matter",
        caption="Filled: kept. Hollow: the best that were not kept. Squares, where there are "
        "resamples: the share of them that keep the feature, with its interval.",
        place=5,
    ),
    "classes": Kind(
        target="features:class_distributions",
        shows="distributions of the best features in every class",
        needs="the table of the run, with classes",
        data=True,
        options=("most",),
        heading="How the kept features differ between the classes",
        caption="A dot is a row, a bar the middle half of a class, and its tick the median.",
        place=6,
    ),
    "matrix": Kind(
        target="features:pair_matrix",
        shows="weights of pairs, with features ordered by cluster",
        needs="weights of pairs (immigrate, lfe, jmi, interactions)",
        options=("most",),
        heading="Weights of pairs",
        caption="Weights as the method defines them, clustered so that related features are next "
        "to each other; the diagonal is the weight of each feature alone.",
        place=9,
    ),
    "network": Kind(
        target="features:pair_network",
        shows="pairs with significant interactions",
        needs="tested pairs (interactions, or a chain with weights of pairs)",
        options=("most",),
        heading="Which pairs interact",
        caption="Lines join pairs whose joint effect on the label is not the sum of both effects; "
        "thicker lines have smaller p.",
        place=7,
    ),
    "pair": Kind(
        target="features:pair_picture",
        shows="one pair: rows by class, or odds by cell",
        needs="the table of the run, and pairs or --pair NAME,NAME",
        data=True,
        options=("pair",),
        heading="The first pair",
        caption="The rows on both features, marked by class.",
        place=8,
    ),
    "tests": Kind(
        target="resampling:test_statistics",
        shows="the test statistics of NPFS and their threshold",
        needs="a test over bootstraps (npfs)",
        options=("most",),
        heading="What the test decided on",
        place=10,
    ),
    "bootstraps": Kind(
        target="resampling:bootstrap_matrix",
        shows="which resample kept which feature",
        needs="resamples (npfs, stability, evaluate)",
        options=("most",),
        heading="How often each feature was selected",
        caption="A row is a resample, a dark cell a feature that it keeps.",
        place=11,
    ),
    "stability": Kind(
        target="resampling:stability_path",
        shows="stability of the best k features against k",
        needs="a run of `fsframe stability`",
        heading="How stable the ranking is",
        caption="Agreement of the best 1, 2, … features of all resamples; 1 is always the same.",
        place=4,
    ),
    "sizes": Kind(
        target="evaluations:accuracy_by_size",
        shows="accuracy and stability by number of features",
        needs="a run of `fsframe evaluate` with a curve",
        heading="How many features to keep",
        caption="Accuracy (R² of a numeric target) with corrected standard errors, and stability, "
        "by the number of features used. The dotted line is at the smallest number within one "
        "standard error of the most accurate.",
        place=1,
    ),
    "roc": Kind(
        target="evaluations:roc",
        shows="ROC curve: true against false positive rate",
        needs="runs of `fsframe evaluate`",
        several=True,
        heading="ROC curve: true against false positive rate",
        caption="On held-out rows; mean over the repetitions.",
        place=2,
        compares="On held-out rows.",
    ),
    "calibration": Kind(
        target="evaluations:calibration",
        shows="predicted probabilities against observed frequencies",
        needs="a run of `fsframe evaluate` with classes and a classifier that gives probabilities",
        heading="Calibration: predicted probabilities against observed frequencies",
        caption="On the diagonal, predictions are right on average: of the rows given a "
        "probability of 0.8, eight in ten belong to the class. Grey: number of predictions.",
        place=3,
    ),
    "pareto": Kind(
        target="evaluations:accuracy_against_stability",
        shows="accuracy against stability of several chains, with the Pareto front",
        needs="runs of `fsframe evaluate` or `compare -o` on one table",
        several=True,
        options=("metric",),
        heading="Performance against stability",
        compares="Filled: no other chain is better in both. Bars: corrected standard error, 95 % "
        "interval.",
    ),
    "cd": Kind(
        target="evaluations:critical_difference",
        shows="mean ranks of chains over tables, with the critical difference",
        needs="runs of `fsframe compare -o` on two tables or more",
        several=True,
        options=("metric",),
        heading="Mean ranks over the tables",
        compares="Chains joined by a thick bar do not differ significantly by Wilcoxon's test "
        "with Holm's adjustment.",
    ),
    "sets": Kind(
        target="resampling:kept_sets",
        shows="which features several runs keep in common (UpSet)",
        needs="two to twelve runs with the same features",
        several=True,
        heading="Which features the runs keep in common",
        compares="A column is a set of runs (dark dots); its bar is the number of features that "
        "exactly these runs keep.",
    ),
    "convergence": Kind(
        target="features:convergence",
        shows="cost by iteration",
        needs="a method that iterates (immigrate, im4e, bim)",
        heading="Convergence",
        caption="The cost that the method minimises, by iteration; lower is better.",
        place=12,
    ),
}
"""The bundled kinds of plots, in the order in which they are listed."""


class Plot(ABC):
    """A kind of plot from a plugin, without parameters. Authors write `_draw`."""

    size: tuple[float, float] = (6.0, 4.0)
    """Width and height of a new figure, in inches."""

    @abstractmethod
    def _draw(self, ax: Any, subject: Any, *data: Any, **options: Any) -> None:
        """Draw on matplotlib's axes `ax`.

        Parameters
        ----------
        ax : matplotlib Axes
        subject : RunRecord or list of RunRecord
            A list if the entry says `several`.
        data : Dataset
            The table of the run, if the entry says so.
        options
            Those of the entry's options that the user gave.

        Raises
        ------
        RequestError
            If the run lacks what the plot shows (`fsframe.show.plots.canvas.lacks`).
        """


def known_kinds() -> dict[str, Kind]:
    """All kinds of plots by name: the bundled ones, then those of plugins, by name.

    A plugin's plot with the name of a bundled one is ``provider/name``.

    Examples
    --------
    >>> list(known_kinds())[:2]
    ['scores', 'classes']
    """
    kinds = dict(KINDS)
    for offer in plots.offers():
        entry: Any = offer.entry
        plain = offer.name not in KINDS
        kinds[offer.name if plain else f"{offer.provider}/{entry.name}"] = Kind(
            target="",
            shows=entry.summary[:1].lower() + entry.summary[1:],
            **facts(entry, "needs", "several", "data", "options"),
        )
    return kinds


def draw(
    name: str,
    records: Sequence[RunRecord],
    data: Dataset | None = None,
    ax: Any = None,
    **options: Any,
) -> Any:
    """Draw a plot of the given kind as a matplotlib figure.

    Parameters
    ----------
    name : str
        A key of `known_kinds`.
    records : sequence of RunRecord
    data : Dataset, optional
        The table of the run, for kinds that need it.
    ax : matplotlib Axes, optional
    options
        ``most``, ``pair`` and ``metric``, for kinds that take them.

    Raises
    ------
    RequestError
        If there is no such kind, or the runs lack what it needs.
    PluginError
        If the plugin of the kind fails.
    """
    known = known_kinds()
    if name not in known:
        raise RequestError(
            f"there is no plot {name!r}; plots are {', '.join(known)}{did_you_mean(name, known)}"
        )
    kind = known[name]
    given = {key: value for key, value in options.items() if value is not None}
    wrong = sorted(set(given) - set(kind.options))
    if wrong:
        raise RequestError(f"the plot {name!r} takes no {' and no '.join(wrong)}")
    if not kind.several and len(records) != 1:
        raise RequestError(f"the plot {name!r} shows one run, not {len(records)}")
    if kind.data and data is None:
        raise RequestError(f"the plot {name!r} needs the table of the run (data=)")
    subject: Any = list(records) if kind.several else records[0]
    more = (data,) if kind.data else ()
    if kind.target:
        module, _, function = kind.target.partition(":")
        drawer: Any = getattr(import_module(f"fsframe.show.plots.{module}"), function)
        return drawer(subject, *more, ax=ax, **given)
    from fsframe.show.plots.canvas import axes_for

    plot = plots[name]
    with axes_for(ax, *plot.size) as (panel,), in_stage(plot, name, "plot"):
        plot()._draw(panel, subject, *more, **given)
        return panel.figure


_TARGETS = (kind.target.partition(":") for kind in KINDS.values())
_HOMES = {function: f".{module}" for module, _, function in _TARGETS} | {"figure_bytes": ".canvas"}

__all__ = sorted(_HOMES)

__getattr__ = lazy_attributes(__name__, _HOMES)
