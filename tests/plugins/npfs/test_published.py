"""The published test: the reference's numbers, its variants, its known failure."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fsframe.chains.chain import Chain
from fsframe.method.run import Run
from fsframe_npfs import plain
from fsframe_npfs.engine.nulls import binomial_tail, critical_value
from fsframe_npfs.methods.npfs import Npfs

from .conftest import TinyMim, outcome, slides

DATA = Path(__file__).parent / "data"


def table(name: str) -> list[dict[str, str]]:
    with (DATA / name).open() as lines:
        return list(csv.DictReader(lines))


def reference_matrix(base: Any, seed: int, features: int, fraction: float) -> Any:
    """Ranks of the first 25 of every bootstrap, drawn from the reference's own random streams."""
    data = slides(seed, features=features)
    rows = np.random.default_rng(10000 + seed)
    size = int(1000 * fraction)
    counts = np.stack(
        [np.bincount(rows.integers(0, 1000, size), minlength=1000) for _ in range(500)]
    )
    return np.array([s.selected for s in base.select_many(data, counts)])


def assert_as_in_the_reference(ranked: Any, name: str, seed: int, features: int, fraction: float):
    """Critical value, number selected and number true, for every k and both inequalities."""
    rows = {
        (r["k"], r["inequality"]): r
        for r in table(f"at_n500_{name}.csv")
        if (r["K_features"], r["seed"]) == (str(features), str(seed))
        and float(r["bootstrap_fraction"]) == fraction
    }
    assert len(rows) == 10
    for k in (3, 5, 10, 15, 25):
        z = np.bincount(ranked[:, :k].ravel(), minlength=features)
        critical = critical_value(binomial_tail(500, k / features), 0.01)
        for inequality, relevant in (("gt", z > critical), ("ge", z >= critical)):
            row = rows[str(k), inequality]
            found = (critical, relevant.sum(), relevant[:15].sum())
            expected = (float(row["zcrit"]), int(row["selected"]), int(row["true_pos"]))
            assert found == expected, (seed, k, inequality)


@pytest.mark.parametrize("features", [50, 100, 250])
@pytest.mark.parametrize("fraction", [1.0, 0.75])
def test_every_seed_gives_the_reference_selection_at_500_bootstraps(features, fraction):
    for seed in range(3):
        ranked = reference_matrix(TinyMim(k=25), seed, features, fraction)
        assert_as_in_the_reference(ranked, "mim", seed, features, fraction)


@pytest.mark.parametrize(
    ("seed", "fraction"), [(0, 1.0), pytest.param(1, 0.75, marks=pytest.mark.slow)]
)
def test_jmi_gives_the_reference_selection_at_500_bootstraps(seed, fraction):
    ranked = reference_matrix(Chain.parse("jmi:top=25"), seed, 50, fraction)
    assert_as_in_the_reference(ranked, "jmi", seed, 50, fraction)


@pytest.mark.parametrize(("k", "n"), [(3, 100), (10, 100), (25, 100), (15, 300)])
@pytest.mark.parametrize("variant", ["published", "matlab"])
def test_selector_reproduces_the_size_curves_within_their_spread(k, n, variant):
    fraction, inequality = {"published": (1.0, "gt"), "matlab": (0.75, "ge")}[variant]
    (row,) = (
        r
        for r in table("curves_mim.csv")
        if (r["K_features"], r["k"], r["n_bootstraps"]) == ("50", str(k), str(n))
        and (float(r["bootstrap_fraction"]), r["inequality"]) == (fraction, inequality)
    )
    test = Npfs(null=variant, n=n, stratify=False)
    sizes, true = [], []
    for seed in range(10):
        found = test.select_wrapped(TinyMim(k=k), slides(seed), None, Run(entropy=seed))
        sizes.append(found.selected.size)
        true.append((found.selected < 15).sum())
        assert found.tables["critical-value"][0] == float(row["z_crit"])
    # Same tables, other bootstraps: the means differ by less than the spread over tables allows.
    allowed = 3 * max(float(row["selected_sd"]), 0.5) / np.sqrt(10)
    assert abs(np.mean(sizes) - float(row["selected_mean"])) <= allowed
    assert abs(np.mean(true) - float(row["true_mean"])) <= allowed


@pytest.mark.parametrize("bias", ["0.05", "0.2", "k/K"])
def test_bias_term_shrinks_the_set_as_in_the_reference(bias):
    (row,) = (
        r
        for r in table("bias_mim.csv")
        if (r["K_features"], r["k"], r["n_bootstraps"], r["beta"]) == ("50", "10", "100", bias)
    )
    beta = 10 / 50 if bias == "k/K" else float(bias)
    test = Npfs(null="published", bias=beta, stratify=False)
    sizes = [
        test.select_wrapped(TinyMim(k=10), slides(seed), None, Run()).selected.size
        for seed in range(5)
    ]
    assert abs(np.mean(sizes) - float(row["selected"])) <= 1.0


def test_tables_hold_what_the_test_is_made_of():
    found = outcome(TinyMim(k=5), slides(0), null="published", n=40)
    tables = found.tables
    assert tables["bootstrap-matrix"].shape == (40, 50)
    np.testing.assert_array_equal(tables["bootstrap-matrix"].sum(axis=0), tables["z"])
    np.testing.assert_array_equal(tables["kept"], 5)
    np.testing.assert_allclose(tables["p0"], 0.1)
    np.testing.assert_allclose(
        tables["p-values"],
        [stats.binomtest(int(z), 40, 0.1, "greater").pvalue for z in tables["z"]],
    )
    np.testing.assert_array_equal(tables["relevant"], tables["z"] > tables["critical-value"])
    np.testing.assert_array_equal(tables["relevant"], tables["p-values"] <= 0.01)
    assert set(found.selected) == set(np.flatnonzero(tables["relevant"]))
    assert (np.diff(tables["z"][found.selected]) <= 0).all()
    np.testing.assert_allclose(found.scores, tables["z"] / 40)
    half = np.sqrt(np.log(2 / 0.01) / 80)
    np.testing.assert_allclose(tables["upper"], np.minimum(found.scores + half, 1))
    assert "does not keep its level" in found.warnings[0]


def test_bases_that_keep_varying_numbers_get_the_poisson_binomial_null():
    class Varying(TinyMim):
        def _select_many(self, data: Any, counts: Any, upstream: Any, run: Any) -> Any:
            found = super()._select_many(data, counts, upstream, run)
            sizes = 2 + counts[:, 0] % 3
            return [
                type(s)(selected=s.selected[:size], scores=s.scores)
                for s, size in zip(found, sizes, strict=True)
            ]

    tables = outcome(Varying(k=10), slides(0), null="published").tables
    p0 = tables["kept"] / 50
    assert set(tables["kept"]) == {2, 3, 4}
    expected = stats.poisson_binom.sf(tables["z"] - 1, p0)
    np.testing.assert_allclose(tables["p-values"], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.01, 0.001])
def test_the_plain_program_decides_the_same(alpha):
    test = Npfs(null="published", n=40, alpha=alpha)
    tables = test.select_wrapped(TinyMim(k=5), slides(1), None, Run()).tables
    wanted = plain.neyman_pearson(tables["bootstrap-matrix"], alpha)
    assert 0 < wanted.sum() < 50
    np.testing.assert_array_equal(tables["relevant"], wanted)
    np.testing.assert_array_equal(tables["z"], plain.counts(tables["bootstrap-matrix"])[0])
