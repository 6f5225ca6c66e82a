"""The pictures of a report: scores, pairs, bootstraps, convergence, curves; each an SVG text."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.ranking import rank_by_score
from fsframe.errors import PluginError
from fsframe.evaluation.recorded import protocol_name, recorded_evaluation, recorded_stability
from fsframe.evaluation.summary import Evaluation
from fsframe.storage import RunRecord, StageRecord, printable
from fsframe.storage.known_tables import StabilityTables, bootstrap_tables, convergence

__all__ = ["Figure", "figures"]

_BLUE, _ORANGE, _GREY = "#2b6cb0", "#dd6b20", "#a0aec0"
_MOST = 20
_MOST_POINTS = 1000
_LARGEST = 1e150
# Text as text and fixed identifiers: equal runs give equal pages. No text is a formula: a name with
# dollar signs would be set as one, or fail to be.
_STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "fsframe", "text.parse_math": False}


@attrs.frozen(kw_only=True)
class Figure:
    """One picture: a heading, an SVG, and what it shows in a sentence."""

    heading: str
    svg: str
    caption: str


def figures(record: RunRecord) -> Iterator[Figure]:
    """The pictures that a run's arrays allow, in the order of a reader's questions.

    Raises
    ------
    PluginError
        If matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PluginError(
            "reports are drawn with matplotlib, which is not installed; install fsframe[report]"
        ) from None
    yield from _scores(record)
    yield from _pairs(record)
    for stage in record.stages:
        yield from _bootstraps(record, stage)
        yield from _convergence(record, stage)
    name = protocol_name(record)
    if name == "cross-validation":
        yield from _curve(recorded_evaluation(record).found)
    elif name == "stability-study":
        yield from _by_size(recorded_stability(record).tables)


def _drawn(draw: Callable[[Any], None], width: float, height: float) -> str:
    # A figure of its own, without pyplot: the caller's backend, open figures and style stay as they
    # are, and his style does not get into the page.
    from matplotlib import style
    from matplotlib.figure import Figure as Canvas

    with style.context(["default", _STYLE]), warnings.catch_warnings():
        # Of signs that the font lacks: the text itself goes into the picture, not its outline.
        warnings.filterwarnings("ignore", message="Glyph")
        canvas = Canvas(figsize=(width, height), layout="constrained")
        axes = canvas.subplots()
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        draw(axes)
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def _drawable(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which numbers an axis can hold: finite, and their squares too."""
    return np.abs(np.nan_to_num(values, nan=np.inf)) < _LARGEST


def _spread(length: int, most: int = _MOST_POINTS) -> NDArray[np.intp]:
    """At most so many positions from first to last: no eye tells more apart, and a file may hold
    fifty million."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).astype(np.intp))


def _short(text: str) -> str:
    """A text from a file as a label: visible signs, and not too many."""
    # matplotlib leaves labels that begin with an underscore out of a legend.
    return printable(text, longest=28).replace("_", "\u02cd", text.startswith("_"))


def _label(record: RunRecord, column: int) -> str:
    return printable(record.feature_names[column], longest=28)


def _scores(record: RunRecord) -> Iterator[Figure]:
    known = np.flatnonzero(_drawable(record.scores))
    order = known[rank_by_score(record.scores[known], _MOST)]
    shown = [int(column) for column in order]
    if not shown:
        return
    kept = set(record.selected.tolist())
    lengths = record.scores[shown]
    bounded = np.abs(lengths) < np.finfo(float).max
    # The largest double stands for no bound: a little longer than the longest there is.
    longest = 1.1 * np.abs(lengths[bounded]).max(initial=0.0) or 1.0
    lengths = np.where(bounded, lengths, np.sign(lengths) * longest)

    def draw(axes: Any) -> None:
        places = np.arange(len(shown))[::-1]
        colours = [_BLUE if column in kept else _GREY for column in shown]
        axes.barh(places, lengths, color=colours)
        for place, length in zip(places[~bounded], lengths[~bounded], strict=True):
            axes.text(length, place, " ∞", va="center")
        axes.set_yticks(places, [_label(record, column) for column in shown])
        axes.set_xlabel(f"score ({_short(record.stages[-1].name)})" if record.stages else "score")

    yield Figure(
        heading="Which features matter",
        svg=_drawn(draw, 7.0, 1.0 + 0.28 * len(shown)),
        caption=f"The {len(shown)} best scores; blue features were kept, grey ones were not.",
    )


def _pairs(record: RunRecord) -> Iterator[Figure]:
    weights = record.pair_weights
    # Enough of the strongest to involve as many columns as the picture holds.
    pairs = record.strongest_pairs(_MOST * _MOST * 10)
    pairs = [pair for pair in pairs if pair.weight < _LARGEST]
    if weights is None or not pairs:
        return
    involved: dict[int, None] = {}
    for a, b, _ in pairs:
        involved.update({a: None, b: None})
        if len(involved) >= _MOST:
            break
    columns = sorted(list(involved)[:_MOST])
    place = {column: position for position, column in enumerate(columns)}
    matrix = np.zeros((len(columns), len(columns)))
    for a, b, weight in pairs:
        if a in place and b in place:
            matrix[place[a], place[b]] = matrix[place[b], place[a]] = weight
    main = weights.main_effects()
    if main is not None:
        for position, column in enumerate(weights.columns):
            if int(column) in place:
                effect = float(main[position])
                own = effect if abs(effect) < _LARGEST else 0.0
                matrix[place[int(column)], place[int(column)]] = own

    def draw(axes: Any) -> None:
        if (matrix < 0).any():
            limit = np.abs(matrix).max()
            image = axes.imshow(matrix, cmap="RdBu", vmin=-limit, vmax=limit)
        else:
            image = axes.imshow(matrix, cmap="Blues", vmin=0.0)
        names = [_label(record, column) for column in columns]
        axes.set_xticks(range(len(columns)), names, rotation=60, ha="right")
        axes.set_yticks(range(len(columns)), names)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.figure.colorbar(image, ax=axes, label="weight", shrink=0.8)

    size = 2.4 + 0.3 * len(columns)
    yield Figure(
        heading="Weights of pairs",
        svg=_drawn(draw, size + 1.0, size),
        caption="Weights of pairs, as the method defines them; the diagonal holds what each "
        "feature does by itself.",
    )


def _bootstraps(record: RunRecord, stage: StageRecord) -> Iterator[Figure]:
    found = bootstrap_tables(stage)
    if found is None or not _drawable(found.z).all():
        return
    z, columns, n = found.z, found.columns, found.n
    critical = np.where(_drawable(found.critical), found.critical, np.nan)
    order = np.argsort(-z, kind="stable")[: 2 * _MOST]

    def draw(axes: Any) -> None:
        places = np.arange(len(order))
        axes.bar(places, z[order], color=np.where(found.relevant[order], _BLUE, _GREY))
        axes.step(places, critical[order], where="mid", color=_ORANGE, label="critical value ζ")
        axes.set_xticks(
            places, [_label(record, columns[c]) for c in order], rotation=60, ha="right"
        )
        axes.set_ylabel(f"bootstraps that kept it (of {n})")
        axes.legend(frameon=False)

    # What the test of this stage says of the coloured bars, in its own words.
    yield Figure(
        heading=f"How often each feature came back ({stage.name})",
        svg=_drawn(draw, 2.0 + 0.24 * len(order), 3.6),
        caption=" ".join(["Coloured features are relevant by the test.", *found.promise]),
    )


def _convergence(record: RunRecord, stage: StageRecord) -> Iterator[Figure]:
    cost = convergence(stage)
    if cost is None or not _drawable(cost).all():
        return
    steps = _spread(len(cost))

    def draw(axes: Any) -> None:
        axes.plot(steps, cost[steps], marker="o", markersize=3, color=_BLUE)
        axes.set_xlabel("iteration")
        axes.set_ylabel("cost")

    yield Figure(
        heading=f"Convergence ({stage.name})",
        svg=_drawn(draw, 5.0, 2.8),
        caption="The cost that the method minimises, by iteration; lower is better.",
    )


def _curve(found: Evaluation) -> Iterator[Figure]:
    if not found.curve:
        return
    sizes = [point.size for point in found.curve]
    ticks = [sizes[k] for k in _spread(len(sizes), _MOST)]

    def draw(axes: Any) -> None:
        means = np.array([point.accuracy for point in found.curve])
        errors = np.array([point.standard_error for point in found.curve])
        axes.errorbar(sizes, means, errors, color=_BLUE, marker="o", markersize=4, label="accuracy")
        axes.plot(
            sizes,
            [point.stability for point in found.curve],
            color=_ORANGE,
            marker="s",
            markersize=4,
            label="stability φ",
        )
        if found.one_standard_error is not None:
            axes.axvline(found.one_standard_error, color=_GREY, linestyle=":")
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, [str(size) for size in ticks])
        axes.set_xlabel("features used")
        axes.legend(frameon=False)

    yield Figure(
        heading="How many features to keep",
        svg=_drawn(draw, 6.0, 3.4),
        caption="Accuracy with corrected standard errors, and stability. The dotted line is the "
        "smallest number within one standard error of the most accurate.",
    )


def _by_size(tables: StabilityTables) -> Iterator[Figure]:
    named = {m.name: m.by_size for m in tables.metrics[:_MOST] if m.by_size is not None}
    if not named:
        return

    def draw(axes: Any) -> None:
        for number, (name, values) in enumerate(named.items()):
            # For sets of one size many metrics are the same number: the dashes show the one below.
            dashes = "--" if number else "-"
            steps = _spread(len(values))
            shown = np.where(_drawable(values[steps]), values[steps], np.nan)
            axes.plot(steps + 1, shown, dashes, label=_short(name))
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("best-ranked features compared")
        axes.set_ylabel("stability")
        axes.legend(frameon=False)

    yield Figure(
        heading="How stable the ranking is",
        svg=_drawn(draw, 6.0, 3.2),
        caption="Agreement of the best 1, 2, … features of every resample.",
    )
