"""The option ``--contained``: run a command in a child process with limits on time and memory."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from fsframe.errors import StoreError

if TYPE_CHECKING:
    import subprocess

__all__ = ["contained_option", "is_contained", "run_contained"]

MEMORY = 4_000_000_000
"""Bytes of address space of the child, of which the program reserves about 1.1 GB."""

SECONDS = 60
"""Processor time of the child."""

_META = "fsframe.contained"
_CHILD = "import sys; sys.path[:] = {path!r}; from fsframe.cli import main; main()"


def _take(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[_META] = value


contained_option = click.option(
    "--contained",
    is_flag=True,
    expose_value=False,
    callback=_take,
    help="For files from strangers: run the command in a child process that may use at most "
    f"{SECONDS} s of processor time and {MEMORY // 10**9} GB of address space. A crash of a "
    "library ends only this process.",
)
"""The option ``--contained`` of the program, before the name of a command."""


def is_contained(context: click.Context) -> bool:
    """Whether the option was given."""
    return bool(context.meta.get(_META))


def run_contained(words: Sequence[str], memory: int = MEMORY, seconds: int = SECONDS) -> int:
    """The exit code of a command in a child process with limits, which is waited for.

    `words` are what follows ``fsframe --contained``, `memory` the bytes of address space and
    `seconds` the processor time of the child. It has the same user, files and network. The limits
    are those of POSIX (`setrlimit`); no core is dumped.

    Raises
    ------
    StoreError
        If the child was ended by a signal: it reached the limit of time, or a library crashed.
    """
    import resource
    import subprocess

    def limit() -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    code = _CHILD.format(path=sys.path)
    child = subprocess.Popen([sys.executable, "-c", code, *words], preexec_fn=limit)
    with _passed_on(child):
        ended = _waited_for(child)
    if ended >= 0:
        return ended
    name = signal.Signals(-ended).name
    why = f" after {seconds} s of processor time" if name == "SIGXCPU" else ""
    raise StoreError(
        f"the contained process was ended by {name}{why}; do not trust what it has printed or "
        "written, nor the file that it was reading"
    )


@contextlib.contextmanager
def _passed_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Send the signals that would end this process to the child instead."""
    before = {
        number: signal.signal(number, lambda number, _: child.send_signal(number))
        for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _waited_for(child: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            # The terminal has interrupted the child too, which ends by itself.
            continue
