"""Plots of runs as matplotlib figures, never pyplot; the kinds of plots by name.

Every function takes finished runs and optionally an `Axes` to draw on, and returns the figure. What
each kind shows and needs, and which function draws it, is in `KINDS`; a run that lacks it is
refused. The functions are imported when they are used, so that listing the kinds stays light.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import attrs

from fsframe.errors import RequestError
from fsframe.lazy_imports import lazy_attributes
from fsframe.text import did_you_mean

if TYPE_CHECKING:
    from fsframe.storage import RunRecord
    from fsframe.table.dataset import Dataset


@attrs.frozen(kw_only=True)
class Kind:
    """One kind of plot.

    Parameters
    ----------
    target : str
        ``module:function`` in `fsframe.show.plots`.
    shows, needs : str
        Descriptions for users.
    several : bool
        Whether it takes several runs.
    data : bool
        Whether it takes the table of the run.
    options : tuple of str
        Which of ``most``, ``pair`` and ``metric`` it takes.
    """

    target: str
    shows: str
    needs: str
    several: bool = False
    data: bool = False
    options: tuple[str, ...] = ()


KINDS: Mapping[str, Kind] = {
    "scores": Kind(
        target="features:ranked_scores",
        shows="scores of the kept features and the next best, and how often resamples keep them",
        needs="a stage that scores",
        options=("most",),
    ),
    "classes": Kind(
        target="features:class_distributions",
        shows="distributions of the best features in every class",
        needs="the table of the run, with classes",
        data=True,
        options=("most",),
    ),
    "matrix": Kind(
        target="pairs:pair_matrix",
        shows="weights of pairs, with features ordered by cluster",
        needs="weights of pairs (immigrate, lfe, jmi, interactions)",
        options=("most",),
    ),
    "network": Kind(
        target="pairs:pair_network",
        shows="pairs with significant interactions",
        needs="tested pairs (interactions, or a chain with weights of pairs)",
        options=("most",),
    ),
    "pair": Kind(
        target="pairs:pair_picture",
        shows="one pair: rows by class, or odds by cell",
        needs="the table of the run, and pairs or --pair NAME,NAME",
        data=True,
        options=("pair",),
    ),
    "tests": Kind(
        target="resampling:test_statistics",
        shows="the test statistics of NPFS and their threshold",
        needs="a test over bootstraps (npfs)",
        options=("most",),
    ),
    "bootstraps": Kind(
        target="resampling:bootstrap_matrix",
        shows="which resample kept which feature",
        needs="resamples (npfs, stability, evaluate)",
        options=("most",),
    ),
    "stability": Kind(
        target="resampling:stability_path",
        shows="stability of the best k features against k",
        needs="a run of `fsframe stability`",
    ),
    "sizes": Kind(
        target="evaluations:accuracy_by_size",
        shows="accuracy and stability by number of features",
        needs="a run of `fsframe evaluate` with a curve",
    ),
    "roc": Kind(
        target="evaluations:roc",
        shows="ROC curve: true against false positive rate",
        needs="runs of `fsframe evaluate`",
        several=True,
    ),
    "calibration": Kind(
        target="evaluations:calibration",
        shows="calibration: predicted probabilities against observed frequencies",
        needs="a run of `fsframe evaluate` with classes and a classifier that gives probabilities",
    ),
    "pareto": Kind(
        target="evaluations:accuracy_against_stability",
        shows="accuracy against stability of several chains, with the Pareto front",
        needs="runs of `fsframe evaluate` or `compare -o` on one table",
        several=True,
        options=("metric",),
    ),
    "cd": Kind(
        target="evaluations:critical_difference",
        shows="mean ranks of chains over tables, with the critical difference",
        needs="runs of `fsframe compare -o` on two tables or more",
        several=True,
        options=("metric",),
    ),
    "sets": Kind(
        target="resampling:kept_sets",
        shows="which features several runs keep in common (UpSet)",
        needs="two to twelve runs with the same features",
        several=True,
    ),
    "convergence": Kind(
        target="features:convergence",
        shows="cost by iteration",
        needs="a method that iterates (immigrate, im4e, bim)",
    ),
}
"""All kinds of plots, in the order in which they are listed."""


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
        A key of `KINDS`.
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
        If matplotlib is not installed.
    """
    if name not in KINDS:
        raise RequestError(
            f"there is no plot {name!r}; plots are {', '.join(KINDS)}{did_you_mean(name, KINDS)}"
        )
    kind = KINDS[name]
    given = {key: value for key, value in options.items() if value is not None}
    wrong = sorted(set(given) - set(kind.options))
    if wrong:
        raise RequestError(f"the plot {name!r} takes no {' and no '.join(wrong)}")
    if not kind.several and len(records) != 1:
        raise RequestError(f"the plot {name!r} shows one run, not {len(records)}")
    if kind.data and data is None:
        raise RequestError(f"the plot {name!r} needs the table of the run: … RUN on DATA")
    module, _, function = kind.target.partition(":")
    drawer: Any = getattr(import_module(f"fsframe.show.plots.{module}"), function)
    subject: Any = list(records) if kind.several else records[0]
    more = (data,) if kind.data else ()
    return drawer(subject, *more, ax=ax, **given)


_TARGETS = (kind.target.partition(":") for kind in KINDS.values())
_HOMES = {function: f".{module}" for module, _, function in _TARGETS} | {"figure_bytes": ".canvas"}

__all__ = sorted(_HOMES)

__getattr__ = lazy_attributes(__name__, _HOMES)
