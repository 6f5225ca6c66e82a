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


@pytest.fixture
def notes(monkeypatch) -> Notes:
    found = Notes()
    monkeypatch.setattr(requests, "_observers", lambda: Observers([found]))
    return found


def test_a_run_is_reported_from_its_beginning_to_its_end(notes, data, tmp_path, monkeypatch):
    # Each unit is written at once; what finishes within 0.2 s of another else waits for it.
    commit = Checkpoint.commit

    def at_once(self, unit, content):
        commit(self, unit, content)
        self.flush()

    monkeypatch.setattr(Checkpoint, "commit", at_once)
    record = Chain.parse(CHAIN).run(data, 3, tmp_path / "r.h5")
    kinds = [kind for kind, _ in notes.heard]
    assert kinds[0] == "began" and kinds[-1] == "ended"
    assert [kind for kind in kinds if kind != "kept"] == ["began", *["stage"] * 3, "ended"]
    began = notes.heard[0][1]
    assert began["chain"] == record.chain and began["seed"] == 3
    assert began["out"] == str(tmp_path / "r.h5")
    stages = [about for kind, about in notes.heard if kind == "stage"]
    assert stages == list(enumerate(record.stages))
    assert notes.heard[-1][1].digests() == record.digests()
    kept = [about for kind, about in notes.heard if kind == "kept"]
    assert kept and all(unit["start"] < unit["stop"] for unit in kept)


def test_without_a_file_nothing_is_kept_and_results_are_the_same(notes, data, tmp_path):
    record = Chain.parse(CHAIN).run(data, 3)
    assert "kept" not in [kind for kind, _ in notes.heard]
    assert record.digests() == Chain.parse(CHAIN).run(data, 3, tmp_path / "r.h5").digests()


def test_a_run_that_fails_is_reported(notes, data):
    constant = Dataset.from_arrays(np.ones((20, 3)), np.arange(20) % 2)
    with pytest.raises(DataError):
        Chain.parse("immigrate").run(constant)
    kind, error = notes.heard[-1]
    assert kind == "failed" and isinstance(error, DataError)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no room"), "ValueError: no room"),
        (SystemExit(3), "it tried to end the program (SystemExit: 3)"),
    ],
)
def test_an_observer_that_raises_costs_a_warning(monkeypatch, data, error, reason):
    class Broken(Notes):
        def stage_ended(self, number, stage):
            raise error

    broken, sound = Broken(), Notes()
    monkeypatch.setattr(requests, "_observers", lambda: Observers([broken, sound]))
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


def test_an_interrupt_while_an_observer_is_told_is_an_interrupt(monkeypatch, data):
    class Interrupted(Notes):
        def stage_ended(self, number, stage):
            raise KeyboardInterrupt

    monkeypatch.setattr(requests, "_observers", lambda: Observers([Interrupted()]))
    with pytest.raises(KeyboardInterrupt):
        Chain.parse("mim:top=2").run(data)


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


def test_the_tracker_on_the_page_is_the_one_that_is_tested() -> None:
    root = Path(__file__).parents[2]
    code = (root / "tests/plugins/data/fake_tracker/fake_tracker.py").read_text(encoding="utf-8")
    assert code in (root / "docs" / "hooks.md").read_text(encoding="utf-8")


def test_every_hook_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text(encoding="utf-8")
    assert [hook for hook in HOOKS if f"| `{hook}` | `{HOOKS[hook].__name__}` |" not in page] == []


def test_a_strangers_tracker_hears_of_a_run_from_the_command_line(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7},{i % 5},{'ab'[i % 2]}" for i in range(30))
    (tmp_path / "t.csv").write_text(f"x,y,class\n{rows}\n")
    log = tmp_path / "log.jsonl"
    done = fsframe(
        "chain", "mim:top=1", "on", "t.csv", "-q", cwd=tmp_path, fakes=["fake_tracker"],
        env={"FAKE_TRACKER": str(log)},
    )  # fmt: skip
    assert done.code == 0, done.err
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["event"] for event in events if event["event"] != "kept"] == [
        "began", "stage", "ended",
    ]  # fmt: skip
    (tmp_path / "t.mim.h5").unlink(missing_ok=True)
    done = fsframe(
        "chain", "mim:top=1", "on", "t.csv", "-o", "again.h5", cwd=tmp_path,
        fakes=["fake_tracker"], env={"FAKE_TRACKER": str(tmp_path / "no" / "folder")},
    )  # fmt: skip
    assert done.code == 0 and "Tracker failed in run_began" in done.out + done.err
