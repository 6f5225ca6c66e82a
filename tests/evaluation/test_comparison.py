"""Tests between methods by hand and against scipy; chains on identical folds; grids of chains."""

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.evaluation.comparison import RULES, Cell, compared, methods_of
from fsframe.evaluation.comparison_tests import (
    PairedTest,
    corrected_resampled_test,
    correlated_posterior,
    critical_difference,
    paired_t_test,
    pareto_front,
    signed_rank_posterior,
    wilcoxon_holm,
    win_tie_loss,
)
from fsframe.evaluation.grid import ChainGrid, combined, spelled_out
from fsframe.evaluation.measuring import corrected_standard_error, one_standard_error
from fsframe.evaluation.summary import summarise
from fsframe.method.statistics import adjusted_p_values
from tests.evaluation.tables import rows_of, separated, write_csv
from tests.same_process import fsframe as ran

# AUC of four classifiers on 14 data sets: Demšar 2006, JMLR 7, Table 6.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        # Both print as 0.975; the ranks printed beside them are 2 and 3.
        [0.972, 0.981, 0.97501, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_paired_t_test_is_scipys_and_equal_or_constant_differences_are_none_or_certain():
    a, b = np.random.default_rng(0).random((2, 30))
    ours, theirs = paired_t_test(a, b), stats.ttest_rel(a, b)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    same, sure = paired_t_test(a, a), paired_t_test(a + 0.1, a)
    assert same.p_value == 1.0 and np.isnan(same.statistic) and win_tie_loss(same) == "tie"
    assert sure.p_value == 0.0 and win_tie_loss(sure) == "win"
    for x, y, words in ((a, b[1:], "of equal length"), (a[:1], b[:1], "at least two")):
        with pytest.raises(DataError, match=words):
            paired_t_test(x, y)


def test_corrected_test_by_hand():
    # Differences 0.1, 0.3, 0.2, 0.0: mean 0.15, s² = 0.05/3. With n₂/n₁ = 1/9:
    # t = 0.15 / √((1/4 + 1/9) · 0.05/3) = 0.15 / √(13/36 · 1/60) = 0.15 · √(2160/13) = 1.9335
    a = np.array([0.9, 0.8, 0.7, 0.6])
    b = a - np.array([0.1, 0.3, 0.2, 0.0])
    result = corrected_resampled_test(a, b, 1 / 9)
    assert result.statistic == pytest.approx(0.15 * (2160 / 13) ** 0.5)
    assert result.p_value == pytest.approx(2 * stats.t.sf(result.statistic, 3))
    assert result.difference == pytest.approx(0.15)
    assert corrected_standard_error(a - b, 1 / 9) == pytest.approx((13 / 36 / 60) ** 0.5)


@pytest.mark.parametrize(
    ("difference", "p", "two_step", "strict"),
    [
        (0.02, 0.04, "win", "tie"),
        (-0.02, 0.04, "loss", "tie"),
        (0.02, 0.009, "win", "win"),
        (-0.02, 0.009, "loss", "loss"),
        (0.004, 0.001, "win", "tie"),
        (0.005, 0.001, "win", "win"),
        (0.02, 0.06, "tie", "tie"),
    ],
)
def test_the_papers_rules(difference, p, two_step, strict):
    test = PairedTest(difference=difference, statistic=2.0, p_value=p)
    assert (win_tie_loss(test), win_tie_loss(test, "strict")) == (two_step, strict)


def test_holm_by_hand():
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, then never below an earlier one.
    for raw, expected in (
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.9, 0.8], [1.0, 1.0]),
    ):
        assert adjusted_p_values(np.array(raw), "holm") == pytest.approx(expected)


def exact_signed_rank(difference):
    """Two-sided p by all 2ⁿ signs, for differences without ties and zeros."""
    ranks = stats.rankdata(np.abs(difference))
    total = ranks.sum()
    observed = ranks[difference > 0].sum()
    tail = min(observed, total - observed)
    sums = [np.dot(signs, ranks) for signs in product((0, 1), repeat=len(ranks))]
    return min(1.0, 2 * np.mean(np.array(sums) <= tail + 1e-9))


def test_wilcoxon_holm_is_the_exact_test_with_the_adjustment():
    generator = np.random.default_rng(2)
    results = generator.random((9, 3)) + np.array([0.0, 0.3, 0.05])
    raw = [exact_signed_rank(results[:, i] - results[:, j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    expected = adjusted_p_values(np.array(raw), "holm")
    result = wilcoxon_holm(results)
    assert [result[0, 1], result[0, 2], result[1, 2]] == pytest.approx(expected)
    assert (result == result.T).all() and (np.diag(result) == 1).all()


def test_methods_that_never_differ_are_not_distinguished():
    results = np.tile(np.random.default_rng(0).random((6, 1)), (1, 3))
    assert (wilcoxon_holm(results) == 1).all()
    summary = critical_difference(results)
    assert summary.friedman_p == 1.0 and summary.groups == ((0, 1, 2),)
    assert summary.mean_ranks.tolist() == [2.0, 2.0, 2.0]


def test_rounding_makes_no_difference_of_equal_results():
    results = np.random.default_rng(1).random((8, 2))
    results[:, 1] = results[:, 0] + 0.1
    shaken = results + np.random.default_rng(2).choice([-1e-16, 1e-16], results.shape)
    assert wilcoxon_holm(shaken)[0, 1] == wilcoxon_holm(results)[0, 1]
    tied = DEMSAR.round(2)
    shaken = tied + np.random.default_rng(3).choice([-1e-16, 1e-16], tied.shape)
    assert critical_difference(shaken).friedman_p == critical_difference(tied).friedman_p


@pytest.mark.parametrize("unit", [2.0**-50, 2.0**-300, 2.0**50])
def test_comparisons_do_not_depend_on_the_unit_of_the_measure(unit):
    ours, theirs = critical_difference(DEMSAR), critical_difference(DEMSAR * unit)
    assert (ours.mean_ranks == theirs.mean_ranks).all() and ours.friedman_p == theirs.friedman_p
    assert (wilcoxon_holm(DEMSAR) == wilcoxon_holm(DEMSAR * unit)).all()
    a, b = DEMSAR[:, :2].T
    ours, theirs = (corrected_resampled_test(a * u, b * u, 1 / 9) for u in (1.0, unit))
    assert (ours.p_value, ours.difference * unit) == (theirs.p_value, theirs.difference)
    for posterior in (
        lambda u: correlated_posterior(a * u, b * u, 1 / 9, 0.01 * u),
        lambda u: signed_rank_posterior((a - b) * u, 0.01 * u),
    ):
        assert posterior(1.0) == posterior(unit)
    assert (pareto_front(a * unit, b) == pareto_front(a, b)).all()


def test_demsars_ranks_and_critical_difference():
    # Demšar 2006, §3.2.2–3.2.3: ranks 3.143, 2.000, 2.893, 1.964; CD = 2.569 √(4·5/(6·14)) = 1.25.
    result = critical_difference(DEMSAR)
    assert np.round(result.mean_ranks, 3).tolist() == [3.143, 2.0, 2.893, 1.964]
    assert result.difference == pytest.approx(2.569 * (20 / 84) ** 0.5, rel=1e-3)
    # Table 5a: q for four classifiers at 0.10 is 2.291, so CD = 1.12.
    assert critical_difference(DEMSAR, 0.10).difference == pytest.approx(1.12, abs=0.005)
    # His χ² of 9.28 (p = 0.026) leaves ties uncorrected; with the correction it is larger.
    assert result.friedman_p < 0.026
    assert result.friedman_p == pytest.approx(stats.friedmanchisquare(*DEMSAR.T).pvalue)
    # For two methods it is the sign test by χ², without the tables on which they tie.
    two = DEMSAR[:, [0, 1]]
    wins, losses = ((sign * np.diff(two) > 0).sum() for sign in (1, -1))
    expected = stats.chi2.sf((wins - losses) ** 2 / (wins + losses), 1)
    assert critical_difference(two).friedman_p == pytest.approx(expected)


def test_groups_join_neighbours_in_rank_only_while_all_are_alike():
    generator = np.random.default_rng(3)
    base = generator.random((30, 1))
    results = base + np.array([[0.0, 0.001, 0.5]]) + 0.002 * generator.standard_normal((30, 3))
    groups = critical_difference(results).groups
    assert all(2 not in group for group in groups)


def test_the_posterior_of_one_difference_is_the_beta_integral():
    # One table with d > 2ρ and z₀ = 0: θ_right = 1 − w₀² with w₀ ~ Beta(½, 1), so that it is the
    # larger share with probability P(w₀² < ½) = 2^(−1/4).
    worse, same, better = signed_rank_posterior(np.array([1.0]), 0.01)
    assert worse == 0.0 and better == pytest.approx(2**-0.25, abs=0.006)
    assert same == pytest.approx(1 - better)
    # With ρ < d < 2ρ the mean of d and z₀ lies in the region: θ_right = (1 − w₀)².
    better = signed_rank_posterior(np.array([0.015]), 0.01)[2]
    assert better == pytest.approx((1 - 0.5**0.5) ** 0.5, abs=0.006)


def test_the_signed_rank_posterior_turns_with_its_sign_and_comes_back_bit_by_bit():
    d = np.random.default_rng(0).normal(0.01, 0.02, 12)
    one, again = signed_rank_posterior(d, 0.01, seed=3), signed_rank_posterior(d, 0.01, seed=3)
    assert one == again and sum(one) == pytest.approx(1)
    turned = signed_rank_posterior(-d, 0.01, seed=3)
    assert turned[::-1] == pytest.approx(one, abs=1e-12)
    for other in (d[::-1], np.sort(d)):
        assert signed_rank_posterior(other, 0.01, seed=3) == one
        assert signed_rank_posterior(-other, 0.01, seed=3) == one[::-1]
    alike = signed_rank_posterior(np.array([0.05, -0.05, 0.02, -0.02]), 0.01)
    assert alike[0] == alike[2]
    assert signed_rank_posterior(d / 1000, 0.01)[1] > 0.999
    assert signed_rank_posterior(d + 1, 0.01)[2] > 0.999
    # Of so many tables, the weights are drawn in two parts.
    assert sum(signed_rank_posterior(np.resize(d, 100), 0.01)) == pytest.approx(1)


def test_the_correlated_posterior_without_a_region_has_the_p_values_of_the_corrected_test():
    a, b = np.random.default_rng(1).random((2, 20))
    worse, same, better = correlated_posterior(a, b, 1 / 9, 0.0)
    assert same == pytest.approx(0, abs=1e-12)
    assert 2 * min(worse, better) == pytest.approx(corrected_resampled_test(a, b, 1 / 9).p_value)
    scale = np.sqrt((1 / 20 + 1 / 9) * np.var(a - b, ddof=1))
    expected = stats.t.sf((0.1 - (a - b).mean()) / scale, 19)
    assert correlated_posterior(a, b, 1 / 9, 0.1)[2] == pytest.approx(expected)
    assert correlated_posterior(a, a, 1 / 9, 0.01) == (0.0, 1.0, 0.0)


def test_the_front_is_what_nothing_beats_in_both():
    generator = np.random.default_rng(2)
    a, b = np.round(generator.random((2, 40)), 1)
    front = pareto_front(a, b)
    for i in range(40):
        beaten = any(
            a[j] >= a[i] and b[j] >= b[i] and (a[j] > a[i] or b[j] > b[i]) for j in range(40)
        )
        assert front[i] == (not beaten)


def test_one_standard_error_takes_the_fewest_features_near_the_best():
    kept = np.array([20.0, 10, 5, 1])
    assert one_standard_error(np.array([0.9, 0.89, 0.88, 0.5]), np.full(4, 0.02), kept) == 2
    assert one_standard_error(np.array([0.9, 0.89, 0.88, 0.5]), np.full(4, 0.0), kept) == 0
    assert one_standard_error(np.array([0.9, 0.8]), np.full(2, np.nan), kept[:2]) == -1


def table(seed, signal=2.0):
    return separated(50, 12, seed, signal=signal, name=f"t{seed}")


def cells(chains, tables, **protocol):
    methods = methods_of(chains, **{"folds": "5", "repeats": "2", **protocol})

    def cell(method, data):
        said = summarise(method.select(data))
        return Cell(chain=str(method.base), data=data.name, evaluation=said, seconds=1.0)

    return [[cell(method, data) for method in methods] for data in tables]


@pytest.fixture(scope="module")
def grid():
    chains = ["anova-f:top=1 knn", "anova-f:top=12 knn", "anova-f:top=2 knn:k=3"]
    return cells(chains, [table(seed) for seed in range(4)])


def test_verdicts_are_those_of_the_tests_on_the_folds(grid):
    result = compared(grid)
    for d, row in enumerate(grid):
        a, b = row[0].better("accuracy"), row[1].better("accuracy")
        assert result.papers[d, 0, 1] == paired_t_test(a, b)
        assert result.corrected[d, 0, 1] == corrected_resampled_test(a, b, 1 / 4)
    assert result.accuracy.shape == (4, 3)
    assert result.adjusted_p.tolist() == wilcoxon_holm(result.accuracy).tolist()


def test_a_win_of_one_is_a_loss_of_the_other_and_every_table_counts_once(grid):
    result = compared(grid)
    for rule in RULES:
        for i, j in ((0, 1), (0, 2), (1, 2)):
            wins, ties, losses = result.tally(rule, i, j)
            assert (losses, ties, wins) == result.tally(rule, j, i)
            assert wins + ties + losses == 4


def test_the_better_chain_wins():
    result = compared(cells(["anova-f:top=1 knn", "anova-f:top=12 knn"], [table(9, 3.0)]))
    assert result.outcome["two-step"][0, 0, 1] == "win" and result.ranks is None


def test_different_splits_are_not_compared():
    few = cells(["knn", "knn:k=3"], [table(0)])
    many = cells(["knn", "knn:k=3"], [table(0)], repeats="3")
    with pytest.raises(ValueError, match="different splits"):
        compared([[few[0][0], many[0][1]]])


@pytest.mark.parametrize(
    ("chains", "words"),
    [
        (["mim"], ["at least two"]),
        (["mim:top=0", "nonsense"], ["top", "nonsense"]),
        (["mim  knn", "mim knn"], ["given twice"]),
        (["mim", "mim weighted-knn"], ["given twice"]),
    ],
)
def test_wrong_chains_are_refused_together(chains, words):
    with pytest.raises(RequestError) as caught:
        methods_of(chains)
    assert all(word in str(caught.value) for word in words)


# Sets of values in the text of a chain, and grids

TREE = "sklearn:estimator=sklearn.tree.DecisionTreeClassifier,"
MANY = ",".join(map(str, range(1, 41)))
DEPTHS = ['{"max_depth": 1}', '{"max_depth": 3}']


@pytest.mark.parametrize(
    ("text", "chains"),
    [
        (
            "immigrate:sigma={cv,4,0.5} margin",
            [f"immigrate:sigma={s} margin" for s in ("cv", 4.0, 0.5)],
        ),
        # The last set varies fastest.
        ("mim:top={1,2} knn:k={3,5}", [f"mim:top={t} knn:k={k}" for t in (1, 2) for k in (3, 5)]),
        ("npfs:base=(mim:top={3,5} jmi),n=5", [f"npfs:n=5,base=(mim:top={t} jmi)" for t in (3, 5)]),
        ("mim:top={1,1,2}", ["mim:top=1", "mim:top=2"]),
        # An object of JSON is a value, not a set.
        (f"{TREE}options='{DEPTHS[1]}'", [f"{TREE}options={DEPTHS[1]}"]),
        (TREE + "options={}", [TREE.rstrip(",")]),
        (f"{TREE}options={{'{DEPTHS[0]}','{DEPTHS[1]}'}}", [f"{TREE}options={d}" for d in DEPTHS]),
    ],
)
def test_sets_stand_for_one_chain_for_each_value_in_their_order(text, chains):
    grid = ChainGrid.parse(text)
    assert [str(chain) for chain in grid.chains] == chains and ChainGrid.parse(grid.text) == grid


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mim:top={0,3,-1} knn:k={2,none}", ["'0'", "'-1'", "'none'"]),
        (f"mim:top={{{MANY}}} knn:k={{{MANY}}}", ["1600 combinations"]),
        ("imigrate:sigma={1,2}", ["Did you mean `immigrate`"]),
    ],
    ids=["every refused value", "too many, before any is built", "an unknown method"],
)
def test_sets_that_cannot_be_are_refused_and_named(text, words):
    with pytest.raises(RequestError) as caught:
        ChainGrid.parse(text)
    message = str(caught.value)
    assert all(word in message for word in words) and "'3'" not in message
    assert message.count("imigrate") <= 2


@pytest.mark.parametrize(
    "text",
    ["{mim,jmi}:top={5,10}", "mim", "a{b,{c,d}e}f", "{mim,jmi:top={1,2}}", "sklearn:x={5}", "p{}q"],
)
def test_sets_are_spelled_out_as_bash_does(text):
    theirs = subprocess.run(
        ["bash", "-c", f"echo {text}"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert spelled_out(text) == theirs
    json = 'sklearn:estimator=sklearn.svm.SVC,options={"C": 1, "kernel": "linear"}'
    assert spelled_out(json) == [json]


def test_a_grid_is_the_same_whether_the_shell_has_spelled_it_out_or_not():
    quoted = combined(["{mim,jmi}:top={5,10}"], ["{knn,margin}"])
    bare = combined(["mim:top=5", "mim:top=10", "jmi:top=5", "jmi:top=10"], ["knn", "margin"])
    assert quoted == bare and len(bare) == 8
    with pytest.raises(RequestError, match="classifiers after"):
        combined(["mim"], [])
    with pytest.raises(RequestError, match="more than the 1000 allowed"):
        combined(["mim:top={" + ",".join(map(str, range(1, 600))) + "}"], ["knn", "margin"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("one", "two")):
        write_csv(Path(f"{name}.csv"), separated(40, 4, seed, signal=[1.2, 1.2]))
    return tmp_path


QUICK = "--folds 4 --repeats 1 -q"


def test_a_grid_by_a_loss_stands_beside_the_larger_class_and_all_features(folder):
    more = f"x knn:k=5 on one.csv two.csv {QUICK} --metric log-loss --json -o kept"
    done = ran(f"compare {{mim,anova-f}}:top={{1,2}} {more}")
    said = done.json
    assert done.code == 0 and len(said["chains"]) == 4 and said["metric"] == "log-loss"
    assert not said["larger_is_better"] and np.array(said["values"]).shape == (2, 4)
    assert said["larger_class"] == pytest.approx([np.log(2)] * 2, rel=0.05)
    alone = ran(f"evaluate knn:k=5 on one.csv {QUICK} --no-out --json").json
    value = said["all_features"]["knn:k=5"][0]
    assert value == pytest.approx(alone["measures"]["log-loss"]["mean"])
    best = int(np.argmin(said["values"][0]))
    ranks = stats.rankdata(np.round(said["values"], 12), axis=1).mean(axis=0)
    assert said["mean_ranks"] == pytest.approx(ranks.tolist())
    assert said["front"][0][best]
    posterior = np.array(said["bayesian_signed_rank"])
    assert posterior.sum(axis=2) == pytest.approx(np.ones((4, 4)))
    for pair in said["pairs"]:
        i, j = (said["chains"].index(pair[side]) for side in "ab")
        d = said["data"].index(pair["data"])
        assert pair["difference"] == pytest.approx(said["values"][d][j] - said["values"][d][i])
    assert [row["chain"] for row in rows_of("kept/results.csv")[4:6]] == [
        "(larger class)",
        "(all features) knn:k=5",
    ]
    # Called again, nothing is computed; in other words the same grid.
    again = ran(f"compare mim:top=1 mim:top=2 anova-f:top=1 anova-f:top=2 {more}")
    assert again.json == said


def test_what_is_said_fits_a_screen_and_names_the_baselines(folder):
    done = ran(f"compare {{mim,jmi}}:top=1 x knn on one.csv two.csv {QUICK}")
    assert done.code == 0 and all(len(line) <= 80 for line in done.out.splitlines())
    for word in ("larger class", "all: knn", "Bayesian signed-rank", "Friedman", "Nemenyi", "‡"):
        assert word in done.out


def test_many_chains_are_set_against_the_best(folder):
    grid = "compare mim:top={1,2,3} x knn knn:k=3 on one.csv"
    assert "against the others" in ran(f"{grid} {QUICK}").out
    out = " ".join(ran(f"{grid} two.csv {QUICK}").out.split())
    # What a table leaves out is said.
    assert "against the others, over 2 tables:" in out and "All pairs: --json." in out
    assert "From 2 tables these probabilities say very little." in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("{mim,jmi}:top=1 on one.csv", "makes a grid"),
        ("mim x on one.csv", "classifiers after"),
        ("mim x knn x margin on one.csv", "one `x`"),
        ("{mim,imm}:top=1 x {knn,knm} on one.csv", "knm"),
        ("mim jmi x margin on one.csv --metric brier", "needs probabilities"),
        ("mim jmi x knn on one.csv --metric accurracy", "Did you mean `accuracy`"),
    ],
)
def test_wrong_grids_are_refused_before_anything_runs(folder, words, said):
    done = ran(f"compare {words} {QUICK}")
    assert (done.code, done.out) == (2, "") and said in done.err


def test_the_baseline_on_all_features_fills_gaps_as_the_chains_do():
    data = separated(40, 4, signal=3.0)
    X = data.X.copy()
    X[5, 1] = np.nan
    chains = ["impute mim:top=1 knn", "impute:method=mean mim:top=1 knn", "impute:top=3 mim knn"]
    told = str(fsframe.compare(chains, X, data.y, folds=2, repeats=1))
    baselines = ("impute knn", "impute:method=mean knn", "knn")
    assert all(f"all: {text}" in told for text in baselines)
    assert all(f"all: {text}" not in told for text in ("impute:top", "mim"))
