"""What the pair weights of a record are called, as the method that made them declares."""

from __future__ import annotations

from fsframe.registry import selectors
from fsframe.storage import RunRecord

__all__ = ["pair_weight_words"]


def pair_weight_words(record: RunRecord) -> tuple[str, str]:
    """What the pair weights of a record are, and how to read them; for headings.

    Parameters
    ----------
    record : RunRecord

    Returns
    -------
    what, how : str
        As the entry of the method that made them declares (`SelectorEntry.pair_weight`);
        ``"weight"`` and nothing where it is not installed or says nothing.
    """
    stage = record.pair_stage
    declared = ""
    if stage is not None and len(offers := selectors.matching(stage.name)) == 1:
        declared = getattr(offers[0].entry, "pair_weight", "")
    what, _, how = (declared or "weight").partition(": ")
    return what, how
