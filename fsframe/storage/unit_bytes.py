"""Selections and arrays as the bytes of one unit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.method.selection import Selection
from fsframe.storage.encoding import FREE, json_value, same_bits, selection_arrays, selection_of
from fsframe.storage.spec import NUMBER_TYPES, require
from fsframe.table.arrays import freeze
from fsframe.text import are_texts

_MAGIC = b"fsframe-arrays 1\n\0"
# NumPy has no room for texts of 2³¹ bytes.
_TEXT = re.compile(r"U[1-9][0-9]{0,7}")
_DIMENSIONS = 8
# Computing the name of a dtype takes time.
_NAMES = {np.dtype(name): name for name in sorted(NUMBER_TYPES)}
# In smaller arrays, short forms are not worth a check.
_SHORT_FROM = 16

MOST_BYTES = 8 * 1024**3
"""Limit on the bytes of the unpacked arrays, as in a run file."""


def pack(arrays: Mapping[str, Any], meta: Any = None) -> bytes:
    """`arrays` of numbers, truth values or texts, and the JSON value `meta`, as bytes.

    Equal input gives equal bytes. StoreError if an array is of another type, such as objects.

    >>> import numpy as np
    >>> arrays, meta = unpack(pack({"x": np.array([1.5, -0.0])}, {"why": "σ"}))
    >>> arrays["x"], meta
    (array([ 1.5, -0. ]), {'why': 'σ'})
    """
    entries, payloads = [], []
    for name, value in arrays.items():
        array = np.asarray(value)
        kind = _type_of(array, name)
        form, payload = _payload(array, kind)
        entries.append([name, kind, list(array.shape), form])
        payloads.append(payload)
    header = json.dumps(
        {"arrays": entries, "meta": meta}, ensure_ascii=False, allow_nan=False,
        separators=(",", ":"),
    ).encode()  # fmt: skip
    return b"".join([_MAGIC, len(header).to_bytes(8, "little"), header, *payloads])


def unpack(
    content: bytes | memoryview, most: int = MOST_BYTES
) -> tuple[dict[str, NDArray[Any]], Any]:
    """The arrays and the JSON value in `content`, which may be untrusted.

    StoreError if it is anything but the whole and exact output of `pack`, or its arrays take more
    than `most` bytes.
    """
    view = memoryview(content)
    start = len(_MAGIC) + 8
    ours = bytes(view[: len(_MAGIC)]) == _MAGIC and len(view) >= start
    require(ours, "it is not a packet of arrays")
    length = int.from_bytes(view[len(_MAGIC) : start], "little")
    require(length <= len(view) - start, "its header is cut short")
    entries, meta = _header(bytes(view[start : start + length]))
    place, left = start + length, most
    arrays: dict[str, NDArray[Any]] = {}
    for entry in entries:
        name, dtype, shape, form = _entry(entry)
        require(name not in arrays, "it holds two arrays of one name")
        size = math.prod(shape)
        left -= size * dtype.itemsize
        require(left >= 0, f"its arrays unfold to more than {most} bytes")
        stored = (size if form == "raw" else 1) * dtype.itemsize
        require(stored <= len(view) - place, "it is cut short")
        arrays[name] = _array(view[place : place + stored], dtype, shape, form)
        place += stored
    require(place == len(view), "it is too long")
    return arrays, meta


def _type_of(array: NDArray[Any], name: str) -> str:
    if array.dtype.kind == "U":
        return f"U{max(1, array.dtype.itemsize // 4)}"
    known = _NAMES.get(array.dtype) or array.dtype.name
    require(
        known in NUMBER_TYPES,
        f"cannot keep {name}: a run cannot hold arrays of {array.dtype}; a method may return "
        "truth values, whole numbers, 32- or 64-bit floats and text",
    )
    return known


def _dtype(kind: str) -> np.dtype[Any]:
    return np.dtype(kind).newbyteorder("<")


def _payload(array: NDArray[Any], kind: str) -> tuple[str, bytes]:
    flat = np.ascontiguousarray(array, dtype=_dtype(kind)).ravel()
    if flat.size >= _SHORT_FROM:
        cells = flat.view(np.uint8).reshape(flat.size, -1)
        if (cells == cells[0]).all():
            return "same", cells[0].tobytes()
        span = int(flat[-1]) - int(flat[0]) if kind == "int64" else -1
        if span == flat.size - 1 and (np.diff(flat) == 1).all():
            return "count", flat[:1].tobytes()
    return "raw", flat.tobytes()


def _header(raw: bytes) -> tuple[list[Any], Any]:
    try:
        header = json_value(raw)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"its header is not JSON: {error}") from None
    whole = isinstance(header, dict) and set(header) == {"arrays", "meta"}
    require(whole, "its header lacks arrays or meta")
    require(isinstance(header["arrays"], list), "its header has no list of arrays")
    return header["arrays"], header["meta"]


def _entry(entry: Any) -> tuple[str, np.dtype[Any], tuple[int, ...], str]:
    known = isinstance(entry, list) and len(entry) == 4
    require(known, "its header describes an array in another way")
    name, kind, shape, form = entry
    texts = isinstance(name, str) and isinstance(kind, str)
    require(texts, "its header has a name or type that is not text")
    allowed = kind in NUMBER_TYPES or _TEXT.fullmatch(kind)
    require(allowed, f"its header names a type that is not allowed: {kind[:20]!r}")
    few = isinstance(shape, list) and len(shape) <= _DIMENSIONS
    require(few, f"its header gives an array more than {_DIMENSIONS} dimensions")
    whole = all(type(length) is int and 0 <= length < 1 << 62 for length in shape)
    require(whole, "its header gives an array a length that is not a whole number")
    fits = form in ("raw", "same") or (form == "count" and kind == "int64")
    require(fits, "its header gives an array a form that is not allowed")
    there = form == "raw" or 0 not in shape
    require(there, "its header gives an array without elements an element")
    return name, _dtype(kind), tuple(shape), form


def _array(
    raw: memoryview, dtype: np.dtype[Any], shape: tuple[int, ...], form: str
) -> NDArray[Any]:
    # A copy: aligned, in the machine's byte order, and free of the buffer.
    values = np.frombuffer(raw, dtype=dtype).astype(dtype.newbyteorder("="))
    truth = dtype.kind != "b" or values.view(np.uint8).max(initial=0) <= 1
    require(truth, "it holds truth values other than 0 and 1")
    points = values.view(np.uint32) if dtype.kind == "U" else np.empty(0, np.uint32)
    wrong = (points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))
    require(not wrong.any(), "it holds text that is not Unicode")
    if form == "same":
        return np.full(shape, values[0], dtype=values.dtype)
    if form == "count":
        size, first = math.prod(shape), int(values[0])
        require(first + size <= 1 << 63, "it counts beyond 64 bits")
        # From zero, since a stop of 2^63 does not fit into 64 bits.
        counted = np.arange(size, dtype=np.int64)
        counted += first
        return counted.reshape(shape)
    return values.reshape(shape)


Arrays = dict[str, NDArray[Any]]


def stack(results: Sequence[Mapping[str, NDArray[Any]]]) -> Arrays:
    """The arrays of all results, by name, in one mapping, from which `unstack` restores them.

    ``every/NAME`` is an array that is the same in all results. ``joined/NAME`` holds
    one-dimensional arrays end to end, of the lengths ``sizes/NAME``. ``3/NAME`` is that of result
    3 alone.

    >>> arrays = stack([{"a": np.ones(2), "b": np.ones(1)}, {"a": np.ones(2), "b": np.zeros(3)}])
    >>> {name: array.tolist() for name, array in arrays.items()}
    {'every/a': [1.0, 1.0], 'joined/b': [1.0, 0.0, 0.0, 0.0], 'sizes/b': [1, 3]}
    """
    arrays: Arrays = {}
    for name in dict.fromkeys(name for result in results for name in result):
        listed = [result.get(name) for result in results]
        whole = [array for array in listed if array is not None]
        alike = len(whole) == len(listed) > 1 and len({array.dtype for array in whole}) == 1
        if alike and all(array is whole[0] or same_bits(array, whole[0]) for array in whole[1:]):
            arrays[f"every/{name}"] = whole[0]
        elif alike and all(array.ndim == 1 for array in whole):
            arrays[f"joined/{name}"] = np.concatenate(whole)
            arrays[f"sizes/{name}"] = np.array([array.size for array in whole], dtype=np.int64)
        else:
            for place, array in enumerate(listed):
                if array is not None:
                    arrays[f"{place}/{name}"] = array
    return arrays


def unstack(arrays: Mapping[str, NDArray[Any]], n: int) -> list[Arrays]:
    """The arrays of each of `n` results, as views; `arrays` may be untrusted.

    StoreError if an array belongs to no result, or to one that has it already, or sizes do not fit.
    """
    results: list[Arrays] = [{} for _ in range(n)]
    for full, array in arrays.items():
        owner, _, name = full.partition("/")
        if owner == "every":
            pieces = dict.fromkeys(range(n), array)
        elif owner == "joined":
            pieces = dict(enumerate(split_joined(array, arrays.get(f"sizes/{name}"), n)))
        elif owner == "sizes":
            require(f"joined/{name}" in arrays, f"it holds sizes of nothing: {name[:40]!r}")
            continue
        elif owner.isascii() and owner.isdigit() and len(owner) < 10 and int(owner) < n:
            pieces = {int(owner): array}
        else:
            raise StoreError(f"it holds an array that belongs to no selection: {full[:40]!r}")
        for place, piece in pieces.items():
            first = results[place].setdefault(name, piece)
            require(first is piece, f"it holds two arrays of one name: {name[:40]!r}")
    return results


def split_joined(array: NDArray[Any], sizes: NDArray[Any] | None, n: int) -> list[NDArray[Any]]:
    """The `n` arrays concatenated in `array`; StoreError if `sizes` do not fit."""
    if (
        array.ndim != 1
        or sizes is None
        or sizes.dtype != np.int64
        or sizes.shape != (n,)
        or sizes.min(initial=0) < 0
        or sizes.max(initial=0) > array.size
        or sizes.sum() != array.size
    ):
        raise StoreError("it holds joined arrays whose sizes do not fit")
    ends = np.cumsum(sizes).tolist()
    # Read-only before it is cut, so that all pieces are.
    array = freeze(array)
    return [array[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True)]


PARTS = frozenset(
    {"scores", "weights", "pair_weights", "instance_weights", "fill", "donors", "model", "tables"}
)
"""Optional parts of a Selection; kept columns and warnings are always included."""


def reduced(selection: Selection, parts: Collection[str]) -> Selection:
    """`selection` with only the requested parts; omitted scores are all NaN.

    >>> selection = Selection(selected=[1], scores=[0.1, 0.9], tables={"cost": [3.0]})
    >>> len(reduced(selection, {"scores"}).tables), reduced(selection, ()).scores
    (0, array([nan, nan]))
    """
    changes: dict[str, Any] = {}
    for name in PARTS - set(parts):
        if name == "scores":
            changes[name] = _no_scores(selection.scores.size)
        elif name in FREE:
            if getattr(selection, name):
                changes[name] = {}
                if name == "model":
                    changes["model_columns"] = {}
        elif getattr(selection, name) is not None:
            changes[name] = None
    left_out = frozenset(changes) & selection.carried
    if left_out:
        changes["carried"] = selection.carried - left_out
    return attrs.evolve(selection, **changes) if changes else selection


@lru_cache(maxsize=4)
def _no_scores(n_features: int) -> NDArray[np.float64]:
    """All NaN; one shared array, so that comparing it is fast."""
    return freeze(np.full(n_features, np.nan))


def pack_selections(selections: Sequence[Selection], meta: Any = None) -> bytes:
    """Selections, and a JSON value, as bytes; StoreError for arrays that no run file could hold.

    >>> selection = Selection(selected=[1], scores=[0.1, 0.9], warnings=["weak"])
    >>> [copy], meta = unpack_selections(pack_selections([selection]))
    >>> copy.selected, copy.warnings
    (array([1]), ('weak',))
    """
    arrays = stack([selection_arrays(selection) for selection in selections])
    heads = [_head(selection) for selection in selections]
    return pack(arrays, {"selections": heads, "meta": meta})


def _head(selection: Selection) -> list[Any]:
    head: list[Any] = [list(selection.warnings), sorted(selection.carried)]
    # Only where something is declared: most results have no model.
    return [*head, dict(selection.model_columns)] if selection.model_columns else head


def unpack_selections(
    content: bytes | memoryview, shape: tuple[int, int] | None = None
) -> tuple[list[Selection], Any]:
    """The Selections in `content`, which may be untrusted, and the JSON value.

    StoreError if the bytes are not those of `pack_selections`, hold something unsound, or a
    Selection does not fit a table of (n_features, n_samples) `shape`.
    """
    arrays, outer = unpack(content)
    known = isinstance(outer, dict) and set(outer) == {"selections", "meta"}
    require(known, "it does not hold selections")
    heads = outer["selections"]
    require(isinstance(heads, list), "it has no list of selections")
    grouped = unstack(arrays, len(heads))
    selections = [_selection(h, g) for h, g in zip(heads, grouped, strict=True)]
    for selection in selections if shape is not None else ():
        problems = selection.problems(*shape)  # type: ignore[misc]
        require(not problems, "it holds an invalid selection: " + "; ".join(problems))
    return selections, outer["meta"]


def _selection(head: Any, arrays: dict[str, NDArray[Any]]) -> Selection:
    known = isinstance(head, list) and len(head) in (2, 3) and all(map(are_texts, head[:2]))
    require(known, "its warnings are not lists of texts")
    axes = head[2] if len(head) == 3 else None
    return selection_of(arrays, warnings=head[0], carried=head[1], model_columns=axes)
