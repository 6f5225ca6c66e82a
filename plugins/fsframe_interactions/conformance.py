"""Laws of `fsframe.testing` that tests of interaction break, each with its reason."""

from __future__ import annotations

_MAIN = (
    "a column that acts by itself is a main effect, which the test takes out: alone it is in no "
    "interaction, and nothing is kept where none is significant"
)

EXCEPTIONS = {
    "interactions": {
        "result_is_sound": _MAIN,
        "three_classes_are_taken": _MAIN,
        "a_column_that_separates_the_classes_comes_first": _MAIN,
        "a_target_that_follows_a_column_puts_it_first": _MAIN,
        "equal_counts_change_nothing": "a test statistic grows with the number of rows, as it does "
        "when rows are copied",
    }
}
TRIED_AS: dict[str, str] = {}
