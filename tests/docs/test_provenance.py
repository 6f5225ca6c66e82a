"""Every stored figure names the code that made it."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.scripts import ROOT, script

BENCHMARKS = ROOT / "benchmarks"
SOURCE = '''
"""A module."""
import math

LIMIT = 3


class Half:
    """Half of a number."""

    def of(self, x):
        """x / 2."""
        return x / 2  # not rounded
'''


@pytest.fixture(scope="module")
def provenance() -> ModuleType:
    return script("benchmarks/provenance.py")


def test_each_result_file_has_a_note_of_its_content(provenance: ModuleType) -> None:
    noted = {name: note["sha256"] for name, note in provenance.index().items()}
    held = {name: provenance.sha256(name) for name in provenance.results()}
    assert noted == held, "python benchmarks/provenance.py record FILES"


def test_each_folder_with_results_says_what_computes_them(provenance: ModuleType) -> None:
    assert {name.split("/")[0] for name in provenance.results()} <= set(provenance.PACKAGES)
    for folder, places in provenance.PACKAGES.items():
        assert any((ROOT / place).is_dir() for place in places), folder


def test_moves_words_and_layout_change_no_digest(provenance: ModuleType) -> None:
    moved = SOURCE.replace("A module.", "Another.").replace("import math", "import cmath as c")
    moved = moved.replace("x / 2.", "A half.").replace("  # not rounded", "")
    assert provenance.definitions(SOURCE) == provenance.definitions(moved)


@pytest.mark.parametrize(
    ("before", "after"),
    [("x / 2 ", "x / 2.5 "), ("LIMIT = 3", "LIMIT = 4"), ("(self, x", "(self, x=0")],
)
def test_a_changed_line_changes_the_digest(provenance: ModuleType, before: str, after: str) -> None:
    assert SOURCE.count(before) == 1
    changed = provenance.definitions(SOURCE.replace(before, after))
    assert len(changed - provenance.definitions(SOURCE)) == 1


def test_a_file_that_is_no_result_is_refused(provenance: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"is no result file below benchmarks"):
        provenance.record([str(BENCHMARKS / "provenance.py")])
