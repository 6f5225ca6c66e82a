"""The core as a plugin of its own: protocols, measures, a log of runs, report sections."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from fsframe.registry.entries import (
    MeasureEntry,
    ObserverEntry,
    ReportSectionEntry,
    SelectorEntry,
)
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    """The protocols as wrapping stages."""
    yield SelectorEntry(
        name="cross-validation",
        target="fsframe.evaluation.cross_validation:CrossValidation",
        summary="Cross-validated performance of a chain, and how often it selects each feature",
        family="protocol",
        gives=frozenset({"scores"}),
        reference="Ambroise, McLachlan 2002, Selection bias in gene extraction on the basis of "
        "microarray gene-expression data, Proc. Natl. Acad. Sci. USA 99(10):6562-6566, "
        "doi:10.1073/pnas.102102699",
        wraps=True,
    )
    yield SelectorEntry(
        name="stability-study",
        target="fsframe.evaluation.stability_study:StabilityStudy",
        summary="Stability of the features that a chain selects on resamples of the rows",
        family="protocol",
        gives=frozenset({"scores"}),
        reference="Kalousis, Prados, Hilario 2007, Stability of feature selection algorithms: a "
        "study on high-dimensional spaces, Knowl. Inf. Syst. 12:95-116, "
        "doi:10.1007/s10115-006-0040-8; Nogueira, Sechidis, Brown 2018, On the stability of "
        "feature selection algorithms, J. Mach. Learn. Res. 18(174):1-54",
        wraps=True,
    )


def _hyphenated(name: str) -> str:
    return re.sub("(?<!^)(?=[A-Z])", "-", name).lower()


@hookimpl
def fsframe_measures() -> Iterator[MeasureEntry]:
    """Measures of predicted classes, of scores and probabilities, and of numbers.

    They are computed by default unless measures.toml says otherwise.
    """
    declared = Path(__file__).with_name("measures.toml").read_text("utf-8")
    for of_class, fields in tomllib.loads(declared).items():
        name = _hyphenated(of_class)
        terms = dict.fromkeys(fields.pop("known_as", ()), name)
        target = f"fsframe.evaluation.measures:{of_class}"
        yield MeasureEntry(name=name, target=target, known_as=terms, **{"default": True, **fields})


@hookimpl
def fsframe_events() -> Iterator[ObserverEntry]:
    """The observer that logs runs."""
    yield ObserverEntry(
        name="run-log",
        target="fsframe.chains.recording:RunLog",
        summary="Reports runs to Python's logging, as fsframe.run",
    )


# class, summary, place
_SECTIONS = (
    ("Verdict", "The answer in two sentences", 0),
    ("Warnings", "What weakens the result", 10),
    ("Measures", "Results of an evaluation or a stability study", 20),
    ("Pictures", "The plots that apply to the run", 30),
    ("Features", "The features, the kept ones first", 40),
    ("Pairs", "Weighted or tested pairs of features", 50),
    ("Checklist", "Data leakage and other points of reporting guidelines", 70),
    ("MethodsText", "Sentences for the methods section of a paper", 80),
    ("HowMade", "Commands, stages, digests and versions", 90),
)


@hookimpl
def fsframe_report_sections() -> Iterator[ReportSectionEntry]:
    """Sections of the report."""
    for name, summary, place in _SECTIONS:
        target = f"fsframe.show.sections:{name}"
        yield ReportSectionEntry(
            name=_hyphenated(name), target=target, summary=summary, place=place
        )
