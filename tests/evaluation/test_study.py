"""A study from one file: told all that is wrong with it, resumed, and written up."""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fsframe
from fsframe.errors import RequestError, StoreError
from fsframe.evaluation.study_plan import read_plan
from fsframe.show.methods_text import bibtex_of, cited_keys
from fsframe.storage.study_file import load_study
from tests.evaluation.tables import rows_of, separated, write_csv
from tests.same_process import fsframe as ran

TINY = Path(__file__).parents[1] / "faults" / "tiny_plugin"
STUDY = """
name = "toy"
measures = ["balanced-accuracy", "log-loss"]
seeds = [0, 5]
folds = 3
repeats = 1
selectors = ["{mim,anova-f}:top=1"]
classifiers = ["knn:k=5"]
tables = ["one.csv", "two.csv"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("one", "two")):
        write_csv(Path(f"{name}.csv"), separated(36, 3, seed, signal=[1.5, 1.0]))
    Path("study.toml").write_text(STUDY)
    return tmp_path


@pytest.fixture
def small(folder, undrawn):
    """The study on one table with one seed."""
    text = STUDY.replace("[0, 5]", "[0]").replace(', "two.csv"', "")
    (folder / "study.toml").write_text(text)
    return folder


def test_a_study_is_every_chain_on_every_table_with_every_seed(folder, undrawn):
    done = ran("study study.toml -q --json")
    said = done.json
    assert done.code == 0, done.err
    assert said["chains"] == ["mim:top=1 knn:k=5", "anova-f:top=1 knn:k=5"]
    record = load_study(folder / "toy" / "study.zip")
    # Two chains and their classifier on all features, two tables, two seeds.
    assert len(record.runs) == 12 and not (folder / "toy" / "cells").exists()
    options = {"folds": 3, "repeats": 1, "metric": ["accuracy", "balanced-accuracy", "log-loss"]}
    alone = [fsframe.evaluate(said["chains"][0], "one.csv", seed=s, **options) for s in (0, 5)]
    mean = np.mean([one.measures["balanced-accuracy"].mean for one in alone])
    rows = rows_of("toy/results.csv")
    value = said["comparisons"]["balanced-accuracy"]["values"][0][0]
    assert value == float(rows[0]["value"]) == pytest.approx(mean)
    assert {row["metric"] for row in rows} == {"balanced-accuracy", "log-loss"}
    # A file of any run in it is a run file like all others.
    with zipfile.ZipFile("toy/study.zip") as archive:
        archive.extract("cells/0000-0000-0001.h5")
    assert fsframe.load_run("cells/0000-0000-0001.h5").seed == 5


def test_what_is_written_up_names_tables_methods_tests_and_cites_what_the_entries_declare(folder):
    ran("study study.toml -q")
    out = folder / "toy"
    figures = {path.name for path in out.glob("figure-*")}
    assert {"figure-cd.pdf", "figure-cd.svg"} <= figures
    assert (out / "figure-cd.pdf").read_bytes().startswith(b"%PDF")
    page = (out / "report.html").read_text()
    assert "toy: 2 chains on 2 tables" in page and "by balanced accuracy" in page
    assert "seeds 0, 5" in page and "Results by log loss" in page
    tex, bib = (out / "methods.tex").read_text(), (out / "references.bib").read_text()
    for words in (
        "2 chains of methods on 2 tables",
        "one (36 samples, 3 features, 2 classes)",
        "stratified 3-fold cross-validation, repeated 2 times,",
        "Bayesian signed-rank test",
        "seeds 0, 5",
    ):
        assert words in tex
    cited = {key for found in re.findall(r"\\cite\{(.*?)\}", tex) for key in found.split(",")}
    declared = re.findall(r"@\w+\{(\w+),", bib)
    assert cited and cited <= set(declared) and len(declared) == len(set(declared))
    assert "brown2012" in cited and "nadeau2003" in cited
    table = (out / "table-log-loss.tex").read_text()
    assert table.count(r"\\") == 1 + 2 + 2 and r"\mathbf" in table and "toprule" in table


def test_what_is_written_up_names_columns_of_groups_and_plugins_of_others(folder, undrawn):
    for seed, name in enumerate(("one", "two")):
        data = separated(36, 3, seed, signal=[1.5, 1.0])
        write_csv(Path(f"{name}.csv"), data, who=[f"p{row // 2}" for row in range(36)])
    text = STUDY.partition("tables =")[0].replace("{mim,anova-f}", "{mim,tiny}")
    text += '[[tables]]\npath = "one.csv"\ndrop = ["who"]\n'
    text += '[[tables]]\npath = "two.csv"\ngroups = "who"\n'
    Path("study.toml").write_text(text)
    ran("study", "study.toml", "-q", fakes=[TINY], code=0)
    written = Path("toy/methods.md").read_text()
    assert "Rows of one who of two were kept together in every fold." in written
    assert "tiny is provided by the plugin fsframe-tiny 1.0." in written
    assert "mim is provided" not in written


def test_a_finished_study_is_shown_and_another_one_refused(small, monkeypatch):
    first = ran("study study.toml -q --json", code=0)
    with monkeypatch.context() as patched:
        patched.setattr(
            "fsframe.cli.commands.comparisons.run_request",
            lambda *_, **__: pytest.fail("computed again"),
        )
        assert ran("study study.toml -q --json").json == first.json
        ran("study toy/study.zip", code=0)
    # Other seeds, and the same tables, chains and seeds on other folds.
    for other in (STUDY, (small / "study.toml").read_text().replace("folds = 3", "folds = 4")):
        (small / "study.toml").write_text(other)
        assert "another study" in ran("study study.toml -q", code=5).err


def test_only_the_runs_of_a_finished_study_are_removed(small, monkeypatch):
    import fsframe.ask.evaluations as command

    cells = small / "toy" / "cells"
    cells.mkdir(parents=True)
    (cells / "notes.h5").write_text("mine")
    remove = command._remove_cells

    def with_leftovers(work, files):
        # A killed command leaves a file half written, and units of a run.
        (work / f".{next(iter(files)).name}.123-00ff00ff.partial").write_text("half")
        (work / f"{next(iter(files)).name}.units").mkdir()
        remove(work, files)

    monkeypatch.setattr(command, "_remove_cells", with_leftovers)
    done = ran("study study.toml", code=0)
    assert "cells is no longer needed but cannot be removed" in done.err
    assert [path.name for path in cells.iterdir()] == ["notes.h5"]


def test_killed_while_it_clears_up_a_study_is_finished_all_the_same(small, monkeypatch):
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("fsframe.ask.evaluations._remove_cells", killed)
        ran("study study.toml -q", code=130)
    cells = small / "toy" / "cells"
    assert len(list(cells.iterdir())) == 3
    (small / "toy" / "study.zip").unlink()
    assert ran("study study.toml -q").code == 0 and not cells.exists()


def test_files_that_the_study_has_not_written_are_left_alone(small):
    Path("mine").mkdir()
    Path("mine/methods.md").write_text("my own words\n")
    line = "study study.toml -q -o mine"
    before = {path: path.read_bytes() for path in Path("mine").iterdir()}
    done = ran(line)
    assert done.code == 5 and "holds methods.md" in done.err and "--overwrite" in done.err
    # Before anything was computed.
    assert {path: path.read_bytes() for path in Path("mine").iterdir()} == before
    Path("mine/methods.md").unlink()
    ran(line, code=0)
    # Its own are written again, also where one is missing; one that was edited is not.
    Path("mine/references.bib").unlink()
    assert ran(line).code == 0 and Path("mine/references.bib").is_file()
    Path("mine/results.csv").write_text("edited\n")
    Path("mine/references.bib").unlink()
    assert "holds results.csv" in ran(line, code=5).err
    assert Path("mine/results.csv").read_text() == "edited\n"
    assert not Path("mine/references.bib").exists()
    done = ran("study mine/study.zip -o mine")
    assert done.code == 5 and Path("mine/results.csv").read_text() == "edited\n"
    ran(f"{line} --overwrite", code=0)
    assert Path("mine/results.csv").read_text() != "edited\n"


def test_columns_of_a_table_have_kinds_and_one_name_may_stand_where_a_list_is_wanted(folder):
    plan = 'name = "x"\nchains = ["mim:top=1 knn"]\n[[tables]]\npath = "ids.csv"\n'
    plan += 'ordinal = { size = ["S", "M", "L"] }\n'
    lines = [f"r{row},{'SML'[row % 3]},{row % 5},{'ab'[row % 2]}" for row in range(40)]
    Path("ids.csv").write_text("\n".join(["id,size,v,class", *lines]))
    Path("ids.toml").write_text(plan)
    with pytest.raises(RequestError, match=r'tables\[0\]: what would settle it: drop = \["id"\]'):
        read_plan(folder / "ids.toml")
    Path("ids.toml").write_text(plan + 'drop = "id"\n')
    [table] = read_plan(folder / "ids.toml").tables
    assert table.data.feature_names == ("size", "v")
    assert table.data.X[:3, 0].tolist() == [0, 1, 2]


def test_every_fault_is_reported_at_once_with_its_key_and_what_is_allowed(folder):
    (folder / "bad.toml").write_text(
        """
nam = "x"
chains = ["mimm knn", "mim:top=0 knn", "mim:top=1 margin"]
selectors = ["mim"]
measures = ["acc", "brier"]
folds = "ten"
inner-folds = 1
seeds = [1, 1]
rope = -1
[[tables]]
path = "nowhere.csv"
[[tables]]
path = "one.csv"
lable = "class"
groups = 3.5
ordinal = { a = "low" }
[[tables]]
path = "one.csv"
name = ""
"""
    )
    done = ran("study bad.toml")
    assert (done.code, done.out) == (2, "")
    for words in (
        "nam: there is no such key. Did you mean `name`?",
        "measures[0]: there is no measure 'acc'",
        "folds: must be a whole number, not 'ten'",
        "inner-folds:",
        "classifiers: selectors and classifiers make a grid",
        "chains[0]: there is no selector or classifier 'mimm'",
        "chains[1]: mim: top",
        "seeds: must be distinct whole numbers",
        "rope: must be a number",
        "tables[0].path: there is no file",
        "tables[1].lable: there is no such key. Did you mean `label`?",
        "tables[1].groups: must be a text or a whole number",
        "tables[1].ordinal: must be a list of texts or a table of lists of texts",
        "tables[1] (one): metric=brier: it needs probabilities",
        "tables[2].name: must be a text",
    ):
        assert words in done.err, words
    assert not list(folder.glob("bad*/"))


def test_what_a_table_does_not_allow_is_reported_before_anything_runs(folder):
    (folder / "study.toml").write_text(STUDY.replace("folds = 3", "folds = 30"))
    with pytest.raises(RequestError) as caught:
        read_plan(folder / "study.toml")
    assert str(caught.value).count("fewer members than the 30 folds") == 2
    (folder / "study.toml").write_text("tables = [")
    with pytest.raises(RequestError, match="is not TOML") as caught:
        read_plan(folder / "study.toml")
    assert "If it is a table" not in str(caught.value)
    (folder / "r.csv").write_text("a,b,class\n1,2,x\n")
    with pytest.raises(RequestError, match=r"If it is a table, .*fsframe compare .* on r\.csv"):
        read_plan(folder / "r.csv")


def test_a_damaged_study_is_refused(small):
    ran("study study.toml -q")
    path = small / "toy" / "study.zip"
    content = path.read_bytes()
    for place in range(200, len(content), len(content) // 20):
        path.write_bytes(bytes((*content[:place], content[place] ^ 0xFF, *content[place + 1 :])))
        with pytest.raises(StoreError):
            load_study(path)


def test_a_study_that_declares_runs_without_end_or_is_compressed_is_refused(tmp_path):
    many = [f"n{k}" for k in range(3000)]
    plan = {
        "format": "fsframe-study", "version": 1, "tables": many, "chains": [], "beside": many,
        "measures": ["accuracy"], "seeds": list(range(3000)), "rope": 0.01, "sha256": many,
    }  # fmt: skip
    path = tmp_path / "study.zip"
    for form, words in (
        (zipfile.ZIP_STORED, "declares more than 100000 runs"),
        (zipfile.ZIP_DEFLATED, "compressed"),
    ):
        with zipfile.ZipFile(path, "w", form) as archive:
            archive.writestr("study.json", json.dumps(plan))
            archive.writestr("study.toml", "")
        with pytest.raises(StoreError, match=words):
            load_study(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="is not a file"):
        load_study(tmp_path / "pipe")


def test_the_shipped_example_can_be_run(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    assert "14 runs" in ran("study examples/study/study.toml --dry-run", code=0).out


@pytest.mark.parametrize(
    ("reference", "start", "fields"),
    [
        ("Peng, Long, Ding 2005", "@misc{peng2005", "Peng and Long and Ding; 2005"),
        ("Sun 2007, Iterative RELIEF, IEEE TPAMI 29(6)", "@article{sun2007", "Sun; 29; 6"),
        ("Kira 1992, Feature selection, ICML, pp. 249-256, doi:10.1/B978-1, Figure 1",
         "@inproceedings{", "Feature selection; ICML; 249--256; Figure 1"),
        # A semicolon inside of a DOI separates nothing.
        ("Brier 1950, Forecasts, Mon. Rev. 78(1):1-3, doi:10.1175/1<0001:V>2.0.CO;2",
         "@article{", "10.1175/1<0001:V>2.0.CO;2"),
        ("Carletta 1996, Kappa, Comput. Linguist. 22(2):249, arXiv:cmp-lg/9602004",
         "@article{", "cmp-lg/9602004"),
        ("Hong 1997, Inf. Sci. 29:1–12, doi:10.1/x_y",
         "@article{", "29; 1--12; 10.1/x_y; Inf. Sci."),
        ("Whitney 1971, IEEE Trans. Comput. C-20:1100",
         "@article{", "IEEE Trans. Comput.; C-20; 1100"),
        ("Kursa, Rudnicki 2010, J. Stat. Softw. 36(11)", "@article{", "J. Stat. Softw.; 36; 11"),
        # No journal: a book, a volume alone.
        ("Little, Rubin 2019, Missing Data, 3rd ed., ch. 4", "@misc{", "2019"),
        ("Pedregosa 2011, JMLR 12", "@misc{", "2011"),
    ],
)  # fmt: skip
def test_references_become_bibtex(reference, start, fields):
    record = bibtex_of([reference])
    assert record.startswith(start) and record.count("@") == 1
    assert all(f" = {{{value}}}" in record for value in fields.split("; ")), record


def test_several_references_are_entries_of_their_own():
    assert cited_keys("Battiti 1994") == ["battiti1994"]
    result = bibtex_of(["Peng, Long, Ding 2005; Sun 2007, Iterative RELIEF, IEEE TPAMI 29(6)"])
    assert "{peng2005," in result and "@article{sun2007," in result
