"""Splits: every row tested once, classes and groups kept; folds as the R package does them."""

from __future__ import annotations

from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsframe
from fsframe.chains.chain import Chain
from fsframe.chains.repeated_rows import repeated_rows
from fsframe.errors import DataError, MemoryBoundError, RequestError
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.folds import (
    FoldTask,
    grouped_folds,
    leave_one_out,
    repeated_folds,
    unstratified_folds,
)
from fsframe.evaluation.measuring import interval_within
from fsframe.evaluation.summary import summarise
from fsframe.method.run import Run
from fsframe.resampling.groups import deal_groups
from fsframe.show.display import result_lines
from fsframe.show.inspection import inspect_table
from fsframe.show.page import report_page
from fsframe.table.dataset import Dataset
from tests.evaluation.tables import separated
from tests.grids import examples

LABELS = np.repeat([0, 1, 2], [23, 31, 12])


def assert_partitions(splits, n, repeats, folds):
    """Every row is tested exactly once per repetition, and never trained on when it is."""
    assert len(splits) == repeats * folds
    for repeat in range(repeats):
        tested = np.concatenate([s.test for s in splits if s.repeat == repeat])
        assert np.sort(tested).tolist() == list(range(n))
    for split in splits:
        assert not np.intersect1d(split.train, split.test).size
        assert np.sort(np.concatenate([split.train, split.test])).tolist() == list(range(n))
        assert split.test.size


@given(
    st.lists(st.integers(4, 30), min_size=2, max_size=4),
    st.integers(2, 4),
    st.integers(1, 3),
    st.integers(0, 2**32),
)
@examples(40)
def test_every_row_is_tested_once_per_repetition_and_classes_are_dealt_evenly(
    sizes, folds, repeats, seed
):
    y = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    splits = repeated_folds(y, folds, repeats, Run(entropy=seed))
    assert_partitions(splits, y.size, repeats, folds)
    totals = np.array([s.test.size for s in splits])
    assert np.ptp(totals) <= 1
    for code in range(len(sizes)):
        held = [int((y[s.test] == code).sum()) for s in splits]
        assert max(held) - min(held) <= 1


def test_equal_seeds_give_equal_folds_and_more_repetitions_only_add_others():
    def tests(repeats, seed=3):
        return [s.test.tolist() for s in repeated_folds(LABELS, 5, repeats, Run(entropy=seed))]

    assert tests(2) == tests(4)[:10] != tests(2, seed=4)
    assert tests(2)[0] != tests(2)[5]


def test_leave_one_out_tests_each_row_against_all_others():
    splits = leave_one_out(7)
    assert [split.test.tolist() for split in splits] == [[row] for row in range(7)]
    assert_partitions(splits, 7, 1, 7)


def test_too_many_folds_name_every_small_class_by_its_label():
    y = np.repeat([0, 1, 2], [3, 20, 4])
    with pytest.raises(DataError) as caught:
        repeated_folds(y, 5, 1, Run(), ("rare", "usual", "scarce"))
    message = str(caught.value)
    assert "'rare' (3)" in message and "'scarce' (4)" in message and "at most 3" in message


@given(st.integers(0, 2**32), st.integers(2, 4))
@examples(40)
def test_groups_are_never_separated_and_no_fold_is_empty(seed, folds):
    generator = np.random.default_rng(seed)
    groups = generator.integers(0, 25, 90)
    y = generator.integers(0, 3, 90)
    splits = grouped_folds(y, groups, folds, 2, Run(entropy=seed))
    assert_partitions(splits, 90, 2, folds)
    for split in splits:
        assert not np.intersect1d(groups[split.train], groups[split.test]).size
        assert np.unique(y[split.train]).size == 3


def test_groups_of_one_class_each_leave_no_fold_without_rows():
    # The first two groups have no class in common: nearest to an even deal alone would put both
    # into the first fold, and leave the last one empty.
    y, groups = np.array([0, 0, 0, 1, 1, 0, 0, 1]), np.array([0, 0, 0, 1, 1, 2, 2, 3])
    place = deal_groups(y, groups, 3, np.random.default_rng(0))
    assert set(place.tolist()) == {0, 1, 2}


def test_large_groups_are_dealt_first_and_equal_ones_in_random_order():
    groups = np.array([3, 0, 1, 2, 3, 3])
    dealt = {tuple(deal_groups(groups * 0, groups, 2, np.random.default_rng(s))) for s in range(9)}
    # The three rows of one group are alone in their fold, whenever the others come.
    assert {np.bincount(place).tolist()[place[0]] for place in dealt} == {3}
    groups = np.arange(4)
    dealt = {tuple(deal_groups(groups * 0, groups, 2, np.random.default_rng(s))) for s in range(9)}
    assert len(dealt) > 2


def test_grouped_folds_are_as_even_as_those_of_scikit_learn():
    from sklearn.model_selection import StratifiedGroupKFold

    generator = np.random.default_rng(5)
    groups = np.repeat(np.arange(60), generator.integers(1, 8, 60))
    y = (np.repeat(generator.random(60) < 0.3, np.bincount(groups))).astype(int)

    def unevenness(tests):
        shares = [np.mean(y[test]) for test in tests]
        return max(shares) - min(shares)

    theirs = [t for _, t in StratifiedGroupKFold(5).split(y[:, None], y, groups)]
    ours = [s.test for s in grouped_folds(y, groups, 5, 1, Run())]
    assert unevenness(ours) <= unevenness(theirs) + 0.05


def test_groups_that_cannot_be_assigned_are_reported():
    y = np.array([0, 0, 1, 1, 0, 1])
    with pytest.raises(DataError, match="2 groups cannot be split into 3 folds"):
        grouped_folds(y, np.array([0, 0, 0, 1, 1, 1]), 3, 1, Run())
    alone = np.array([0, 0, 0, 1, 1, 0])
    with pytest.raises(DataError, match=r"within a single group: 'ill' \(2 rows\)"):
        grouped_folds(alone, np.array([0, 1, 2, 3, 3, 4]), 2, 1, Run(), ("well", "ill"))


def test_unstratified_folds_partition_the_rows_and_follow_no_class():
    y = np.repeat([0, 1], [60, 30])
    splits = unstratified_folds(y, 10, 20, Run(entropy=1))
    assert_partitions(splits, 90, 20, 10)
    shares = np.array([y[split.test].sum() for split in splits])
    # Hypergeometric: 9 of 90 rows, 30 of them of the class.
    assert abs(shares.var() - 9 * (1 / 3) * (2 / 3) * 81 / 89) < 0.5
    assert {y[s.test].sum() for s in repeated_folds(y, 10, 20, Run(entropy=1))} == {3}
    assert {len(split.test) for split in splits} == {9}


def test_unstratified_folds_refuse_a_training_part_without_a_class():
    y = np.array([0] * 20 + [1])
    with pytest.raises(DataError, match=r"lacks the class .rare."):
        unstratified_folds(y, 3, 1, Run(), ["common", "rare"])
    with pytest.raises(RequestError, match="21 rows make 2 to 21 folds"):
        unstratified_folds(y, 22, 1, Run())


def test_unstratified_folds_are_asked_for_where_they_can_be_made():
    with pytest.raises(RequestError, match="stratify is for scheme=folds"):
        CrossValidation(base="knn", stratify=False, scheme="five-by-two")
    data = Dataset.from_arrays(np.eye(8), np.arange(8) % 2, groups=np.arange(8) // 2)
    with pytest.raises(RequestError, match="folds cannot be unstratified"):
        CrossValidation(base="knn", stratify=False, folds=2).select(data)


REFERENCES = Path(__file__).parents[1] / "plugins" / "margin" / "references.npz"


# Classes that Immigrate 0.2.1 (R 4.2.2) predicts for the rows 0, 3, 6, … when it learns from the
# others: one.Immigrate from W = I/√A with its own stopping rule, then its predict. Neither table is
# standardised again.
HELD_OUT = {
    ("park", 0.5): "11011011110011000011001111111111111111111111111111111100000110010",
    ("park", 1.0): "11011011110011000011001111111111111111111111111111111100000110010",
    ("park", 4.0): "11011111110011000011001111111111111111111111011111111100000111010",
    ("syn_xor", 0.5): "01110110111100110100",
    ("syn_xor", 1.0): "00110110111100110100",
    ("syn_xor", 4.0): "00110010110100110100",
}


PACKAGE = (
    "immigrate:sigma={},update=psd-clip,line-search=false,max-iter=10,standardize=false,"
    "start=identity,top=1.0 margin:standardize=false"
)


@pytest.mark.parametrize(("name", "sigma"), sorted(HELD_OUT))
def test_a_fold_predicts_what_the_r_package_predicts(name, sigma):
    with np.load(REFERENCES) as held:
        data = Dataset.from_arrays(held[f"{name}/X"], held[f"{name}/y"])
    tested = np.arange(data.n_samples) % 3 == 0
    selection = FoldTask(base=PACKAGE.format(sigma)).select(data.with_counts((~tested).astype(int)))
    assert "".join(map(str, selection.tables["predicted"])) == HELD_OUT[name, sigma]


# Evaluations of rows that belong together: what is warned of, and what stands beside a figure


EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def voices() -> Dataset:
    return fsframe.read(EXAMPLES / "parkinsons_subjects.csv", groups="subject")


def test_the_two_examples_are_one_table(voices):
    plain = fsframe.read(EXAMPLES / "parkinsons.csv")
    assert np.array_equal(plain.X, voices.X) and np.array_equal(plain.y, voices.y)
    assert voices.n_groups == 32
    assert set(np.bincount(voices.groups).tolist()) == {6, 7}


def test_the_readme_tells_the_truth_about_people(voices):
    def accuracy(data):
        selection = CrossValidation(base="knn:k=1", repeats=3).select(data)
        return summarise(selection).measures["accuracy"].mean

    assert accuracy(attrs.evolve(voices, groups=None, group_name="")) > 0.92
    assert accuracy(voices) < 0.80


def test_one_vote_per_group_reads_as_a_share(voices):
    record = Chain.parse("cross-validation:base=(mim:top=2 knn),folds=4,repeats=1").run(voices)
    vote = summarise(record.stages[-1].selection).by_group.vote
    said = "\n".join(result_lines(record, None))
    assert 0 < vote < 1 and f"prediction): accuracy {vote:.4f} over 32 groups" in said


@pytest.mark.parametrize(
    ("scheme", "n"), [("folds", 16), ("five-by-two", 10), ("leave-one-out", 32)]
)
def test_no_scheme_takes_a_person_apart(voices, scheme, n):
    options = {"folds": 8, "repeats": 2} if scheme == "folds" else {}
    splits = CrossValidation(base="knn", scheme=scheme, **options).check(voices, Run())
    assert len(splits) == n
    for split in splits:
        assert not np.intersect1d(voices.groups[split.train], voices.groups[split.test]).size


def test_stages_inside_a_fold_know_the_groups_too(voices):
    data = voices.take_columns(np.arange(6))
    inner = CrossValidation(base="mrmr:stop=significant,test=permutation knn", folds=3, repeats=1)
    with pytest.raises(DataError, match="cannot keep rows of one 'subject' together"):
        inner.select(data)


def test_repeated_rows_are_noticed_without_being_told(voices):
    plain = attrs.evolve(voices, groups=None, group_name="")
    (said,) = repeated_rows(plain)
    assert "42% have their nearest row" in said and "--groups" in said
    assert not list(repeated_rows(plain.take_rows(np.random.default_rng(0).permutation(195))))
    numbered = np.column_stack([voices.groups, plain.X[:, 3:]])
    result = list(repeated_rows(Dataset.from_arrays(numbered, plain.y)))
    assert len(result) == 2 and "column f1 looks like an identifier" in result[0]
    method = CrossValidation(base="knn", folds=3, repeats=1)
    assert any("--groups" in warning for warning in method.select(plain).warnings)
    assert not method.select(voices).warnings


def test_a_chain_and_inspect_and_the_report_warn_of_repeated_rows_too(voices):
    plain = attrs.evolve(voices, groups=None, group_name="")
    chain = Chain.parse("mim:top=3")
    (said,) = chain.run(plain).warnings
    assert said.startswith("neighbouring rows are alike") and "p-values too small" in said
    assert not chain.run(voices).warnings
    inspection = inspect_table(EXAMPLES / "parkinsons.csv")
    assert said in [finding.what for finding in inspection.findings]
    assert "neighbouring rows are alike" in report_page(chain.run(plain))
    # An evaluation says it once.
    judged = Chain.parse("cross-validation:base=knn,folds=3,repeats=1").run(plain).all_warnings()
    assert sum("neighbouring rows" in warning for warning in judged) == 1


@pytest.mark.parametrize("seed", range(8))
def test_independent_rows_are_not_suspected(seed):
    generator = np.random.default_rng(seed)
    y = np.sort(generator.integers(0, 3, 150))
    for X in (
        generator.normal(size=(150, 6)) + y[:, None],
        generator.integers(0, 3, size=(150, 12)).astype(float),
        np.column_stack([y * 10 + generator.integers(0, 10, 150), generator.normal(size=150)]),
    ):  # fmt: skip
        assert not list(repeated_rows(Dataset.from_arrays(X, y)))


def test_baseline_and_all_features_stand_beside_the_accuracy():
    X, y = separated(60, 8, seed=1).X.copy(), np.arange(60) % 3 == 0
    X[:, 2] += 4.0 * y
    data = Dataset.from_arrays(X, y)
    method = CrossValidation(base="anova-f:top=1 knn", folds=4, repeats=2, all_features=True)
    selection = method.select(data)
    assert summarise(selection).baseline.mean == pytest.approx(40 / 60)
    every = attrs.evolve(method, base="knn").select(data).tables
    assert np.array_equal(every["predicted"], every["all-features"])
    assert np.array_equal(selection.tables["all-features"], every["predicted"])
    without = attrs.evolve(method, all_features=False).select(data)
    assert summarise(without).all_features is None and "all-features" not in without.tables
    assert np.array_equal(without.tables["predicted"], selection.tables["predicted"])


def test_columns_that_the_classifier_does_not_take_leave_the_comparison_out():
    data = separated(60, 4, seed=1, signal=3.0)
    X = data.X.copy()
    X[5, 3] = np.nan
    method = CrossValidation(base="relieff:top=1 knn", folds=3, repeats=1, all_features=True)
    selection = method.select(Dataset.from_arrays(X, data.y))
    assert summarise(selection).all_features is None
    # Where the gap is among the training rows, and where it is among the tested ones.
    told = [text for text in selection.warnings if "no result on all features" in text]
    assert [text[:14] for text in told] == ["in 2 of 3 fold", "in 1 of 3 fold"]
    assert all("missing" in text for text in told)


def test_a_classifier_that_takes_too_much_memory_on_all_features_says_so_others_are_raised(
    monkeypatch,
):
    data, knn = separated(60, 4, signal=3.0), fsframe.classifiers["knn"]
    real = knn._fit

    def refusing(self, data, upstream, run):
        if data.n_features == 4:
            raise error
        return real(self, data, upstream, run)

    monkeypatch.setattr(knn, "_fit", refusing)
    method = CrossValidation(base="anova-f:top=1 knn", folds=3, repeats=1, all_features=True)
    error: RequestError = MemoryBoundError("knn takes 5 GiB")
    selection = method.select(data)
    assert summarise(selection).all_features is None
    assert any("no result on all features: knn takes 5 GiB" in text for text in selection.warnings)
    error = RequestError("k=9 is not for 4 columns")
    with pytest.raises(RequestError, match="k=9 is not for 4 columns"):
        method.select(data)


def test_a_comparison_counts_people_as_an_evaluation_does():
    y, people = np.repeat([0, 1], 30), np.repeat(np.arange(12), 5)
    X = np.random.default_rng(0).normal(size=(60, 2)) + 9.0 * y[:, None] * [1, 0]
    data = Dataset.from_arrays(X, y, groups=people)
    chains, options = ["mim:top=1 knn", "mim:top=2 knn"], {"folds": 3, "repeats": 2}
    # Every fold is right, so that the interval comes from the number of independent units alone.
    alone = fsframe.evaluate(chains[0], data, **options).measures["accuracy"].interval
    compared = fsframe.compare(chains, data, **options).comparison.intervals[0, 0]
    assert tuple(compared) == alone == interval_within(1.0, 0.0, 6, units=12)
    rows = fsframe.evaluate(chains[0], Dataset.from_arrays(X, y), **options)
    assert rows.measures["accuracy"].interval == interval_within(1.0, 0.0, 6, units=60)
