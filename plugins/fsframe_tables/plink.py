"""PLINK's binary genotypes: .bed, with .bim and .fam beside it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.tables.array_table import ArrayTable
from fsframe.tables.bounds import check_size
from fsframe.tables.reader import Reader
from fsframe.tables.text_file import load_text

__all__ = ["PlinkReader"]

_MAGIC = b"\x6c\x1b\x01"
_MISSING = 3
# Two bits a genotype, the first person in the lowest: copies of the first allele, or missing.
_COPIES = np.array([2, _MISSING, 1, 0], dtype=np.uint8)
_OF_BYTE = _COPIES[(np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3]
_BLOCK = 1 << 24


class PlinkReader(Reader):
    """Persons × variants: copies of the first allele (A1), as bytes where none is missing.

    Notes
    -----
    The label is the phenotype of the .fam file; family, person and sex may be named as groups or as
    label. Variants without an id of their own are called ``chromosome:position:A1:A2``.

    References
    ----------
    PLINK 1.9 documentation, formats .bed, .bim and .fam.
    """

    def _read(self, path: Path) -> Any:
        persons = _lines(path.with_suffix(".fam"))
        variants = _lines(path.with_suffix(".bim"))
        n, p = len(persons), len(variants)
        width = -(-n // 4)
        stored = path.stat().st_size
        with path.open("rb") as file:
            if file.read(3) != _MAGIC:
                raise DataError(
                    f"{path} is no PLINK 1 .bed file by variants; make one with --make-bed"
                )
            if stored != 3 + p * width:
                raise DataError(
                    f"{path} holds {stored} bytes; {n} persons and {p} variants need "
                    f"{3 + p * width}: the three files are not of one data set, or it is cut short"
                )
            check_size(2 * n * p, f"{path} of {n} persons × {p} variants")
            X = np.empty((n, p), dtype=np.uint8)
            step = max(1, _BLOCK // width)
            for start in range(0, p, step):
                stop = min(start + step, p)
                packed = np.frombuffer(file.read((stop - start) * width), dtype=np.uint8)
                copies = _OF_BYTE[packed].reshape(stop - start, 4 * width)
                X[:, start:stop] = copies[:, :n].T
        return ArrayTable(
            path=path,
            X=_with_gaps(X, path),
            y=_phenotype([fields[5] for fields in persons]),
            names=_names(variants),
            label_name="phenotype",
            beside={
                "family": np.array([fields[0] for fields in persons], dtype=object),
                "person": np.array([fields[1] for fields in persons], dtype=object),
                "sex": np.array([fields[4] for fields in persons], dtype=object),
            },
        )


def _lines(path: Path) -> list[list[str]]:
    if not path.is_file():
        raise DataError(f"there is no {path}, which belongs to the .bed file")
    rows = [line.split() for line in load_text(path).decode().split("\n") if line.strip()]
    if not rows:
        raise DataError(f"{path} is empty")
    for number, fields in enumerate(rows, start=1):
        if len(fields) != 6:
            raise DataError(f"{path}, line {number} has {len(fields)} fields, not 6")
    return rows


def _with_gaps(X: NDArray[np.uint8], path: Path) -> NDArray[Any]:
    """The genotypes, as float64 with NaN if one is missing: bytes have no room for that."""
    gaps = X == _MISSING
    if not gaps.any():
        return X
    check_size(10 * X.size, f"{path} has missing genotypes, so that numbers of 8 bytes")
    found = X.astype(np.float64)
    found[gaps] = np.nan
    return found


def _names(variants: list[list[str]]) -> tuple[str, ...]:
    times = Counter(fields[1] for fields in variants)
    return tuple(
        fields[1]
        if fields[1] != "." and times[fields[1]] == 1
        else ":".join((fields[0], fields[3], fields[4], fields[5]))
        for fields in variants
    )


def _phenotype(texts: list[str]) -> NDArray[Any] | None:
    """The label: 1 and 2, or numbers to predict; empty where missing, None if all are."""
    status = set(texts) <= {"0", "1", "2", "-9"}
    missing = {"0", "-9"} if status else {"-9", "NA", "nan"}
    found = np.array(["" if text in missing else text for text in texts], dtype=object)
    return None if all(text == "" for text in found) else found
