"""``evaluate``, ``stability`` and ``compare`` as a user runs them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import attrs
import numpy as np
import pytest

import fsframe
from fsframe.cli import main
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.summary import summarise
from fsframe.storage import load_run, write_run

PARKINSONS = Path(__file__).resolve().parents[2] / "examples" / "parkinsons.csv"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table of three informative columns, and one whose groups are text."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    y = np.arange(48) % 2
    X = generator.standard_normal((48, 5))
    X[:, :3] += 1.5 * y[:, None]
    for name, seed in (("toy", 0), ("other", 1)):
        noise = np.random.default_rng(seed).standard_normal(X.shape) * 0.5
        rows = [",".join(map(repr, row)) for row in (X + noise).tolist()]
        lines = ["a,b,c,d,e,class", *(f"{r},{c}" for r, c in zip(rows, y, strict=True))]
        Path(f"{name}.csv").write_text("\n".join(lines) + "\n")
    lines = ["a,b,who,class", *(f"{X[i, 0]},{X[i, 1]},p{i // 4},{y[i]}" for i in range(48))]
    Path("grouped.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def ran(capsys, *words):
    """Exit code, standard output and standard error of a command."""
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    said = capsys.readouterr()
    return caught.value.code, said.out, said.err


QUICK = ("--folds", "4", "--repeats", "2", "-q")


def test_evaluate_tells_what_the_library_measures(folder, capsys):
    code, out, _ = ran(
        capsys, "evaluate", "mim:top=2", "knn", "on", "toy.csv", *QUICK, "--json", "--seed", "3"
    )
    found = json.loads(out)
    method = CrossValidation(base="mim:top=2 knn", folds=4, repeats=2)
    record = fsframe.load_run(folder / "toy.evaluate_folds=4_repeats=2-mim_top=2-knn.h5")
    said = summarise(record.stages[-1].selection)
    assert code == 0 and found["n_splits"] == 8 and found["kept"] == [2] * 8
    assert found["measures"]["accuracy"]["mean"] == said.measures["accuracy"].mean
    assert found["measures"]["accuracy"]["values"] == said.measures["accuracy"].values.tolist()
    assert found["stability"]["value"] == said.stability.value
    assert found["run_file"].endswith("toy.evaluate_folds=4_repeats=2-mim_top=2-knn.h5")
    assert str(method.base) == found["evaluated"] and found["seed"] == 3


def test_evaluate_prints_every_measure_and_where_the_file_is(folder, capsys):
    code, out, err = ran(capsys, "evaluate", "mim:top=2", "margin", "on", "toy.csv", *QUICK)
    assert code == 0 and err == ""
    for word in ("accuracy", "balanced-accuracy", "auc", "log-loss", "stability φ", "seconds"):
        assert word in out
    assert "the classifier gives no probabilities" in out
    assert out.splitlines()[-1].startswith("run file: ")


def test_evaluate_writes_one_line_per_split(folder, capsys):
    code, _, _ = ran(
        capsys, "evaluate", "mim:top=2", "knn", "on", "toy.csv", *QUICK, "--csv", "splits.csv"
    )
    rows = list(csv.DictReader(io.StringIO(Path("splits.csv").read_text())))
    assert code == 0 and len(rows) == 8
    assert {"split", "features_kept", "accuracy", "auc", "log-loss"} <= rows[0].keys()
    said = summarise(
        fsframe.load_run("toy.evaluate_folds=4_repeats=2-mim_top=2-knn.h5").stages[-1].selection
    )
    assert [float(row["accuracy"]) for row in rows] == said.measures["accuracy"].values.tolist()


def test_a_finished_evaluation_is_resumed_to_a_table_of_its_folds(folder, capsys):
    words = ("evaluate", "mim:top=2", "knn", "on", "toy.csv", *QUICK)
    ran(capsys, *words, "-o", "run.h5", "--csv", "splits.csv")
    assert ran(capsys, "resume", "run.h5", "--csv", "again.csv")[0] == 0
    assert Path("again.csv").read_bytes() == Path("splits.csv").read_bytes()
    code, _, err = ran(capsys, "resume", "run.h5", "--csv", "again.csv")
    assert code == 5 and "again.csv already exists" in err


def test_evaluate_tunes_and_marks_the_curve(folder, capsys):
    words = ("evaluate", "anova-f:top={1,3}", "knn", "on", "toy.csv", *QUICK, "--curve", "auto")
    code, out, _ = ran(capsys, *words)
    assert code == 0 and "Chosen inside the folds:" in out
    assert "smallest within ± of the best" in out
    assert all(
        len(line) <= 80 for line in out.splitlines() if not line.startswith(("warning", "run file"))
    )


def test_evaluate_uses_weighted_knn_where_no_classifier_is_named(folder, capsys):
    outs = [
        json.loads(
            ran(capsys, "evaluate", *chain, "on", "toy.csv", *QUICK, "--no-out", "--json")[1]
        )
        for chain in (("mim:top=2",), ("mim:top=2", "weighted-knn"))
    ]
    assert outs[0]["measures"] == outs[1]["measures"]


def test_evaluate_takes_a_scikit_learn_estimator_by_its_path(folder, capsys):
    path = "sklearn.tree.DecisionTreeClassifier"
    words = ("evaluate", "mim:top=2", "on", "toy.csv", *QUICK, "--no-out", "--json")
    code, out, _ = ran(capsys, *words, "--classifier", path)
    _, as_stage, _ = ran(capsys, *words, "--classifier", f"sklearn:estimator={path}")
    assert code == 0
    assert json.loads(out)["measures"] == json.loads(as_stage)["measures"]


def test_groups_may_be_text(folder, capsys):
    words = ("evaluate", "anova-f", "knn", "on", "grouped.csv", *QUICK, "--groups", "who")
    code, _, _ = ran(capsys, *words)
    assert code == 0
    record = fsframe.load_run("grouped.evaluate_folds=4_repeats=2-anova-f-knn.h5")
    fold = record.stages[-1].selection.tables["fold"]
    assert all(np.unique(fold[r][4 * g : 4 * g + 4]).size == 1 for r in range(2) for g in range(12))
    assert "who" not in record.feature_names
    assert record.environment["groups"]["number"] == 12
    assert record.environment["reading"]["groups"] == "who"


def test_dry_run_prints_a_chain_that_reads_back(folder, capsys):
    words = ("evaluate", "immigrate:sigma={2,1}", "margin", "on", "toy.csv", "--dry-run")
    code, out, _ = ran(capsys, *words, "--folds", "3")
    chain = fsframe.Chain.parse(out.strip())
    assert code == 0 and chain.stages[0].method.folds == 3
    assert chain.stages[0].method.base == "immigrate:sigma={2,1} margin"
    assert not list(folder.glob("*.h5"))


def test_workers_change_no_bit_of_an_evaluation(folder, capsys):
    words = ("evaluate", "simba", "knn", "on", "toy.csv", *QUICK, "--json")
    _, here, _ = ran(capsys, *words, "-o", "here.h5")
    _, there, _ = ran(capsys, *words, "-o", "there.h5", "--workers", "2")
    assert json.loads(here)["measures"] == json.loads(there)["measures"]
    a, b = (fsframe.load_run(name).stages[-1].selection.tables for name in ("here.h5", "there.h5"))
    assert all(a[key].tobytes() == b[key].tobytes() for key in a)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("evaluate", "mim", "on", "toy.csv", "--folds", "1"), 2, "folds"),
        (("evaluate", "mim:top={0,none}", "knn:k=0", "on", "toy.csv"), 2, "k must be"),
        (("evaluate", "mim", "on", "toy.csv", "--classifier", "mim"), 2, "not a classifier"),
        (("evaluate", "mim", "on", "toy.csv", "--classifier", "sklearn.no.Such"), 2, "sklearn.no"),
        (("evaluate", "mim", "on", "toy.csv", "--folds", "30"), 4, "fewer members"),
        (("evaluate", "mim", "on", "toy.csv", "--groups", "nobody"), 4, "nobody"),
        (("evaluate", "mim"), 2, "on DATA"),
        (("stability", "mim:top=5", "on", "toy.csv"), 4, "not defined for sets of 5 of 5"),
        (("stability", "mim", "on", "toy.csv", "--metric", "nonsense"), 2, "nonsense"),
        (("stability", "mim:top={1,2}", "on", "toy.csv"), 2, "sets of values"),
        (("compare", "mim", "on", "toy.csv"), 2, "at least two"),
        (("compare", "mim knn", "relieff", "toy.csv"), 2, "name the tables"),
        (("compare", "mim", "relieff", "on"), 2, "at least one table"),
        (("compare", "mim:top=0", "relief:top=0", "on", "toy.csv"), 2, "relief"),
        (("compare", "mim", "relieff", "on", "toy.csv", "toy.csv"), 2, "different names"),
    ],
)
def test_wrong_requests_end_with_their_code_and_leave_nothing(folder, capsys, words, code, said):
    found, out, err = ran(capsys, *words)
    assert (found, out) == (code, "") and said in err
    assert not list(folder.glob("*.h5*"))


def test_stability_reports_sizes_in_one_pass(folder, capsys):
    words = (
        "stability",
        "anova-f:top=2",
        "on",
        "toy.csv",
        "--metric",
        "kuncheva",
        "--n",
        "6",
        "-q",
    )
    code, out, _ = ran(capsys, *words, "--json")
    found = json.loads(out)["stability"]["kuncheva"]
    assert code == 0 and len(found["by_size"]) == 5
    assert found["value"] == found["by_size"][1] and found["by_size"][4] is None
    code, out, _ = ran(capsys, *words, "--no-out")
    assert code == 0 and "The best k features" in out and "kuncheva" in out


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "mim:top={1,2}", "knn", "on", "toy.csv", *QUICK, "--curve", "[1,3]"),
        ("evaluate", "mim:top=2", "margin", "on", "grouped.csv", *QUICK, "--groups", "who"),
        ("stability", "mim:top=2", "on", "toy.csv", "--n", "4", "-q", "--metric", "jaccard"),
    ],
)
def test_show_and_resume_tell_of_a_protocols_file_what_its_command_told(folder, capsys, words):
    _, told, _ = ran(capsys, *words, "-o", "run.h5")
    assert ran(capsys, "resume", "run.h5", "-q") == (0, told, "")
    code, shown, _ = ran(capsys, "show", "run.h5")
    assert code == 0 and shown.endswith(told)
    _, told, _ = ran(capsys, *words, "-o", "run.h5", "--overwrite", "--json")
    assert json.loads(ran(capsys, "resume", "run.h5", "--json")[1]) == json.loads(told)
    found = json.loads(ran(capsys, "show", "run.h5", "--json")[1])
    assert found == found | json.loads(told)


def test_a_protocol_whose_base_is_not_here_is_still_shown(folder, capsys, monkeypatch):
    ran(capsys, "evaluate", "mim:top=2", "knn", "on", "toy.csv", *QUICK, "-o", "run.h5")

    def missing(*_, **__):
        raise fsframe.errors.PluginError("not here")

    monkeypatch.setattr("fsframe.evaluation.grid.ChainGrid.parse", missing)
    code, shown, _ = ran(capsys, "show", "run.h5")
    assert code == 0 and "balanced-accuracy" in shown


def test_an_interrupted_evaluation_continues_with_the_same_bits(folder, capsys, monkeypatch):
    from fsframe.evaluation.folds import FoldTask

    words = ("evaluate", "simba", "knn", "on", "toy.csv", *QUICK, "--csv", "c.csv", "-o", "run.h5")
    _, whole, _ = ran(capsys, *words[:-3], "whole.csv", "-o", "whole.h5")
    computed = []
    select = FoldTask.select

    def counted(self, *arguments, **options):
        computed.append(1)
        if len(computed) == 6:
            raise fsframe.errors.DataError("the power fails")
        return select(self, *arguments, **options)

    monkeypatch.setattr(FoldTask, "select", counted)
    code, _, err = ran(capsys, *words)
    assert code == 4 and "power" in err and not Path("run.h5").exists()
    assert Path("run.h5.units").is_dir()
    before = len(computed)
    code, out, _ = ran(capsys, "resume", "run.h5", "-q")

    def timeless(text):
        return [line for line in text.splitlines() if not line.startswith(("seconds", "run file"))]

    assert code == 0 and timeless(out) == timeless(whole)
    one, other = (Path(name).read_text().splitlines() for name in ("c.csv", "whole.csv"))
    assert one == other and len(one) == 9
    # Eight folds in all: those that were kept have not been computed again.
    assert len(computed) - before < 8
    a, b = (fsframe.load_run(n).stages[-1].selection.tables for n in ("run.h5", "whole.h5"))
    assert all(a[key].tobytes() == b[key].tobytes() for key in a)


def test_the_table_of_folds_can_be_had_later(folder, capsys):
    words = ("evaluate", "mim:top=2", "knn", "on", "toy.csv", *QUICK, "--csv", "a.csv")
    ran(capsys, *words, "-o", "run.h5")
    assert ran(capsys, "show", "run.h5", "--csv", "b.csv")[0] == 0
    assert Path("b.csv").read_text() == Path("a.csv").read_text()
    code, _, err = ran(capsys, "show", "run.h5", "--csv", "b.csv")
    assert code == 5 and "b.csv" in err and "overwrite" in err
    assert ran(capsys, "show", "run.h5", "--csv", "b.csv", "--overwrite")[0] == 0
    ran(capsys, "chain", "mim:top=2", "on", "toy.csv", "-q", "-o", "chain.h5")
    code, _, err = ran(capsys, "show", "chain.h5", "--csv", "d.csv")
    assert code == 2 and "evaluation" in err and not Path("d.csv").exists()


def test_resume_does_not_begin_what_it_could_not_write(folder, capsys, monkeypatch):
    from fsframe.evaluation.folds import FoldTask

    words = ("evaluate", "simba", "knn", "on", "toy.csv", *QUICK, "--csv", "c.csv", "-o", "run.h5")
    select, calls = FoldTask.select, []

    def fails_late(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 6:
            raise fsframe.errors.DataError("the power fails")
        return select(self, *arguments, **options)

    with monkeypatch.context() as broken:
        broken.setattr(FoldTask, "select", fails_late)
        ran(capsys, *words)
    assert Path("run.h5.units/manifest").exists()
    Path("c.csv").write_text("mine")
    code, _, err = ran(capsys, "resume", "run.h5", "-q")
    assert code == 5 and "c.csv" in err and not Path("run.h5").exists()
    assert Path("c.csv").read_text() == "mine"


COMPARE = ("compare", "anova-f:top=1 knn", "anova-f:top=5", "on", "toy.csv", "other.csv", *QUICK)


def test_compare_writes_what_it_prints(folder, capsys):
    code, out, _ = ran(capsys, *COMPARE, "--out", "cmp", "--json", "--csv", "table.csv")
    found = json.loads(out)
    assert code == 0 and np.array(found["accuracy"]).shape == (2, 2)
    assert {p["data"] for p in found["pairs"]} == {"toy", "other"}
    rows = list(csv.DictReader(io.StringIO(Path("table.csv").read_text())))
    assert [float(r["accuracy"]) for r in rows if r["accuracy"]] == np.ravel(
        found["accuracy"]
    ).tolist()
    assert rows[0]["chain"] == "anova-f:top=1 knn"
    assert Path("cmp/results.csv").read_text() == Path("table.csv").read_text()
    # Two chains and their two classifiers alone on two tables.
    assert len(list(Path("cmp").glob("*.h5"))) == 8


def test_compare_called_again_computes_nothing_and_says_the_same(folder, capsys, monkeypatch):
    _, first, _ = ran(capsys, *COMPARE, "--out", "cmp", "--json")

    def fail(*_, **__):
        raise AssertionError("computed again")

    monkeypatch.setattr("fsframe.cli.commands.comparisons.run_request", fail)
    code, again, _ = ran(capsys, *COMPARE, "--out", "cmp", "--json")
    assert code == 0 and json.loads(again) == json.loads(first)
    code, _, err = ran(capsys, "resume", "cmp")
    assert code == 5 and "repeat that compare command" in err


def test_compare_refuses_a_folder_of_another_protocol(folder, capsys):
    ran(capsys, *COMPARE, "--out", "cmp")
    code, _, err = ran(capsys, *COMPARE, "--out", "cmp", "--seed", "5")
    assert code == 5 and "another request: its seed is 0, not 5" in err
    code, _, err = ran(capsys, *COMPARE, "--out", "cmp", "--memory", "300MB")
    assert code == 5 and "of memory beside the table" in err
    path = sorted(Path("cmp").glob("toy.*.h5"))[0]
    record = load_run(path)
    older = {**record.environment, "fsframe": "0.0"}
    write_run(path, attrs.evolve(record, environment=older), overwrite=True)
    code, _, err = ran(capsys, *COMPARE, "--out", "cmp", "--mixed")
    assert code == 5 and "started with fsframe 0.0" in err


def test_compare_refuses_a_file_in_the_place_of_its_folder(folder, capsys):
    code, _, err = ran(capsys, *COMPARE, "--out", "toy.csv")
    assert code == 5 and "toy.csv: it is not a folder" in err


def test_compare_tells_problems_of_all_tables_before_it_computes(folder, capsys, monkeypatch):
    Path("small.csv").write_text("a,b,class\n1,2,x\n2,1,x\n3,1,y\n1,4,y\n2,2,y\n")
    monkeypatch.setattr(
        "fsframe.cli.commands.comparisons.run_request", lambda *_, **__: pytest.fail("begun")
    )
    Path("alone.csv").write_text("a,b,class\n1,2,x\n2,1,x\n3,1,y\n1,4,y\n2,2,z\n")
    place = COMPARE.index("other.csv")
    words = [*COMPARE[:place], "small.csv", "alone.csv", *COMPARE[place:]]
    code, _, err = ran(capsys, *words)
    assert code == 4 and "small: classes with fewer members" in err
    # What cannot even be read is told with the rest.
    assert "alone.csv: classes with a single member" in err and "other.csv" not in err


def test_compare_starts_its_workers_once(folder, capsys, monkeypatch):
    from fsframe.execution import engine as engines

    started = []
    real = engines.open_engine

    def counted(*words, **options):
        started.append(words)
        return real(*words, **options)

    monkeypatch.setattr(engines, "open_engine", counted)
    _, here, _ = ran(capsys, *COMPARE, "--json")
    started.clear()
    code, there, _ = ran(capsys, *COMPARE, "--json", "--workers", "2")
    assert code == 0 and started == [(None, 2, None, None)]
    assert json.loads(there)["accuracy"] == json.loads(here)["accuracy"]


def test_compare_takes_groups(folder, capsys):
    code, out, _ = ran(
        capsys, "compare", "anova-f knn", "knn", "on", "grouped.csv", *QUICK, "--groups", "who"
    )
    assert code == 0 and "grouped" in out and "corrected resampled t-test" in out


def test_examples_of_the_help_run(capsys, tmp_path, monkeypatch):
    import shlex

    monkeypatch.chdir(PARKINSONS.parents[1])
    found = 0
    for command in ("evaluate", "stability", "compare"):
        _, help_text, _ = ran(capsys, command, "--help")
        last = () if command == "compare" else ran(capsys, command, "mim", "on", "--help")[1:2]
        lines = "\n".join([help_text, *last]).splitlines()
        for line in lines:
            if line.strip().startswith("fsframe "):
                words = shlex.split(line)[1:]
                small = ["--folds", "2", "--repeats", "1"] if command != "stability" else []
                words = [*words, *small, "-q"]
                if command != "compare":
                    words += ["--no-out"]
                code, out, err = ran(capsys, *words)
                assert code == 0 and out, (line, err)
                found += 1
    assert found >= 5


FEW = "npfs:n=3,permutations=4,alpha=0.001"


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "mim", FEW, "on", "toy.csv", *QUICK),
        ("evaluate", "mim", "npfs:n=3,alpha=0.001,permutations={4,5}", "on", "toy.csv", *QUICK),
        ("evaluate", "mim", f"ensemble:base=(mim {FEW})", "on", "toy.csv", *QUICK),
        ("stability", "mim", FEW, "on", "toy.csv", "--n", "4", "-q"),
        ("compare", "mim", f"mim {FEW}", "on", "toy.csv", "other.csv", *QUICK),
        ("chain", "mim:top=3", f"{FEW},base=mim", "on", "toy.csv", "-q"),
        ("chain", "mim:top=3", f"npfs:base=(mim {FEW})", "on", "toy.csv", "-q"),
        ("chain", "mim:top=3", f"ensemble:base=(mim {FEW})", "on", "toy.csv", "-q"),
    ],
    ids=lambda words: f"{words[0]} {words[2]}",
)
def test_what_a_stage_inside_cannot_meet_is_refused_before_any_work(
    folder, capsys, monkeypatch, words
):
    def selects(self, *_, **__):
        raise AssertionError(f"{type(self).__name__} was run")

    before = sorted(path.name for path in folder.iterdir())
    for method in ("select", "select_many"):
        monkeypatch.setattr(fsframe.Selector, method, selects)
    code, out, err = ran(capsys, *words)
    assert code == 2 and not out
    assert "with 4 permutations of 5 features no p-value can be as small as 0.001" in err
    assert "permutations=199 or more" in err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_base_after_a_stage_is_refused_only_if_no_number_of_columns_would_do(folder, capsys):
    # 33 permutations are too few for the 0.03 of five columns, but not for that of two.
    text = "npfs:n=3,base=mim:top=1,permutations=33,alpha=0.03,correction=bonferroni"
    code, _, err = ran(capsys, "chain", "mim:top=2", text, "on", "toy.csv", "-q", "--no-out")
    assert code == 0, err
    code, _, err = ran(capsys, "chain", text, "on", "toy.csv", "-q", "--no-out")
    assert code == 2 and "permutations=34 or more" in err


def test_a_metric_with_its_provider_is_stored_shown_and_continued(folder, capsys, monkeypatch):
    import fsframe.chains.request as requests
    from fsframe.errors import StoreError
    from fsframe.registry import stability_metrics

    [offer] = stability_metrics.matching("lustgarten")
    metric = f"{offer.provider}/lustgarten"
    words = [
        "stability",
        "mim:top=2",
        "on",
        "toy.csv",
        "--metric",
        metric,
        "--n",
        "5",
        "-o",
        "s.h5",
    ]
    plain = fsframe.stability("mim:top=2", "toy.csv", metric="lustgarten", n=5)

    def full(*_, **__):
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(requests, "write_run", full)
        assert ran(capsys, *words)[0] == 5
    code, out, said = ran(capsys, "resume", "s.h5")
    assert code == 0 and metric in out, said
    assert fsframe.load_run("s.h5").values == {metric: plain.values["lustgarten"]}
    for command in (["show", "s.h5"], ["audit", "s.h5"], ["verify", "s.h5"], words):
        assert ran(capsys, *command)[0] == 0
    # A measure of evaluate likewise.
    again = ["evaluate", "mim:top=2", "on", "toy.csv", "--metric", "protocols/auc", *QUICK]
    assert ran(capsys, *again)[0] == 0
