"""The page of numbers says what the committed files of results say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def making() -> ModuleType:
    spec = importlib.util.spec_from_file_location("making_numbers", DOCS / "make_numbers.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_results_say(making: ModuleType) -> None:
    said = (DOCS / "numbers.md").read_text(encoding="utf-8")
    assert said == making.numbers(), "run python docs/make_numbers.py"


def test_every_figure_has_its_file_and_its_script(making: ModuleType) -> None:
    for figures in making.FIGURES.values():
        for figure in figures:
            for word in figure.command.split():
                if word.endswith(".py"):
                    assert (DOCS.parent / word).is_file(), word
            assert set(figure.files) <= set(making.results())


def test_another_figure_changes_the_page(making: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "signals.jsonl"
    line = '{%s, "workers": %d, "trials": 5, "stopped": 2, "kept": 1, "lost": %d, "unequal": 0, '
    line += '"failed": 0, "left": 0, "hangs": 0, "untrue": 0, "tracebacks": 0, "by": {"chain": 3}, '
    line += '"examples": []}\n'
    now, before = '"version": "abc"', '"mended": "A change"'
    path.write_text(line % (now, 0, 0) + line % (now, 2, 7) + line % (before, 0, 1))
    shown = "\n".join(making.signals(path))
    latest, earlier = shown.split("A change")
    assert "fixed (abc)|10|4|2|7|" in latest
    assert "fixed what was found|5|2|1|1|" in earlier and "chain 6." in earlier
