"""Many bootstraps of one table are one bootstrap after the other, bit by bit."""

from __future__ import annotations

import gc
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsframe
from fsframe import Chain, Dataset, Run
from fsframe.testing.tables import assert_equal
from fsframe_infotheory.engine import bins
from fsframe_relief.methods import variants
from tests.grids import examples, shortened
from tests.plugins.shared import GREEDY

RELIEF = [
    "relief", "relieff:k=4", "relieff:k=4,ties=index", "relieff:k=6,weighting=rank",
    "relieff:k=4,m=20", "relieff:k=4,missing=probability", "relieff:k=4,discrete_features=[f1,f2]",
    "surf", "surf:permutations=9", "multisurf", "multisurfstar", "multisurf:ramp=[0.1,0.3]",
    "swrfstar", "vls:subset=3,rounds=3,k=4", "iterative-relief:least=3,rounds=2", "rrelieff:k=6",
    "multisurf:task=regression",
]  # fmt: skip
COUNTS = [
    *(f"{name}:top=5" for name in ("mim", *GREEDY)),
    *(f"mim:discretise={rule}" for rule in ("equal-frequency", "freedman-diaconis", "none")),
    "mrmr:stop=significant,test=permutation,permutations=19",
]
KEPT = [
    *(text for text in RELIEF if text not in ("relieff:k=6,weighting=rank", "surf", "multisurf")),
    *(f"{name}:top=5" for name in ("mim", "mrmr", "jmi", "cmim", "jmi3", "cmi")),
    *COUNTS[-3:],
]
"""Without those that differ from another by a formula alone."""
KINDS = ["codes", "other codes", "equal rows", "wide codes", "continuous", "mixed", "gaps"]
KINDS += ["one fraction"]


@pytest.fixture(autouse=True)
def shared_whatever_the_width(monkeypatch):
    monkeypatch.setattr(variants, "FEWEST_SHARED", 0)
    bins.forget()
    yield
    bins.forget()


def stage_of(text):
    if text in COUNTS:
        text += ",missing=level"
    return Chain.parse(text).stages[0].method


def table(kind, n, p, seed, regression=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(2, 5, p), (n, p)).astype(float)
    if kind == "other codes":
        X = rng.integers(0, rng.integers(1, 9, p), (n, p)) * 3.0 - 7
    if kind == "continuous":
        X = rng.normal(size=(n, p))
    if kind == "wide codes":
        # in some bootstraps few enough levels to be taken for discrete, in others not
        X[:, 0], X[:, -1] = rng.integers(0, 14, n), rng.integers(0, 40, n)
    if kind == "mixed":
        X[:, : p // 2] = rng.normal(size=(n, p // 2))
    if kind == "gaps":
        X[rng.random((n, p)) < 0.1] = np.nan
    if kind == "equal rows":
        X[n // 2 :] = X[: n - n // 2]
    if kind == "one fraction":
        X[n // 2, 0] += 0.5
    y = rng.normal(size=n) if regression else rng.integers(0, 2 + seed % 2, n)
    y[:2] = 0, 1
    return Dataset.from_arrays(X, y)


def draws(data, many, seed, halves=False, uneven=False):
    """Counts of some resamples in which every class is met; of a few rows, some very often."""
    rng = np.random.default_rng([seed, 1])
    n, found = data.n_samples, []
    while len(found) < many:
        rows = rng.permutation(n)[: n // 2] if halves else rng.integers(0, n, n)
        row = np.bincount(rows, minlength=n)
        if data.task == "regression" or np.unique(data.y[row > 0]).size == data.n_classes:
            found.append(row)
    if uneven:
        found[0] = np.zeros(n, int)
        found[0][:9] = [17, 1, 5, 3, 1, 1, 900, 2, 2]
        found[1] = np.ones(n, int)
    return np.array(found)


@pytest.mark.parametrize("text", shortened([*RELIEF, *COUNTS], KEPT))
@examples(8)
@given(
    kind=st.sampled_from(KINDS),
    n=st.integers(10, 130),
    p=st.integers(2, 25),
    halves=st.booleans(),
    weighted=st.booleans(),
    threads=st.integers(1, 3),
    seed=st.integers(0, 10**6),
)
def test_many_equal_one_by_one(text, kind, n, p, halves, weighted, threads, seed):
    stage = stage_of(text)
    data = table(kind, n, p, seed, "regression" in text or "rrelieff" in text)
    counts = draws(data, 3, seed, halves, uneven=text in COUNTS and seed % 2 == 0)
    before = fsframe.Selection(
        selected=np.arange(0, p, 2), scores=np.zeros(p),
        instance_weights=np.random.default_rng(seed).random(n) if weighted else None,
    )  # fmt: skip
    run = Run(entropy=5, key=(2,), threads=threads)
    many = stage.select_many(data, counts, before, run)
    # Counted together, nobody looks at bins of single resamples to warn of them.
    besides = ("model", "tables", *(["warnings"] if text in COUNTS else []))
    for b, row in enumerate(counts):
        alone = stage.select(data.with_counts(row), before, run.child(b))
        assert_equal(many[b], alone, f"resample {b}", besides=besides)


@pytest.mark.parametrize("text", ["relieff:k=5", "surf", "multisurfstar", "swrfstar"])
def test_codes_are_compared_once_for_all_bootstraps(text, monkeypatch):
    data = table("codes", 80, 12, 0)
    compared = mock.Mock(wraps=variants.full_distances)
    monkeypatch.setattr(variants, "full_distances", compared)
    monkeypatch.setattr("fsframe_relief.engine.feature_scores.full_distances", compared)
    stage_of(text).select_many(data, draws(data, 6, 0))
    assert [call.args[0].n for call in compared.call_args_list] == [80]


@pytest.mark.parametrize("name", ["mim", "mrmr", "cmim"])
def test_a_table_is_turned_into_bytes_once_whatever_its_labels_and_bootstraps(name, monkeypatch):
    data, method = table("codes", 130, 25, 0), stage_of(f"{name}:top=5")
    fills = mock.Mock(wraps=bins.fill)
    monkeypatch.setattr(bins, "fill", fills)
    first = method.select(data)
    method.select_many(data, draws(data, 6, 0))
    permuted = data.with_labels(np.random.default_rng(1).permutation(data.y))
    other = method.select(permuted)
    assert fills.call_count == 1
    bins.forget()
    assert_equal(method.select(permuted), other, "another label")
    assert_equal(method.select(data), first, "the first label")
    assert fills.call_count == 2


def test_bytes_are_held_as_long_as_their_table_and_two_tables_at_most():
    tables = [table("codes", 130, 25, seed) for seed in range(3)]
    for data in tables:
        fsframe.selectors["mim"]().select(data)
    assert len(bins._tables) == 2
    del data
    tables.clear()
    gc.collect()
    assert len(bins._tables) == 0


def test_bytes_are_dropped_when_python_ends_and_the_names_of_modules_are_gone(monkeypatch):
    fsframe.selectors["mim"]().select(data := table("codes", 130, 25, 0))
    held = bins._tables
    ((array, _),) = held
    assert array() is data.matrix
    with monkeypatch.context() as patch:
        patch.setattr(bins, "_tables", None)
        bins._drop(array)
    assert held == []


def test_bytes_that_would_take_too_much_are_not_held():
    data = table("codes", 130, 25, 0)
    small = Run(memory=8 * data.X.size - 8)
    selection = fsframe.selectors["cmim"](top=5).select(data, run=small)
    assert bins._tables == []
    assert_equal(fsframe.selectors["cmim"](top=5).select(data), selection, "bytes held")
