"""Commands in a folder of their own."""

from __future__ import annotations

from tests.cli.conftest import call, here

__all__ = ["call", "here"]
