"""Cross-validation: what is seen where, tuning, curves, groups, engines, and early refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fsframe
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.evaluation import folds
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.measures import Calibration
from fsframe.evaluation.summary import summarise
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.registry import classifiers
from fsframe.table.dataset import Dataset
from tests.evaluation.tables import separated as table
from tests.grids import slow


def evaluated(base, data, seed=0, run=None, **protocol):
    return CrossValidation(base=base, **protocol).select(data, run=run, seed=seed)


def assert_same_tables(a, b):
    assert a.tables.keys() == b.tables.keys()
    for name in a.tables:
        assert a.tables[name].tobytes() == b.tables[name].tobytes(), name
    assert a.scores.tobytes() == b.scores.tobytes() and (a.selected == b.selected).all()


def test_a_stage_never_sees_the_rows_that_are_tested(test_methods):
    data = table(30)
    evaluation = evaluated("witness knn", data, folds=5, repeats=2)
    seen = test_methods.Witness.seen
    assert len(seen) == 10
    fold = evaluation.tables["fold"]
    for number, (_, values, labels) in enumerate(seen):
        repeat, place = divmod(number, 5)
        expected = fold[repeat] != place
        assert values.tolist() == data.X[expected, 0].tolist()
        assert labels.tolist() == data.y[expected].tolist()


def test_tuning_never_sees_the_rows_that_are_tested(test_methods):
    data = table(30)
    evaluation = evaluated("witness knn:k={1,3}", data, folds=3, repeats=1, inner_folds=4)
    fold = evaluation.tables["fold"][0]
    for number in range(3):
        tested = set(data.X[fold == number, 0])
        # Of each outer fold: a fit for both values in 4 inner folds, then the chosen chain.
        of_this = test_methods.Witness.seen[5 * number : 5 * (number + 1)]
        assert len(of_this) == 5
        for _, values, _ in of_this:
            assert not tested & set(values)


def test_predictions_are_those_of_scikit_learn_on_the_same_folds():
    data = table(50, signal=1.0)
    evaluation = evaluated("knn:k=3", data, folds=5, repeats=2)
    theirs = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
    for fold, predicted in zip(
        evaluation.tables["fold"], evaluation.tables["predicted"], strict=True
    ):
        for tested in (fold == number for number in range(5)):
            expected = theirs.fit(data.X[~tested], data.y[~tested]).predict(data.X[tested])
            assert (predicted[tested] == expected).all()


def test_summary_of_an_evaluation_is_what_its_tables_say():
    data = table(50, signal=1.0)
    evaluation = evaluated("anova-f:top=3 knn:k=3", data, folds=5, repeats=3)
    said = summarise(evaluation)
    fold, predicted = evaluation.tables["fold"], evaluation.tables["predicted"]
    values = [
        np.mean(predicted[r, fold[r] == f] == data.y[fold[r] == f])
        for r in range(3)
        for f in range(5)
    ]
    measure = said.measures["accuracy"]
    assert measure.values.tolist() == values
    assert measure.standard_error == pytest.approx(
        np.sqrt((1 / 15 + 1 / 4) * np.var(values, ddof=1))
    )
    assert said.test_to_train == pytest.approx(1 / 4)
    assert said.kept.tolist() == [3] * 15 and said.stability.interval is not None
    assert evaluation.scores.tolist() == evaluation.tables["kept"].mean(axis=0).tolist()


def test_a_set_of_values_is_tuned_to_the_one_that_works_or_the_first_of_equal_ones():
    # Neighbours by the first column alone: the other columns drown it.
    data = table(80, p=30, signal=3.0)
    evaluation = evaluated("anova-f:top={1,30} knn", data, folds=4, repeats=1)
    assert (evaluation.tables["chosen"] == 0).all() and evaluation.tables["tuning"].shape == (4, 2)
    assert (evaluation.tables["kept"].sum(axis=1) == 1).all()
    equal = evaluated("anova-f:top=1 knn:k={3,1}", table(40, signal=9.0), folds=4, repeats=1)
    assert (equal.tables["chosen"] == 0).all()


def test_all_chains_are_evaluated_on_identical_folds_by_the_default_classifier():
    data, protocol = table(40), {"folds": 4, "repeats": 3, "seed": 9}
    a, b = (evaluated(f"relieff:top=2{end}", data, **protocol) for end in ("", " weighted-knn"))
    assert_same_tables(a, b)
    other = evaluated("knn:k={1,3}", data, **protocol)
    assert (a.tables["fold"] == other.tables["fold"]).all()


@pytest.mark.parametrize(
    "base",
    [
        "anova-f:top={2,5,3} knn:k={1,3}",
        "mim:top=5 mrmr:top={1,2} knn",
        slow("immigrate:top={2,4} margin"),
        "mim:given=x3,top={2,4} knn",
        slow("mim:given=x3,top=2 knn:k={1,3}"),
        "mim:top={0.2,0.5} knn",
        slow("mim:top=0.5 knn:k={1,3}"),
        "anova-f knn:k={1,3}",
    ],
)
def test_one_fit_for_several_chains_gives_what_a_fit_for_each_gives(base, monkeypatch):
    data = table(60, p=8, signal=1.0, feature_names=[f"x{j}" for j in range(8)])
    shared = evaluated(base, data, folds=3, repeats=1)
    monkeypatch.setattr(folds, "_fit_of", lambda chain, train: (str(chain),))
    assert_same_tables(shared, evaluated(base, data, folds=3, repeats=1))


def test_a_set_of_counts_takes_one_fit_in_each_inner_fold(test_methods, monkeypatch):
    witness = test_methods.Witness
    for only_cuts, fits in ((False, 3 * 4 * 3 + 3), (True, 3 * 4 + 3)):
        monkeypatch.setattr(witness, "top_only_cuts", lambda self, cuts=only_cuts: cuts)
        witness.seen.clear()
        evaluated("witness:top={1,2,3} knn", table(30), folds=3, repeats=1, inner_folds=4)
        assert len(witness.seen) == fits


def test_curve_at_the_kept_number_is_the_evaluation_itself():
    data, protocol = table(60, signal=1.0), {"folds": 5, "repeats": 2}
    evaluation = evaluated("anova-f:top=3 knn:k=3", data, curve=(1, 3, 8), **protocol)
    every = evaluated("anova-f:top=8 knn:k=3", data, **protocol)
    assert evaluation.tables["sizes"].tolist() == [1, 3, 8]
    assert (evaluation.tables["curve"][1] == evaluation.tables["predicted"]).all()
    assert (evaluation.tables["curve"][2] == every.tables["predicted"]).all()
    points = summarise(evaluation).curve
    # All features are always the same features: nothing is left to agree by chance.
    assert (
        np.isnan(points[2].stability)
        and points[1].stability == summarise(evaluation).stability.value
    )


def test_one_standard_error_choice_is_the_smallest_size_within_reach_of_the_best():
    data = table(60, p=12, signal=3.0)
    said = summarise(evaluated("anova-f knn:k=3", data, folds=5, repeats=2, curve="auto"))
    best = max(said.curve, key=lambda point: point.accuracy)
    within = [p.size for p in said.curve if p.accuracy >= best.accuracy - best.standard_error]
    assert said.one_standard_error == min(within)
    assert [p.size for p in said.curve] == [1, 2, 4, 8, 12]


def test_a_fold_in_which_nothing_is_kept_predicts_the_most_frequent_class(test_methods):
    generator = np.random.default_rng(0)
    data = Dataset.from_arrays(generator.standard_normal((40, 3)), np.arange(40) % 4 == 0)
    evaluation = evaluated("nothing knn", data, folds=5, repeats=1, curve="auto")
    assert (evaluation.tables["predicted"] == 0).all()
    said = summarise(evaluation)
    assert said.measures["accuracy"].mean == 0.75
    assert said.measures["balanced-accuracy"].mean == 0.5
    assert any("kept no feature" in warning for warning in evaluation.warnings)


def test_as_a_stage_it_evaluates_everything_on_its_left():
    data = table(40)
    selection = Chain.parse(
        "relieff:top=3 cross-validation:folds=4,repeats=1,classifier=knn"
    ).select(data, seed=5)
    run = Run(entropy=5).child(1)
    inside = evaluated("relieff:top=3", data, run=run, folds=4, repeats=1, classifier="knn")
    assert (selection.tables["predicted"] == inside.tables["predicted"]).all()


def test_weights_of_rows_that_arrive_are_those_of_the_training_rows():
    data = table(40, signal=1.0)

    def evaluated_behind_mbiw(base):
        text = f"mbiw cross-validation:base={base},folds=4,repeats=1"
        return Chain.parse(text).select(data, seed=5).tables

    assert (evaluated_behind_mbiw("(simba weighted-knn:k={1,3})")["predicted"] >= 0).all()
    tables = evaluated_behind_mbiw("weighted-knn")
    weights = Chain.parse("mbiw").select(data, seed=5).instance_weights
    tested = tables["fold"][0] == 2
    train = data.take_rows(np.flatnonzero(~tested))
    arrived = Selection(
        selected=np.arange(8), scores=np.zeros(8), instance_weights=weights[~tested]
    )
    expected = classifiers["weighted-knn"]().fit(train, arrived).predict_scores(data.X[tested])
    assert (tables["class-scores"][0, tested] == expected).all()


def test_leave_one_out_measures_what_single_rows_do_not_define_over_all():
    data = table(30, signal=1.0)
    evaluation = evaluated("knn:k=3", data, scheme="leave-one-out")
    said = summarise(evaluation)
    assert said.n_splits == 30
    predicted = evaluation.tables["predicted"][0]
    hits = [np.mean(predicted[data.y == c] == c) for c in (0, 1)]
    assert said.measures["balanced-accuracy"].mean == pytest.approx(np.mean(hits))
    assert len(said.measures["auc"].values) == 1
    assert np.isnan(said.measures["auc"].standard_error)
    pooled = Calibration.of(data.y, evaluation.tables["class-scores"][0])
    assert said.measures["calibration"].values.tolist() == [pooled]
    assert said.measures["accuracy"].standard_error == pytest.approx(
        np.sqrt((1 / 30 + 1 / 29) * np.var(predicted == data.y, ddof=1))
    )


def test_inner_folds_do_not_separate_groups_either(test_methods):
    """Six rows of each of twelve patients, who are nothing but themselves: labels are random."""
    generator = np.random.default_rng(0)
    patient = np.repeat(np.arange(12), 6)
    y = generator.permutation(np.arange(12) % 2)[patient]
    X = 5 * generator.standard_normal((12, 6))[patient] + generator.standard_normal((72, 6))
    data = Dataset.from_arrays(X, y, groups=patient, group_name="patient")
    evaluated("witness knn:k={1,3}", data, folds=4, repeats=1, inner_folds=3)
    owner = dict(zip(data.X[:, 0], data.groups, strict=True))
    for _, values, _ in test_methods.Witness.seen:
        counts = np.bincount([int(owner[value]) for value in values], minlength=12)
        assert set(counts.tolist()) <= {0, 6}


# Refusals, all before any work


@pytest.mark.parametrize(
    ("base", "protocol", "words"),
    [
        ("immigrate:sigma={-1,2,wide}", {}, ["'-1'", "'wide'"]),
        ("mim:top={0,3} knn:k={0,1}", {}, ["top", "'0'", "k must be"]),
        ("no-such-method", {}, ["no-such-method"]),
        ("mim:top=0", {"classifier": "no-such-classifier"}, ["top", "no-such-classifier"]),
        ("mim", {"classifier": "relieff"}, ["relieff", "not a classifier"]),
        ("mim knn", {"classifier": "knn:k=3"}, ["ends with a classifier"]),
        ("mim", {"scheme": "thrice"}, ["scheme"]),
        ("mim", {"folds": 1}, ["folds"]),
        ("mim", {"folds": 5, "scheme": "leave-one-out"}, ["folds and repeats are for"]),
        ("mim", {"classifier": "sklearn:estimator=sklearn.nowhere.Nothing"}, ["nowhere"]),
    ],
)
def test_a_wrong_request_is_refused_with_everything_that_is_wrong(base, protocol, words):
    with pytest.raises(RequestError) as caught:
        CrossValidation.from_texts({"base": base, **{k: str(v) for k, v in protocol.items()}})
    assert all(word in str(caught.value) for word in words), str(caught.value)


SIX = np.arange(12.0).reshape(6, 2)
HOLED = Dataset.from_arrays(np.where(np.eye(40, 8) > 0, np.nan, table(40).X), table(40).y)


@pytest.mark.parametrize(
    ("data", "base", "protocol", "words"),
    [
        (table(12, n_classes=3), "knn", {"folds": 5}, "fewer members than the 5 folds"),
        (HOLED, "immigrate margin", {}, "missing values"),
        (HOLED, "knn", {}, "missing values"),
        (table(6, n_classes=3), "knn:k={1,3}", {"folds": 2}, "cannot be tuned"),
        (Dataset.from_arrays(SIX, SIX[:, 0] / 3), "margin", {}, "needs classes, not a numeric"),
        (
            Dataset.from_arrays(SIX, [0, 0, 0, 1, 1, 2]),
            "knn",
            {"scheme": "leave-one-out"},
            "single member: 2",
        ),
        (
            Dataset.from_arrays(SIX, [0, 0, 0, 0, 1, 1], groups=[0, 1, 2, 3, 4, 4]),
            "knn",
            {},
            "within a single group: '1'",
        ),
    ],
)
def test_a_table_that_cannot_be_split_or_taken_is_refused_before_work(
    no_work, data, base, protocol, words
):
    small = {} if "scheme" in protocol else {"folds": 4, "repeats": 1}
    with pytest.raises((DataError, RequestError), match=words):
        evaluated(base, data, **{**small, **protocol})


def test_rows_drawn_twice_count_twice_where_something_is_learned_and_are_tested_once():
    data = table(40, signal=1.0)
    counts = np.ones(40, dtype=np.int64)
    counts[:10] = 2
    evaluation = evaluated("anova-f:top=2 knn:k=3", data.with_counts(counts), folds=4, repeats=1)
    fold = evaluation.tables["fold"][0]
    tested = fold == 0
    train = data.with_counts(np.where(tested, 0, counts))
    fitted = Chain.parse("anova-f:top=2 knn:k=3").fit(train)
    assert (evaluation.tables["predicted"][0, tested] == fitted.predict(data.X[tested])).all()


@pytest.mark.parametrize(
    ("given", "stage"),
    [
        ("LogisticRegression()", "sklearn:estimator=LogisticRegression"),
        ("LogisticRegression(C=2.0)", "sklearn:estimator=LogisticRegression"),
        ("KNN(k=3)", "knn:k=3"),
    ],
)
def test_an_object_as_classifier_is_told_the_stage_to_write(given, stage):
    with pytest.raises(RequestError, match=re.escape(f"write '{stage}'")):
        fsframe.evaluate("mim:top=1", table(40), classifier=given, folds=2, repeats=1)
    assert fsframe.evaluate("mim:top=1", table(40), classifier=stage, folds=2, repeats=1)
