"""Conformance checks that do not apply, as `fsframe check` found, with their reasons."""

_SEARCH = "of two equal columns a search takes the first, and the other adds nothing"
_SEEDED = "a forest draws rows and columns by their numbers"
_DIGITS = "ties and near ties are decided by the last digits of its solver"
_EQUALITY = "the package asks whether values are equal, which numbers with decimals never are"

EXCEPTIONS: dict[str, dict[str, str]] = {
    "boruta-py": {
        "a_large_offset_changes_nothing": "trees of scikit-learn hold columns in 32 bits",
        "order_of_columns_does_not_matter": _SEEDED,
        "order_of_rows_does_not_matter": _SEEDED,
    },
    "relieff-package": {
        "a_column_that_separates_the_classes_comes_first": _EQUALITY,
        "a_constant_column_comes_last": _EQUALITY,
        "order_of_columns_does_not_matter": _EQUALITY + ": with all scores equal, places decide",
        "scale_changes_nothing": "its distances are in the columns' units",
        "three_classes_are_accepted": _EQUALITY,
    },
    "fast-can": {
        "a_duplicated_column_scores_as_its_original": _SEARCH,
        "ties_keep_the_order_of_the_table": "it refuses to take columns that others determine",
    },
    "pandas-mrmr": {
        "a_duplicated_column_scores_as_its_original": _SEARCH,
        "a_large_offset_changes_nothing": "scikit-learn's f_classif subtracts sums of squares, of "
        "which an offset leaves no digit",
    },
    "hsic-lasso": {
        "a_duplicated_column_scores_as_its_original": "the package fails on equal columns: it asks "
        "for numpy.linalg.linalg, which numpy 2 has not",
        "order_of_columns_does_not_matter": _DIGITS,
        "unit_and_origin_of_the_target_do_not_matter": _DIGITS,
    },
    "mlxtend-forward": {
        "a_duplicated_column_scores_as_its_original": _SEARCH,
        "order_of_rows_does_not_matter": "folds are cut in the order of the rows",
        "scale_changes_nothing": "ridge penalises coefficients in the columns' units",
    },
}
TRIED_AS = {
    "boruta-py": "boruta-py:trees=10,max_iter=10,alpha=0.2",
    "mlxtend-forward": "mlxtend-forward:folds=2",
}
