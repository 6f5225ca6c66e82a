"""The sequential form: same decisions, fewer bootstraps, the critical value of what was drawn."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.method.run import Run
from fsframe_infotheory.methods.criteria import Mim
from fsframe_npfs.engine.nulls import binomial_tail, critical_value, looks, settled
from fsframe_npfs.methods.npfs import Npfs

from .conftest import TinyMim, outcome, slides


def test_stopping_early_uses_the_critical_value_for_the_number_drawn() -> None:
    # Every feature is clear: 4 relevant ones always win, k = 4.
    data = slides(0, 3000, 12, 4)
    test = Npfs(null="published", n=500, settle=0.01)
    tables = test.select_wrapped(TinyMim(k=4), data, None, Run()).tables
    drawn = tables["kept"].size
    assert drawn in looks(500) and drawn < 100
    assert tables["critical-value"][0] == critical_value(binomial_tail(drawn, 4 / 12), 0.01)
    assert set(np.flatnonzero(tables["relevant"])) == {0, 1, 2, 3}


def test_decisions_are_those_of_all_bootstraps() -> None:
    saved = 0
    for seed in range(2):
        data = slides(seed, 1000, 20, 4)
        for null in ("published", "permutation"):
            options = {"permutations": 10, "statistic": "counts"} if null == "permutation" else {}
            full, short = (
                outcome(TinyMim(k=4), data, seed=seed, null=null, n=200, settle=settle, **options)
                for settle in (None, 0.02)
            )
            drawn = short.tables["kept"].size
            saved += 200 - drawn
            unsettled = any("not every decision" in w for w in short.warnings)
            assert unsettled == (drawn == 200)
            np.testing.assert_array_equal(full.tables["relevant"], short.tables["relevant"])
    assert saved > 0


def test_first_bootstraps_of_a_longer_run_are_those_of_a_shorter_one() -> None:
    data = slides(3, 300, 20, 4)
    short, long = (outcome(TinyMim(k=4), data, null="published", n=n).tables for n in (30, 70))
    np.testing.assert_array_equal(short["bootstrap-matrix"], long["bootstrap-matrix"][:30])


def test_size_stays_within_alpha_plus_the_error_of_settling() -> None:
    # Independent Bernoulli counts at p0 itself, looked at again and again.
    rng = np.random.default_rng(0)
    plan, p0, alpha, error, runs = looks(300), 0.2, 0.05, 0.02, 4000
    draws = np.cumsum(rng.random((runs, 300)) < p0, axis=1)
    relevant = np.zeros(runs, dtype=bool)
    open_runs = np.ones(runs, dtype=bool)
    for n in plan:
        critical = np.full(runs, critical_value(binomial_tail(n, p0), alpha))
        z = draws[:, n - 1]
        stop = open_runs & (settled(z, n, critical, error, len(plan)) | (n == plan[-1]))
        relevant[stop] = z[stop] > critical[stop]
        open_runs &= ~stop
    assert relevant.mean() <= alpha + error
    # Looking without the interval, as published code does, would name far more.
    naive = np.zeros(runs, dtype=bool)
    for n in plan:
        naive |= draws[:, n - 1] > critical_value(binomial_tail(n, p0), alpha)
    assert naive.mean() > alpha + error


def test_looks_end_at_n_and_grow() -> None:
    assert looks(20) == [20] and looks(21) == [20, 21]
    assert looks(1000)[-1] == 1000 and len(looks(1000)) < 13


_KILLED = """
import os, signal, sys
import fsframe
from fsframe.chains.chain import Chain
from fsframe.storage.checkpoint import Checkpoint
from fsframe_npfs.methods import procedure
from fsframe_npfs.engine.labellings import MeanScores

looks, fits = [], []
commit = Checkpoint.commit

def at_once(checkpoint, *arguments):
    commit(checkpoint, *arguments)
    checkpoint.flush()

Checkpoint.commit = at_once
run_base, add = procedure.Procedure._run_base, MeanScores.add

def look(trial, *arguments):
    looks.append(trial.fits)
    return run_base(trial, *arguments)

def fit(standings, *arguments):
    if len(looks) == 2:
        fits.append(1)
        if len(fits) == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
    return add(standings, *arguments)

procedure.Procedure._run_base = look
MeanScores.add = fit
Chain.parse(sys.argv[2]).run(fsframe.read(sys.argv[1] + ".csv"), seed=4, out=sys.argv[1] + ".h5")
"""


@pytest.mark.parametrize("fit", [1, 150])
def test_a_run_killed_while_it_settles_continues_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fit: int
) -> None:
    data = slides(7, 120, 20, 3)
    lines = np.column_stack([data.X.astype(int), data.y]).tolist()
    header = ",".join([*data.feature_names, "class"])
    stem = tmp_path / "table"
    stem.with_suffix(".csv").write_text(
        "\n".join([header, *(",".join(map(str, line)) for line in lines)]) + "\n"
    )
    text = "mim:top=4 npfs:n=12,permutations=60,permuted_n=3,alpha=0.05,settle=0.2,fits=1600"
    chain = Chain.parse(text)
    child = subprocess.run([sys.executable, "-c", _KILLED, str(stem), text, str(fit)], check=False)
    assert child.returncode == -signal.SIGKILL
    table = fsframe.read(stem.with_suffix(".csv"))
    whole = chain.run(table, seed=4)
    numbers = whole.stages[-1].selection.tables["numbers"]
    assert numbers.tolist() == [96, 480, 3], "three more looks"
    made = []
    fitted = Mim.select_many
    monkeypatch.setattr(
        Mim, "select_many", lambda self, data, counts, *rest: (
            made.append(len(counts)), fitted(self, data, counts, *rest))[1]
    )  # fmt: skip
    resumed = chain.run(table, seed=4, out=stem.with_suffix(".h5"))
    assert resumed.digests() == whole.digests()
    # What the first look had made is not made again.
    assert 0 < sum(made) <= numbers[0] + numbers[1] * numbers[2] - 192 + 2
