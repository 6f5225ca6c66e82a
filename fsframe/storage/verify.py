"""Verify a run file: its integrity, its contents and its digests."""

from __future__ import annotations

import os

import attrs

from fsframe.errors import StoreError
from fsframe.escaping import printable
from fsframe.storage.read import load_run
from fsframe.storage.spec import Limits

__all__ = ["VerifyReport", "verify_run"]


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
