"""Arrays read from a file, not yet checked as a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
from numpy.typing import NDArray

__all__ = ["ArrayTable"]


@attrs.frozen(kw_only=True, eq=False)
class ArrayTable:
    """Arrays read from a file, not yet checked as a table.

    Parameters
    ----------
    path : Path
    X : (n_samples, n_features) numbers, or a ColumnSource with `take`
    y : (n_samples,) numbers or str, optional
        None if the file has none.
    names : tuple of str, optional
        None if the file has none.
    label_name : str
        Name of the label array.
    beside : mapping of str to (n_samples,) numbers or str
        Other annotations of the rows, such as the donor of a cell: not features, but usable as the
        label or as the groups.
    without_label : str
        What to do where the label is missing, for messages.
    """

    path: Path
    X: Any = attrs.field(repr=False)
    y: NDArray[Any] | None = attrs.field(default=None, repr=False)
    names: tuple[str, ...] | None = attrs.field(default=None, repr=False)
    label_name: str = "y"
    beside: Mapping[str, NDArray[Any]] = attrs.field(factory=dict, repr=False)
    without_label: str = "save both as X and y of an NPZ or HDF5 file"

    @property
    def others(self) -> dict[str, NDArray[Any]]:
        """The label, if there is one, and the other annotations, by name."""
        found = {} if self.y is None else {self.label_name: self.y}
        return found | {k: v for k, v in self.beside.items() if k not in found}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names, or ``f1, f2, …``."""
        return self.names or tuple(f"f{k + 1}" for k in range(self.X.shape[1]))
