"""Tables on the terminal line up whatever signs the names are written in."""

from __future__ import annotations

import pytest

from fsframe.analysis.text_table import shown_width, table_lines
from fsframe.storage import printable


@pytest.mark.parametrize("name", ["遺伝子", "ge\u0301ne", "ｗｉｄｅ", "ε\u200d2", ""])
def test_columns_line_up_in_cells_of_the_terminal(name: str) -> None:
    rows = [["plain name", "1"], [name, "22"]]
    header, first, second = table_lines(["feature", "score"], rows, right={1})
    assert shown_width(first) == shown_width(second) == shown_width(header)
    # A joiner without a width of its own is written as an escape, and lined up as such.
    cell = printable(name)
    assert second == cell + " " * (len("plain name") - shown_width(cell)) + "     22"
