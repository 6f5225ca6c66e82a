"""Proposals for tables: one for a question of its own, one after that of fsframe."""

from fsframe.registry.entries import ProposalEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_proposals():
    yield ProposalEntry(
        name="spread",
        question="which feature varies most",
        chain="variance",
        promise="none",
        tables="classes",
        when={"classification"},
    )
    yield ProposalEntry(
        name="after", question="which features are relevant, each by itself", chain="mim:top=1"
    )
