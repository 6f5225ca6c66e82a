"""Each stage beside scikit-learn's own result on three real tables, and paths of the lasso."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFromModel,
    SelectKBest,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_regression,
)
from sklearn.inspection import permutation_importance
from sklearn.linear_model import ElasticNet as TheirElasticNet
from sklearn.linear_model import Lasso as TheirLasso
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_filters.columns import Correlation, Variance
from fsframe_sklearn.boruta import Boruta
from fsframe_sklearn.by_name import SklearnSelector
from fsframe_sklearn.elimination import Rfe, Rfecv, Sequential
from fsframe_sklearn.estimators import make_folds
from fsframe_sklearn.learners import Importance
from fsframe_sklearn.penalised import ElasticNet, Lasso
from tests.grids import slow

from .conftest import real_table


def scaled(data):
    return StandardScaler().fit_transform(data.X)


def linear(data):
    """An estimator of the task that is fitted in closed form, and its name."""
    return (
        (Ridge(), "Ridge") if data.task == "regression" else (RidgeClassifier(), "RidgeClassifier")
    )


def splits_of(data, folds):
    """The folds that a stage deals with seed 0."""
    unit = np.arange(data.n_samples)
    return make_folds(data, data.y, unit, folds, Run().generator(1), "test")


def test_univariate_selectors(real):
    options = {"score_func": "f_regression"} if real.task == "regression" else {}
    functions = {"score_func": f_regression} if options else {}
    theirs = SelectKBest(k=4, **functions).fit(real.X, real.y)
    ours = SklearnSelector(estimator="SelectKBest", options=json.dumps({"k": 4, **options})).select(
        real
    )
    assert sorted(ours.selected) == theirs.get_support(indices=True).tolist()
    assert ours.scores == pytest.approx(theirs.scores_)
    assert ours.tables["pvalues"] == pytest.approx(theirs.pvalues_)
    top = SklearnSelector(estimator="SelectKBest", options=json.dumps(options), top=4).select(real)
    assert top.selected.tolist() == ours.selected.tolist()


def test_a_selector_around_an_estimator(real):
    estimator, name = linear(real)
    theirs = SelectFromModel(estimator).fit(real.X, real.y)
    ours = SklearnSelector(
        estimator="SelectFromModel", options=json.dumps({"estimator": [name, {"alpha": 1.0}]})
    ).select(real)
    assert sorted(ours.selected) == theirs.get_support(indices=True).tolist()
    options = json.dumps({"estimator": name})
    best = SklearnSelector(estimator="SelectFromModel", options=options, top=3).select(real)
    assert best.selected.tolist() == np.argsort(-ours.scores)[:3].tolist()


def test_coefficients_and_forests_as_select_from_model_keeps_them(real):
    estimator, name = linear(real)
    theirs = SelectFromModel(estimator).fit(scaled(real), real.y)
    ours = Importance(of=name).select(real)
    assert sorted(ours.selected) == theirs.get_support(indices=True).tolist()
    assert ours.model["coef"] == pytest.approx(np.atleast_2d(theirs.estimator_.coef_))
    forest = RandomForestRegressor if real.task == "regression" else RandomForestClassifier
    theirs = SelectFromModel(forest(n_estimators=15, random_state=4)).fit(real.X, real.y)
    options = json.dumps({"n_estimators": 15, "random_state": 4})
    ours = Importance(options=options, standardize=False).select(real)
    assert ours.scores == pytest.approx(theirs.estimator_.feature_importances_)
    assert sorted(ours.selected) == theirs.get_support(indices=True).tolist()


def test_permutation_on_held_out_rows(real):
    estimator, name = linear(real)
    stage = Importance(of=name, measure="held-out", folds=2, repeats=2)
    losses = []
    for fold, (train, test) in enumerate(splits_of(real, 2)):
        fitted = make_pipeline(StandardScaler(), estimator).fit(real.X[train], real.y[train])
        result = permutation_importance(
            fitted, real.X[test], real.y[test], n_repeats=2, random_state=stage.seed(Run(), 2, fold)
        )
        losses.append(result.importances_mean)
    ours = stage.select(real)
    assert ours.scores == pytest.approx(np.mean(losses, axis=0))
    assert ours.scores.max() > 0.08


@pytest.mark.parametrize("step", [1, 4])
def test_recursive_elimination_keeps_what_rfe_keeps_for_every_number(real, step):
    machine, y = SVC(kernel="linear"), real.y
    if real.task == "regression":
        machine, y = SVR(kernel="linear"), y / y.std()
    ours = Rfe(step=step).select(real)
    order = np.argsort(-ours.scores)
    for k in (1, 5, real.n_features // 2):
        theirs = RFE(machine, n_features_to_select=k, step=step).fit(scaled(real), y)
        assert sorted(order[:k]) == theirs.get_support(indices=True).tolist(), k
    assert ours.selected.size == real.n_features // 2


def test_recursive_elimination_with_cross_validation(real):
    real = real.take_columns(np.arange(10))
    estimator, name = linear(real)
    theirs = RFECV(estimator, cv=splits_of(real, 3)).fit(real.X, real.y)
    ours = Rfecv(of=name, folds=3, standardize=False).select(real)
    assert sorted(ours.selected) == theirs.get_support(indices=True).tolist()
    assert ours.tables["sizes"].tolist() == list(range(1, real.n_features + 1))
    assert ours.tables["curve"].mean(axis=0) == pytest.approx(theirs.cv_results_["mean_test_score"])


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_sequential_search(direction):
    # Of three classes and of numbers; the search goes by the estimator's score alone.
    for name in ("wine", "diabetes"):
        data = real_table(name).take_columns(np.arange(5))
        estimator, spelled = linear(data)
        options = {"of": spelled, "folds": 2, "direction": direction, "standardize": False}
        ours = Sequential(top=2, **options).select(data)
        theirs = SequentialFeatureSelector(
            estimator, n_features_to_select=2, direction=direction, cv=splits_of(data, 2)
        ).fit(data.X, data.y)
        assert sorted(ours.selected) == theirs.get_support(indices=True).tolist()
        if direction == "forward" and name == "diabetes":
            theirs = SequentialFeatureSelector(estimator, tol=0.01, cv=splits_of(data, 2))
            kept = theirs.fit(data.X, data.y).get_support(indices=True).tolist()
            assert sorted(Sequential(tol=0.01, **options).select(data).selected) == kept


def test_linear_paths_are_those_of_single_fits():
    data = real_table("diabetes")
    X, unit = scaled(data), data.y.std()
    for ours, theirs in (
        (Lasso(top=1.0, penalties=12), lambda a: TheirLasso(alpha=a, tol=1e-9)),
        (ElasticNet(top=1.0, penalties=12), lambda a: TheirElasticNet(alpha=a, tol=1e-9)),
    ):
        selection = ours.select(data)
        for penalty, coef in zip(
            selection.tables["penalties"], selection.tables["path"], strict=True
        ):
            expected = theirs(penalty / unit).fit(X, data.y / unit).coef_ * unit
            assert coef[0] == pytest.approx(expected, abs=1e-4)
        assert (selection.tables["path"][0] == 0).all() and (selection.tables["path"][1] != 0).any()


@pytest.mark.parametrize(
    "method",
    [ElasticNet(penalties=12, folds=3), ElasticNet(penalties=12, top=4), Rfe(step=3)],
    ids=["elastic-net", "elastic-net top", "rfe"],
)
def test_what_is_kept_does_not_depend_on_the_unit_of_the_target(method):
    data = real_table("diabetes")
    one, other = (method.select(data.with_labels(data.y / unit)) for unit in (1, 2**20))
    assert one.selected.tolist() == other.selected.tolist() and (one.scores == other.scores).all()


@pytest.mark.parametrize("turn", [lambda y: y * 2.0**-40, lambda y: y + 2.0**30], ids=["unit", "0"])
def test_forests_see_targets_in_a_small_unit_and_far_from_0(turn):
    X = np.random.default_rng(0).normal(size=(60, 4))
    data = Dataset.from_arrays(X, np.round((X[:, 2] + X[:, 3]) * 2**16) / 2**20, task="regression")
    options = '{"n_estimators": 10}'
    for method in (Importance(options=options), Boruta(trees=20, max_runs=8, alpha=0.3)):
        expected, turned = method.select(data), method.select(data.with_labels(turn(data.y)))
        assert turned.selected.tolist() == expected.selected.tolist()
        assert turned.scores == pytest.approx(expected.scores, abs=0.05)


def many_rows(rows: int, seed: int) -> Dataset:
    """Of two of three such tables a path did not converge once: a step of the last digits seemed
    to raise the objective, and was halved until it was lost."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 10))
    return Dataset.from_arrays(X, X[:, :3].sum(axis=1) + 2 * rng.normal(size=rows) > 0)


@pytest.mark.parametrize("method", [Lasso, ElasticNet])
@pytest.mark.parametrize(
    "data",
    [real_table("cancer"), real_table("wine"),
     *(many_rows(rows, seed) for rows in (500, 2000) for seed in range(2)),
     *(slow(many_rows(rows, seed)) for rows in (500, 2000) for seed in range(2, 5))],
    ids=lambda data: f"{data.name} {data.n_samples}",
)  # fmt: skip
def test_logistic_paths_satisfy_the_conditions_of_their_optimum(data, method):
    X = scaled(data)
    selection = method(top=1.0, penalties=20, smallest=0.05).select(data)
    assert not any("converge" in text for text in selection.warnings)
    share = 1.0 if method is Lasso else 0.5
    model, code = (0, 1) if data.n_classes == 2 else (2, 2)
    truth = (data.y == code).astype(float)
    for penalty, coef in zip(selection.tables["penalties"], selection.tables["path"], strict=True):
        beta = coef[model]
        # The intercept is not penalised: the chances have the mean of the classes.
        raw = X @ beta
        for _ in range(50):
            chance = 1 / (1 + np.exp(-raw))
            raw = raw + (truth - chance).mean() / (chance * (1 - chance)).mean()
        gradient = X.T @ (truth - 1 / (1 + np.exp(-raw))) / len(X) - penalty * (1 - share) * beta
        inside, slack = beta != 0, 1e-7
        apart = gradient[inside] - penalty * share * np.sign(beta[inside])
        assert np.abs(apart).max(initial=0.0) < slack
        assert np.abs(gradient[~inside]).max(initial=0.0) < penalty * share + slack


def test_a_score_by_coefficient_is_that_of_the_chosen_penalty():
    data = real_table("cancer")
    entry = Lasso(penalties=15, folds=3).select(data, seed=2)
    size = Lasso(penalties=15, folds=3, score_by="coefficient").select(data, seed=2)
    assert sorted(size.selected) == sorted(entry.selected)
    inside = np.flatnonzero(size.scores)
    assert sorted(size.selected) == inside.tolist()
    assert size.scores == pytest.approx(np.abs(entry.model["coef"]).max(axis=0))
    assert (np.diff(size.scores[size.selected]) <= 0).all()


def test_the_penalty_chosen_is_that_of_the_least_loss():
    data = real_table("diabetes")
    selection = Lasso(penalties=15, folds=4).select(data)
    losses = []
    for train, test in splits_of(data, 4):
        paths = [make_pipeline(StandardScaler(), TheirLasso(alpha=penalty, tol=1e-8))
                 for penalty in selection.tables["penalties"]]  # fmt: skip
        fits = [path.fit(data.X[train], data.y[train]).predict(data.X[test]) for path in paths]
        losses.append([np.mean((data.y[test] - fit) ** 2) for fit in fits])
    assert selection.tables["loss"] == pytest.approx(np.array(losses), rel=1e-4)
    best = int(np.mean(losses, axis=0).argmin())
    kept = np.flatnonzero(selection.tables["path"][best, 0])
    assert sorted(selection.selected) == kept.tolist()
    simple = Lasso(penalties=15, folds=4, rule="one-se").select(data)
    assert set(simple.selected) < set(selection.selected)


def test_variances(real):
    threshold = float(np.median(real.X.var(axis=0))) * (1 - 1e-9)
    theirs = VarianceThreshold(threshold).fit(real.X)
    ours = Variance(threshold=threshold).select(real)
    assert sorted(ours.selected) == theirs.get_support(indices=True).tolist()
    assert ours.scores == pytest.approx(theirs.variances_)


def test_the_variance_of_levels_is_half_the_chance_that_two_rows_differ():
    X = [[0, 0], [10, 1], [10, 0], [25, 1]]
    data = Dataset.from_arrays(X, [0, 1, 0, 1], categorical=[0, 1])
    # Levels in shares of 1/4, 1/2, 1/4; of two halves it is the variance of 0 and 1.
    assert Variance().select(data).scores == pytest.approx([(1 - 3 / 8) / 2, 1 / 4])


@pytest.mark.parametrize("clusters", ["complete", "average", "single"])
def test_clusters(real, clusters):
    distance = 1 - np.abs(np.corrcoef(real.X.T))
    theirs = AgglomerativeClustering(
        None, metric="precomputed", linkage=clusters, distance_threshold=0.3
    ).fit_predict(distance)
    ours = Correlation(threshold=0.7, clusters=clusters).select(real)
    cluster = ours.tables["cluster"]
    assert ours.selected.size == theirs.max() + 1 < real.n_features
    assert (np.equal.outer(cluster, cluster) == np.equal.outer(theirs, theirs)).all()


def test_a_cluster_keeps_the_column_most_related_to_a_target():
    data = real_table("diabetes")
    selection = Correlation(threshold=0.5).select(data)
    strength = [abs(np.corrcoef(column, data.y)[0, 1]) for column in data.X.T]
    assert selection.scores == pytest.approx(strength)
    for column, stand in enumerate(selection.tables["stands-for"]):
        assert strength[stand] >= strength[column] - 1e-12


def test_the_page_says_how_long_paths_take_beside_liblinear():
    root = Path(__file__).parents[3]
    with (root / "benchmarks/sklearn_stages/results/paths.csv").open(encoding="utf-8") as file:
        shares = [float(row["lasso"]) / float(row["liblinear"]) for row in csv.DictReader(file)]
    page = " ".join((root / "docs/methods/sklearn.md").read_text(encoding="utf-8").split())
    assert max(shares) < 0.5 and "in less than half of liblinear's time" in page
