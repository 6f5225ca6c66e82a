"""Selections as bytes and back, every bit kept; what workers send and checkpoints hold."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.method.selection import Selection
from fsframe.storage.stage_records import selection_arrays, selection_of
from fsframe.storage.units.array_bytes import pack, split_joined, stack, unpack, unstack
from fsframe.table.frozen_arrays import freeze

__all__ = ["PARTS", "pack_selections", "reduced", "unpack_selections"]

PARTS = frozenset(
    {"scores", "weights", "pair_weights", "instance_weights", "fill", "donors", "model", "tables"}
)
"""Optional parts of a Selection; kept columns and warnings are always included."""

_FREE = ("model", "tables")
# Names of the kept columns of many selections stored together.
_SELECTED = ("joined/selected", "sizes/selected")
# Limit on selections that share one header; guards against damaged files.
_MOST_ALIKE = 1 << 20


def reduced(selection: Selection, parts: Collection[str]) -> Selection:
    """`selection` with only the requested parts; omitted scores are all NaN.

    >>> found = Selection(selected=[1], scores=[0.1, 0.9], tables={"cost": [3.0]})
    >>> len(reduced(found, {"scores"}).tables), reduced(found, ()).scores
    (0, array([nan, nan]))
    """
    changes: dict[str, Any] = {}
    for name in PARTS - set(parts):
        if name == "scores":
            changes[name] = _no_scores(selection.scores.size)
        elif name in _FREE:
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

    >>> found = Selection(selected=[1], scores=[0.1, 0.9], warnings=["weak"])
    >>> [copy], meta = unpack_selections(pack_selections([found]))
    >>> copy.selected, copy.warnings
    (array([1]), ('weak',))
    """
    several = 1 < len(selections) <= _MOST_ALIKE
    if several and _alike_but_for_selected(selections):
        first = selections[0]
        rest = {
            f"every/{n}": array for n, array in selection_arrays(first).items() if n != "selected"
        }
        arrays = stack([{"selected": found.selected} for found in selections]) | rest
        heads, one_head = [_head(first)], True
    else:
        arrays = stack([selection_arrays(selection) for selection in selections])
        heads = [_head(selection) for selection in selections]
        one_head = several and all(head == heads[0] for head in heads)
    if one_head:
        return pack(arrays, {"selections": heads[:1], "times": len(selections), "meta": meta})
    return pack(arrays, {"selections": heads, "meta": meta})


def _head(selection: Selection) -> list[Any]:
    head: list[Any] = [list(selection.warnings), sorted(selection.carried)]
    # Only where something is declared: most results have no model.
    return [*head, dict(selection.model_columns)] if selection.model_columns else head


def _alike_but_for_selected(selections: Sequence[Selection]) -> bool:
    """Whether only the kept columns differ, as far as a quick look can tell.

    Typical of thousands of resamples whose kept columns alone are needed. The bytes do not depend
    on this shortcut.
    """
    one = selections[0]
    return all(
        found.scores is one.scores
        and found.features_in is one.features_in
        and found.weights is None
        and found.pair_weights is None
        and found.instance_weights is None
        and found.fill is None
        and found.warnings == one.warnings
        and found.carried == one.carried
        and not found.model
        and not found.tables
        for found in selections
    )


def unpack_selections(
    content: bytes | memoryview, shape: tuple[int, int] | None = None
) -> tuple[list[Selection], Any]:
    """The Selections in `content`, which may be untrusted, and the JSON value.

    StoreError if the bytes are not those of `pack_selections`, hold something unsound, or a
    Selection does not fit a table of (n_features, n_samples) `shape`.
    """
    arrays, outer = unpack(content)
    if not isinstance(outer, dict) or set(outer) - {"times"} != {"selections", "meta"}:
        raise StoreError("it does not hold selections")
    heads, times = outer["selections"], outer.get("times", 1)
    if not isinstance(heads, list):
        raise StoreError("it has no list of selections")
    known = type(times) is int and 1 <= times <= _MOST_ALIKE
    if not known or (times > 1 and len(heads) != 1):
        raise StoreError("it does not say how many selections it holds")
    found = _alike_unpacked(heads[0], arrays, times) if times > 1 else None
    if found is None:
        grouped = unstack(arrays, len(heads) * times)
        found = [_selection(h, g) for h, g in zip(heads * times, grouped, strict=True)]
    for selection in found if shape is not None else ():
        problems = selection.problems(*shape)  # type: ignore[misc]
        if problems:
            raise StoreError("it holds an invalid selection: " + "; ".join(problems))
    return found, outer["meta"]


def _alike_unpacked(
    head: Any, arrays: dict[str, NDArray[Any]], times: int
) -> list[Selection] | None:
    """Selections that differ in the kept columns only: the rest is checked once.

    None if something else differs.
    """
    every = {name: array for name, array in arrays.items() if name not in _SELECTED}
    if not all(name.startswith("every/") for name in every):
        return None
    if len(every) == len(arrays):
        return [_selection(head, unstack(every, 1)[0])] * times
    if len(every) != len(arrays) - len(_SELECTED):
        return None
    if "every/selected" in every:
        raise StoreError("it holds two lists of kept columns")
    joined, sizes = _SELECTED
    kept = split_joined(arrays[joined], arrays[sizes], times)
    one = _selection(head, unstack(every, 1)[0] | {"selected": kept[0]})
    try:
        return [one.with_selected(selected) for selected in kept]
    except ValueError as error:
        raise StoreError(f"it holds an invalid selection: {error}") from None


def _selection(head: Any, arrays: dict[str, NDArray[Any]]) -> Selection:
    if not (isinstance(head, list) and len(head) in (2, 3) and all(map(_is_texts, head[:2]))):
        raise StoreError("its warnings are not lists of texts")
    axes = head[2] if len(head) == 3 else None
    return selection_of(arrays, warnings=head[0], carried=head[1], model_columns=axes)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
