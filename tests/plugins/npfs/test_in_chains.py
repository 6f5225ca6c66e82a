"""Wrapping stages in chains: the grammar, determinism, fast paths, inner and outer resamples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.method.run import Run
from fsframe.registry import nulls
from fsframe.table.dataset import Dataset
from fsframe_npfs.methods.npfs import Npfs

from .conftest import TinyMim, outcome, slides, watching


@pytest.mark.parametrize(
    "stage", ["npfs:n=20,permuted_n=2", "ensemble:n=10", "npfs:n=20,null=published"]
)
def test_a_stage_without_base_wraps_everything_on_its_left(stage: str) -> None:
    data = slides(0, 300, 20, 3)
    found = Chain.parse(f"mim:top=10 mim:top=4 {stage}").select(data, seed=0)
    # Columns that the first screening kept in no bootstrap still belong to the answer's universe.
    assert np.isfinite(found.scores).sum() == 20
    assert set(found.selected[:2]) <= {0, 1, 2}


def test_a_named_base_sees_only_what_was_left_and_is_warned_of() -> None:
    data = slides(0, 300, 20, 3)
    found = Chain.parse("mim:top=6 npfs:base=mim:top=3,n=20").select(data, seed=0)
    assert np.isfinite(found.scores).sum() == 6
    assert any("used all labels" in w for w in found.warnings)


@pytest.mark.parametrize("stage", ["npfs:n=12", "ensemble:n=12", "cpss:pairs=6"])
def test_the_fast_path_gives_what_one_by_one_gives(stage: str) -> None:
    data = slides(1, 300, 20, 3)
    wrap = Chain.parse(f"mim {stage}").stages[1].method

    class OneByOne(TinyMim):
        _select_many = None

        def _select(self, data: Any, upstream: Any, run: Any) -> Any:
            counts = np.ones(data.n_samples, np.int64) if data.counts is None else data.counts
            return TinyMim._select_many(self, data, counts[None, :], upstream, run)[0]

    fast, slow = (
        wrap.select_wrapped(base, data, None, Run(entropy=2))
        for base in (TinyMim(k=4), OneByOne(k=4))
    )
    np.testing.assert_array_equal(fast.selected, slow.selected)
    for name, table in fast.tables.items():
        np.testing.assert_array_equal(table, slow.tables[name])


def test_an_outer_resample_is_drawn_from_not_ignored() -> None:
    data = slides(0, 200, 20, 3)
    counts = np.zeros(200, np.int64)
    counts[:100] = 2
    seen: list[np.ndarray] = []

    base = watching(lambda _, counts: seen.append(counts), 4)
    outcome(base, data.with_counts(counts), n=10, null="published")
    drawn = np.concatenate(seen)
    # The hundred rows left out are gone, and the rest stand for two hundred draws.
    assert drawn.shape == (10, 100)
    np.testing.assert_array_equal(drawn.sum(axis=1), 200)


def test_stratified_draws_keep_class_sizes_under_permuted_labels_too() -> None:
    data = slides(0, 150, 12, 3)
    sizes = np.bincount(data.y)

    def look(data: Dataset, counts: Any) -> None:
        for row in counts:
            np.testing.assert_array_equal(np.bincount(data.y, weights=row), sizes)

    outcome(watching(look, 4), data, n=10)


def test_progress_counts_all_resamples_of_the_test() -> None:
    seen = []
    run = Run(listener=seen.append)
    Npfs(n=10, permutations=9).select_wrapped(TinyMim(k=4), slides(0, 150, 12, 3), None, run)
    assert {p.total for p in seen} == {100}
    done = [p.done for p in seen]
    assert done == sorted(done) and done[-1] == 100


def test_every_null_has_its_promise_and_the_help_says_which_hold_their_level() -> None:
    (parameter,) = (p for p in Npfs.parameters() if p.name == "null")
    assert set(parameter.kind.choices()) == set(nulls)
    assert set(nulls) == {"matlab", "permutation", "published", "shards"}
    assert all(nulls[name].promise for name in nulls)
    for null in ("published", "matlab"):
        assert "does not keep its level" in nulls[null].promise
    assert "does not keep its level" in parameter.help


def test_immigrate_under_the_default_test_on_a_small_table_with_two_relevant_columns() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 8))
    data = Dataset.from_arrays(X, (X[:, 0] + X[:, 3] > 0).astype(int))
    found = Chain.parse("immigrate:top=2 npfs:n=12,permutations=30,alpha=0.05").select(data, seed=0)
    assert set(found.selected) == {0, 3}
    assert found.pair_weights is not None and "pair_weights" in found.carried


@pytest.mark.parametrize("null", ["permutation,permuted_n=2", "published"])
def test_the_report_says_what_the_null_promises(tmp_path: Any, null: str) -> None:
    from fsframe.show.page import report_page

    out = tmp_path / "run.h5"
    Chain.parse(f"mim:top=3 npfs:n=4,null={null}").run(slides(0, 150, 12, 3), out=out)
    page = report_page(fsframe.load_run(out))
    assert nulls[null.partition(",")[0]].promise[:60] in page


@pytest.mark.parametrize(
    "stage",
    ["npfs:n=4,permuted_n=2", "npfs:n=12,settle=0.1", "npfs:n=10,null=published",
     "cpss:bound=permutation,pairs=4", "ipss:bound=permutation,pairs=4"],
)  # fmt: skip
def test_an_executor_and_little_memory_change_no_bit(stage: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    data = slides(0, 150, 12, 3)
    chain = Chain.parse(f"mim:top=3 {stage}")
    plain = chain.select(data, run=Run(entropy=5))
    with ThreadPoolExecutor(2) as executor:
        shared = chain.select(data, run=Run(entropy=5, executor=executor))
    # So little that each labelling is a piece of work of its own.
    narrow = chain.select(data, run=Run(entropy=5, memory=100_000))
    for other in (shared, narrow):
        np.testing.assert_array_equal(plain.selected, other.selected)
        for name, table in plain.tables.items():
            np.testing.assert_array_equal(table, other.tables[name])
