"""Readers and writers of table formats.

This module declares what the plugin offers, and imports nothing numerical.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsframe.registry.entries import ReaderEntry, WriterEntry, entries_in
from fsframe.registry.hookspecs import hookimpl

_DECLARED = Path(__file__).with_name("entries.toml")


@hookimpl
def fsframe_readers() -> Iterator[ReaderEntry]:
    """Parquet, Arrow, Excel, ARFF, MAT, NPY, sparse matrices, svmlight, AnnData, PLINK, GCT
    and GEO."""
    return entries_in(_DECLARED, ReaderEntry)


@hookimpl
def fsframe_writers() -> Iterator[WriterEntry]:
    """CSV, TSV, Excel, Parquet, LaTeX and Markdown."""
    return entries_in(_DECLARED, WriterEntry)
