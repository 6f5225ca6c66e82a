"""A cluster of machines through dask.distributed."""

from __future__ import annotations

import contextlib
import inspect
import logging
import math
import time
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError, Executor, Future, wait
from typing import Any

import attrs

from fsframe.errors import EngineError, RequestError, one_line
from fsframe.execution.engine import (
    PATIENCE,
    Engine,
    EngineOptions,
    Scattered,
    SharedValue,
    call_in_thread,
    call_with_timeout,
    check_classes,
    differences,
    found_here,
    refusal,
)
from fsframe.registry.manager import needed
from fsframe.storage.encoding import NUMERIC_PARTS, fingerprint
from fsframe.text import printable

_COUNT_SECONDS = 3
# Time allowed for sending a table, and for cancelling tasks.
_SEND_SECONDS = 900
_CANCEL_SECONDS = 1
# A transfer that failed is tried again after this time.
_RETRY_SECONDS = 0.2
_NOTICE_SECONDS = 2
# After this time without a finished task, check repeatedly whether workers are busy.
_QUIET_SECONDS = 10
_LOOK_SECONDS = 5
_IDLE_LOOKS = 3
_ALONE_SECONDS = 300
_GONE = ("lost", "cancelled", "error")
_MOST_LISTED = 5


@attrs.define(eq=False)
class _Worker:
    """A worker of the cluster.

    `answer` holds its versions, `differing` how they differ (None until it answers); `seen` is the
    time of its last heartbeat according to the scheduler, `silent` the seconds since it changed.
    """

    address: str
    name: str
    threads: int
    answer: Future[dict[str, str]]
    differing: list[str] | None = None
    seen: Any = None
    silent: float = 0.0

    def __str__(self) -> str:
        named = f"{printable(self.name)} at " if self.name != self.address else ""
        return f"{named}{self.address}"


class ClusterEngine(Engine):
    """The workers of a dask cluster; tables are scattered to each of them once.

    Parameters
    ----------
    client : distributed.Client
    owned : bool
        Whether `close` closes the client.
    patience : float
        Seconds that the scheduler may take to answer, and that a worker may be without a heartbeat
        before others do its work.
    mixed : bool
        Whether workers with another kind of processor, or other BLAS kernels, are accepted.

    Notes
    -----
    Only workers with the versions and the numeric fingerprint of this process get work; with
    `mixed`, the fingerprint may differ, and the run records it. The scheduler itself reassigns the
    tasks of a dead worker, but takes minutes to notice one that is stopped; here its tasks are
    submitted again, to others, after `patience` seconds without a heartbeat. If the scheduler dies,
    results that were not yet fetched are lost; the run ends with EngineError and can be resumed
    from what was committed.
    """

    takes = frozenset({"scheduler"})
    mappable = False
    least_seconds = 0.2

    @classmethod
    def open(cls, options: EngineOptions) -> ClusterEngine:
        """The engine of the cluster whose scheduler is at that address.

        Raises
        ------
        RequestError
            If no address is given, or dask.distributed is not installed.
        EngineError
            If the scheduler does not answer within the patience.
        """
        if not options.scheduler:
            raise RequestError(
                "the engine dask needs the address of a scheduler, such as "
                "scheduler tcp://10.0.0.1:8786 (--scheduler)"
            )
        try:
            from distributed import Client
        except ImportError:
            raise RequestError(needed("the engine dask", "distributed")) from None
        # We report a lost scheduler in one sentence, without the tracebacks of dask.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            with warnings.catch_warnings():
                # We check versions ourselves.
                warnings.simplefilter("ignore")
                client = Client(options.scheduler, timeout=options.patience, set_as_default=False)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise EngineError(
                f"cannot reach a dask scheduler at {options.scheduler}: {reason}"
            ) from error
        return cls(client, owned=True, patience=options.patience, mixed=options.mixed)

    def __init__(
        self, client: Any, *, owned: bool, patience: float = PATIENCE, mixed: bool = False
    ) -> None:
        super().__init__(client.get_executor(pure=False))
        self.mixed = mixed
        self._other_numerics: dict[str, None] = {}
        self._client = client
        self._owned = owned
        self._patience = patience
        self._executors: list[Executor] = []
        self._scattered: dict[str, Any] = {}
        self._needed: dict[str, str] = {}
        self._known: dict[tuple[str, str], _Worker] = {}
        self._fit: tuple[str, ...] = ()
        self._counted = -math.inf
        self._looked = self._staffed = -math.inf
        self._idle = self._stalls = 0
        self._left = False
        # Whether values are sent to all workers at once.
        self._copies = True

    def admit(self, needed: Mapping[str, str]) -> None:
        """Ask every worker for its versions; EngineError names those that differ."""
        check_classes(needed, program=False)
        if all(self._needed.get(name) == version for name, version in needed.items()):
            return
        here = {name: fingerprint()[name] for name in NUMERIC_PARTS}
        before, self._needed = self._needed, self._needed | here | dict(needed)
        self._known.clear()
        self._look()
        wait([worker.answer for worker in self._known.values()], self._patience)
        # Drop workers that have died meanwhile.
        self._look()
        self._judge(quiet=True)
        for worker in self._known.values():
            if worker.differing is None:
                self.tell(f"the worker {worker} does not answer: it gets no work until it does")
        wrong = [refusal(str(w), w.differing) for w in self._known.values() if w.differing]
        if wrong:
            self._needed = before
            more = f"; and {len(wrong) - _MOST_LISTED} more" if len(wrong) > _MOST_LISTED else ""
            raise EngineError("; ".join(wrong[:_MOST_LISTED]) + more)

    def other_numerics(self) -> tuple[str, ...]:
        """Differences of the workers' numeric fingerprints from that of this process."""
        return tuple(self._other_numerics)

    @property
    def workers(self) -> int:
        """Number of threads of all workers that are accepted now."""
        self._refresh()
        threads = (w.threads for w in self._known.values() if w.address in self._fit)
        return max(1, sum(threads))

    @property
    def ready(self) -> bool:
        """Whether there is a worker with the right versions and a recent heartbeat."""
        self._refresh()
        return bool(self._fit)

    def _refresh(self) -> None:
        """Update and judge the list of workers, unless that was done moments ago."""
        self.check()
        # Asking takes a round trip, and workers rarely change.
        if time.monotonic() - self._counted > min(_COUNT_SECONDS, self._patience / 4):
            self._look()
            self._judge()

    def _look(self) -> None:
        """Update the list of workers and their heartbeats."""
        info = self._client.scheduler_info
        # Recent releases list only some workers by default.
        listed = {"n_workers": -1} if "n_workers" in inspect.signature(info).parameters else {}
        workers = self._ask(self._patience, info, **listed)["workers"]
        now = time.monotonic()
        # If the scheduler or this process was busy or stopped, workers are not to blame.
        passed = min(now - self._counted, 2.0 * min(_COUNT_SECONDS, self._patience / 4))
        self._counted = now
        known: dict[tuple[str, str], _Worker] = {}
        for address, facts in workers.items():
            # An address may be used again; the folder of a worker is unique.
            key = (str(address), str(facts.get("local_directory", "")))
            worker = self._known.get(key)
            if worker is None:
                answer = call_in_thread(_versions, self._client, address, tuple(self._needed))
                if not self._needed:
                    wait([answer])
                name = str(facts.get("name", address))
                worker = _Worker(address, name, int(facts["nthreads"]), answer)
            seen = facts.get("last_seen")
            worker.silent = 0.0 if seen != worker.seen else worker.silent + passed
            worker.seen, worker.threads = seen, int(facts["nthreads"])
            known[key] = worker
        self._known = known

    def _judge(self, *, quiet: bool = False) -> None:
        """Decide which workers are accepted, and report the others."""
        for worker in self._known.values():
            if worker.differing is None and worker.answer.done():
                worker.differing = self._differences_of(worker)
                if worker.differing and not quiet:
                    self.tell(f"{refusal(str(worker), worker.differing)}; it is given no work")
        fit = {
            worker.address: worker
            for worker in self._known.values()
            if worker.differing == [] and worker.silent < self._patience
        }
        if fit.keys() == set(self._fit):
            return
        for worker in self._known.values():
            if worker.address in self._fit and worker.address not in fit:
                # Workers with other versions are reported elsewhere.
                if not worker.differing:
                    self.tell(
                        f"the worker {worker} has been silent for {self._patience:g} s: others "
                        "take over its work"
                    )
                # It still has tables and tasks.
                self._left = True
        # Submitted tasks may be restricted to workers that are gone.
        self._left = self._left or bool(self._fit and not fit.keys() & set(self._fit))
        self._fit = tuple(sorted(fit))
        self.executor = self._client.get_executor(
            pure=False, workers=list(self._fit), allow_other_workers=False
        )
        self._executors.append(self.executor)

    def _differences_of(self, worker: _Worker) -> list[str]:
        """Why a worker that has answered is not accepted; empty if it is."""
        phrases = _differing(self._needed, worker.answer)
        if not self.mixed or not phrases:
            return phrases
        without = {name: v for name, v in self._needed.items() if name not in NUMERIC_PARTS}
        others = _differing(without, worker.answer)
        self._other_numerics |= dict.fromkeys(each for each in phrases if each not in others)
        return others

    def reference(self, held: SharedValue, *, whole: bool) -> Any:
        """The future of the scattered value; scattered again if its workers were lost."""
        token = held.shared.token
        future = self._scattered.get(token)
        if future is None or future.status in _GONE:
            self.check()
            future = self._scattered[token] = self._send(Scattered(token, held.value))
        # The cluster releases a value with its last future.
        for gone in [known for known in self._scattered if not SharedValue.holds(known)]:
            del self._scattered[gone]
        return future

    def _send(self, value: Scattered) -> Any:
        """Scatter a value and return its future; send it again if a worker falls silent.

        The scheduler may wait forever for a worker that died and came back during the transfer, and
        blocks other transfers until then. So the value is sent again after a time that doubles with
        each attempt (large values arrive in the end), to a single worker, from which others fetch
        it when they need it.
        """
        began = time.monotonic()
        allowed = self._patience
        since: float | None = None
        while True:
            targets, sending = self._fit, time.monotonic()
            sent = call_in_thread(
                self._client.scatter,
                value,
                workers=list(targets),
                broadcast=self._copies,
                hash=False,
            )
            while not sent.done():
                wait([sent], min(1.0, self._patience / 4))
                left = _SEND_SECONDS - (time.monotonic() - began)
                if left <= 0:
                    raise EngineError(
                        f"the dask cluster does not answer (no answer within {_SEND_SECONDS:g} s)"
                    )
                if not sent.done():
                    self._refresh()
                    late = time.monotonic() - sending > allowed
                    if late or not set(targets) <= set(self._fit):
                        allowed *= 2 if late else 1
                        self._copies = False
                        break
            if sent.done():
                if sent.exception() is None:
                    return sent.result()
                # Some may have died during the transfer.
                self._counted = -math.inf
                self._refresh()
                if set(targets) <= set(self._fit):
                    # The scheduler learns of a death later than the transfer does.
                    since = sending if since is None else since
                    if time.monotonic() - since > self._patience:
                        return self._ask(_SEND_SECONDS, sent.result)
                    time.sleep(_RETRY_SECONDS)
                else:
                    since = None
            while not self._fit:
                if time.monotonic() - began > _ALONE_SECONDS:
                    raise EngineError("no worker of the cluster answers any more")
                time.sleep(min(1.0, self._patience / 4))
                self._refresh()

    def _ask(self, seconds: float, question: Any, *arguments: Any, **options: Any) -> Any:
        """The scheduler's answer; EngineError if it is gone, late, or answers with an error."""
        try:
            return call_with_timeout(seconds, question, *arguments, **options)
        except TimeoutError as error:
            # Our timeout, or that of dask, which waits for a first worker.
            raise EngineError(f"the dask cluster does not answer ({error})") from error
        except (OSError, RuntimeError, CancelledError) as error:
            # A client learns within moments that its scheduler is gone.
            until = time.monotonic() + _NOTICE_SECONDS
            while self._client.status == "running" and time.monotonic() < until:
                time.sleep(_NOTICE_SECONDS / 20)
            self.check()
            raise EngineError(
                f"the dask cluster answers with an error ({one_line(error)})"
            ) from error

    def stalled(self, seconds: float) -> bool:
        """Whether no worker is busy with the submitted tasks, so they should be resubmitted.

        Raises
        ------
        EngineError
            If there has been no worker for five minutes, or submitting again did not help.
        """
        if self._lost_tables():
            return True
        now = time.monotonic()
        if seconds < _QUIET_SECONDS:
            self._staffed, self._idle = now, 0
            if seconds == 0:
                self._stalls = 0
            return False
        if now - self._looked < _LOOK_SECONDS:
            return False
        self._looked = now
        if not self.ready:
            if now - self._staffed > _ALONE_SECONDS:
                refused = [
                    refusal(str(w), w.differing) for w in self._known.values() if w.differing
                ]
                raise EngineError(
                    f"the cluster has had no worker for {_ALONE_SECONDS} s"
                    + "".join(f" ({text})" for text in refused[:_MOST_LISTED])
                )
            return False
        at_work = self._ask(self._patience, self._client.processing)
        self._staffed = now
        self._idle = 0 if any(at_work.values()) else self._idle + 1
        if self._idle < _IDLE_LOOKS:
            return False
        self._idle, self._stalls = 0, self._stalls + 1
        if self._stalls >= _IDLE_LOOKS:
            raise EngineError("the workers of the cluster are idle, but tasks do not come back")
        return True

    def cancel(self, futures: Iterable[Future[Any]]) -> None:
        """As in the base class, with a timeout of a second: the scheduler may be gone."""
        with contextlib.suppress(Exception):
            call_with_timeout(_CANCEL_SECONDS, super().cancel, list(futures))

    def died(self, error: BaseException) -> bool:
        """As in the base class; dask also gives up tasks whose workers died several times."""
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        return super().died(error) or isinstance(error, (KilledWorker, CommClosedError))

    def _lost_tables(self) -> bool:
        """Whether submitted tasks wait for a lost table, or for workers that are gone."""
        if self._left:
            # Others may be waiting for a table from a silent worker.
            self._left = False
            self._scattered.clear()
            return True
        gone = [token for token, future in self._scattered.items() if future.status in _GONE]
        for token in gone:
            del self._scattered[token]
        return bool(gone)

    def check(self) -> None:
        """Raise EngineError if the scheduler is gone."""
        if self._client.status != "running":
            raise EngineError("the connection to the dask scheduler is lost")

    def kill(self) -> None:
        """Cancel all tasks on the cluster."""
        with contextlib.suppress(Exception):
            for executor in self._executors:
                call_with_timeout(_CANCEL_SECONDS, executor.shutdown, wait=False)

    def close(self) -> None:
        """Release scattered values, and close the client if it is ours."""
        super().close()
        self._scattered.clear()
        if self._owned:
            with contextlib.suppress(Exception):
                call_with_timeout(3, self._client.close, timeout=2)


def _versions(client: Any, address: str, names: tuple[str, ...]) -> dict[str, str]:
    """The versions of `names` on a worker; only that of fsframe if it cannot report them."""
    from importlib.metadata import version

    if not names:
        return {}
    # Not as a task: the worker may be busy.
    answer = client.run(found_here, names, workers=[address], on_error="return")[address]
    if not isinstance(answer, BaseException):
        return dict(answer)
    alone = client.run(version, "fsframe", workers=[address], on_error="return")[address]
    if isinstance(alone, BaseException):
        return {"fsframe": f"unknown ({one_line(alone)})"}
    # Report the import error, even if fsframe has the same version.
    return {"fsframe": f"{alone}, which does not answer ({one_line(answer)})"}


def _differing(needed: Mapping[str, str], answer: Future[dict[str, str]]) -> list[str]:
    """Differences of the versions of a worker from those needed."""
    error = answer.exception()
    if error is not None:
        return [f"versions that it does not report ({one_line(error)})"]
    return differences(needed, answer.result())
