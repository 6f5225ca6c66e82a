"""Whether the first line of a table holds names or is already a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fsframe.tables.cell_syntax import is_missing, is_number

__all__ = ["is_header"]


def is_header(
    first: Sequence[str],
    rest: Callable[[int], Iterable[list[str]]],
    label: str | int | None,
) -> bool:
    """Whether the first record holds names.

    Parameters
    ----------
    first : sequence of str
        Its fields, without quotes.
    rest : callable
        Gives the cells of a column in the other records, block by block.
    label : str or int, optional
        The requested label.

    Notes
    -----
    It does if it contains the label's name, or if any of its fields outside the label column is
    neither a number nor missing. If all others are numbers, it does only if its label field is text
    that labels no other row: ``1,2,3,class`` over numbered columns is a line of names,
    ``5.1,3.5,1.4,setosa`` is a row.
    """
    if isinstance(label, str) and label in first:
        return True
    place = label if isinstance(label, int) else -1
    if not -len(first) <= place < len(first):
        return not all(is_number(cell) or is_missing(cell) for cell in first)
    place %= len(first)

    def is_word(cell: str) -> bool:
        return not is_number(cell) and not is_missing(cell)

    if any(is_word(cell) for column, cell in enumerate(first) if column != place):
        return True
    if not is_word(first[place]):
        return False
    return all(first[place] not in cells for cells in rest(place))
