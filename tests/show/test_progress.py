"""Progress: one bar on a terminal or in a notebook, none anywhere else, and never in the way."""

from __future__ import annotations

import io
import sys
import threading
import types

from fsframe import remarks
from fsframe.method.run import Progress
from fsframe.remarks import remark, ticking
from fsframe.show.progress import Pace, ProgressBars, in_notebook, progress_shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def step(done: int, label: str = "npfs") -> Progress:
    return Progress(label=label, done=done, total=4)


def test_a_bar_is_rewritten_in_place_and_wiped():
    stream = Terminal()
    bars = ProgressBars(stream, after=0.0)
    bars(step(0))
    bars(step(4))
    bars.close()
    shown = stream.getvalue()
    assert "npfs  [" in shown and "4/4" in shown and "\n" not in shown
    assert shown.endswith("\r\033[K\033[?25h")


def test_short_runs_show_nothing_and_neither_do_streams_that_nobody_looks_at():
    short, file = Terminal(), io.StringIO()
    for bars in (ProgressBars(short, after=60.0), ProgressBars(file, after=0.0)):
        bars(step(1))
        bars(step(4))
        bars.close()
    assert short.getvalue() == file.getvalue() == ""


def test_other_work_takes_the_line_over():
    stream = Terminal()
    bars = ProgressBars(stream, after=0.0)
    bars(step(4, "first"))
    bars(step(4, "second"))
    shown = stream.getvalue()
    assert shown.index("first") < shown.index("\033[K") < shown.index("second")


def test_a_remark_finds_a_clean_line(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    bars = ProgressBars(stream, after=0.0)
    with progress_shown(bars=bars):
        bars(step(4))
        remark("compiling")
    assert "\r\033[K\033[?25hfsframe: compiling\n" in stream.getvalue()
    with progress_shown(wanted=False) as nothing:
        assert nothing is None


def test_a_notebook_has_a_bar_of_its_own(monkeypatch):
    made = []

    class Bar:
        def __init__(self, **given):
            self.n, self.given, self.closed = 0, given, False
            made.append(self)

        def update(self, n):
            self.n += n

        def close(self):
            self.closed = True

    tqdm, auto = types.ModuleType("tqdm"), types.ModuleType("tqdm.auto")
    auto.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", tqdm)
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    bars = ProgressBars(io.StringIO(), after=0.0, notebook=True)
    bars(step(1))
    bars(step(4))
    bars.close()
    (bar,) = made
    assert (bar.n, bar.closed) == (4, True) and bar.given["desc"] == "npfs"
    assert not in_notebook()


def test_a_wait_is_counted_on_a_line_of_its_own_where_no_bar_is_drawn(monkeypatch):
    stream, told = Terminal(), threading.Event()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(remarks, "_TICK", 0.001)
    bars = ProgressBars(stream, after=0.0)
    with progress_shown(bars=bars):
        bars(step(1))
        with ticking("compiling"):
            bars(step(2))
            while "compiling" not in stream.getvalue():
                told.wait(0.001)
        assert stream.getvalue().endswith("\r\033[K")
        bars(step(4))
    shown = stream.getvalue()
    before, after = shown.index("fsframe: compiling, 0 s"), shown.rindex("fsframe: compiling")
    assert "1/4" in shown[:before] and "2/4" not in shown and "4/4" in shown[after:]
    # What is not a terminal is spared.
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with ticking("compiling"):
        told.wait(0.02)
    assert not file.getvalue()


def paced(steps: list[tuple[float, int, tuple[int, ...]]], monkeypatch, total: int = 100):
    """What is told of steps: the time, the units done, and the place of the work."""
    told: list[str] = []
    pace = Pace(told.append, "--workers 2 divides the resamples")
    for now, done, key in steps:
        monkeypatch.setattr("fsframe.show.progress.time.monotonic", lambda now=now: now)
        pace(Progress(label="folds", done=done, total=total, key=key))
    return told


def test_work_of_minutes_is_told_once_by_the_pace_after_its_first_unit(monkeypatch):
    steps = [(-900.0, 0, (0,)), (0.0, 1, (0,)), (10.0, 6, (0,)), (20.0, 11, (0,)), (40.0, 21, (0,))]
    (told,) = paced(steps, monkeypatch)
    assert told == "folds: 11 of 100, about 3 min remain; --workers 2 divides the resamples"


def test_short_work_and_work_within_other_work_are_not_told(monkeypatch):
    assert not paced([(0.0, 1, (0,)), (20.0, 41, (0,)), (45.0, 100, (0,))], monkeypatch)
    inner = [(0.0, 0, (0,)), (1.0, 1, (0, 3)), (30.0, 2, (0, 3))]
    assert not paced(inner, monkeypatch)
    # Work that has ended holds nothing back.
    after = [(0.0, 1, (0,)), (1.0, 100, (0,)), (2.0, 1, (0, 3)), (30.0, 3, (0, 3))]
    assert len(paced(after, monkeypatch)) == 1
