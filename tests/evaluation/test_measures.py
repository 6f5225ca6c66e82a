"""The bundled measures against scikit-learn's and by hand, where they are undefined or refused."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics
from sklearn.isotonic import IsotonicRegression

import fsframe
from fsframe.errors import PluginError, RequestError
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.measures import Auc, Brier, Calibration, Concordance
from fsframe.evaluation.measuring import interval_within, join_repetitions
from fsframe.evaluation.summary import agreement, summarise, summarise_tables
from fsframe.method.classifier import PredictionMeasure, Predictions
from fsframe.registry import registry
from fsframe.registry.entries import MeasureEntry
from fsframe.registry.hookspecs import hookimpl
from fsframe.registry.manager import PluginManager, PluginSource, installed_plugins
from fsframe.storage.checked_tables import fold_tables
from fsframe.table.dataset import Dataset
from fsframe.testing.tables import survival
from tests.evaluation.tables import write_csv
from tests.grids import examples
from tests.same_process import fsframe as ran


def drawn(seed, n_classes, n=60, coarse=True):
    """Labels with every class present, and probabilities for them, with many ties if `coarse`."""
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.arange(n) % n_classes)
    scores = generator.random((n, n_classes)) * 6 + 1 + 2 * np.eye(n_classes)[y]
    scores = np.round(scores) if coarse else scores
    return y, scores / scores.sum(axis=1, keepdims=True)


def log_loss(y, scores):
    return value("log-loss", y, scores)


def value(name, y, scores, **parameters):
    measure = fsframe.measures[name](**parameters)
    labels = tuple(f"c{k}" for k in range(scores.shape[1]))
    predicted = scores.argmax(axis=1)
    return measure(Predictions(truth=y, predicted=predicted, scores=scores, classes=labels))


def theirs(name, y, scores):
    predicted, two = scores.argmax(axis=1), scores.shape[1] == 2
    averaged = {"average": "binary" if two else "macro"}
    high = scores[:, 1] if two else scores
    if name == "specificity":
        of = [metrics.recall_score(y != c, predicted != c) for c in range(scores.shape[1])]
        return of[1] if two else np.mean(of)
    return {
        "accuracy": lambda: metrics.accuracy_score(y, predicted),
        "balanced-accuracy": lambda: metrics.balanced_accuracy_score(y, predicted),
        "sensitivity": lambda: metrics.recall_score(y, predicted, **averaged),
        "precision": lambda: metrics.precision_score(y, predicted, zero_division=0, **averaged),
        "f1": lambda: metrics.f1_score(y, predicted, **averaged),
        "matthews": lambda: metrics.matthews_corrcoef(y, predicted),
        "auc": lambda: metrics.roc_auc_score(y, high, multi_class="ovo"),
        "auc-ovr": lambda: metrics.roc_auc_score(y, high, multi_class="ovr"),
        "log-loss": lambda: metrics.log_loss(y, scores),
        "brier": lambda: np.mean((scores - np.eye(scores.shape[1])[y]) ** 2) * scores.shape[1] / 2,
    }[name]()


OF_CLASSES = [
    "accuracy", "balanced-accuracy", "sensitivity", "specificity", "precision", "f1", "matthews",
    "auc", "auc-ovr", "log-loss", "brier",
]  # fmt: skip


@pytest.mark.parametrize("name", OF_CLASSES)
@given(st.integers(0, 2**32), st.sampled_from([2, 3, 4, 9]), st.booleans())
@examples(20)
def test_measures_of_classes_are_those_of_scikit_learn(name, seed, n_classes, coarse):
    y, scores = drawn(seed, n_classes, coarse=coarse)
    assert value(name, y, scores) == pytest.approx(theirs(name, y, scores), rel=1e-9)


def test_wrong_certainty_costs_as_much_as_in_scikit_learn():
    y, scores = np.array([0, 1]), np.array([[0.0, 1.0], [0.0, 1.0]])
    assert log_loss(y, scores) == pytest.approx(metrics.log_loss(y, scores), rel=1e-12)
    assert log_loss(y, scores) == pytest.approx(-np.log(2.0**-52) / 2)


def test_auc_is_undefined_for_one_class_and_log_loss_for_no_probabilities():
    assert np.isnan(Auc.of(np.zeros(3, dtype=int), np.ones((3, 2))))
    y, scores = drawn(5, 4)
    scores[0, 0] = np.nan
    assert np.isnan(Auc.of(y, scores))
    for wrong in ([-0.5, 1.5], [0.5, 0.4], [np.nan, 1.0]):
        assert np.isnan(log_loss(np.array([0, 1]), np.array([wrong, [0.5, 0.5]])))


def test_a_thousand_classes_take_no_million_sorts():
    y = np.arange(3000) % 1000
    assert Auc.of(y, np.eye(1000)[y]) == 1.0


def test_agreement_is_the_chance_that_two_repetitions_say_the_same():
    rng = np.random.default_rng(0)
    predicted = rng.integers(-1, 3, size=(7, 30))
    predicted[:, :4] = [2, 0, 1, -1]
    result = agreement(predicted, 3)
    chances, always = [], 0
    for column in predicted.T:
        said = column[column >= 0]
        pairs = [a == b for k, a in enumerate(said) for b in said[:k]]
        if pairs:
            chances.append(np.mean(pairs))
            always += all(pairs)
    assert result.share == pytest.approx(np.mean(chances))
    assert (result.n_rows, result.n_always) == (len(chances), always)
    assert agreement(predicted[:1], 3) is None


def test_brier_of_two_classes_is_scikit_learns_and_its_calibration_what_isotonic_regression_gains():
    y, scores = drawn(5, 2)
    assert Brier.of(y, scores) == pytest.approx(metrics.brier_score_loss(y, scores[:, 1]))
    mended = IsotonicRegression().fit_transform(scores[:, 1], y)
    gain = metrics.brier_score_loss(y, scores[:, 1]) - np.mean((mended - y) ** 2)
    assert Calibration.of(y, scores) == pytest.approx(gain, abs=1e-12)
    assert 0 < gain < Brier.of(y, scores)
    assert Calibration.of(y, np.tile(np.bincount(y) / y.size, (y.size, 1))) == pytest.approx(0)
    assert np.isnan(Calibration.of(y[y == 1], scores[y == 1]))


def test_measures_of_numbers_are_those_of_scikit_learn_and_scipy():
    generator = np.random.default_rng(1)
    y = np.round(generator.normal(size=50), 1)
    predicted = np.round(y + generator.normal(size=50), 1)
    both = Predictions(truth=y, predicted=predicted)
    expected = {
        "r2": metrics.r2_score(y, predicted),
        "mae": metrics.mean_absolute_error(y, predicted),
        "rmse": metrics.root_mean_squared_error(y, predicted),
        # Somers' D of the predictions given the truth is 2c − 1.
        "concordance": (stats.somersd(y, predicted).statistic + 1) / 2,
    }
    assert {name: fsframe.measures[name]()(both) for name in expected} == pytest.approx(expected)
    pairs = [(a, b) for a, b in itertools.permutations(range(50), 2) if y[a] < y[b]]
    won = sum((predicted[a] < predicted[b]) + (predicted[a] == predicted[b]) / 2 for a, b in pairs)
    assert Concordance.of(y, predicted) == won / len(pairs)
    assert np.isnan(Concordance.of(np.ones(3), np.arange(3.0)))


def test_the_class_that_is_meant_can_be_named_and_matthews_may_have_none():
    y, scores = drawn(2, 2)
    assert value("sensitivity", y, scores, positive="c0") == value("specificity", y, scores)
    assert value("sensitivity", y, scores, positive="c1") == value("sensitivity", y, scores)
    y, scores = drawn(2, 3)
    each = [value("f1", y, scores, positive=f"c{k}") for k in range(3)]
    assert value("f1", y, scores) == pytest.approx(np.mean(each))
    # Of one answer and of one class.
    flat = np.tile([0.9, 0.1], (4, 1))
    assert value("matthews", np.array([0, 1, 0, 1]), flat) == 0.0
    assert np.isnan(value("matthews", np.zeros(4, dtype=int), flat))


@pytest.mark.parametrize("value", [2.0, -0.1, np.inf, -np.inf, "0.5"])
def test_a_value_beyond_the_declared_range_is_the_plugins_fault(value):
    class Wild(PredictionMeasure):
        def _value(self, predictions):
            return value

    class Unbounded(Wild):
        highest = np.inf

    both = Predictions(truth=np.zeros(2), predicted=np.zeros(2))
    told = "gave the text '0.5', not a number" if value == "0.5" else f"in 0 … 1, and gave {value}"
    with pytest.raises(PluginError, match=f"measure `wild` .*{told}"):
        Wild()(both)
    if value in (2.0, np.inf):
        assert Unbounded()(both) == value


@pytest.mark.parametrize(
    ("mean", "error", "low", "high"),
    [(0.97, 0.05, 0, 1), (-0.9, 0.2, -1, 1), (0.1, 0.3, 0, np.inf), (0.99, 0.2, -np.inf, 1)],
)
def test_intervals_hold_the_value_and_stay_within_the_range(mean, error, low, high):
    a, b = interval_within(mean, error, 10, low, high)
    assert low <= a < mean < b <= high
    narrow = interval_within(mean, error / 100, 10, low, high)
    reach = stats.t.ppf(0.975, 9) * error / 100
    # Far from a bound, all scales are alike.
    assert narrow == pytest.approx((mean - reach, mean + reach), abs=0.02)


@pytest.mark.parametrize("right", [0, 37, 50])
def test_equal_shares_have_the_interval_of_wilson(right):
    theirs = stats.binomtest(right, 50).proportion_ci(method="wilson")
    result = interval_within(right / 50, 0.0, 10, units=50)
    assert result == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_equal_losses_have_no_interval_and_unequal_shares_that_of_t():
    assert interval_within(0.8, 0.1, 10, units=50) == interval_within(0.8, 0.1, 10)
    assert interval_within(1.0, 0.0, 10) is None
    # A mean on a bound has no logit, whatever its error; two results have an error already.
    for bound in (0.0, 1.0):
        within = interval_within(bound, 0.0, 10, units=50)
        assert interval_within(bound, 0.1, 10, units=50) == within
    assert interval_within(0.5, 0.1, 2) is not None
    assert interval_within(0.0, 0.0, 10, 0.0, np.inf) is None
    low, high = interval_within(0.97, 0.02, 10)
    assert interval_within(0.03, 0.02, 10) == pytest.approx((1 - high, 1 - low), abs=1e-12)


def table(n=60, groups=None):
    generator = np.random.default_rng(4)
    y = np.arange(n) // 3 % 2
    X = generator.normal(size=(n, 4)) + y[:, None] * np.array([1.5, 1, 0, 0])
    return Dataset.from_arrays(X, np.array(["well", "ill"])[y], groups=groups)


def test_an_evaluation_stores_every_measure_beside_the_baseline_and_all_features():
    data = table()
    selection = CrossValidation(
        base="anova-f:top=1 knn:k=5", folds=5, repeats=2, all_features=True
    ).select(data, seed=1)
    said = summarise(selection)
    tables = selection.tables
    assert list(said.measures) == [
        *("accuracy", "balanced-accuracy", "auc", "sensitivity", "specificity", "f1", "matthews"),
        *("log-loss", "brier", "calibration"),
    ]
    scores, y = tables["class-scores"], tables["truth"]
    fold = tables["fold"]
    rows = fold[1] == 3
    for name in ("accuracy", "balanced-accuracy", "f1", "matthews", "auc", "log-loss", "brier"):
        expected = theirs(name, y[rows], scores[1, rows])
        assert said.measures[name].values[8] == pytest.approx(expected), name
    alone = CrossValidation(base="knn:k=5", folds=5, repeats=2).select(data, seed=1)
    for name, measure in summarise(alone).measures.items():
        assert measure.mean == pytest.approx(said.measures[name].all_features), name
    assert said.measures["balanced-accuracy"].baseline == 0.5 == said.measures["auc"].baseline
    assert said.measures["matthews"].baseline == 0.0
    assert said.measures["accuracy"].baseline == said.baseline.mean
    assert said.confusion.sum() == 60 and said.confusion.trace() / 60 == pytest.approx(
        np.mean(tables["predicted"] == y)
    )
    # A file without these tables says the same of what can be read from its predictions.
    plain = {n: t for n, t in tables.items() if not n.startswith(("measure", "all-features-sc"))}
    older = summarise_tables(fold_tables(plain, 4))
    for name, measure in said.measures.items():
        assert older.measures[name].values.tolist() == measure.values.tolist()
        assert older.measures[name].baseline == measure.baseline


def test_groups_count_once_and_vote():
    groups = np.arange(60) // 3
    data = table(groups=groups)
    selection = CrossValidation(base="knn", folds=4, repeats=3).select(data, seed=0)
    by_group = summarise(selection).by_group
    hit = selection.tables["predicted"] == selection.tables["truth"]
    shares = hit.reshape(3, 20, 3).mean(axis=2)
    assert by_group.n_groups == 20 == by_group.n_voting
    assert by_group.accuracies == pytest.approx(shares.mean(axis=0))
    assert by_group.vote == pytest.approx((shares > 0.5).mean())
    # A group of rows of several classes has no vote.
    mixed = table(groups=np.where(groups < 6, 0, groups))
    assert len(set(mixed.y[mixed.groups == 0])) > 1
    by_group = summarise(CrossValidation(base="knn", folds=4).select(mixed, seed=0)).by_group
    assert by_group.n_voting == by_group.n_groups - 1
    assert summarise(CrossValidation(base="knn", folds=4).select(table())).by_group is None


@pytest.mark.parametrize(
    ("data", "base"), [(table(), "knn"), (survival(), "cox")], ids=["classes", "survival"]
)
def test_repetitions_joined_are_one_evaluation(data, base):
    once = CrossValidation(base=base, folds=3, repeats=1)
    parts = [once.select(data, seed=seed) for seed in (0, 1)]
    both = summarise(join_repetitions(parts))
    for name, measure in both.measures.items():
        values = np.concatenate([summarise(part).measures[name].values for part in parts])
        assert measure.values.tolist() == values.tolist()


@pytest.mark.parametrize(
    ("base", "metric", "words"),
    [
        ("immigrate margin", "brier", ["metric=brier", "needs probabilities", "scores"]),
        ("mim sklearn:estimator=sklearn.svm.SVC", "log-loss", ["needs probabilities"]),
        ("mim knn", "r2", ["numeric target"]),
        ("mim knn", "f1:positive=il", ["'il'", "Did you mean `ill`"]),
        ("knn", "acuracy,auc:k=3", ["Did you mean `accuracy`", "'k'"]),
    ],
)
def test_what_cannot_be_measured_is_refused_by_name_before_work_starts(base, metric, words):
    with pytest.raises(RequestError) as caught:
        CrossValidation(base=base, metric=tuple(metric.split(","))).select(table())
    assert all(word in str(caught.value) for word in words)


def test_a_classifier_that_only_answers_has_no_area_under_a_curve():
    said = list(fsframe.measures["auc"]().refusals("classification", ("a", "b"), "labels"))
    assert said == ["it needs scores, and the classifier gives predicted classes only"]
    assert not list(fsframe.measures["f1"]().refusals("classification", ("a", "b"), "labels"))


class Missed(PredictionMeasure):
    """Share of the ill that are told they are well."""

    larger_is_better = False

    def _value(self, predictions):
        ill = predictions.truth == predictions.classes.index("ill")
        return float(np.mean(predictions.predicted[ill] != predictions.truth[ill]))


class _Plugin:
    @hookimpl
    def fsframe_measures(self):
        yield MeasureEntry(name="missed", target=f"{__name__}:Missed", summary="missed cases")


def test_a_plugin_adds_a_measure_and_a_file_is_shown_without_it(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, __name__, sys.modules[Missed.__module__])
    ours = PluginSource(name="m", distribution="m", version="0", target="-", load=_Plugin)
    write_csv(tmp_path / "t.csv", table())
    with monkeypatch.context() as inside:
        inside.setattr(registry, "_manager", PluginManager([*installed_plugins(), ours]))
        told = ran(
            "evaluate mim:top=2 knn on t.csv --folds 4 --repeats 1 -q -o r.h5 --metric missed "
            "--metric sensitivity:positive=ill"
        )
    assert told.code == 0, told.err
    measured = summarise(fsframe.load_run("r.h5").stages[-1].selection).measures
    assert list(measured) == ["missed", "sensitivity:positive=ill"]
    assert measured["missed"].mean == pytest.approx(1 - measured["sensitivity:positive=ill"].mean)
    # The plugin is gone; what it has measured is not.
    shown = ran("show r.h5")
    line = next(line for line in told.out.splitlines() if line.startswith("missed"))
    assert shown.code == 0 and line in shown.out
