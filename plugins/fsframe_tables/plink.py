"""PLINK's binary genotypes: .bed, with .bim and .fam beside it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.tables.array_table import ArrayTable
from fsframe.tables.reader import Reader
from fsframe.tables.size_limits import check_size
from fsframe.tables.text_file import load_text
from fsframe_tables.genotypes import PackedGenotypes

__all__ = ["PlinkReader"]

_MAGIC = b"\x6c\x1b\x01"


class PlinkReader(Reader):
    """Persons × variants: copies of the first allele (A1), in two bits per genotype.

    Notes
    -----
    They are read by columns, as bytes, or as float64 if any in the file is missing. A method that
    needs the whole table gets it converted once.

    The label is the phenotype of the .fam file; family, person and sex may be named as groups or as
    label. Variants without a unique id are named ``chromosome:position:A1:A2``.

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
                    f"{path} is not a variant-major PLINK 1 .bed file; make one with plink "
                    "--make-bed"
                )
            if stored != 3 + p * width:
                raise DataError(
                    f"{path} holds {stored} bytes; {n} persons and {p} variants need "
                    f"{3 + p * width}: the files belong to different data sets, or it is cut short"
                )
            check_size(stored, f"{path} of {n} persons × {p} variants")
            packed = np.fromfile(file, dtype=np.uint8).reshape(p, width)
        return ArrayTable(
            path=path,
            X=PackedGenotypes.of(packed, n),
            y=_phenotype([fields[5] for fields in persons]),
            names=_names(variants),
            label_name="phenotype",
            beside={
                name: np.array([fields[k] for fields in persons], dtype=object)
                for name, k in (("family", 0), ("person", 1), ("sex", 4))
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


def _names(variants: list[list[str]]) -> tuple[str, ...]:
    times = Counter(fields[1] for fields in variants)
    return tuple(
        fields[1]
        if fields[1] != "." and times[fields[1]] == 1
        else ":".join((fields[0], fields[3], fields[4], fields[5]))
        for fields in variants
    )


def _phenotype(texts: list[str]) -> NDArray[Any] | None:
    """The label: 1 and 2, or a numeric target; empty if missing, None if all are missing."""
    status = set(texts) <= {"0", "1", "2", "-9"}
    missing = {"0", "-9"} if status else {"-9", "NA", "nan"}
    found = np.array(["" if text in missing else text for text in texts], dtype=object)
    return None if all(text == "" for text in found) else found
