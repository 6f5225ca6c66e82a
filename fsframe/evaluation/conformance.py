"""What `fsframe.testing` is to know of the protocols."""

from __future__ import annotations

_NO_TOP = {
    "top_is_honoured": "refused: the chain under study decides what is kept",
    "a_larger_top_only_adds": "refused: the chain under study decides what is kept",
}

EXCEPTIONS = {"cross-validation": _NO_TOP, "stability-study": _NO_TOP}
TRIED_AS = {
    "cross-validation": "cross-validation:base=(relieff:top=2 knn),folds=3,repeats=2",
    "stability-study": "stability-study:base=relieff:top=2",
}
