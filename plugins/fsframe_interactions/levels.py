"""Levels of columns, and their bit rows, which are stored next to a table in parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.kernels.bit_counts import LANES
from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe.resampling.dispatch import equal_parts
from fsframe.table.dataset import Dataset
from fsframe.table.kept_folders import (
    HashingWriter,
    kept_arrays,
    label_digest,
    made_whole,
    write_index,
)
from fsframe_interactions.engine.bit_rows import (
    MISSING,
    BitRows,
    BitRowWriter,
    ShardedBitRows,
    ShardFile,
)

BLOCK = 512
"""Columns that are read together, if memory allows."""


def column_codes(
    values: NDArray[np.float64], bins: int, max_levels: int, categorical: bool
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Codes 0 … of one column's rows, and the levels or edges of these codes.

    Parameters
    ----------
    values : (n,) float64
        NaN is missing.
    bins : int
        Number of quantile bins for numbers.
    max_levels : int
        A column of whole numbers with at most this many distinct values keeps them as levels. A
        categorical column always does; if it has more, its rarest are merged into the last level.
    categorical : bool

    Returns
    -------
    codes : (n,) uint8
        Codes 0, 1, …, each of which occurs; 255 for a missing value.
    bounds : float64
        The levels, or the inner edges of bins: the code of x is the number of edges below x.

    Examples
    --------
    >>> column_codes(np.array([0.1, 0.2, 0.7, 0.9]), 2, 5, False)
    (array([0, 0, 1, 1], dtype=uint8), array([0.2]))
    >>> column_codes(np.array([3.0, 1.0, np.nan]), 2, 5, False)[0].tolist()
    [1, 0, 255]
    """
    known = ~np.isnan(values)
    present = np.sort(values[known])
    codes = np.full(len(values), MISSING, np.uint8)
    if not present.size:
        return codes, present
    changes = np.flatnonzero(np.diff(present) > 0)
    if categorical or (len(changes) < max_levels and (present == np.floor(present)).all()):
        levels = present[np.concatenate([[0], changes + 1])] + 0.0
        if len(levels) > max_levels:
            sizes = np.diff(np.concatenate([[0], changes + 1, [len(present)]]))
            common = np.sort(np.argsort(-sizes, kind="stable")[: max_levels - 1])
            levels = levels[common]
        place = np.minimum(np.searchsorted(levels, values[known]), len(levels) - 1)
        # Merged levels are not listed.
        codes[known] = np.where(levels[place] == values[known], place, len(levels))
        return codes, levels
    # The k/bins quantiles, defined such that repeating every row does not change them.
    n = len(present)
    edges = np.unique(present[[-(-n * k // bins) - 1 for k in range(1, bins)]])
    if edges[-1] == present[-1]:
        # The largest value has more than the share of a bin: the edge moves below it.
        below = present[changes[-1:]]
        edges = np.unique(np.concatenate([edges[:-1], below]))
    codes[known] = np.searchsorted(edges, values[known], side="left")
    return codes, edges


def rows_by_class(data: Dataset) -> NDArray[np.intp]:
    """Rows sorted by class, repeated by their counts."""
    order = np.argsort(data.y, kind="stable")
    return order if data.counts is None else np.repeat(order, data.counts[order])


@attrs.frozen(eq=False)
class _Coding:
    """How the columns of a table become codes: their rows in order, and the rules of levels."""

    data: Dataset
    rows: NDArray[np.intp]
    bins: int
    max_levels: int

    def into(
        self, writer: BitRowWriter, width: int, threads: int, done: Callable[[int], None]
    ) -> list[NDArray[np.float64]]:
        """Add all columns to `writer`, reading `width` at a time; return their levels or edges.

        `width` is 1 or a multiple of eight; `done` is called with the number of columns after each
        group.
        """
        data, p = self.data, self.data.n_features
        codes = np.empty((LANES, len(self.rows)), np.uint8)
        bounds: list[NDArray[np.float64]] = []
        for start in range(0, p, width):
            stop = min(start + width, p)
            block = np.ascontiguousarray(np.asarray(data.columns(start, stop)).T)

            def code(
                column: int, start: int = start, block: NDArray[np.generic] = block
            ) -> NDArray[np.float64]:
                codes[column % LANES], column_bounds = column_codes(
                    block[column - start].astype(np.float64)[self.rows],
                    self.bins, self.max_levels, bool(data.categorical[column]),
                )  # fmt: skip
                return column_bounds

            for first in range(start, stop, LANES):
                # With little memory a block of eight columns takes several reads.
                some = range(first, min(first - first % LANES + LANES, stop))
                bounds += in_threads(threads, code, some)
                if len(bounds) % LANES == 0 or len(bounds) == p:
                    writer.add(codes[: (len(bounds) - 1) % LANES + 1])
            done(stop)
        return bounds


def bit_rows_of(
    data: Dataset, bins: int, max_levels: int, memory: int
) -> tuple[BitRows, list[NDArray[np.float64]]]:
    """Make the bit rows of all columns in memory; return them and each column's levels or edges.

    Raises
    ------
    RequestError
        If they would take more than half of `memory` bytes.
    """
    rows = rows_by_class(data)
    # Classes without rows are left out: they would only add empty cells.
    _, y = np.unique(data.y[rows], return_inverse=True)
    parts: list[NDArray[np.uint64]] = []
    writer = BitRowWriter(y, int(y.max(initial=0)) + 1, max(1, len(rows)), parts.append)

    def check(done: int) -> None:
        if writer.n_bytes > memory // 2:
            raise RequestError(
                f"interactions: bit rows of {data.n_features} columns take "
                f"{writer.n_bytes * data.n_features / done / 1e9:.1f} GB, more than half of the "
                f"{memory / 1e9:.1f} GB allowed; allow more memory, or put a filter before, such "
                "as mim:top=10000"
            )

    # Values as read, transposed and as doubles: 17 bytes per value, in groups of whole blocks.
    width = max(8, min(BLOCK, memory // 8 // (17 * max(1, len(rows))) // 8 * 8))
    bounds = _Coding(data, rows, bins, max_levels).into(writer, width, 1, check)
    if not bounds:
        # Without columns there are no bits, and no pairs.
        writer.add(np.empty((0, len(rows)), np.uint8))
    bit_rows = BitRows(
        words=writer.words[0],
        offsets=np.cumsum([0, *(part.size for part in parts)]),
        lanes=np.concatenate([part.ravel() for part in parts]),
        **writer.arrays(),
    )
    return bit_rows, bounds


FORMAT = 1
SHARD_ROWS = 1 << 17
"""Most rows of a shard: the bit rows of eight columns then fit into the processor's cache."""

ROW_BYTES = 192
"""Bytes per row for reading and sorting a column, with labels and tables of logarithms."""


def stored_bit_rows(
    data: Dataset, bins: int, max_levels: int, run: Run
) -> tuple[ShardedBitRows, list[NDArray[np.float64]]]:
    """The bit rows of a table in parts, and the levels or edges of each column.

    They are read from the table's cache folder, or made and stored there. Levels and bins are those
    of `bit_rows_of`, because whole columns are read, as many at a time as fit into memory.

    Raises
    ------
    RequestError
        If one column does not fit into memory.
    DataError
        If the file cannot be written.
    """
    run.must_hold(
        ROW_BYTES * data.n_samples,
        f"interactions: {ROW_BYTES} bytes for each of {data.n_samples} rows, to bin a column,",
        "put a filter such as mim:top=1000 before",
    )
    _, y = np.unique(data.y, return_inverse=True)
    key = [
        FORMAT, equal_parts(data.n_samples, SHARD_ROWS), data.matrix.rows_sha256, label_digest(y),
        np.flatnonzero(data.categorical).tolist(), bins, max_levels,
    ]  # fmt: skip
    coding = _Coding(data, np.arange(data.n_samples), bins, max_levels)
    folder, arrays = kept_arrays(
        data.matrix.cache_folder,
        "pairs",
        key,
        lambda folder, digest: _write_new(folder, digest, coding, y, run),
        lambda arrays, files: files == ["planes"] and _sound(arrays, data),
        most=run.memory,
        threads=run.threads,
        what="bit rows",
        table=data.name,
        size=f"up to {max(bins, max_levels) - 1} bits per value",
    )
    starts, bounds, words = (arrays.pop(name) for name in ("starts", "bounds", "words"))
    file = ShardFile(
        path=folder / "planes", words=words, stored=arrays["stored"], depth=arrays["depth"]
    )
    bit_rows = ShardedBitRows(
        words=np.zeros(len(arrays["class_sizes"]) + 1, np.int64),
        offsets=np.zeros(len(arrays["depth"]) + 1, np.int64),
        lanes=np.empty(0, np.uint64),
        file=file,
        **arrays,
    )
    return bit_rows, np.split(bounds, starts[1:-1])


def _sound(arrays: dict[str, NDArray[Any]], data: Dataset) -> bool:
    """Whether kept arrays can be those of the bit rows of `data`."""
    m, blocks = data.n_features, -(-data.n_features // LANES)
    expected = {"levels": (m,), "stored": (m,), "depth": (blocks,), "starts": (m + 1,)}
    return bool(
        set(arrays) == {*expected, "words", "margins", "class_sizes", "bounds"}
        and all(arrays[name].shape == shape for name, shape in expected.items())
        and all(v.dtype == np.int64 and v.min() >= 0 for k, v in arrays.items() if k != "bounds")
        and arrays["class_sizes"].sum() == data.n_samples
        and arrays["words"].shape[1:] == (len(arrays["class_sizes"]) + 1,)
    )


def _write_new(
    folder: Path, digest: str, coding: _Coding, y: NDArray[np.int64], run: Run
) -> dict[str, NDArray[Any]]:
    """Write the bit rows of a table in parts, and the arrays that are stored with them."""
    data, n, p = coding.data, coding.data.n_samples, coding.data.n_features
    room = run.memory // 2
    threads = int(np.clip(room // (ROW_BYTES * n), 1, run.threads))
    at_a_time = (room // (2 * data.matrix.dtype.itemsize * n)) // LANES * LANES
    width = int(np.clip(at_a_time, 1, BLOCK))
    with made_whole(folder) as made:
        with HashingWriter(made / "planes") as file:
            writer = BitRowWriter(
                y, int(y.max(initial=0)) + 1, equal_parts(n, SHARD_ROWS),
                lambda lanes: file.write(lanes.data),
            )  # fmt: skip
            bounds = coding.into(
                writer, width, threads, lambda done: run.progress(done, p, "columns taken in")
            )
        arrays = {
            "words": writer.words,
            **writer.arrays(),
            "starts": np.cumsum([0, *(len(each) for each in bounds)]),
            "bounds": np.concatenate([np.empty(0), *bounds]),
        }
        write_index(made, digest, arrays, {"planes": file.mark})
    return arrays
