"""A comparison as people read it, as JSON, CSV and HDF5."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fsframe.analysis.text_table import table_lines
from fsframe.tables.formulas import defused

if TYPE_CHECKING:
    from fsframe.evaluation.comparison import Cell, Comparison

__all__ = [
    "CSV_NAMES",
    "accuracy_rows",
    "comparison_lines",
    "comparison_object",
    "csv_lines",
    "hdf5_image",
]

CSV_NAMES = "data,chain,accuracy,standard_error,features_kept,stability,seconds"
"""The first line of the table of results."""


def csv_lines(result: Comparison) -> Iterator[str]:
    """The table of results, one line per table and chain."""
    yield CSV_NAMES
    for d, data in enumerate(result.data):
        for c, chain in enumerate(result.chains):
            values = [
                result.accuracy[d, c],
                result.standard_error[d, c],
                result.kept[d, c],
                result.stability[d, c],
                result.seconds[d, c],
            ]
            fields = [_field(defused(data)), '"' + chain.replace('"', '""') + '"']
            yield ",".join([*fields, *("" if v != v else repr(float(v)) for v in values)])


def _field(text: str) -> str:
    plain = not any(character in text for character in ',"\r\n')
    return text if plain else '"' + text.replace('"', '""') + '"'


def hdf5_image(result: Comparison, cells: Sequence[Sequence[Cell]]) -> bytes:
    """The results as an HDF5 image: means, and the accuracy of every split of every table."""
    import h5py
    import numpy as np

    memory = io.BytesIO()
    with h5py.File(memory, "w") as file:
        file.attrs["encoding-type"] = "fsframe-comparison"
        file.attrs["encoding-version"] = 1
        file["chains"] = np.array([chain.encode() for chain in result.chains])
        file["data"] = np.array([name.encode() for name in result.data])
        for name in ("accuracy", "standard_error", "kept", "stability", "seconds"):
            file.create_dataset(name, data=getattr(result, name), fletcher32=True)
        for name, row in zip(result.data, cells, strict=True):
            values = np.array([cell.accuracies for cell in row])
            file.create_dataset(f"splits/{name}", data=values, fletcher32=True)
    return memory.getvalue()


def comparison_object(result: Comparison) -> dict[str, Any]:
    """A comparison as one object for ``--json``."""
    pairs = [
        {
            "data": result.data[d],
            "a": result.chains[i],
            "b": result.chains[j],
            "difference": test.difference,
            "p_paired": test.p_value,
            "p_corrected": result.corrected[d, i, j].p_value,
            "two_step": str(result.outcome["two-step"][d, i, j]),
            "strict": str(result.outcome["strict"][d, i, j]),
            "corrected": str(result.outcome["corrected"][d, i, j]),
        }
        for (d, i, j), test in result.papers.items()
    ]
    ranks = result.ranks
    return {
        "chains": list(result.chains),
        "data": list(result.data),
        "accuracy": result.accuracy.tolist(),
        "standard_error": _numbers(result.standard_error),
        "features_kept": result.kept.tolist(),
        "stability": _numbers(result.stability),
        "seconds": result.seconds.tolist(),
        "pairs": pairs,
        "wilcoxon_holm": None if result.adjusted_p is None else result.adjusted_p.tolist(),
        "mean_ranks": None if ranks is None else ranks.mean_ranks.tolist(),
        "critical_difference": None if ranks is None else ranks.difference,
        "friedman_p": None if ranks is None else ranks.friedman_p,
        "alike": None if ranks is None else [list(group) for group in ranks.groups],
    }


def _numbers(table: Any) -> list[list[float | None]]:
    """Rows of numbers for JSON, which has no NaN."""
    return [[None if value != value else value for value in row] for row in table.tolist()]


def _letters(result: Comparison) -> list[str]:
    """What chains are called in tables, where their text would not fit."""
    return [chr(ord("A") + c) if c < 26 else f"C{c}" for c in range(len(result.chains))]


def accuracy_rows(result: Comparison) -> tuple[list[str], list[list[str]], set[int]]:
    """The accuracies as a table: names of columns, rows, and which columns hold numbers."""
    letters = _letters(result)
    rows = []
    for d, data in enumerate(result.data):
        best = result.accuracy[d].max()
        cells = [
            f"{100 * mean:.1f} ± {100 * error:.1f}{'*' if mean == best else ' '}"
            for mean, error in zip(result.accuracy[d], result.standard_error[d], strict=True)
        ]
        rows.append([data, *cells])
    return ["accuracy, %", *letters], rows, set(range(1, len(letters) + 1))


def comparison_lines(result: Comparison) -> Iterator[str]:
    """A comparison as lines for a terminal."""
    letters = _letters(result)
    for letter, chain in zip(letters, result.chains, strict=True):
        yield f"{letter}  {chain}"
    yield ""
    header, rows, right = accuracy_rows(result)
    yield from table_lines(header, rows, right=right)
    yield "± is the corrected standard error; * the best mean."
    yield ""
    yield "Wins, ties, losses of the row against the column, over the tables:"
    for rule, words in (
        ("two-step", "paired t-test, p < 0.05 (IMMIGRATE's rule)"),
        ("strict", "paired t-test, p < 0.01 and ≥ 0.5 % (IM4E's rule)"),
        ("corrected", "corrected resampled t-test, p < 0.05 (holds its level)"),
    ):
        yield f"  {words}"
        rows = [
            [letter]
            + [
                "" if i == j else "{},{},{}".format(*result.tally(rule, i, j))
                for j in range(len(letters))
            ]
            for i, letter in enumerate(letters)
        ]
        yield from (f"  {line}" for line in table_lines(["", *letters], rows))
    yield from _rank_lines(result, letters)


def _rank_lines(result: Comparison, letters: Sequence[str]) -> Iterator[str]:
    ranks, p = result.ranks, result.adjusted_p
    if ranks is None or p is None:
        return
    yield ""
    yield f"Over {len(result.data)} tables (Friedman p = {ranks.friedman_p:.3g}):"
    order = sorted(range(len(letters)), key=lambda c: (ranks.mean_ranks[c], c))
    rows = [[letters[c], f"{ranks.mean_ranks[c]:.2f}"] for c in order]
    yield from table_lines(["", "mean rank"], rows, right={1})
    yield f"Nemenyi's critical difference at {ranks.level:g}: {ranks.difference:.2f} ranks"
    for group in ranks.groups:
        yield "not told apart by Wilcoxon–Holm: " + " ".join(letters[c] for c in group)
    yield "Wilcoxon–Holm p-values:"
    rows = [
        [letters[i], *("" if i == j else f"{p[i, j]:.3g}" for j in range(len(letters)))]
        for i in range(len(letters))
    ]
    yield from table_lines(["", *letters], rows, right=set(range(1, len(letters) + 1)))
