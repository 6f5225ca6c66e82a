"""Wording for the pairs of a record: names of their weights, and results of their tests."""

from __future__ import annotations

from fsframe.registry import selectors
from fsframe.storage import RunRecord, printable

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


def interacting(record: RunRecord) -> int | None:
    """Number of pairs with q ≤ 0.05 by the test that this record has; None if it has none."""
    table = record.pair_table()
    name = next((name for name in ("interaction_q", "q") if name in table.columns), None)
    return None if name is None else int((table.columns[name] <= _LEVEL).sum())


def pair_test_words(record: RunRecord) -> list[str]:
    """Which pairs of kept features interact, and the meaning of p and q, one sentence each.

    Empty if no pair was tested.
    """
    if record.pair_tests is None:
        return []
    tests, method = record.pair_tests.found, record.pair_tests.name
    names = record.feature_names
    significant = int((tests.q_values <= _LEVEL).sum())
    said = [
        f"{printable(names[a])} × {printable(names[b])} (q {q:.2g})"
        for (a, b), q in zip(tests.pairs[:_NAMED].tolist(), tests.q_values, strict=False)
    ]
    number = f"{tests.n_tested} pair{'' if tests.n_tested == 1 else 's'} tested"
    if significant:
        more = f" and {significant - _NAMED} more" if significant > _NAMED else ""
        verb = "interacts" if significant == 1 else "interact"
        named = f"{', '.join(said[:significant])}{more}"
        words = [f"{significant} of {number} {verb} (q ≤ {_LEVEL:g}): {named}."]
    else:
        best = f"; the smallest is that of {said[0]}" if said else ""
        words = [f"None of {number} interacts (q ≤ {_LEVEL:g}){best}."]
    words.append(
        "p: whether a pair says more about the label than its features do separately "
        f"(`{printable(method)}`)."
    )
    among = max(tests.n_chosen_from, tests.n_tested)
    chosen = "the choice among" if among > tests.n_tested else "testing"
    words.append(f"q: p adjusted for {chosen} {among} pair{'' if among == 1 else 's'}.")
    if tests.n_tested > len(tests.pairs):
        words.append("Dashes: larger p, or values that cannot show an interaction.")
    return words
