"""``fsframe table``: to screen and file, of features and pairs, and what it refuses."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from fsframe.storage import load_run

from .conftest import Call


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_table_says_what_the_record_knows(call: Call, here: Path) -> None:
    assert call("chain anova-f:top=3 mim:top=1 on small.csv -q -o run.h5").code == 0
    done = call("table run.h5 -o genes.csv")
    assert done.code == 0 and "genes.csv" in done.out
    found = rows((here / "genes.csv").read_text(encoding="utf-8"))
    assert found[0]["feature"] == "gene-b" and found[0]["kept"] == "true"
    assert found[0]["direction"] == "higher in well" and float(found[0]["anova-f_p"]) < 1e-9
    assert len(found) == 5 and len(rows(call("table run.h5 --kept").out)) == 1
    assert load_run(here / "run.h5").to_frame()["feature"].to_list() == [
        r["feature"] for r in found
    ]
    again = call("table run.h5 -o genes.csv")
    assert again.code == 5 and "genes.csv" in again.err


def test_without_the_run_s_table_there_are_no_means(call: Call, here: Path) -> None:
    assert call("chain anova-f:top=1 on small.csv -q -o run.h5").code == 0
    (here / "small.csv").rename(here / "moved.csv")
    done = call("table run.h5 --top 1")
    assert done.code == 0 and "small.csv is not there" in done.err
    assert list(rows(done.out)[0]) == ["rank", "feature", "kept", "score", "p", "q"]
    assert call("table run.h5 --top 1 --no-means").err == ""
    assert "mean_ill" in call("table run.h5 on moved.csv").out
    (here / "small.csv").write_text((here / "moved.csv").read_text().replace("ill\n", "well\n", 1))
    assert "no longer the table the run was made on" in call("table run.h5").err
    assert call("table run.h5 on small.csv").code == 4


def test_pairs_have_statistic_p_and_q(call: Call, here: Path) -> None:
    assert call("chain interactions:top=2,calibrate=0 on small.csv -q -o run.h5").code == 0
    found = rows(call("table run.h5 --pairs").out)
    assert found and set(found[0]) >= {"feature", "with", "weight", "G2", "df", "p", "q"}
    assert [float(r["p"]) for r in found] == sorted(float(r["p"]) for r in found)
    shown = call("show run.h5").out
    assert f"{float(found[0]['p']):.2g}" in shown


def test_wrong_requests_are_refused_before_anything_is_written(call: Call, here: Path) -> None:
    assert call("chain mim:top=1 on small.csv -q -o run.h5").code == 0
    for words, said in (
        ("table run.h5 small.csv", "name the table"),
        ("table run.h5 -o genes.ods", "end its name in .csv"),
        ("table run.h5 --format xlsx", "not a text format"),
        ("table run.h5 --pairs --kept", "--pairs writes pairs"),
        ("table run.h5 --pairs", "holds no pairs"),
    ):
        done = call(words)
        assert done.code == 2 and said in done.err, words
    assert not (here / "genes.ods").exists()


def test_p_and_q_stand_on_the_screen(call: Call) -> None:
    done = call("chain anova-f:top=2 on small.csv -o run.h5")
    header = next(line for line in done.out.splitlines() if line.startswith("rank"))
    assert header.split()[:5] == ["rank", "feature", "score", "p", "q"]
    assert all(len(line) <= 80 for line in done.out.splitlines() if "█" in line)
