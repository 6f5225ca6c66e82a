"""Conformance checks that do not apply to methods of this family, each with its reason."""

from __future__ import annotations

_MAIN = (
    "the effect of one column alone is a main effect, which the test removes: the column is in no "
    "interaction, and nothing is kept if none is significant"
)

_HALVES = "the half of the rows that chooses is drawn by row number, as bootstraps are"

_TESTS = {
    "result_is_sound": _MAIN,
    "three_classes_are_accepted": _MAIN,
    "a_column_that_separates_the_classes_comes_first": _MAIN,
    "a_column_that_determines_the_target_comes_first": _MAIN,
    "equal_counts_change_nothing": "a test statistic grows with the number of rows, as it does "
    "when rows are copied",
}

EXCEPTIONS = {
    "interactions": _TESTS,
    "interactions-split": _TESTS
    | {
        "counts_equal_copies": "a drawn row is in one half with all its copies; rows that were "
        "copied in the table may be in both",
        "order_of_rows_does_not_matter": _HALVES,
        "order_of_classes_does_not_matter": _HALVES,
        "nominal_codes_do_not_order_rows": _HALVES,
        "resamples_keep_groups_whole": "it draws one half, and the check needs several "
        "resamples; tests/plugins/interactions tests that groups stay whole",
        "upstream_weights_matter_as_declared": "they are the base's, and may change what it "
        "chooses; what is tested are rows",
        "top_is_honoured": "of the features that the base chose, which may be fewer",
    },
}
TRIED_AS = {
    "interactions": "interactions:calibrate=100,draws=50",
    "interactions-split": "interactions-split:base=relieff:top=4",
}
