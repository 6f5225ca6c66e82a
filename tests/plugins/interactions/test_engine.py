"""Counts, fits, degrees of freedom and the screen, held to the plain method and to a GLM."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.run import Run
from fsframe.errors import RequestError
from fsframe_interactions import plain
from fsframe_interactions.calibration import calibrated
from fsframe_interactions.engine.best import best_pairs
from fsframe_interactions.engine.fit import deviance, fit, freedom, kirkwood
from fsframe_interactions.engine.sparse import binomial
from fsframe_interactions.engine.tail import log_chi2_tail, log_f_tail, log_gamma_tail
from fsframe_interactions.levels import column_codes, planes_of


def mixed_table(seed: int, n: int = 150, classes: int = 2, missing: float = 0.0) -> Dataset:
    """Columns of numbers, of genotypes common and rare, and of two levels."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=(n, 4)), rng.binomial(2, [0.5, 0.3, 0.05, 0.1, 0.02], (n, 5)),
         rng.integers(0, 2, (n, 2))]
    ).astype(float)  # fmt: skip
    X[rng.random(X.shape) < missing] = np.nan
    return Dataset.from_arrays(X, rng.integers(0, classes, n))


def plain_codes(data: Dataset) -> list[np.ndarray]:
    found = [column_codes(column, 3, 5, False)[0].astype(np.int64) for column in data.X.T]
    return [np.where(codes == 255, -1, codes) for codes in found]


def all_pairs(data: Dataset, keep: int = 10**6, largest_p: float = 1.0, run: Run | None = None):
    planes, _ = planes_of(data, 3, 5, 1 << 30)
    return best_pairs(planes, keep, largest_p, run or Run())


def poisson_deviance(table: np.ndarray) -> float:
    """Deviance of the Poisson regression on all two-way terms, by Newton's method."""
    i, j, k = (index.ravel() for index in np.indices(table.shape))
    codes = [i, j, k, i * 99 + j, i * 99 + k, j * 99 + k]
    X = np.hstack([np.equal.outer(code, np.unique(code)) for code in codes]).astype(float)
    basis, sizes, _ = np.linalg.svd(X, full_matrices=False)
    X, y = basis[:, sizes > 1e-9], table.ravel()
    eta = np.log(y + 0.5)
    for _ in range(60):
        mu = np.exp(eta)
        eta = X @ np.linalg.solve(X.T @ (mu[:, None] * X), X.T @ (mu * eta + y - mu))
    mu = np.exp(eta)
    return float(2 * np.sum(np.where(y > 0, y * np.log(np.maximum(y, 1) / mu), 0) - y + mu))


@pytest.mark.parametrize(
    ("classes", "missing", "n"), [(2, 0.0, 150), (3, 0.0, 150), (2, 0.15, 150), (3, 0.2, 110)]
)
def test_every_pair_agrees_with_the_plain_method(classes, missing, n):
    data = mixed_table(5, n, classes, missing)
    found = all_pairs(data)
    listed = {
        tuple(pair): (g2, df, log_p)
        for pair, g2, df, log_p in zip(
            found.pairs.tolist(), found.statistic, found.freedom, found.log_p, strict=True
        )
    }
    codes = plain_codes(data)
    for a in range(data.n_features):
        for b in range(a + 1, data.n_features):
            g2, df, p = plain.pair_test(plain.pair_table(codes[a], codes[b], data.y))
            if df == 0:
                assert (a, b) not in listed
                continue
            assert listed[a, b][1] == df
            assert listed[a, b][0] == pytest.approx(g2, abs=1e-8)
            assert np.exp(listed[a, b][2]) == pytest.approx(p, rel=1e-8)


def test_deviance_is_that_of_a_poisson_regression_without_the_three_way_term():
    rng = np.random.default_rng(2)
    for shape in ((2, 2, 2), (3, 3, 2), (3, 2, 4), (5, 4, 3)):
        table = rng.poisson(12, shape) + 1.0
        margins = [np.empty(shape[:2]), np.empty((shape[0], shape[2])), np.empty(shape[1:])]
        expected = np.empty(shape)
        kirkwood(table, *margins, expected)
        fit(*margins, expected, 1e-9, 2000)
        assert deviance(table, expected) == pytest.approx(poisson_deviance(table), abs=1e-8)
        assert freedom(*margins) == np.prod(np.array(shape) - 1)


def test_empty_margins_take_degrees_of_freedom():
    table = np.full((3, 3, 2), 10.0)
    table[2, 2] = 0.0  # A pair of levels that never occurs: one log odds less.
    assert plain.degrees_of_freedom(table) == 3
    table[1, :, 1] = 0.0  # A level that never occurs in a class: its whole row says nothing.
    assert plain.degrees_of_freedom(table) == 1
    for classes in (2, 3):
        rng = np.random.default_rng(classes)
        for _ in range(100):
            table = rng.poisson(0.8, (3, 3, classes)).astype(float)
            margins = [table.sum(axis) for axis in (2, 1, 0)]
            assert freedom(*margins) == plain.degrees_of_freedom(table)


def test_kirkwood_bounds_the_deviance_from_above():
    rng = np.random.default_rng(3)
    for _ in range(200):
        table = rng.poisson(rng.uniform(0.5, 20), (3, 3, 2)).astype(float)
        margins = [np.empty((3, 3)), np.empty((3, 2)), np.empty((3, 2))]
        expected = np.empty((3, 3, 2))
        kirkwood(table, *margins, expected)
        bound = deviance(table, expected)
        fit(*margins, expected, 1e-9, 2000)
        assert bound >= deviance(table, expected) - 1e-9


def test_the_screen_loses_no_pair_below_its_threshold():
    data = mixed_table(7, 120, 3, 0.05)
    every = all_pairs(data)
    for largest in (0.5, 0.1, 0.01):
        few = all_pairs(data, largest_p=largest)
        count = int(np.count_nonzero(np.exp(every.log_p) <= largest))
        assert len(few.pairs) == count > 0
        np.testing.assert_array_equal(few.pairs, every.pairs[:count])
        np.testing.assert_array_equal(few.log_p, every.log_p[:count])


def test_the_best_are_kept_however_the_tiles_are_banded(monkeypatch):
    from fsframe_interactions.engine import best

    rng = np.random.default_rng(8)
    data = Dataset.from_arrays(rng.integers(0, 3, (90, 60)).astype(float), rng.integers(0, 2, 90))
    every = all_pairs(data)
    monkeypatch.setattr(best, "BAND", 3)
    monkeypatch.setattr(best, "TILE", 2)
    few = all_pairs(data, keep=25)
    np.testing.assert_array_equal(few.pairs, every.pairs[:25])
    np.testing.assert_array_equal(few.log_p, every.log_p[:25])


def test_threads_change_no_bit():
    data = mixed_table(9, 80, 2)
    planes, _ = planes_of(data, 3, 5, 1 << 30)
    results = []
    for threads in (1, 2, 5):
        run = Run(entropy=4, threads=threads)
        results.append(calibrated(planes, best_pairs(planes, 1000, 1.0, run), 1000, 50, run))
    for found, plain_log_p, ratio in results[1:]:
        assert found.log_p.tobytes() == results[0][0].log_p.tobytes()
        assert found.pairs.tobytes() == results[0][0].pairs.tobytes()
        assert plain_log_p.tobytes() == results[0][1].tobytes()
        assert ratio.tobytes() == results[0][2].tobytes()


def test_simulated_mean_is_that_of_tables_drawn_from_the_fit():
    rng = np.random.default_rng(10)
    a, b = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    y = (rng.random(60) < np.array([0.2, 0.5, 0.8])[a]).astype(int)
    data = Dataset.from_arrays(np.column_stack([a, b]).astype(float), y)
    planes, _ = planes_of(data, 3, 5, 1 << 30)
    run = Run(threads=1)
    found = best_pairs(planes, 1, 1.0, run)
    _, _, ratio = calibrated(planes, found, 1, 4000, run)
    table = plain.pair_table(a, b, y)
    sizes = table.sum(axis=2)
    chances = plain.fitted(table)[:, :, 1] / np.maximum(sizes, 1)
    drawn = []
    margins = [np.empty((3, 3)), np.empty((3, 2)), np.empty((3, 2))]
    expected = np.empty((3, 3, 2))
    for _ in range(4000):
        ones = rng.binomial(sizes.astype(int), np.clip(chances, 0, 1))
        one = np.stack([sizes - ones, ones], axis=2)
        kirkwood(one, *margins, expected)
        fit(*margins, expected, 1e-6, 500)
        drawn.append(deviance(one, expected))
    error = np.std(drawn) / np.sqrt(2000)
    assert abs(ratio[0] * found.freedom[0] - np.mean(drawn)) < 4 * error
    assert ratio[0] > 1.05  # Sparse: χ² alone would say too much.


@pytest.mark.parametrize(("n", "p"), [(40, 0.1), (60, 0.3), (900, 0.02), (900, 0.7), (25, 0.5)])
def test_binomial_draws_follow_the_binomial(n, p):
    drawn = np.array([binomial(n, p) for _ in range(4000)])
    of_law = stats.binom(n, p)
    assert drawn.min() >= 0 and drawn.max() <= n
    edges = np.unique(of_law.ppf(np.linspace(0.05, 0.95, 10)))
    cells = np.diff(np.concatenate([[0], of_law.cdf(edges), [1]]))
    observed = np.bincount(np.searchsorted(edges, drawn), minlength=len(cells))
    # The draws are not seeded here: one run in a million fails.
    assert stats.chisquare(observed, 4000 * cells).pvalue > 1e-6


def test_tails_agree_with_scipy_and_go_on_where_it_underflows():
    g2, df = np.array([0.0, 0.3, 4.0, 60.0, 500.0]), np.array([1, 4, 2, 4, 9])
    np.testing.assert_allclose(log_chi2_tail(g2, df), stats.chi2.logsf(g2, df), rtol=1e-10)
    assert log_chi2_tail(12.0, 0) == 0.0
    # e^-x (1 + x) for s = 2, and both sides of where the series takes over.
    assert log_gamma_tail(2.0, 3000.0) == pytest.approx(np.log1p(3000.0) - 3000.0, rel=1e-9)
    edge = log_gamma_tail(2.0, np.linspace(660, 680, 201))
    assert np.all(np.abs(np.diff(edge, 2)) < 1e-4)
    f = np.array([0.0, 1.5, 30.0])
    np.testing.assert_allclose(log_f_tail(f, 1, 40), stats.f.logsf(f, 1, 40), rtol=1e-10)
    assert np.isfinite(log_f_tail(1e9, 1, 400)) and log_f_tail(1e9, 1, 400) < -700


def test_codes_keep_levels_and_cut_numbers_at_quantiles():
    codes, edges = column_codes(np.arange(9) + 0.5, 3, 5, False)
    assert codes.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2] and edges.tolist() == [2.5, 5.5]
    heavy = np.array([0.0] * 2 + [0.7] * 8)
    assert column_codes(heavy, 3, 5, False)[0].tolist() == [0, 0] + [1] * 8
    pooled, levels = column_codes(np.array([9.0, 9, 9, 4, 4, 1, 2, 3]), 2, 3, True)
    assert pooled.tolist() == [1, 1, 1, 0, 0, 2, 2, 2] and levels.tolist() == [4.0, 9.0]
    copied = np.repeat(np.random.default_rng(0).normal(size=17), np.arange(17))
    np.testing.assert_array_equal(
        column_codes(copied, 3, 5, False)[1], column_codes(np.repeat(copied, 3), 3, 5, False)[1]
    )


def test_too_little_memory_is_said_before_anything_is_counted():
    data = mixed_table(1, 400)
    with pytest.raises(RequestError, match=r"allow more memory.*mim:top"):
        planes_of(data, 3, 5, 1024)


def test_gaps_in_one_column_of_a_block_change_only_its_pairs():
    rng = np.random.default_rng(11)
    X = rng.integers(0, 3, (120, 20)).astype(float)
    y = rng.integers(0, 2, 120)
    whole = all_pairs(Dataset.from_arrays(X, y))
    X[::4, 5] = np.nan
    holed = all_pairs(Dataset.from_arrays(X, y))
    of_whole = dict(zip(map(tuple, whole.pairs.tolist()), whole.statistic, strict=True))
    of_holed = dict(zip(map(tuple, holed.pairs.tolist()), holed.statistic, strict=True))
    assert len(of_whole) == len(of_holed) == 190
    same = {pair for pair in of_whole if of_whole[pair] == of_holed[pair]}
    assert same == {pair for pair in of_whole if 5 not in pair}


def test_constant_columns_are_in_no_pair_and_do_no_harm():
    y = np.arange(40) % 2
    for X in (np.full((40, 9), 3.0), np.column_stack([np.full((40, 8), 3.0), np.arange(40) % 3])):
        assert not len(all_pairs(Dataset.from_arrays(X, y)).pairs)
