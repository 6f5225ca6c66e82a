"""Verify a run file without showing it, and compare what two records hold."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import attrs

from fsframe.errors import StoreError
from fsframe.escaping import printable
from fsframe.storage import spec
from fsframe.storage.array_encoding import json_text
from fsframe.storage.read import load_run
from fsframe.storage.records import RunRecord
from fsframe.storage.spec import Limits
from fsframe.storage.stage_records import axes_text

__all__ = ["VerifyReport", "first_difference", "verify_run"]


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


@attrs.frozen(kw_only=True)
class VerifyReport:
    """The result of verifying one run file.

    Parameters
    ----------
    path : str
    sound : bool
        Whether every check passed.
    problem : str
        What the first failing check found; empty if the file is sound.
    digests : dict of str to str
        SHA-256 of each stage and of the result; empty if the file is not sound.
    chain : str
    """

    path: str
    sound: bool
    problem: str = ""
    digests: dict[str, str] = attrs.field(factory=dict)
    chain: str = ""

    def __str__(self) -> str:
        if not self.sound:
            return f"{printable(self.path)}: INVALID: {self.problem}"
        lines = [f"{printable(self.path)}: sound, {printable(self.chain)}"]
        lines += [f"  {digest}  {printable(path)}" for path, digest in self.digests.items()]
        return "\n".join(lines)


def verify_run(path: str | os.PathLike[str], *, limits: Limits | None = None) -> VerifyReport:
    """Verify that a run file is unchanged and valid, without raising.

    Parameters
    ----------
    path : path
    limits : Limits, optional

    Returns
    -------
    VerifyReport
        The checks are those of `load_run`: seal, schema, types, filters, checksums, limits, shapes
        and digests.

    Examples
    --------
    >>> verify_run("no-such-folder/run.h5").sound
    False
    """
    try:
        record = load_run(path, limits=limits)
    except StoreError as error:
        return VerifyReport(path=os.fspath(path), sound=False, problem=str(error))
    return VerifyReport(
        path=os.fspath(path), sound=True, digests=record.digests(), chain=record.chain
    )
