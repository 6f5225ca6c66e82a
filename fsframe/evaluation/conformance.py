"""Declarations of the protocols for `fsframe.testing`."""

from __future__ import annotations

_OF_ITS_CHAIN = {
    "top_is_honoured": "refused: the chain under study decides what is kept",
    "a_larger_top_only_adds": "refused: the chain under study decides what is kept",
    "order_of_classes_does_not_matter": "rows are dealt to folds and halves class by class, in the "
    "order of the classes",
    "tasks_are_accepted_or_refused_as_declared": "times are accepted where the chain under study "
    "accepts them, which relieff does not",
}

EXCEPTIONS = {"cross-validation": _OF_ITS_CHAIN, "stability-study": _OF_ITS_CHAIN}
TRIED_AS = {
    "cross-validation": "cross-validation:base=(relieff:top=2 knn),folds=3,repeats=2",
    "stability-study": "stability-study:base=relieff:top=2,n=9",
}
