"""A folder to put tables in."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a table and returns its path."""

    def write(content: str | bytes, name: str = "table.csv") -> Path:
        raw = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return write
