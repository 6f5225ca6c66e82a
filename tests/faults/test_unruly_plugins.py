"""Stages that exit, raise or move, readers that leave, answers that are there; hostile requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pytest

import fsframe as package
from fsframe.chains.chain import Chain
from fsframe.chains.request import stored_answer
from fsframe.errors import RequestError, StoreError
from fsframe.evaluation.study_plan import read_plan
from fsframe.show.page import report_page
from fsframe.storage import load_run, write_run
from fsframe.table.dataset import Dataset
from tests.command_line import Done, environment
from tests.command_line import fsframe as fsframe_apart
from tests.faults.forks import write_table
from tests.same_process import fsframe as fsframe_here

UNRULY = Path(__file__).with_name("unruly_plugin")
FSFRAME = [sys.executable, "-m", "fsframe"]
AFTER = ["npfs", "--n", "4", "--permutations", "3", "--alpha", "0.2", "on", "table.csv"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(tmp_path / "table.csv", "a,b,c,d,e,f,class")
    return tmp_path


def apart(folder: Path, *words: str, code: int | None = None, **environ: str) -> Done:
    """A command as a process of its own, for what would end or change this one."""
    return fsframe_apart(*words, cwd=folder, fakes=[UNRULY], env=environ, code=code)


@pytest.fixture
def fsframe(folder: Path) -> Callable[..., Done]:
    """A command in this process, with the plugin as if it were installed just now."""

    def run(*words: str, code: int | None = None, **environ: str) -> Done:
        return fsframe_here(*words, cwd=folder, fakes=[UNRULY], env=environ, code=code)

    return run


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("exit", "it tried to end the program (SystemExit: 0)"),
        ("raise", "RuntimeError: two lines?[2J"),
        ("base", "OwnError: mine"),
    ],
)
def test_whatever_a_stage_raises_is_named_and_what_was_finished_is_kept(folder, how, says, fsframe):
    done = fsframe("chain", "mim:top=5", f"unruly:how={how}", "on", "table.csv", code=3)
    assert done.out == ""
    assert f"fsframe: stage `unruly` of plugin `unruly` 0.1: {says}" in done.err
    assert "Traceback" not in done.err
    assert "1 finished resamples and stages are kept" in done.err
    [units] = folder.glob("*.units")
    assert list(units.glob("units-*"))


EVALUATED = "on table.csv --folds 2 --repeats 1 --no-out"


@pytest.mark.parametrize(
    "line",
    [
        "chain unruly:how=raise --traceback on table.csv --no-out",
        f"chain unruly:how=raise {' '.join(AFTER)} --no-out --traceback",
        # From a worker too.
        f"--traceback evaluate unruly:how=raise {EVALUATED} --workers 1",
        "chain unruly:when=1 on table.csv --no-out --traceback",
        "chain unruli on table.csv --traceback",
    ],
)
def test_a_traceback_is_shown_wherever_it_is_asked_for(folder, fsframe, line):
    shown, short = fsframe(*line.split()), fsframe(*line.replace("--traceback", "").split())
    assert "Traceback" in shown.err and "Traceback" not in short.err
    assert shown.code == short.code == (3 if "how=raise" in line else 2)
    assert ("unruly_stages.py" in shown.err) == ("how=raise" in line)
    told = "fsframe: stage `unruly` of plugin `unruly` 0.1: RuntimeError"
    assert (told in shown.err) == (told in short.err) == ("how=raise" in line)


def test_a_classifier_that_fails_when_it_predicts_is_named(folder, fsframe):
    done = fsframe("evaluate", "mim:top=2", "unruly-knn", *EVALUATED.split(), code=3)
    assert "stage `unruly-knn` of plugin `unruly` 0.1: RuntimeError: no prediction" in done.err


def test_a_stage_that_changes_the_folder_does_not_move_the_run_file(folder, fsframe):
    fsframe("chain", "unruly:how=chdir", "on", "table.csv", code=0)
    assert (folder / "table.unruly_how=chdir.h5").is_file()
    words = ["unruly:how=chdir", "on", "table.csv", "--folds", "2", "--repeats", "1"]
    done = fsframe("compare", "unruly:how=chdir", "mim:top=2", *words[1:], "--out", "all")
    assert done.code == 0, done.err
    # The two chains, and the classifier that both are measured by.
    assert len(list((folder / "all").glob("*.h5"))) == 3


def test_an_import_that_changes_the_folder_does_not_either(folder, fsframe):
    fsframe("chain", "mim:top=2", "on", "table.csv", UNRULY_IMPORT="chdir", code=0)
    assert (folder / "table.mim_top=2.h5").is_file()


def test_an_interrupt_is_not_blamed_on_the_plugin(folder):
    for words, environ in (
        (["unruly"], {"UNRULY_IMPORT": "interrupt"}),
        (["unruly:how=interrupt"], {}),
    ):
        done = apart(folder, "chain", *words, "on", "table.csv", **environ, code=130)
        assert "interrupted" in done.err
        told = done.err.replace("table.unruly.h5", "")
        assert "unruly" not in told.replace("table.unruly_how=interrupt.h5", "")


def test_a_plugin_that_loops_at_import_is_given_up_and_named(folder):
    environ = {"UNRULY_IMPORT": "loop", "FSFRAME_IMPORT_TIMEOUT": "1"}
    done = apart(folder, "plugins", **environ, code=0)
    [line] = [line for line in done.out.splitlines() if line.startswith("unruly")]
    assert "failed" in line
    assert "importing it took longer than 1 s" in done.out
    asked = apart(folder, "chain", "unruly", "on", "table.csv", **environ, code=3)
    assert "importing it took longer than 1 s" in asked.err


def test_a_plugin_that_imports_slowly_is_waited_for_within_the_bound(folder, fsframe):
    for seconds, code in (("60", 0), ("0.2", 3)):
        environ = {"UNRULY_IMPORT": "slow", "FSFRAME_IMPORT_TIMEOUT": seconds}
        words = ["chain", "unruly", "on", "table.csv", "--no-out"]
        done = fsframe(*words, **environ)
        assert done.code == code, done.err
        assert ("importing it took longer" in done.err) == (code == 3)


@pytest.mark.parametrize("options", [["--progress", "json"], []])
def test_a_reader_of_stderr_that_leaves_does_not_end_the_run(folder, options):
    words = ["chain", "unruly:how=print", *AFTER, "--json", *options]
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [*FSFRAME, *words],
        cwd=folder,
        env=environment([UNRULY]),
        stdout=subprocess.PIPE,
        stderr=writing,
        text=True,
    )
    os.close(writing)
    os.close(reading)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert json.loads(out)["chain"].startswith("unruly")
    assert (folder / "table.unruly_how=print-npfs_n=4_alpha=0.2_permutations=3.h5").is_file()


def test_a_closed_stderr_does_not_end_the_run_or_get_into_its_files(folder):
    words = " ".join(["chain", "unruly:how=print", *AFTER, "--progress", "json"])
    line = f'"{sys.executable}" -m fsframe {words} 2>&-'
    done = subprocess.run(
        line, shell=True, cwd=folder, env=environment([UNRULY]), capture_output=True, timeout=300
    )
    assert done.returncode == 0
    load_run(folder / "table.unruly_how=print-npfs_n=4_alpha=0.2_permutations=3.h5")


def test_the_same_command_finds_its_own_answer_and_shows_it(folder, fsframe):
    for words in (
        ["chain", "mim:top=3", *AFTER],
        ["evaluate", "mim:top=2", "on", "table.csv", "--folds", "2", "--repeats", "1"],
    ):
        first = fsframe(*words, code=0)
        [file] = folder.glob("*.h5")
        content = file.read_bytes()
        again = fsframe(*words, code=0)
        assert again.out == first.out
        assert "already holds the result of this request" in again.err
        assert file.read_bytes() == content
        file.unlink()


def test_only_the_answer_to_the_very_request_is_shown(folder, fsframe):
    words = ["chain", "mim:top=3", "on", "table.csv", "-o", "run.h5"]
    fsframe(*words, code=0)
    content = (folder / "run.h5").read_bytes()
    others = [
        (["chain", "mim:top=2", *words[2:]], "its chain is `mim:top=3`, not `mim:top=2`"),
        ([*words, "--seed", "1"], "its seed is 0, not 1"),
        ([*words, "--drop", "a"], "its data have SHA-256"),
        ([*words, "--memory", "100MB"], "for 2.0 GiB of memory beside the table"),
        ([*words, "--restart"], "choose another name"),
    ]
    for other, why in others:
        refused = fsframe(*other, code=5)
        assert "already exists and was left unchanged" in refused.err
        assert why in refused.err
    text = (folder / "table.csv").read_text()
    (folder / "table.csv").write_text(text.replace("ill", "sick"))
    fsframe(*words, code=5)
    (folder / "table.csv").write_text(text)
    (folder / "run.h5").write_bytes(content[:-7])
    fsframe(*words, code=5)


def test_the_command_and_the_function_agree_on_what_a_file_answers(folder, fsframe):
    table, chain, limited = folder / "table.csv", "mim:top=3", 200_000_000
    words = ["chain", chain, "on", "table.csv", "--memory", str(limited), "-o"]
    first = package.select(chain, table, out=folder / "function.h5", memory=limited)
    assert "already holds the result of this request" in fsframe(*words, "function.h5", code=0).err
    fsframe(*words, "command.h5", code=0)
    out = folder / "command.h5"
    content = out.read_bytes()
    assert package.select(chain, table, out=out, memory=limited).digests() == first.digests()
    with pytest.raises(StoreError, match=r"already exists .* of memory beside the table"):
        package.select(chain, table, out=out)
    assert out.read_bytes() == content


def test_a_run_file_that_forges_another_request_is_not_its_answer(folder):
    out, table = folder / "run.h5", folder / "table.csv"
    record = package.select("mim:top=3", table, out=out)
    wanted = package.select("mim:top=3", table, memory=100_000_000).environment["request"]
    for request in (None, {}, {**wanted, "memory": -1}, "text"):
        forged = attrs.evolve(record, environment={**record.environment, "request": request})
        write_run(out, forged, overwrite=True)
        with pytest.raises(StoreError, match="was not made by this request"):
            package.select("mim:top=3", table, out=out)
    # The digest of another request does not hide what the file says.
    forged = attrs.evolve(record, environment={**record.environment, "request": wanted})
    write_run(out, forged, overwrite=True)
    with pytest.raises(StoreError, match="of memory beside the table"):
        package.select("mim:top=3", table, out=out)


def test_an_answer_of_other_software_is_not_shown(folder):
    data = Dataset.from_arrays(np.random.default_rng(1).normal(size=(9, 3)), list("abcabcabc"))
    chain, out = Chain.parse("mim:top=2"), folder / "run.h5"
    chain.run(data, out=out)
    assert stored_answer(out, chain, 0) is not None
    record = load_run(out)
    older = attrs.evolve(record, environment={**record.environment, "numpy": "1.0"})
    write_run(out, older, overwrite=True)
    with pytest.raises(StoreError, match=r"already exists .* started with numpy 1\.0"):
        stored_answer(out, chain, 0)


def test_a_request_that_no_machine_can_hold_is_refused_with_its_size(folder, fsframe):
    for words in (
        ["chain", "unruly", "npfs:permutations=4294967296", "on", "table.csv"],
        ["stability", "unruly", "on", "table.csv", "--n", "4294967296"],
        ["evaluate", "unruly", "on", "table.csv", "--repeats", "4294967296"],
    ):
        done = fsframe(*words, code=2)
        assert ("fits, and" in done.err and "TiB" in done.err) or "GiB" in done.err
    fsframe("chain", "mim", "npfs:permutations=1e20", "on", "table.csv", code=2)


# What the trials of `benchmarks/trust/trials.py` found, and those that take no second


@pytest.fixture
def data() -> Dataset:
    X = np.random.default_rng(2).normal(size=(30, 4))
    return Dataset.from_arrays(X, (X[:, 0] > 0).astype(int))


def test_predictions_of_more_classes_than_are_named_are_refused(data):
    chain = Chain.parse("cross-validation:base=(mim:top=2 knn),folds=2,repeats=1")
    record = chain.run(data)
    forged = attrs.evolve(record, data=attrs.evolve(record.data, class_names=("one",)))
    with pytest.raises(StoreError, match="is of 2 classes, and 1 are named"):
        report_page(forged)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = " + "[" * 3000 + "]" * 3000, "nested too deep"),
        (f"seeds = {list(range(2000))}", "must be at most 1000, not 2000"),
        (f"chains = ['{'mim ' * 5000}']", "a chain has at most 100 stages"),
    ],
)
def test_study_files_that_ask_for_ever_more_are_refused(tmp_path, text, says):
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(RequestError, match=says):
        read_plan(tmp_path / "study.toml")
