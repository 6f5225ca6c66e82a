"""What all tests share: the line that says how many laws were checked."""

from __future__ import annotations

from fsframe.testing.pytest_summary import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]
