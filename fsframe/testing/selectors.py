"""The conformance suite of selectors."""

from __future__ import annotations

from fsframe.testing.selector_laws.grouped_rows import GroupLaws
from fsframe.testing.selector_laws.invariance import InvarianceLaws
from fsframe.testing.selector_laws.kinds_of_tables import TableLaws
from fsframe.testing.selector_laws.repetition import RepetitionLaws
from fsframe.testing.selector_laws.results import ResultLaws
from fsframe.testing.selector_laws.side_effects import SideEffectLaws

__all__ = ["SelectorConformance"]


class SelectorConformance(
    ResultLaws,
    RepetitionLaws,
    InvarianceLaws,
    TableLaws,
    GroupLaws,
    SideEffectLaws,
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
