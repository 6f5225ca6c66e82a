"""Declarations of this family for `fsframe.testing`."""

from __future__ import annotations

EXCEPTIONS = {
    "cox-score": {"equal_counts_change_nothing": "a test statistic grows with the number of rows"}
}
TRIED_AS: dict[str, str] = {}
