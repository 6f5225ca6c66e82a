"""Neighbours within a radius from whole distances: the bits of the way by weights."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.method.run import Run
from fsframe.registry import selectors
from fsframe.table.dataset import Dataset
from fsframe_relief.engine.pair_sums import PairSums


@pytest.mark.parametrize("name", ["surf", "surfstar", "multisurf", "multisurfstar"])
@pytest.mark.parametrize(
    ("n", "p", "levels", "classes"),
    [(700, 130, 3, 3), (1500, 70, 2, 2), (640, 64, 4, 5), (1400, 600, 3, 2), (577, 9, 3, 2)],
)
def test_whole_distances_change_no_bit(
    name: str, n: int, p: int, levels: int, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(n)
    X = rng.integers(0, levels, (n, p)).astype(np.uint8)
    y = rng.integers(0, classes, n)
    X[:, 1] = np.where(rng.random(n) < 0.3, y % levels, X[:, 1])
    X[:, 2], X[:, 3] = rng.integers(0, 2, n), 1
    X[: n // 9] = X[0]  # many rows at distance zero
    y[0] = classes  # a class of one member, without hits
    data = Dataset.from_arrays(X, y)
    # Rows of distances, not the whole matrix.
    run = Run(entropy=1, memory=4 * n * n - 1, threads=2)
    used = []
    suffices = PairSums.whole_distances_suffice.fget
    monkeypatch.setattr(
        PairSums,
        "whole_distances_suffice",
        property(lambda s: used.append(suffices(s)) or used[-1]),
    )
    found = [selectors[name](m=m).select(data, run=run) for m in (None, 40)]
    assert used == [True, True]
    monkeypatch.setattr(PairSums, "whole_distances_suffice", property(lambda s: False))
    for m, each in zip((None, 40), found, strict=True):
        assert each.scores.tobytes() == selectors[name](m=m).select(data, run=run).scores.tobytes()
