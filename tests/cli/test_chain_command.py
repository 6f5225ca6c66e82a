"""`fsframe chain STAGES on DATA`: spellings, options, output, exit codes."""

from __future__ import annotations

import gzip
import json
from fnmatch import fnmatch
from pathlib import Path

import click
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.cli.running import Reporter
from fsframe.text import remark

from .conftest import Call, names_and_rows, write_rows


def test_both_spellings_are_the_same_chain_and_the_same_result(call: Call) -> None:
    after = "--permutations 5 on small --no-out --json"
    options = call(f"chain mim --top 4 npfs --n 10 --alpha 0.2 {after}")
    compact = call(f"chain mim:top=4 npfs:n=10,alpha=0.2 {after}")
    mixed = call(f"chain mim:top=4 npfs:n=10 --alpha 0.2 {after}")
    assert options.code == compact.code == mixed.code == 0
    assert options.json["chain"] == "mim:top=4 npfs:n=10,alpha=0.2,permutations=5"
    assert options.json["digests"] == compact.json["digests"] == mixed.json["digests"]


def test_a_flag_has_two_spellings_too(call: Call) -> None:
    for text in ("immigrate --no-line-search", "immigrate:line-search=no"):
        assert call(f"chain {text} --dry-run").out == "immigrate:line_search=false\n"
    assert call("chain immigrate --line-search --dry-run").out == "immigrate\n"


@pytest.mark.parametrize(
    "stages",
    [
        ["mim", "--top", "10%", "npfs"],
        ["immigrate", "--sigma", "cv", "--max-iter", "3", "--top", "2"],
        ["npfs", "--base", "mim"],
        ["npfs", "--base", "(mim:top=3 relieff:k=2)", "--n", "5"],
        ["npfs", "--base", "mim:top=3 relieff:k=2", "--n", "5"],
        ["npfs:base=(mim:top=3 relieff:k=2),n=5", "mim"],
        ["margin/immigrate", "relief/relieff:k=3", "margin/margin"],
    ],
)
@pytest.mark.parametrize("place", ["{} --dry-run", "--dry-run {}", "{} on nowhere --dry-run"])
def test_dry_run_prints_canonical_text_that_reads_back(
    call: Call, stages: list[str], place: str
) -> None:
    before, after = place.split("{}")
    done = call("chain", *before.split(), *stages, *after.split())
    assert (done.code, done.err) == (0, "")
    text = done.out.rstrip("\n")
    assert str(Chain.parse(text)) == text


def test_json_is_one_object_with_the_promised_keys(call: Call, here: Path) -> None:
    done = call("chain immigrate --top 3 on small --json", code=0)
    said = json.loads(done.out)
    assert done.out.count("\n") == 1
    assert said["chain"] == "immigrate:top=3"
    assert said["run_file"] == "small.immigrate_top=3.h5"
    assert (here / "small.immigrate_top=3.h5").is_file()
    assert said["selected"][0] == "gene-b" and len(said["selected"]) == 3
    assert set(said["scores"]) == {"gene-a", "gene-b", "größe", "x y", "last"}
    assert all(isinstance(score, float) for score in said["scores"].values())
    assert said["warnings"] == []
    assert said["pairs"] and all(len(pair) == 3 for pair in said["pairs"])
    weights = [weight for _, _, weight in said["pairs"]]
    assert weights == sorted(weights, reverse=True)
    assert said["data"]["classes"] == ["ill", "well"]
    assert said["stages"][0]["params"]["sigma"] == 1.0


def test_a_column_that_was_not_considered_has_a_score_of_null(call: Call) -> None:
    said = call("chain mim:top=2 relieff on small --no-out --json").json
    assert said["run_file"] is None
    assert sum(score is None for score in said["scores"].values()) == 3


def test_results_go_to_stdout_and_talk_to_stderr(call: Call, here: Path) -> None:
    names, rows = names_and_rows(here)
    write_rows(here / "flat.csv", [["flat", *names], *([7, *row] for row in rows)])
    done = call("chain mim on flat", code=0)
    # What was noticed in the table stands with the result, once.
    said = [line for line in done.out.splitlines() if line.startswith("warning: ")]
    assert any("flat" in line for line in said) and "flat" not in done.err
    assert done.out.splitlines()[-1] == "run file: flat.mim.h5"
    quiet = call("chain immigrate on flat --no-out --quiet --json --threads 2 --memory 1.5GiB")
    assert quiet.err == "" and quiet.json["run_file"] is None
    assert any("flat" in warning for warning in quiet.json["warnings"])
    assert "flat" not in quiet.json["selected"]


def test_a_run_file_in_the_way_is_left_unless_told_otherwise(call: Call, here: Path) -> None:
    call("chain mim on small", code=0)
    before = (here / "small.mim.h5").read_bytes()
    done = call("chain mim on small --seed 1", code=5)
    assert "small.mim.h5" in done.err and "--overwrite" in done.err
    assert (here / "small.mim.h5").read_bytes() == before
    call("chain mim on small --seed 1 --overwrite", code=0)
    assert (here / "small.mim.h5").read_bytes() != before
    assert call("chain mim on small -o other.h5").out.splitlines()[-1] == "run file: other.h5"


def test_no_command_on_a_run_file_is_named_without_one(call: Call, here: Path) -> None:
    columns = np.random.default_rng(0).integers(0, 3, (40, 40))
    rows = [[*row, "ab"[int(row[0] > 0)]] for row in columns]
    write_rows(here / "wide.csv", [[*(f"f{k}" for k in range(40)), "label"], *rows])
    filed = call("chain interactions:top=35 on wide.csv -o r.h5").out
    assert "`fsframe table RUN --pairs` has all" in filed and "`fsframe table` has all" in filed
    unfiled = call("chain interactions:top=35 on wide.csv --no-out").out
    assert "… and " in unfiled and "fsframe table" not in unfiled


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("chain infotheory/mim --top 1 knn:k=3 on small", "small.mim_top=1-knn_k=3.h5"),
        ("chain infotheory/mim --top 2 knn:k=3 on small", "small.mim_top=2-knn_k=3.h5"),
        ("chain mim on small", "small.mim.h5"),
        ("chain infotheory/mim:top=1 on sub/packed", "sub/packed.mim_top=1.h5"),
        ("stability mim:top=1 on small --n 3", "small.stability_n=3-mim_top=1.h5"),
        (
            "evaluate mim:top={1,2} knn on small --folds 2 --repeats 1 --no-all-features",
            "small.evaluate_folds=2_repeats=1_all-features=no-mim_top=1,2-knn-????????.h5",
        ),
        ("chain mim:top=1 " + "mim " * 40 + "on small", "small.mim_top=1-mim-mim-*.h5"),
    ],
)
def test_the_run_file_lies_beside_the_table_and_its_name_tells_parameters(
    call: Call, here: Path, command: str, name: str
) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "packed.csv.gz").write_bytes(gzip.compress((here / "small.csv").read_bytes()))
    done = call(command, code=0)
    result = done.out.splitlines()[-1].removeprefix("run file: ")
    assert fnmatch(result, name) and len(result) < 130 and (here / result).is_file()


def test_two_very_long_chains_have_two_file_names(call: Call) -> None:
    chains = ("chain mim:top=1 " + "mim " * times + "on small --json" for times in (40, 41))
    assert len({call(chain).json["run_file"] for chain in chains}) == 2


# Requests that make no sense


@pytest.mark.parametrize(
    ("line", "code", "complaint"),
    [
        # tests/front_door/transcripts has names, tables and labels that are nearly right.
        ("chain immigrate", 2, "name the table to run on: fsframe chain immigrate on DATA"),
        ("chain on small", 2, "name at least one stage before `on`"),
        ("chain mim on small relieff", 2, "unexpected extra argument (relieff)"),
        ("chain npfs on small", 2, "npfs resamples another selector: put one on its left"),
        ("chain margin mim on small", 2, "margin is a classifier"),
        ("chain mim:top=0 relieff:k=0 on small", 2, "k must be a whole number ≥ 1"),
        ("chain mim --tops 3 on small", 2, "No such option"),
        ("chain mim --bin 3 on small", 2, "--bins"),
        ("chain mim on small --covariates a", 2, "'--covariates'. Did you mean '--adjust'?"),
        ("chain mim on small --lable a", 2, "'--lable'. Did you mean '--label'?"),
        ("audit small.h5 --share", 2, "No such option '--share'.\n"),
        ("chain mim --seed 3 on small", 2,
         "--seed is not a parameter of mim; put it at the end: … on DATA --seed"),
        ("chain variance mim on small --bins 5", 2,
         "--bins is a parameter of mim; put it after the stage: mim --bins … on DATA"),
        ("evaluate mim --folds 5 on small", 2, "on DATA --folds"),
        ("chain mim:top=4 --top 5 on small", 2,
         "top is given both after the colon and as an option; give it once"),
        ("chain cox-score on small.csv --events died", 2, "Did you mean '--event'?"),
        *((f"chain mim on small --memory={size}", 2,
           "is not a size of at least 16 MiB, such as 500MB or 2GB")
          for size in ("0", "-1GB", "lots", "3XB", "1MB", "1.2.3GB")),
        ("chain mim: on small", 2, "nothing follows the colon"),
        ("chain mim on", 2, "Missing argument 'DATA'"),
        ("chain mim on small --seed -1", 2, "--seed"),
        ("chain mim on small --threads 0", 2, "--threads"),
        ("chain mim on nowhere/small", 4, "nowhere"),
        ("chain mim on small --label 9", 4, "no column number 9 "),
        ("chain mim on small --label -9", 4, "no column -9;"),
        ("chain mim on small -o nowhere/run.h5", 5, "nowhere"),
        ("chain mim on small --no-out -o x.h5", 2, "--no-out contradict each other"),
        (f"chain mim on {'x' * 300}", 5, "File name too long"),
        (f"chain mim on small -o {'x' * 300}.h5", 5, "File name too long"),
        ("check npfs:n", 2, "is not of the form key=value"),
        ("check mim relieff", 2, "unexpected extra argument"),
        ("check mim:bins=0", 2, "bins must be"),
        ("nonsense", 2, "there is no command 'nonsense'"),
        ("mim:top=2 on small.csv", 2, "fsframe chain mim:top=2 … on DATA"),
        ("run mim on small.csv", 2, "fsframe chain STAGE … on DATA"),
        ("plot small.csv", 2, "name the plot before it: fsframe plot scores small.csv"),
        ("chian mim on small", 2, "Did you mean `chain`?"),
        ("methods nonsense", 2,
         "there is no selector, classifier, regressor, stability metric or measure"),
    ],
)  # fmt: skip
def test_a_request_that_makes_no_sense_ends_with_its_code_and_one_message(
    call: Call, line: str, code: int, complaint: str
) -> None:
    done = call(line)
    assert done.code == code
    assert complaint in done.err
    assert done.out == ""


def test_a_file_with_a_dash_first_is_not_taken_for_an_option_in_silence(call: Call) -> None:
    Path("-small.csv").write_text("a,b,class\n1,2,x\n2,1,y\n1,3,x\n2,4,y\n")
    assert "write ./-small.csv" in call("chain mim on -small.csv", code=2).err
    call("chain mim on ./-small.csv --no-out", code=0)


@pytest.mark.parametrize("stage", ["immigrate", "immigrate:sigma=2"])
def test_help_of_a_stage_shows_default_range_symbol_and_source(call: Call, stage: str) -> None:
    text = " ".join(call(f"chain {stage} --help").out.split())
    assert "[a number > 0 or cv; default 1.0; in the paper: σ," in text
    assert "--line-search / --no-line-search" in text
    assert "--top VALUE" in text
    assert "Provided by margin " in text


def test_help_of_the_chain_lists_families_and_what_ends_it(call: Call) -> None:
    text = call("chain --help").out
    stages = ("margin ", "relief", "immigrate", "Classifiers and regressors, to end a chain")
    # What the table is read with, too; two screens.
    options = ("--label", "--groups", "--na", "--decimal", "--memory", "--workers")
    assert [part for part in (*stages, "on DATA", *options) if part not in text] == []
    assert len(text.splitlines()) <= 100


def test_show_and_verify_read_what_chain_left(call: Call) -> None:
    made = call("chain immigrate npfs --n 10 --permutations 5 --alpha 0.2 on small --json").json
    run = "small.immigrate-npfs_n=10_alpha=0.2_permutations=5.h5"
    assert made["run_file"] == run
    shown = call(f"show {run} --json").json
    for key in ("chain", "selected", "scores", "pairs", "warnings", "digests", "seed"):
        assert shown[key] == made[key]
    people = call(f"show {run}").out
    for part in ("immigrate npfs", "gene-b", "seed 0", f"run file: {run}"):
        assert part in people
    rows = [line.split() for line in people.splitlines()]
    (header,) = [row for row in rows if row[:2] == ["rank", "feature"]]
    assert header == ["rank", "feature", "score", "p", "q", "immigrate", "score"]
    assert rows[rows.index(header) + 1][:2] == ["1", "gene-b"], "the best first"
    verified = call(f"verify {run}")
    assert verified.code == 0 and "sound" in verified.out
    assert all(digest in verified.out for digest in made["digests"].values())


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ("mim:top=3 npfs:base=jmm", ("npfs: base=jmm", "Did you mean")),
        ("mim:tpo=3 npsf", ("no parameter 'tpo'", "Did you mean `npfs`?")),
        ("npfs:base=(mim:tip=3) npfs:base=(mim npfs:base=jmm)", ("tip", "jmm")),
        ("npfs:base=knn", ("a classifier",)),
    ],
)
def test_a_nested_chain_is_read_with_the_chain(call: Call, chain: str, words: tuple) -> None:
    done = call("chain", *chain.split(" ") if "(" not in chain else [chain], "--dry-run", code=2)
    assert all(word in done.err for word in words), done.err


def test_what_a_later_stage_refuses_is_refused_before_the_first(call: Call, here: Path) -> None:
    before = set(here.iterdir())
    done = call("chain mim:top=4 npfs:n=10,permutations=4 on small")
    assert done.code == 2 and "use permutations=" in done.err
    assert "mim: kept" not in done.out + done.err
    assert set(here.iterdir()) == before
    # nothing stands in the way of the corrected command
    call("chain mim:top=4 npfs:n=10,permutations=100 on small", code=0)


def test_an_infinite_score_is_reported_by_chain_show_and_report(call: Call, here: Path) -> None:
    rows = [[i % 2, i * i % 7, "ab"[i % 2]] for i in range(20)]
    write_rows(here / "apart.csv", [["apart", "noise", "state"], *rows])
    commands = "chain anova-f:top=1 on apart.csv -o run.h5", "show run.h5", "show run.h5 --json"
    for command in (*commands, "report run.h5 -o report.html"):
        done = call(command, code=0)
        if command in commands[:2]:
            assert "∞" in done.out
    assert "∞" in (here / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["chain", "evaluate", "stability"])
def test_on_inside_the_quotes_of_a_chain_is_refused(call: Call, command: str) -> None:
    assert "outside the quotes" in call(command, "mim on small", "--dry-run", code=2).err


def test_quiet_hides_remarks_while_the_command_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with click.Context(click.Command("chain")):
        Reporter({"quiet": True, "progress": None})
        remark("compiling numerical kernels")
        assert not capsys.readouterr().err
    remark("compiling numerical kernels")
    assert "compiling" in capsys.readouterr().err
