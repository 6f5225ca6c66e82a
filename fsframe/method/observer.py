"""Contract of observers of runs, such as a logger or an experiment tracker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fsframe.errors import one_line

__all__ = ["Observer", "Observers"]


class Observer:
    """Base class of observers of runs; its methods do nothing unless overridden.

    One object is made for each run. Its methods are called in the process that runs the chain, one
    at a time, in the order of events. Their return values are not used. An exception becomes a
    warning of the run (an `FsframeWarning` in `run_ended`, when the record is complete) and ends
    further calls. Observers must not change the objects they are given.

    Examples
    --------
    >>> class Names(Observer):
    ...     def run_began(self, run):
    ...         print(run["chain"], run["seed"])
    >>> observers = Observers([Names()])
    >>> observers.notify("run_began", {"chain": "mim:top=3", "seed": 0})
    mim:top=3 0
    """

    def run_began(self, run: Mapping[str, Any]) -> None:
        """A run begins: `chain`, `data`, `sha256`, `n_samples`, `n_features`, `seed`, `out`."""

    def unit_kept(self, unit: Mapping[str, Any]) -> None:
        """Resamples `start` to `stop` (exclusive) of `call` have been written to disk.

        Not called for runs without a run file, which have no checkpoint.
        """

    def stage_ended(self, number: int, stage: Any) -> None:
        """Stage `number`, from 0, has finished, with its `StageRecord`.

        `stage.selection` is None for a classifier. `stage.digest()` reads all arrays, which takes
        time if they are large.
        """

    def run_ended(self, record: Any) -> None:
        """The run has finished, with its `RunRecord`, written to its file if there is one."""

    def run_failed(self, error: BaseException) -> None:
        """The run ended with an exception, possibly an interrupt."""


class Observers:
    """The observers of one run, called in turn.

    Parameters
    ----------
    observers : iterable of Observer
    """

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._active = list(observers)
        self.warnings: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._active)

    def notify(self, what: str, *about: Any) -> None:
        """Call the method `what` of each observer; one that raises is not called again."""
        for observer in tuple(self._active):
            try:
                getattr(observer, what)(*about)
            except Exception as error:
                self._active.remove(observer)
                name = type(observer).__qualname__
                self.warnings.append(
                    f"the observer {name} failed in {what} and was disabled: {one_line(error)}"
                )

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Report an exception that ends the run, and re-raise it."""
        try:
            yield
        except BaseException as error:
            self.notify("run_failed", error)
            raise
