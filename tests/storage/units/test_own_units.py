"""Steps that a method keeps by itself: found again by number, and boosting goes on from them."""

from __future__ import annotations

import json
import os
import signal
import textwrap
from pathlib import Path

import attrs
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.chains.request import Request
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.storage.checkpoint import Checkpoint
from fsframe.table.dataset import Dataset
from tests.command_line import python
from tests.storage.units.interrupted import MANIFEST


@pytest.fixture
def table() -> Dataset:
    X = np.random.default_rng(4).normal(size=(40, 5))
    return Dataset.from_arrays(X, (X[:, 0] * X[:, 1] > 0).astype(int))


def test_a_step_that_is_kept_is_not_computed_again(tmp_path, table):
    computed = []

    def step(t: int):
        def compute():
            computed.append(t)
            return {"x": np.full((2, 3), t / 3).T, "name": np.array(["σ"]), "t": np.array(t)}

        return compute

    def run(checkpoint: Checkpoint | None, steps: int) -> list[bytes]:
        units = Run(checkpoint=checkpoint).units("work", table)
        found = [units.get(t, step(t)) for t in range(steps)]
        assert all(arrays["x"].flags.c_contiguous for arrays in found)
        return [arrays[name].tobytes() for arrays in found for name in ("x", "name", "t")]

    alone = run(None, 5)
    with Checkpoint.open(tmp_path / "run.h5", MANIFEST) as checkpoint:
        assert run(checkpoint, 3) == alone[:9]
    computed.clear()
    with Checkpoint.open(tmp_path / "run.h5", MANIFEST) as checkpoint:
        assert run(checkpoint, 5) == alone
    assert computed == [3, 4]


def test_steps_of_other_work_are_other_steps(tmp_path, table):
    def found(checkpoint, what="work", data=table, run=None, upstream=None, value=1.0) -> float:
        run = run or Run()
        units = attrs.evolve(run, checkpoint=checkpoint).units(what, data, upstream)
        return float(units.get(0, lambda: {"x": np.array([value])})["x"][0])

    changes = [
        {"what": "other work"},
        {"data": table.with_labels(table.y[::-1])},
        {"data": table.with_counts(np.arange(40) % 3)},
        {"data": table.take_columns(np.arange(4))},
        {"run": Run(key=(1,))},
        {"run": Run(entropy=7)},
        {"upstream": Selection(selected=[1], scores=np.arange(5.0))},
    ]
    with Checkpoint.open(tmp_path / "run.h5", MANIFEST, every=0) as checkpoint:
        found(checkpoint, value=1.0)
        for number, change in enumerate(changes):
            assert found(checkpoint, value=2.0 + number, **change) == 2.0 + number
        assert found(checkpoint, value=-1.0) == 1.0


BOOSTING = [
    "im4e bim:rounds=12", "bim-vote:rounds=12", "bim:rounds=12,start=identity bim-vote"
]  # fmt: skip
KILLED = """
    import json, os, signal, sys
    import numpy as np
    from fsframe.chains.chain import Chain
    from fsframe.table.dataset import Dataset
    from fsframe.chains.request import Request
    X = np.random.default_rng(4).normal(size=(40, 5))
    data = Dataset.from_arrays(X, (X[:, 0] * X[:, 1] > 0).astype(int))
    chains = {folder: Chain.parse(text) for folder, text in json.loads(sys.argv[1]).items()}
    def kill(progress):
        if progress.label == "boosting rounds" and progress.done == 7:
            os.kill(os.getpid(), signal.SIGKILL)
    for folder, chain in chains.items():
        child = os.fork()
        if not child:
            os.chdir(folder)
            checkpoint = Request(chain=chain, data=data, seed=3, out="run.h5").checkpoint()
            checkpoint._every = 0.0
            chain.run(data, 3, "run.h5", checkpoint=checkpoint, listener=kill)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By the chains of `BOOSTING`, folders in which runs of them were killed in round 7.

    Each run was a fork of a process that had imported what all of them need.
    """
    if not hasattr(os, "fork"):
        pytest.skip("each run is a fork")
    folders = {text: tmp_path_factory.mktemp("killed") for text in BOOSTING}
    given = json.dumps({str(folder): text for text, folder in folders.items()})
    done = python("-c", textwrap.dedent(KILLED), given)
    assert done.out.split() == [str(-signal.SIGKILL)] * len(folders), done.err
    return folders


@pytest.mark.parametrize("text", BOOSTING)
def test_boosting_that_was_killed_continues_round_by_round_to_the_same_bits(
    killed, table, text, monkeypatch
):
    import fsframe_margin.methods.bim as boosting

    chain, folder = Chain.parse(text), killed[text]
    expected = chain.run(table, 3).digests()
    rounds, descend = [], boosting.descend

    def counted(*arguments, **settings):
        rounds.append(1)
        return descend(*arguments, **settings)

    monkeypatch.setattr(boosting, "descend", counted)
    out = folder / "run.h5"
    checkpoint = Request(chain=chain, data=table, seed=3, out=out).checkpoint()
    assert checkpoint.n_parts >= 7
    assert chain.run(table, 3, out, checkpoint=checkpoint).digests() == expected
    every = sum(stage.method.rounds for stage in chain.stages if hasattr(stage.method, "rounds"))
    assert len(rounds) == every - 7
    assert os.listdir(folder) == ["run.h5"]
