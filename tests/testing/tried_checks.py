"""Suites made on purpose: what becomes of all checks of a method, or of one of them.

What is broken on purpose does not count in the tally of the run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any
from unittest import mock

from fsframe.testing import Outcome, SelectorConformance, conformance, run_checks
from fsframe.testing.conformance import Conformance


def suite_of(make: Callable[[], Any], base: type[Conformance], **body: Any) -> type[Conformance]:
    """The checks of `base` on what `make` gives, the rest of the suite in `body`."""
    return type("OnPurpose", (base,), {"make": staticmethod(lambda: make()), **body})


def failures(
    make: Callable[[], Any], base: type[Conformance] = SelectorConformance, **body: Any
) -> dict[str, str]:
    """The checks that fail, with what they say."""
    with mock.patch.object(conformance, "TALLY", {}):
        result = list(run_checks(suite_of(make, base, **body)))
    return {outcome.check: outcome.detail for outcome in result if outcome.status == "failed"}


def outcome_of(
    check: str, make: Callable[[], Any], base: type[Conformance] = SelectorConformance, **body: Any
) -> Outcome:
    """What becomes of one check; the others are not tried."""
    tally: dict[str, list[Outcome]] = {}
    with mock.patch.object(conformance, "TALLY", tally), contextlib.suppress(BaseException):
        getattr(suite_of(make, base, **body)(), f"test_{check}")()
    return tally["OnPurpose"][-1]
