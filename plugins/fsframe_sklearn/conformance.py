"""Declarations of this family for `fsframe.testing`."""

from __future__ import annotations

_FOLDS = "rows are assigned to folds in their order"
_COPIES = "copies of a row stay in one fold, but duplicate rows of the table are not recognised"
_SHARED = "the model splits a column's weight among its copies, or gives it to the first"
_FOREST = "a forest draws rows and columns by index"
_FLATTER = "copies increase the loss but not the penalty, or are each other's neighbours"
_SINGLE = "trees hold values in single precision"

EXCEPTIONS: dict[str, dict[str, str]] = {
    "sklearn-selector": {
        "tasks_are_accepted_or_refused_as_declared": "the score f_classif needs classes; other "
        "scores take a numeric target",
        "a_column_that_determines_the_target_comes_first": "the score f_classif needs classes",
        "unit_and_origin_of_the_target_do_not_matter": "the score f_classif needs classes",
        "a_large_offset_changes_nothing": "f_classif subtracts sums of squares without centring",
        "ties_keep_the_order_of_the_table": "SelectKBest documents that it breaks ties in an "
        "unspecified way",
    },
    "importance": {
        "a_duplicated_column_scores_as_its_original": _SHARED,
        "equal_counts_change_nothing": _FOREST,
        "order_of_columns_does_not_matter": _FOREST,
        "order_of_rows_does_not_matter": _FOREST,
    },
    "rfe": {
        "a_duplicated_column_scores_as_its_original": _SHARED,
        "equal_counts_change_nothing": _FLATTER,
    },
    "rfecv": {
        "a_duplicated_column_scores_as_its_original": _SHARED,
        "equal_counts_change_nothing": _FLATTER,
        "order_of_rows_does_not_matter": _FOLDS,
    },
    "sequential": {
        "a_duplicated_column_scores_as_its_original": "a copy of a selected column adds nothing",
        "counts_equal_copies": _COPIES,
        "equal_counts_change_nothing": _FLATTER,
        "order_of_rows_does_not_matter": _FOLDS,
    },
    "lasso": {
        "a_duplicated_column_scores_as_its_original": _SHARED,
    },
    "elastic-net": {"order_of_rows_does_not_matter": _FOLDS},
    "boruta": {
        "a_duplicated_column_scores_as_its_original": _SHARED,
        "a_large_offset_changes_nothing": _SINGLE,
        "counts_equal_copies": "copies of a row are shuffled as one, but duplicate rows of the "
        "table are not recognised",
        "order_of_columns_does_not_matter": _FOREST,
        "order_of_rows_does_not_matter": _FOREST,
    },
}
TRIED_AS = {
    "sklearn": "sklearn:estimator=sklearn.naive_bayes.GaussianNB",
    "sklearn-selector": 'sklearn-selector:estimator=SelectKBest,options={"k": 3}',
    "importance": 'importance:options={"n_estimators": 5}',
    "boruta": "boruta:trees=20,max_runs=6,alpha=0.3",
    "sequential": "sequential:folds=2",
    "rfecv": "rfecv:folds=2",
    "lasso": "lasso:penalties=10,folds=2",
    "elastic-net": "elastic-net:penalties=5,folds=2",
}
SLOW = {
    "boruta": "dozens of forests per check",
    "sequential": "dozens of cross-validations per check",
    "rfe": "a fit per column",
    "rfecv": "a fit per column and fold",
    "lasso": "a path of fits per fold",
    "elastic-net": "a path of fits per fold",
}
"""Methods that fsframe's own test suite checks only with -m slow, and why."""
