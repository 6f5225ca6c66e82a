"""Conformance checks that do not apply to methods of this family, each with its reason."""

from __future__ import annotations

_COPIES = {
    "counts_equal_copies": "a row drawn twice must not become its own nearest hit, so copies of a "
    "row are never its neighbours"
}
_DEVIATION = {
    "equal_counts_change_nothing": "columns are divided by a standard deviation with Σ count - 1, "
    "which differs if every row counts three times"
}
_STEPS = {
    "equal_counts_change_nothing": "a row counted three times is visited three times, with one "
    "step per visit"
}

EXCEPTIONS = {
    "bim": _COPIES
    | _DEVIATION
    | {
        "order_of_columns_does_not_matter": "starting weights are drawn for the columns in order",
        "arrays_of_the_model_are_declared": "weights of the rounds run over the columns that vary, "
        "whose numbers are stored separately: no axis can be restricted to other columns",
    },
    "gflip": _COPIES | _DEVIATION,
    "im4e": _COPIES | _DEVIATION,
    "immigrate": _COPIES | _DEVIATION,
    "irelief": _COPIES | _DEVIATION,
    "lfe": _COPIES | _DEVIATION,
    "logo": _COPIES
    | {
        "equal_counts_change_nothing": "the penalty is added to a sum over rows, which grows with "
        "their counts"
    },
    "mbiw": _COPIES | _DEVIATION,
    "simba": _COPIES
    | _STEPS
    | {"order_of_rows_does_not_matter": "rows are drawn by index, one after the other"},
    "simba-mbiw": _COPIES | _STEPS,
    "bim-vote": {
        "order_of_columns_does_not_matter": "starting weights are drawn for the columns in order"
    },
}
TRIED_AS = {"bim": "bim:rounds=6", "bim-vote": "bim-vote:rounds=6"}
