"""Conformance checks that do not apply to methods of this family, each with its reason."""

from __future__ import annotations

_GREEDY = {
    "kept_columns_come_best_first": "a score is the criterion in the step that chose the column; "
    "criteria of different steps are not comparable"
}
_REDUNDANT = {
    "a_duplicated_column_scores_as_its_original": "the second of two equal columns is redundant "
    "once the first is kept, which is the point of the criterion"
}
_FREE = {
    "a_constant_column_comes_last": "published: a constant column has no redundancy with those "
    "kept, so it is not penalised as noise is"
}
_PAIRS = {"what_the_entry_promises_is_given": "pair weights come with pairs=…"}

EXCEPTIONS = {
    "mim": _PAIRS,
    "betagamma": _GREEDY | _REDUNDANT,
    "cife": _GREEDY | _REDUNDANT,
    "cmi": _REDUNDANT,
    "cmim": _REDUNDANT,
    "condred": _GREEDY | _REDUNDANT,
    "disr": _GREEDY | _REDUNDANT | _FREE,
    "fcbf": {
        "top_is_honoured": "published: a column made redundant by a kept one is never "
        "considered again"
    },
    "icap": _REDUNDANT,
    "jmi": _GREEDY | _REDUNDANT | _PAIRS,
    "jmi3": _GREEDY | _REDUNDANT,
    "jmim": _GREEDY,
    "mifs": _REDUNDANT | _FREE,
    "mrmr": _GREEDY | _REDUNDANT | _FREE,
    "njmim": _REDUNDANT | _FREE,
}
TRIED_AS: dict[str, str] = {}
