"""Engines are found: ours by their list, those of plugins through their hook."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsframe.errors import RequestError
from fsframe.execution import as_engine, open_engine
from fsframe.execution.engine import ENGINES
from fsframe.resampling.dispatch import Batches
from tests.same_process import fsframe

NEW = '''"""One thread beside this one."""

from concurrent.futures import ThreadPoolExecutor

from fsframe.execution.engine import Engine


class Beside(Engine):
    takes = frozenset({"workers"})

    @classmethod
    def open(cls, options):
        return cls(ThreadPoolExecutor(options.workers), options.workers)
'''


def test_a_new_engine_is_a_class_and_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside.py").write_text(NEW)
    monkeypatch.syspath_prepend(str(tmp_path))
    line = "One thread beside this one."
    own = {**ENGINES.own, "beside": ("beside:Beside", line)}
    monkeypatch.setattr(ENGINES, "own", own)
    assert ENGINES.listed()["beside"] == line
    with open_engine("beside", workers=2) as engine:
        assert engine is not None and engine.workers == 2
    with (
        pytest.raises(RequestError, match="scheduler is for engines such as dask, not for beside"),
        open_engine("beside", scheduler="tcp://x"),
    ):
        pass


def test_an_engine_of_a_plugin_computes_the_same(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"{i},{(i * 7) % 11},{i % 3},{i % 2}" for i in range(30)]
    table.write_text("\n".join(["a,b,c,class", *rows]) + "\n")
    words = ["chain", "mim:top=1", "ensemble:n=4", "on", str(table), "--no-out", "--json", "-q"]
    here = fsframe(*words)
    there = fsframe(*words, "--engine", "one-thread", fakes=["fake_commands"])
    assert "a thread of its own" in there.err + there.out
    assert there.code == here.code == 0
    assert here.json["selected"] == fsframe(*words).json["selected"]


def test_workers_are_a_number_and_an_engine_is_opened_or_an_executor():
    for workers in (0, "a", 1.5):
        with (
            pytest.raises(RequestError, match="workers must be a whole number ≥ 1"),
            open_engine("processes", workers=workers),
        ):
            pass
    with pytest.raises(RequestError, match="must be an opened engine: with open_engine"):
        as_engine(open_engine("processes", workers=1))
    with pytest.raises(RequestError, match=r"concurrent\.futures\.Executor, not int"):
        as_engine(3)  # type: ignore[arg-type]


ROOT = Path(__file__).parents[2]


def test_the_script_on_the_page_runs(tmp_path):
    page = (ROOT / "docs" / "executors.md").read_text(encoding="utf-8")
    [script] = re.findall(r"```python\n(.*?)```", page, re.S)
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def sizes(seconds_each: float, total: int, workers: int = 1, least: float = 0.0) -> list[int]:
    batches, found, left = Batches({}, "x"), [], total
    while left:
        size = batches.size(left, workers, least)
        batches.record(size, size * seconds_each)
        found.append(size)
        left -= size
    return found


@given(st.floats(1e-6, 10), st.integers(1, 500), st.integers(1, 8))
def test_batches_cover_everything_exactly(seconds, total, workers):
    found = sizes(seconds, total, workers)
    assert sum(found) == total
    assert min(found) >= 1


def test_tasks_take_at_least_what_the_engine_asks_for_once_the_pace_is_known():
    for workers in (2, 4, 16):
        for least in (0.05, 0.2):
            found = sizes(0.01, 2000, workers, least)
            assert found[:2] == [1, 16]
            assert min(found[2:-1]) >= 100 * least - 1
            assert max(found) <= 50


def test_slow_resamples_go_one_by_one():
    found = sizes(3.0, 20, 2)
    # One pair is tried: only a second size tells the cost of a call from that of a resample.
    assert max(found) <= 2 and list(found).count(2) <= 1


def test_a_call_that_is_dear_whatever_it_holds_gets_many_resamples():
    batches, calls, left = Batches({}, "x"), 0, 500
    while left:
        size = batches.size(left)
        batches.record(size, 3.0 + 0.01 * size)
        calls, left = calls + 1, left - size
    assert calls <= 20


def test_the_pace_is_kept_for_the_next_call_of_a_run():
    pace: dict[str, float] = {}
    Batches(pace, "mim").record(10, 0.1)
    assert Batches(pace, "mim").size(1000) == 50
    assert Batches(pace, "other").size(1000) == 1


def test_batches_end_at_borders_that_lie_near():
    borders = [50, 100, 150, 1000]
    batches = Batches({"mim": 0.01}, "mim", borders=borders)
    assert batches.stop(0, 2000) == 50
    assert batches.stop(20, 2000) == 50
    # Too small a rest, or too far: the batch is cut where its size says.
    assert batches.stop(30, 2000) == 100
    assert batches.stop(300, 2000) == 350
    # Never beyond what is asked for, nor beyond what may be held.
    assert batches.stop(130, 140) == 140
    assert Batches({"mim": 0.01}, "mim", borders=borders, most=7).stop(44, 2000) == 50
    assert Batches({"mim": 0.01}, "mim", borders=borders, most=7).stop(0, 2000) == 7


@given(
    st.floats(1e-4, 1e-3), st.integers(2, 4), st.integers(200, 3000), st.lists(st.floats(0.9, 1.1))
)
def test_workers_end_together_wherever_borders_lie(each, workers, apart, paces):
    """Eleven labellings, one border each: no worker waits for a whole labelling at the end."""
    total = 11 * apart
    batches = Batches({"mim": each}, "mim", borders=range(0, total, apart))
    ends, start = [0.0] * workers, 0
    while start < total:
        stop = batches.stop(start, total, workers, least_seconds=0.05)
        worker, pace = ends.index(min(ends)), paces[start % len(paces)] if paces else 1.0
        took = (stop - start) * each * pace
        batches.record(stop - start, took)
        ends[worker] += took
        start = stop
    # Nobody waits for more than one of the last tasks.
    assert max(ends) - min(ends) <= 0.15


def test_no_batch_of_a_dear_call_takes_more_than_its_share_at_the_end():
    batches = Batches({}, "x")
    for size in (1, 16, 40):
        batches.record(size, 0.4 + 0.01 * size)
    # Half a second of work where there is plenty; of the last 60 no worker takes more than half.
    assert batches.size(1000, workers=2) in (49, 50)
    assert batches.size(60, workers=2) == 30
