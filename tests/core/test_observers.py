"""Observers hear of runs, in order, and cannot spoil them."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

from fsframe.chains import request as requests
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, FsframeWarning
from fsframe.method.run import Observer, Observers
from fsframe.registry import observers
from fsframe.registry.manager import HOOKS
from fsframe.storage.checkpoint import Checkpoint
from fsframe.table.dataset import Dataset
from tests.same_process import fsframe

ROOT = Path(__file__).parents[2]
CHAIN = "mim:top=5 npfs:n=6,permutations=5,alpha=0.2 margin"


@pytest.fixture(scope="module")
def data() -> Dataset:
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
    found = Notes()
    monkeypatch.setattr(requests, "_observers", lambda: Observers([found]))
    return found


def test_a_run_is_reported_from_its_beginning_to_its_end(notes, data, tmp_path, monkeypatch):
    # Each unit is written at once; what finishes within 0.2 s of another else waits for it.
    commit = Checkpoint.commit
    monkeypatch.setattr(
        Checkpoint, "commit", lambda self, *unit: (commit(self, *unit), self.flush())
    )
    record = Chain.parse(CHAIN).run(data, 3, tmp_path / "r.h5")
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
    again = Chain.parse(CHAIN).run(data, 3)
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
def test_an_observer_that_raises_costs_a_warning(monkeypatch, data, error, reason):
    broken, sound = Broken(), Notes()
    broken.error = error
    monkeypatch.setattr(requests, "_observers", lambda: Observers([broken, sound]))
    if not reason:
        with pytest.raises(KeyboardInterrupt):
            Chain.parse("mim:top=2").run(data)
        return
    record = Chain.parse("mim:top=2 margin").run(data)
    assert [kind for kind, _ in broken.heard] == ["began"]
    assert [kind for kind, _ in sound.heard] == ["began", "stage", "stage", "ended"]
    said = f"Broken failed in stage_ended and was disabled: {reason}"
    assert any(said in text for text in record.warnings)


def test_an_observer_that_exits_when_it_is_made_is_not_notified(monkeypatch, data):
    def ends(self, name):
        raise SystemExit(3)

    monkeypatch.setattr(type(observers), "__getitem__", ends)
    found = requests._observers()
    assert not found
    assert all("was not notified: SystemExit: 3" in text for text in found.warnings)


def test_the_log_of_runs_is_pythons(data, caplog):
    assert "run-log" in observers
    with caplog.at_level(logging.INFO, logger="fsframe.run"):
        Chain.parse("mim:top=2 margin").run(data)
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith("mim:top=2 margin on toy (40 × 8)")
    assert said[1].startswith("mim: 2 columns") and "kept 2 columns" in said[-1]


def test_a_log_that_nobody_reads_computes_no_digest(data, caplog, monkeypatch):
    from fsframe.storage import RunRecord

    def never(self):
        raise AssertionError("computed")

    monkeypatch.setattr(RunRecord, "digests", never)
    with caplog.at_level(logging.WARNING, logger="fsframe.run"):
        assert Chain.parse("mim:top=2").run(data).warnings == ()
    caplog.set_level(logging.INFO, logger="fsframe.run")
    with pytest.warns(FsframeWarning, match="RunLog failed in run_ended") as told:
        Chain.parse("mim:top=2").run(data)
    assert told[0].filename == __file__, "the caller's line is not named"


def test_a_strangers_tracker_hears_of_a_run_from_the_command_line(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7},{i % 5},{'ab'[i % 2]}" for i in range(30))
    (tmp_path / "t.csv").write_text(f"x,y,class\n{rows}\n")

    def run(out: str, log: Path) -> str:
        line, env = f"chain mim:top=1 on t.csv -o {out}", {"FAKE_TRACKER": str(log)}
        done = fsframe(line, cwd=tmp_path, fakes=["fake_tracker"], env=env)
        assert done.code == 0, done.err
        return done.out + done.err

    run("r.h5", tmp_path / "log.jsonl")
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    events = [json.loads(line)["event"] for line in lines]
    assert [event for event in events if event != "kept"] == ["began", "stage", "ended"]
    said = run("again.h5", tmp_path / "no" / "folder")
    assert "Tracker failed in run_began" in said
    # The page shows this very tracker, and every hook.
    page = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    tracker = ROOT / "tests/plugins/data/fake_tracker/fake_tracker.py"
    assert tracker.read_text(encoding="utf-8") in page
    assert [hook for hook in HOOKS if f"| `{hook}` | `{HOOKS[hook].__name__}` |" not in page] == []
