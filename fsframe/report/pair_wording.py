"""Wording for the pairs of a record: names of their weights, and results of their tests."""

from __future__ import annotations

from fsframe.registry import selectors
from fsframe.storage import RunRecord, printable

__all__ = ["pair_test_words", "pair_weight_words"]

_LEVEL = 0.05
_NAMED = 5


def pair_weight_words(record: RunRecord) -> tuple[str, str]:
    """Meaning of the pair weights of a record, and how to read them; for headings.

    Both are as the entry of the method that made them declares (`SelectorEntry.pair_weight`);
    ``"weight"`` and nothing where it is not installed or says nothing.
    """
    stage = record.pair_stage
    declared = ""
    if stage is not None and len(offers := selectors.matching(stage.name)) == 1:
        declared = getattr(offers[0].entry, "pair_weight", "")
    what, _, how = (declared or "weight").partition(": ")
    return what, how


def pair_test_words(record: RunRecord) -> str:
    """Which pairs of kept features interact, and the meaning of p and q; empty if untested."""
    if record.pair_tests is None:
        return ""
    tests, method = record.pair_tests.found, record.pair_tests.name
    names = record.feature_names
    significant = int((tests.q_values <= _LEVEL).sum())
    said = [
        f"{printable(names[a])} × {printable(names[b])} (q {q:.2g})"
        for (a, b), q in zip(tests.pairs[:_NAMED].tolist(), tests.q_values, strict=False)
    ]
    if significant:
        more = f" and {significant - _NAMED} more" if significant > _NAMED else ""
        found = f"{', '.join(said[:significant])}{more}"
    else:
        found = f"none at q ≤ {_LEVEL:g}" + (f"; the best is {said[0]}" if said else "")
    kept = f"{tests.columns.size} features"
    among = f"{tests.n_tested} pairs"
    if tests.n_tested == tests.columns.size * (tests.columns.size - 1) // 2:
        among += f" of {kept}"
    chosen = (
        f"; q, not p, allows for their choice among {tests.n_chosen_from} pairs"
        if tests.n_chosen_from > tests.n_tested
        else ""
    )
    return f"p and q are of `{printable(method)}`, {among}{chosen}. Interacting: {found}."
