"""Measures of predictions against scikit-learn's, and where they are not defined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from fsframe.evaluation.measures import Accuracy, Auc, BalancedAccuracy, LogLoss
from fsframe.evaluation.summary import agreement
from fsframe.method.classifier import Predictions


def log_loss(y, scores):
    return LogLoss()(Predictions(truth=y, predicted=y, scores=scores))


def drawn(seed, n_classes, n=40, coarse=False):
    """Labels with every class present, and probabilities for them."""
    generator = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), generator.integers(0, n_classes, n - n_classes)])
    scores = generator.random((n, n_classes))
    if coarse:  # Many ties.
        scores = np.round(scores * 3) + 1
    return y, scores / scores.sum(axis=1, keepdims=True)


@given(st.integers(0, 2**32), st.integers(2, 4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_measures_are_those_of_scikit_learn(seed, n_classes, coarse):
    y, scores = drawn(seed, n_classes, coarse=coarse)
    predicted = scores.argmax(axis=1)
    assert Accuracy.of(y, predicted) == pytest.approx(metrics.accuracy_score(y, predicted))
    assert BalancedAccuracy.of(y, predicted) == pytest.approx(
        metrics.balanced_accuracy_score(y, predicted)
    )
    assert log_loss(y, scores) == pytest.approx(metrics.log_loss(y, scores), rel=1e-12)
    theirs = (
        metrics.roc_auc_score(y, scores[:, 1])
        if n_classes == 2
        else metrics.roc_auc_score(y, scores, multi_class="ovo", average="macro")
    )
    assert Auc.of(y, scores) == pytest.approx(theirs, rel=1e-9)


def test_wrong_certainty_costs_as_much_as_in_scikit_learn():
    y, scores = np.array([0, 1]), np.array([[0.0, 1.0], [0.0, 1.0]])
    assert log_loss(y, scores) == pytest.approx(metrics.log_loss(y, scores), rel=1e-12)
    assert log_loss(y, scores) == pytest.approx(-np.log(2.0**-52) / 2)


def test_auc_by_hand():
    # Pairs (positive, negative): 0.9 and 0.4 against 0.5 and 0.4: 1 + 1 + 0 + ½ of 4.
    y = np.array([1, 1, 0, 0])
    high = np.array([0.9, 0.4, 0.5, 0.4])
    assert Auc.of(y, np.column_stack([1 - high, high])) == 2.5 / 4


def test_auc_does_not_change_with_a_monotone_scale():
    y, scores = drawn(1, 2)
    odds = np.log(scores)
    assert Auc.of(y, odds) == pytest.approx(Auc.of(y, scores), rel=1e-12)


def test_auc_is_undefined_for_one_class_and_log_loss_for_no_probabilities():
    assert np.isnan(Auc.of(np.zeros(3, dtype=int), np.ones((3, 2))))
    y = np.array([0, 1])
    assert np.isnan(log_loss(y, np.array([[-0.5, 1.5], [0.5, 0.5]])))
    assert np.isnan(log_loss(y, np.array([[0.5, 0.4], [0.5, 0.5]])))
    assert np.isnan(log_loss(y, np.array([[np.nan, 1.0], [0.5, 0.5]])))


def test_balanced_accuracy_counts_classes_not_rows():
    y, predicted = np.array([0] * 9 + [1]), np.zeros(10, dtype=int)
    assert Accuracy.of(y, predicted) == 0.9 and BalancedAccuracy.of(y, predicted) == 0.5


def test_areas_of_many_classes_have_the_bits_of_ranks_pair_by_pair():
    from fsframe.evaluation.measures import _area

    rng = np.random.default_rng(5)
    for n_classes in (3, 4, 9):
        y = rng.permutation(np.arange(60) % n_classes)
        scores = rng.integers(6, size=(60, n_classes)) / 5.0
        areas = []
        for a in range(n_classes):
            for b in range(n_classes):
                rows = (y == a) | (y == b)
                areas += [_area(scores[rows, a], y[rows] == a)] if a != b else []
        assert Auc.of(y, scores) == float(np.mean(areas))
        scores[0, 0] = np.nan
        assert np.isnan(Auc.of(y, scores))


def test_a_thousand_classes_take_no_million_sorts():
    y = np.arange(3000) % 1000
    assert Auc.of(y, np.eye(1000)[y]) == 1.0


def test_agreement_is_the_chance_that_two_repetitions_say_the_same():
    rng = np.random.default_rng(0)
    predicted = rng.integers(-1, 3, size=(7, 30))
    predicted[:, :4] = [2, 0, 1, -1]
    found = agreement(predicted, 3)
    chances, always = [], 0
    for column in predicted.T:
        said = column[column >= 0]
        pairs = [a == b for k, a in enumerate(said) for b in said[:k]]
        if pairs:
            chances.append(np.mean(pairs))
            always += all(pairs)
    assert found.share == pytest.approx(np.mean(chances))
    assert (found.n_rows, found.n_always) == (len(chances), always)
    assert agreement(predicted[:1], 3) is None
