"""Chi-squared and F compared with SciPy and scikit-learn."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import attrs
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln
from scipy.stats import (
    chi2_contingency,
    fisher_exact,
    kruskal,
    mannwhitneyu,
    rankdata,
    spearmanr,
)
from scipy.stats import f as f_distribution
from sklearn.feature_selection import SelectFdr, SelectFwe, f_classif, f_regression

import fsframe
from fsframe import Run
from fsframe.chains.audit import audit_run
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.registry import classifiers, selectors
from fsframe.resampling.groups import with_group_means
from fsframe.table.dataset import Dataset
from tests.plugins.shared import people


def numbers(seed=0, n=150):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=(n, 4)) + 1e6, rng.integers(0, 4, (n, 4))]
    y = rng.integers(0, 3, n)
    X[:, 1] += y
    return Dataset.from_arrays(X, y)


@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_anova_equals_scikit_learn(target):
    data = numbers()
    y = data.y
    if target == "numbers":
        y = data.X[:, 0] - 1e6 + np.random.default_rng(1).normal(size=150)
    selection = fsframe.selectors["anova-f"]().select(Dataset.from_arrays(data.X, y))
    # scikit-learn loses digits of a large mean.
    theirs = f_classif if target == "classes" else f_regression
    statistic, p = theirs(data.X - data.X.mean(axis=0), y)
    columns = slice(4) if target == "classes" else slice(None)
    assert_allclose(selection.scores[columns], statistic[columns], rtol=1e-6, atol=1e-9)
    assert_allclose(selection.tables["p_values"][columns], p[columns], rtol=1e-6, atol=1e-9)


def assert_counts_are_copies(method, X, y, counts, **kinds):
    """p is that of rows that stand there as often as they are drawn, and so are scores."""
    counted = Dataset.from_arrays(X, y, **kinds).with_counts(counts)
    copied = Dataset.from_arrays(np.repeat(X, counts, axis=0), np.repeat(y, counts), **kinds)
    one, other = (method.select(data) for data in (counted, copied))
    assert_allclose(one.scores, other.scores, rtol=1e-9)
    assert_allclose(one.tables["p_values"], other.tables["p_values"], rtol=1e-9)


@pytest.mark.parametrize(
    ("settings", "numeric"),
    [({}, False), ({}, True), ({"ranks": True}, False), ({"curved": True, "spread": True}, True)],
    ids=["F", "F of numbers", "ranks", "curves and spreads"],
)
def test_gaps_are_left_out_feature_by_feature_and_drawn_rows_count_as_copies(settings, numeric):
    rng = np.random.default_rng(16)
    X = np.c_[rng.normal(size=(40, 2)), rng.integers(0, 3, 40)]
    y = 2 * X[:, 0] + 1 + rng.normal(size=40) if numeric else rng.integers(0, 2, 40)
    X[3:9, 1] = np.nan
    known, kinds = ~np.isnan(X[:, 1]), {"categorical": [False, False, True]}
    method = fsframe.selectors["anova-f"](missing="pairwise", **settings)
    data = Dataset.from_arrays(X, y, **kinds)
    alone = method.select(Dataset.from_arrays(X[known][:, [1]], y[known])).tables["p_values"]
    assert_allclose(method.select(data).tables["p_values"][1], alone[0])
    counts = np.bincount(rng.integers(0, 40, 40), minlength=40)
    assert_counts_are_copies(method, X, y, counts, **kinds)


def test_anova_has_no_opinion_on_constants_and_a_bound_on_perfection():
    X = np.c_[np.full(6, 0.1), [1, 1, 1, 2, 2, 2], [1, 2, 3, 1, 2, 3]]
    selection = fsframe.selectors["anova-f"](top=3).select(
        Dataset.from_arrays(X, [0, 0, 0, 1, 1, 1])
    )
    assert selection.selected.tolist() == [1, 0, 2]
    assert selection.scores.tolist() == [0, np.finfo(float).max, 0]
    assert "separate the classes perfectly" in selection.warnings[0]


def cross(x, y):
    return np.array([[np.sum((x == a) & (y == c)) for c in np.unique(y)] for a in np.unique(x)])


def test_chi2_equals_scipy():
    data = numbers()
    selection = fsframe.selectors["chi2"]().select(data)
    for j in range(4, 8):
        expected = chi2_contingency(cross(data.X[:, j], data.y), correction=False)
        assert_allclose(selection.scores[j], expected.statistic)
        assert_allclose(selection.tables["p_values"][j], expected.pvalue)


def test_chi2_by_p_value_does_not_reward_many_levels():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    weak = np.where(rng.random(400) < 0.25, y, rng.integers(0, 2, 400))
    X = np.c_[rng.integers(0, 60, 400), weak]
    data = Dataset.from_arrays(X, y, categorical=[0, 1])
    assert fsframe.selectors["chi2"](top=1).select(data).selected.tolist() == [0]
    assert fsframe.selectors["chi2"](top=1, rank_by="p-value").select(data).selected.tolist() == [1]


def mixed(seed: int) -> Dataset:
    """Five relevant features of 20: two numbers, a column of 0 and 1, and two of levels."""
    rng = np.random.default_rng(seed)
    numeric, binary = rng.normal(size=(200, 8)), (rng.random((200, 6)) < 0.4).astype(float)
    levels = np.column_stack([rng.integers(0, 3 + j % 4, size=200) for j in range(6)])
    score = 1.2 * numeric[:, :2].sum(axis=1) + 2 * binary[:, 0]
    score += 2.0 * (levels[:, 0] == 1) + 2.0 * (levels[:, 1] >= 2)
    y = score + rng.logistic(size=200) > np.median(score)
    X = np.hstack([numeric, binary, levels])
    return Dataset.from_arrays(X, y.astype(int), categorical=range(14, 20))


def test_f_of_different_laws_are_ranked_by_p():
    best = {"auto": 0, "statistic": 0, "p-value": 0}
    for seed in range(60):
        data = mixed(seed)
        for rank_by in best:
            selection = fsframe.selectors["anova-f"](top=5, rank_by=rank_by).select(data)
            best[rank_by] += np.isin(selection.selected, [0, 1, 8, 14, 15]).sum()
            if rank_by == "auto":
                p = selection.tables["p_values"]
                assert (np.diff(p[np.argsort(-selection.scores, kind="stable")]) >= 0).all()
    assert best["auto"] == best["p-value"] > best["statistic"]
    only = Dataset.from_arrays(data.X[:, :14], data.y)
    plain = fsframe.selectors["anova-f"]().select(only)
    assert_allclose(plain.scores, f_classif(only.X, only.y)[0])
    by_p = fsframe.selectors["anova-f"](rank_by="p-value").select(only)
    assert by_p.selected.tolist() == plain.selected.tolist()
    assert_allclose(10.0**-by_p.scores, f_classif(only.X, only.y)[1])


def signal(seed: int, n: int = 80, p: int = 40, real: int = 5) -> Dataset:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, p))
    X[:, :real] += 0.8 * y[:, None]
    return Dataset.from_arrays(X, y)


@pytest.mark.parametrize(("correction", "theirs"), [("bh", SelectFdr), ("bonferroni", SelectFwe)])
def test_a_level_keeps_what_scikit_learn_keeps(correction, theirs):
    for seed in range(5):
        data = signal(seed)
        selection = fsframe.selectors["anova-f"](alpha=0.05, correction=correction).select(data)
        kept = theirs(f_classif, alpha=0.05).fit(data.X, data.y).get_support(indices=True)
        assert sorted(selection.selected) == kept.tolist()
        assert (np.diff(selection.scores[selection.selected]) <= 0).all()
        assert ((selection.tables["q_values"] <= 0.05).nonzero()[0] == kept).all()


def test_a_level_and_a_number_keep_the_best_of_the_significant():
    data = signal(0)
    all_of_them = fsframe.selectors["anova-f"](alpha=0.05).select(data).selected
    two = fsframe.selectors["anova-f"](alpha=0.05, top=2).select(data).selected
    assert two.tolist() == all_of_them[:2].tolist()


def test_nothing_is_kept_of_noise_and_the_best_is_named():
    selection = fsframe.selectors["anova-f"](alpha=0.01).select(signal(3, real=0))
    assert not selection.selected.size
    assert selection.warnings[0].startswith("no column has q ≤ 0.01 (bh); the best, ")


def test_means_of_groups_are_tested():
    data = people(2, 40, 5, 30, 0.2)
    for name in ("anova-f", "chi2"):
        method = fsframe.selectors[name](alpha=0.05)
        selection = method.select(data)
        means = with_group_means(data, name)
        assert_allclose(selection.tables["p_values"], method.select(means).tables["p_values"])
        # Rows as if they were independent name columns of noise.
        rows = method.select(attrs.evolve(data, groups=None))
        assert rows.selected.size > 2 and not selection.selected.size
    mixed = data.with_labels(np.arange(200) % 2)
    with pytest.raises(DataError, match=r"varies within 'person'.*`anova-f:top=10 npfs` tests"):
        fsframe.selectors["anova-f"](alpha=0.05).select(mixed)


def test_a_level_is_refused_where_rows_have_an_order():
    data = signal(0)
    with_time = Dataset.from_arrays(
        np.c_[data.X, np.arange(80.0)], data.y, [*data.feature_names, "day"]
    ).with_roles(time="day")
    fsframe.selectors["anova-f"]().select(with_time)
    with pytest.raises((DataError, RequestError), match="p-values take rows as independent"):
        fsframe.selectors["anova-f"](alpha=0.05).select(with_time)


def test_chi2_with_a_level_leaves_excluded_features_out():
    data = signal(1, n=200)
    selection = fsframe.selectors["chi2"](alpha=0.3).select(data)
    assert selection.selected.size > 1
    best = data.feature_names[selection.selected[0]]
    last = data.feature_names[selection.scores.argmin()]
    other = fsframe.selectors["chi2"](alpha=0.3, exclude=(best,), given=(last,)).select(data)
    names = [data.feature_names[column] for column in other.selected]
    assert names[0] == last and best not in names and len(names) == selection.selected.size


def test_f_of_ranks_is_that_of_kruskal_and_wallis_and_of_spearman():
    rng = np.random.default_rng(3)
    X = np.c_[rng.standard_t(1, (40, 3)), rng.integers(0, 5, 40)]
    y = np.arange(40) % 3
    selection = fsframe.selectors["anova-f"](ranks=True).select(Dataset.from_arrays(X, y))
    for column in range(4):
        H = kruskal(*(X[y == c, column] for c in range(3))).statistic
        F = (H / 2) / ((39 - H) / 37)
        assert_allclose(selection.scores[column], F, rtol=1e-9)
        assert_allclose(
            selection.tables["p_values"][column], f_distribution.sf(F, 2, 37), rtol=1e-9
        )
    target = np.exp(X[:, 0].clip(-50, 50))
    selection = fsframe.selectors["anova-f"](ranks=True).select(Dataset.from_arrays(X, target))
    r = np.array([spearmanr(x, target).statistic for x in X.T])
    assert selection.scores[0] == np.finfo(float).max
    assert_allclose(selection.scores[1:], r[1:] ** 2 / (1 - r[1:] ** 2) * 38, rtol=1e-9)


def test_f_of_a_parabola_is_that_of_least_squares():
    rng = np.random.default_rng(5)
    X = np.c_[rng.normal(size=(50, 2)) * [1, 1e80] + [1e3, 0], np.arange(50) % 2]
    y = X[:, 1] ** 2 * 1e-160 + rng.normal(size=50)
    method = fsframe.selectors["anova-f"](curved=True, rank_by="statistic")
    selection = method.select(Dataset.from_arrays(X, y))
    for column, unit in ((0, 1.0), (1, 1e80)):
        x = (X[:, column] - X[:, column].mean()) / unit
        model = np.c_[np.ones(50), x, x**2]
        rest = y - model @ np.linalg.lstsq(model, y, rcond=None)[0]
        left = (rest**2).sum() / ((y - y.mean()) ** 2).sum()
        F = (1 - left) / 2 / (left / 47)
        assert_allclose(selection.scores[column], F, rtol=1e-7)
        assert_allclose(
            selection.tables["p_values"][column], f_distribution.sf(F, 2, 47), rtol=1e-6
        )
    assert_allclose(selection.scores[2], f_regression(X[:, [2]], y)[0], rtol=1e-7)


@pytest.mark.parametrize("curved", [False, True])
def test_the_spread_is_tested_by_glejsers_f_of_absolute_residuals(curved):
    rng = np.random.default_rng(15)
    X = np.c_[rng.normal(size=(60, 3)), rng.integers(0, 3, 60), np.ones(60)]
    y = X[:, 0] + np.exp(X[:, 1] + (X[:, 3] == 2)) * rng.normal(size=60)
    data = Dataset.from_arrays(X, y, categorical=[False, False, False, True, False])
    method = fsframe.selectors["anova-f"](curved=curved, spread=True)
    result = method.select(data).tables["p_values"]
    for column in range(4):
        model = np.c_[np.ones(60), X[:, [column]] ** ([1, 2] if curved else [1])]
        if column == 3:
            model = (X[:, [3]] == [0, 1, 2]).astype(float)
        rest = y - model @ np.linalg.lstsq(model, y, rcond=None)[0]
        of_mean = f_oneway_of(model, y)
        size = np.abs(rest) - np.sign(rest).mean() * rest
        of_spread = f_oneway_of(model if column == 3 else model[:, :2], size)
        assert_allclose(result[column], min(1.0, 2 * min(of_mean, of_spread)), rtol=1e-8)
    assert result[1] < 0.05 < result[2]
    assert result[4] == 1.0


def f_oneway_of(model, y):
    """p of F of a linear model, whose columns span the constants, against the mean."""
    rest = y - model @ np.linalg.lstsq(model, y, rcond=None)[0]
    q, left, whole = model.shape[1] - 1, rest @ rest, ((y - y.mean()) ** 2).sum()
    return f_distribution.sf((whole - left) / q / (left / (len(y) - q - 1)), q, len(y) - q - 1)


def test_an_exact_line_has_the_largest_score_and_two_tests_have_no_single_statistic():
    x = np.random.default_rng(16).normal(size=40)
    data = Dataset.from_arrays(x[:, None], 2 * x + 1)
    selection = fsframe.selectors["anova-f"](curved=True, spread=True).select(data)
    assert selection.scores[0] == np.finfo(float).max
    with pytest.raises(DataError, match="leave out rank_by=statistic"):
        fsframe.selectors["anova-f"](spread=True, rank_by="statistic").select(data)


def test_of_unrelated_features_few_have_another_spread():
    """Of 3,000 features unrelated to a skewed target, 1.5 in 100 at most have p ≤ 0.01."""
    small = 0
    for seed in range(10):
        rng = np.random.default_rng([17, seed])
        data = Dataset.from_arrays(rng.normal(size=(200, 300)), rng.exponential(size=200))
        selection = fsframe.selectors["anova-f"](spread=True).select(data)
        small += int((selection.tables["p_values"] <= 0.01).sum())
    assert small <= 45


@pytest.mark.parametrize("name", ["curved", "spread"])
def test_parabolas_and_spreads_are_for_numeric_targets_without_covariates(name):
    method = fsframe.selectors["anova-f"](**{name: True})
    with pytest.raises(DataError, match=f"{name}=true is for numeric targets"):
        method.select(numbers())
    rng = np.random.default_rng(6)
    data = Dataset.from_arrays(rng.normal(size=(20, 3)), rng.normal(size=20), ["a", "b", "c"])
    with pytest.raises(DataError, match="no partial F"):
        method.select(data.with_roles(adjust="c"))


@pytest.mark.parametrize("chain", ["anova-f", "chi2"])
def test_a_ranking_of_rows_that_belong_together_has_no_p_values(chain):
    draw = np.random.default_rng(4)
    who = np.repeat(np.arange(20), 5)
    X = draw.normal(size=(20, 6))[who]
    plain = Dataset.from_arrays(X, who % 2)
    grouped = Dataset.from_arrays(X, who % 2, groups=who)
    in_time = Dataset.from_arrays(np.c_[X, np.arange(100.0)], who % 2).with_roles(time="f7")
    alone = Chain.parse(chain).select(plain)
    assert "p_values" in alone.tables
    for data in (grouped, in_time):
        selection = Chain.parse(chain).select(data)
        assert "p_values" not in selection.tables
        assert selection.scores.tobytes() == alone.scores.tobytes()
    assert "p_values" in Chain.parse(f"{chain}:alpha=0.05").select(grouped).tables


@pytest.mark.parametrize(
    ("rows", "columns", "classes", "said"),
    [(30, 100, 3, True), (60, 100, 3, False), (30, 20, 3, False), (30, 100, 2, False)],
)
def test_small_p_values_of_ranks_of_few_rows_come_with_a_note(rows, columns, classes, said):
    X = np.random.default_rng(0).normal(size=(rows, columns))
    data = Dataset.from_arrays(X, np.arange(rows) % classes)
    selection = Chain.parse("anova-f:alpha=0.05,ranks=true").select(data)
    assert any("p-values of ranks around" in text for text in selection.warnings) == said
    of_values = Chain.parse("anova-f:alpha=0.05").select(data)
    assert not any("p-values of ranks" in text for text in of_values.warnings)


def test_p_values_of_ranks_of_two_classes_are_exact_in_few_rows():
    """SciPy's exact p without equal values; with them the share of all ways to draw a class."""
    rng = np.random.default_rng(6)
    method = fsframe.selectors["anova-f"](ranks=True, missing="pairwise", alpha=0.05)
    y = np.arange(31) % 3 == 1
    X = rng.normal(size=(31, 60)) + np.linspace(0, 1.5, 60) * y[:, None]
    X[3, ::2] = np.nan
    p = method.select(Dataset.from_arrays(X, y)).tables["p_values"]
    exact = mannwhitneyu(X[y], X[~y], method="exact", nan_policy="omit").pvalue
    assert (exact < 1e-3).sum() > 5 and (exact < 0.08).sum() > 20
    assert_allclose(p[exact < 0.08], exact[exact < 0.08], rtol=1e-9)
    # Where p decides nothing, as in hundreds of resamples, it is that of F.
    scored = attrs.evolve(method, alpha=None).select(Dataset.from_arrays(X[:, 1::2], y))
    of_f = f_distribution.sf(scored.scores, 1, 29)
    assert_allclose(scored.tables["p_values"], of_f, rtol=1e-9)

    few = np.array([[1, 1, 2, 2, 2, 3, 4, 4, 9, 9]], float).T
    ranks, counts = rankdata(few[:, 0]), 1 + (np.arange(10) % 3 == 0)
    drawn = np.array([ranks[list(rows)].sum() for rows in combinations(range(10), 4)])
    for rows in ((0, 1, 2, 3), (0, 1, 2, 5), (6, 7, 8, 9), (5, 7, 8, 9)):
        labels = np.isin(np.arange(10), rows)
        (found,) = method.select(Dataset.from_arrays(few, labels)).tables["p_values"]
        share = (abs(drawn - 22) >= abs(ranks[labels].sum() - 22) - 1e-9).mean()
        assert 0 < share < 0.08
        assert_allclose(found, share, rtol=1e-9)
        assert_counts_are_copies(method, few, labels, counts)


def rare_columns(seed=0, n=120):
    """Columns of two values, of which some are rare, and a label of which a third is positive."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 30)) < np.linspace(0.02, 0.6, 30), 7.5, -2.0)
    return X, np.where(X[:, 5] > 0, True, rng.random(n) < 0.33)


@pytest.mark.parametrize("name", ["anova-f", "chi2"])
def test_rare_values_have_the_p_of_fishers_exact_test(name):
    X, y = rare_columns()
    tables = [chi2_contingency(np.stack([np.bincount(x > 0, ~y), np.bincount(x > 0, y)]))
              for x in X.T]  # fmt: skip
    few = np.array([table.expected_freq.min() < 10 for table in tables])
    assert 5 < few.sum() < 25
    method = fsframe.selectors[name](alpha=0.05)
    p = method.select(Dataset.from_arrays(X, y)).tables["p_values"]
    exact = [fisher_exact(np.stack([np.bincount(x > 0, ~y), np.bincount(x > 0, y)])).pvalue
             for x in X.T]  # fmt: skip
    assert_allclose(p[few], np.array(exact)[few], rtol=1e-9)
    assert p[5] < 0.01
    assert (p[~few] < np.array(exact)[~few]).any()
    # Levels of nominal columns are two values too; p that decide nothing are those of F and χ².
    nominal = Dataset.from_arrays(X, y, categorical=range(30))
    assert_allclose(method.select(nominal).tables["p_values"][few], p[few], rtol=1e-9)
    scored = attrs.evolve(method, alpha=None).select(Dataset.from_arrays(X, y))
    assert (scored.tables["p_values"][few] < p[few]).any()
    # Rows that are drawn twice are rows that stand there twice, and those not drawn do not exist.
    counts = np.random.default_rng(1).integers(0, 3, len(y))
    assert_counts_are_copies(method, X, y, counts)


def test_rare_values_with_gaps_and_extreme_tables():
    X, y = rare_columns()
    X[::7, ::3] = np.nan
    method = fsframe.selectors["anova-f"](alpha=0.05, missing="pairwise")
    p = method.select(Dataset.from_arrays(X, y)).tables["p_values"]
    compared = 0
    for x, value in zip(X.T, p, strict=True):
        known = ~np.isnan(x)
        table = np.stack([np.bincount(x[known] > 0, label) for label in (~y[known], y[known])])
        if table.shape == (2, 2) and chi2_contingency(table).expected_freq.min() < 10:
            assert_allclose(value, fisher_exact(table).pvalue, rtol=1e-9)
            compared += np.isnan(x).any()
    assert compared > 3
    # 1 / C(4000, 20) and 1 / C(400000, 1000): the latter is no double, but its logarithm is.
    for n, k in ((4000, 20), (400_000, 1000)):
        y = np.arange(n) < k
        selection = attrs.evolve(method, rank_by="p-value").select(
            Dataset.from_arrays(y[:, None].astype(float), y)
        )
        ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        assert_allclose(selection.scores, ways / np.log(10), rtol=1e-9)


def test_a_chain_of_chi2_is_named_as_it_was():
    # The order of parameters is part of the names and digests of runs.
    assert str(Chain.parse("chi2:missing=level,bins=5,top=3")) == "chi2:top=3,bins=5,missing=level"


# Methods that another plugin offered in earlier releases: old names and files still serve


TABLE = Path(__file__).parents[3] / "examples" / "parkinsons.csv"
FORMER = {
    "impute": "tables",
    "variance": "sklearn",
    "correlation": "sklearn",
    "chi2": "infotheory",
    "anova-f": "infotheory",
    "knn": "classify",
}


@pytest.mark.parametrize(("name", "provider"), FORMER.items())
def test_the_former_provider_still_names_the_method(name, provider):
    registry = classifiers if name == "knn" else selectors
    assert registry[f"{provider}/{name}"] is registry[f"filters/{name}"] is registry[name]
    assert f"margin/{name}" not in registry


def test_a_chain_of_former_names_gives_the_same_result():
    data = fsframe.read(TABLE)
    old = Chain.parse("tables/impute sklearn/variance infotheory/chi2:top=3").run(data)
    new = Chain.parse("impute variance chi2:top=3").run(data)
    assert list(old.selected) == list(new.selected)
    assert [stage.provider for stage in old.stages] == ["filters"] * 3


def test_an_audit_accepts_the_former_provider_and_no_other():
    data = fsframe.read(TABLE)
    record = Chain.parse("variance chi2:top=3").run(data)
    for provider, same in (("infotheory", True), ("margin", False)):
        stage = attrs.evolve(record.stages[1], provider=provider)
        older = attrs.evolve(record, stages=(record.stages[0], stage))
        assert [found.difference == 0 for found in audit_run(older, data, Run())] == [True, same]
