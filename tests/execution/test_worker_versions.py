"""Workers that would compute something else, or nothing, are told from those that are sound."""

from __future__ import annotations

import os
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

from fsframe.chains.chain import Chain
from fsframe.errors import EngineError
from fsframe.evaluation.folds import FoldTask
from fsframe.execution import as_engine
from fsframe.execution.dask import ClusterEngine
from fsframe.execution.engine import EngineOptions, differences, found_here
from fsframe.method.run import Run
from fsframe.resampling.work import needed_by
from fsframe.storage.encoding import fingerprint
from fsframe.table.dataset import Dataset

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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    folder = tmp_path_factory.mktemp("cluster")
    found = Cluster(folder, workers=0)
    found.workers = [
        found.worker("--name", "sound", path=str(TINY)),
        found.worker("--name", "bare"),
        found.worker("--name", "newer", path=other_tiny(folder)),
        found.worker(
            "--name",
            "odd-numpy",
            path=other_version(folder, "numpy", "9.9.9") + os.pathsep + str(TINY),
        ),
    ]
    yield found
    found.stop()


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
        found = bits(Traced(seconds=0.05, folder=str(traces)), table, many, run)
        assert found == bits(Noise(), table, many, Run(entropy=5))
        engine._counted = -np.inf
        assert engine.ready
        assert {int(trace.name) for trace in traces.iterdir()} <= {sound, stopped}
        assert any("late" in text and "numpy 9.9.9" in text for text in told), told
        assert any("been silent for 4 s" in text for text in told), told
        # Closing asks nobody who may not answer.
        cluster.scheduler.send_signal(signal.SIGSTOP)
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
