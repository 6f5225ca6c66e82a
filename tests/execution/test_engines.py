"""Engines are found: ours by their list, those of plugins through their hook."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsframe.errors import RequestError
from fsframe.execution import as_engine, open_engine
from fsframe.execution.engine import ENGINES
from tests.same_process import fsframe

NEW = '''"""One thread beside this one."""

from concurrent.futures import ThreadPoolExecutor

from fsframe.execution.engine import Engine


class Beside(Engine):
    takes = frozenset({"workers"})

    @classmethod
    def open(cls, options):
        return cls(ThreadPoolExecutor(options.workers), options.workers)
'''


def test_a_new_engine_is_a_class_and_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside.py").write_text(NEW)
    monkeypatch.syspath_prepend(str(tmp_path))
    line = "One thread beside this one."
    own = {**ENGINES.own, "beside": ("beside:Beside", line)}
    monkeypatch.setattr(ENGINES, "own", own)
    assert ENGINES.listed()["beside"] == line
    with open_engine("beside", workers=2) as engine:
        assert engine is not None and engine.workers == 2
    with (
        pytest.raises(RequestError, match="scheduler is for engines such as dask, not for beside"),
        open_engine("beside", scheduler="tcp://x"),
    ):
        pass


def test_an_engine_of_a_plugin_computes_the_same(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"{i},{(i * 7) % 11},{i % 3},{i % 2}" for i in range(30)]
    table.write_text("\n".join(["a,b,c,class", *rows]) + "\n")
    words = ["chain", "mim:top=1", "ensemble:n=4", "on", str(table), "--no-out", "--json", "-q"]
    here = fsframe(*words)
    there = fsframe(*words, "--engine", "one-thread", fakes=["fake_commands"])
    assert "a thread of its own" in there.err + there.out
    assert there.code == here.code == 0
    assert here.json["selected"] == fsframe(*words).json["selected"]


def test_an_unknown_engine_is_reported_with_those_there_are() -> None:
    done = fsframe("chain", "mim", "on", "x.csv", "--engine", "daks")
    assert done.code == 2
    assert "there is no engine 'daks'. Did you mean `dask`?" in done.err


def test_workers_are_a_number_and_an_engine_is_opened():
    for workers in (0, "a", 1.5):
        with (
            pytest.raises(RequestError, match="workers must be a whole number ≥ 1"),
            open_engine("processes", workers=workers),
        ):
            pass
    with pytest.raises(RequestError, match="must be an opened engine: with open_engine"):
        as_engine(open_engine("processes", workers=1))
