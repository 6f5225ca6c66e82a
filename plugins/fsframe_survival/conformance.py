"""What `fsframe.testing` is to know of this family."""

from __future__ import annotations

EXCEPTIONS = {
    "cox-score": {
        "equal_counts_change_nothing": "a test statistic grows with the number of rows, as it does "
        "when rows are copied"
    }
}
TRIED_AS: dict[str, str] = {}
