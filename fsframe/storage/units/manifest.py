"""The manifest of an unfinished run: what must be equal for its units to be reused."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs

import fsframe.registry
from fsframe.errors import StoreError
from fsframe.grammar import StageText, parse_stages
from fsframe.kinds import offered_by
from fsframe.method.run import DEFAULT_MEMORY, size_text
from fsframe.registry import Offer, Registry, classifiers, find_offer, selectors
from fsframe.storage import place_file, printable
from fsframe.storage.numeric_fingerprint import (
    NUMERIC_LIBRARIES,
    fingerprint,
    numeric_differences,
    release,
)

if TYPE_CHECKING:
    from fsframe.table.dataset import Dataset

__all__ = ["NAMES", "SOFTWARE", "Manifest", "providers", "software"]

NAMES = ("manifest", "manifest-copy")
"""File names of the manifest and of its copy."""
_HEAD = re.compile(rb"fsframe-unfinished 1\nsha256 ([0-9a-f]{64})\n")
_MOST_BYTES = 1 << 24
SOFTWARE = ("fsframe", "numpy", "scipy", "numba")
"""Distributions whose releases may change the last bits of a result."""


def _earlier(value: Any) -> tuple[tuple[int, Mapping[str, str]], ...]:
    return tuple((int(last), _mapping(numerics)) for last, numerics in value)


def _mapping(value: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType({str(name): str(text) for name, text in value.items()})


@attrs.frozen(kw_only=True)
class Manifest:
    """Identifies an unfinished run.

    Parameters
    ----------
    chain : str
        Canonical text.
    seed : int
    sha256 : str
        `Dataset.sha256` of the table.
    memory : int
        Bytes by which methods choose their algorithm (`fsframe.method.run.Run.route`); 0 in
        manifests of earlier releases, which do not say it.
    software : mapping of str to str
        Version of everything that may change a bit of the result.
    request : mapping of str to str
        How the run was requested: where the table was read from and how, the memory limit, the
        command. Sufficient to resume the run; does not affect the result.
    numerics : mapping of str to str
        The fingerprint (`fsframe.storage.numeric_fingerprint`) of the process that wrote the
        latest units.
    earlier : tuple of (int, mapping)
        Of a mixed run: the number of the last file of units, and the fingerprint, of each process
        before it that had another one.
    """

    chain: str
    seed: int
    sha256: str
    memory: int = 0
    software: Mapping[str, str] = attrs.field(converter=_mapping)
    request: Mapping[str, str] = attrs.field(factory=dict, converter=_mapping)
    numerics: Mapping[str, str] = attrs.field(factory=dict, converter=_mapping)
    earlier: tuple[tuple[int, Mapping[str, str]], ...] = attrs.field(default=(), converter=_earlier)

    @classmethod
    def of(
        cls,
        chain: object,
        data: Dataset,
        seed: int,
        request: Mapping[str, str] | None = None,
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> Manifest:
        """The manifest of a run of `chain`, a chain or its text, that is about to begin."""
        return cls(
            chain=str(chain),
            seed=seed,
            sha256=data.sha256,
            memory=memory,
            software=software(chain),
            request=request or {},
            numerics=fingerprint(),
        )

    @property
    def identity(self) -> str:
        """SHA-256 of the request: equal for equal chain, seed, table, memory and versions.

        docs/file-format.md, section 4. What is stored of a run is its result if both are equal.
        """
        parts = {
            "chain": self.chain,
            "memory": self.memory,
            "providers": providers(self.chain),
            "seed": self.seed,
            "software": dict(self.software),
            "table": self.sha256,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def differences(self, other: Manifest, *, mixed: bool = False) -> list[str]:
        """Why units of this run cannot serve the `other` one; nothing if they can.

        With `mixed`, another numeric fingerprint is no reason; without it, neither is one with
        which this run was resumed before.

        >>> a = Manifest(chain="mim", seed=0, sha256="ab", software={"numpy": "2.1"})
        >>> a.differences(attrs.evolve(a, seed=7, request={"command": "again"}))
        ['its seed is 0, not 7']
        """
        found = []
        if self.chain != other.chain:
            found.append(f"its chain is `{printable(self.chain)}`, not `{other.chain}`")
        if self.sha256 != other.sha256:
            found.append(
                f"its data have SHA-256 {printable(self.sha256[:12])}…, these {other.sha256[:12]}…"
            )
        if self.seed != other.seed:
            found.append(f"its seed is {self.seed}, not {other.seed}")
        if self.memory and other.memory and self.memory != other.memory:
            found.append(
                f"its algorithms were chosen for {size_text(self.memory)} of memory beside the "
                f"table, not {size_text(other.memory)} (--memory, memory=)"
            )
        known = bool(self.numerics and other.numerics)
        accepted = mixed or any(dict(other.numerics) == dict(each) for _, each in self.earlier)
        if known and not accepted:
            changed = numeric_differences(self.numerics, other.numerics)
            found += [f"it was started with {printable(text)}" for text in changed]
        for name in sorted({*self.software, *other.software}):
            if name in NUMERIC_LIBRARIES and (known or mixed):
                continue
            mine, theirs = (m.software.get(name, "absent") for m in (self, other))
            # Plugins used by only one of two different chains add no information.
            if mine != theirs and not (self.chain != other.chain and "absent" in (mine, theirs)):
                found.append(
                    f"it was started with {printable(name)} {printable(mine)}, not {theirs}"
                )
        return found

    def write(self, path: Path) -> None:
        """Write the manifest to `path` atomically; StoreError if it cannot be written."""
        # ASCII: file names that are not UTF-8 survive.
        body = json.dumps(attrs.asdict(self, recurse=False), default=dict, indent=1).encode()
        digest = hashlib.sha256(body).hexdigest()
        content = f"fsframe-unfinished 1\nsha256 {digest}\n".encode() + body
        # The caller holds the lock of the folder.
        place_file(path, content, overwrite=True)

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """The manifest at `path`, which may be untrusted; StoreError if none, or changed since."""
        try:
            with open(path, "rb") as file:
                content = file.read(_MOST_BYTES)
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror or error}") from error
        head = _HEAD.match(content)
        body = content[head.end() :] if head else b""
        if head is None or hashlib.sha256(body).hexdigest().encode() != head[1]:
            raise StoreError(f"{path} is damaged, or not the manifest of a run")
        try:
            return cls._from_json(json.loads(body))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StoreError(f"{path} is not the manifest of a run: {error}") from None

    def keep(self, folder: Path) -> None:
        """Write the manifest and its copy to the folder; units are useless without one."""
        # The first name decides whether a folder holds a run, so it comes last.
        for name in reversed(NAMES):
            if not (folder / name).is_file():
                self.write(folder / name)

    @classmethod
    def of_folder(cls, folder: Path) -> Manifest | None:
        """The manifest that a folder holds, from its copy if need be; None if there is none.

        StoreError if there is one, but neither it nor its copy can be read.
        """
        failed: StoreError | None = None
        for name in NAMES:
            if not os.path.lexists(folder / name):
                continue
            try:
                return cls.read(folder / name)
            except StoreError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return None

    @classmethod
    def _from_json(cls, found: Any) -> Manifest:
        if type(found["seed"]) is not int or found["seed"] < 0:
            raise ValueError("its seed is not a whole number")
        if not all(isinstance(found[name], str) for name in ("chain", "sha256")):
            raise ValueError("its chain or its digest is not text")
        # Manifests of earlier releases do not have these.
        values = {"numerics": {}, "earlier": (), "memory": 0, **found}
        if type(values["memory"]) is not int or values["memory"] < 0:
            raise ValueError("its memory is not a whole number")
        return cls(**{field.name: values[field.name] for field in attrs.fields(cls)})


def software(chain: object) -> dict[str, str]:
    """Versions of everything that may change a bit of what `chain`, or its text, gives.

    Interpreter (major and minor), numerical libraries, and the plugins of every stage, those within
    a `base` too; of a class that this process has registered, a digest of its code.
    """
    found = {name: release(name) for name in ("python", *SOFTWARE)}
    for _, offer in _offers(str(chain)):
        found[offer.plugin.software] = offer.version
    return found


def providers(text: str) -> dict[str, str]:
    """Who offers each method of a chain, those within a `base` too, by the name asked for."""
    return {name: offer.provider for name, offer in _offers(text)}


def _offers(text: str) -> Iterator[tuple[str, Offer]]:
    """Each stage's name and offer; by text, since a base may hold sets to tune."""
    for stage in parse_stages(text):
        _, offer = find_offer(stage.name, selectors, classifiers)
        yield stage.name, offer
        for key in ("base", "classifier"):
            if stage.params.get(key):
                yield from _offers(stage.params[key])
        yield from _named_parts(stage)


def _named_parts(stage: StageText) -> Iterator[tuple[str, Offer]]:
    """Other plugin objects that a stage names, such as the null of npfs."""
    registry, _ = find_offer(stage.name, selectors, classifiers)
    for parameter in registry[stage.name].parameters():
        home = offered_by(parameter.kind)
        if home and parameter.name in stage.params:
            found: Registry = getattr(fsframe.registry, home)
            for offer in found.matching(stage.params[parameter.name]):
                yield f"{parameter.name} {offer.name}", offer
