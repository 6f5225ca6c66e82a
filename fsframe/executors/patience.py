"""Questions to others that may never answer, asked for so long and no longer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["within"]

T = TypeVar("T")


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
    found: list[T] = []
    raised: list[BaseException] = []

    def ask() -> None:
        try:
            found.append(function(*arguments, **options))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if not found:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return found[0]
