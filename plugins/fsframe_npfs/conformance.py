"""Conformance checks that do not apply to methods of this family, each with its reason."""

from __future__ import annotations

_DRAWN = "bootstraps are drawn by row number, so another order of rows gives other bootstraps"

_BOOTSTRAPS = {
    "equal_counts_change_nothing": "bootstraps of a larger table are other bootstraps",
    "order_of_rows_does_not_matter": _DRAWN,
    "order_of_classes_does_not_matter": "bootstraps are drawn class by class",
}

_BROKEN_TIES = {
    "a_duplicated_column_scores_as_its_original": "a base that keeps few columns breaks ties"
}

EXCEPTIONS = {
    "npfs": _BOOTSTRAPS | _BROKEN_TIES,
    "cpss": _BOOTSTRAPS | {"counts_equal_copies": "halves of copied rows are other halves"},
    "ensemble": _BOOTSTRAPS
    | _BROKEN_TIES
    | {"counts_equal_copies": "bootstraps of copied rows are other bootstraps"},
}
_FEW = "one feature is never kept alone: at least 1/level have to be found"
EXCEPTIONS["knockoffs"] = {
    "a_column_that_determines_the_target_comes_first": _FEW,
    "a_column_that_separates_the_classes_comes_first": _FEW,
    "a_constant_column_comes_last": "features behind their knockoffs score less than 0",
    "a_duplicated_column_scores_as_its_original": "each has knockoffs of its own",
    "order_of_columns_does_not_matter": "knockoffs are drawn column by column",
    "order_of_rows_does_not_matter": "knockoffs are drawn row by row",
}
EXCEPTIONS["ipss"] = EXCEPTIONS["cpss"]
TRIED_AS = {
    "knockoffs": "knockoffs:base=relieff,copies=2,level=0.9",
    "ipss": "ipss:base=relieff,pairs=5,level=0.5",
    "cpss": "cpss:base=relieff:top=3,pairs=5,false_selections=3",
    "npfs": "npfs:base=mrmr:top=2,n=9,null=published,alpha=0.3",
    "ensemble": "ensemble:base=relieff:top=3,n=9",
}
