"""What all tests share: hypothesis without a clock, and the line that counts the laws checked."""

from __future__ import annotations

from hypothesis import settings

from fsframe.testing.pytest_summary import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]

# Equal examples in every run, and no deadline: the first call may import or compile.
settings.register_profile("fsframe", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("fsframe")
