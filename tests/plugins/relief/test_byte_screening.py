"""Neighbours screened by bytes: nobody is lost, and no bit of a score changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import fsframe
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_relief.engine import feature_scores, screening
from fsframe_relief.engine.columns import prepare_columns
from fsframe_relief.engine.neighbours import Nearest, Target

SAD = """
import json, numpy as np
from fsframe_relief.engine.screen_kernels import near_rows_of_four
from numba import njit

@njit
def run(mine, rows, words, limits):
    out = np.empty(32, np.int64)
    return near_rows_of_four(mine, 0, rows, 0, words, limits, out), out

rng = np.random.default_rng(5)
x, y = rng.integers(0, 256, (4, 24), np.uint8), rng.integers(0, 256, (8, 24), np.uint8)
x[0], y[0], y[1] = 0, 255, 0
packed = y.view(np.uint64).T.ravel().copy()
exact = np.abs(x[:, None].astype(int) - y.astype(int)).sum(axis=2)
limits = np.median(exact, axis=1).astype(np.int64)
mask, out = run(x.view(np.uint64), packed, 3, limits)
bits = [(int(mask) >> e) & 1 for e in range(32)]
print(json.dumps([out.tolist() == exact.ravel().tolist(),
                  bits == (exact <= limits[:, None]).astype(int).ravel().tolist()]))
"""


@pytest.mark.parametrize("processor", ["", "generic", "haswell"])
def test_distances_of_bytes_are_exact_on_any_processor(processor: str) -> None:
    around = dict(os.environ)
    if processor:
        features = "+avx2" if processor == "haswell" else ""
        around |= {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features}
    told = subprocess.run(
        [sys.executable, "-c", SAD], env=around, stdout=subprocess.PIPE, check=True, text=True
    )
    assert json.loads(told.stdout.splitlines()[-1]) == [True, True]


def screened(X: np.ndarray, y: np.ndarray, k: int) -> tuple[screening.NearestBytes, Target]:
    order = np.argsort(y, kind="stable")
    columns = prepare_columns(X, np.zeros(X.shape[1], bool), order=order)
    target = Target(y=y[order], prior=np.bincount(y) / len(y), counts=np.ones(len(y)),
                    omega=np.ones(len(y)) / len(y))  # fmt: skip
    return screening.NearestBytes(columns, Nearest(k=k), target, 1 << 30), target


@pytest.mark.parametrize("kind", ["normal", "heavy", "copies", "narrow"])
@pytest.mark.parametrize(("n", "p", "k"), [(3001, 5, 10), (1203, 40, 3), (409, 9, 150)])
def test_all_neighbours_and_their_ties_are_candidates(kind: str, n: int, p: int, k: int) -> None:
    rng = np.random.default_rng(n)
    X = rng.standard_t(1.5, (n, p)) if kind == "heavy" else rng.normal(size=(n, p))
    if kind == "copies":
        X[n // 2 :] = X[: n - n // 2]
    if kind == "narrow":
        X = 0.5 + 1e-3 * X
        X[0], X[1] = 0.0, 1.0
    y = rng.integers(0, 3, n)
    screen, target = screened(X, y, k)
    rows = rng.integers(0, n, 37)
    index, starts, settled = screen.candidates(rows)
    Z = screen.columns.scaled
    looked_at = 0
    for r, i in enumerate(rows):
        if not settled[r]:
            continue
        d = np.abs(Z - Z[i]).sum(axis=1)
        for c in range(3):
            members = np.arange(target.bounds[c], target.bounds[c + 1])
            members = members[members != i]
            edge = np.sort(d[members])[min(k, len(members)) - 1]
            near = members[d[members] <= edge * (1 + 1e-12)]
            listed = index[r, starts[r, c] : starts[r, c + 1]]
            assert np.isin(near, listed).all()
            assert (np.diff(listed) > 0).all() and i not in listed
            looked_at += len(listed) < len(members)
    # Where values lie close together bytes tell little apart: then all are listed, or none.
    assert looked_at > 50 or kind in ("heavy", "narrow") or k == 150


@pytest.mark.parametrize("text", ["relieff", "relieff:k=3,weighting=rank", "relief:m=500"])
@pytest.mark.parametrize("copies", [0, 2500])
def test_scores_have_the_bits_of_all_exact_distances(
    text: str, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 6))
    X[:copies] = X[0]
    y = (X[:, 0] * X[:, 1] + rng.normal(size=3000) > 0).astype(int)
    data = Dataset.from_arrays(X, y)
    method = fsframe.Chain.parse(text)
    with monkeypatch.context() as patch:
        patch.setattr(feature_scores, "bytes_suffice", lambda *given: False)
        expected = method.select(data)
    settled = []
    real = screening.NearestBytes.candidates

    def candidates(self, rows):
        found = real(self, rows)
        settled.append(found[2].all())
        return found

    monkeypatch.setattr(screening.NearestBytes, "candidates", candidates)
    monkeypatch.setattr(feature_scores, "bytes_suffice", lambda *given: True)
    for memory, threads in ((1 << 31, 1), (1 << 31, 3)):
        found = method.select(data, run=Run(memory=memory, threads=threads))
        assert found.scores.tobytes() == expected.scores.tobytes()
    # Thousands of copies are more than a list holds.
    assert settled and all(settled) == (copies == 0)


def test_tables_that_bytes_do_not_tell_apart_are_not_screened() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(9000, 10))
    y = rng.integers(0, 2, 9000)
    screen, target = screened(X, y, 10)
    assert screening.bytes_suffice(screen.columns, screen.rule, target, 1 << 30)
    X[0] *= 1e4
    screen, target = screened(X, y, 10)
    assert not screening.bytes_suffice(screen.columns, screen.rule, target, 1 << 30)
