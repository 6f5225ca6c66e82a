"""``--memory`` on every command that runs a chain: taken, divided, refused before work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

COMMANDS = (
    ("chain", "im4e:top=3", "on", "wide.npz"),
    ("evaluate", "im4e:top=3", "margin", "on", "wide.npz", "--folds", "2", "--repeats", "1"),
    ("stability", "im4e:top=3", "on", "wide.npz", "--n", "2"),
    ("compare", "im4e:top=3 knn", "im4e:top=2 knn", "on", "wide.npz", "--folds", "2", "--repeats",
     "1", "--out", "cells"),
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=[c[0] for c in COMMANDS])
def test_what_cannot_be_held_is_refused_before_anything_is_written(call, here: Path, command):
    rng = np.random.default_rng(0)
    np.savez(here / "wide.npz", X=rng.standard_normal((24, 40_000)), y=np.arange(24) % 2)
    before = {path.name for path in here.iterdir()}
    done = call(*command, "--memory", "17MB")
    assert done.code == 2, done.err
    assert "not enough for 24 × 40000 values" in done.err
    assert "allow --memory" in done.err
    assert {path.name for path in here.iterdir()} - before <= {"cells"}
    assert not list(here.glob("cells/*"))


@pytest.mark.parametrize("name", ["evaluate mim on", "stability mim on", "compare", "resume"])
def test_every_command_that_runs_chains_takes_it(call, name):
    assert "--memory" in call(f"{name} --help").out
