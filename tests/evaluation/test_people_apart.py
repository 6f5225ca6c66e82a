"""Evaluations of rows that belong together: what is warned of, and what stands beside a figure."""

from __future__ import annotations

from pathlib import Path

import attrs
import numpy as np
import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.chains.repeated_rows import repeated_rows
from fsframe.errors import DataError, MemoryBoundError, RequestError
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.measuring import interval_within
from fsframe.evaluation.summary import summarise
from fsframe.method.run import Run
from fsframe.show.display import result_lines
from fsframe.show.inspection import inspect_table
from fsframe.show.page import report_page
from fsframe.table.dataset import Dataset
from tests.evaluation.tables import separated

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
        found = CrossValidation(base="knn:k=1", repeats=3).select(data)
        return summarise(found).measures["accuracy"].mean

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
    found = list(repeated_rows(Dataset.from_arrays(numbered, plain.y)))
    assert len(found) == 2 and "column f1 looks like an identifier" in found[0]
    method = CrossValidation(base="knn", folds=3, repeats=1)
    assert any("--groups" in warning for warning in method.select(plain).warnings)
    assert not method.select(voices).warnings


def test_a_chain_and_inspect_and_the_report_warn_of_repeated_rows_too(voices):
    plain = attrs.evolve(voices, groups=None, group_name="")
    chain = Chain.parse("mim:top=3")
    (said,) = chain.run(plain).warnings
    assert said.startswith("neighbouring rows are alike") and "p-values too small" in said
    assert not chain.run(voices).warnings
    found = inspect_table(EXAMPLES / "parkinsons.csv")
    assert said in [finding.what for finding in found.findings]
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
    found = method.select(data)
    assert summarise(found).baseline.mean == pytest.approx(40 / 60)
    every = attrs.evolve(method, base="knn").select(data).tables
    assert np.array_equal(every["predicted"], every["all-features"])
    assert np.array_equal(found.tables["all-features"], every["predicted"])
    without = attrs.evolve(method, all_features=False).select(data)
    assert summarise(without).all_features is None and "all-features" not in without.tables
    assert np.array_equal(without.tables["predicted"], found.tables["predicted"])


def test_columns_that_the_classifier_does_not_take_leave_the_comparison_out():
    data = separated(60, 4, seed=1, signal=3.0)
    X = data.X.copy()
    X[5, 3] = np.nan
    method = CrossValidation(base="relieff:top=1 knn", folds=3, repeats=1, all_features=True)
    found = method.select(Dataset.from_arrays(X, data.y))
    assert summarise(found).all_features is None
    # Where the gap is among the training rows, and where it is among the tested ones.
    told = [text for text in found.warnings if "no result on all features" in text]
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
    found = method.select(data)
    assert summarise(found).all_features is None
    assert any("no result on all features: knn takes 5 GiB" in text for text in found.warnings)
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
