"""Scikit-learn's predictors at the end of a chain, and what is said where they cannot be used."""

from __future__ import annotations

import importlib
import json
import sys
from unittest import mock

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fsframe
from fsframe import Chain, Dataset
from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from fsframe_sklearn.by_name import Ridge, Sklearn, SklearnSelector
from fsframe_sklearn.learners import Importance


def table(n_classes=2, seed=0):
    generator = np.random.default_rng(seed)
    y = np.arange(60) % n_classes
    X = generator.standard_normal((60, 5))
    X[:, 0] += y
    return Dataset.from_arrays(X, y)


def estimator(path, standardize=False, **options):
    return Sklearn(
        estimator=f"sklearn.{path}", options=json.dumps(options), standardize=standardize
    )


NEW = np.random.default_rng(9).standard_normal((20, 5))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_the_estimators_own(n_classes):
    data = table(n_classes)
    scale = StandardScaler().fit(data.X)
    theirs = LogisticRegression(C=0.3).fit(scale.transform(data.X), data.y)
    fitted = estimator("linear_model.LogisticRegression", standardize=True, C=0.3).fit(data)
    assert fitted.predict_scores(NEW) == pytest.approx(theirs.predict_proba(scale.transform(NEW)))


def test_a_column_that_is_constant_but_for_rounding_says_nothing():
    data = table()
    padded = Dataset.from_arrays(np.column_stack([data.X, np.full(60, 0.1)]), data.y)
    path = "neighbors.KNeighborsClassifier"
    expected = estimator(path, standardize=True).fit(data).predict(NEW)
    new = np.column_stack([NEW, np.full(20, 5.0)])
    assert (estimator(path, standardize=True).fit(padded).predict(new) == expected).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_stand_in_for_probabilities(n_classes):
    data = table(n_classes)
    theirs = SVC().fit(data.X, data.y)
    fitted = estimator("svm.SVC").fit(data)
    scores = fitted.predict_scores(NEW)
    assert (fitted.predict(NEW) == theirs.predict(NEW)).all()
    decisions = scores[:, 1] if n_classes == 2 else scores
    assert decisions == pytest.approx(theirs.decision_function(NEW))


def test_a_bare_answer_is_no_probability():
    from fsframe.evaluation.measures import are_probabilities

    fitted = estimator("svm.LinearSVC").fit(table())
    assert not are_probabilities(fitted.predict_scores(NEW))


def test_a_random_estimator_draws_from_the_runs_stream():
    method = estimator("ensemble.RandomForestClassifier", n_estimators=5)
    a, b, c = (method.fit(table(), run=Run(entropy=e)).predict_scores(NEW) for e in (1, 1, 2))
    assert a.tobytes() == b.tobytes() != c.tobytes()
    fixed = estimator("ensemble.RandomForestClassifier", n_estimators=5, random_state=4)
    theirs = RandomForestClassifier(5, random_state=4).fit(table().X, table().y)
    assert fixed.fit(table(), seed=77).predict_scores(NEW) == pytest.approx(
        theirs.predict_proba(NEW)
    )


def test_rows_drawn_twice_are_copied():
    data = table()
    counts = np.random.default_rng(0).integers(0, 3, 60)
    method = estimator("naive_bayes.GaussianNB")
    copied = data.take_rows(np.repeat(np.arange(60), counts))
    ours = method.fit(data.with_counts(counts)).predict_scores(NEW)
    assert ours == pytest.approx(method.fit(copied).predict_scores(NEW))


def test_a_class_without_training_rows_is_never_predicted():
    data = table(3)
    counts = (data.y != 1).astype(np.int64)
    for path in ("naive_bayes.GaussianNB", "svm.SVC", "linear_model.RidgeClassifier"):
        fitted = estimator(path).fit(data.with_counts(counts))
        scores = fitted.predict_scores(NEW)
        assert scores.shape == (20, 3) and (scores.argmax(axis=1) != 1).all()
        assert (fitted.predict(NEW) == scores.argmax(axis=1)).all()


def test_only_the_kept_columns_reach_it():
    data = table()
    chain = Chain.parse("anova-f:top=2 sklearn:estimator=sklearn.naive_bayes.GaussianNB")
    kept = np.sort(Chain.parse("anova-f:top=2").select(data).selected)
    alone = estimator("naive_bayes.GaussianNB").fit(data.take_columns(kept))
    assert chain.fit(data).predict_scores(NEW) == pytest.approx(alone.predict_scores(NEW[:, kept]))


def test_missing_values_go_where_the_estimator_takes_them():
    data = table()
    X = data.X.copy()
    X[2, 3] = np.nan
    holes = Dataset.from_arrays(X, data.y)
    taken = estimator("ensemble.HistGradientBoostingClassifier", max_iter=2).fit(holes)
    assert taken.predict(NEW).shape == (20,)
    with pytest.raises(DataError, match="NaN"):
        estimator("naive_bayes.GaussianNB").fit(holes)
    with pytest.raises(DataError, match="cannot predict"):
        estimator("naive_bayes.GaussianNB").fit(data).predict(X)


def test_every_classifier_that_scikit_learn_lists_can_be_named():
    from sklearn.utils import all_estimators

    from fsframe_sklearn.estimators import find_estimator

    listed = all_estimators("classifier")
    assert len(listed) > 30
    for name, found in listed:
        public = ".".join(found.__module__.split(".")[:2])
        assert find_estimator(f"{public}.{name}") is found


@pytest.mark.parametrize(
    "name",
    [
        "evilmod.Boom",
        "evilmod:Boom",
        "sklearn.evilmod.Boom",
        "sklearn.svm.evilmod.Boom",
        "sklearn..evilmod.Boom",
        ".evilmod.Boom",
        "sklearn.svm._base.os",
        "sklearn.utils.os",
        "sklearn.show_versions.x",
        "os.system",
        "sklearn.cluster.KMeans",
        "sklearn.conftest.Boom",
    ],
)
def test_a_name_that_is_not_scikit_learns_own_imports_nothing(name, monkeypatch):
    asked = mock.Mock(side_effect=importlib.import_module)
    monkeypatch.setattr("fsframe_sklearn.estimators.import_module", asked)
    before = set(sys.modules)
    with pytest.raises(RequestError, match="not one of scikit-learn's own"):
        Sklearn(estimator=name)
    imported = {call.args[0] for call in asked.call_args_list}
    assert all(module.startswith("sklearn") for module in imported)
    # It is in the package, and not among its public modules.
    assert "sklearn.conftest" not in imported
    assert "evilmod" not in {module.partition(".")[0] for module in set(sys.modules) - before}


def test_the_user_allows_a_class_by_its_whole_name(tmp_path, monkeypatch):
    (tmp_path / "own_methods.py").write_text(
        "import numpy as np\n"
        "from sklearn.base import BaseEstimator\n"
        "from sklearn.feature_selection import SelectorMixin\n"
        "from sklearn.tree import DecisionTreeClassifier\n"
        "class Mine(DecisionTreeClassifier): pass\n"
        "class NoClassifier: pass\n"
        "class Second(SelectorMixin, BaseEstimator):\n"
        "    def fit(self, X, y): self.p_ = X.shape[1]; return self\n"
        "    def _get_support_mask(self): return np.arange(self.p_) == 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for refused in (lambda name: Sklearn(estimator=name), lambda name: Importance(of=name)):
        with pytest.raises(RequestError, match=r"FSFRAME_SKLEARN_ALLOW=own_methods\.Mine"):
            refused("own_methods.Mine")
    monkeypatch.setenv("FSFRAME_SKLEARN_ALLOW", "other.Thing, own_methods.Mine,own_methods.Second")
    assert Sklearn(estimator="own_methods.Mine").fit(table()).predict(NEW).shape == (20,)
    for name in ("own_methods.NoClassifier", "own_methods", "other.Thing"):
        with pytest.raises(RequestError):
            Sklearn(estimator=name)
    assert Importance(of="own_methods.Mine").select(table()).selected[0] == 0
    second = SklearnSelector(estimator="own_methods.Second")
    assert second.select(table()).selected.tolist() == [1]
    with pytest.raises(RequestError, match="no scores to rank columns for top"):
        SklearnSelector(estimator="own_methods.Second", top=2).select(table())


def test_copies_that_an_estimator_makes_count_against_the_bound_on_memory():
    from fsframe.chains.stage import shares_of

    data = Dataset.from_arrays(np.zeros((100_000, 30)), np.arange(100_000) % 2)
    base = "mim:top=20 sklearn:estimator=GaussianNB"
    chain = Chain.parse(f"cross-validation:base='{base}',folds=3,repeats=1,all_features=true")
    with pytest.raises(RequestError, match=r"a fit at least 72\.0 MB"):
        shares_of(chain, data, 130_000_000)


# Ridge regression


def numbers(seed: int = 0, n: int = 50, p: int = 6) -> Dataset:
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, p)) * 10.0 ** np.arange(p)
    y = X[:, 0] - X[:, 3] / 500 + generator.standard_normal(n)
    return Dataset.from_arrays(X, y, task="regression")


def test_it_is_scikit_learns_on_standardised_columns():
    data, new = numbers(), numbers(1).X
    scale = StandardScaler().fit(data.X)
    theirs = RidgeCV(np.logspace(-3, 5, 33)).fit(scale.transform(data.X), data.y)
    expected = theirs.predict(scale.transform(new))
    assert Ridge().fit(data).predict(new) == pytest.approx(expected, rel=1e-9)


def test_a_given_penalty_solves_the_normal_equations():
    data = numbers()
    counts = np.random.default_rng(2).integers(0, 3, data.n_samples)
    rows = np.repeat(np.arange(data.n_samples), counts)
    Z = (data.X[rows] - data.X[rows].mean(axis=0)) / data.X[rows].std(axis=0)
    y = data.y[rows] - data.y[rows].mean()
    beta = np.linalg.solve(Z.T @ Z + 7.0 * np.eye(6), Z.T @ y)
    new = (numbers(1).X - data.X[rows].mean(axis=0)) / data.X[rows].std(axis=0)
    result = Ridge(penalty=7.0).fit(data.with_counts(counts)).predict(numbers(1).X)
    assert result == pytest.approx(new @ beta + data.y[rows].mean(), rel=1e-9)


def test_no_copy_of_a_row_helps_to_choose_the_penalty_for_it():
    # Noise: rows left out with their copies ask for a large penalty, copies by themselves do not.
    generator = np.random.default_rng(3)
    data = Dataset.from_arrays(
        generator.standard_normal((30, 25)), generator.standard_normal(30), task="regression"
    )
    drawn = data.with_counts(np.full(30, 4))
    copied = data.take_rows(np.repeat(np.arange(30), 4))
    spread = [np.ptp(Ridge().fit(each).predict(data.X)) for each in (data, drawn, copied)]
    assert spread[1] == pytest.approx(spread[0], rel=0.2)
    assert spread[2] > 2 * spread[0]


def test_it_ends_a_chain_and_is_listed_as_a_regressor():
    data = numbers()
    fitted = Chain.parse("rrelieff:top=2 ridge").fit(data)
    assert np.corrcoef(fitted.predict(data.X), data.y)[0, 1] > 0.9
    assert fsframe.regressors["ridge"] is fsframe.classifiers["ridge"] is Ridge
    assert "knn" not in fsframe.regressors
