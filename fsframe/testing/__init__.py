"""The conformance suite: inherit one class to test what a plugin offers against the promises of
the core. There is one class each for selectors, stages that resample others, classifiers,
regressors, stability metrics, measures, readers, engines and commands.

In a plugin's own tests::

    from fsframe.testing import SelectorConformance
    from my_package.variance import Variance

    class TestVariance(SelectorConformance):
        @staticmethod
        def make():
            return Variance()

Each check is one test. A check that a method breaks for a good reason is declared with that reason,
in the test class::

        exceptions = {"scale_changes_nothing": "the variance depends on the unit"}

A declared exception that is not needed fails, so declarations stay true. Nothing here imports
pytest; ``fsframe check NAME`` runs the same checks from the command line, with the exceptions that
a ``conformance`` module next to the method's module declares (`fsframe.testing.declarations`).
"""

from __future__ import annotations

from fsframe.testing.conformance import (
    Conformance,
    Outcome,
    by_cause,
    pytest_terminal_summary,
    run_checks,
)
from fsframe.testing.declarations import suite_for
from fsframe.testing.measures import MeasureConformance, StabilityMetricConformance
from fsframe.testing.predictors import ClassifierConformance, RegressorConformance
from fsframe.testing.selectors import SelectorConformance, WrappingConformance
from fsframe.testing.services import CommandConformance, EngineConformance, ReaderConformance

__all__ = [
    "ClassifierConformance",
    "CommandConformance",
    "Conformance",
    "EngineConformance",
    "MeasureConformance",
    "Outcome",
    "ReaderConformance",
    "RegressorConformance",
    "SelectorConformance",
    "StabilityMetricConformance",
    "WrappingConformance",
    "by_cause",
    "pytest_terminal_summary",
    "run_checks",
    "suite_for",
]
