"""What `inspect` proposes for the designs of the ledger, beside the best that keeps its promise."""

from __future__ import annotations

import attrs
import numpy as np
from contenders import CONTENDERS, Contender
from designs import DESIGNS, Design, tables
from page import Ledger, Mean, error_of, missed

from fsframe import Dataset
from fsframe.registry.entries import NEEDED_QUESTION, ProposalEntry
from fsframe.show.proposals import rules

ENOUGH = 10
"""Tables with a signal from which a contender counts."""


@attrs.frozen
class Verdict:
    """A rule on one design: what its chain and the best contender reach (F1, relevant columns; of
    needed features, causal ones)."""

    rule: ProposalEntry
    design: Design
    own: Mean
    own_keeps: bool
    best: Mean
    first: Contender

    @property
    def holds(self) -> bool:
        """Whether the chain keeps its promise, and is first or within a standard error of it."""
        spread = float(np.hypot(self.own.error, self.best.error))
        return self.own_keeps and self.best.value - self.own.value <= spread


def first_table(design: Design) -> Dataset:
    """Table 0 of a design, with a signal, as `inspect` has it."""
    return tables(design, True, 0)[0].dataset()


def keeps(ledger: Ledger, design: Design, contender: Contender) -> bool:
    """Whether a contender promises something and no cell of the design refutes it."""
    if not (contender.promise and contender.promised):
        return False
    labels = ("null",) if contender.only_null else ("null", "signal")
    return not any(
        missed(contender, error_of(contender, design, ledger.of(design, label, contender),
                                   label == "signal"))
        for label in labels
    )  # fmt: skip


def contender_of(rule: ProposalEntry, design: Design) -> Contender:
    """The contender that runs the chain of a rule."""
    (found,) = [c for c in CONTENDERS if c.chain is not None and c.chain(design) == rule.chain]
    return found


def verdicts(ledger: Ledger) -> list[Verdict]:
    """One for each rule and design that it names."""
    found = []
    for rule in rules():
        for design in (d for d in DESIGNS if d.name in rule.designs):
            own = contender_of(rule, design)
            needed = rule.question == NEEDED_QUESTION
            judged = "f1_causal" if needed else "f1_relevant"
            means = {c.name: ledger.mean(design, c, judged) for c in CONTENDERS}
            # What bounds columns that are not causes answers the question of what is needed.
            asked = [c for c in CONTENDERS if needed or c.false_if_not != "causal"]
            able = [
                c for c in asked
                if c is own or (means[c.name].tables >= ENOUGH and keeps(ledger, design, c))
            ]  # fmt: skip
            first = max(able, key=lambda c: means[c.name].value)
            found.append(
                Verdict(
                    rule=rule,
                    design=design,
                    own=means[own.name],
                    own_keeps=keeps(ledger, design, own) and means[own.name].tables >= ENOUGH,
                    best=means[first.name],
                    first=first,
                )
            )
    return found


def section(ledger: Ledger) -> list[str]:
    """The rules as a table of the page."""
    lines = [
        "## What `inspect` proposes",
        "",
        "For each question `inspect` proposes the chain of the first line that fits the table and "
        "whose chain takes it (`fsframe_proposals` of the plugins; a test compares the lines with "
        "the measurements).",
        "",
        f"* **F1** is that of the chain; in parentheses that of the best contender with {ENOUGH} "
        "tables or more that keeps its promise on the design, if that is another. **behind**: it "
        "is better by more than one standard error.",
        "* For features that are needed, F1 is against causal columns; for the other questions "
        "contenders that promise needed features are left out.",
        "* **s**: processor seconds for a table.",
        "* Lines without a design were not measured separately.",
        "",
        "|for tables with|chain|promise|s|designs: F1 of the chain, of the first|",
        "|-|-|-|-|-|",
    ]
    found = verdicts(ledger)
    question = ""
    for rule in rules():
        if rule.question != question:
            question = rule.question
            lines.append(f"|*{question or 'where no other chain takes the table'}*|||||")
        own = [v for v in found if v.rule == rule]
        shown = "; ".join(
            f"{v.design.name} {v.own.short()}"
            + ("" if v.first is contender_of(rule, v.design)
               else f" ({v.first.name} {v.best.short()})")
            + ("" if v.holds else " **behind**")
            for v in own
        )  # fmt: skip
        rows = [
            float(r["seconds"]) for v in own
            for r in ledger.of(v.design, "signal", contender_of(rule, v.design))
        ]  # fmt: skip
        seconds = f"{np.median(rows):.2g}" if rows else ""
        lines.append(f"|{rule.tables}|`{rule.chain}`|{rule.promise}|{seconds}|{shown}|")
    return [*lines, ""]
