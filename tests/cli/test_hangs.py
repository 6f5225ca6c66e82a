"""The guard of random requests reports a command that does not end, whatever that catches."""

from __future__ import annotations

import contextlib
import time

import pytest

from .conftest import TooLong, within_seconds


def busy() -> None:
    end = time.process_time() + 3
    while time.process_time() < end:
        pass


def test_a_block_that_does_not_end_is_reported() -> None:
    with pytest.raises(TooLong, match="of the processor"), within_seconds(1):
        busy()


def test_a_block_that_catches_everything_is_reported_too() -> None:
    with pytest.raises(TooLong), within_seconds(1), contextlib.suppress(BaseException):
        busy()


def test_a_block_that_waits_is_reported_after_five_times_as_long() -> None:
    with pytest.raises(TooLong, match="after 5 s"), within_seconds(1):
        time.sleep(20)
    with within_seconds(1):
        time.sleep(1.5)
