"""A scheduler and two workers on this machine, some of them killed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from types import SimpleNamespace

import numpy as np
import polars
import pytest
from cluster_for_tests import Cluster
from executor_bases import Deadly, Noise

from fsframe.chains.chain import Chain
from fsframe.errors import EngineError
from fsframe.execution import as_engine, open_engine
from fsframe.execution.dask import ClusterEngine
from fsframe.method.run import Run
from fsframe.storage.checkpoint import Checkpoint
from fsframe.storage.unit_files import Manifest
from fsframe.table.dataset import Dataset

pytest.importorskip("distributed", reason="dask.distributed is not installed")

CHAIN = Chain.parse("mim:top=6 npfs:n=20,permutations=3,alpha=0.2")


class Silent(Executor):
    """Takes tasks and never does them."""

    def submit(self, function, *arguments):
        return Future()


def hang() -> None:
    threading.Event().wait()


def fail(reason: str) -> None:
    raise OSError(reason)


class DeafClient:
    """A client whose scheduler takes everything, and answers and sends on as told.

    `sends` is given whether a value is for all workers, and which transfer it is.
    """

    status = "running"

    def __init__(self, *at_work: str, busy: bool = False, answers=True, sends=lambda *_: None):
        self.at_work = {worker: ["x"] * busy for worker in at_work}
        self.answers, self.sends = answers, sends
        self.asked, self.sent = 0, []

    def get_executor(self, **_):
        return Silent()

    def scheduler_info(self):
        self.asked += 1
        facts = {"nthreads": 2, "last_seen": self.asked, "local_directory": "there"}
        return {"workers": dict.fromkeys(self.at_work, facts)}

    def run(self, function, *arguments, workers, **_):
        return {workers[0]: function(*arguments)}

    def scatter(self, value, *, broadcast, **_):
        self.sent.append(broadcast)
        self.sends(broadcast, len(self.sent))
        return SimpleNamespace(status="finished")

    def processing(self):
        self.asked += 1
        if not self.answers:
            hang()
        return self.at_work


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        (DeafClient("a"), "idle, but tasks do not come back"),
        (DeafClient(), "no worker for 0.2 s"),
        (DeafClient("a", busy=True, answers=False), r"does not answer \(no answer within 0\.3 s\)"),
    ],
)
def test_a_cluster_that_does_nothing_for_us_is_reported_and_not_waited_for(
    monkeypatch, bits, table, counts, client, reason
):
    for name, seconds in (("QUIET", 0.1), ("LOOK", 0.01), ("ALONE", 0.2)):
        monkeypatch.setattr(f"fsframe.execution.dask._{name}_SECONDS", seconds)
    monkeypatch.setattr("fsframe.resampling.dispatch._TICK", 0.01)
    engine = ClusterEngine(client, owned=False, patience=0.3)
    with engine, pytest.raises(EngineError, match=reason):
        bits(Noise(), table, counts, Run(executor=engine))
    assert client.asked


def test_a_scheduler_that_copies_no_value_any_more_is_not_asked_to_again():
    """Dask's `replicate` holds a lock while it waits, for ever, for a worker that died."""
    client = DeafClient("a", "b", sends=lambda to_all, _: to_all and hang())
    with ClusterEngine(client, owned=False, patience=0.2) as engine:
        assert engine.workers == 4
        assert engine._send("a table").status == "finished"
        assert engine._send("another").status == "finished"
    assert client.sent == [True, False, False]


def test_a_table_that_does_not_arrive_is_reported(monkeypatch, bits, table, counts):
    monkeypatch.setattr("fsframe.execution.dask._SEND_SECONDS", 0.1)
    with (
        ClusterEngine(
            DeafClient("a", sends=lambda *_: hang()), owned=False, patience=0.4
        ) as engine,
        pytest.raises(EngineError, match=r"does not answer \(no answer within 0\.1 s\)"),
    ):
        bits(Noise(), table, counts, Run(executor=engine))


def test_a_transfer_that_meets_a_worker_just_killed_is_tried_again():
    """The transfer fails at once; the scheduler still lists the worker."""
    client = DeafClient("a", sends=lambda _, number: number < 3 and fail("cannot connect to a"))
    with ClusterEngine(client, owned=False) as engine:
        assert engine.workers == 2
        assert engine._send("a table").status == "finished"
    assert len(client.sent) == 3


def test_a_transfer_that_fails_for_good_is_reported_with_its_reason(monkeypatch):
    monkeypatch.setattr("fsframe.execution.dask._NOTICE_SECONDS", 0.02)
    monkeypatch.setattr("fsframe.execution.dask._RETRY_SECONDS", 0.1)
    client = DeafClient("a", sends=lambda *_: fail("no space left"))
    with ClusterEngine(client, owned=False, patience=0.25) as engine:
        assert engine.workers == 2
        with pytest.raises(EngineError, match=r"answers with an error \(OSError: no space left\)"):
            engine._send("a table")
    assert len(client.sent) > 1


def test_nobody_at_the_address_is_reported_after_the_patience():
    begun = time.monotonic()
    with (
        pytest.raises(EngineError, match=r"cannot reach a dask scheduler at tcp://127\.0\.0\.1:9"),
        open_engine(scheduler="tcp://127.0.0.1:9", patience=0.3),
    ):
        pass
    assert time.monotonic() - begun < 8


def test_a_killed_scheduler_leaves_a_run_that_continues_to_the_same_bits(
    bits, table, counts, tmp_path
):
    cluster = Cluster(tmp_path)
    base = Noise(seconds=0.1)
    manifest = Manifest(chain="x", seed=0, sha256="", software={})
    out = tmp_path / "run.h5"

    def kill_scheduler(progress):
        if progress.done >= 4 and cluster.scheduler.is_alive():
            cluster.scheduler.kill()
            cluster.scheduler.join()

    try:
        with (
            cluster.engine() as engine,
            Checkpoint.open(out, manifest, every=0) as checkpoint,
        ):
            run = Run(entropy=5, executor=engine, checkpoint=checkpoint, listener=kill_scheduler)
            # What is kept is for the caller to say: without a run file, it is nothing.
            with pytest.raises(EngineError, match=r"scheduler is lost$"):
                bits(base, table, counts, run)
            levels = {logging.getLogger(f"distributed{part}").level for part in ("", ".client")}
            assert levels == {logging.CRITICAL}
    finally:
        cluster.stop()
    with Checkpoint.open(out, manifest) as checkpoint:
        assert 4 <= checkpoint.n_parts < len(counts)
        result = bits(base, table, counts, Run(entropy=5, checkpoint=checkpoint))
    assert result == bits(Noise(), table, counts, Run(entropy=5))


# Last, since the processes of a cluster are not idle while they wait


@pytest.fixture(scope="module")
def running(tmp_path_factory) -> Iterator[Cluster]:
    result = Cluster(tmp_path_factory.mktemp("cluster"))
    yield result
    result.stop()


@pytest.fixture
def cluster(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """One that lost workers are noticed in within moments, not seconds."""
    monkeypatch.setattr("fsframe.execution.dask._COUNT_SECONDS", 0.2)
    monkeypatch.setattr("fsframe.resampling.dispatch._TICK", 0.05)
    return running


@pytest.fixture
def small() -> Dataset:
    generator = np.random.default_rng(5)
    X = generator.integers(0, 3, size=(60, 9)).astype(float)
    return Dataset.from_arrays(X, (X[:, 2] > 0).astype(int))


def test_a_cluster_gives_the_bits_of_one_process(cluster, small, bits, table, counts):
    with cluster.engine() as engine:
        assert engine.workers == 2
        assert CHAIN.run(small, executor=engine).digests() == CHAIN.run(small).digests()
        run = Run(entropy=5, executor=engine)
        assert bits(Noise(), table, counts, run) == bits(Noise(), table, counts, Run(entropy=5))


def test_the_executor_of_a_dask_client_will_do(cluster, bits, table, counts):
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client:
        executor = client.get_executor()
        assert as_engine(executor).workers >= 1
        run = Run(entropy=5, executor=executor)
        assert bits(Noise(), table, counts, run) == bits(Noise(), table, counts, Run(entropy=5))
        # It stays its owner's.
        assert executor.submit(int, 7).result(30) == 7


@pytest.mark.parametrize(
    "places",
    [
        pytest.param([0], marks=pytest.mark.slow, id="one"),
        pytest.param([0, 1], id="all that held the tables"),
    ],
)
def test_workers_killed_in_mid_run_are_survived_to_the_same_bits(
    cluster, bits, table, counts, places
):
    killed = []

    def kill(progress):
        if progress.done >= 4 and not killed:
            for place in places:
                cluster.kill(place)
                killed.append(place)
            if len(killed) == 2:
                cluster.replace_lost()

    with cluster.engine() as engine:
        run = Run(entropy=5, executor=engine, listener=kill)
        result = bits(Noise(seconds=0.05), table, counts, run)
        assert result == bits(Noise(), table, counts, Run(entropy=5)) and killed == places
        cluster.replace_lost()
        cluster.wait_for(engine, 2)


def test_parts_of_a_killed_worker_are_counted_by_another_to_the_same_bits(cluster, tmp_path):
    import fsframe

    rng = np.random.default_rng(4)
    folder = tmp_path / "parts"
    folder.mkdir()
    for k in range(3):
        y = rng.integers(0, 2, 200)
        X = {
            f"f{j}": np.where(rng.random(200) < j / 20, y, rng.integers(0, 4, 200))
            for j in range(9)
        }
        polars.DataFrame({**X, "y": y}).write_parquet(folder / f"{k}.parquet")
    data = fsframe.read(folder)
    method = fsframe.selectors["jmi"](top=6)
    killed = []

    def kill_one(progress):
        if progress.label == "features" and not killed:
            cluster.kill(0)
            killed.append(0)

    with cluster.engine() as engine:
        # A part for each 64 rows.
        run = Run(executor=engine, listener=kill_one, memory=1 << 12)
        selection = method.select(data, run=run)
        assert len(killed) == 1
        cluster.replace_lost()
        cluster.wait_for(engine, 2)
    expected = method.select(data)
    assert selection.scores.tobytes() == expected.scores.tobytes()


def test_resamples_that_kill_every_worker_are_named(
    cluster, bits, table, counts, tmp_path, monkeypatch
):
    monkeypatch.setattr("fsframe.resampling.dispatch._MOST_DEATHS", 2)
    for k in range(50):
        (tmp_path / f"life-{k}").touch()
    base = Deadly(part=0, folder=str(tmp_path))
    with cluster.engine() as engine:
        stop = []

        def keep_two() -> None:
            while not stop:
                cluster.replace_lost()
                time.sleep(0.05)

        keeper = threading.Thread(target=keep_two)
        keeper.start()
        try:
            with pytest.raises(EngineError, match=r"died 2 times .* resamples 1–1"):
                bits(base, table, counts[:3], Run(executor=engine))
        finally:
            stop.append(True)
            keeper.join()


def test_tables_that_are_gone_from_the_cluster_are_sent_again():
    engine = ClusterEngine.__new__(ClusterEngine)
    states = {"kept": "finished", "lost": "lost", "failed": "error"}
    engine._left = False
    engine._scattered = {name: SimpleNamespace(status=state) for name, state in states.items()}
    assert engine._lost_tables() and [*engine._scattered] == ["kept"]
    assert not engine._lost_tables()
    # Where workers have left, others may be waiting for any of them.
    engine._left = True
    assert engine._lost_tables() and not engine._scattered
    assert not engine._lost_tables()
