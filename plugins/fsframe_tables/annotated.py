"""AnnData files (.h5ad): cells × genes, with annotations of cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.tables.array_table import ArrayTable
from fsframe.tables.hdf5 import Hdf5Arrays
from fsframe.tables.reader import Reader
from fsframe_tables.matrices import compressed, sparse_table

__all__ = ["AnnDataReader"]


class AnnDataReader(Reader):
    """``X``, or the layer that `x` names; columns of ``obs`` may be the label and the groups.

    Notes
    -----
    Read by h5py from the published form of the file (anndata 0.7 and later): dense or csr or csc
    values, names in the index of ``var``, columns of ``obs`` as arrays, categories, or nullable
    values.
    """

    options = frozenset({"x", "y"})

    def _read(self, path: Path, x: str = "X", y: str = "") -> Any:
        with Hdf5Arrays(path) as file:
            # A raw layer has its own genes.
            names = _index(file, "raw/var" if x.strip("/").startswith("raw") else "var")
            cells = _index(file, "obs")
            if names is None or cells is None:
                raise DataError(f"{path} has no index of var or of obs; it is damaged or too old")
            X = _values(file, x.strip("/"), path, (len(cells), len(names)))
            beside = {}
            for name in file.members("obs"):
                if name == "_index":
                    continue
                found = _column(file, f"obs/{name}")
                if found is not None and found.shape == X.shape[:1]:
                    beside[name] = found
        label = y.strip("/").removeprefix("obs/")
        if y and label not in beside:
            known = ", ".join(list(beside)[:12]) or "none"
            raise DataError(f"{path} has no column {label!r} in obs; it has {known}")
        return ArrayTable(
            path=path,
            X=X,
            y=beside.pop(label, None),
            names=tuple(names),
            label_name=label or "y",
            beside=beside,
        )


def _values(file: Hdf5Arrays, name: str, path: Path, expected: tuple[int, int]) -> Any:
    what = f"{path}: {name!r}"
    if not file.is_group(name):
        X = file.array(name)
        if X is None:
            layers = [f"layers/{layer}" for layer in file.members("layers")]
            raise DataError(
                f"{what} is not there; name the values to read (--x): {', '.join(layers)}"
            )
        if X.ndim != 2 or X.dtype.kind not in "fiub" or 0 in X.shape:
            raise DataError(f"{what} holds {X.dtype} of shape {X.shape}, not cells × genes")
        if X.shape != expected:
            raise DataError(f"{what} of shape {X.shape}: obs and var name {expected}")
        return X
    kind = str(file.attribute(name, "encoding-type") or file.attribute(name, "h5sparse_format"))
    shape = file.attribute(name, "shape")
    if shape is None:
        shape = file.attribute(name, "h5sparse_shape")
    if shape is None or np.shape(shape) != (2,):
        raise DataError(f"{what} is sparse and has no shape; it is damaged")
    n, p = (int(size) for size in shape)
    if (n, p) != expected:
        raise DataError(f"{what} declares a shape of {(n, p)}: obs and var name {expected}")
    parts = [file.array(f"{name}/{part}") for part in ("data", "indices", "indptr")]
    matrix = compressed(kind.removesuffix("_matrix"), parts, (n, p), what)
    return sparse_table(matrix, what)


def _index(file: Hdf5Arrays, group: str) -> list[str] | None:
    """The names of a data frame's rows."""
    found = file.array(f"{group}/_index")
    if found is None:
        key = file.attribute(group, "_index")
        found = file.array(f"{group}/{key}") if isinstance(key, str) else None
    if found is None:
        return None
    return [str(name).strip() for name in found.tolist()]


def _column(file: Hdf5Arrays, name: str) -> NDArray[Any] | None:
    """A column of a data frame as numbers or text, empty or NaN if missing; None if neither."""
    try:
        if not file.is_group(name):
            return file.array(name)
        codes, categories = file.array(f"{name}/codes"), file.array(f"{name}/categories")
        if codes is not None and categories is not None and codes.dtype.kind in "iu":
            texts = [str(text) for text in categories.tolist()]
            found = np.empty(codes.shape, dtype=object)
            found[:] = [texts[c] if 0 <= c < len(texts) else "" for c in codes.tolist()]
            return found
        values, mask = file.array(f"{name}/values"), file.array(f"{name}/mask")
        if values is not None and mask is not None and values.shape == mask.shape:
            if values.dtype.kind == "O":
                return np.where(mask.astype(bool), "", values)
            return np.where(mask.astype(bool), np.nan, values)
    except DataError:
        pass
    return None
