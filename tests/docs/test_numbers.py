"""The page of numbers says what the committed files of results say."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.scripts import ROOT, script

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def making() -> ModuleType:
    return script("docs/make_numbers.py")


def test_the_page_is_what_the_results_say(making: ModuleType) -> None:
    said = (DOCS / "numbers.md").read_text(encoding="utf-8")
    assert said == making.numbers(), "run python docs/make_numbers.py"


def test_every_figure_has_its_file_and_its_script(making: ModuleType) -> None:
    for figures in making.FIGURES.values():
        for figure in figures:
            for word in figure.command.split():
                if word.endswith(".py"):
                    assert (ROOT / word).is_file(), word
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


def test_counts_in_place_of_lists_show_what_went_wrong(making: ModuleType, tmp_path: Path) -> None:
    digests = tmp_path / "digests.csv"
    digests.write_text(
        "chain,way,table,draws,equal\nmim,alone,classes,0,3 of 3\nbim,alone,classes,6,2 of 3\n"
    )
    shown = list(making.equal_digests(digests))
    assert "|alone|classes|2|1|1|" in shown and "* bim: 2 of 3 equal" in shown
    runs = tmp_path / "runs.csv"
    runs.write_text(
        "shape,values,command,allowed_mb,held_mb,ended\n"
        "9x9,normal,chain mim,100,50,exit 0\n9x9,normal,chain im4e,200,220,stopped at 9 s\n"
    )
    assert "|9x9|normal|0|2|1|50–110|200|`chain im4e`|" in list(making.memory_of_commands(runs))
    trials = tmp_path / "trials.csv"
    trials.write_text(
        "trial,made,as promised,what was tried,ends\n"
        'v1,9,9,files of version 1,"exit 0 5, exit 5 3, more than 10 s 1"\n'
        "v2,9,8,files of version 2,exit 0 9\nother,2,2,locks,EIO 2\n"
    )
    assert list(making.trials(trials))[2:] == [
        "|v1|9|9|files of version 1|more than 10 s 1|",
        "|v2|9|8|the same of version 2||",
        "|other|2|2|locks|EIO 2|",
    ]
