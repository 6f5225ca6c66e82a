"""The conformance suite of selectors."""

from __future__ import annotations

from fsframe.testing.selector_laws.grouped_rows import GroupLaws
from fsframe.testing.selector_laws.invariance import InvarianceLaws
from fsframe.testing.selector_laws.kinds_of_tables import TableLaws
from fsframe.testing.selector_laws.reproducibility import ReproducibilityLaws
from fsframe.testing.selector_laws.results import ResultLaws

__all__ = ["SelectorConformance"]


class SelectorConformance(
    ResultLaws,
    ReproducibilityLaws,
    InvarianceLaws,
    TableLaws,
    GroupLaws,
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
