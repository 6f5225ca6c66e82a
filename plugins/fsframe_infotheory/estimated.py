"""Relevance of every feature with continuous ones estimated from nearest neighbours."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.dataset import Dataset
from fsframe_infotheory.discretise import Discretiser
from fsframe_infotheory.encode import in_threads
from fsframe_infotheory.entropy import clogc
from fsframe_infotheory.nearest import continuous_information, discrete_continuous_information

__all__ = ["as_target", "estimated_relevance"]


def estimated_relevance(
    data: Dataset,
    discretiser: Discretiser,
    weights: NDArray[np.float64] | None,
    n_neighbours: int,
    threads: int,
) -> NDArray[np.float64]:
    """I(X_j; Y) in bits of every feature, none of them binned, as (n_features,).

    Parameters
    ----------
    data : Dataset
        Samples without a value are left out of that feature's estimate.
    discretiser : Discretiser
        Which columns it keeps as levels counts as discrete; the others as continuous.
    weights : (n_samples,) float64, optional
        Bootstrap counts times importance; they weight the mean over samples, not the neighbours.
    n_neighbours : int
        k.
    threads : int

    Notes
    -----
    Discrete with discrete is the plug-in value; discrete with continuous, either way round, is
    Ross's estimate; continuous with continuous is Kraskov's. Others than plug-in may be negative.
    """
    target, discrete_target = _target(data, discretiser)
    bits = np.empty(data.n_features)

    def work(bound: tuple[int, int]) -> None:
        block = np.asarray(data.columns(*bound), dtype=np.float64)
        bins = discretiser.learn_columns(data, *bound)
        for j in range(bound[1] - bound[0]):
            present = ~np.isnan(block[:, j]) & ~np.isnan(target)
            x, y = block[present, j], target[present]
            mass = None if weights is None else weights[present]
            levels = np.searchsorted(bins.of(j), x) if bins.as_levels[j] else None
            if levels is not None and discrete_target:
                found = _plug_in(levels, y.astype(np.int64), mass)
            elif levels is not None:
                found = discrete_continuous_information(y, levels, n_neighbours, mass)
            elif discrete_target:
                found = discrete_continuous_information(x, y.astype(np.int64), n_neighbours, mass)
            else:
                found = continuous_information(x, y, n_neighbours, mass)
            bits[bound[0] + j] = found

    in_threads(threads, work, data.column_blocks(1 << 22))
    return bits


def as_target(data: Dataset, feature: int, discretiser: Discretiser) -> Dataset:
    """The same table with one feature in place of the label: a class if it has levels."""
    column = np.asarray(data.columns(feature, feature + 1), dtype=np.float64)[:, 0]
    as_levels = bool(discretiser.learn_columns(data, feature, feature + 1).as_levels[0])
    known = np.unique(column[~np.isnan(column)])
    if as_levels and not np.isnan(column).any():
        codes = np.searchsorted(known, column)
        return attrs.evolve(
            data, y=codes, classes=tuple(known.tolist()), task="classification"
        )
    return attrs.evolve(data, y=column, classes=(), task="regression")


def _target(data: Dataset, discretiser: Discretiser) -> tuple[NDArray[np.float64], bool]:
    if data.task == "classification":
        return data.y.astype(np.float64), True
    as_levels, bounds = discretiser.learn_values(data.y, np.zeros(data.n_samples, np.int64), None)
    if as_levels:
        codes = np.searchsorted(bounds, data.y).astype(np.float64)
        # A feature in place of the label may have holes.
        return np.where(np.isnan(data.y), np.nan, codes), True
    return data.y, False


def _plug_in(
    x: NDArray[np.int64], y: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> float:
    if not x.size:
        return 0.0
    width = int(y.max()) + 1
    cells = np.bincount(x * width + y, weights=weights, minlength=(int(x.max()) + 1) * width)
    table = cells.reshape(-1, width)
    n = table.sum()
    sums = [clogc(part).sum() for part in (table, table.sum(axis=0), table.sum(axis=1))]
    return max(0.0, float(np.log2(n) + (sums[0] - sums[1] - sums[2]) / n)) if n > 0 else 0.0
