"""Selections and arrays as the bytes of one unit."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Collection, Mapping, Sequence
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


def pack(arrays: Mapping[str, Any], meta: Any = None) -> bytes:
    """`arrays` of numbers, truth values or texts, and the JSON value `meta`, as bytes.

    They are an archive of NumPy (``.npz``), whose first array is JSON as UTF-8. Equal input gives
    equal bytes. StoreError if an array is of another type, such as objects.

    >>> import numpy as np
    >>> arrays, meta = unpack(pack({"x": np.array([1.5, -0.0])}, {"why": "σ"}))
    >>> arrays["x"], meta
    (array([ 1.5, -0. ]), {'why': 'σ'})
    """
    listed = [_native(np.asarray(value, order="C"), name) for name, value in arrays.items()]
    header = json.dumps(
        {"names": [*arrays], "meta": meta}, ensure_ascii=False, allow_nan=False,
        separators=(",", ":"),
    ).encode()  # fmt: skip
    file = io.BytesIO()
    np.savez(file, np.frombuffer(header, np.uint8), *listed)
    return file.getvalue()


def unpack(content: bytes) -> tuple[dict[str, NDArray[Any]], Any]:
    """The arrays and the JSON value in `content`, which may be untrusted.

    StoreError if it is not what `pack` makes.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            members = archive.zip.infolist()
            plain = all(member.compress_type == zipfile.ZIP_STORED for member in members)
            require(plain, "its arrays are compressed")
            header, *arrays = (archive[name] for name in archive.files)
        outer = json_value(header.tobytes())
    except StoreError:
        raise
    # Whatever NumPy, zipfile and JSON raise about bytes that may be anything.
    except Exception as error:
        raise StoreError(f"it is not a packet of arrays: {error}") from None
    is_header = isinstance(outer, dict) and set(outer) == {"names", "meta"}
    require(is_header, "its header lacks names or meta")
    names = outer["names"]
    fits = are_texts(names) and len(set(names)) == len(names) == len(arrays)
    require(fits, "its header does not name each array once")
    sound = {name: _sound(array, name) for name, array in zip(names, arrays, strict=True)}
    return sound, outer["meta"]


def _sound(array: Any, name: str) -> NDArray[Any]:
    """An array of a packet, if it is one that `pack` keeps and its bytes mean something."""
    require(isinstance(array, np.ndarray), "it holds something that is no array")
    array = _native(array, name)
    flat = array.reshape(-1)
    truth = flat.dtype.kind != "b" or flat.view(np.uint8).max(initial=0) <= 1
    require(truth, "it holds truth values other than 0 and 1")
    points = flat.view(np.uint32) if flat.dtype.kind == "U" else np.empty(0, np.uint32)
    wrong = (points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))
    require(not wrong.any(), "it holds text that is not Unicode")
    return array


def _native(array: NDArray[Any], name: str) -> NDArray[Any]:
    """The array in the machine's byte order; StoreError if no run could hold its type."""
    require(
        array.dtype.kind == "U" or array.dtype.name in NUMBER_TYPES,
        f"cannot keep {name}: a run cannot hold arrays of {array.dtype}; a method may return "
        "truth values, whole numbers, 32- or 64-bit floats and text",
    )
    return array.astype(array.dtype.newbyteorder("="), copy=False)


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
        given = [array for array in listed if array is not None]
        alike = len(given) == len(listed) > 1 and len({array.dtype for array in given}) == 1
        if alike and all(array is given[0] or same_bits(array, given[0]) for array in given[1:]):
            arrays[f"every/{name}"] = given[0]
        elif alike and all(array.ndim == 1 for array in given):
            arrays[f"joined/{name}"] = np.concatenate(given)
            arrays[f"sizes/{name}"] = np.array([array.size for array in given], dtype=np.int64)
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
            require(f"joined/{name}" in arrays, f"it holds sizes of a missing array: {name[:40]!r}")
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


@lru_cache(maxsize=4)
def _every_column(n_features: int) -> NDArray[np.int64]:
    return freeze(np.arange(n_features, dtype=np.int64))


_USUAL: dict[str, Callable[[int], NDArray[Any]]] = {
    "scores": _no_scores,
    "features_in": _every_column,
}
"""Long arrays of most selections on resamples, by name, for their length: only that is kept."""
_MOST_FEATURES = 1 << 30


def pack_selections(selections: Sequence[Selection], meta: Any = None) -> bytes:
    """Selections, and a JSON value, as bytes; StoreError for arrays that no run file could hold.

    >>> selection = Selection(selected=[1], scores=[0.1, 0.9], warnings=["weak"])
    >>> [copy], meta = unpack_selections(pack_selections([selection]))
    >>> copy.selected, copy.warnings
    (array([1]), ('weak',))
    """
    arrays = stack([selection_arrays(selection) for selection in selections])
    usual = {name: array.size for name, array in arrays.items() if _is_usual(name, array)}
    given = {name: array for name, array in arrays.items() if name not in usual}
    heads = [_head(selection) for selection in selections]
    return pack(given, {"selections": heads, "usual": usual, "meta": meta})


def _is_usual(name: str, array: NDArray[Any]) -> bool:
    make = _USUAL.get(name.partition("/")[2])
    return make is not None and same_bits(array, make(array.size))


def _head(selection: Selection) -> list[Any]:
    head: list[Any] = [list(selection.warnings), sorted(selection.carried)]
    # Only where something is declared: most results have no model.
    return [*head, dict(selection.model_columns)] if selection.model_columns else head


def unpack_selections(
    content: bytes, shape: tuple[int, int] | None = None
) -> tuple[list[Selection], Any]:
    """The Selections in `content`, which may be untrusted, and the JSON value.

    StoreError if the bytes are not those of `pack_selections`, hold something unsound, or a
    Selection does not fit a table of (n_features, n_samples) `shape`.
    """
    arrays, outer = unpack(content)
    known = isinstance(outer, dict) and set(outer) == {"selections", "usual", "meta"}
    require(known, "it does not hold selections")
    heads, usual = outer["selections"], outer["usual"]
    require(isinstance(heads, list), "it has no list of selections")
    require(isinstance(usual, dict), "it has no lengths of usual arrays")
    most = _MOST_FEATURES if shape is None else shape[0]
    for name, size in usual.items():
        make = _USUAL.get(name.partition("/")[2])
        sound = type(size) is int and 0 <= size <= most and name not in arrays
        if make is None or not sound:
            raise StoreError(f"it leaves out an array that is not a usual one: {name[:40]!r}")
        arrays[name] = make(size)
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
