"""Engines are found: ours by their list, those of plugins through their hook."""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from cluster_for_tests import Cluster
from executor_bases import Noise, Traced
from hypothesis import given
from hypothesis import strategies as st

from fsframe.chains.chain import Chain
from fsframe.errors import EngineError, RequestError
from fsframe.evaluation.folds import FoldTask
from fsframe.execution import as_engine, open_engine
from fsframe.execution.dask import ClusterEngine
from fsframe.execution.engine import ENGINES, EngineOptions, differences, found_here
from fsframe.method.run import Run
from fsframe.resampling.dispatch import Batches, needed_by
from fsframe.storage.encoding import fingerprint
from fsframe.table.dataset import Dataset
from tests.command_line import python
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
    here = fsframe(*words, code=0)
    there = fsframe(*words, "--engine", "one-thread", fakes=["fake_commands"], code=0)
    assert "a thread of its own" in there.err
    assert there.json["digests"] == here.json["digests"]


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
    python(tmp_path / "script.py", cwd=ROOT)


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
    result = sizes(seconds, total, workers)
    assert sum(result) == total
    assert min(result) >= 1


def test_tasks_take_at_least_what_the_engine_asks_for_once_the_pace_is_known():
    for workers in (2, 4, 16):
        for least in (0.05, 0.2):
            result = sizes(0.01, 2000, workers, least)
            assert result[:2] == [1, 16]
            assert min(result[2:-1]) >= 100 * least - 1
            assert max(result) <= 50


def test_slow_resamples_go_one_by_one():
    result = sizes(3.0, 20, 2)
    # One pair is tried: only a second size tells the cost of a call from that of a resample.
    assert max(result) <= 2 and list(result).count(2) <= 1


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


# Workers that would compute something else, or nothing, are told from those that are sound


TINY = Path(__file__).parents[1] / "faults" / "tiny_plugin"
# A worker that has not answered within the patience is given no work, and not refused by name: on
# a machine with much else to do it may import the package for longer than the default.
PATIENCE = 600.0


def other_version(folder: Path, name: str, version: str) -> str:
    """A folder in which the distribution `name` is said to be of that version."""
    place = folder / f"{name}-{version}"
    info = place / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return str(place)


def other_tiny(folder: Path) -> str:
    """A folder with version 2.0 of the plugin tiny."""
    place = folder / "tiny"
    shutil.copytree(TINY, place)
    info = place / "fsframe_tiny-1.0.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fsframe-tiny\nVersion: 2.0\n")
    info.rename(place / "fsframe_tiny-2.0.dist-info")
    return str(place)


def test_a_worker_of_another_processor_is_refused_or_marks_the_run(tmp_path):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    if "openblas" not in fingerprint()["blas"]:
        pytest.skip("only OpenBLAS is told by a variable to use other kernels")
    X = np.random.default_rng(5).normal(size=(60, 9))
    data = Dataset.from_arrays(X, (X[:, 2] > 0).astype(int))
    chain = Chain.parse("mim:top=6 npfs:n=4,permutations=5,alpha=0.2")
    cluster = Cluster(tmp_path, workers=1)
    try:
        cluster.workers.append(cluster.worker("--name", "old", OPENBLAS_CORETYPE="Nehalem"))
        with cluster.engine(patience=PATIENCE) as engine:
            refused = r"worker old at .* has blas .*Nehalem.*--mixed"
            with pytest.raises(EngineError, match=refused):
                chain.run(data, executor=engine)
        with cluster.engine(patience=PATIENCE, mixed=True) as engine:
            record = chain.run(data, executor=engine)
        assert "Nehalem" in record.environment["mixed"]
        assert any("last bits may differ" in text for text in record.warnings)
        assert record.selected.tolist() == chain.run(data).selected.tolist()
    finally:
        cluster.stop()


def test_a_worker_that_joins_later_is_refused_and_one_that_stops_is_left(
    bits, table, counts, tmp_path
):
    """Both in one run, since a cluster takes its time to start: the answer stays the same."""
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    cluster = Cluster(tmp_path)
    odd = other_version(tmp_path, "numpy", "9.9.9")
    traces = tmp_path / "traces"
    traces.mkdir()
    told: list[str] = []
    engine = ClusterEngine.open(EngineOptions(scheduler=cluster.address, patience=4))
    try:
        cluster.wait_for(engine, 2)
        engine.tell = told.append
        sound, stopped = (worker.pid for worker in cluster.workers)

        def meddle(progress):
            if progress.done and len(cluster.workers) == 2:
                cluster.workers.append(cluster.worker("--name", "late", path=odd))
                cluster.wait_for(engine, 3)
                os.kill(stopped, signal.SIGSTOP)

        run = Run(entropy=5, executor=engine, listener=meddle)
        many = np.vstack([counts] * 4)
        result = bits(Traced(seconds=0.05, folder=str(traces)), table, many, run)
        assert result == bits(Noise(), table, many, Run(entropy=5))
        engine._counted = -np.inf
        assert engine.ready
        assert {int(trace.name) for trace in traces.iterdir()} <= {sound, stopped}
        assert any("late" in text and "numpy 9.9.9" in text for text in told), told
        assert any("been silent for 4 s" in text for text in told), told
        # Closing asks nobody who may not answer.
        os.kill(cluster.scheduler.pid, signal.SIGSTOP)
        closing = threading.Thread(target=engine.close, daemon=True)
        closing.start()
        closing.join(30)
        assert not closing.is_alive()
    finally:
        cluster.stop()
        engine.close()


def test_a_worker_that_was_asked_by_nobody_refuses_by_itself(bits, table, counts, monkeypatch):
    """As the worker of any executor does, of which nothing is known beforehand."""
    monkeypatch.setattr(
        "fsframe.execution.engine.found_here",
        lambda names: {**found_here(names), "scipy": "0.1"},
    )
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(EngineError, match=r"the worker process \d+ on .* has scipy 0\.1, not "),
    ):
        bits(Noise(), table, counts, Run(executor=as_engine(pool)))


def test_what_is_needed_names_the_plugins_of_whatever_travels():
    assert "plugin relief" in needed_by(FoldTask(base="mim:top={3,5} relieff"))
    assert "plugin infotheory" in needed_by(FoldTask(base="mim:top={3,5} relieff"))
    assert "plugin npfs" in needed_by("npfs:base=mim")
    assert set(needed_by()) == {"python", "fsframe", "numpy", "scipy", "numba"}
    assert differences(needed_by("mim"), needed_by("mim")) == []


# Last, since the processes of a cluster are not idle while they wait


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    folder = tmp_path_factory.mktemp("cluster")
    result = Cluster(folder, workers=0)
    result.workers = [
        result.worker("--name", "sound", path=str(TINY)),
        # A new interpreter: tests before may have put the plugin on the path of this one.
        result.worker("--name", "bare", OPENBLAS_NUM_THREADS="1"),
        result.worker("--name", "newer", path=other_tiny(folder)),
        result.worker(
            "--name",
            "odd-numpy",
            path=other_version(folder, "numpy", "9.9.9") + os.pathsep + str(TINY),
        ),
    ]
    yield result
    result.stop()


def test_workers_that_differ_are_refused_by_name_before_work_starts(cluster):
    needed = {**needed_by("mim"), "plugin fsframe-tiny": "1.0"}
    with cluster.engine(4, patience=PATIENCE) as engine:
        told: list[str] = []
        engine.tell = told.append
        # As long as nothing is needed of them, all four may be given work.
        assert engine.workers == 4
        # A second time too: to have been told once is no leave.
        for _ in range(2):
            with pytest.raises(EngineError) as caught:
                engine.admit(needed)
        text = str(caught.value)
        assert "worker bare at tcp://" in text
        assert "no plugin fsframe-tiny (here 1.0)" in text
        assert "worker newer at tcp://" in text
        assert "has plugin fsframe-tiny 2.0, not 1.0" in text
        assert "worker odd-numpy at tcp://" in text
        assert f"has numpy 9.9.9, not {np.__version__}" in text
        assert "sound" not in text
        # The refusal says it; they are not called silent as well.
        assert told == []


def test_a_run_ends_before_its_first_stage_where_a_worker_differs(cluster):
    X = np.random.default_rng(5).integers(0, 3, size=(60, 9)).astype(float)
    data = Dataset.from_arrays(X, (X[:, 2] > 0).astype(int))
    begun: list[object] = []
    chain = Chain.parse("mim:top=6 npfs:n=20,permutations=3,alpha=0.2")
    with cluster.engine(4, patience=PATIENCE) as engine:
        with pytest.raises(EngineError, match=r"odd-numpy .* numpy 9\.9\.9"):
            chain.run(data, executor=engine, listener=begun.append)
        with pytest.raises(EngineError, match=r"odd-numpy .* numpy 9\.9\.9"):
            chain.run(data, executor=engine._client.get_executor(), listener=begun.append)
    assert begun == []
