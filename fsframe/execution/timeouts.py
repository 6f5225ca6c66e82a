"""Call a function with a timeout, in a daemon thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

__all__ = ["asked", "within"]

T = TypeVar("T")


def asked(function: Callable[..., T], *arguments: Any, **options: Any) -> Future[T]:
    """A future of what `function` returns or raises, from a thread that keeps no program alive.

    >>> asked(int, "7").result(60)
    7
    """
    future: Future[T] = Future()

    def ask() -> None:
        try:
            future.set_result(function(*arguments, **options))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    return future


def within(seconds: float, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """What `function` returns or raises; TimeoutError if that takes longer than `seconds`.

    It goes on in a thread of its own, which does not keep the program from ending.

    >>> import time
    >>> within(60, int, "7")
    7
    >>> within(0.01, time.sleep, 60)
    Traceback (most recent call last):
    TimeoutError: no answer within 0.01 s
    """
    future = asked(function, *arguments, **options)
    wait([future], seconds)
    if not future.done():
        raise TimeoutError(f"no answer within {seconds:g} s")
    return future.result()
