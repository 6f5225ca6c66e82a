"""The conformance suite of selectors."""

from __future__ import annotations

from fsframe.testing.selector_checks.invariance import GroupChecks, InvarianceChecks
from fsframe.testing.selector_checks.kinds_of_tables import TableChecks
from fsframe.testing.selector_checks.promises import PromiseChecks
from fsframe.testing.selector_checks.reproducibility import ReproducibilityChecks
from fsframe.testing.selector_checks.results import ResultChecks


class SelectorConformance(
    ResultChecks,
    ReproducibilityChecks,
    InvarianceChecks,
    TableChecks,
    GroupChecks,
    PromiseChecks,
):
    """Everything the core promises of a selector; inherit it and write `make`.

    Attributes
    ----------
    name : str, optional
        The name it is registered under.
    gives : frozenset of str, optional
        The field `gives` of its entry.

    Notes
    -----
    A stage that resamples others needs a base, such as ``Npfs(base="mim:top=2")``.
    """
