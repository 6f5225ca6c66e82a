"""Where two run records differ, to the last bit."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import attrs

from fsframe.storage import spec
from fsframe.storage.digest import json_text
from fsframe.storage.records import RunRecord
from fsframe.storage.stage_records import axes_text

__all__ = ["first_difference"]

_NO_RUN_ATTRIBUTE = {"encoding-type", "encoding-version"}
_IN_DIGEST = {"carried", "digest", "kind", "n_chosen_from", "n_tested", "name", "provider", "seed"}


def first_difference(a: RunRecord, b: RunRecord) -> str:
    """The name of the first field in which two records differ; empty if they are equal.

    Every field is compared, times too; arrays by the digest of their bits.
    """
    for name in (*_fields(spec.ROOT_ATTRIBUTES, _NO_RUN_ATTRIBUTE), "warnings"):
        if getattr(a, name) != getattr(b, name):
            return name
    for field in attrs.fields(type(a.data)):
        if getattr(a.data, field.name) != getattr(b.data, field.name):
            return f"/data {field.name}"
    if _json(a.environment) != _json(b.environment):
        return "/environment"
    if a.stage_paths() != b.stage_paths():
        return "/stages"
    for path, one, other in zip(a.stage_paths(), a.stages, b.stages, strict=True):
        for name in _fields(spec.STAGE_ATTRIBUTES, _IN_DIGEST):
            if getattr(one, name) != getattr(other, name):
                return f"{path} {name}"
        if axes_text(one) != axes_text(other):
            return f"{path}/model_columns"
    for name in _fields(spec.PAIR_TEST_ATTRIBUTES, _IN_DIGEST):
        if getattr(a.pair_tests, name, None) != getattr(b.pair_tests, name, None):
            return f"/pair_tests {name}"
    mine, theirs = a.digests(), b.digests()
    paths = [*mine, *(path for path in theirs if path not in mine)]
    return next((path for path in paths if mine.get(path) != theirs.get(path)), "")


def _fields(attributes: Iterable[str], others: Collection[str]) -> list[str]:
    return [spec.field_name(name) for name in attributes if name not in others]


def _json(value: Any) -> str:
    return json_text(dict(value), "the environment")
