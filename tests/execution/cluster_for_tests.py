"""A real cluster on this machine: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any
from unittest import mock

from fsframe.execution import Engine, open_engine

PRELOADED = [
    "pytest",
    "distributed.cli.dask_scheduler",
    "distributed.cli.dask_worker",
    "fsframe.resampling.dispatch",
    "numba",
]


class Program(subprocess.Popen[bytes]):
    """A new interpreter, which is asked and ended as a process of `multiprocessing` is."""

    def is_alive(self) -> bool:
        return self.poll() is None

    def join(self) -> None:
        self.wait()


@functools.cache
def forking() -> ForkServerContext | None:
    """What starts processes that have imported dask already, which takes each some seconds."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return None
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with mock.patch.dict(os.environ, OPENBLAS_NUM_THREADS="1"):
        forkserver.ensure_running()
    return context


def end_with_parent() -> None:
    """Wait for the end of the tests, which may have been killed, and end this process."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def run_dask(what: str, arguments: tuple[str, ...], folder: Path, path: str) -> None:
    """In a process of its own: a scheduler or a worker, as by its command, while tests run."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    os.chdir(folder)
    sys.path[:0] = filter(None, path.split(os.pathsep))
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silence, stream)
    importlib.import_module(f"distributed.cli.dask_{what}").main(arguments)


class Cluster:
    """A scheduler and workers, each a process of its own; the first two find what tests import."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        address = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show",
            "--scheduler-file", str(address),
        )  # fmt: skip
        while not address.exists() or '"address"' not in address.read_text():
            assert self.scheduler.is_alive(), "the scheduler did not start"
            time.sleep(0.02)
        self.address: str = json.loads(address.read_text())["address"]
        self.workers = [self.worker() for _ in range(workers)]

    def worker(
        self, *options: str, path: str = "", **variables: str
    ) -> Program | ForkServerProcess:
        """A new worker, which looks for modules at `path` first, with more in its environment."""
        always = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        return self._start("worker", self.address, *always, *options, path=path, **variables)

    def _start(
        self, what: str, *arguments: str, path: str = "", **variables: str
    ) -> Program | ForkServerProcess:
        context = forking()
        if context is not None and not variables:
            forked = context.Process(
                target=run_dask, args=(what, arguments, self.folder, path), daemon=True
            )
            forked.start()
            return forked
        importable = str(Path(__file__).with_name("importable"))
        usual = os.environ.get("PYTHONPATH", "")
        places = os.pathsep.join(place for place in (path, importable, usual) if place)
        return Program(
            [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": places, "OPENBLAS_NUM_THREADS": "1", **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @contextlib.contextmanager
    def engine(self, workers: int = 2, **options: Any) -> Iterator[Engine]:
        """An engine on this cluster, as soon as so many workers have come."""
        with open_engine(scheduler=self.address, **options) as engine:
            assert engine is not None
            self.wait_for(engine, workers)
            yield engine

    def wait_for(self, engine: Any, workers: int) -> None:
        give_up = time.monotonic() + 600
        while sum(engine._client.nthreads().values()) != workers:
            assert time.monotonic() < give_up, "the workers did not come"
            time.sleep(0.05)

    def kill(self, place: int) -> None:
        self.workers[place].kill()
        self.workers[place].join()

    def replace_lost(self) -> None:
        """Start a worker for each that is no more."""
        for place, worker in enumerate(self.workers):
            if not worker.is_alive():
                self.workers[place] = self.worker()

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.join()
