"""Gene cluster text (.gct): genes × samples, with annotations of samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fsframe.errors import DataError
from fsframe.tables.array_table import ArrayTable
from fsframe.tables.cell_syntax import is_missing, is_number
from fsframe.tables.reader import Reader
from fsframe.tables.size_limits import check_size
from fsframe.tables.text_file import load_text

__all__ = ["GctReader"]


class GctReader(Reader):
    """Versions 1.2 and 1.3, transposed to samples × genes.

    Notes
    -----
    A class file of the same name (.cls, by phenotypes) is the label of version 1.2; sample
    annotations of version 1.3 may be named as label or groups.
    """

    def _read(self, path: Path) -> Any:
        lines = load_text(path).decode().split("\n")
        while lines and not lines[-1].strip():
            lines.pop()
        if len(lines) < 4:
            raise DataError(f"{path} holds no table: it has {len(lines)} lines")
        sizes = [int(word) for word in lines[1].split()]
        if len(sizes) not in (2, 4) or min(sizes) < 0 or 0 in sizes[:2]:
            raise DataError(f"{path}, line 2 holds {lines[1][:40]!r}, not the sizes of a table")
        p, n, beside_genes, beside_samples = [*sizes, 1, 0][:4]
        if len(lines) != 3 + beside_samples + p:
            raise DataError(
                f"{path} has {len(lines)} lines; {p} genes and {beside_samples} lines on samples "
                f"need {3 + beside_samples + p}"
            )
        check_size(16 * n * p, f"{path} of {n} samples × {p} genes")
        before = 1 + beside_genes
        rows = [line.split("\t") for line in lines[2:]]
        for number, fields in enumerate(rows, start=3):
            if len(fields) != before + n:
                raise DataError(
                    f"{path}, line {number} has {len(fields)} fields; {n} samples and the "
                    f"leading fields need {before + n}"
                )
        about = {
            fields[0].strip(): np.array([t.strip() for t in fields[before:]], dtype=object)
            for fields in rows[1 : 1 + beside_samples]
        }
        genes = rows[1 + beside_samples :]
        X = np.empty((n, p))
        for column, fields in enumerate(genes):
            X[:, column] = [_number(text.strip(), path, fields[0]) for text in fields[before:]]
        return ArrayTable(
            path=path,
            X=X,
            y=_classes(path, n),
            names=tuple(fields[0].strip() for fields in genes),
            label_name="class",
            without_label=f"write the classes to {path.with_suffix('.cls').name} beside it",
            beside=about,
        )


def _number(text: str, path: Path, gene: str) -> float:
    if is_missing(text) or text.lower() == "na":
        return float("nan")
    if not is_number(text):
        raise DataError(f"{path}, gene {gene[:60]!r}: {text[:40]!r} is not a number")
    return float(text)


def _classes(path: Path, n: int) -> Any:
    """The labels of the class file beside the table; None without one."""
    name = path.name.removesuffix(".gz")
    file = path.with_name(name[: len(name) - len(".gct")] + ".cls")
    if not name.lower().endswith(".gct") or not file.is_file():
        return None
    lines = [line.split() for line in load_text(file).decode().split("\n") if line.strip()]
    if len(lines) != 3 or not lines[1] or not lines[1][0].startswith("#"):
        raise DataError(f"{file} is not a class file: sizes, # names and labels in three lines")
    if len(lines[2]) != n:
        raise DataError(f"{file} has {len(lines[2])} labels, {path} {n} samples")
    names = lines[1][1:] if lines[1][0] == "#" else [lines[1][0][1:], *lines[1][1:]]
    different = list(dict.fromkeys(lines[2]))
    # The names are in the order in which the labels first occur.
    word = dict(zip(different, names, strict=True)) if len(names) == len(different) else {}
    return np.array([word.get(text, text) for text in lines[2]], dtype=object)
