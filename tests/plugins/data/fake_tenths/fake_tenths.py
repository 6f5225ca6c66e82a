"""A reader of numbers in tenths: read as text, the same file gives other numbers."""

import polars

from fsframe.registry.entries import ReaderEntry
from fsframe.registry.hookspecs import hookimpl
from fsframe.table.reader import Reader


class Tenths(Reader):
    """Comma-separated; all columns but the last are in tenths."""

    def _read(self, path):
        frame = polars.read_csv(path)
        return frame.with_columns(polars.col(frame.columns[:-1]) / 10)


@hookimpl
def fsframe_readers():
    yield ReaderEntry(
        name="tenths",
        target="fake_tenths:Tenths",
        summary="Numbers in tenths",
        endings=".tenths",
    )
