"""Checkpoints within one long fit: steps that a killed run need not repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe.storage.units.array_bytes import pack, unpack
from fsframe.storage.units.call_keys import call_key
from fsframe.storage.units.unit_files import Unit, UnitStore

__all__ = ["FitSteps"]


class FitSteps:
    """The steps of one fit, by number; `fsframe.contracts.run.Run.units` gives one.

    Parameters
    ----------
    checkpoint : UnitStore
        Stores finished steps.
    call : str
        Key of the fit (`call_key`).
    """

    def __init__(self, checkpoint: UnitStore, call: str) -> None:
        self._checkpoint, self._call = checkpoint, call
        self._known = {unit.start: unit for unit in checkpoint.units(call)}

    @classmethod
    def of(
        cls,
        checkpoint: UnitStore,
        what: str,
        data: Dataset,
        run: Run,
        upstream: Selection | None,
    ) -> FitSteps:
        """The steps of the work `what` on `data`, with the `upstream` selection."""
        return cls(checkpoint, call_key(checkpoint, "own", what, data, run, upstream=upstream))

    def get(
        self, number: int, compute: Callable[[], Mapping[str, ArrayLike]]
    ) -> dict[str, NDArray[Any]]:
        """The arrays of step `number`: stored by an earlier attempt, else from `compute`.

        Parameters
        ----------
        number : int ≥ 0
        compute : callable
            Gives arrays by name: numbers, truth values or texts.

        Returns
        -------
        dict of str to array
            Row-major; the same bits whether stored or just computed.

        Raises
        ------
        StoreError
            If they cannot be kept, or what was kept has changed.
        """
        known = self._known.get(number)
        if known is not None:
            return unpack(self._checkpoint.load(known))[0]
        found = {name: np.array(value, order="C") for name, value in compute().items()}
        self._checkpoint.commit(Unit(self._call, number, number + 1), pack(found))
        return found
