"""Exceptions of this family from the laws of `fsframe.testing`, each with its reason."""

from __future__ import annotations

EXCEPTIONS = {
    "lustgarten": {
        "equal_runs_are_as_stable_as_can_be": "published: the difference to chance is divided by "
        "its whole possible range, which equal sets do not reach"
    }
}
TRIED_AS: dict[str, str] = {}
