"""The conformance suite of selectors."""

from __future__ import annotations

from fsframe.testing.selector_laws.counts import CountLaws
from fsframe.testing.selector_laws.grouped_rows import GroupLaws
from fsframe.testing.selector_laws.invariance import InvarianceLaws
from fsframe.testing.selector_laws.manners import MannerLaws
from fsframe.testing.selector_laws.odd_tables import OddTableLaws
from fsframe.testing.selector_laws.repetition import RepetitionLaws
from fsframe.testing.selector_laws.results import ResultLaws

__all__ = ["SelectorConformance"]


class SelectorConformance(
    ResultLaws,
    RepetitionLaws,
    InvarianceLaws,
    CountLaws,
    OddTableLaws,
    GroupLaws,
    MannerLaws,
):
    """Everything the core promises of a selector; inherit it and write `make`.

    Attributes
    ----------
    name : str, optional
        The name it is registered under, if it is.
    gives : frozenset of str, optional
        What its entry says that it gives.

    Notes
    -----
    A stage that resamples others is made with a base, such as ``Npfs(base="mim:top=2")``.
    """
