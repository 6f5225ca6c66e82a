"""Decisions that hang on the seed: how likely another says otherwise, and what would help."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe_npfs.engine.forecasts import likely_exceedances, remedy, reversal_probability

from .conftest import TinyMim, outcome, slides


def test_the_chance_is_that_of_two_binomial_counts_on_two_sides() -> None:
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
def test_features_that_seeds_disagree_on_are_those_that_were_called_doubtful(
    null: str, statistic: str | None
) -> None:
    options = (
        {}
        if null == "published"
        else {"permutations": 60 if statistic == "scores" else 10, "statistic": statistic}
    )
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


def test_the_warning_names_them_and_says_what_would_settle_them() -> None:
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


def test_what_the_remedy_says_does_settle_it() -> None:
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
    # An uncertain line asks for more permutations.
    advice = remedy(z[:2], 50, line[:2], np.full(2, 3.0), 10)
    assert advice.permutations > 10
    assert remedy(z[:2], 50, line[:2], np.full(2, 0.1), 10).permutations == 10


def test_likely_exceedances_are_the_quantiles_of_a_binomial_law() -> None:
    rng = np.random.default_rng(1)
    for cells, level in ((220, 0.01), (1000, 0.01), (10, 0.1), (5, 0.01), (100_000, 0.05)):
        low, high = likely_exceedances(cells, level)
        draws = rng.binomial(cells, level, size=20_000)
        assert low == np.quantile(draws, 0.1587) or abs(low - np.quantile(draws, 0.1587)) <= 1
        assert abs(high - np.quantile(draws, 0.8413)) <= max(1, 0.002 * high)


def test_a_message_about_shards_says_that_a_larger_table_helps() -> None:
    found = [outcome(TinyMim(k=5), slides(s, 800, 40, 8), null="shards", n=20) for s in range(6)]
    texts = [w for f in found for w in f.warnings if w.startswith("borderline")]
    assert texts
    assert all(text.endswith("Only a larger table helps") for text in texts)
