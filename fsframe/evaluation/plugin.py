"""The core as a plugin of its own: protocols, measures, a log of runs, report sections."""

from __future__ import annotations

import re
from collections.abc import Iterator

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


_HARRELL = (
    "Harrell, Califf, Pryor, Lee, Rosati 1982, Evaluating the yield of medical tests, "
    "JAMA 247(18):2543-2546, doi:10.1001/jama.1982.03320430047030"
)

_MEASURES = {
    "Accuracy": "Share of rows predicted correctly",
    "BalancedAccuracy": "Mean sensitivity over the classes",
    "Auc": "Area under the ROC curve; with more than two classes, the mean over pairs of classes",
    "AucOvr": "Mean over the classes of the area under the ROC curve of that class against the "
    "rest",
    "Sensitivity": "Share of the rows of a class that are predicted as that class (recall)",
    "Specificity": "Share of the rows of other classes that are correctly not predicted as the "
    "class",
    "Precision": "Share of the rows predicted as a class that belong to it",
    "F1": "Harmonic mean of precision and sensitivity",
    "Matthews": "Matthews correlation between predicted and true classes",
    "LogLoss": "Mean negative log-probability of the true class, in nats",
    "Brier": "Brier score: half the mean squared error of the predicted probabilities",
    "Calibration": "Calibration part of the Brier score (reliability)",
    "R2": "Coefficient of determination, R²",
    "Mae": "Mean absolute error",
    "Rmse": "Root mean squared error",
    "Concordance": "Share of pairs of rows whose predictions are in the right order",
    "CIndex": "Harrell's c: share of comparable pairs whose predicted risks are in the right order",
}
"""Class → summary; a measure has the name of its class, in lower-case words with hyphens."""

_ON_REQUEST = ("AucOvr", "Precision")
"""Measures that are not computed by default."""

_KNOWN_AS = {
    "Auc": ("auroc", "roc-auc"),
    "BalancedAccuracy": ("bacc", "uar"),
    "CIndex": ("harrells-c",),
    "F1": ("f1-macro", "macro-f1"),
    "LogLoss": ("cross-entropy",),
    "Mae": ("mean-absolute-error",),
    "Matthews": ("mcc", "phi-coefficient"),
    "R2": ("r-squared",),
    "Sensitivity": ("recall", "tpr"),
    "Specificity": ("tnr",),
}

_REFERENCES = {
    "BalancedAccuracy": "Brodersen, Ong, Stephan, Buhmann 2010, The balanced accuracy and its "
    "posterior distribution, ICPR, pp. 3121-3124, doi:10.1109/ICPR.2010.764",
    "Auc": "Hand, Till 2001, A simple generalisation of the area under the ROC curve for multiple "
    "class classification problems, Mach. Learn. 45:171-186, doi:10.1023/A:1010920819831",
    "AucOvr": "Fawcett 2006, An introduction to ROC analysis, Pattern Recognit. Lett. "
    "27(8):861-874, doi:10.1016/j.patrec.2005.10.010",
    "F1": "van Rijsbergen 1979, Information retrieval, 2nd ed., Butterworths, ISBN 0-408-70929-4, "
    "ch. 7",
    "Matthews": "Matthews 1975, Comparison of the predicted and observed secondary structure of T4 "
    "phage lysozyme, Biochim. Biophys. Acta 405(2):442-451, doi:10.1016/0005-2795(75)90109-9; "
    "Gorodkin 2004, Comparing two K-category assignments by a K-category correlation coefficient, "
    "Comput. Biol. Chem. 28:367-374, doi:10.1016/j.compbiolchem.2004.09.006",
    "LogLoss": "Good 1952, Rational decisions, J. R. Stat. Soc. B 14(1):107-114, "
    "doi:10.1111/j.2517-6161.1952.tb00104.x",
    "Brier": "Brier 1950, Verification of forecasts expressed in terms of probability, Mon. "
    "Weather Rev. 78(1):1-3, doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2",
    "Calibration": "Dimitriadis, Gneiting, Jordan 2021, Stable reliability diagrams for "
    "probabilistic classifiers, Proc. Natl. Acad. Sci. USA 118(8):e2016191118, "
    "doi:10.1073/pnas.2016191118",
    "Concordance": _HARRELL,
    "CIndex": _HARRELL,
}


def _hyphenated(name: str) -> str:
    return re.sub("(?<!^)(?=[A-Z])", "-", name).lower()


@hookimpl
def fsframe_measures() -> Iterator[MeasureEntry]:
    """Measures of predicted classes, of scores and probabilities, and of numbers."""
    for name, summary in _MEASURES.items():
        yield MeasureEntry(
            name=_hyphenated(name),
            target=f"fsframe.evaluation.measures:{name}",
            summary=summary,
            default=name not in _ON_REQUEST,
            known_as=dict.fromkeys(_KNOWN_AS.get(name, ()), _hyphenated(name)),
            reference=_REFERENCES.get(name, ""),
        )


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
