"""Levels of columns, and their bit rows, which are stored next to a table in parts."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.kernels.bit_counts import LANES
from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe.resampling.dispatch import equal_parts
from fsframe.table.dataset import Dataset
from fsframe.table.kept_folders import (
    HashingWriter,
    made_whole,
    note_unsound,
    read_index,
    write_index,
)
from fsframe_interactions.engine.bit_rows import (
    MISSING,
    BitRows,
    BitRowWriter,
    ShardedBitRows,
    ShardFile,
    class_words,
    depth_of,
    stacked_margins,
    write_bit_rows,
)

BLOCK = 512
"""Columns read together, if memory allows."""


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
    writer = BitRowWriter(y, int(y.max(initial=0)) + 1)
    # Codes, values as read and as doubles: 17 bytes per value, in groups of whole blocks.
    width = max(8, min(BLOCK, memory // 8 // (17 * max(1, len(rows))) // 8 * 8))
    bounds = []
    for start in range(0, data.n_features, width):
        stop = min(start + width, data.n_features)
        block = np.ascontiguousarray(np.asarray(data.columns(start, stop)).T)
        codes = np.empty((stop - start, len(rows)), np.uint8)
        for k in range(stop - start):
            values = block[k].astype(np.float64)[rows]
            codes[k], levels = column_codes(
                values, bins, max_levels, bool(data.categorical[start + k])
            )
            bounds.append(levels)
        for first in range(0, stop - start, 8):
            writer.add(codes[first : first + 8])
        if writer.n_bytes > memory // 2:
            raise RequestError(
                f"interactions: bit rows of {data.n_features} columns take "
                f"{writer.n_bytes * data.n_features / stop / 1e9:.1f} GB, more than half of the "
                f"{memory / 1e9:.1f} GB allowed; allow more memory, or put a filter before, such "
                "as mim:top=10000"
            )
    if not bounds:
        # Without columns there are no bits, and no pairs.
        writer.add(np.empty((0, len(rows)), np.uint8))
    return writer.bit_rows(), bounds


FORMAT = 1
SHARD_ROWS = 1 << 17
"""Most rows of a shard: the bit rows of eight columns then fit into the processor's cache."""

ROW_BYTES = 192
"""Bytes per row for reading and sorting a column, with labels and tables of logarithms."""

_FEATURES = 512


@attrs.frozen(kw_only=True, eq=False)
class _Header:
    """The stored `BitRows` without their bits, and the levels or edges of the columns."""

    words: NDArray[np.int64]
    levels: NDArray[np.int64]
    stored: NDArray[np.int64]
    depth: NDArray[np.int64]
    margins: NDArray[np.int64]
    class_sizes: NDArray[np.int64]
    starts: NDArray[np.int64]
    bounds: NDArray[np.float64]

    def bit_rows(self, path: Path) -> tuple[ShardedBitRows, list[NDArray[np.float64]]]:
        """The bit rows in the file `path`, and the levels or edges of each column."""
        file = ShardFile(path=path, words=self.words, stored=self.stored, depth=self.depth)
        bit_rows = ShardedBitRows(
            words=np.zeros(len(self.class_sizes) + 1, np.int64),
            levels=self.levels,
            stored=self.stored,
            offsets=np.zeros(len(self.depth) + 1, np.int64),
            depth=self.depth,
            lanes=np.empty(0, np.uint64),
            margins=self.margins,
            class_sizes=self.class_sizes,
            file=file,
        )
        return bit_rows, np.split(self.bounds, self.starts[1:-1])


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
    key = json.dumps(
        [
            FORMAT,
            equal_parts(data.n_samples, SHARD_ROWS),
            data.matrix.rows_sha256,
            hashlib.sha256(np.ascontiguousarray(y, dtype="<i8").tobytes()).hexdigest(),
            np.flatnonzero(data.categorical).tolist(),
            bins,
            max_levels,
        ]
    )
    digest = hashlib.sha256(key.encode()).hexdigest()
    folder = data.matrix.cache_folder / f"pairs-{digest[:24]}"
    header = _stored_header(folder, digest, data, run)
    if header is None:
        try:
            header = _write_new(folder, digest, data, y.astype(np.int64), bins, max_levels, run)
        except OSError as error:
            raise DataError(
                f"bit rows of {data.name} cannot be kept in {folder.parent}: "
                f"{error.strerror or error}; they need up to "
                f"{max(bins, max_levels) - 1} bits per value"
            ) from error
    return header.bit_rows(folder / "planes")


def _stored_header(folder: Path, digest: str, data: Dataset, run: Run) -> _Header | None:
    """The header that an earlier run has stored; None if there is none, or it does not fit."""
    index = read_index(folder, digest, run.memory, run.threads)
    if index is None:
        return None
    arrays, files = index
    m, blocks = data.n_features, -(-data.n_features // LANES)
    shapes = {name: values.shape for name, values in arrays.items()}
    expected = {"levels": (m,), "stored": (m,), "depth": (blocks,), "starts": (m + 1,)}
    if (
        set(arrays) == set(attrs.fields_dict(_Header))
        and files == ["planes"]
        and all(shapes[name] == shape for name, shape in expected.items())
        and all(v.dtype == np.int64 and v.min() >= 0 for k, v in arrays.items() if k != "bounds")
        and arrays["class_sizes"].sum() == data.n_samples
        and arrays["words"].shape[1:] == (len(arrays["class_sizes"]) + 1,)
    ):
        return _Header(**arrays)
    note_unsound(folder, "holds bit rows of another table")
    return None


def _write_new(
    folder: Path,
    digest: str,
    data: Dataset,
    y: NDArray[np.int64],
    bins: int,
    max_levels: int,
    run: Run,
) -> _Header:
    n, p, classes = data.n_samples, data.n_features, int(y.max(initial=0)) + 1
    rows = equal_parts(n, SHARD_ROWS)
    shards = [slice(first, min(first + rows, n)) for first in range(0, n, rows)]
    orders = [some.start + np.argsort(y[some], kind="stable") for some in shards]
    sizes = np.array([np.bincount(y[some], minlength=classes) for some in shards])
    words = np.array([class_words(of_shard) for of_shard in sizes])
    firsts = np.array([np.concatenate([[0], np.cumsum(of_shard)]) for of_shard in sizes])
    room = run.memory // 2
    threads = int(np.clip(room // (ROW_BYTES * n), 1, run.threads))
    at_a_time = (room // (2 * data.matrix.dtype.itemsize * n)) // LANES * LANES
    width = int(np.clip(at_a_time, 1, _FEATURES))
    levels, stored, depth = np.zeros(p, np.int64), np.zeros(p, np.int64), []
    bounds: list[NDArray[np.float64]] = []
    margins: list[NDArray[np.int64]] = []
    with made_whole(folder) as made:
        with HashingWriter(made / "planes") as file:
            codes = np.empty((LANES, n), np.uint8)
            for start in range(0, p, width):
                stop = min(start + width, p)
                values = data.matrix.read(start, stop)

                def code(
                    column: int, start: int = start, values: NDArray[np.generic] = values
                ) -> NDArray[np.float64]:
                    column_values = values[:, column - start].astype(np.float64)
                    codes[column % LANES], column_bounds = column_codes(
                        column_values, bins, max_levels, bool(data.categorical[column])
                    )
                    return column_bounds

                for first in range(start, stop, LANES):
                    # With little memory a block of eight columns takes several reads.
                    some = range(first, min(first - first % LANES + LANES, stop))
                    bounds += in_threads(threads, code, some)
                    last = some[-1] + 1
                    if last % LANES and last < p:
                        continue
                    block = slice((last - 1) // LANES * LANES, last)
                    block_codes = codes[: block.stop - block.start]
                    levels[block], stored[block] = depth_of(block_codes)
                    depth.append(max(1, int(stored[block].max())))
                    counts = np.zeros(
                        (len(block_codes), int(levels[block].max()), classes), np.int64
                    )
                    for k, order in enumerate(orders):
                        lanes = np.zeros((depth[-1], int(words[k][-1]), LANES), np.uint64)
                        write_bit_rows(
                            np.ascontiguousarray(block_codes[:, order]), stored[block], firsts[k],
                            words[k], lanes, counts,
                        )  # fmt: skip
                        file.write(lanes.data)
                    margins.append(counts)
                run.progress(stop, p, "columns taken in")
        header = _Header(
            words=words,
            levels=levels,
            stored=stored,
            depth=np.array(depth, np.int64),
            margins=stacked_margins(margins, levels),
            class_sizes=sizes.sum(axis=0),
            starts=np.cumsum([0, *(len(each) for each in bounds)]),
            bounds=np.concatenate([np.empty(0), *bounds]),
        )
        write_index(made, digest, attrs.asdict(header), {"planes": file.mark})
    return header
