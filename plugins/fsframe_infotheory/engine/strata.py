"""Covariates in counts of levels: their strata joined with the class, or as a given feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.dataset import Dataset
from fsframe.table.sparse_columns import SparseColumns
from fsframe_infotheory.engine.discretise import Discretiser

__all__ = ["labels_with_strata", "with_strata", "without_last"]


def labels_with_strata(data: Dataset, discretiser: Discretiser) -> tuple[Dataset, Dataset]:
    """The table labelled by (stratum, class), class fastest, and by stratum alone.

    A numeric target is binned by `discretiser`.
    """
    assert data.covariates is not None
    strata = data.covariates.strata()
    y, n_classes = discretiser.codes_of_target(data)
    n_strata = int(strata.max()) + 1
    parts = []
    for codes, many in ((strata * n_classes + y, n_strata * n_classes), (strata, n_strata)):
        codes.setflags(write=False)
        classes = tuple(range(many))
        parts.append(
            attrs.evolve(data, y=codes, classes=classes, task="classification", covariates=None)
        )
    return parts[0], parts[1]


def with_strata(data: Dataset) -> Dataset:
    """The table with the strata of its covariates as an additional, last nominal column."""
    assert data.covariates is not None
    strata = data.covariates.strata()
    name = "strata of " + ", ".join(data.covariates.names)
    while name in data.feature_names:
        name += "'"
    matrix: Any = data.matrix
    if isinstance(matrix, SparseColumns):
        matrix = matrix.with_column(strata)
    elif data.in_memory:
        small = matrix.dtype != np.uint8 or strata.max() < 254
        kind = matrix.dtype if small and matrix.dtype != np.int8 else np.float64
        matrix = np.column_stack([matrix.astype(kind, copy=False), strata.astype(kind)])
        matrix.setflags(write=False)
    else:
        raise DataError(
            f"{data.name}: a table that stays in its file cannot be adjusted for covariates by a "
            "greedy filter; read it into memory (in_memory=True)"
        )
    return attrs.evolve(
        data,
        matrix=matrix,
        feature_names=(*data.feature_names, name),
        categorical=np.append(data.categorical, True),
        keep=None if data.keep is None else np.append(data.keep, False),
        covariates=None,
    )


def without_last(tables: Mapping[str, NDArray[Any]], p: int) -> dict[str, NDArray[Any]]:
    """The tables of a greedy filter without column p, the last."""
    found = dict(tables)
    for name in ("relevance", "bins_as_levels", "bins_missing"):
        found[name] = found[name][:p]
    found["bins_offsets"] = found["bins_offsets"][: p + 1]
    found["bins_thresholds"] = found["bins_thresholds"][: found["bins_offsets"][-1]]
    return found
