"""Conformance checks that do not apply to methods of this family, each with its reason."""

from __future__ import annotations

_BLIND = "it does not look at the label: it fills gaps"
_STATISTIC = {
    "equal_counts_change_nothing": "a test statistic grows with the number of rows, as it does "
    "when rows are copied"
}

EXCEPTIONS: dict[str, dict[str, str]] = {
    "anova-f": _STATISTIC,
    "chi2": _STATISTIC,
    "variance": {
        "scale_changes_nothing": "the variance has the square of the column's unit",
        "a_column_that_determines_the_target_comes_first": "it does not use the target",
    },
    "impute": {
        "a_column_that_separates_the_classes_comes_first": _BLIND,
        "a_column_that_determines_the_target_comes_first": _BLIND,
        "three_classes_are_accepted": _BLIND,
        "covariates_are_adjusted_for_or_refused": _BLIND,
        "order_of_columns_does_not_matter": "columns that are equally complete are tied, and ties "
        "go by column",
    },
}
TRIED_AS: dict[str, str] = {}
