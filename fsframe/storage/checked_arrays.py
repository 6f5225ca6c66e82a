"""Arrays of a run file, checked for type, shape and range when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.escaping import printable

__all__ = ["Arrays", "CheckedArrays"]

Arrays = Mapping[str, NDArray[Any]]


class CheckedArrays:
    """Arrays by name, checked for type, shape and range when they are read."""

    def __init__(self, tables: Arrays, where: str) -> None:
        self._tables = tables
        self._where = where

    def __contains__(self, name: str) -> bool:
        return name in self._tables

    def refuse(self, name: str, problem: str) -> StoreError:
        return StoreError(f"{printable(self._where)}: the table {printable(name)} {problem}")

    def _of(self, name: str, kinds: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        if name not in self._tables:
            raise self.refuse(name, "is missing")
        array = np.asarray(self._tables[name])
        fits = array.ndim == len(shape) and all(
            wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
        )
        if not fits:
            expected = " × ".join("any" if size is None else str(size) for size in shape)
            raise self.refuse(name, f"has shape {array.shape}, not {expected}")
        if array.dtype.kind not in kinds:
            raise self.refuse(name, f"holds {array.dtype.name}")
        return array

    def whole(
        self, name: str, shape: tuple[int | None, ...], least: int, below: int
    ) -> NDArray[np.int64]:
        array = self._of(name, "iu", shape)
        if array.size and not (least <= int(array.min()) and int(array.max()) < below):
            raise self.refuse(name, f"holds numbers outside {least} … {below - 1}")
        return array.astype(np.int64, copy=False)

    def flags(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.bool_]:
        array = self._of(name, "biu", shape)
        if array.dtype.kind != "b" and array.size and not np.isin(array, (0, 1)).all():
            raise self.refuse(name, "holds other values than 0 and 1")
        return array.astype(np.bool_, copy=False)

    def reals(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
        """Numbers; NaN and infinite ones are allowed."""
        return self._of(name, "fiub", shape).astype(np.float64, copy=False)

    def holds_whole(self, name: str) -> bool:
        return np.asarray(self._tables[name]).dtype.kind in "iu"

    def length(self, name: str) -> int:
        return len(self._of(name, "iu", (None, None)))

    def finite(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
        found = self.reals(name, shape)
        if not np.isfinite(found).all():
            raise self.refuse(name, "holds numbers that are not finite")
        return found

    def predictions(
        self,
        name: str,
        shape: tuple[int, ...],
        n_classes: int,
        tested: NDArray[np.bool_] | None = None,
    ) -> NDArray[Any]:
        """Class codes, −1 for none; without classes numbers, NaN for none; of all tested rows."""
        if n_classes:
            found: NDArray[Any] = self.whole(name, shape, -1, n_classes)
            known = found >= 0
        else:
            found = self.reals(name, shape)
            known = np.isfinite(found)
            if np.isinf(found).any():
                raise self.refuse(name, "holds infinite numbers")
        if tested is not None and not known[..., tested].all():
            raise self.refuse(name, "lacks rows that a fold tests")
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(str(text) for text in self._of(name, "U", (None,)))
