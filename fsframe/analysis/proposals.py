"""The chains that are proposed for a table, and how long they would take."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from fsframe.analysis.proposal_rules import RULES, Shape
from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError
from fsframe.method.run import Cost
from fsframe.method.selector import Selector
from fsframe.registry import selectors
from fsframe.table.dataset import Dataset

_HOUR = 3600.0


@attrs.frozen(kw_only=True)
class Proposal:
    """A chain for a table.

    Parameters
    ----------
    chain : str
    question : str
        What the kept features answer; empty if unknown.
    promise : str
        What the chain bounds, in words; empty if unknown.
    cost : Cost, optional
    """

    chain: str
    question: str = ""
    promise: str = ""
    cost: Cost | None = None


def proposals_for(data: Dataset) -> list[Proposal]:
    """One chain for each question, by the first rule whose tables are such and whose chain takes
    this one; if there is none, the first chain that methods propose themselves."""
    shape = Shape.of(data)
    found: dict[str, Proposal] = {}
    for rule in RULES:
        if rule.question in found or not rule.applies(shape):
            continue
        text = rule.text(shape)
        try:
            chain = Chain.parse(text)
            chain.check_request(data)
        except FsframeError:  # A plugin is blocked, or a role of the table is refused.
            continue
        found[rule.question] = Proposal(
            chain=text,
            question=rule.question,
            promise=rule.promise,
            cost=chain.cost(data.n_samples, data.n_features),
        )
    if not found:
        text, cost = _of_methods(data, shape.gaps)
        return [Proposal(chain=text, cost=cost)] if text else []
    return list(found.values())


def _of_methods(data: Dataset, gaps: bool) -> tuple[str, Cost | None]:
    """The first chain that methods propose and that takes less than an hour, else the last; empty
    if nothing is proposed for such a table."""
    found: list[tuple[str, Cost | None]] = []
    for test in _proposals(data, gaps, wraps=True):
        for base in _proposals(data, gaps, wraps=False):
            chain = f"{base} {test}"
            cost = Chain.parse(chain).cost(data.n_samples, data.n_features)
            found.append((chain, cost))
            if cost is not None and cost.seconds < _HOUR:
                return found[-1]
    return found[-1] if found else ("", None)


def proposed_chains(data: Dataset) -> list[str]:
    """Every stage that methods propose for such a table as a separate chain, by priority."""
    gaps = any(np.isnan(data.columns(a, b)).any() for a, b in data.column_blocks())
    return list(_proposals(data, gaps, wraps=False))


def first_in_parts(data: Dataset) -> str:
    """The stage to start with on a table in parts: the first proposed one that works on such a
    table; empty if there is none."""
    gaps = bool(data.matrix.facts.missing.any())
    for text in _proposals(data, gaps, wraps=False):
        methods = [stage.method for stage in Chain.parse(text).stages]
        if all(isinstance(m, Selector) and m.works_in_parts(data) for m in methods):
            return text
    return ""


def _proposals(data: Dataset, gaps: bool, *, wraps: bool) -> Iterator[str]:
    """The stages that entries propose, by priority."""
    offers = [o for o in selectors.offers() if getattr(o.entry, "proposed", 0)]
    for offer in sorted(offers, key=lambda o: (getattr(o.entry, "proposed", 0), o.name)):
        if getattr(offer.entry, "wraps", False) != wraps:
            continue
        method: type[Selector] = selectors[offer.name]
        text = method.proposal(data, gaps) if wraps or data.task in method.tasks else ""
        if text and gaps and not wraps and not method.takes_missing:
            fill = [o.name for o in selectors.offers() if "fill" in getattr(o.entry, "gives", ())]
            text = f"{fill[0]} {text}" if fill else ""
        if text:
            yield text
