"""PLINK's binary genotypes: .bed, with .bim and .fam beside it, two bits each and as numbers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.tables.array_table import ArrayTable
from fsframe.tables.reader import Reader
from fsframe.tables.size_limits import check_size
from fsframe.tables.text_file import load_text

__all__ = ["PackedGenotypes", "PlinkReader"]

_MISSING = 3
# Two bits a genotype, the first person in the lowest: copies of the first allele, or missing.
_COPIES = np.array([2, _MISSING, 1, 0], dtype=np.uint8)
_CODES = ((np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3).astype(np.uint8)
_OF_BYTE = _COPIES[_CODES]
_NUMBERS = np.where(_OF_BYTE == _MISSING, np.nan, _OF_BYTE.astype(np.float64))
_HAS_GAP = (_OF_BYTE == _MISSING).any(axis=1)
_BLOCK = 1 << 22


@attrs.frozen(eq=False)
class PackedGenotypes:
    """Persons × variants, stored at two bits per genotype and read by columns.

    Parameters
    ----------
    packed : (n_variants, ⌈n_samples / 4⌉) uint8
        As in a .bed file by variants.
    n_samples : int
    gaps : bool
        Whether any genotype is missing; blocks are then float64 with NaN, else bytes.
    """

    packed: NDArray[np.uint8] = attrs.field(repr=False)
    n_samples: int
    gaps: bool

    @classmethod
    def of(cls, packed: NDArray[np.uint8], n_samples: int) -> PackedGenotypes:
        """The genotypes of a file, (n_variants, ⌈n_samples / 4⌉) uint8.

        Bits after the last person are set to 0 in place.
        """
        if n_samples % 4:
            packed[:, -1] &= (1 << 2 * (n_samples % 4)) - 1
        rows = max(1, _BLOCK // packed.shape[1])
        blocks = (packed[start : start + rows] for start in range(0, len(packed), rows))
        return cls(packed, n_samples, any(bool(_HAS_GAP[block].any()) for block in blocks))

    @property
    def shape(self) -> tuple[int, int]:
        """Persons, variants."""
        return self.n_samples, len(self.packed)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of what `read` returns."""
        return np.dtype(np.float64 if self.gaps else np.uint8)

    @property
    def nbytes(self) -> int:
        """Bytes of the packed genotypes."""
        return self.packed.nbytes

    def take(self, columns: NDArray[np.intp]) -> PackedGenotypes:
        """Only these of the variants, in this order."""
        return attrs.evolve(self, packed=self.packed[columns])

    def take_rows(self, rows: NDArray[np.intp]) -> PackedGenotypes:
        """Only these of the persons, in this order, still at two bits per genotype."""
        quarter, place = np.divmod(rows, 4)
        width = -(-len(rows) // 4)
        packed = np.empty((len(self.packed), width), dtype=np.uint8)
        step = max(1, _BLOCK // (4 * width))
        for first in range(0, len(packed), step):
            bytes_of = self.packed[first : first + step].take(quarter, axis=1)
            codes = np.zeros((len(bytes_of), 4 * width), dtype=np.uint8)
            np.bitwise_and(bytes_of >> (2 * place).astype(np.uint8), 3, out=codes[:, : len(rows)])
            packed[first : first + step] = (
                codes[:, ::4] | codes[:, 1::4] << 2 | codes[:, 2::4] << 4 | codes[:, 3::4] << 6
            )
        return attrs.evolve(self, packed=packed, n_samples=len(rows))

    def codes(self) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """All genotypes, (n_samples, n_variants), with a code for missing ones, and the number that
        each code stands for."""
        return self._decompressed(self.packed, _OF_BYTE), np.array([0.0, 1.0, 2.0, np.nan])

    def filled(self, fill: NDArray[np.float64]) -> PackedGenotypes | None:
        """With missing genotypes of variant j replaced by ``fill[j]``.

        None if any of these is not a genotype.
        """
        if not np.isin(fill, (0.0, 1.0, 2.0)).all():
            return None
        # The bits 01 of a missing genotype become 11, 10 and 00 for 0, 1 and 2 copies.
        change = np.array([2, 3, 1], dtype=np.uint8)[fill.astype(np.intp)][:, None]
        packed = np.empty_like(self.packed)
        rows = max(1, _BLOCK // packed.shape[1])
        for start in range(0, len(packed), rows):
            block = self.packed[start : start + rows]
            missing = block & ~(block >> 1) & 0x55
            np.bitwise_xor(
                block, missing * change[start : start + rows], out=packed[start : start + rows]
            )
        return attrs.evolve(self, packed=packed, gaps=False)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Variants ``start … stop-1`` as (n_samples, stop-start): copies of the first allele."""
        return self._decompressed(self.packed[start:stop], _NUMBERS if self.gaps else _OF_BYTE)

    def _decompressed(self, wanted: NDArray[np.uint8], table: NDArray[Any]) -> NDArray[Any]:
        """The values of `table` for each byte, by persons."""
        found = np.empty((self.n_samples, len(wanted)), dtype=table.dtype)
        step = max(1, _BLOCK // wanted.shape[1])
        for first in range(0, len(wanted), step):
            copies = table[wanted[first : first + step]].reshape(-1, 4 * wanted.shape[1])
            found[:, first : first + step] = copies[:, : self.n_samples].T
        return found


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
