"""The page for newcomers: its code is the template's, or runs as it stands."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fsframe
from fsframe import params
from fsframe.cli import cli
from fsframe.cli.commands.offers import plugin_files
from fsframe.testing import SelectorConformance, conformance, run_checks

PAGE = Path(__file__).parents[2] / "docs" / "write-a-selector.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
FILES = plugin_files("gap")


def in_template(code: str) -> bool:
    return any(code.strip("\n") in text for text in FILES.values())


def test_code_of_the_template_is_quoted_as_it_is() -> None:
    quoted = [code for language, code in BLOCKS if language in ("python", "toml")]
    assert sum(in_template(code) for code in quoted) >= 7


def test_all_other_code_runs_and_its_classes_pass_the_checks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = ModuleType("page")
    # Classes are pickled by the name of their module.
    monkeypatch.setitem(sys.modules, "page", page)
    space = vars(page)
    ran = 0
    for language, code in BLOCKS:
        if language == "python" and not in_template(code):
            exec(compile(code, str(PAGE), "exec"), space)
            ran += 1
    assert ran >= 3
    methods = [m for m in list(space.values()) if isinstance(m, type) and m.__module__ == "page"]
    assert len(methods) >= 7
    monkeypatch.setattr(conformance, "TALLY", {})
    for method in methods:
        assert issubclass(method, fsframe.Selector)
        given: dict[str, Any] = {"base": "mim:top=2", "n": 10} if method.wrapping else {}
        name = method(**given).method_name()
        body = {
            "make": staticmethod(lambda made=method, values=given: made(**values)),
            "exceptions": space["EXCEPTIONS"].get(name, {}),
        }
        suite = type(f"Test{name}", (SelectorConformance,), body)
        broken = [o for o in run_checks(suite) if o.status == "failed"]
        assert not broken, (name, broken)


def test_commands_on_the_page_exist() -> None:
    lines = [line for language, code in BLOCKS if language == "sh" for line in code.splitlines()]
    commands = [line.split()[1] for line in lines if line.startswith("fsframe ")]
    commands += re.findall(r"`fsframe ([a-z-]+)", TEXT)
    assert {"new-plugin", "chain", "check", "plugins", "methods"} <= set(commands)
    for command in commands:
        assert cli.get_command(None, command) is not None  # type: ignore[arg-type]


def test_every_kind_named_exists() -> None:
    named = TEXT.partition("Kinds:")[2].partition("Rules that need")[0]
    kinds = re.findall(r"`(\w+)[(`]", named)
    assert {"real", "integer", "choice", "either", "listing", "stages"} <= set(kinds)
    assert not [kind for kind in kinds if not hasattr(params, kind)]


def test_tables_name_what_there_is() -> None:
    cells = re.findall(r"^\| (`.+?`) \|", TEXT, flags=re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`([\w.]+)", cell)]
    assert len(names) >= 12
    owners = {
        "data": fsframe.Dataset.from_arrays([[1.0], [2.0]], [0, 1]),
        "run": fsframe.Run(),
    }
    for name in names:
        owner, dot, attribute = name.partition(".")
        if dot:
            assert hasattr(owners[owner], attribute), name
        elif name != "upstream":
            assert hasattr(fsframe.Selector, name), name
