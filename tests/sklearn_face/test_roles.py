"""Parts of columns and rows in estimators: as on the command line, honoured or refused by name."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from typing import Any

import numpy as np
import pandas
import polars
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline

import fsframe
from fsframe.chains.chain import Chain
from fsframe.sklearn import (
    KNN,
    MIM,
    MRMR,
    NPFS,
    AnovaF,
    ChainClassifier,
    ChainRegressor,
    ChainSelector,
    Immigrate,
    Interactions,
    Lasso,
    ReliefF,
)

pytestmark = pytest.mark.filterwarnings("ignore::fsframe.errors.FsframeWarning")


@pytest.fixture(scope="module")
def frame() -> pandas.DataFrame:
    """90 rows: `a` and the label follow `site`; `b` tells the label, `d` is a copy of it."""
    draw = np.random.default_rng(3)
    site = np.arange(90) % 3
    y = (draw.random(90) < 0.2 + 0.3 * site).astype(int)
    table = pandas.DataFrame(draw.normal(size=(90, 5)), columns=list("abcde"))
    table["a"] += site
    table["b"] += 1.5 * y
    table["d"] = table["b"] + 0.01 * table["d"]
    table["site"] = pandas.Categorical([f"s{code}" for code in site])
    table["day"] = draw.permutation(90).astype(float)
    table["y"] = y
    return table


@pytest.fixture(scope="module")
def X(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame[list("abcde")]


def test_columns_always_kept_are_those_of_the_command_line(frame, X) -> None:
    data = fsframe.read(frame[[*"abcde", "y"]], keep=["c"])
    for given in (["c"], "c", 2, np.array([2])):
        fitted = MRMR(top=2, always_keep=given).fit(X, frame["y"])
        expected = Chain.parse("mrmr:top=2").run(data)
        assert [X.columns[k] for k in fitted.ranking_] == list(expected.selected_names)
        assert np.array_equal(fitted.scores_, expected.stages[-1].selection.scores, equal_nan=True)
    assert "c" in fitted.get_feature_names_out()
    # Immigrate and Interactions have a parameter `keep` of their own.
    assert Immigrate(top=1, always_keep=[4]).fit(X, frame["y"]).get_support()[4]
    assert clone(fitted).always_keep.tolist() == [2]


def test_features_go_together_by_name_or_position(frame, X) -> None:
    for sets in ({"scale": ["b", "e"]}, {"scale": [1, 4]}):
        fitted = MIM(top=1, feature_groups=sets).fit(X, frame["y"])
        assert set(fitted.get_feature_names_out()) in ({"b", "e"}, {"d"})
        chained = ChainSelector("mim:top=1", feature_groups=sets).fit(X, frame["y"])
        assert np.array_equal(chained.ranking_, fitted.ranking_)


def test_covariates_stand_beside_the_features(frame, X) -> None:
    data = fsframe.read(frame[[*"abcde", "site", "y"]], adjust="site")
    expected = Chain.parse("mim").run(data).stages[-1].selection.scores
    for given in (frame[["site"]], frame["site"], frame["site"].astype(str).to_numpy()):
        fitted = MIM().fit(X, frame["y"], adjust=given)
        assert np.array_equal(fitted.scores_, expected)
    assert not np.array_equal(MIM().fit(X, frame["y"]).scores_, expected)


def test_times_and_groups_reach_what_resamples(frame, X) -> None:
    groups = (frame["day"] // 3).to_numpy()
    chain = "mim:top=2 npfs:n=8,permutations=19,permuted_n=2,alpha=0.3"
    data = fsframe.read(frame[[*"abcde", "day", "y"]], time="day")
    expected = Chain.parse(chain).run(data, seed=0).stages[-1].selection
    fitted = ChainSelector(chain).fit(X, frame["y"], times=frame["day"])
    assert np.array_equal(fitted.selection_.scores, expected.scores, equal_nan=True)
    day = np.datetime64("2024-01-01") + frame["day"].to_numpy().astype(int)
    dated = ChainSelector(chain).fit(X, frame["y"], times=day)
    assert np.array_equal(dated.selection_.scores, expected.scores, equal_nan=True)
    both = NPFS(base="mim:top=2", n=8, permutations=19, permuted_n=2, alpha=0.3)
    both.fit(X, frame["y"], times=frame["day"], groups=groups)
    assert not np.array_equal(both.scores_, fitted.selection_.scores)


def test_metadata_are_cut_to_the_rows_of_each_fold(frame, X) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        selector = ChainSelector("mim:top=2").set_fit_request(adjust=True, times=True)
        pipeline = make_pipeline(selector, LogisticRegression())
        folds = KFold(3)
        params = {"adjust": frame[["site"]], "times": frame["day"]}
        result = cross_validate(
            pipeline, X, frame["y"], cv=folds, params=params, return_estimator=True
        )
        classifier = ChainClassifier("mim:top=2 knn").set_fit_request(adjust=True)
        assert cross_val_score(
            classifier, X, frame["y"], cv=folds, params={"adjust": frame["site"]}
        ).shape == (3,)
    for (train, _), fitted in zip(folds.split(X), result["estimator"], strict=True):
        alone = MIM(top=2).fit(X.iloc[train], frame["y"].iloc[train], adjust=frame["site"][train])
        assert np.array_equal(fitted[0].scores_, alone.scores_)


@pytest.mark.parametrize(
    ("made", "roles", "says"),
    [
        (ReliefF(), {"adjust": "site"}, "relieff cannot adjust for"),
        (Lasso(), {"times": "day"}, "lasso cannot keep the order"),
        (NPFS(base="mim", null="published", always_keep="a"), {}, "null=published compares"),
        (ChainClassifier("relieff knn"), {"adjust": "site"}, "relieff cannot adjust for"),
        (ChainRegressor("rrelieff knn"), {"adjust": "site"}, "rrelieff cannot adjust for"),
        (MIM(always_keep=["aa"]), {}, "no column 'aa'. Did you mean `a`"),
        (MIM(always_keep=[9]), {}, "no column number 10"),
        (MIM(always_keep=[True]), {}, "not True"),
        (MIM(always_keep=list("abcde")), {}, "all columns are always kept"),
        (MIM(feature_groups=["a"]), {}, "must be a mapping"),
        (MIM(feature_groups={"p": ["a"], "q": ["a"]}), {}, "two groups: 'a'"),
        (MIM(), {"times": "five days"}, "times must have a value"),
        (MIM(), {"times": "site"}, "numbers or dates"),
        (MIM(), {"adjust": "five days"}, "adjust must have a value"),
        (
            ChainSelector(["mim", MIM(always_keep=np.array([0]))]),
            {},
            "set always_keep on the estimator",
        ),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(
    frame, X, made: Any, roles: dict[str, str], says: str
) -> None:
    site, day = frame["site"].astype(str), frame["day"]
    given = {"site": site, "day": day, "five days": day[:5]}
    y = day if isinstance(made, ChainRegressor) else frame["y"]
    with pytest.raises(ValueError, match=says):
        made.fit(X, y, **{role: given[what] for role, what in roles.items()})


@pytest.mark.parametrize(
    ("library", "name", "cells", "says"),
    [
        (pandas, "drug", ["yes", "no"] * 10, "column 'drug' holds text, such as 'yes'; make it"),
        (polars, "dose", ["3 mg"] * 20, "column 'dose' holds text, such as '3 mg'"),
        (pandas, "day", [datetime(2020, 1, 1)] * 20, "column 'day' holds times"),
        (pandas, "wait", [timedelta(days=1)] * 20, "column 'wait' holds durations"),
        (polars, "day", [datetime(2020, 1, 1)] * 20, "column 'day' holds times"),
        (polars, "wait", [timedelta(days=1)] * 20, "column 'wait' holds durations"),
        (polars, "hour", [time(14, 30)] * 20, "column 'hour' holds times"),
    ],
)
def test_a_column_that_cannot_be_used_is_named(library: Any, name: str, cells: Any, says: str):
    made = library.DataFrame({"x": np.arange(20.0), name: cells})
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match=re.escape(says)):
        AnovaF(top=1).fit(made, y)
    numbers = type(made)({"x": np.arange(20.0), name: np.arange(20.0)})
    fitted = KNN().fit(numbers, y)
    with pytest.raises(ValueError, match=re.escape(says)):
        fitted.predict(made)


def test_columns_of_one_name_are_named() -> None:
    twice = pandas.DataFrame(np.eye(4), columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match="several columns called 'a'"):
        AnovaF(top=1).fit(twice, [0, 1, 0, 1])


def test_a_run_hands_its_roles_to_the_estimator(frame, X) -> None:
    data = fsframe.read(frame[[*"abcde", "y"]], keep=["c"], feature_groups={"scale": ["b", "e"]})
    made = Chain.parse("mim:top=1").run(data).to_sklearn()
    assert made.always_keep == ["c"] and list(made.feature_groups) == ["scale"]
    again = clone(made).fit(X, frame["y"])
    assert np.array_equal(again.get_support(), made.get_support())


def test_an_estimator_of_a_run_says_which_roles_of_rows_fit_needs(frame) -> None:
    table = frame[[*"abcde", "y", "site"]].astype({"site": str})
    result = fsframe.select("mim:top=1", table, label="y", adjust="site")
    with pytest.warns(fsframe.sklearn.FsframeWarning, match="arguments of `fit`: adjust=$"):
        made = result.to_sklearn()
    again = made.fit(table[[*"abcde"]], table["y"], adjust=table["site"])
    assert np.array_equal(again.scores_, result.scores)
    grouped = fsframe.evaluate("mim:top=1 knn", table, label="y", groups="site", folds=2)
    with pytest.warns(fsframe.sklearn.FsframeWarning, match="arguments of `fit`: groups=$"):
        grouped.to_sklearn()


def test_a_method_with_keep_of_its_own_has_both() -> None:
    assert {"keep", "always_keep"} <= set(Interactions().get_params())
