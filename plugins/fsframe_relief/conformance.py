"""Conformance checks that do not apply to methods of this family, each with its reason."""

from __future__ import annotations

_COPIES = {
    "counts_equal_copies": "a row drawn twice must not become its own nearest hit, so copies of a "
    "row are never its neighbours"
}
_FILLED = {
    "equal_counts_change_nothing": "the k nearest are filled by multiplicity, so that three-fold "
    "counts reach a third as many different neighbours"
}
_FAR_NEIGHBOURS = {
    "a_column_that_separates_the_classes_comes_first": "published: far misses are subtracted, and "
    "with a column that separates the classes all misses are far",
    "three_classes_are_accepted": "published: far misses are subtracted, which costs strong main "
    "effects their first place",
    "a_column_that_determines_the_target_comes_first": "published: far misses are subtracted, and "
    "with a column that determines the target most misses are far",
}

EXCEPTIONS = {
    "*": _COPIES,
    "relieff": _FILLED,
    "rrelieff": _FILLED,
    "surfstar": _FAR_NEIGHBOURS,
    "multisurfstar": _FAR_NEIGHBOURS,
    "swrfstar": _FAR_NEIGHBOURS,
    "iterative-relief": _FILLED,
    "vls": _FILLED,
    "turf": _FILLED
    | {
        "a_duplicated_column_scores_as_its_original": "columns are dropped in rounds, and of two "
        "equal ones one may go a round earlier"
    },
}
TRIED_AS = {"turf": "turf:base=relieff"}
