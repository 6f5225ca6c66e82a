"""Exceptions of this family from the laws of `fsframe.testing`, each with its reason."""

from __future__ import annotations

EXCEPTIONS = {
    "lustgarten": {
        "identical_runs_are_perfectly_stable": "published: the difference to chance is divided by "
        "its whole possible range, which equal sets do not reach"
    }
}
TRIED_AS: dict[str, str] = {}
