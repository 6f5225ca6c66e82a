"""Exceptions of this family from the laws of `fsframe.testing`, each with its reason."""

from __future__ import annotations

_MAIN = (
    "a column that acts by itself is a main effect, which the test takes out: alone it is in no "
    "interaction, and nothing is kept where none is significant"
)

_HALVES = "which half of the rows chooses is drawn by place, as bootstraps are"

EXCEPTIONS = {
    "interactions": {
        "three_classes_are_taken": _MAIN,
        "a_column_that_separates_the_classes_comes_first": _MAIN,
        "a_target_that_follows_a_column_puts_it_first": _MAIN,
        "equal_counts_change_nothing": "a test statistic grows with the number of rows, as it does "
        "when rows are copied",
    },
    "interactions-split": {
        "result_is_sound": _MAIN,
        "three_classes_are_taken": _MAIN,
        "a_column_that_separates_the_classes_comes_first": _MAIN,
        "a_target_that_follows_a_column_puts_it_first": _MAIN,
        "equal_counts_change_nothing": "a test statistic grows with the number of rows, as it does "
        "when rows are copied",
        "counts_equal_copies": "a drawn row is in one half with all its copies; rows that were "
        "copied in the table may be in both",
        "order_of_rows_does_not_matter": _HALVES,
        "order_of_classes_does_not_matter": _HALVES,
        "nominal_values_are_no_order_of_rows": _HALVES,
        "no_resample_takes_a_group_apart": "it draws one half, and the law looks at several "
        "resamples; tests/plugins/interactions holds that groups stay whole",
        "upstream_weights_matter_as_declared": "they are the base's, and may change what it "
        "chooses; what is tested are rows",
        "top_is_honoured": "of the features that the base chose, which may be fewer",
    },
}
TRIED_AS: dict[str, str] = {"interactions-split": "interactions-split:base=relieff:top=4"}
