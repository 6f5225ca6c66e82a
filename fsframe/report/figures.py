"""The figures of a report, in the order of a reader's questions; each as SVG text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import attrs

from fsframe.errors import RequestError
from fsframe.plots.canvas import figure_bytes
from fsframe.plots.kinds import KINDS, draw
from fsframe.report.pair_wording import interacting
from fsframe.storage import RunRecord
from fsframe.storage.records import bootstrap_tables
from fsframe.table.dataset import Dataset


@attrs.frozen(kw_only=True)
class Figure:
    """A figure: heading, SVG and caption."""

    heading: str
    svg: str
    caption: str


_OF_ONE = {
    "sizes": (
        "How many features to keep",
        "Accuracy (R² of a numeric target) with corrected standard errors, and stability, by the "
        "number of features used. "
        "The dotted line is the smallest number within one standard error of the most accurate.",
    ),
    "roc": (
        "ROC curve: true against false positive rate",
        "On held-out rows; mean over the repetitions.",
    ),
    "calibration": (
        "Calibration: predicted probabilities against observed frequencies",
        "On the diagonal, eight in ten of the rows given a probability of 0.8 belong to the "
        "class. Grey: number of predictions.",
    ),
    "stability": (
        "How stable the ranking is",
        "Agreement of the best 1, 2, … features of all resamples; 1 is always the same.",
    ),
    "scores": (
        "Which features matter",
        "Filled: kept. Hollow: the best that were not. Squares, where there are resamples: share "
        "of them that keep the feature, with its interval.",
    ),
    "classes": (
        "How the kept features differ between the classes",
        "A dot is a row, the bar the middle half of a class, the tick its median.",
    ),
    "network": (
        "Which pairs interact",
        "Lines join pairs whose joint effect on the label is not the sum of both effects; "
        "thicker lines have smaller p.",
    ),
    "pair": ("The first pair", "The rows by class on both features."),
    "matrix": (
        "Weights of pairs",
        "Weights as the method defines them, clustered so that related features are next to "
        "each other; the diagonal is the weight of each feature alone.",
    ),
    "tests": ("What the test decided by", ""),
    "bootstraps": (
        "How often each feature was selected",
        "A row is a resample, a dark cell a feature that it keeps.",
    ),
    "convergence": (
        "Convergence",
        "The cost that the method minimises, by iteration; lower is better.",
    ),
}

_OF_SEVERAL = {
    "pareto": (
        "Performance against stability",
        "Filled: no other chain is better in both. Bars: corrected standard error, 95 % interval.",
    ),
    "cd": (
        "Mean ranks over the tables",
        "Chains joined by a thick bar do not differ significantly by Wilcoxon's test with "
        "Holm's adjustment.",
    ),
    "roc": ("ROC curve: true against false positive rate", "On held-out rows."),
    "sets": (
        "Which features the runs keep in common",
        "A column is a set of runs (dark dots), its bar the number of features that exactly these "
        "keep.",
    ),
}


def figures(record: RunRecord, data: Dataset | None = None) -> Iterator[Figure]:
    """The figures that can be drawn from a run, and with its table those of values.

    Raises
    ------
    PluginError
        If matplotlib is not installed.
    """
    for kind in _OF_ONE:
        if KINDS[kind].data and data is None:
            continue
        # A picture of pairs would suggest an interaction that was not found.
        if kind in ("network", "pair") and (interacting(record) == 0 or not record.selected.size):
            continue
        svg = _drawn(kind, [record], data)
        if svg:
            heading, caption = _words(kind, record)
            yield Figure(heading=heading, svg=svg, caption=caption)


def _words(kind: str, record: RunRecord) -> tuple[str, str]:
    """Heading and caption of a figure, which say what was found."""
    heading, caption = _OF_ONE[kind]
    if kind == "tests":
        return heading, " ".join(_words_of_test(record))
    if kind == "scores":
        return _heading_of_scores(record), caption
    if kind == "pair":
        found = interacting(record)
        return "The pair " + (
            "that interacts most clearly" if found else "of the largest weight"
        ), caption
    return heading, caption


def _heading_of_scores(record: RunRecord) -> str:
    if not record.selected.size:
        return "The best features, none of which was kept"
    columns = record.feature_table().columns
    tested = "p" in columns or "q" in columns
    return "Which features matter" if tested else "The features by their scores"


def _words_of_test(record: RunRecord) -> Iterator[str]:
    found = [t for t in map(bootstrap_tables, record.stages) if t is not None]
    relevant = any(tables.relevant.any() for tables in found)
    yield "Features above the line are kept." if relevant else "No feature is above the line."
    if any(tables.doubt is not None and (tables.doubt > 0.05).any() for tables in found):
        yield "Hollow diamonds are borderline: another seed may decide otherwise."
    for tables in found:
        yield from tables.promise


def figures_of_several(
    records: Sequence[RunRecord], kinds: Mapping[str, str | None] | None = None
) -> Iterator[Figure]:
    """The figures that can be drawn from several runs, of `kinds`, each with its measure; by
    default all kinds, by accuracy.
    """
    asked = dict.fromkeys(_OF_SEVERAL) if kinds is None else kinds
    for kind, metric in asked.items():
        heading, caption = _OF_SEVERAL[kind]
        svg = _drawn(kind, records, None, metric)
        if svg:
            yield Figure(heading=heading, svg=svg, caption=caption)


def _drawn(
    kind: str, records: Sequence[RunRecord], data: Dataset | None, metric: str | None = None
) -> str:
    try:
        figure = draw(kind, records, data, metric=metric)
    except RequestError:
        # The run lacks the data for it.
        return ""
    svg = figure_bytes(figure).decode()
    return _own_identifiers(svg[svg.index("<svg") :], kind)


def _own_identifiers(svg: str, kind: str) -> str:
    """Make the identifiers of an SVG unique within a page."""
    svg = re.sub(r'\bid="', f'id="{kind}-', svg)
    svg = re.sub(r'(\bxlink:href="#)', rf"\1{kind}-", svg)
    return re.sub(r"(url\(#)", rf"\1{kind}-", svg)
