"""Plots of runs as matplotlib figures, never pyplot; the kinds of plots by name.

Every function takes finished runs and optionally an `Axes` to draw on, and returns the figure.
`KINDS` says what each kind shows and needs, and which function draws it; a run that lacks what a
kind needs is refused. The functions are imported when they are used, so that listing the kinds
stays light.
"""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
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
    options : sequence of str
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
    options: Sequence[str] = ()
    heading: str = ""
    caption: str = ""
    place: int = 0
    compares: str = ""


_DECLARED = tomllib.loads(Path(__file__).with_name("kinds.toml").read_text("utf-8"))

KINDS: Mapping[str, Kind] = {name: Kind(**fields) for name, fields in _DECLARED.items()}
"""The bundled kinds of plots, in the order in which they are listed; kinds.toml declares them."""


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
        raise RequestError(f"the plot {name!r} needs the table of the run: data=, a Dataset")
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
