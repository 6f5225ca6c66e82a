"""The interface of a chain's result, which `fsframe.analysis` implements."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs

from fsframe.contracts.dataset import Dataset
from fsframe.storage import RunRecord

__all__ = ["ChainResult"]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ChainResult(RunRecord):
    """A run that plots and saves itself: `Chain.run` returns it as a `fsframe.SelectionResult`."""

    def plot(
        self,
        kind: str | None = None,
        ax: Any = None,
        *,
        data: Dataset | None = None,
        most: int | None = None,
        pair: tuple[str, str] | None = None,
    ) -> Any:
        """Plot the run."""
        raise NotImplementedError

    def to_sklearn(self) -> Any:
        """The selection as a fitted transformer of scikit-learn."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the run file to `path`."""
        raise NotImplementedError
