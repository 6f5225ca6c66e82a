"""Progress bars in terminals and notebooks, and a note about work that will take minutes."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TextIO

from fsframe.text import clearing_progress, duration, wait_shown

if TYPE_CHECKING:
    from fsframe.method.run import Progress

_AFTER = 2.0
_EVERY = 0.1
_WIDTH = 24
_ENOUGH, MINUTE = 20.0, 60.0
_ERASE, _SHOW_CURSOR = "\r\033[K", "\033[?25h"


class ProgressBars:
    """A listener that shows how much is done and the remaining time.

    Parameters
    ----------
    stream : text stream
        stderr by default; a bar is drawn on a terminal only.
    after : float
        Seconds before anything is shown: short runs show nothing.
    notebook : bool, optional
        Whether to draw with ``tqdm.auto``, a bar made for notebooks; by default if this is a
        notebook and tqdm is installed.

    Notes
    -----
    One bar is shown at a time, that of the work that reported last. Remarks on stderr get lines of
    their own (`fsframe.text`).
    """

    def __init__(
        self, stream: TextIO | None = None, after: float = _AFTER, notebook: bool | None = None
    ) -> None:
        target = sys.stderr if stream is None else stream
        if notebook is None:
            notebook = in_notebook() and find_spec("tqdm") is not None
        self._make: Callable[[str, int], _Bar] | None = None
        if notebook:
            self._make = _NotebookBar
        elif target is not None and target.isatty():
            self._make = lambda label, total: _TerminalBar(label, total, target)
        self._begun = time.monotonic()
        self._after = after
        self._part = ""
        self._bars: dict[tuple[str, tuple[int, ...]], _Bar] = {}
        self._shown: _Bar | None = None
        self._drawn = 0.0

    def __call__(self, progress: Progress) -> None:
        if self._make is None:
            return
        which = (progress.label, progress.key)
        now = time.monotonic()
        if which not in self._bars:
            # Made before it is shown, so that its rate covers all of its work.
            self._bars[which] = self._make(self._part + progress.label, progress.total)
        bar, last = self._bars[which], progress.done >= progress.total
        if (
            wait_shown()
            or now - self._begun < self._after
            or (now - self._drawn < _EVERY and not last)
        ):
            return
        self._drawn = now
        if self._shown is not bar:
            self.close()
            self._shown = bar
        bar.show(progress.done)

    def begin_part(self, part: str) -> None:
        """Start one of several runs, such as ``run 2 of 14``, which its bars name."""
        self.close()
        self._bars.clear()
        self._part = f"{part}, "

    def close(self) -> None:
        """Erase the bar, so that other output starts on an empty line."""
        if self._shown is not None:
            self._shown.wipe()
            self._shown = None

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Context in which remarks, and its end, erase the bar."""
        try:
            with clearing_progress(self.close):
                yield
        finally:
            self.close()


class Pace:
    """A listener that tells once how long work may still take, if that is a minute or more.

    Time is measured for twenty seconds after the first unit, which also compiles kernels and
    encodes columns. Work within other work is not measured.

    Parameters
    ----------
    tell : callable
        Called with the note.
    hint : str
        The end of the note, such as a way to shorten the work.
    """

    def __init__(self, tell: Callable[[str], None], hint: str = "") -> None:
        self._tell, self._hint = tell, hint
        self._begun: dict[tuple[str, tuple[int, ...]], tuple[float, int]] = {}
        self._told = False

    def __call__(self, progress: Progress) -> None:
        which, done, now = (progress.label, progress.key), progress.done, time.monotonic()
        outer = (key for label, key in self._begun if len(key) < len(progress.key))
        if self._told or any(progress.key[: len(key)] == key for key in outer):
            return
        if done >= progress.total:
            self._begun.pop(which, None)
            return
        began, first = self._begun.setdefault(which, (now, done))
        if not first:
            self._begun[which] = now, done
        elif now - began >= _ENOUGH and done > first:
            rest = (now - began) / (done - first) * (progress.total - done)
            if rest >= MINUTE:
                self._told = True
                about = f"{progress.label}: {done} of {progress.total}, about {duration(rest)}"
                self._tell(f"{about} remain{'; ' * bool(self._hint)}{self._hint}")


class _TerminalBar:
    """click's bar."""

    def __init__(self, label: str, total: int, stream: TextIO) -> None:
        import click

        self._stream = stream
        self._bar = click.progressbar(
            length=total, label=label, show_pos=True, width=_WIDTH, file=stream
        )

    def show(self, done: int) -> None:
        self._bar.update(done - self._bar.pos)

    def wipe(self) -> None:
        self._stream.write(_ERASE + _SHOW_CURSOR)
        self._stream.flush()


class _NotebookBar:
    """tqdm's bar, which suits the kind of notebook."""

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total, self._begun = label, total, time.time()
        self._bar: Any = None

    def show(self, done: int) -> None:
        if self._bar is None:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self._total, desc=self._label, leave=False)
            self._bar.start_t = self._begun
        self._bar.update(done - self._bar.n)

    def wipe(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


_Bar = _TerminalBar | _NotebookBar


def in_notebook() -> bool:
    """Whether this process is a notebook kernel."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"
