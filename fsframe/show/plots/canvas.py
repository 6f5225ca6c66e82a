"""Parts that all plots share: colours, axes without pyplot, labels, reproducible bytes."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import RequestError
from fsframe.storage import RunRecord
from fsframe.text import printable

BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#8C8C8C"
COLOURS = (BLUE, VERMILLION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
"""Distinguishable with colour vision deficiency (Okabe, Ito 2008), except the last."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 3)), (0, (3, 1)))
"""Markers and dashes make the same distinctions as colours, for print without colour."""

FORMATS = ("svg", "pdf", "png")
_LINE = 36
"""Characters in a line of the label of a colour bar."""


def look(number: int) -> dict[str, Any]:
    """Colour, marker and dashes of a line by its number; they repeat after 64 lines.

    After each eight lines the colours move on by one, so that no pair of colour and marker returns.
    """
    turn, place = divmod(number, len(MARKERS))
    colour = COLOURS[(place + turn) % len(COLOURS)]
    return {"color": colour, "marker": MARKERS[place], "ls": DASHES[place]}


_LARGEST = 1e150
# Fixed identifiers, so that equal runs give equal bytes. PDFs embed TrueType fonts; SVG text stays
# text. Formulas are off: a name with dollar signs would be typeset as one, or raise an error.
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fsframe",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "image.interpolation": "none",
}
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}


def _style() -> dict[str, Any]:
    """matplotlib's defaults with our settings, regardless of the caller's; without a backend."""
    import matplotlib

    defaults: Any = matplotlib.rcParamsDefault
    # Settings of the backend are left alone: setting them would select one.
    kept = {
        key: defaults[key] for key in defaults if not key.startswith(("backend", "interactive"))
    }
    return {**kept, **_STYLE}


@contextmanager
def axes_for(ax: Any, width: float, height: float, panels: int = 1) -> Iterator[list[Any]]:
    """Axes to draw on: the given one, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes or None
        The caller's axes; their figure and style are not changed.
    width, height : float
        Size of a new figure, in inches.
    panels : int
        Number of axes side by side in a new figure.
    """
    import matplotlib

    style: Any = _style() if ax is None else {"text.parse_math": False}
    with matplotlib.rc_context(style):
        if ax is not None:
            yield [ax]
            return
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained")
        ratios = [3, 2][:panels] if panels > 1 else [1]
        made = figure.subplots(1, panels, squeeze=False, sharey=True, width_ratios=ratios)
        yield list(made[0])


def figure_bytes(
    figure: Any, form: str = "svg", dpi: float = 200.0, outlines: bool = False
) -> bytes:
    """A figure as the bytes of a file, equal for equal figures.

    Parameters
    ----------
    figure : matplotlib Figure
    form : {"svg", "pdf", "png"}
    dpi : float
        Resolution of PNG, in pixels per inch.
    outlines : bool
        Draw SVG text as shapes, which look the same everywhere, instead of text that can be read,
        searched and edited.

    Raises
    ------
    RequestError
        If there is no such format.
    """
    if form not in FORMATS:
        raise RequestError(f"plots are written as {', '.join(FORMATS)}, not {form!r}")
    import matplotlib

    style: Any = {**_style(), "svg.fonttype": "path" if outlines else "none"}
    target = io.BytesIO()
    with matplotlib.rc_context(style), warnings.catch_warnings():
        # Warnings of characters that the font lacks: SVG contains the text itself, not its shapes.
        warnings.filterwarnings("ignore", message="Glyph")
        figure.savefig(target, format=form, dpi=dpi, metadata=_METADATA[form])
    return target.getvalue()


def lacks(record: RunRecord, what: str, how: str) -> RequestError:
    """The error for a run that lacks what a plot needs."""
    return RequestError(f"the run of `{printable(record.chain, longest=80)}` has no {what}; {how}")


def short(text: str, longest: int = 28) -> str:
    """A text from a file as a label: printable characters, shortened."""
    # matplotlib leaves labels that begin with an underscore out of a legend.
    return printable(text, longest=longest).replace("_", "\u02cd", text.startswith("_"))


def colour_bar(panel: Any, coloured: Any, text: str) -> None:
    """Add a colour bar to a panel, with its whole label on several lines."""
    lines = textwrap.wrap(printable(text), _LINE)
    bar = panel.figure.colorbar(coloured, ax=panel, label="\n".join(lines))
    bar.ax.yaxis.label.set_parse_math(False)


def label_axis(axis: Any, places: Iterable[float], labels: Sequence[str], **style: Any) -> None:
    """Set names as tick labels, with dollar signs shown literally."""
    axis.set_ticks(list(places), list(labels), **style)
    for tick in axis.get_ticklabels():
        tick.set_parse_math(False)


def say_left_out(panel: Any, lines: int) -> None:
    """Add to the legend how many `lines` are not drawn, if there are any."""
    if lines > 0:
        panel.plot([], [], " ", label=f"and {lines} more, not drawn")


def legend_above(panel: Any, columns: int, **style: Any) -> None:
    """Place the legend above a panel, in `columns` columns."""
    panel.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, **style)


def legend_beside(panel: Any) -> None:
    """Place the legend on the right of a panel."""
    panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def inside(panel: Any, x: float, y: float, text: str, **style: Any) -> None:
    """Write text in the middle of a cell."""
    panel.text(x, y, text, ha="center", va="center", **style)


def without_frame(panel: Any) -> None:
    """Hide the frame of a panel and its ticks, not their labels."""
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)


def square_of_shares(panel: Any, diagonal: str, x: str, y: str) -> None:
    """Prepare a square panel of two shares, with axis labels and a dotted diagonal."""
    panel.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":", label=diagonal)
    panel.set(xlabel=x, ylabel=y, aspect="equal")


def drawable(values: ArrayLike) -> NDArray[np.bool_]:
    """Mask of the numbers that can be drawn: finite, with finite squares."""
    return np.abs(np.nan_to_num(np.asarray(values, float), nan=np.inf)) < _LARGEST


def spread(length: int, most: int = 1000) -> NDArray[np.intp]:
    """At most `most` evenly spaced positions: more could not be distinguished, and a file may hold
    fifty million."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).astype(np.intp))
