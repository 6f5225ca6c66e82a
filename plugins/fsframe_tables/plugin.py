"""Entries of the formats; imports no reader."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import ReaderEntry, WriterEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_readers() -> Iterator[ReaderEntry]:
    """Parquet, Arrow, Excel, ARFF, MAT, NPY, sparse matrices, svmlight, AnnData, PLINK, GCT
    and GEO."""
    yield ReaderEntry(
        name="parquet",
        target="fsframe_tables.frames:ParquetReader",
        summary="Parquet files",
        starts=(b"PAR1",),
    )
    yield ReaderEntry(
        name="arrow",
        target="fsframe_tables.frames:ArrowReader",
        summary="Arrow IPC files (Feather version 2)",
        starts=(b"ARROW1",),
    )
    yield ReaderEntry(
        name="excel",
        target="fsframe_tables.frames:ExcelReader",
        summary="A sheet of Excel workbooks (.xlsx), the first that holds a table",
        requires="fastexcel",
        zip_member="xl/workbook.xml",
    )
    yield ReaderEntry(
        name="arff",
        target="fsframe_tables.frames:ArffReader",
        summary="Attribute-relation files of Weka; nominal attributes are categorical",
        endings=(".arff",),
        reference="Witten, Frank, Hall 2011, Data mining: practical machine learning tools and "
        "techniques, 3rd ed., Morgan Kaufmann, ISBN 978-0-12-374856-0",
    )
    yield ReaderEntry(
        name="mat",
        target="fsframe_tables.matrices:MatReader",
        summary="MAT files; the matrix X or the only one, the vector y or the only one that fits",
        starts=(b"MATLAB 5", b"MATLAB 7"),
    )
    yield ReaderEntry(
        name="npy",
        target="fsframe_tables.matrices:NpyReader",
        summary="One array (.npy); the label is a column of it, or another (--labels)",
        starts=(b"\x93NUMPY",),
    )
    yield ReaderEntry(
        name="sparse-npz",
        target="fsframe_tables.matrices:SparseNpzReader",
        summary="Matrices of scipy.sparse.save_npz, by rows or columns",
        zip_member="indptr.npy",
    )
    yield ReaderEntry(
        name="matrix-market",
        target="fsframe_tables.matrices:MatrixMarketReader",
        summary="Matrix Market files, sparse or dense",
        starts=(b"%%Matrix",),
        endings=(".mtx.gz",),
    )
    yield ReaderEntry(
        name="svmlight",
        target="fsframe_tables.matrices:SvmlightReader",
        summary="Rows of label index:value (svmlight, libsvm)",
        requires="scikit-learn",
        endings=(".svmlight", ".libsvm", ".svm"),
    )
    yield ReaderEntry(
        name="anndata",
        target="fsframe_tables.genetics:AnnDataReader",
        summary="AnnData files; --x names a layer, columns of obs may be label and groups",
        endings=(".h5ad",),
    )
    yield ReaderEntry(
        name="plink",
        target="fsframe_tables.genetics:PlinkReader",
        summary="PLINK genotypes (.bed with .bim and .fam) as copies of the first allele",
        endings=(".bed",),
    )
    yield ReaderEntry(
        name="gct",
        target="fsframe_tables.genetics:GctReader",
        summary="Gene cluster text 1.2 and 1.3, transposed to samples × genes; .cls beside it",
        starts=(b"#1.2", b"#1.3"),
        endings=(".gct.gz",),
    )
    yield ReaderEntry(
        name="geo",
        target="fsframe_tables.genetics:SeriesMatrixReader",
        summary="Series matrices of GEO, transposed to samples × probes; characteristics beside",
        starts=(b"!Series_",),
        endings=("_series_matrix.txt.gz",),
        reference="Barrett et al. 2013, NCBI GEO: archive for functional genomics data sets - "
        "update, Nucleic Acids Research 41:D991-D995, doi:10.1093/nar/gks1193",
    )


# Name, class, summary, endings, and whether it is text.
_WRITERS = (
    ("csv", "CsvWriter", "Comma-separated text", (".csv",), True),
    ("tsv", "TsvWriter", "Tab-separated text", (".tsv", ".tab"), True),
    ("xlsx", "ExcelWriter", "Excel workbooks", (".xlsx",), False),
    ("parquet", "ParquetWriter", "Parquet files", (".parquet",), False),
    ("latex", "LatexWriter", "A LaTeX tabular, for reading", (".tex",), True),
    ("markdown", "MarkdownWriter", "A Markdown table, for reading", (".md",), True),
)


@hookimpl
def fsframe_writers() -> Iterator[WriterEntry]:
    """CSV, TSV, Excel, Parquet, LaTeX and Markdown."""
    for name, target, summary, endings, text in _WRITERS:
        yield WriterEntry(
            name=name,
            target=f"fsframe_tables.frames:{target}",
            summary=summary,
            endings=endings,
            text=text,
            requires="xlsxwriter" if name == "xlsx" else (),
        )
