"""Reference vectors (see README.md) as fixtures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


class References:
    """Arrays by name, and what names begin with."""

    def __init__(self) -> None:
        self._arrays = np.load(Path(__file__).with_name("references.npz"))
        self.names = tuple(self._arrays.files)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def table(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        return self._arrays[f"{name}/X"], self._arrays[f"{name}/y"].astype(np.int64)

    def under(self, name: str, what: str) -> list[tuple[str, ...]]:
        """What follows `name/what/` in all names."""
        prefix = f"{name}/{what}/"
        return [tuple(n[len(prefix) :].split("/")) for n in self.names if n.startswith(prefix)]


@pytest.fixture(scope="session")
def reference() -> References:
    return References()
