"""Stages of a finished run are computed again; observers hear of runs, and cannot spoil them."""

from __future__ import annotations

import json
import logging
from functools import partial
from pathlib import Path

import attrs
import numpy as np
import pytest

from fsframe.chains import request as requests
from fsframe.chains.audit import TOLERANCE, audit_run, refit
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, FsframeWarning, RequestError, StoreError
from fsframe.method.run import Observer, Observers, Run
from fsframe.registry import observers
from fsframe.storage import load_run, write_run
from fsframe.storage.checkpoint import Checkpoint
from fsframe.storage.encoding import fingerprint
from fsframe.table.dataset import Dataset
from tests.command_line import fsframe as fsframe_apart
from tests.same_process import fsframe

CHAIN = "anova-f:top=6 lfe npfs:n=6,permutations=5,alpha=0.2 margin"


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 12))
    return Dataset.from_arrays(X, (X[:, 1] + 0.4 * rng.normal(size=50) > 0).astype(int))


@pytest.fixture(scope="module")
def record(data):
    return Chain.parse(CHAIN).run(data, 11)


@pytest.fixture(scope="module")
def product() -> Dataset:
    X = np.random.default_rng(1).normal(size=(60, 5))
    return Dataset.from_arrays(X, (X[:, 0] * X[:, 1] > 0).astype(int))


def altered(record, number, **changes):
    """The record with another selection in one stage."""
    stages = list(record.stages)
    result = attrs.evolve(stages[number].selection, **changes)
    stages[number] = attrs.evolve(stages[number], selection=result, tables=result.tables)
    return attrs.evolve(record, stages=stages)


def test_every_stage_of_a_sound_run_has_the_same_bits(record, data):
    told = []
    result = audit_run(record, data, Run(), report=told.append)
    assert result == told
    assert [audit.verdict for audit in result] == ["same bits"] * 5
    assert [audit.path for audit in result] == [*record.stage_paths(), "/pair_tests"]


def test_algorithms_are_chosen_as_in_the_run(data):
    limited = Chain.parse("immigrate:top=3").run(data, 11, memory=200_000_000)
    used = []

    class Watched(Run):
        @property
        def route(self):
            used.append(self.route_memory)
            return super().route

    audit_run(limited, data, Watched())
    assert set(used) == {limited.environment["request"]["memory"]}
    greedy = {**limited.environment, "request": {"memory": 10**15}}
    with pytest.raises(RequestError, match="--memory 1000000"):
        audit_run(attrs.evolve(limited, environment=greedy), data, Run())


def test_an_altered_stage_is_found_by_itself(record, data):
    scores = np.array(record.stages[1].selection.scores)
    scores[record.stages[1].selection.selected[0]] *= 1 + 1e-12
    result = audit_run(altered(record, 1, scores=scores), data, Run())[1]
    assert (result.verdict, result.where) == ("differs", "scores")
    assert 0 < result.difference < 1e-11
    kept = record.stages[0].selection
    fewer = altered(record, 0, selected=kept.selected[::-1])
    assert audit_run(fewer, data, Run())[0].difference == np.inf


def test_rounding_is_distinguished_where_the_processor_was_another(record, data):
    elsewhere = attrs.evolve(
        record, environment={**record.environment, "blas": "another", "kernels": "generic"}
    )
    scores = np.array(record.stages[1].selection.scores)
    near, far = scores.copy(), scores.copy()
    first = record.stages[1].selection.selected[0]
    near[first] *= 1 + TOLERANCE / 10
    far[first] *= 1 + 1e3 * TOLERANCE
    assert audit_run(altered(elsewhere, 1, scores=near), data, Run())[1].passed
    verdict = audit_run(altered(elsewhere, 1, scores=far), data, Run())[1]
    assert (verdict.passed, verdict.where) == (False, "scores")
    # NaN is "not considered": a number in its place is no rounding.
    holed = scores.copy()
    holed[first] = np.nan
    assert audit_run(altered(elsewhere, 1, scores=holed), data, Run())[1].difference == np.inf


def test_an_answer_of_no_stage_is_refused(record, tmp_path):
    other = attrs.evolve(record, selected=record.stages[0].selection.selected)
    with pytest.raises(StoreError, match="does not match the last stage that selects"):
        write_run(tmp_path / "r.h5", other)


def test_tests_of_pairs_are_made_again(product):
    record = Chain.parse("lfe:top=3").run(product, 2)
    audit = audit_run(record, product, Run())
    assert [(a.path, a.verdict) for a in audit] == [
        ("/stages/00-lfe", "same bits"), ("/pair_tests", "same bits"),
    ]  # fmt: skip
    made = record.pair_tests
    p = np.array(made.tests.p_values)
    p[0] /= 2
    forged = attrs.evolve(made, tests=attrs.evolve(made.tests, p_values=p))
    verdict = audit_run(attrs.evolve(record, pair_tests=forged), product, Run())[-1]
    assert (verdict.verdict, verdict.where) == ("differs", "p_values")


def test_results_on_which_what_follows_fails_differ(product):
    record = Chain.parse("interactions:calibrate=3,draws=20").run(product, 2)
    stage = record.stages[0]
    fewer = {name: table for name, table in stage.tables.items() if name != "p_values"}
    forged = attrs.evolve(
        stage, tables=fewer, selection=attrs.evolve(stage.selection, tables=fewer)
    )
    audit = audit_run(attrs.evolve(record, stages=[forged]), product, Run())
    assert [a.verdict for a in audit] == ["differs", "differs"]
    assert audit[0].where == "tables/p_values" and "fails on the recorded results" in audit[1].where


def test_another_table_or_chain_is_refused(record, data):
    with pytest.raises(DataError, match="is not the table the run was made on"):
        audit_run(record, data.take_columns(np.arange(5)), Run())
    with pytest.raises(RequestError, match="does not have the stages of the file"):
        audit_run(attrs.evolve(record, chain="mim:top=3"), data, Run())
    earlier = attrs.evolve(record, chain="mim npfs:statistic=counts margin")
    with pytest.raises(RequestError, match=r"'statistic'; .* cannot be computed with the"):
        audit_run(earlier, data, Run())
    without = attrs.evolve(earlier, chain="mim npfs:statistic=counts", stages=record.stages[:-1])
    scores = refit(record, data).predict_scores(data.X)
    for again in (refit(earlier, data), refit(without, data, "margin")):
        np.testing.assert_array_equal(again.predict_scores(data.X), scores)
    with pytest.raises(RequestError, match=r"'beta'; .* cannot be computed with the"):
        refit(attrs.evolve(record, chain="mim npfs margin:beta=2"), data)


def test_the_command_tells_each_stage_and_ends_with_5_where_one_differs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)).round(4)
    rows = [",".join([*map(str, row), "ab"[int(row[0] > 0)]]) for row in X]
    (tmp_path / "t.csv").write_text("\n".join([",".join([*"defghijk", "class"]), *rows]) + "\n")
    command = partial(fsframe, cwd=tmp_path)
    command("chain lfe margin on t.csv -q -o r.h5", code=0)
    done = command("audit r.h5")
    assert (done.code, done.out.split()) == (
        0, ["00-lfe", "same", "bits", "01-margin", "same", "bits", "pair_tests", "same", "bits"],
    )  # fmt: skip
    record = load_run(tmp_path / "r.h5")
    forged = np.array(record.stages[0].selection.scores)
    forged[2] += 1
    changed = attrs.evolve(altered(record, 0, scores=forged), scores=forged)
    write_run(tmp_path / "forged.h5", changed)
    done = command("audit forged.h5")
    assert done.code == 5 and "00-lfe                   DIFFERS" in done.out
    assert "could not be reproduced" in done.err
    (tmp_path / "t.csv").rename(tmp_path / "moved.csv")
    command("audit r.h5", code=4)
    if "openblas" in fingerprint()["blas"]:
        fsframe_apart(
            "audit",
            "r.h5",
            "on",
            "moved.csv",
            cwd=tmp_path,
            env={"OPENBLAS_CORETYPE": "Nehalem"},
            code=0,
        )


# Observers hear of runs, in order, and cannot spoil them


OBSERVED = "mim:top=5 npfs:n=6,permutations=5,alpha=0.2 margin"


@pytest.fixture(scope="module")
def toy() -> Dataset:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 8))
    return Dataset.from_arrays(X, (X[:, 0] > 0).astype(int), name="toy")


class Notes(Observer):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, object]] = []

    def run_began(self, run):
        self.heard.append(("began", run))

    def unit_kept(self, unit):
        self.heard.append(("kept", unit))

    def stage_ended(self, number, stage):
        self.heard.append(("stage", (number, stage)))

    def run_ended(self, record):
        self.heard.append(("ended", record))

    def run_failed(self, error):
        self.heard.append(("failed", error))

    def of(self, kind: str) -> list:
        return [about for what, about in self.heard if what == kind]


@pytest.fixture
def notes(monkeypatch) -> Notes:
    result = Notes()
    monkeypatch.setattr(requests, "_observers", lambda: Observers([result]))
    return result


def test_a_run_is_reported_from_its_beginning_to_its_end(notes, toy, tmp_path, monkeypatch):
    # Each unit is written at once; what finishes within 0.2 s of another else waits for it.
    commit = Checkpoint.commit
    monkeypatch.setattr(
        Checkpoint, "commit", lambda self, *unit: (commit(self, *unit), self.flush())
    )
    record = Chain.parse(OBSERVED).run(toy, 3, tmp_path / "r.h5")
    kinds = [kind for kind, _ in notes.heard]
    assert kinds[0] == "began" and kinds[-1] == "ended"
    assert [kind for kind in kinds if kind != "kept"] == ["began", *["stage"] * 3, "ended"]
    (began,), (ended,) = notes.of("began"), notes.of("ended")
    assert began["chain"] == record.chain and began["seed"] == 3
    assert began["out"] == str(tmp_path / "r.h5")
    assert notes.of("stage") == list(enumerate(record.stages))
    kept = notes.of("kept")
    assert kept and all(unit["start"] < unit["stop"] for unit in kept)
    # Without a file nothing is kept, and results are the same.
    notes.heard.clear()
    again = Chain.parse(OBSERVED).run(toy, 3)
    assert not notes.of("kept")
    assert again.digests() == record.digests() == ended.digests()


def test_a_run_that_fails_is_reported(notes):
    constant = Dataset.from_arrays(np.ones((20, 3)), np.arange(20) % 2)
    with pytest.raises(DataError) as caught:
        Chain.parse("immigrate").run(constant)
    assert notes.heard[-1] == ("failed", caught.value)


class Broken(Notes):
    error: BaseException

    def stage_ended(self, number, stage):
        raise self.error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no room"), "ValueError: no room"),
        (SystemExit(3), "it tried to end the program (SystemExit: 3)"),
        (KeyboardInterrupt(), ""),
    ],
    ids=["an error", "an exit", "an interrupt, which is one"],
)
def test_an_observer_that_raises_costs_a_warning(monkeypatch, toy, error, reason):
    broken, sound = Broken(), Notes()
    broken.error = error
    monkeypatch.setattr(requests, "_observers", lambda: Observers([broken, sound]))
    if not reason:
        with pytest.raises(KeyboardInterrupt):
            Chain.parse("mim:top=2").run(toy)
        return
    record = Chain.parse("mim:top=2 margin").run(toy)
    assert [kind for kind, _ in broken.heard] == ["began"]
    assert [kind for kind, _ in sound.heard] == ["began", "stage", "stage", "ended"]
    said = f"Broken failed in stage_ended and was disabled: {reason}"
    assert any(said in text for text in record.warnings)


def test_an_observer_that_exits_when_it_is_made_is_not_notified(monkeypatch, toy):
    def ends(self, name):
        raise SystemExit(3)

    monkeypatch.setattr(type(observers), "__getitem__", ends)
    result = requests._observers()
    assert not result
    assert all("was not notified: SystemExit: 3" in text for text in result.warnings)


def test_the_log_of_runs_is_pythons(toy, caplog):
    assert "run-log" in observers
    with caplog.at_level(logging.INFO, logger="fsframe.run"):
        Chain.parse("mim:top=2 margin").run(toy)
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith("mim:top=2 margin on toy (40 × 8)")
    assert said[1].startswith("mim: 2 columns") and "kept 2 columns" in said[-1]


def test_a_log_that_nobody_reads_computes_no_digest(toy, caplog, monkeypatch):
    from fsframe.storage import RunRecord

    def never(self):
        raise AssertionError("computed")

    monkeypatch.setattr(RunRecord, "digests", never)
    with caplog.at_level(logging.WARNING, logger="fsframe.run"):
        assert Chain.parse("mim:top=2").run(toy).warnings == ()
    caplog.set_level(logging.INFO, logger="fsframe.run")
    with pytest.warns(FsframeWarning, match="RunLog failed in run_ended") as told:
        Chain.parse("mim:top=2").run(toy)
    assert told[0].filename == __file__, "the caller's line is not named"


def test_a_strangers_tracker_hears_of_a_run_from_the_command_line(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7},{i % 5},{'ab'[i % 2]}" for i in range(30))
    (tmp_path / "t.csv").write_text(f"x,y,class\n{rows}\n")

    def run(out: str, log: Path) -> str:
        line, env = f"chain mim:top=1 on t.csv -o {out}", {"FAKE_TRACKER": str(log)}
        done = fsframe(line, cwd=tmp_path, fakes=["fake_tracker"], env=env, code=0)
        return done.out + done.err

    run("r.h5", tmp_path / "log.jsonl")
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    events = [json.loads(line)["event"] for line in lines]
    assert [event for event in events if event != "kept"] == ["began", "stage", "ended"]
    said = run("again.h5", tmp_path / "no" / "folder")
    assert "Tracker failed in run_began" in said
