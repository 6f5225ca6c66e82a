"""Call a function with a timeout, in a daemon thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

__all__ = ["call_in_thread", "call_with_timeout"]

T = TypeVar("T")


def call_in_thread(function: Callable[..., T], *arguments: Any, **options: Any) -> Future[T]:
    """A future of what `function` returns or raises, from a thread that keeps no program alive.

    >>> call_in_thread(int, "7").result(60)
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


def call_with_timeout(
    seconds: float, function: Callable[..., T], *arguments: Any, **options: Any
) -> T:
    """What `function` returns or raises; TimeoutError if that takes longer than `seconds`.

    It goes on in a thread of its own, which does not keep the program from ending.

    >>> import time
    >>> call_with_timeout(60, int, "7")
    7
    >>> call_with_timeout(0.01, time.sleep, 60)
    Traceback (most recent call last):
    TimeoutError: no answer within 0.01 s
    """
    future = call_in_thread(function, *arguments, **options)
    wait([future], seconds)
    if not future.done():
        raise TimeoutError(f"no answer within {seconds:g} s")
    return future.result()
