"""Says at the end how many laws were checked."""

from fsframe.testing.pytest_summary import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]
