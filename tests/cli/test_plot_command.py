"""``fsframe plot``: the list, a file of every format, and what is refused."""

from __future__ import annotations

from pathlib import Path

from .conftest import Call


def test_kinds_are_listed_with_what_they_need(call: Call) -> None:
    from fsframe.show.plots import KINDS

    done = call("plot")
    assert done.code == 0 and all(len(line) <= 80 for line in done.out.splitlines())
    for kind in KINDS:
        assert f"\n{kind} " in done.out


def test_a_picture_is_written_and_not_over_another(call: Call, here: Path) -> None:
    assert call("chain anova-f:top=2 on small.csv -q -o run.h5").code == 0
    for ending, sign in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        assert call(f"plot scores run.h5 -o a.{ending}").code == 0
        assert (here / f"a.{ending}").read_bytes().startswith(sign)
    assert call("plot classes run.h5").code == 0 and (here / "run.classes.svg").is_file()
    assert call("plot scores run.h5 -o a.svg").code == 5
    (here / "small.csv").rename(here / "moved.csv")
    assert "give its path" in call("plot classes run.h5 -o b.svg").err
    assert call("plot pair run.h5 on moved.csv --pair gene-a,gene-b -o b.svg").code == 0


def test_a_folder_stands_for_the_runs_in_it(call: Call, here: Path) -> None:
    assert call(
        "compare", "mim:top=1 margin", "jmi:top=1 margin", "on", "small.csv", "-o", "folder",
        "--folds", "3", "--repeats", "1",
    ).code == 0  # fmt: skip
    assert (here / "folder" / "results.csv").is_file()
    assert call("plot pareto folder -o a.svg").code == 0
    assert call("plot pareto folder --metric auc -o c.svg").code == 0
    assert ">auc on held-out rows<" in (here / "c.svg").read_text()
    unknown = call("plot pareto folder --metric r2 -o d.svg")
    assert unknown.code == 2 and "not all of the runs were measured by 'r2'" in unknown.err
    assert call("report folder").code == 0
    page = (here / "folder.html").read_text()
    # The classifier that stands beside the chains is none of them.
    assert "folder: 2 chains on 1 table<" in page and "all: margin" in page
    assert "folder/small.margin" in page
    assert call("report folder").code == 5
    written = call("table folder").out.splitlines()
    assert written[0] == (here / "folder" / "results.csv").read_text().splitlines()[0]
    assert [line.split(",")[:3] for line in written[1:]] == [
        ["small", "mim:top=1 margin", "accuracy"],
        ["small", "jmi:top=1 margin", "accuracy"],
        ["small", "(larger class)", "accuracy"],
        ["small", "(all features) margin", "accuracy"],
    ]
    assert call("table folder -o results.tex").code == 0
    assert "jmi:top=1 margin" in (here / "results.tex").read_text()
    assert "--pairs" in call("table folder --pairs").err
    refused = call("report folder on small.csv -o b.html")
    assert refused.code == 2 and "name one run and one table" in refused.err
    (here / "empty").mkdir()
    assert "no run file in the folder" in call("plot pareto empty -o b.svg").err


def test_wrong_requests_leave_nothing(call: Call, here: Path) -> None:
    assert call("chain anova-f:top=2 on small.csv -q -o run.h5").code == 0
    before = sorted(here.iterdir())
    for words, code, said in (
        ("plot scoers run.h5", 2, "Did you mean `scores`"),
        ("plot scores", 2, "name the run"),
        ("plot scores run.h5 -o a.jpg", 2, ".svg, .pdf or .png"),
        ("plot tests run.h5", 2, "draw a run that ends with npfs"),
        ("plot scores run.h5 on small.csv", 2, "without a table"),
        ("plot scores nothing.h5", 5, "no run file"),
    ):
        done = call(words)
        assert done.code == code and said in done.err, words
    assert sorted(here.iterdir()) == before
