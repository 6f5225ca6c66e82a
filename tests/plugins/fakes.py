"""Fake distributions, most of them broken: folders with modules, entry points and metadata.

A test puts them on the path while a command runs, so that nothing has to be installed. What only
tests of isolation need is written from `FAKES`; `data` holds those that others, or pages, name too.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import attrs

from tests import same_process
from tests.command_line import Done

_IMPORTS = """
from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl
"""
_CLASS = """
import attrs, numpy as np
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector

{at_import}

@attrs.frozen(kw_only=True)
class Kept(Selector):
    'One column, whatever the table.'

    def _select(self, data, upstream, run):
        {at_work}
        return Selection(selected=[{column}], scores=np.ones(data.n_features))
"""


def hook(*lines: str, name: str = "fsframe_selectors", mark: str = "@hookimpl") -> str:
    """A module whose one function has these lines."""
    return "\n".join([_IMPORTS, mark, f"def {name}():", *(f"    {line}" for line in lines), ""])


def selector(name: str, target: str = "nowhere:Nothing", more: str = "") -> str:
    """A line that yields an entry; most need no class that exists."""
    return f"yield SelectorEntry(name={name!r}, target={target!r}{more})"


@attrs.frozen
class Fake:
    """A distribution: its name is that of the entry, its module the first of several."""

    module: str | None = None
    others: dict[str, str] = attrs.field(factory=dict, kw_only=True)
    point: bytes | None = attrs.field(default=None, kw_only=True)
    version: str | None = attrs.field(default="1.0", kw_only=True)
    """None: no METADATA."""


def keeps(entry: str, column: int, **about: Any) -> Fake:
    """A fake whose one selector keeps one column; its class is in a module of its own."""
    home = f"kept_{column}_as_{entry.replace('-', '_')}"
    source = _CLASS.format(column=column, at_import="", at_work="pass")
    return Fake(hook(selector(entry, f"{home}:Kept")), others={home: source}, **about)


FAKES = {
    # At import
    "fake_exits": Fake("raise SystemExit(7)"),
    "fake_mute": Fake(
        "class Mute(Exception):\n    def __str__(self):\n        raise RuntimeError('no words')\n"
        "raise Mute"
    ),
    "fake_syntax": Fake("def fsframe_selectors(:\n    yield"),
    "fake_blocked": Fake(
        "import sys\nprint('fake_blocked was imported', file=sys.stderr)"
        + hook(selector("fake-blocked"))
    ),
    "fake_prints": Fake(
        "print('printed at import')"
        + hook("print('printed by the hook')", selector("fake-printing", "prints_too:Kept")),
        others={
            "prints_too": _CLASS.format(
                column=0,
                at_import="print('printed with the class')",
                at_work="print('printed while selecting')",
            )
        },
    ),
    # Hooks
    "fake_empty": Fake(""),
    "fake_misspelled": Fake(hook(selector("fake-misspelled"), name="fsframe_selector")),
    "fake_unmarked": Fake(hook(selector("fake-unmarked"), mark="")),
    "fake_wrong_type": Fake(hook("yield {'name': 'fake-wrong-type'}")),
    "fake_returns": Fake(hook(selector("fake-returns").replace("yield", "return"))),
    "fake_midway": Fake(hook(selector("fake-early"), "raise KeyError('the second entry')")),
    "fake_later": Fake(
        hook(selector("fake-later"))
        + hook("raise RuntimeError", name="fsframe_dialects", mark="@hookimpl(optionalhook=True)")
    ),
    # Entries
    "fake_newer": Fake(hook(selector("fake-newer", more=", api=99"))),
    "fake_bad_summary": Fake(hook(selector("fake-loud", more=", summary='\\x1b[2J'"))),
    "fake_bad_classes": Fake(
        hook(
            selector("fake-no-module", "fake_not_there:Thing"),
            selector("fake-no-class", "fake_bad_classes:Thing"),
            selector("fake-no-selector", "fake_bad_classes:NoSelector"),
            selector("fake-exiting-class", "fake_exiting_class:Thing"),
        )
        + "class NoSelector: pass",
        others={"fake_exiting_class": "raise SystemExit('bye')"},
    ),
    "fake_greedy": Fake(
        "from fsframe.registry.entries import ReaderEntry"
        + hook(
            "yield ReaderEntry(name='greedy', target='greedy_reader:Greedy',"
            " endings=['.csv', '.gz', '.odd.csv'])",
            name="fsframe_readers",
        ),
        others={
            "greedy_reader": "from fsframe.table.reader import Reader\n"
            "class Greedy(Reader):\n"
            "    def _read(self, path):\n"
            "        if 'exit' in path.name:\n            raise SystemExit(0)\n"
            "        if 'none' in path.name:\n            return None\n"
            "        raise KeyError('oops')"
        },
    ),
    # Distributions
    "fake_absent_module": Fake(point=b"absent-module = fake_module_that_is_not_there"),
    "fake_garbled": Fake(point=b"this line has no equals sign"),
    "fake_bytes": Fake(point=b"\xff\xfe = fsframe"),
    "fake_no_target": Fake(point=b"no-target = not a module!"),
    "fake_no_metadata": Fake(hook(selector("fake-nameless")), version=None),
    "fake_twin_left": Fake(
        hook(selector("fake-left", "fake_twin_left:Nothing")), point=b"twin = fake_twin_left"
    ),
    "fake_twin_right": Fake(hook(selector("fake-right")), point=b"twin = fake_twin_right"),
    # Names that others have
    "fake_alpha": keeps("fake-contested", 0),
    "fake_beta": keeps("fake-contested", 1, version="2.0"),
    "fake_taker": keeps("relieff", 0, point=b"relief = fake_taker"),
    "relief": keeps("relieff", 1, point=b"relief = relief"),
}


@functools.cache
def _home() -> tempfile.TemporaryDirectory[str]:
    """Where fakes are written; removed at the end of the process."""
    return tempfile.TemporaryDirectory(prefix="fakes-")


@functools.cache
def written(name: str) -> Path:
    """The folder of a fake, to be put on the path."""
    fake = FAKES[name]
    folder = Path(_home().name) / name
    info = folder / f"{name}-{fake.version or '1.0'}.dist-info"
    info.mkdir(parents=True)
    own = {} if fake.module is None else {name: fake.module}
    for module, source in {**own, **fake.others}.items():
        (folder / f"{module}.py").write_text(source + "\n", encoding="utf-8")
    plain = name.replace("_", "-")
    point = fake.point or f"{plain.removeprefix('fake-')} = {name}".encode()
    (info / "entry_points.txt").write_bytes(b"[fsframe]\n" + point + b"\n")
    if fake.version is not None:
        about = f"Metadata-Version: 2.1\nName: {plain}\nVersion: {fake.version}\n"
        (info / "METADATA").write_text(about, encoding="utf-8")
    return folder


def fsframe(*arguments: str, fakes: Sequence[str | Path] = (), **options: Any) -> Done:
    """Run ``fsframe ARGUMENTS`` with some of the fakes installed."""
    folders = [written(fake) if fake in FAKES else fake for fake in fakes]
    # The environment decides what is loaded, without any fakes too.
    with mock.patch("fsframe.registry.registry._manager", None):
        return same_process.fsframe(*arguments, fakes=folders, **options)
