"""Base class of plugins that write tables in a format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, final

from fsframe.errors import PluginError
from fsframe.method.boundary import in_stage

__all__ = ["Columns", "Writer"]

Columns = Mapping[str, Sequence[Any]]
"""Cells of one type in each column: str, bool, int or float; None if missing."""


class Writer(ABC):
    """A writer of one format; it has no parameters.

    Authors write `_write`; the core calls `write`, which checks the result, and writes the file
    atomically. Equal tables should give equal bytes.
    """

    @final
    def write(self, columns: Columns, *, defuse: bool = True) -> bytes:
        """A table as the bytes of a file.

        Parameters
        ----------
        columns : mapping of str to sequence
            All of one length.
        defuse : bool
            Whether to escape text that a spreadsheet would run as a formula
            (`fsframe.tables.formulas.defused`).

        Raises
        ------
        PluginError
            If the author's code fails, or returns anything but bytes.
        """
        with in_stage(type(self), type(self).__name__, "writer"):
            content = self._write(columns, defuse=defuse)
        if not isinstance(content, bytes):
            raise PluginError(
                f"{type(self).__name__} returned {type(content).__name__}, not the bytes of a file"
            )
        return content

    @abstractmethod
    def _write(self, columns: Columns, *, defuse: bool) -> bytes:
        """The table in this format."""
