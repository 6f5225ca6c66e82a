"""Where two run records differ, to the last bit."""

from __future__ import annotations

from typing import Any

import attrs

from fsframe.storage.digest import axes_text, json_text
from fsframe.storage.records import RunRecord

__all__ = ["first_difference"]

_RUN_FIELDS = ("chain", "command", "created", "status", "seed", "fsframe_version", "warnings")


def first_difference(a: RunRecord, b: RunRecord) -> str:
    """The name of the first field in which two records differ; empty if they are equal.

    Every field is compared, times too; arrays by the digest of their bits.
    """
    for name in _RUN_FIELDS:
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
        for name in ("provider_version", "seconds"):
            if getattr(one, name) != getattr(other, name):
                return f"{path} {name}"
        if axes_text(one) != axes_text(other):
            return f"{path}/model_columns"
    if _version(a) != _version(b):
        return "/pair_tests provider_version"
    mine, theirs = a.digests(), b.digests()
    paths = [*mine, *(path for path in theirs if path not in mine)]
    return next((path for path in paths if mine.get(path) != theirs.get(path)), "")


def _version(record: RunRecord) -> str:
    return "" if record.pair_tests is None else record.pair_tests.provider_version


def _json(value: Any) -> str:
    return json_text(dict(value), "the environment")
