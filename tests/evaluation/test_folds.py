"""Splits: every row tested once, classes and groups kept; folds as the R package does them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsframe.errors import DataError, RequestError
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.folds import FoldTask
from fsframe.evaluation.splits import (
    grouped_folds,
    leave_one_out,
    repeated_folds,
    unstratified_folds,
)
from fsframe.method.run import Run
from fsframe.resampling.groups import deal_groups
from fsframe.table.dataset import Dataset

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
@settings(max_examples=40, deadline=None)
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
@settings(max_examples=40, deadline=None)
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
    found = FoldTask(base=PACKAGE.format(sigma)).select(data.with_counts((~tested).astype(int)))
    assert "".join(map(str, found.tables["predicted"])) == HELD_OUT[name, sigma]
