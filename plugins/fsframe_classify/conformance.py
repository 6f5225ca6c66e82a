"""What `fsframe.testing` is to know of this family."""

from __future__ import annotations

EXCEPTIONS: dict[str, dict[str, str]] = {}
TRIED_AS: dict[str, str] = {}
