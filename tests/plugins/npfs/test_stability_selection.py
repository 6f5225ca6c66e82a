"""Ensembles, complementary pairs and integrated paths: by hand, by law, and on pure noise."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from fsframe import Chain, Dataset, Run
from fsframe.errors import DataError
from fsframe.method.ranking import NEEDED, RELEVANT
from fsframe_npfs.engine.draws import complementary_halves
from fsframe_npfs.engine.labellings import DRAWS
from fsframe_npfs.engine.nulls import (
    Permutation,
    said_of_drift,
    stretches_of_time,
)
from fsframe_npfs.methods.halves import (
    BOUNDS,
    bound_of_sizes,
    complete_ranks,
    expected_false,
    integrate_paths,
    least_count,
    least_false_rates,
    linear_scores,
    list_ranks,
    normal_false,
    pooled_expected,
)
from fsframe_npfs.methods.stability_selection import Cpss, Ensemble, Ipss, near_copies
from tests.grids import examples, slow
from tests.plugins.shared import people

from .conftest import TinyMim, noise, slides

RESULTS = Path(__file__).parents[3] / "benchmarks/resampling/results/published_examples.csv"


@examples(60)
@given(st.lists(st.one_of(st.integers(-3, 3).map(float), st.just(np.nan)), min_size=1, max_size=12))
def test_complete_ranks_are_mean_ranks_with_missing_scores_last(scores):
    array = np.array(scores)
    expected = rankdata(np.where(np.isnan(array), 99.0, -array), method="average")
    np.testing.assert_allclose(complete_ranks(array), expected)


@examples(60)
@given(st.integers(1, 12).flatmap(lambda p: st.permutations(range(p))), st.integers(0, 12))
def test_ranks_of_a_list_sum_to_those_of_a_complete_ranking(order, k):
    p = len(order)
    ranks = list_ranks(np.array(order[:k], dtype=int), p)
    assert ranks.sum() == pytest.approx(p * (p + 1) / 2)


def test_linear_aggregation_by_hand():
    # Ranks of features a, b, c in three resamples.
    ranks = np.array([[1.0, 2, 3], [1, 3, 2], [2, 1, 3]])
    np.testing.assert_allclose(linear_scores(ranks), [(3 - 4 / 3) / 2, 0.5, (3 - 8 / 3) / 2])


def test_without_top_as_many_are_kept_as_the_base_keeps():
    data = slides(0, 400, 40, 5)
    assert Ensemble(n=10).select_wrapped(TinyMim(k=7), data, None, Run()).selected.size == 7
    assert Ensemble(n=10, top=3).select_wrapped(TinyMim(k=7), data, None, Run()).selected.size == 3


def test_linear_uses_scores_of_features_that_no_list_holds():
    data = slides(2, 1000, 30, 8)
    lists, complete = (
        Ensemble(n=20, aggregate=a, top=8).select_wrapped(TinyMim(k=1), data, None, Run())
        for a in ("mean-rank", "linear")
    )
    # Lists of one leave most features tied; complete rankings tell them apart.
    assert np.unique(lists.scores).size < 10 < np.unique(complete.scores).size
    assert set(complete.selected) == set(range(8))


@pytest.mark.parametrize("q", range(1, 11))
def test_bounds_are_those_of_the_published_code(q):
    # In the stored output `tests/regtest-inference.Rout.save` of stabs 0.6, which compares them
    # with the code that Shah and Samworth published with their paper.
    with RESULTS.open() as file:
        rows = {r["what"]: r for r in csv.DictReader(file) if r["method"] == "cpss"}
    # p = 100, 50 pairs, selected in at least 60 of 100 halves; seven digits are printed.
    assert expected_false(60, 50, q, 100, "worst-case") == pytest.approx(q * q / 20)
    for bound in ("unimodal", "r-concave"):
        row = rows[f"{bound}, q {q}, tau 0.60"]
        result = expected_false(60, 50, q, 100, bound)
        assert float(row["here"]) == pytest.approx(result, rel=1e-6)
        # The maximum over r-concave distributions is found by a coarse search there: ours is never
        # below it, and above by 3e-3 at q = 1, where the tail is that of few selections.
        most = 5e-6 if bound == "unimodal" or q >= 4 else 4e-3
        assert -1e-6 < result / float(row["published"]) - 1 < most


def test_thresholds_are_those_of_the_published_code():
    assert least_count(0.2, 50, 7, 200, "r-concave") == 62
    assert least_count(0.2, 50, 7, 200, "unimodal") == 81
    printed = {60: 0.248, 61: 0.219, 62: 0.196}
    for count, value in printed.items():
        assert round(expected_false(count, 50, 7, 200, "r-concave"), 3) == value
    # Ten features of the body fat data, q = 3, at most 0.2: cutoff 0.96 and 0.176.
    assert least_count(0.2, 50, 3, 10, "unimodal") == 96
    assert round(expected_false(96, 50, 3, 10, "unimodal"), 3) == 0.176


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_larger_share_never_has_a_larger_bound(bound):
    values = [expected_false(c, 20, 10, 200, bound) for c in range(1, 41)]
    assert all(a >= b * (1 - 1e-9) for a, b in itertools.pairwise(values))
    wanted = values[29]
    assert least_count(wanted * 1.000001, 20, 10, 200, bound) <= 30


def test_a_given_threshold_reports_its_bound():
    data = noise(1, 200, 60, relevant=4)
    selection = Chain.parse("anova-f:top=5 cpss:pairs=20,threshold=0.75").select(data, seed=0)
    assert selection.tables["threshold"][0] == 0.75
    assert selection.tables["false-selections-bound"][0] == expected_false(30, 20, 5.0, 60, "auto")


@pytest.mark.parametrize("bound", ["r-concave", "permutation"])
def test_features_chosen_exactly_as_often_as_the_threshold_are_kept(bound):
    data = Dataset.from_arrays(np.random.default_rng(0).normal(size=(40, 8)), np.arange(40) % 2)
    text = "cpss:base=anova-f:top=3,pairs=5,threshold={:g},bound=" + bound
    often = Chain.parse(text.format(0.6)).select(data).scores
    threshold = np.sort(often)[-2]
    assert 0.5 < threshold < 1
    selection = Chain.parse(text.format(threshold)).select(data)
    assert set(selection.selected) == set(np.flatnonzero(often >= threshold))
    assert selection.tables["threshold"] == threshold


def test_a_bound_that_no_threshold_reaches_says_how_many_to_keep():
    data = noise(2, 100, 40)
    selection = Chain.parse("anova-f:top=30 cpss:pairs=10").select(data, seed=0)
    assert not selection.selected.size
    [said] = [line for line in selection.warnings if "nothing is kept" in line]
    most = int(said.split("keep at most ")[1].split()[0])
    assert least_count(1.0, 10, most, 40, "auto")
    assert not least_count(1.0, 10, most + 1, 40, "auto")


def test_halves_are_complementary_and_do_not_depend_on_their_number():
    data = noise(0, 61, 5)
    few, many = (
        complementary_halves(data, data.y, Run(entropy=4), DRAWS, pairs) for pairs in (2, 5)
    )
    np.testing.assert_array_equal(many[:4], few)
    pairs = many[::2] + many[1::2]
    assert (pairs == 1).all()


@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_bound_is_the_moment_of_a_binomial_mean(power):
    # If pairs are independent, ΣU_b is binomial and the bound holds with equality.
    p, q, pairs = 50, 10.0, 4
    theta = (q / p) ** 2
    k = np.arange(pairs + 1)
    binomial = [1.0, 4.0, 6.0, 4.0, 1.0] * theta**k * (1 - theta) ** (pairs - k)
    expected = p * ((k / pairs) ** power) @ binomial
    assert bound_of_sizes(np.array([q]), p, pairs, power)[0] == pytest.approx(expected)


def test_a_path_is_integrated_by_hand():
    # Four halves; feature 0 always scores 8, feature 1 scores 8 once and 1 otherwise.
    scores = np.array([[[8.0, 1.0], [8.0, 1.0], [8.0, 1.0], [8.0, 8.0]]])
    integrals, bound, thresholds, paths = integrate_paths(
        scores, power=3, cutoff=100.0, steps=4, delta=1.0
    )
    np.testing.assert_allclose(thresholds, [8.0, 4.0, 2.0, 1.0])
    np.testing.assert_array_equal(paths, [[1, 0.25], [1, 0.25], [1, 0.25], [1, 1]])
    np.testing.assert_allclose(integrals, [[1.0, 0.25]])
    sizes = np.array([1.25, 1.25, 1.25, 2.0])
    assert bound == pytest.approx(bound_of_sizes(sizes, 2, 2, 3).mean())


def test_thresholds_end_where_the_cutoff_is_exceeded():
    scores = np.random.default_rng(0).exponential(size=(1, 20, 30))
    _, bound, thresholds, _ = integrate_paths(scores, power=3, cutoff=0.05, steps=50, delta=1.0)
    assert 0 < bound <= 0.05
    assert 0 < thresholds.size < 50


def test_scores_that_are_not_positive_are_never_selected():
    scores = np.tile([1.0, 0.0, -3.0, np.nan], (1, 4, 1))
    integrals, *_ = integrate_paths(scores, power=2, cutoff=9.0, steps=5, delta=1.0)
    np.testing.assert_array_equal(integrals, [[1.0, 0.0, 0.0, 0.0]])
    nothing, bound, thresholds, _ = integrate_paths(
        np.zeros((1, 4, 3)), power=2, cutoff=9.0, steps=5, delta=1.0
    )
    assert not nothing.any() and bound == 0.0 and not thresholds.size


def test_q_values_are_the_least_rates_over_thresholds():
    integrals = np.array([0.9, 0.1, 0.5, 0.5, 0.0])
    expected, q = least_false_rates(integrals, 0.05)
    for j, value in enumerate(integrals):
        rates = [
            expected[integrals >= t].max() / (integrals >= t).sum()
            for t in np.unique(integrals)
            if t <= value
        ]
        assert q[j] == pytest.approx(min(1.0, *rates))


def test_a_base_without_scores_above_the_cutoff_says_so():
    draw = np.random.default_rng(0)
    X = draw.integers(0, 2, size=(60, 8)).astype(float)
    data = Dataset.from_arrays(X, draw.integers(0, 2, 60), name="noise")
    selection = Chain.parse("mim ipss:pairs=5").select(data, seed=0)
    assert not selection.selected.size
    assert any("no feature is kept; the best has q = 1" in line for line in selection.warnings)


@pytest.mark.parametrize("chain", ["relieff cpss", "relieff ipss"])
def test_too_few_rows_of_a_class_are_said_before_any_work(chain):
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(30, 4)), np.arange(30) < 3
    data = Dataset.from_arrays(X, y)
    with pytest.raises(DataError, match="halves need at least four rows of every class"):
        Chain.parse(chain).check_request(data)
    Chain.parse(chain).check_request(Dataset.from_arrays(X, np.arange(30) < 4))
    whose = np.repeat(np.arange(6), 5)
    grouped = Dataset.from_arrays(X, np.isin(whose, (0, 1)), groups=whose)
    with pytest.raises(DataError, match="four groups of every class, the smallest has 2"):
        Chain.parse(chain).check_request(grouped)


def test_the_rates_by_which_ipss_decides_are_in_every_table_of_its_run():
    record = Chain.parse("mim ipss:pairs=10").run(slides(1, 80, 6, 2))
    columns = record.feature_table().columns
    by_column = dict(zip(record.feature_names, record.stages[-1].tables["q_values"], strict=True))
    assert "p" not in columns
    assert columns["q"].tolist() == [by_column[name] for name in columns["feature"]]
    assert "q: the lowest bound" in str(record)


# Bounds by permuted labels, and where the other bounds say that they fail


@examples(100)
@given(
    st.integers(2, 8).flatmap(
        lambda p: st.lists(st.lists(st.integers(0, 5), min_size=p, max_size=p), min_size=2)
    ),
    st.floats(0.1, 4.0),
)
def test_no_more_are_kept_on_average_whichever_labelling_is_the_true_one(rows, most):
    # The proof of the promise: exchangeable labellings are true ones in equal parts.
    values = np.array(rows)
    kept = [
        int((pooled_expected(np.roll(values, k, axis=0)) <= most).sum()) for k in range(len(values))
    ]
    assert np.mean(kept) <= most + 1e-9


def test_what_cpss_keeps_is_what_the_pool_allows():
    data = noise(3, 60, 12, relevant=2)
    selection = Chain.parse("anova-f:top=3 cpss:bound=permutation,pairs=8").select(data, seed=1)
    allowed = np.flatnonzero(selection.tables["expected-false"] <= 1.0)
    assert set(selection.selected) == set(allowed) >= {0, 1}
    assert selection.tables["false-selections-bound"][0] <= 1.0
    assert (
        selection.tables["frequency"][selection.selected].min() >= selection.tables["threshold"][0]
    )


PERMUTED = "bound=permutation,pairs=3,permutations=9"


@pytest.mark.parametrize(
    ("chain", "table", "tables", "most"),
    [
        ("anova-f:top=5 cpss:pairs=15,bound=auto", (60, 80), 6, 1.0),
        slow("anova-f:top=5 cpss:pairs=15,bound=auto", (60, 80), 12, 1.0),
        *(slow(f"anova-f:top=5 cpss:pairs=15,bound={bound}", (60, 80), 12, 1.0)
          for bound in BOUNDS if bound != "auto"),
        # Copies share their luck, which refutes a promise "whatever the base is"; they break the
        # r-concave bound, too: 2.7 where 1 is promised.
        ("anova-f:top=5 cpss:pairs=15", (60, 10, 4), 10, 1.0),
        slow("anova-f:top=5 cpss:pairs=15", (60, 10, 4), 20, 1.0),
        (f"anova-f:top=5 cpss:{PERMUTED}", (30, 20, 4), 8, 1.0),
        slow(f"anova-f:top=5 cpss:{PERMUTED}", (30, 20, 4), 16, 1.0),
        slow(f"relieff:top=5 cpss:{PERMUTED}", (30, 80), 16, 1.0),
        (f"anova-f ipss:{PERMUTED},false_selections=1", (30, 20, 4), 8, 1.0),
        slow(f"anova-f ipss:{PERMUTED},false_selections=1", (30, 20, 4), 16, 1.0),
        # The published bound is on an expectation over samples in which pairs are independent. In
        # one they are not: it is missed by a half (benchmarks/resampling/halves_on_noise.py).
        ("correlation:top=20 ipss:pairs=15,false_selections=0.5", (120, 40, 1, 0, True), 4, 1.0),
        slow("correlation:top=20 ipss:pairs=15,false_selections=0.5",
             (120, 40, 1, 0, True), 8, 1.0),
        slow("correlation:threshold=1,top=10 ipss:pairs=15,false_selections=2",
             (120, 12, 4, 0, True), 8, 2.0),
        ("anova-f:top=4 cpss:bound=permutation,pairs=4,permutations=9", "people", 6, 1.0),
        slow("anova-f:top=4 cpss:bound=permutation,pairs=4,permutations=9", "people", 10, 1.0),
    ],
)  # fmt: skip
def test_no_more_is_kept_of_noise_than_is_promised(chain, table, tables, most):
    kept = []
    for seed in range(tables):
        data = people(seed, 12, 5, 20, 0.1) if table == "people" else noise(seed, *table)
        selection = Chain.parse(chain).select(data, seed=seed)
        kept.append(selection.selected.size)
        assert "cpss" not in chain or selection.tables["false-selections-bound"][0] <= 1.0
    assert np.mean(kept) <= most + 2 * np.std(kept) / np.sqrt(len(kept))
    assert max(kept) > 0 or PERMUTED not in chain  # A stage that keeps nothing would pass.


def test_q_values_of_permuted_labels_hold_their_level():
    chain = Chain.parse("anova-f ipss:pairs=4,level=0.2,bound=permutation,permutations=9")
    kept = [chain.select(noise(seed, 40, 30), seed=seed).selected.size > 0 for seed in range(10)]
    assert 0 < sum(kept) <= 5  # Two expected; more than five in 1 of 150 draws.


@pytest.mark.parametrize(
    ("chain", "n", "p", "numeric"),
    [
        ("anova-f:top=5 cpss:pairs=20", 100, 60, False),
        ("relieff:top=5 cpss:bound=permutation,pairs=5", 60, 50, False),
        ("anova-f ipss:bound=permutation,pairs=10", 60, 50, False),
        ("correlation:top=20 ipss:pairs=15,false_selections=0.5", 120, 40, True),
    ],
)
def test_relevant_features_are_kept_and_few_others(chain, n, p, numeric):
    kept = Chain.parse(chain).select(noise(0, n, p, 1, 4, numeric), seed=0).selected
    assert (kept < 4).sum() >= 3 and (kept >= 4).sum() <= 2


def test_labellings_follow_from_the_level():
    assert Ipss(level=0.01, bound="permutation").labellings(True) == 200


def test_permuted_labels_say_that_a_feature_is_relevant_not_needed():
    (lasso,) = Chain.parse("lasso:top=3").stages
    assert Cpss(bound="permutation").statement(lasso.method) == RELEVANT  # type: ignore[arg-type]
    assert Cpss().statement(lasso.method) == NEEDED  # type: ignore[arg-type]


def test_the_normal_law_says_where_r_concavity_fails():
    # Simulated: the table's statistic z, and each pair's w.
    draw = np.random.default_rng(0)
    count, pairs, kept, p = 16, 50, 5, 200
    cut = np.sqrt(2) * norm.isf(kept / p / 2)
    z, w = draw.normal(size=(40_000, 1)), draw.normal(size=(40_000, pairs))
    times = (np.abs(z + w) > cut).sum(axis=1) + (np.abs(z - w) > cut).sum(axis=1)
    simulated = p * (times >= count).mean()
    assert normal_false(count, pairs, kept, p) == pytest.approx(simulated, rel=0.05)
    few = least_count(1.0, 50, 5, 1000, "r-concave")
    assert few is not None and expected_false(few, 50, 5, 1000, "r-concave") <= 1 < 3 < (
        normal_false(few, 50, 5, 1000)
    )


def test_results_name_the_assumption_that_fails():
    wide = Chain.parse("anova-f:top=5 cpss:bound=r-concave,pairs=50")
    told = wide.select(noise(0, 40, 600), seed=0).warnings
    assert any("3 false selections, not 0.89, can be expected at the share" in w for w in told)
    for bound, told in (("r-concave", True), ("worst-case", False)):
        chain = Chain.parse(f"anova-f:top=4 cpss:bound={bound},false_selections=3")
        selection = chain.select(noise(0, 80, 10, copies=3, relevant=1), seed=0)
        assert selection.selected.size
        assert any("nearly copies" in w for w in selection.warnings) == told
    narrow = Chain.parse("anova-f:top=3 cpss:bound=r-concave").select(noise(0, 80, 30, relevant=2))
    assert narrow.selected.size and not narrow.warnings


@pytest.mark.parametrize(("rare", "told"), [(8, True), (25, False)])
def test_a_class_of_few_rows_is_said_where_scores_are_signed(rare, told):
    # 1.6 false ones are found where 0.92 is the bound; by the normal law with one side, 1.7.
    assert normal_false(67, 50, 5, 20, sides=1) == pytest.approx(1.71, abs=0.01)
    assert normal_false(67, 50, 5, 20) < expected_false(67, 50, 5, 20, "r-concave") < 1
    X = np.random.default_rng(0).normal(size=(60, 20))
    data = Dataset.from_arrays(X, (np.arange(60) < rare).astype(int))
    selection = Chain.parse("relieff:top=5 cpss:bound=r-concave").select(data, seed=0)
    said = [w for w in selection.warnings if f"a class has {rare} of 60 rows" in w]
    assert bool(said) == told
    assert all("1.7 false selections, not 0.92" in w for w in said)


def test_auto_requires_more_where_r_concavity_fails():
    # Few of many features, where normal scores are not r-concave.
    shares = {bound: least_count(1.0, 50, 5, 1000, bound) for bound in BOUNDS}
    assert shares == {"auto": 27, "worst-case": 52, "unimodal": 52, "r-concave": 16}
    assert normal_false(27, 50, 5, 1000) <= 1 < normal_false(26, 50, 5, 1000)
    # Where r-concavity is the stricter, auto is the paper's bound.
    assert least_count(1.0, 50, 5, 20, "auto") == least_count(1.0, 50, 5, 20, "r-concave") == 67
    # Signed scores, with a class of few rows; magnitudes, from a base that fits all at once.
    assert least_count(1.0, 50, 5, 20, "auto", sides=1) == 77
    X = np.random.default_rng(0).normal(size=(60, 20))
    data = Dataset.from_arrays(X, (np.arange(60) < 8).astype(int))
    for base, needed in (("relieff:top=5", 0.77), ("lasso:top=5", None)):
        selection = Chain.parse(f"{base} cpss").select(data, seed=0)
        of = least_count(1.0, 50, float(selection.tables["kept"].mean()), 20, "auto")
        assert selection.tables["threshold"] == pytest.approx(needed or (of or 0) / 100)


def test_auto_keeps_copies_by_the_worst_case_alone():
    data = noise(5, 80, 10, copies=3)
    paper = Chain.parse("anova-f:top=4 cpss:bound=r-concave,false_selections=3").select(data)
    selection = Chain.parse("anova-f:top=4 cpss:false_selections=3").select(data)
    strict = least_count(3.0, 50, 4, data.n_features, "worst-case")
    assert strict is not None
    copied = near_copies(data, paper.selected)
    lacking = copied[100 * selection.scores[copied] < strict]
    assert lacking.size
    assert set(selection.selected) == set(paper.selected) - set(lacking)
    (said,) = [w for w in selection.warnings if "nearly copies" in w]
    assert f"a share of {strict / 100:.3g} of the halves must select them" in said
    few = noise(0, 80, 4, copies=3, relevant=1)
    for chain, told in (("cpss", True), ("cpss:threshold=0.9", False)):  # The user decides.
        selection = Chain.parse(f"anova-f:top=4 {chain}").select(few)
        assert any("no share of the halves is enough" in w for w in selection.warnings) == told
        assert (selection.selected.size == 0) == told


def test_copies_are_told_from_constants_and_gaps():
    x, other = np.random.default_rng(0).normal(size=(2, 50))
    codes = np.round(3 * x) - np.round(3 * x).min()
    X = np.column_stack([x, np.ones(50), other, codes])
    data = Dataset.from_arrays(X, np.arange(50) % 2, list("abcd"), categorical=[3])
    assert not near_copies(data, np.arange(4)).size
    gaps = np.where(np.arange(50) == 3, np.nan, 1e149 * x)
    X = np.column_stack([X, 1e-149 * (2 - other), gaps])
    data = Dataset.from_arrays(X, np.arange(50) % 2, list("abcdef"), categorical=[3])
    assert near_copies(data, np.array([5, 1, 2, 3])).tolist() == [5, 2]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_label_that_drifts_is_told(task):
    draw, time = np.random.default_rng(0), np.arange(120.0)
    for slope, told in ((0.0, False), (3.0, True)):
        y = slope * time / 120 + draw.normal(size=120)
        label = (y > np.median(y)).astype(int) if task == "classification" else y
        X = np.column_stack([draw.normal(size=(120, 3)), time])
        data = Dataset.from_arrays(X, label, ["a", "b", "c", "day"], task=task)
        data = data.with_roles(time="day")
        assert ("label changes with 'day'" in said_of_drift(data)) == told
        base = "anova-f" if task != "regression" else "correlation"
        for stage, permuting in (("npfs", True), ("ipss", False), ("ipss:bound=permutation", True)):
            said = list(Chain.parse(f"{base} {stage}").forewarnings(data))
            assert any("stretches of time" in line for line in said) == (told and permuting)
        moved = Permutation().labels(data, np.random.default_rng(1))
        assert stretches_of_time(data) == (5 if told else 1)
        parts = [slice(None)] if not told else [slice(k, k + 24) for k in range(0, 120, 24)]
        for part in parts:
            assert np.array_equal(np.sort(moved[part]), np.sort(label[part]))
        assert not np.array_equal(moved, label)


def test_columns_that_drift_like_the_label_are_not_kept_for_it():
    chain = Chain.parse("anova-f npfs:n=20,permutations=39,permuted_n=2,alpha=0.05")
    time, shares = np.arange(160.0), []
    for seed in range(5):
        draw = np.random.default_rng(seed)
        X = draw.normal(size=(160, 8))
        X[:, :2] += 2.5 * (time / 160)[:, None]
        odds = 4 * (time / 160 - 0.5) + draw.logistic(size=160)
        data = Dataset.from_arrays(np.column_stack([X, time]), (odds > 0).astype(int))
        selection = chain.select(data.with_roles(time="f9"), seed=seed)
        shares.append(np.mean(selection.tables["p-values"][:2] <= 0.05))
    # Labels shifted over the whole table give 0.69.
    assert np.mean(shares) < 0.2


@pytest.mark.parametrize(
    ("chain", "p", "fits"),
    [
        ("relieff ipss", 200, 100),
        ("relieff ipss", 201, 2000),
        ("relieff ipss:bound=published", 201, 100),
        ("relieff ipss:bound=permutation", 200, 2000),
        ("ipss:base=relieff", 201, 2000),
        ("lasso:top=5 ipss", 201, 100),
        ("importance ipss", 201, 100),
    ],
)
def test_ipss_permutes_labels_where_its_published_bound_fails(chain, p, fits):
    data = noise(0, 24, p)
    cost = Chain.parse(chain).cost(24, p)
    assert cost is not None and cost.formula.startswith(f"{fits} fits")
    said = [text for text in Chain.parse(chain).forewarnings(data) if "published" in text]
    assert any(f"in {fits} fits" in text for text in said) == (p > 200 and fits == 2000)
    assert all(text.count("ipss: ") == 1 for text in said)


def test_what_ipss_does_by_itself_is_what_one_can_ask_for():
    wide, narrow = noise(0, 24, 210, 1, 4), noise(0, 24, 20, 1, 4)
    few = "pairs=3,permutations=9"
    for data, bound in ((wide, f"permutation,{few}"), (narrow, "published,pairs=3")):
        auto = Chain.parse(f"relieff ipss:{few}").select(data, seed=0)
        asked = Chain.parse(f"relieff ipss:bound={bound}").select(data, seed=0)
        assert auto.selected.tolist() == asked.selected.tolist()
        assert np.array_equal(auto.tables["q_values"], asked.tables["q_values"])


def test_ipss_says_where_roles_forbid_permuted_labels():
    data = noise(0, 24, 210)
    X = np.column_stack([data.matrix, np.arange(24) // 8])
    both = Dataset.from_arrays(X, data.y, groups=np.arange(24) // 2).with_roles(adjust="f211")
    said = list(Chain.parse("chi2:discretise=equal-width ipss").forewarnings(both))
    assert any("allow no permuted labels" in text for text in said)


def test_ipss_keeps_no_near_copies_of_a_base_that_fits_all_features_at_once():
    data = noise(1, 120, 6, 1, 2)
    draw = np.random.default_rng(2)
    X = np.column_stack([data.matrix, data.matrix[:, 0] + 0.05 * draw.normal(size=120)])
    copied = Dataset.from_arrays(X, data.y)
    chain = "lasso:top=5 ipss:pairs=20,level=0.8"
    auto = Chain.parse(chain).select(copied, seed=0)
    published = Chain.parse(f"{chain},bound=published").select(copied, seed=0)
    assert {0, 6} & set(published.selected.tolist())
    assert set(auto.selected.tolist()) == set(published.selected.tolist()) - {0, 6}
    for found, text in ((auto, "not kept, because"), (published, "about half of those kept")):
        assert any(text in warning for warning in found.warnings)
