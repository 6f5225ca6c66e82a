"""The formats on offer; imports no reader."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import ReaderEntry, SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_readers() -> Iterator[ReaderEntry]:
    """Parquet, Arrow (Feather), Excel and ARFF."""
    yield ReaderEntry(
        name="parquet",
        target="fsframe_tables.columnar:ParquetReader",
        summary="Parquet files",
        starts=(b"PAR1",),
    )
    yield ReaderEntry(
        name="arrow",
        target="fsframe_tables.columnar:ArrowReader",
        summary="Arrow IPC files (Feather version 2)",
        starts=(b"ARROW1",),
    )
    yield ReaderEntry(
        name="excel",
        target="fsframe_tables.excel:ExcelReader",
        summary="The first sheet of Excel workbooks (.xlsx); needs fsframe[excel]",
        zip_member="xl/workbook.xml",
    )
    yield ReaderEntry(
        name="arff",
        target="fsframe_tables.arff:ArffReader",
        summary="Attribute-relation files of Weka; nominal attributes are categorical",
        endings=(".arff",),
        reference="Witten, Frank, Hall 2011",
    )


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    """The stage that fills gaps."""
    yield SelectorEntry(
        name="impute",
        target="fsframe_tables.impute:Impute",
        summary="Puts each column's median or commonest value where one is missing",
        family="preparation",
        gives={"scores", "fill"},
        reference="Little, Rubin 2019, Statistical Analysis with Missing Data, 3rd ed., ch. 4",
    )
