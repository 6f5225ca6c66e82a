"""Counts, fits, degrees of freedom and the screen, held to the plain method and to a GLM."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_interactions import plain
from fsframe_interactions.calibration import WithinBinEffects, calibrate
from fsframe_interactions.engine.bit_rows import bit_rows_of, column_codes
from fsframe_interactions.engine.contingency_tables import (
    _splitmix,
    deviance,
    fit,
    freedom,
    kirkwood,
    log_chi2_tail,
    log_f_tail,
    log_gamma_tail,
)
from fsframe_interactions.engine.screen import best_pairs


def mixed_table(seed: int, n: int = 150, classes: int = 2, missing: float = 0.0) -> Dataset:
    """Columns of numbers, of genotypes common and rare, and of two levels."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=(n, 4)), rng.binomial(2, [0.5, 0.3, 0.05, 0.1, 0.02], (n, 5)),
         rng.integers(0, 2, (n, 2))]
    ).astype(float)  # fmt: skip
    # Columns with gaps beside columns without, whose pairs are counted in another way.
    X[:, 3:][rng.random((n, X.shape[1] - 3)) < missing] = np.nan
    return Dataset.from_arrays(X, rng.integers(0, classes, n))


def plain_codes(data: Dataset) -> list[np.ndarray]:
    found = [column_codes(column, 3, 5, False)[0].astype(np.int64) for column in data.X.T]
    return [np.where(codes == 255, -1, codes) for codes in found]


def all_pairs(data: Dataset, keep: int = 10**6, largest_p: float = 1.0, run: Run | None = None):
    planes, _ = bit_rows_of(data, 3, 5, 1 << 30)
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
    result = all_pairs(data)
    listed = {
        tuple(pair): (g2, df, log_p)
        for pair, g2, df, log_p in zip(
            result.pairs.tolist(), result.statistic, result.freedom, result.log_p, strict=True
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
    from fsframe_interactions.engine import screen

    rng = np.random.default_rng(8)
    data = Dataset.from_arrays(rng.integers(0, 3, (90, 60)).astype(float), rng.integers(0, 2, 90))
    every = all_pairs(data)
    monkeypatch.setattr(screen, "BAND", 3)
    monkeypatch.setattr(screen, "TILE", 2)
    few = all_pairs(data, keep=25)
    np.testing.assert_array_equal(few.pairs, every.pairs[:25])
    np.testing.assert_array_equal(few.log_p, every.log_p[:25])


ORDERED = np.ones(40, dtype=bool)


def all_with_the_margins(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """G² of every table of three levels by two, two classes, with these margins, and its chance."""
    sizes, ones = table.sum(axis=2), table[:, :, 1]
    of_rows, of_columns = ones.sum(axis=1), ones.sum(axis=0)
    g2, chance = [], []
    for one, other in itertools.product(range(int(sizes[0, 0]) + 1), range(int(sizes[1, 0]) + 1)):
        first = np.array([one, other, of_columns[0] - one - other])
        drawn = np.column_stack([first, of_rows - first])
        if (drawn < 0).any() or (drawn > sizes).any():
            continue
        g2.append(plain.pair_test(np.stack([sizes - drawn, drawn], axis=2))[0])
        chance.append(np.exp(-gammaln(drawn + 1).sum() - gammaln(sizes - drawn + 1).sum()))
    return np.array(g2), np.array(chance) / np.sum(chance)


def test_the_walk_has_mean_and_variance_of_all_tables_with_these_margins():
    rng = np.random.default_rng(10)
    a, b = rng.integers(0, 3, 45), rng.integers(0, 2, 45)
    y = (rng.random(45) < np.array([0.2, 0.5, 0.8])[a]).astype(int)
    data = Dataset.from_arrays(np.column_stack([a, b]).astype(float), y)
    planes, _ = bit_rows_of(data, 3, 5, 1 << 30)
    run = Run(threads=1)
    of_pair = calibrate(planes, best_pairs(planes, 1, 1.0, run), 1, 20_000, run, ORDERED)
    g2, chance = all_with_the_margins(plain.pair_table(a, b, y))
    mean = chance @ g2
    variance = chance @ (g2 - mean) ** 2
    assert of_pair.ratio[0] * of_pair.freedom[0] == pytest.approx(mean, rel=0.03)
    assert of_pair.fitted_freedom[0] == pytest.approx(2 * mean**2 / variance, rel=0.06)
    own = of_pair.statistic[0]
    exact = chance[g2 >= own - 1e-6].sum() - 0.5 * chance[np.abs(g2 - own) < 1e-6].sum()
    assert np.exp(of_pair.log_p[0]) == pytest.approx(exact, abs=0.05)


def test_a_table_that_its_margins_leave_no_choice_tells_nothing():
    a, b = np.array([0, 0, 1, 1] * 5), np.array([0, 1, 0, 1] * 5)
    data = Dataset.from_arrays(np.column_stack([a, b]).astype(float), a & b)
    planes, _ = bit_rows_of(data, 3, 5, 1 << 30)
    of_pair = calibrate(planes, best_pairs(planes, 1, 1.0, Run()), 1, 50, Run(), ORDERED)
    assert (of_pair.log_p == 0).all() and (of_pair.fitted_freedom == 0).all()


def within_bins(X: np.ndarray, y: np.ndarray) -> WithinBinEffects:
    data = Dataset.from_arrays(X, y)
    return WithinBinEffects(data, *bit_rows_of(data, 3, 5, 1 << 30), 1 << 20)


def beyond_pairs_of_factors(tilt: np.ndarray) -> np.ndarray:
    for axis in range(3):
        tilt = tilt - tilt.mean(axis=axis, keepdims=True)
    return tilt


def test_cells_of_correlated_columns_are_tilted_as_two_main_effects_tilt_them():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200_000, 2))
    X[:, 1] = 0.7 * X[:, 0] + np.sqrt(0.51) * X[:, 1]
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-1.5 * X.sum(axis=1)))).astype(int)
    tilt = within_bins(X, y).tilt(0, 1)
    codes = [column_codes(column, 3, 5, False)[0].astype(np.int64) for column in X.T]
    seen = beyond_pairs_of_factors(np.log(plain.pair_table(*codes, y)))
    expected = beyond_pairs_of_factors(tilt)
    # Nothing but main effects made the joint effect that the cells show.
    assert np.abs(seen).max() > 0.05
    np.testing.assert_allclose(expected, seen, atol=0.03)


def test_nothing_is_tilted_without_slopes_or_bins():
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=(600, 2)), rng.integers(0, 3, (600, 2))])
    y = rng.integers(0, 3, 600)
    within = within_bins(X, y)
    assert within.tilt(0, 1) is None and within.tilt(2, 3) is None
    assert within.binned(0) and not within.binned(2)


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
        bit_rows_of(data, 3, 5, 1024)


def test_constant_columns_are_in_no_pair_and_do_no_harm():
    y = np.arange(40) % 2
    for X in (np.full((40, 9), 3.0), np.column_stack([np.full((40, 8), 3.0), np.arange(40) % 3])):
        assert not len(all_pairs(Dataset.from_arrays(X, y)).pairs)


def test_the_simulation_draws_from_splitmix64():
    # The published outputs for seed 0: finalised multiples of the golden gamma.
    steps = np.arange(1, 4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    found = [int(_splitmix(step)) for step in steps]
    assert found == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
