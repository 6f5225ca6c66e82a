"""What `fsframe.testing` is to know of the protocols."""

from __future__ import annotations

EXCEPTIONS: dict[str, dict[str, str]] = {}
TRIED_AS = {
    "cross-validation": "cross-validation:base=(relieff:top=2 knn),folds=3,repeats=2",
    "stability-study": "stability-study:base=relieff:top=2",
}
