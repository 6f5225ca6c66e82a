"""A hook for ``conftest.py`` that reports how many conformance checks were run.

In the ``conftest.py`` of a plugin's tests::

    from fsframe.testing.pytest_summary import pytest_terminal_summary
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from fsframe.testing.conformance import TALLY


def tally_line() -> str:
    """Number of checks and methods, and the outcomes."""
    outcomes = Counter(outcome.status for found in TALLY.values() for outcome in found)
    parts = ", ".join(f"{number} {status}" for status, number in sorted(outcomes.items()))
    return f"fsframe.testing: {outcomes.total()} checks of {len(TALLY)} methods: {parts}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write the tally at the end of a run with any conformance checks."""
    if TALLY:
        terminalreporter.write_line(tally_line())
