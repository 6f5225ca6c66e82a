"""Statistics of each tested feature or pair, read from the tables of a stage.

These names of arrays have a common meaning, with ``-`` or ``_`` between words. An array that does
not fit is left out, since a plugin may use the name for something else.

* per feature tested (those of ``columns``, or all seen): ``p_values``; ``adjusted_p_values``,
  ``q_values`` or ``p_adjusted``; ``frequency``, or counts ``z`` out of the resamples in ``kept``,
  or ``kept`` as (n, m) truth values; ``lower`` and ``upper``, the bounds of the frequency;
* per pair tested (those of ``pairs``): the same, and ``g2`` or ``f`` with ``freedom``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fsframe.method.pair_weights import PairWeights

__all__ = [
    "Found",
    "adjusted_p_values",
    "by_common_names",
    "columns_seen",
    "feature_statistics",
    "pairs_tested",
    "statistics",
]

Floats = NDArray[np.float64]
_Q_NAMES = ("adjusted_p_values", "q_values", "p_adjusted")
# Two-sided 95 %.
_NORMAL = 1.959963984540054


class Found(Protocol):
    """The result of one stage, such as `Selection`."""

    @property
    def selected(self) -> NDArray[np.intp]: ...
    @property
    def scores(self) -> Floats: ...
    @property
    def tables(self) -> Mapping[str, NDArray[Any]]: ...
    @property
    def features_in(self) -> NDArray[np.intp] | None: ...
    @property
    def pair_weights(self) -> PairWeights | None: ...
    @property
    def carried(self) -> frozenset[str]: ...


def by_common_names(tables: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """`tables` with ``_`` between the words of names."""
    return {name.replace("-", "_"): np.asarray(array) for name, array in tables.items()}


def columns_seen(found: Found, n: int) -> NDArray[np.intp]:
    """The columns, of n, that the stage considered."""
    return np.arange(n) if found.features_in is None else found.features_in


def _shares(tables: Mapping[str, NDArray[Any]], names: Sequence[str], m: int) -> Floats | None:
    """The first table of these names with m numbers from 0 to 1, or NaN."""
    for name in names:
        array = tables.get(name)
        if array is None or array.shape != (m,) or array.dtype.kind not in "fiu":
            continue
        values = array.astype(np.float64)
        known = values[~np.isnan(values)]
        if not known.size or (known.min() >= 0 and known.max() <= 1):
            return values
    return None


def feature_statistics(n: int, found: Found) -> dict[str, NDArray[Any]]:
    """p, q and frequency of every column of the table that the stage tested, NaN elsewhere."""
    tables, seen = by_common_names(found.tables), columns_seen(found, n)
    if "pairs" in tables:
        # The statistics are those of pairs.
        return {}
    where = seen
    if "columns" in tables:
        own = tables["columns"]
        if own.ndim != 1 or own.dtype.kind not in "iu" or np.unique(own).size != own.size:
            return {}
        if own.size and not (own.min() >= 0 and own.max() < seen.size):
            return {}
        where = seen[own]
    spread = {}
    for name, values in statistics(tables, where.size).items():
        spread[name] = np.full(n, np.nan)
        spread[name][where] = values
    return {name: spread[name] for name in spread if name not in ("G2", "F", "df")}


def statistics(tables: Mapping[str, NDArray[Any]], m: int) -> dict[str, NDArray[Any]]:
    """Statistics of each of the m features or pairs that a stage tested, from its tables."""
    columns: dict[str, NDArray[Any]] = {}
    for name, title in (("g2", "G2"), ("f", "F"), ("freedom", "df")):
        array = tables.get(name)
        if array is not None and array.shape == (m,) and array.dtype.kind in "fiu":
            whole = title == "df" and array.dtype.kind in "iu"
            columns[title] = array.astype(np.int64 if whole else np.float64)
    p = _shares(tables, ("p_values",), m)
    if p is not None:
        q = _shares(tables, _Q_NAMES, m)
        columns["p"] = p
        columns["q"] = (
            adjusted_p_values(p) if q is None or np.array_equal(q, p, equal_nan=True) else q
        )
    return columns | _frequency(tables, m)


def adjusted_p_values(p: Floats) -> Floats:
    """P-values adjusted for their number by Benjamini and Hochberg 1995.

    Parameters
    ----------
    p : (m,) float64 in [0, 1]
        NaN stays NaN and is not counted.

    Examples
    --------
    >>> adjusted_p_values(np.array([0.01, 0.04, np.nan, 0.03, 0.5])).round(4).tolist()
    [0.04, 0.0533, nan, 0.0533, 0.5]
    """
    from scipy.stats import false_discovery_control

    known = ~np.isnan(p)
    found = np.full(p.size, np.nan)
    if known.any():
        found[known] = false_discovery_control(p[known])
    return found


def _frequency(tables: Mapping[str, NDArray[Any]], m: int) -> dict[str, NDArray[Any]]:
    """Frequency of selection, with bounds unless the resamples are folds."""
    share = _shares(tables, ("frequency",), m)
    kept = tables.get("kept")
    n = 0 if kept is None or kept.ndim not in (1, 2) else len(kept)
    if share is None and kept is not None and n and kept.shape == (n, m) and kept.dtype.kind == "b":
        share = kept.mean(axis=0)
    elif share is None and n and "z" in tables:
        z = tables["z"]
        if z.shape == (m,) and z.dtype.kind in "iu" and (z >= 0).all() and (z <= n).all():
            share = z / n
    if share is None:
        return {}
    low, high = _shares(tables, ("lower",), m), _shares(tables, ("upper",), m)
    if low is None or high is None:
        if not n or "fold" in tables:
            return {"frequency": share}
        low, high = _wilson(share, n)
    return {"frequency": share, "frequency_low": low, "frequency_high": high}


def _wilson(share: Floats, n: int) -> tuple[Floats, Floats]:
    square = _NORMAL**2 / n
    middle = (share + square / 2) / (1 + square)
    half = _NORMAL * np.sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    # At 0 and 1 an end equals the share up to rounding.
    return np.clip(middle - half, 0.0, share), np.clip(middle + half, share, 1.0)


def pairs_tested(tables: Mapping[str, NDArray[Any]], m: int) -> NDArray[np.intp] | None:
    """The tested pairs as (q, 2) positions among the m columns seen; None if there are none."""
    pairs = tables.get("pairs")
    if pairs is None or pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        return None
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < m):
        return None
    return pairs.astype(np.intp)
