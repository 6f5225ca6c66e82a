"""Decisions that hang on the seed: how likely another says otherwise, and the sequential form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.method.run import Run
from fsframe_infotheory.methods.criteria import Mim
from fsframe_npfs.engine.forecasts import (
    QUANTILE,
    likely_exceedances,
    remedy,
    reversal_probability,
)
from fsframe_npfs.engine.labellings import MeanScores
from fsframe_npfs.engine.nulls import binomial_tail, critical_value, looks, settled
from fsframe_npfs.methods import procedure
from fsframe_npfs.methods.npfs import Npfs

from .conftest import TinyMim, outcome, slides


def test_stopping_early_uses_the_critical_value_for_the_number_drawn():
    # Every feature is clear: 4 relevant ones always win, k = 4.
    data = slides(0, 3000, 12, 4)
    test = Npfs(null="published", n=500, settle=0.01)
    tables = test.select_wrapped(TinyMim(k=4), data, None, Run()).tables
    drawn = tables["kept"].size
    assert drawn in looks(500) and drawn < 100
    assert tables["critical-value"][0] == critical_value(binomial_tail(drawn, 4 / 12), 0.01)
    assert set(np.flatnonzero(tables["relevant"])) == {0, 1, 2, 3}


def test_decisions_are_those_of_all_bootstraps():
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


def test_size_stays_within_alpha_plus_the_error_of_settling():
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


def test_looks_end_at_n_and_grow():
    assert looks(20) == [20] and looks(21) == [20, 21]
    assert looks(1000)[-1] == 1000 and len(looks(1000)) < 13


def test_a_run_stopped_while_it_settles_continues_to_the_same_bits(tmp_path, monkeypatch):
    data = slides(7, 120, 20, 3)
    chain = Chain.parse(
        "mim:top=4 npfs:n=12,permutations=60,permuted_n=3,alpha=0.05,settle=0.2,fits=1600"
    )
    looks, fits, made = [], [], []
    run_base, add, fitted = procedure.Procedure._run_base, MeanScores.add, Mim.select_many

    def look(trial: Any, *arguments: Any) -> Any:
        looks.append(trial.fits)
        return run_base(trial, *arguments)

    def stop_in_the_second(standings: Any, *arguments: Any) -> Any:
        fits.append(len(looks))
        if fits.count(2) == 150:
            raise KeyboardInterrupt
        return add(standings, *arguments)

    def counted(self: Any, data: Any, counts: Any, *rest: Any) -> Any:
        made.append(len(counts))
        return fitted(self, data, counts, *rest)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(procedure.Procedure, "_run_base", look)
        patch.setattr(MeanScores, "add", stop_in_the_second)
        chain.run(data, seed=4, out=tmp_path / "run.h5")
    whole = chain.run(data, seed=4)
    numbers = whole.stages[-1].selection.tables["numbers"]
    assert numbers.tolist() == [96, 480, 3], "three more looks"
    monkeypatch.setattr(Mim, "select_many", counted)
    assert chain.run(data, seed=4, out=tmp_path / "run.h5").digests() == whole.digests()
    # What the first look had made is not made again.
    assert 0 < sum(made) <= numbers[0] + numbers[1] * numbers[2] - 192 + 2


# How likely another seed says otherwise, and what would help


def test_the_chance_is_that_of_two_binomial_counts_on_two_sides():
    # A law as null: the line stays, only the count is drawn anew.
    rng = np.random.default_rng(0)
    n, line = 60, 20
    pi = rng.uniform(0.15, 0.6, size=40_000)
    first, second = rng.binomial(n, pi), rng.binomial(n, pi)
    chance = reversal_probability(first, n, np.full(first.shape, line), np.zeros(first.shape))
    other = (first > line) != (second > line)
    for low, high in ((0.0, 0.05), (0.05, 0.2), (0.2, 0.5)):
        group = (chance >= low) & (chance < high)
        assert group.sum() > 1000
        assert abs(other[group].mean() - chance[group].mean()) < 0.05


@pytest.mark.parametrize(
    ("null", "statistic"),
    [("permutation", "counts"), ("permutation", "scores"), ("published", None)],
)
def test_features_that_seeds_disagree_on_are_those_that_were_called_doubtful(null, statistic):
    options = {"permutations": 60 if statistic == "scores" else 10, "statistic": statistic}
    if null == "published":
        options = {}
    predicted, observed = [], []
    for table in range(3):
        data = slides(table, 400, 40, 8)
        tables = [
            outcome(TinyMim(k=8), data, seed=s, null=null, n=50, **options).tables for s in range(8)
        ]
        relevant = np.array([t["relevant"] for t in tables])
        share = relevant.mean(axis=0)
        observed.append(np.where(relevant, 1 - share, share) * 8 / 7)
        predicted.append(np.array([t["doubt"] for t in tables]))
    chance, other = np.concatenate(predicted), np.concatenate(observed)
    assert other.sum() > 3, "the tables are too easy to tell"
    assert 0.5 < other.sum() / chance.sum() < 2
    # The line that scores are held to is a far quantile, with a longer tail than the normal law.
    assert other[chance < 0.01].mean() < (0.02 if statistic == "scores" else 0.01)
    assert other[chance > 0.2].mean() > 0.1


def test_the_warning_names_them_and_says_what_would_settle_them():
    data = slides(0, 400, 40, 8)
    for null in ("permutation", "published"):
        options = {"permutations": 10, "statistic": "counts"} if null == "permutation" else {}
        found = outcome(TinyMim(k=8), data, null=null, n=50, **options)
        near = np.flatnonzero(found.tables["doubt"] > 0.05)
        [text] = [w for w in found.warnings if w.startswith("borderline")]
        first = near[np.argmax(found.tables["doubt"][near])]
        assert data.feature_names[first] in text
        assert "About n=" in text and "would settle" in text
    clear = outcome(TinyMim(k=4), slides(0, 3000, 12, 4), null="published", n=400)
    assert not any("borderline" in w for w in clear.warnings)


def test_what_the_remedy_says_does_settle_it():
    z, line = np.array([24, 16, 21]), np.array([20, 20, 20])
    advice = remedy(z, 50, line, np.zeros(3), 0)
    # The count of 21 is half a count off the line: 20 of 50 and 21 of 50 are one number to it.
    assert advice.unresolvable.tolist() == [False, False, True]
    times = advice.n / 50
    chance = reversal_probability(
        np.round((z[:2] + 0.0) * times).astype(int),
        advice.n,
        np.round((line[:2] + 0.5) * times - 0.5).astype(int),
        np.zeros(2),
    )
    assert chance.max() <= 0.06
    # An uncertain line asks for more permutations: half the room is for its variance, in two seeds.
    advice = remedy(z[:2], 50, line[:2], np.full(2, 3.0), 10)
    assert advice.permutations == np.ceil(10 * 2 * 3.0**2 / ((3.5 / QUANTILE) ** 2 / 2))
    assert remedy(z[:2], 50, line[:2], np.full(2, 0.1), 10).permutations == 10


def test_likely_exceedances_are_the_quantiles_of_a_binomial_law():
    rng = np.random.default_rng(1)
    for cells, level in ((220, 0.01), (1000, 0.01), (10, 0.1), (5, 0.01), (100_000, 0.05)):
        low, high = likely_exceedances(cells, level)
        draws = rng.binomial(cells, level, size=20_000)
        assert low == np.quantile(draws, 0.1587) or abs(low - np.quantile(draws, 0.1587)) <= 1
        assert abs(high - np.quantile(draws, 0.8413)) <= max(1, 0.002 * high)


def test_a_message_about_shards_says_that_a_larger_table_helps():
    found = [outcome(TinyMim(k=5), slides(s, 800, 40, 8), null="shards", n=20) for s in range(6)]
    texts = [w for f in found for w in f.warnings if w.startswith("borderline")]
    assert texts
    assert all(text.endswith("Only a larger table helps") for text in texts)
