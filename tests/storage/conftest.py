"""A run record with everything the format knows, and its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsframe.storage import RunRecord, write_run
from tests.storage.run_files import build_record


@pytest.fixture
def record() -> RunRecord:
    """The record."""
    return build_record()


@pytest.fixture
def run_file(tmp_path: Path, record: RunRecord) -> Path:
    """Its file."""
    return write_run(tmp_path / "run.h5", record)
