"""Laws of `fsframe.testing` that the methods here break, each with its reason; none so far."""

from __future__ import annotations

EXCEPTIONS: dict[str, dict[str, str]] = {}
