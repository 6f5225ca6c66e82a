"""Stop a command by a signal: immediately, with a message about what it kept and wrote."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from fsframe.cli.terminal import say_error

if TYPE_CHECKING:
    from fsframe.execution import Engine

WRITTEN: dict[str, None] = {}
"""The run files that this command has written, in order."""


def written_summary() -> str:
    """What an interrupted command has written, for its message."""
    if not WRITTEN:
        return "this command wrote nothing"
    return f"{', '.join(WRITTEN)} {'is' if len(WRITTEN) == 1 else 'are'} written already"


def stop_command(number: int, engine: Engine | None) -> NoReturn:
    """End the process of a command that stores nothing."""
    ignore_signals()
    if engine is not None:
        engine.kill()
    end_process(number, written_summary())


def end_process(number: int, rest: str = "") -> NoReturn:
    """Print a message, if there is one, and end the process with the code of the signal."""
    if rest:
        name = signal.Signals(number).name
        word = "interrupted" if number == signal.SIGINT else f"stopped by a signal ({name})"
        say_error(f"{word}; {rest}")
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    # Threads in compiled code cannot be stopped; everything of value is on disk.
    os._exit(128 + number)


_STOPPING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


def ignore_signals() -> None:
    """Ignore signals that stop a process."""
    with contextlib.suppress(ValueError):
        for each in _STOPPING:
            signal.signal(each, _ignored)


def _ignored(number: int, frame: FrameType | None) -> None:
    """Unlike SIG_IGN, prints no error for a signal that has already arrived."""


class _Stopped(BaseException):
    """The signal of this number, which stops the run, has arrived."""


R = TypeVar("R")


def stoppable(work: Callable[[], R], stop: Callable[[int], NoReturn]) -> R:
    """What `work` returns or raises; on Ctrl-C or SIGTERM `stop` is called at once.

    Compiled code does not check for signals, so another thread works while this one waits.
    """
    found: list[R] = []
    failed: list[BaseException] = []

    def target() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=target, daemon=True, name="fsframe-run")
    # Including the handlers: a signal may arrive while they are installed.
    try:
        with _signals_raise():
            thread.start()
            while thread.is_alive():
                thread.join(1.0)
    except _Stopped as told:
        stop(*told.args)
    if failed:
        raise failed[0]
    return found[0]


@contextlib.contextmanager
def _signals_raise() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP raise `_Stopped` in this thread, if it is the main one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def tell(number: int, _: FrameType | None) -> None:
        # Signals come in bursts; the cleanup must not be interrupted.
        ignore_signals()
        raise _Stopped(number)

    before = {}
    for number in _STOPPING:
        # Keep ignored signals ignored, such as SIGHUP under nohup.
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, tell)
    try:
        yield
    except _Stopped:
        raise
    except BaseException:
        _restore(before)
        raise
    else:
        _restore(before)


def _restore(handlers: Mapping[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, signal.SIG_DFL if handler is None else handler)
