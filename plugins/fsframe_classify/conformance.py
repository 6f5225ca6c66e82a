"""Declarations of this family for `fsframe.testing`."""

from __future__ import annotations

EXCEPTIONS: dict[str, dict[str, str]] = {}
TRIED_AS: dict[str, str] = {}
