"""Formats of genetics: AnnData (.h5ad), gene cluster text (.gct), series matrices of GEO, PLINK's
genotypes (.bed)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.files.hdf5 import Hdf5Arrays
from fsframe.table.files.sheet import AboutSamples, load_sheet, with_samples
from fsframe.table.reader import ArrayTable, Form, Reader
from fsframe.table.spelling.dialect import unquote
from fsframe.table.spelling.text_file import check_size, is_missing, is_number, load_text
from fsframe_tables.matrices import compressed


class AnnDataReader(Reader):
    """``X`` of AnnData, or the layer that `x` names; columns of ``obs`` may be label and groups.

    Notes
    -----
    Read by h5py from the published form of the file (anndata 0.7 and later): dense or csr or csc
    values, names in the index of ``var``, columns of ``obs`` as arrays, categories, or nullable
    values.
    """

    options = frozenset({"x", "y"})

    def _read(self, path: Path, x: str = "X", y: str = "") -> Any:
        with Hdf5Arrays(path) as file:
            # A raw layer has genes of its own, in raw/var.
            names = _index(file, "raw/var" if x.strip("/").startswith("raw") else "var")
            cells = _index(file, "obs")
            if names is None or cells is None:
                raise DataError(f"{path} has no index of var or of obs; it is damaged or too old")
            X = _values(file, x.strip("/"), path, (len(cells), len(names)))
            other_columns = {}
            for name in file.members("obs"):
                if name == "_index":
                    continue
                column = _column(file, f"obs/{name}")
                if column is not None and column.shape == X.shape[:1]:
                    other_columns[name] = column
        label = y.strip("/").removeprefix("obs/")
        if y and label not in other_columns:
            known = ", ".join(list(other_columns)[:12]) or "none"
            raise DataError(f"{path} has no column {label!r} in obs; it has {known}")
        return ArrayTable(
            path=path,
            X=X,
            y=other_columns.pop(label, None),
            names=tuple(names),
            label_name=label or "y",
            beside=other_columns,
            samples=tuple(map(str, cells)),
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
    kind = str(file.attribute(name, "encoding-type"))
    shape = file.attribute(name, "shape")
    if shape is None or np.shape(shape) != (2,):
        raise DataError(f"{what} is sparse and has no shape; it is damaged")
    n, p = (int(size) for size in shape)
    if (n, p) != expected:
        raise DataError(f"{what} declares a shape of {(n, p)}: obs and var name {expected}")
    parts = [file.array(f"{name}/{part}") for part in ("data", "indices", "indptr")]
    return compressed(kind.removesuffix("_matrix"), parts, (n, p), what)


def _index(file: Hdf5Arrays, group: str) -> list[str] | None:
    """The names of a data frame's rows."""
    names = file.array(f"{group}/_index")
    if names is None:
        key = file.attribute(group, "_index")
        names = file.array(f"{group}/{key}") if isinstance(key, str) else None
    if names is None:
        return None
    return [str(name).strip() for name in names.tolist()]


def _column(file: Hdf5Arrays, name: str) -> NDArray[Any] | None:
    """A column of a data frame as numbers or text, empty or NaN if missing; None if neither."""
    try:
        if not file.is_group(name):
            return file.array(name)
        codes, categories = file.array(f"{name}/codes"), file.array(f"{name}/categories")
        if codes is not None and categories is not None and codes.dtype.kind in "iu":
            texts = [str(text) for text in categories.tolist()]
            column = np.empty(codes.shape, dtype=object)
            column[:] = [texts[c] if 0 <= c < len(texts) else "" for c in codes.tolist()]
            return column
        values, mask = file.array(f"{name}/values"), file.array(f"{name}/mask")
        if values is not None and mask is not None and values.shape == mask.shape:
            if values.dtype.kind == "O":
                return np.where(mask.astype(bool), "", values)
            return np.where(mask.astype(bool), np.nan, values)
    except DataError:
        pass
    return None


class GctReader(Reader):
    """Gene cluster text of versions 1.2 and 1.3, transposed to samples × genes.

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
            without_label=f"write the classes to {path.with_suffix('.cls').name} beside it, give a "
            "table about the samples (--samples, samples=)",
            beside=about,
            samples=tuple(name.strip() for name in rows[0][before:]),
        )


def _number(text: str, path: Path, gene: str) -> float:
    if is_missing(text) or text.lower() == "na":
        return float("nan")
    if not is_number(text):
        raise DataError(f"{path}, gene {gene[:60]!r}: {text[:40]!r} is not a number")
    return float(text)


def _classes(path: Path, n: int) -> Any:
    """The labels in the class file next to the table; None if there is none."""
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


class SeriesMatrixReader(Reader):
    """The table of a series, transposed to samples × probes; annotations of the samples may be the
    label, groups or covariates.

    Notes
    -----
    Characteristics, written as ``name: value``, become annotations of that name. Other lines on
    samples become annotations too, unless all samples have the same value, or each has another.
    """

    def _read(self, path: Path) -> Any:
        head, begin, rest = load_text(path).partition(b"!series_matrix_table_begin\n")
        table, end, _ = rest.partition(b"!series_matrix_table_end")
        if not begin or not end:
            raise DataError(f"{path} is cut off: it has no line !series_matrix_table_end")
        if table.count(b"\n") < 2:
            raise DataError(
                f"{path} has an empty table: the values of this series are in its supplementary "
                "files. Read one of them (--transpose), with a table about the samples (--samples)"
            )
        form = Form(delimiter="\t", header=True, transpose=True)
        sheet = load_sheet(path, form, text=table, called="geo")
        assert sheet.names is not None
        told = [
            line.split("\t") for line in head.decode().split("\n") if line.startswith("!Sample_")
        ]
        columns = _characteristics(told, sheet.names[1:], path)
        about = AboutSamples(path=path, names=sheet.names[1:], columns=columns)
        return with_samples(sheet, about, transpose=True)


def _characteristics(
    lines: list[list[str]], samples: Sequence[str], path: Path
) -> dict[str, list[str | None] | NDArray[np.float64]]:
    """Annotations of the samples by name, from lines of a key and a cell for each sample."""
    told: dict[str, list[str | None]] = {}
    for key, *cells in lines:
        if len(cells) != len(samples):
            n = len(samples)
            raise DataError(f"{path}, {key} has {len(cells)} fields, the table {n} samples")
        # One line may hold different characteristics, where samples lack some of them.
        listed = key.startswith("!Sample_characteristics")
        for sample, cell in enumerate(map(unquote, cells)):
            name, colon, value = cell.partition(":")
            if not (listed and colon):
                name, value = key.removeprefix("!Sample_"), cell
            values = told.setdefault(name.strip(), [None] * len(samples))
            values[sample] = value.strip() or None
    return {
        name: _numbers_or_texts(values)
        for name, values in told.items()
        if len({*values} - {None}) > 1 and len({*values}) < len(samples)
    }


def _numbers_or_texts(values: list[str | None]) -> list[str | None] | NDArray[np.float64]:
    """The values as numbers if all that are not missing are numbers; else as they are."""
    known = [None if value is None or is_missing(value) else value for value in values]
    if all(value is None or is_number(value) for value in known):
        return np.array([np.nan if value is None else float(value) for value in known])
    return values


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
        gaps = any(bool(_HAS_GAP[packed[some]].any()) for some in _spans(packed.shape))
        return cls(packed, n_samples, gaps)

    @property
    def shape(self) -> tuple[int, int]:
        """Persons, variants."""
        return self.n_samples, len(self.packed)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the arrays that `read` returns."""
        return np.dtype(np.float64 if self.gaps else np.uint8)

    @property
    def nbytes(self) -> int:
        """Bytes of the packed genotypes."""
        return self.packed.nbytes

    def take(self, columns: NDArray[np.intp]) -> PackedGenotypes:
        """Only these variants, in this order."""
        return attrs.evolve(self, packed=self.packed[columns])

    def take_rows(self, rows: NDArray[np.intp]) -> PackedGenotypes:
        """Only these persons, in this order, still at two bits per genotype."""
        quarter, place = np.divmod(rows, 4)
        width = -(-len(rows) // 4)
        packed = np.empty((len(self.packed), width), dtype=np.uint8)
        for some in _spans((len(packed), 4 * width)):
            bytes_of = self.packed[some].take(quarter, axis=1)
            codes = np.zeros((len(bytes_of), 4 * width), dtype=np.uint8)
            np.bitwise_and(bytes_of >> (2 * place).astype(np.uint8), 3, out=codes[:, : len(rows)])
            packed[some] = (
                codes[:, ::4] | codes[:, 1::4] << 2 | codes[:, 2::4] << 4 | codes[:, 3::4] << 6
            )
        return attrs.evolve(self, packed=packed, n_samples=len(rows))

    def codes(self) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """All genotypes, (n_samples, n_variants), with a code for missing ones, and the number that
        each code stands for."""
        return self._decompressed(self.packed, _OF_BYTE), np.array([0.0, 1.0, 2.0, np.nan])

    def filled(self, fill: NDArray[np.float64]) -> PackedGenotypes | None:
        """The genotypes with missing ones of variant j replaced by ``fill[j]``.

        None if any value of `fill` is not a genotype.
        """
        if not np.isin(fill, (0.0, 1.0, 2.0)).all():
            return None
        # The bits 01 of a missing genotype become 11, 10 and 00 for 0, 1 and 2 copies.
        change = np.array([2, 3, 1], dtype=np.uint8)[fill.astype(np.intp)][:, None]
        packed = np.empty_like(self.packed)
        for some in _spans(packed.shape):
            block = self.packed[some]
            missing = block & ~(block >> 1) & 0x55
            np.bitwise_xor(block, missing * change[some], out=packed[some])
        return attrs.evolve(self, packed=packed, gaps=False)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Variants ``start … stop-1`` as (n_samples, stop-start): copies of the first allele."""
        return self._decompressed(self.packed[start:stop], _NUMBERS if self.gaps else _OF_BYTE)

    def _decompressed(self, wanted: NDArray[np.uint8], table: NDArray[Any]) -> NDArray[Any]:
        """The values of `table` for each byte, by persons."""
        values = np.empty((self.n_samples, len(wanted)), dtype=table.dtype)
        for some in _spans(wanted.shape):
            copies = table[wanted[some]].reshape(-1, 4 * wanted.shape[1])
            values[:, some] = copies[:, : self.n_samples].T
        return values


def _spans(shape: tuple[int, int]) -> Iterator[slice]:
    """Consecutive variants, as many at a time as have few million values of that width."""
    variants, width = shape
    step = max(1, _BLOCK // width)
    yield from (slice(first, first + step) for first in range(0, variants, step))


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
            samples=tuple(fields[1] for fields in persons),
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
    labels = np.array(["" if text in missing else text for text in texts], dtype=object)
    return None if all(text == "" for text in labels) else labels
