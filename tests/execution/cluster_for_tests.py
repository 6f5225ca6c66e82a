"""A real cluster on this machine: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fsframe.execution import Engine, open_engine


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
            assert self.scheduler.poll() is None, "the scheduler did not start"
            time.sleep(0.02)
        self.address: str = json.loads(address.read_text())["address"]
        self.workers = [self.worker() for _ in range(workers)]

    def worker(self, *options: str, path: str = "", **variables: str) -> subprocess.Popen[bytes]:
        """A new worker, which looks for modules at `path` first, with more in its environment."""
        always = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        return self._start("worker", self.address, *always, *options, path=path, **variables)

    def _start(
        self, what: str, *arguments: str, path: str = "", **variables: str
    ) -> subprocess.Popen[bytes]:
        importable = str(Path(__file__).with_name("importable"))
        places = os.pathsep.join(place for place in (path, importable) if place)
        return subprocess.Popen(
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
        self.workers[place].wait()

    def replace_lost(self) -> None:
        """Start a worker for each that is no more."""
        for place, worker in enumerate(self.workers):
            if worker.poll() is not None:
                self.workers[place] = self.worker()

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
