"""Conformance checks that do not apply to methods of this family, each with its reason."""

from __future__ import annotations

EXCEPTIONS = {
    "lustgarten": {
        "identical_runs_are_perfectly_stable": "published: the difference to chance is divided by "
        "its whole possible range, which equal sets do not reach"
    }
}
TRIED_AS: dict[str, str] = {}
