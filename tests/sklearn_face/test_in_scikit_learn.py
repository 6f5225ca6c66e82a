"""Inside scikit-learn's own tools: pipelines, searches, columns, folds, frames, workers."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline

from fsframe import Chain, Dataset, FsframeWarning
from fsframe.sklearn import (
    KNN,
    MIM,
    MRMR,
    NPFS,
    ChainClassifier,
    ChainSelector,
    Impute,
    Interactions,
    Margin,
    Sklearn,
    WeightedKNN,
)

pytestmark = pytest.mark.filterwarnings("ignore::fsframe.errors.FsframeWarning")


@pytest.mark.parametrize(
    "made",
    [
        KNN(k=3),
        WeightedKNN(k=5),
        Sklearn(estimator="LogisticRegression"),
        ChainClassifier("mim:top=4 knn:k=3"),
    ],
    ids=str,
)
def test_probabilities_where_a_classifier_declares_them(made, plain) -> None:
    X, y = plain
    names = np.array(["well", "ill"])[np.asarray(y, dtype=int)]
    fitted = made.fit(X[20:], names[20:])
    result = fitted.predict_proba(X[:20])
    assert result.shape == (20, 2) and (result >= 0).all()
    np.testing.assert_allclose(result.sum(axis=1), 1.0)
    np.testing.assert_array_equal(result, fitted.fitted_.predict_scores(X[:20]))
    clear = result[:, 0] != result[:, 1]
    np.testing.assert_array_equal(
        fitted.classes_[result.argmax(axis=1)][clear], fitted.predict(X[:20])[clear]
    )
    scores = cross_val_score(made, X, y, cv=3, scoring="neg_brier_score")
    assert (scores > -0.25).all()


@pytest.mark.parametrize(
    "made",
    [
        Margin(),
        ChainClassifier("immigrate margin"),
        ChainClassifier("mim:top=0 knn"),
        Sklearn(estimator="LinearSVC"),
    ],
    ids=str,
)
def test_no_probabilities_where_none_are_declared(made) -> None:
    assert not hasattr(made, "predict_proba")


def test_a_grid_over_the_stages_of_a_chain(interacting) -> None:
    X, y = interacting
    chain = ChainClassifier("mim:top=8 immigrate:top=8 weighted-knn:k=5")
    grid = {"immigrate__top": [2, 8], "chain__mim__top": [8]}
    with pytest.raises(ValueError, match="chain__mim__top"):
        GridSearchCV(chain, grid, cv=3, error_score="raise").fit(X, y)
    search = GridSearchCV(chain, {"immigrate__top": [2, 8], "mim__top": [8]}, cv=3).fit(X, y)
    assert search.best_estimator_.chain == "mim:top=8 immigrate:top=2 weighted-knn:k=5"


def test_groups_are_routed_to_folds_and_to_the_selector(plain) -> None:
    X, y = plain
    people = np.arange(90) // 3
    npfs = NPFS(base="mim:top=2", n=9, null="published", alpha=0.3)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(npfs.set_fit_request(groups=True), LogisticRegression())
        folds = GroupKFold(3)
        done = cross_validate(
            pipeline, X, y, cv=folds, params={"groups": people}, return_estimator=True
        )
        for (train, _), fitted in zip(folds.split(X, y, people), done["estimator"], strict=True):
            expected = Chain.parse("npfs:base=mim:top=2,n=9,null=published,alpha=0.3").select(
                Dataset.from_arrays(X[train], y[train], groups=people[train])
            )
            np.testing.assert_array_equal(fitted[0].scores_, expected.scores)
        weights = np.arange(90) % 3
        weighted = make_pipeline(
            MRMR(top=3).set_fit_request(sample_weight=True), LogisticRegression()
        )
        weighted[-1].set_fit_request(sample_weight=False)
        weighted.fit(X, y, sample_weight=weights)
        alone = MRMR(top=3).fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(weighted[0].scores_, alone.scores_)


def test_a_frame_comes_out_where_one_is_asked_for(plain, frames) -> None:
    library, (X, y) = frames.__name__, plain
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate("abcdef")})
    selector = MRMR(top=2)
    assert type(selector.fit(frame, y).transform(frame)) is np.ndarray
    selector.set_output(transform=library)
    kept = selector.fit_transform(frame, y)
    assert type(kept) is type(frame) and list(kept.columns) == ["b", "d"]
    assert list(kept.columns) == selector.get_feature_names_out().tolist()
    # The frame's own names, also in what is said of it.
    assert [selector.feature_names_in_[column] for column in selector.ranking_] in (
        ["b", "d"],
        ["d", "b"],
    )
    from_array = selector.fit_transform(X, y)
    assert type(from_array).__module__.startswith(library)
    with pytest.raises(ValueError, match="feature names"):
        selector.fit(frame, y).transform(
            frame.rename({"a": "z"}) if library == "polars" else frame.rename(columns={"a": "z"})
        )


@pytest.mark.filterwarnings("ignore")
def test_a_frame_of_many_kinds_becomes_an_array(frames) -> None:
    library = frames.__name__
    rng = np.random.default_rng(1)
    kind = "category" if library == "pandas" else frames.Categorical
    site = frames.Series(["a", "b", None, "b"] * 20, dtype=kind)
    smoker, age = rng.random(80) < 0.3, rng.standard_normal(80)
    X = frames.DataFrame({"age": age, "site": site, "smoker": smoker})
    y = age > 0
    numbers = MIM(top=1, missing="pairwise").fit(X, y).transform(X)
    assert numbers.dtype == np.float64 and numbers[:, 0].tolist() == age.tolist()
    filled = Impute().fit_transform(X, y)
    assert filled.dtype == object and filled[:4, 1].tolist() == ["a", "b", "b", "b"]
    assert filled[:, [0, 2]].tolist() == [[a, s] for a, s in zip(age, smoker, strict=True)]
    pipeline = make_pipeline(MIM(top=1, missing="pairwise"), LogisticRegression())
    assert pipeline.fit(X, y).score(X, y) > 0.9
    noise = rng.permutation(y)
    nothing = ChainSelector("impute:method=neighbours anova-f:alpha=1e-9").fit(X, noise)
    assert nothing.transform(X).shape == (80, 0)
    assert nothing.set_output(transform=library).transform(X).shape[1] == 0


def test_names_of_a_frame_serve_as_parameters(plain) -> None:
    X, y = plain
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    fitted = MRMR(top=2, given=["f"], exclude=["b"]).fit(frame, y)
    assert fitted.get_feature_names_out().tolist()[-1] == "f"
    assert "b" not in fitted.get_feature_names_out()
    assert MRMR(top=1, exclude=["x1"]).fit(X, y).ranking_.tolist() == [3]


def test_nothing_kept_is_reported() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((40, 4)), np.arange(40) % 2
    selector = Interactions(alpha=1e-6)
    with pytest.warns(FsframeWarning) as told:
        kept = selector.fit(X, y).transform(X)
    assert kept.shape == (40, 0)
    assert any("No features were selected" in str(w.message) for w in told)
