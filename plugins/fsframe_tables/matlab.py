"""MAT files of versions 5 to 7, and of version 7.3, which are HDF5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.tables.array_table import ArrayTable
from fsframe.tables.hdf5 import Hdf5Arrays
from fsframe.tables.reader import Reader
from fsframe_tables.mat_elements import MatVariables
from fsframe_tables.sparse import compressed, sparse_table

__all__ = ["MatReader"]

_TABLES = ("X", "x", "data", "fea", "features")
_LABELS = ("y", "Y", "label", "labels", "class", "target", "gnd")
_NAMES = ("feature_names", "names")


class MatReader(Reader):
    """The matrix called X, or the only one; the vector called y, or the only one that fits it.

    Notes
    -----
    `x` and `y` name others. Samples are rows. Structures and objects are not read.
    """

    options = frozenset({"x", "y"})

    def _read(self, path: Path, x: str = "", y: str = "") -> Any:
        with path.open("rb") as file:
            new = file.read(10).startswith(b"MATLAB 7")
        variables = _Hdf5(path) if new else MatVariables(path)
        shapes = variables.shapes
        tables = [name for name, shape in shapes.items() if len(shape) == 2 and min(shape) > 1]
        table = _chosen(x, _TABLES, tables, f"{path}: features", "--x")
        if table is None:
            raise DataError(f"{path} holds no matrix of numbers; it has {', '.join(shapes) or '—'}")
        n = shapes[table][0]
        fitting = [name for name, s in shapes.items() if name != table and sorted(s) == [1, n]]
        label = _chosen(y, _LABELS, fitting, f"{path}: label", "--y")
        X = variables.get(table)
        if len(X.shape) != 2 or X.dtype.kind not in "fiub":
            raise DataError(f"{path}: {table!r} holds {X.dtype} of shape {X.shape}, not numbers")
        names = None
        for name in _NAMES:
            if sorted(shapes.get(name, ())) == [1, X.shape[1]]:
                names = _vector(variables.get(name))
                break
        return ArrayTable(
            path=path,
            X=X,
            y=None if label is None else _vector(variables.get(label)),
            names=None if names is None else tuple(map(str, names.tolist())),
            label_name=label or "y",
            without_label=f"it holds {', '.join(list(shapes)[:10])}: name one (y=…, --y)",
        )


def _vector(found: Any) -> NDArray[Any]:
    """A matrix of one row or column, sparse or not, as (n,)."""
    whole = found if isinstance(found, np.ndarray) else found.read(0, found.shape[1])
    return np.asarray(whole.ravel())


def _chosen(
    said: str, usual: tuple[str, ...], fitting: list[str], what: str, option: str
) -> str | None:
    """The requested variable; None if none fits."""
    said = said.strip("/")
    if said:
        if said not in fitting:
            shown = ", ".join(fitting[:12]) or "none"
            raise DataError(f"{what}: {said!r} does not fit; these do: {shown}")
        return said
    called = [name for name in usual if name in fitting]
    if called:
        return called[0]
    if len(fitting) > 1:
        raise DataError(f"{what}: name one ({option}): {', '.join(fitting[:12])}")
    return fitting[0] if fitting else None


class _Hdf5:
    """Variables of a file of version 7.3, whose arrays are stored by columns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.shapes: dict[str, tuple[int, ...]] = {}
        with Hdf5Arrays(path) as file:
            for name in file.members(""):
                if file.is_group(name):
                    rows, jc = file.attribute(name, "MATLAB_sparse"), file.form(f"{name}/jc")
                    if rows is not None and jc is not None and len(jc[0]) == 1:
                        self.shapes[name] = (int(rows), jc[0][0] - 1)
                    continue
                form = file.form(name)
                if form is not None and form[1].kind in "fiub":
                    self.shapes[name] = form[0][::-1]

    def get(self, name: str) -> Any:
        what = f"{self._path}: {name!r} of shape {self.shapes[name]}"
        with Hdf5Arrays(self._path) as file:
            if not file.is_group(name):
                found = file.array(name)
                if found is None:
                    raise DataError(f"{what} is not there")
                return np.ascontiguousarray(found.T)
            parts = [file.array(f"{name}/{part}") for part in ("data", "ir", "jc")]
        n, p = self.shapes[name]
        return sparse_table(compressed("csc", parts, (n, p), what), what)
