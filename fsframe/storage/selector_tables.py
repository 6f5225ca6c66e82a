"""The tables of selectors that displays read: counts over bootstraps, clusters, costs.

Like `fsframe.storage.checked_tables`, but plugins may use the names for something else, so that
tables which do not fit give None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.storage.checked_tables import CheckedArrays

if TYPE_CHECKING:
    from fsframe.storage.stage_records import StageRecord

__all__ = ["BootstrapTables", "bootstrap_tables", "clusters", "convergence"]


@attrs.frozen(kw_only=True, eq=False)
class BootstrapTables:
    """How often each column was kept, and the critical count from which on it is relevant.

    Parameters
    ----------
    columns : (m,) int
    z, critical : (m,) float64
    relevant : (m,) bool
    n : int
        Number of bootstraps.
    promise : tuple of str
        What the test guarantees for the relevant ones.
    lower, upper : (m,) float64, optional
        Bounds of z / n.
    p : (m,) float64, optional
    level : float, optional
        The largest p of a relevant one.
    doubt : (m,) float64, optional
        Probability that another seed decides differently.
    matrix : (n, m) bool, optional
        Which bootstrap kept which.
    """

    columns: NDArray[np.int64]
    z: NDArray[np.float64]
    critical: NDArray[np.float64]
    relevant: NDArray[np.bool_]
    n: int
    promise: tuple[str, ...]
    lower: NDArray[np.float64] | None = None
    upper: NDArray[np.float64] | None = None
    p: NDArray[np.float64] | None = None
    level: float | None = None
    doubt: NDArray[np.float64] | None = None
    matrix: NDArray[np.bool_] | None = None


def bootstrap_tables(stage: StageRecord) -> BootstrapTables | None:
    """The tables of a test over bootstraps, or None if the stage has none.

    Plugins may use the names for something else; inconsistent tables give None.
    """
    given = CheckedArrays(stage.tables, stage.name)
    if not all(name in given for name in ("z", "critical-value", "columns")):
        return None
    try:
        z = given.reals("z", (None,))
        if not z.size or not np.isfinite(z).all():
            return None
        n = int(stage.tables["kept"].size) if "kept" in given else int(min(z.max(), 2**53))
        if n < 1:
            return None
        # A stage numbers its input columns.
        seen = stage.features_in
        shape = z.shape if np.shape(stage.tables["critical-value"]) == z.shape else (1,)
        critical = np.broadcast_to(given.reals("critical-value", shape), z.shape)
        lower, upper, p, doubt = (
            given.reals(name, z.shape) if name in given else None
            for name in ("lower", "upper", "p-values", "doubt")
        )
        every = (None, z.size)
        return BootstrapTables(
            columns=seen[given.whole("columns", z.shape, 0, seen.size)],
            z=z,
            critical=critical,
            relevant=given.flags("relevant", z.shape) if "relevant" in given else z > critical,
            n=n,
            promise=given.texts("promise") if "promise" in given else (),
            lower=lower,
            upper=upper,
            p=p,
            level=float(given.reals("level", (1,))[0]) if "level" in given else None,
            doubt=doubt,
            matrix=given.flags("bootstrap-matrix", every) if "bootstrap-matrix" in given else None,
        )
    except StoreError:
        return None


def clusters(stage: StageRecord) -> dict[int, list[int]] | None:
    """The columns of the table that a kept column stands for, by that column.

    None where the stage has no table ``stands-for`` (n_in,): for each column that it saw, the place
    among these of the one that is kept in its stead, its own where that is itself.
    """
    found, seen = stage.tables.get("stands-for"), stage.features_in
    if found is None or found.shape != seen.shape or found.dtype.kind not in "iu":
        return None
    if not found.size or found.min() < 0 or found.max() >= found.size:
        return None
    members: dict[int, list[int]] = {}
    for column, stand in enumerate(found.tolist()):
        if stand != column:
            members.setdefault(int(seen[stand]), []).append(int(seen[column]))
    return members


def convergence(stage: StageRecord) -> NDArray[np.float64] | None:
    """The cost by iteration, finite, two at least; None where the stage has none to draw."""
    cost = stage.tables.get("cost")
    if cost is None or cost.ndim != 1 or cost.size < 2 or cost.dtype.kind not in "fiu":
        return None
    found = cost.astype(np.float64, copy=False)
    return found if np.isfinite(found).all() else None
