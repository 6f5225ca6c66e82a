"""Resamples as counts: sizes, classes, disjointness, repeated draws; shards of tables in parts."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsframe
from fsframe import Chain
from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe.testing.tables import assert_equal
from fsframe_npfs.engine.draws import (
    BootstrapSampler,
    max_shards,
    shard_counts,
)
from fsframe_npfs.engine.labellings import DRAWS, BootstrapDraws
from fsframe_npfs.methods import procedure
from tests.grids import examples
from tests.plugins.shared import divided

from .conftest import slides


def labels(*sizes: int) -> np.ndarray:
    return np.repeat(np.arange(len(sizes)), sizes)


@examples(50)
@given(st.lists(st.integers(2, 30), min_size=2, max_size=4), st.integers(0, 1000))
def test_stratified_bootstrap_keeps_class_sizes_and_two_rows_of_each(sizes, seed):
    y = labels(*sizes)
    counts = BootstrapSampler(y.size, y).draw(np.random.default_rng(seed))
    for code, size in enumerate(sizes):
        assert counts[y == code].sum() == size
        assert (counts[y == code] > 0).sum() >= 2


def test_plain_bootstrap_draws_the_floor_of_the_fraction_and_is_uniform():
    y = labels(30, 11)
    sampler = BootstrapSampler(41, y, fraction=0.75, stratify=False)
    draws = np.array([sampler.draw(np.random.default_rng(s)) for s in range(3000)])
    assert (draws.sum(axis=1) == 30).all()
    # Each row is drawn 30/41 times on average; standard error 0.0155.
    assert np.abs(draws.mean(axis=0) - 30 / 41).max() < 0.07


@pytest.mark.parametrize("stratify", [True, False])
def test_a_rare_class_is_never_lost(stratify):
    data = Dataset.from_arrays(np.zeros((200, 2)), labels(198, 2))
    draws = BootstrapDraws.of(Run(), range(1), range(300), 1.0, stratify, None)
    assert (draws.rows(data, 0, 300)[:, data.y == 1] > 0).all()


def test_draws_that_cannot_hold_every_class_end_in_an_error():
    y = labels(*[2] * 40)
    with pytest.raises(DataError, match="stratify=true"):
        sampler = BootstrapSampler(80, y, fraction=0.2, stratify=False)
        sampler.draw(np.random.default_rng(0))


def test_rows_that_count_twice_are_drawn_twice_as_often_and_absent_rows_never():
    times = np.array([2, 1, 0, 1] * 5)
    sampler = BootstrapSampler(20, times=times)
    total = sum(sampler.draw(np.random.default_rng(s)) for s in range(4000))
    assert (total[times == 0] == 0).all()
    np.testing.assert_allclose(total / 4000, times, atol=0.12)


@examples(50)
@given(st.lists(st.integers(4, 30), min_size=1, max_size=4), st.data())
def test_shards_are_disjoint_complete_and_alike(sizes, data):
    y = labels(*sizes)
    most = max_shards(y.size, y)
    n = data.draw(st.integers(1, most))
    shards = shard_counts(y.size, n, np.random.default_rng(0), y=y)
    assert (shards.sum(axis=0) == 1).all()
    for code in range(len(sizes)):
        per_shard = shards[:, y == code].sum(axis=1)
        assert per_shard.min() >= 2 and np.ptp(per_shard) <= 1
    assert np.ptp(shards.sum(axis=1)) <= 1


def test_too_many_shards_name_the_largest_possible_number():
    with pytest.raises(RequestError, match="n=5"):
        shard_counts(40, 6, np.random.default_rng(0), y=labels(30, 10))


def test_bootstraps_drawn_in_any_pieces_are_the_same():
    data = slides(0, 60, 5, 2)
    run = Run(entropy=3, key=(1, 2))
    times = np.arange(60) % 3
    draws = BootstrapDraws.of(run, range(3), range(4, 9), 0.8, True, times)
    assert len(draws) == 15
    whole = draws.rows(data, 0, 15)
    pieces = np.concatenate([draws.rows(data, a, b) for a, b in ((0, 1), (1, 7), (7, 15))])
    np.testing.assert_array_equal(whole, pieces)
    np.testing.assert_array_equal(whole, np.stack(list(draws.one_by_one(data))))
    assert (whole[:, times == 0] == 0).all()
    copy = pickle.loads(pickle.dumps(draws))
    np.testing.assert_array_equal(copy.rows(data, 3, 9), whole[3:9])
    # Bootstraps of a longer run begin with those of a shorter one.
    longer = BootstrapDraws.of(run, range(3), range(4, 30), 0.8, True, times)
    np.testing.assert_array_equal(longer.rows(data, 26, 31), whole[5:10])


@pytest.mark.parametrize(("times", "kind"), [(1, np.uint16), (40_000, np.int64)])
def test_counts_are_short_where_none_can_exceed_them(times, kind):
    data = slides(0, 60, 5, 2)
    each = np.full(60, times)
    draws = BootstrapDraws.of(Run(), range(2), range(4), 1.0, True, each)
    counts = draws.rows(data, 0, 8)
    assert counts.dtype == kind
    assert (counts.sum(axis=1) == 60 * times).all()
    urn = BootstrapSampler(60, data.y, 1.0, True, each)
    expected = urn.draw(Run().generator(DRAWS, 0, 3))
    np.testing.assert_array_equal(counts[3], expected)


def test_the_text_of_draws_tells_all_that_they_depend_on():
    usual = (Run(), range(2), range(5), 1.0, True, None)
    changes = {0: [Run(entropy=1), Run(key=(3,))], 2: [range(1, 6), range(6)], 3: [0.5], 4: [False]}
    changes[5] = [np.ones(4, dtype=np.int64), np.array([2, 0, 1, 1])]
    texts = {str(BootstrapDraws.of(*usual[:k], other, *usual[k + 1 :]))
             for k, others in changes.items() for other in others}  # fmt: skip
    texts |= {str(BootstrapDraws.of(*usual)) for _ in range(2)}
    assert len(texts) == 9


def test_a_numeric_target_is_drawn_from_as_one_group():
    data = Dataset.from_arrays(np.zeros((30, 2)), np.linspace(0, 1, 30))
    counts = BootstrapDraws.of(Run(), range(2), range(3), 1.0, True, None).rows(data, 0, 6)
    assert (counts.sum(axis=1) == 30).all()


# Shards of a table in parts

N = 400


def table() -> polars.DataFrame:
    rng = np.random.default_rng(11)
    y = rng.integers(0, 2, N)
    columns = {f"real{k}": rng.normal(size=N) + 0.5 * k * y for k in range(4)}
    columns |= {f"few{k}": rng.integers(0, 3, N).astype(float) for k in range(4)}
    columns["rare"] = (np.arange(N) < 3).astype(float)
    return polars.DataFrame({**columns, "y": y})


BASES = ("mim:top=3", "relieff:top=3", "anova-f:top=2", "jmi:top=3")


@pytest.mark.parametrize("base", BASES)
def test_any_division_memory_and_workers_give_the_counts_of_memory(base, tmp_path, monkeypatch):
    frame = table()
    chain = Chain.parse(f"npfs:base=({base}),null=shards,n=10")
    expected = chain.select(fsframe.read(frame), seed=4)
    few_at_a_time = 3 * 8 * 9 * 40 / (1 << 30)
    for k, (cuts, share, workers) in enumerate(
        [((), 0.5, False), ((1, 2, 300), few_at_a_time, False), ((200,), 0.5, True)]
    ):
        monkeypatch.setattr(procedure, "SHARE", share)
        data = divided(frame, tmp_path / str(k), cuts)
        with ThreadPoolExecutor(2) as pool:
            run = Run(entropy=4, memory=1 << 30, executor=pool if workers else None)
            selection = chain.select(data, run=run)
        assert_equal(selection, expected, f"in {len(cuts) + 1} parts", besides=("warnings",))


def test_what_stands_on_the_left_is_resampled_without_loading_the_table(tmp_path, monkeypatch):
    chain = Chain.parse("mim:top=3 npfs:null=shards,n=10")
    expected = chain.run(fsframe.read(table()), seed=4)
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", str(8 * 9 * N - 1))
    data = divided(table(), tmp_path / "p", (1, 300))
    with pytest.raises(DataError, match=r"take [0-9.]+ kB .* [0-9.]+ kB are allowed"):
        data.loaded()
    result = chain.run(data, seed=4)
    np.testing.assert_array_equal(result.selected, expected.selected)
    assert result.scores.tobytes() == expected.scores.tobytes()


def test_shards_that_do_not_fit_are_reported_before_work(tmp_path, monkeypatch):
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", str(8 * 9 * 50))
    data = divided(table(), tmp_path / "p", (300,))
    Chain.parse("npfs:base=(relieff:top=3),null=shards,n=10").check_request(data)
    Chain.parse("mim:top=3 npfs:null=shards,n=10").check_request(data)
    with pytest.raises(
        DataError, match=r"a shard of 80 × 9 values takes 5\.8 kB.* use n=8 shards or more"
    ):
        Chain.parse("npfs:base=(relieff:top=3),null=shards,n=5").check_request(data)
    with pytest.raises(DataError, match="npfs needs its table in memory"):
        Chain.parse("npfs:base=(mim:top=3)").check_request(data)
