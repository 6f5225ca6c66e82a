"""The conformance suite: inherit one class to test a method against the promises of the core.

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

from fsframe.testing.conformance import Conformance, Outcome, by_cause, run_checks
from fsframe.testing.declarations import suite_for
from fsframe.testing.metrics import StabilityMetricConformance
from fsframe.testing.predictors import ClassifierConformance, RegressorConformance
from fsframe.testing.selectors import SelectorConformance

__all__ = [
    "ClassifierConformance",
    "Conformance",
    "Outcome",
    "RegressorConformance",
    "SelectorConformance",
    "StabilityMetricConformance",
    "by_cause",
    "run_checks",
    "suite_for",
]
