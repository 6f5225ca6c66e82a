"""``evaluate``, ``stability`` and ``compare`` as a user runs them."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import numpy as np
import pytest

import fsframe
from fsframe import load_run
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.folds import FoldTask
from fsframe.evaluation.summary import summarise
from fsframe.execution import engine as engines
from fsframe.registry import selectors, stability_metrics
from fsframe.storage import write_run
from tests.command_line import Done
from tests.evaluation.tables import rows_of, separated, write_csv
from tests.same_process import fsframe as ran

TREE = "sklearn.tree.DecisionTreeClassifier"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two tables of three informative columns, and one whose groups are text."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("toy", "other")):
        write_csv(Path(f"{name}.csv"), separated(48, 5, seed, signal=[1.4] * 3))
    write_csv(Path("grouped.csv"), separated(48, 2), who=[f"p{i // 4}" for i in range(48)])
    return tmp_path


@pytest.fixture
def nothing_runs(monkeypatch):
    """Fails the test if a command of many runs begins one."""
    monkeypatch.setattr(
        "fsframe.cli.commands.comparisons.run_request", lambda *_, **__: pytest.fail("begun")
    )


TWICE = "--folds 3 --repeats 2 -q"
KNN = f"evaluate mim:top=2 knn on toy.csv {TWICE}"
KNN_FILE = "toy.evaluate_folds=3_repeats=2-mim_top=2-knn.h5"


def test_evaluate_tells_what_the_library_measures(folder):
    done = ran(f"{KNN} --json --seed 3")
    result = done.json
    method = CrossValidation(base="mim:top=2 knn", folds=3, repeats=2)
    said = summarise(load_run(KNN_FILE).stages[-1].selection)
    assert done.code == 0 and result["n_splits"] == 6 and result["kept"] == [2] * 6
    accuracy = said.measures["accuracy"]
    assert result["measures"]["accuracy"]["mean"] == accuracy.mean
    assert result["measures"]["accuracy"]["values"] == accuracy.values.tolist()
    assert result["stability"]["value"] == said.stability.value
    assert result["run_file"].endswith(KNN_FILE)
    assert ran(f"show {KNN_FILE} --csv splits.csv").code == 0
    assert str(method.base) == result["evaluated"] and result["seed"] == 3
    rows = rows_of("splits.csv")
    assert {"split", "features_kept", "accuracy", "auc", "log-loss"} <= rows[0].keys()
    assert [float(row["accuracy"]) for row in rows] == accuracy.values.tolist()
    done = ran(f"show {KNN_FILE} --csv splits.csv", code=5)
    assert "splits.csv already exists" in done.err and "overwrite" in done.err
    ran(f"show {KNN_FILE} --csv splits.csv --overwrite", code=0)
    ran("chain mim:top=2 on toy.csv -q -o chain.h5")
    done = ran("show chain.h5 --csv d.csv", code=2)
    assert "evaluation" in done.err and not Path("d.csv").exists()


def test_evaluate_tunes_and_marks_the_curve(folder):
    done = ran(f"evaluate anova-f:top={{1,3}} knn on toy.csv {TWICE} --curve auto")
    assert done.code == 0 and "Chosen inside the folds:" in done.out
    assert "smallest within ± of the best" in done.out
    lines = [ln for ln in done.out.splitlines() if not ln.startswith(("warning", "run file"))]
    assert [line for line in lines if len(line) > 80] == []


def test_a_classifier_of_scikit_learn_may_be_named_by_its_path(folder):
    line = f"evaluate mim:top=2 on toy.csv {TWICE} --no-out --json --classifier"
    found = [ran(f"{line} {name}") for name in (TREE, f"sklearn:estimator={TREE}")]
    assert found[0].code == 0 and found[0].json["measures"] == found[1].json["measures"]


def test_dry_run_prints_a_chain_that_reads_back(folder):
    done = ran("evaluate immigrate:sigma={2,1} margin on toy.csv --dry-run --folds 3")
    chain = fsframe.Chain.parse(done.out.strip())
    assert done.code == 0 and chain.stages[0].method.folds == 3
    assert chain.stages[0].method.base == "immigrate:sigma={2,1} margin"
    assert not list(folder.glob("*.h5"))


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("evaluate mim on toy.csv --folds 1", 2, "folds"),
        ("evaluate mim on toy.csv --folds 30", 4, "cross-validation: classes with fewer members"),
        ("evaluate mim on toy.csv --groups nobody", 4, "nobody"),
        ("evaluate mim", 2, "on DATA"),
        ("stability mim:top=5 on toy.csv", 4, "not defined for sets of 5 of 5"),
        ("stability mim:top={1,2} on toy.csv", 2, "sets of values"),
        ("compare 'mim knn' relieff toy.csv", 2, "name the tables"),
        ("compare mim relieff on", 2, "at least one table"),
        ("compare mim:top=0 relief:top=0 on toy.csv", 2, "relief"),
        ("compare mim relieff on toy.csv toy.csv", 2, "different names"),
    ],
)
def test_wrong_requests_end_with_their_code_and_leave_nothing(folder, line, code, said):
    done = ran(line)
    assert (done.code, done.out) == (code, "") and said in done.err
    assert not list(folder.glob("*.h5*"))


@pytest.mark.parametrize(
    "line",
    [
        f"evaluate mim:top={{1,2}} knn on toy.csv {TWICE} --curve [1,3]",
        f"evaluate mim:top=2 margin on grouped.csv {TWICE} --groups who",
        "stability mim:top=2 on toy.csv --n 4 -q --metric jaccard",
    ],
)
def test_show_and_resume_tell_of_a_protocols_file_what_its_command_told(folder, line):
    done = ran(f"{line} -o run.h5")
    told = done.out
    assert (done.code, done.err) == (0, "") and told.splitlines()[-1].startswith("run file: ")
    assert ("the classifier gives no probabilities" in told) == ("margin" in line)
    assert ran("resume run.h5 -q") == Done(0, told, "")
    shown = ran("show run.h5")
    assert shown.code == 0 and shown.out.endswith(told)
    told = ran(f"{line} -o run.h5 --overwrite --json").json
    assert ran("resume run.h5 --json").json == told
    said = ran("show run.h5 --json").json
    assert said == said | told


def test_a_protocol_whose_base_is_not_here_is_still_shown(folder, monkeypatch):
    ran(f"{KNN} -o run.h5")

    def missing(*_, **__):
        raise fsframe.errors.PluginError("not here")

    monkeypatch.setattr("fsframe.evaluation.grid.ChainGrid.parse", missing)
    assert "balanced-accuracy" in ran("show run.h5", code=0).out


SIMBA = f"evaluate simba knn on toy.csv {TWICE}"


@pytest.fixture
def interrupted(folder, monkeypatch):
    """Six folds of `SIMBA` into run.h5, the sixth of which failed; those computed."""
    computed, select = [], FoldTask.select

    def counted(self, *arguments, **options):
        computed.append(1)
        if len(computed) == 6:
            raise fsframe.errors.DataError("the power fails")
        return select(self, *arguments, **options)

    monkeypatch.setattr(FoldTask, "select", counted)
    done = ran(f"{SIMBA} -o run.h5")
    assert done.code == 4 and "power" in done.err and not Path("run.h5").exists()
    assert Path("run.h5.units/manifest").exists()
    return computed


def test_an_interrupted_evaluation_continues_with_the_same_bits(interrupted):
    before = len(interrupted)
    done = ran("resume run.h5 -q")
    # Eight folds in all: those that were kept have not been computed again.
    assert len(interrupted) - before < 8
    whole = ran(f"{SIMBA} -o whole.h5")

    def timeless(text):
        return [line for line in text.splitlines() if not line.startswith(("seconds", "run file"))]

    assert done.code == 0 and timeless(done.out) == timeless(whole.out)
    assert load_run("run.h5").digests() == load_run("whole.h5").digests()


COMPARE = f"compare 'anova-f:top=1 knn' anova-f:top=5 on toy.csv other.csv {TWICE}"


def test_compare_writes_what_it_prints_and_called_again_computes_nothing(folder, request):
    done = ran(f"{COMPARE} --out cmp --json")
    said = done.json
    assert done.code == 0 and np.array(said["accuracy"]).shape == (2, 2)
    assert {p["data"] for p in said["pairs"]} == {"toy", "other"}
    rows = rows_of("cmp/results.csv")
    told = [float(row["accuracy"]) for row in rows if row["accuracy"]]
    assert told == np.ravel(said["accuracy"]).tolist()
    assert rows[0]["chain"] == "anova-f:top=1 knn"
    # Two chains and their two classifiers alone on two tables.
    assert len(list(Path("cmp").glob("*.h5"))) == 8
    request.getfixturevalue("nothing_runs")
    assert ran(f"{COMPARE} --out cmp --json", code=0).json == said
    assert "repeat that compare command" in ran("resume cmp", code=5).err


def test_compare_keeps_results_that_a_second_call_lacks(folder):
    ran(f"{COMPARE} --out cmp")
    before = Path("cmp/results.csv").read_bytes()
    fewer = f"compare 'anova-f:top=1 knn' 'mim:top=2 knn' on toy.csv {TWICE}"
    assert "lacks: other, `anova-f:top=5`" in ran(f"{fewer} --out cmp", code=5).err
    assert Path("cmp/results.csv").read_bytes() == before
    assert not list(Path("cmp").glob("*mim*"))
    # One chain more loses nothing.
    more = ran(COMPARE.replace(" on ", " 'mim:top=2 knn' on ") + " --out cmp")
    assert more.code == 0 and len(rows_of("cmp/results.csv")) > before.count(b"\n") - 1
    ran(f"{fewer} --out cmp --overwrite", code=0)
    assert ran("table cmp").out == Path("cmp/results.csv").read_text()
    assert len(rows_of("cmp/results.csv")) == 4
    with pytest.raises(fsframe.StoreError, match="--overwrite"):
        fsframe.compare(["knn", "margin"], "other.csv", folds=4, repeats=2, out="cmp")


def test_compare_refuses_a_folder_of_another_protocol(folder):
    ran(f"{COMPARE} --out cmp")

    def refused(more: str, said: str) -> None:
        assert said in ran(f"{COMPARE} {more}", code=5).err

    refused("--out cmp --seed 5", "since its seed is 0, not 5; choose another folder (--out")
    refused("--out cmp --memory 300MB", "of memory beside the table")
    path = sorted(Path("cmp").glob("toy.*.h5"))[0]
    record = load_run(path)
    elsewhere = {**record.environment, "blas": "another"}
    write_run(path, attrs.evolve(record, environment=elsewhere), overwrite=True)
    refused("--out cmp", "or accept results of both processors (--mixed")
    ran(f"{COMPARE} --out cmp --mixed", code=0)
    path.write_bytes(path.read_bytes()[:-9])
    refused("--out cmp", "cut short")
    older = {**record.environment, "fsframe": "0.0"}
    write_run(path, attrs.evolve(record, environment=older), overwrite=True)
    refused("--out cmp --mixed", "started with fsframe 0.0")
    Path("toy.data").write_bytes(b"")
    refused("--out toy.data", "toy.data: it is not a folder")


def test_compare_tells_problems_of_all_tables_before_it_computes(folder, nothing_runs):
    Path("small.csv").write_text("a,b,class\n1,2,x\n2,1,x\n3,1,y\n1,4,y\n2,2,y\n")
    Path("alone.csv").write_text("a,b,class\n1,2,x\n2,1,x\n3,1,y\n1,4,y\n2,2,z\n")
    done = ran(COMPARE.replace("other.csv", "small.csv alone.csv other.csv"))
    assert done.code == 4 and "small: classes with fewer members" in done.err
    # What cannot even be read is told with the rest.
    assert "alone.csv: classes with a single member" in done.err and "other.csv" not in done.err
    # Each table has its suggestions, with columns numbered as in a study file.
    values = np.random.default_rng(0).random((30, 3)).tolist()
    lines = [f"{a},{'xy'[row % 2]},{b},{c}\n" for row, (a, b, c) in enumerate(values)]
    for name in ("p.csv", "q.csv"):
        Path(name).write_text("".join(lines))
    done = ran("compare 'mim:top=1 knn' 'mim:top=2 knn' on p.csv q.csv")
    assert done.code == 4 and done.err.count("  label = 2\n") == 2
    assert ran("chain mim on p.csv").err.count("--label 2\n") == 1


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("anova-f:top=5", {"`anova-f:top=1 knn`: ": 1, "`anova-f:top=5`: ": 5}),
        ("mim", {"`anova-f:top=1 knn`: ": 1}),
        # Both chains for one reason.
        ("'anova-f:top=1 margin'", {"": 1}),
    ],
)
def test_compare_names_the_table_and_the_chain_that_a_method_of_a_plugin_refuses(
    folder, monkeypatch, other, told
):
    def refuse(self, data):
        if data.name == "other":
            yield f"top={self.top} needs two classes"

    monkeypatch.setattr(selectors["anova-f"], "check_request", refuse)
    done = ran(COMPARE.replace("anova-f:top=5", other))
    said = [line.strip().removeprefix("fsframe: ") for line in done.err.splitlines()]
    expected = [f"other: {chain}anova-f: top={n} needs two classes" for chain, n in told.items()]
    assert done.code == 2 and said[-len(told) :] == expected


def test_compare_starts_its_workers_once(folder, monkeypatch):
    started = []
    real = engines.open_engine

    def counted(*words, **options):
        started.append(words)
        return real(*words, **options)

    monkeypatch.setattr(engines, "open_engine", counted)
    here = ran(f"{COMPARE} --json")
    started.clear()
    there = ran(f"{COMPARE} --json --workers 1")
    assert there.code == 0 and started == [(None, 1, None, None)]
    assert there.json["accuracy"] == here.json["accuracy"]


FEW = "npfs:n=3,permutations=4,alpha=0.001"


@pytest.mark.parametrize(
    "line",
    [
        f"evaluate mim {FEW} on toy.csv {TWICE}",
        f"evaluate mim npfs:n=3,alpha=0.001,permutations={{4,5}} on toy.csv {TWICE}",
        f"stability mim {FEW} on toy.csv --n 4 -q",
        f"compare mim 'mim {FEW}' on toy.csv other.csv {TWICE}",
        f"chain mim:top=3 {FEW},base=mim on toy.csv -q",
        f"chain mim:top=3 'ensemble:base=(mim {FEW})' on toy.csv -q",
    ],
)
def test_what_a_stage_inside_cannot_meet_is_refused_before_any_work(folder, monkeypatch, line):
    def selects(self, *_, **__):
        raise AssertionError(f"{type(self).__name__} was run")

    before = sorted(path.name for path in folder.iterdir())
    for method in ("select", "select_many"):
        monkeypatch.setattr(fsframe.Selector, method, selects)
    done = ran(line)
    assert done.code == 2 and not done.out
    assert "with 4 permutations of 5 features no p-value can be as small as 0.001" in done.err
    assert "permutations=199 or more" in done.err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_base_after_a_stage_is_refused_only_if_no_number_of_columns_would_do(folder):
    # 33 permutations are too few for the 0.03 of five columns, but not for that of two.
    text = "npfs:n=3,base=mim:top=1,permutations=33,alpha=0.03,correction=bonferroni"
    ran(f"chain mim:top=2 {text} on toy.csv -q --no-out", code=0)
    assert "permutations=34 or more" in ran(f"chain {text} on toy.csv -q --no-out", code=2).err


def test_metrics_of_a_stability_study_take_parameters(folder):
    settings = ["canberra:depth=1", "canberra", "canberra:depth=2,best=smallest", "davis:penalty=2"]
    asked = " ".join(f"--metric {each}" for each in settings)
    ran(f"stability mim:top=2 on toy.csv {asked} --n 5 -o s.h5", code=0)
    record = load_run("s.h5")
    assert list(record.values) == settings and len(set(record.values.values())) == 4
    tables = record.stages[-1].selection.tables
    kept = stability_metrics["davis"](penalty=2.0)(tables["kept"])
    assert kept.value == record.values[settings[3]] == tables[f"stability-{settings[3]}"]
    assert all(each in ran("show s.h5").out for each in settings)
    for command in ("audit s.h5", "report s.h5", "plot stability s.h5 -o s.svg"):
        assert ran(command).code == 0, command
    assert fsframe.stability("mim:top=2", "toy.csv", metric=settings, n=5).values == record.values
    for wrong, said in (
        ("--metric canberra:dept=2", "no parameter 'dept'. Did you mean `depth`"),
        ("--metric canberra:depth=2 --metric canberra:depth=2", "canberra:depth=2 is given twice"),
    ):
        assert said in ran(f"stability mim on toy.csv {wrong}", code=2).err


def test_a_metric_with_its_provider_is_stored_shown_and_continued(folder, monkeypatch):
    [offer] = stability_metrics.matching("lustgarten")
    metric = f"{offer.provider}/lustgarten"
    line = f"stability mim:top=2 on toy.csv --metric {metric} --n 5 -o s.h5"
    plain = fsframe.stability("mim:top=2", "toy.csv", metric="lustgarten", n=5)

    def full(*_, **__):
        raise fsframe.errors.StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("fsframe.chains.request.write_run", full)
        ran(line, code=5)
    assert metric in ran("resume s.h5", code=0).out
    assert load_run("s.h5").values == {metric: plain.values["lustgarten"]}
    for command in ("show s.h5", "audit s.h5", "verify s.h5", line):
        ran(command, code=0)
    # A measure of evaluate likewise.
    ran(f"evaluate mim:top=2 on toy.csv --metric protocols/auc {TWICE}", code=0)


ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "docs/evaluation.md",
    "docs/methods/cross-validation.md",
    "docs/methods/stability.md",
    "docs/methods/sklearn.md",
]
COMMANDS = [
    (page, line)
    for page in PAGES
    for block in re.findall(r"<!-- run -->\n```sh\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    for line in block.strip().splitlines()
]


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_commands_on_the_pages_run(page, line, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    line = re.sub(r"(?<= )examples/", f"{ROOT}/examples/", line.removeprefix("fsframe "))
    if line.startswith(("evaluate", "stability")) and "--no-out" not in line:
        line += " --no-out"
    done = ran(f"{line} -q", code=0)
    assert done.out


def test_the_python_on_the_page_runs(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs/evaluation.md").read_text()
    (block,) = re.findall(r"<!-- run -->\n```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "docs/evaluation.md", "exec"), {})
    assert re.fullmatch(r"0\.\d{3} ± 0\.\d{3}, φ = 0\.\d\d\n", capsys.readouterr().out)


def test_every_page_shows_a_command_and_the_factor_is_that_of_the_formula():
    assert {page for page, _ in COMMANDS} == set(PAGES)
    corrected, naive = (1 / 100 + 1 / 9) ** 0.5, (1 / 100) ** 0.5
    assert f"{corrected / naive:.1f}" in (ROOT / "docs/evaluation.md").read_text()
