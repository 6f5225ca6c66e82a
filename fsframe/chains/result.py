"""What a chain's run is to a program, as far as types say it; `fsframe.analysis` has the rest."""

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
    """A run that draws and saves itself: what `Chain.run` returns, a `fsframe.SelectionResult`."""

    def plot(
        self,
        kind: str | None = None,
        ax: Any = None,
        *,
        data: Dataset | None = None,
        most: int | None = None,
        pair: tuple[str, str] | None = None,
    ) -> Any:
        """A picture of the run."""
        raise NotImplementedError

    def to_sklearn(self) -> Any:
        """The selection as a fitted transformer of scikit-learn."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Leave the run file at `path`."""
        raise NotImplementedError
