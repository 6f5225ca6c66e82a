"""Results are equal bit by bit wherever resamples are computed, and whoever dies meanwhile."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path

import attrs
import numpy as np
import pytest
from executor_bases import (
    Bounds,
    Deadly,
    Failing,
    Noise,
    array_flags,
    threads_in_use,
    total_of_parts,
    wait_long,
)

from fsframe.chains.chain import Chain
from fsframe.errors import DataError, EngineError, PluginError, RequestError
from fsframe.execution import Engine, open_engine
from fsframe.execution import engine as engines
from fsframe.execution.engine import Parcel, ProcessEngine, Shared, SharedValue, ValueMissing, fetch
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.resampling import dispatch
from fsframe.resampling.resamples import select_resamples
from fsframe.storage.checkpoint import Checkpoint
from fsframe.storage.unit_files import Manifest
from fsframe.table.dataset import Dataset
from tests.command_line import python

CHAINS = [
    "mim:top=3",
    "mim:top=6 relieff:k=3",
    "mrmr:top=4 npfs:n=3,permutations=4,alpha=0.3",
]
RUN = Run(entropy=5, key=(2,))


@pytest.mark.parametrize("text", CHAINS)
def test_two_processes_give_the_bits_of_one(bits, table, counts, two_processes, text):
    chain, few = Chain.parse(text), counts[:7]
    alone = bits(chain, table, few, RUN)
    assert bits(chain, table, few, attrs.evolve(RUN, executor=two_processes)) == alone
    assert bits(chain, table, few, attrs.evolve(RUN, threads=1)) == alone


def test_any_number_of_workers_and_any_batches_give_the_same_bits(bits, table, counts):
    alone = bits(Noise(), table, counts, RUN)
    for workers in (1, 3, 7):
        with ThreadPoolExecutor(workers) as pool:
            for pace in ({}, {f"{Noise()} 60x12": 0.2}, {f"{Noise()} 60x12": 1e-6}):
                run = attrs.evolve(RUN, executor=pool, pace=pace)
                assert bits(Noise(), table, counts, run) == alone


def test_tables_of_one_matrix_keep_their_own_roles(table):
    chain, counts = Chain.parse("anova-f:top=1"), np.ones((1, table.n_samples), dtype=np.int64)
    best = chain.select(table).selected.tolist()
    other = (best[0] + 1) % table.n_features
    kept = attrs.evolve(table, keep=np.arange(table.n_features) == other)
    with ThreadPoolExecutor(1) as pool, Engine(pool) as engine:
        run = attrs.evolve(RUN, executor=engine)
        (plain,), (found,) = (select_resamples(chain, t, counts, run) for t in (table, kept))
    assert plain.selected.tolist() == best and other in found.selected


def test_upstream_labels_and_names_reach_the_workers(bits, table, counts, two_processes):
    upstream = Selection(selected=[3, 1], scores=np.linspace(0, 1, 12))
    shuffled = table.with_labels(table.y[::-1])
    alone = bits(Noise(), shuffled, counts, RUN, upstream=upstream)
    run = attrs.evolve(RUN, executor=two_processes)
    assert bits(Noise(), shuffled, counts, run, upstream=upstream) == alone
    assert alone != bits(Noise(), table, counts, RUN, upstream=upstream)
    assert b"seen as table" in alone


def test_every_worker_has_the_whole_bound_on_memory(table, counts, two_processes):
    """Methods choose their way by it, so that dividing it would make workers change results."""
    run = Run(memory=123_456_789)
    for executor in (None, two_processes):
        surroundings = attrs.evolve(run, executor=executor)
        selections = select_resamples(Bounds(), table, counts, surroundings)
        assert {int(s.tables["memory"][0]) for s in selections} == {123_456_789}


def test_results_come_in_order_although_they_are_finished_in_another(table, counts):
    class Backwards(Executor):
        """Does what it is given last first."""

        _max_workers = 4

        def __init__(self) -> None:
            self.tasks: list = []

        def submit(self, function, *arguments):
            future: Future = Future()
            self.tasks.append((future, function, arguments))
            if len(self.tasks) == 4:
                self.work()
            return future

        def work(self) -> None:
            while self.tasks:
                future, function, arguments = self.tasks.pop()
                future.set_result(function(*arguments))

    executor = Backwards()
    with Engine(executor) as engine:
        engine.check = executor.work  # type: ignore[method-assign]
        result = list(select_resamples(Noise(), table, counts, attrs.evolve(RUN, executor=engine)))
    alone = list(select_resamples(Noise(), table, counts, RUN))
    assert [s.scores.tolist() for s in result] == [s.scores.tolist() for s in alone]


class Breaking(Engine):
    """Its pool breaks over the first of three tasks, and never does the others."""

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor, 3)
        self.lost: list[Future] = []
        self.replaced = self.looked = 0

    def submit(self, function, *arguments):
        if self.replaced:
            return self.executor.submit(function, *arguments)
        self.lost.append(Future())
        if len(self.lost) == 3:
            self.lost[0].set_exception(BrokenExecutor("gone"))
        return self.lost[-1]

    def replace_lost(self) -> bool:
        self.replaced += 1
        return True

    def check(self) -> None:
        self.looked += 1
        assert self.looked < 100, "what was lost is waited for"


def test_what_a_broken_pool_has_not_done_is_submitted_again():
    waiting = deque([-1, -2, -3])
    with ThreadPoolExecutor(1) as pool, Breaking(pool) as engine:
        jobs = dispatch.Jobs(
            engine=engine, waiting=waiting, take=waiting.popleft,
            call=lambda job: (abs, job.what), doing=str, ahead=lambda: 1,
        )  # fmt: skip
        assert dict(jobs.results()) == {-1: 1, -2: 2, -3: 3}
        assert engine.replaced == 1


def test_parts_that_nobody_asks_for_stay_behind_on_every_engine(table, counts, two_processes):
    for executor in (None, two_processes):
        run = attrs.evolve(RUN, executor=executor)
        bare = list(select_resamples(Noise(), table, counts, run, parts=()))
        assert all(np.isnan(s.scores).all() and not s.tables and not s.model for s in bare)
        usual = next(iter(select_resamples(Noise(), table, counts, run)))
        assert "order" in usual.tables
        assert not usual.model


class Recording(Engine):
    """Counts the bytes of what it sends, and forgets what its workers were given."""

    def __init__(self, executor: Executor, *, mappable: bool) -> None:
        super().__init__(executor, 2)
        self.mappable = mappable
        self.sent: list[int] = []

    def submit(self, function, *arguments):
        self.sent.append(len(pickle.dumps(arguments)))
        return super().submit(function, *arguments)


@pytest.mark.parametrize("mappable", [True, False])
def test_a_table_is_sent_to_each_worker_once_at_most(bits, counts, two_processes, mappable):
    big = Dataset.from_arrays(np.random.default_rng(0).normal(size=(60, 20_000)), np.arange(60) % 2)
    size = big.X.nbytes
    alone = bits(Noise(), big, counts, RUN, parts=())
    with Recording(two_processes.executor, mappable=mappable) as engine:
        run = attrs.evolve(RUN, executor=engine)
        assert bits(Noise(), big, counts, run, parts=()) == alone
        # Other labels, other calls: the table stays where it is.
        for shift in range(3):
            again = big.with_labels((big.y + shift) % 2)
            assert bits(Noise(), again, counts, run, parts=())
        whole = sum(sent >= size for sent in engine.sent)
        # A worker that lacks the table says so; every task under way then may bring it.
        most = 0 if mappable and hasattr(os, "memfd_create") else 4 * engine.workers
        assert whole <= most
        assert sum(engine.sent) < (whole + 1) * (size + 1_000_000)


def test_a_shared_value_is_mapped_only_where_it_is_what_it_says():
    held = SharedValue({"x": np.arange(5)}, mappable=True)
    shared = held.shared
    assert fetch(shared)["x"].tolist() == [0, 1, 2, 3, 4]
    held.release()
    for changed in (
        attrs.evolve(shared, token="f" * 32),
        attrs.evolve(shared, token="e" * 32, machine="another"),
        attrs.evolve(shared, token="d" * 32, descriptor=None),
        Shared(token="c" * 32, pid=os.getpid(), machine=shared.machine, descriptor=0, sizes=(32,)),
    ):
        with pytest.raises(ValueMissing):
            fetch(changed)
    assert fetch(Parcel("b" * 32, "value")) == "value"


def test_arrays_in_shared_memory_are_read_only_and_aligned(two_processes):
    held = two_processes.share((np.arange(3.0), b"odd", np.ones((7, 3))))
    flags = two_processes.submit(array_flags, held.shared).result(600)
    held.release()
    assert flags == [(False, True), (False, True)]


def lives(folder: Path, number: int) -> str:
    for k in range(number):
        (folder / f"life-{k}").touch()
    return str(folder)


@pytest.mark.parametrize("deaths", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_dead_worker_is_replaced_and_the_bits_are_the_same(bits, table, counts, tmp_path, deaths):
    base = Deadly(part=6, folder=lives(tmp_path, deaths))
    alone = bits(Noise(), table, counts, RUN)
    with ProcessEngine(2) as engine:
        run = attrs.evolve(RUN, executor=engine)
        assert bits(base, table, counts, run) == alone
    assert list(tmp_path.iterdir()) == []


def test_parts_of_a_killed_worker_are_counted_again(tmp_path, two_processes):
    with ProcessEngine(1) as engine:
        run = attrs.evolve(RUN, executor=engine)
        result = list(dispatch.over_parts(run, total_of_parts, tmp_path, range(8), 1))
    assert sum(result) == 28
    assert (tmp_path / "killed").exists()
    run = attrs.evolve(RUN, executor=two_processes.executor)
    assert sum(dispatch.over_parts(run, total_of_parts, tmp_path, range(8), 1)) == 28


def test_a_worker_of_another_version_counts_nothing(tmp_path, monkeypatch):
    other = {"numpy": "0.1", "plugin infotheory": "9"}
    monkeypatch.setattr(dispatch, "needed_by", lambda work: other)
    told = "numpy .*, not 0.1.*plugin infotheory"
    with ThreadPoolExecutor(2) as pool, pytest.raises(EngineError, match=told):
        run = attrs.evolve(RUN, executor=pool)
        list(dispatch.over_parts(run, total_of_parts, tmp_path, [5, 6], 1))


def test_resamples_that_kill_every_worker_are_named_in_the_end(bits, table, counts, tmp_path):
    base = Deadly(part=6, folder=lives(tmp_path, 50))
    with (
        ProcessEngine(1) as engine,
        pytest.raises(EngineError, match="died 3 times") as caught,
    ):
        bits(base, table, counts, attrs.evolve(RUN, executor=engine))
    [(first, last)] = re.findall(r"resamples (\d+)–(\d+);", str(caught.value))
    assert int(first) <= 7 <= int(last)
    assert "--workers" in str(caught.value)


def test_an_executor_that_was_shut_down_is_reported_as_one_that_breaks(table):
    pool = ThreadPoolExecutor(2)
    pool.shutdown()
    with pytest.raises(EngineError, match=r"executor broke .*after shutdown.*with a new one"):
        Chain.parse("mim:top=3 npfs:n=6").run(table, executor=pool)
    with pytest.raises(EngineError, match="executor broke"):
        run = attrs.evolve(RUN, executor=pool)
        list(dispatch.over_parts(run, total_of_parts, ".", [5, 6], 1))


def test_a_strangers_executor_that_breaks_is_reported_and_what_is_finished_is_kept(
    table, counts, tmp_path
):
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    (tmp_path / "lives").mkdir()
    base = Deadly(part=20, folder=lives(tmp_path / "lives", 1))
    manifest = Manifest(chain="x", seed=0, sha256="", software={})
    spawn = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(1, mp_context=spawn) as pool,
        Checkpoint.open(tmp_path / "run.h5", manifest, every=0) as checkpoint,
    ):
        run = attrs.evolve(RUN, executor=pool, checkpoint=checkpoint)
        with pytest.raises(EngineError, match="executor broke"):
            list(select_resamples(base, table, counts, run))
    with Checkpoint.open(tmp_path / "run.h5", manifest) as checkpoint:
        assert checkpoint.n_parts >= 1
        run = attrs.evolve(RUN, checkpoint=checkpoint)
        result = list(select_resamples(base, table, counts, run))
    alone = list(select_resamples(Noise(), table, counts, RUN))
    assert [s.scores.tolist() for s in result] == [s.scores.tolist() for s in alone]


@pytest.mark.parametrize(
    ("how", "kind", "text"),
    [
        ("ours", DataError, "part 3 is no good"),
        ("plain", ZeroDivisionError, "part 3 divides"),
        ("unsendable", PluginError, "Unsendable: this and that"),
    ],
)
def test_what_a_worker_raises_is_raised_here(bits, table, counts, two_processes, how, kind, text):
    run = attrs.evolve(RUN, executor=two_processes)
    with pytest.raises(kind, match=text):
        bits(Failing(how=how), table, counts, run)
    # The engine is as good as before.
    assert bits(Noise(), table, counts, run) == bits(Noise(), table, counts, RUN)


def test_a_method_that_workers_cannot_find_is_reported(bits, table, counts, two_processes):
    @attrs.frozen(kw_only=True)
    class Local(Selector):
        def _select(self, data, upstream, run):
            return Selection(selected=[0], scores=np.zeros(data.n_features))

    with pytest.raises(RequestError, match="plugin"):
        bits(Local(), table, counts, attrs.evolve(RUN, executor=two_processes))


def test_a_consumer_that_stops_early_leaves_nothing_running(table, counts):
    with ThreadPoolExecutor(2) as pool:
        run = attrs.evolve(RUN, executor=pool)
        selections = select_resamples(Noise(seconds=0.02), table, counts, run)
        next(selections)
        selections.close()
        assert pool.submit(int).result(600) == 0
    seen = []
    run = attrs.evolve(RUN, listener=lambda progress: seen.append(progress.done))
    selections = select_resamples(Noise(), table, counts, run)
    next(selections)
    selections.close()
    assert max(seen, default=0) <= 1


def test_workers_have_one_thread_and_leave_ctrl_c_to_the_parent(two_processes):
    threads, numba_threads, on_interrupt = two_processes.submit(threads_in_use).result(600)
    assert set(threads) == {1}
    assert numba_threads == "1"
    assert on_interrupt == str(signal.SIG_IGN)


def test_killing_an_engine_ends_its_workers_at_once():
    engine = ProcessEngine(2)
    futures = [engine.submit(wait_long) for _ in range(2)]
    while not all(future.running() for future in futures):
        time.sleep(0.01)
    processes = list(engine.executor._processes.values())
    engine.kill()
    assert not any(process.is_alive() for process in processes)
    assert not engine.replace_lost()
    engine.close()


PARENT = """
import sys, time
sys.path.insert(0, {path!r})
from executor_bases import wait_long
from fsframe.execution.engine import ProcessEngine
if __name__ == "__main__":
    engine = ProcessEngine(2)
    futures = [engine.submit(wait_long) for _ in range(2)]
    while len(engine.executor._processes) < 2:
        time.sleep(0.01)
    print(*engine.executor._processes, flush=True)
    time.sleep(100)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_workers_end_with_a_parent_that_was_killed(tmp_path):
    script = tmp_path / "parent.py"
    path = str(Path(__file__).with_name("importable"))
    script.write_text(PARENT.format(path=path))
    parent = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    parent.stdout.close()
    parent.kill()
    parent.wait()
    assert len(workers) == 2
    give_up = time.monotonic() + 600
    while any(running(pid) for pid in workers):
        assert time.monotonic() < give_up, "workers outlive their parent"
        time.sleep(0.02)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (("daks", None, None), r"there is no engine 'daks'\. Did you mean `dask`\?"),
        (("serial", 2, None), "number of workers is for engines such as processes"),
        (("processes", None, "tcp://x"), "scheduler is for engines such as dask"),
        (
            ("dask", 2, "tcp://x"),
            "number of workers is for engines such as processes, not for dask",
        ),
        (("dask", None, None), "needs the address"),
    ],
)
def test_engines_that_make_no_sense_are_refused(request_, reason):
    with pytest.raises(RequestError, match=reason), open_engine(*request_):
        pass


def test_the_engine_is_what_is_asked_for():
    with open_engine() as engine:
        assert engine is None
    with open_engine(workers=3) as engine:
        assert isinstance(engine, ProcessEngine)
        assert engine.workers == 3


def test_no_more_workers_are_started_than_processors_can_use(monkeypatch, capsys):
    monkeypatch.setattr(engines, "_FEW", 1)
    monkeypatch.setattr(engines, "available_processors", lambda: 1)
    with open_engine(workers=1000) as engine:
        assert engine is not None and engine.workers == 1
    assert "1 worker started, not 1000" in capsys.readouterr().err


SCRIPT = """
import numpy as np
import fsframe
from fsframe.resampling import dispatch

dispatch._MOST_DEATHS = 1

data = fsframe.Dataset.from_arrays(np.random.default_rng(0).normal(size=(60, 8)), [0, 1] * 30)
fsframe.select("mim:top=3 npfs:n=20,null=published", data, workers=1, progress=False)
"""


def test_a_script_without_a_guard_gets_a_message_about_it(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    said = python(path, code=1).err
    assert 'put its actions under `if __name__ == "__main__":`' in said.splitlines()[-1]
    assert "memory" not in said.splitlines()[-1]
    assert "bootstrapping phase" not in said and len(said.splitlines()) < 100
