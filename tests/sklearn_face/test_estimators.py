"""Estimators of methods: what they find, take, refuse and show."""

from __future__ import annotations

import copy
import inspect

import attrs
import numpy as np
import pandas
import pytest
from scipy.stats import false_discovery_control
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags

import fsframe.sklearn
from fsframe import Chain, DataError, Dataset, FsframeWarning, RequestError, selectors
from fsframe.method.selection import Pair, Selection
from fsframe.params import param, real
from fsframe.sklearn import (
    KNN,
    LOGO,
    MIM,
    MRMR,
    NPFS,
    AnovaF,
    ChainClassifier,
    ChainRegressor,
    ChainSelector,
    Immigrate,
    Interactions,
    ReliefF,
    RReliefF,
    WeightedKNN,
    class_name,
    estimator,
    offered_names,
)
from fsframe.sklearn.estimators import iterations, pair_values

pytestmark = pytest.mark.filterwarnings("ignore::fsframe.errors.FsframeWarning")


# What it finds


@pytest.mark.parametrize(
    ("made", "chain"),
    [
        (MRMR(top=3), "mrmr:top=3"),
        (ReliefF(k=5, m=40, top=3, random_state=4), "relieff:k=5,m=40,top=3"),
        (NPFS(base="mim:top=2", n=9, null="published"), "npfs:base=mim:top=2,n=9,null=published"),
    ],
)
def test_a_fit_finds_what_the_chain_of_that_stage_finds(plain, made, chain) -> None:
    X, y = plain
    data = Dataset.from_arrays(X, y)
    expected = Chain.parse(chain).select(data, seed=made.random_state)
    fitted = made.fit(X, y)
    assert fitted.ranking_.tolist() == expected.selected.tolist()
    np.testing.assert_array_equal(fitted.scores_, expected.scores)
    assert np.flatnonzero(fitted.get_support()).tolist() == sorted(expected.selected.tolist())
    np.testing.assert_array_equal(fitted.transform(X), X[:, fitted.get_support()])


def test_another_random_state_draws_other_rows_and_threads_change_nothing(plain) -> None:
    X, y = plain
    drawn = ReliefF(m=10)
    first = drawn.fit(X, y).scores_
    np.testing.assert_array_equal(clone(drawn).set_params(n_jobs=2).fit(X, y).scores_, first)
    assert not np.array_equal(clone(drawn).set_params(random_state=1).fit(X, y).scores_, first)
    states = [np.random.RandomState(3), np.random.default_rng(3)]
    for state in states:
        again = [clone(drawn).set_params(random_state=copy.deepcopy(state)).fit(X, y) for _ in "ab"]
        np.testing.assert_array_equal(again[0].scores_, again[1].scores_)


def test_a_classifier_predicts_what_the_method_predicts(interacting) -> None:
    X, y = interacting
    labels = np.array(["ill", "well"])[y]
    made = WeightedKNN(k=5).fit(X[:80], labels[:80])
    fitted = fsframe.classifiers["weighted-knn"](k=5).fit(Dataset.from_arrays(X[:80], y[:80]))
    assert made.classes_.tolist() == ["ill", "well"]
    assert (
        made.predict(X[80:]).tolist() == np.array(["ill", "well"])[fitted.predict(X[80:])].tolist()
    )
    scores = fitted.predict_scores(X[80:])
    np.testing.assert_array_equal(made.decision_function(X[80:]), scores[:, 1] - scores[:, 0])


def test_pairs_and_p_values_are_there_where_the_method_gives_them(interacting) -> None:
    X, y = interacting
    fitted = Immigrate().fit(X, y)
    assert fitted.pairs_ == fitted.selection_.pair_weights.top() and len(fitted.pairs_) > 1
    assert not hasattr(fitted, "pvalues_") and fitted.n_iter_ > 1
    tested = AnovaF(top=2).fit(X, y)
    np.testing.assert_array_equal(tested.pvalues_, tested.selection_.tables["p_values"])
    np.testing.assert_allclose(tested.qvalues_, false_discovery_control(tested.pvalues_))
    assert not hasattr(tested, "pairs_")
    permuted = ReliefF(permutations=19).fit(X, y)
    assert permuted.pvalues_.min() == pytest.approx(1 / 20)
    assert (permuted.qvalues_ >= permuted.pvalues_).all()


def test_values_of_a_test_of_pairs_stand_beside_the_pairs(interacting) -> None:
    X, y = interacting
    fitted = Interactions(keep=5, top=2).fit(X, y)
    assert fitted.pairs_[0][:2] == (2, 6)
    assert fitted.pvalues_.shape == fitted.qvalues_.shape == (len(fitted.pairs_),)
    np.testing.assert_allclose([pair.weight for pair in fitted.pairs_], -np.log10(fitted.pvalues_))


def test_p_values_after_a_screen_are_by_column_of_the_table(plain) -> None:
    X, y = plain
    fitted = ChainSelector("mim:top=3 anova-f:top=1").fit(X, y)
    alone = AnovaF().fit(X, y)
    screened = sorted(fitted.selections_["mim"].selected.tolist())
    assert np.flatnonzero(~np.isnan(fitted.pvalues_)).tolist() == screened
    np.testing.assert_array_equal(fitted.pvalues_[screened], alone.pvalues_[screened])


def test_p_values_of_npfs_are_by_column_of_the_table(plain) -> None:
    X, y = plain
    fitted = NPFS(base="mim:top=2", n=9, null="published").fit(X, y)
    by_column = dict(
        zip(
            fitted.selection_.tables["columns"].tolist(),
            fitted.selection_.tables["p-values"].tolist(),
            strict=True,
        )
    )
    assert fitted.pvalues_.tolist() == [by_column[column] for column in range(6)]


def test_what_is_not_considered_has_the_least_importance() -> None:
    result = ReliefF()
    result.selection_ = Selection(selected=[0], scores=[0.5, np.nan, -0.25])
    assert result.feature_importances_.tolist() == [0.5, -0.25, -0.25]
    result.selection_ = Selection(selected=[0], scores=[0.5, np.nan, 0.25])
    assert result.feature_importances_.tolist() == [0.5, 0.0, 0.25]


def test_iterations_are_those_that_the_tables_tell() -> None:
    assert iterations({"cost": np.zeros(4)}) == 3
    assert iterations({"change": np.zeros(4)}) == 4
    assert iterations({}) is None


def test_a_pair_that_was_not_tested_has_no_value() -> None:
    values = pair_values([Pair(0, 2, 1.0), Pair(0, 1, 0.5)], [(0, 1)], np.array([0.2]))
    assert np.isnan(values[0]) and values[1] == 0.2


# What it takes


def test_weights_are_refused_where_they_would_not_be_rows(plain) -> None:
    X, y = plain
    weights = np.full(90, 0.5)
    for made in (ReliefF(), Immigrate(), NPFS(base="mim"), KNN()):
        assert "sample_weight" not in inspect.signature(made.fit).parameters
        with pytest.raises(TypeError, match="sample_weight"):
            made.fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="must be integers"):
        Interactions().fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="≥ 0"):
        MRMR().fit(X, y, sample_weight=-weights)


@pytest.mark.parametrize("name", ["Variance", "Impute"])
def test_what_does_not_use_the_label_is_fitted_without_one(plain, name: str) -> None:
    X, y = plain
    made = getattr(fsframe.sklearn, name)()
    kept = made.fit_transform(X)
    np.testing.assert_array_equal(kept, made.fit(X, y).transform(X))
    np.testing.assert_array_equal(kept, made.fit(X, y[::-1]).transform(X))
    with pytest.raises(ValueError, match="MIM estimator requires y"):
        MIM(top=1).fit(X)


def test_groups_reach_methods_that_resample(plain) -> None:
    X, y = plain[0], np.random.default_rng(1).permutation(plain[1])
    people = np.arange(90) // 5
    apart = NPFS(base="mim:top=2", n=9, null="published")
    together = clone(apart).fit(X, y, groups=people)
    expected = Chain.parse(str(apart._as_stages()[0])).select(
        Dataset.from_arrays(X, y, groups=people)
    )
    np.testing.assert_array_equal(together.scores_, expected.scores)
    assert not np.array_equal(together.scores_, apart.fit(X, y).scores_)
    with pytest.raises(DataError, match="the label varies within 'group'"):
        Interactions().fit(X, y, groups=people)


def test_whole_numbers_are_classes_unless_one_says_otherwise() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.round(3 * X[:, 1])
    assert MIM(top=1).fit(X, X[:, 1]).ranking_.tolist() == [1]
    as_number = ReliefF(task="regression").fit(X, y)
    np.testing.assert_array_equal(
        RReliefF(k=10, weighting="equal").fit(X, y).scores_, as_number.scores_
    )
    assert not np.array_equal(ReliefF().fit(X, y).scores_, as_number.scores_)
    with pytest.raises(ValueError, match="Unknown label type"):
        Immigrate().fit(X, X[:, 1])
    with pytest.raises(RequestError, match="supports classification"):
        estimator("relief")(task="regression").fit(X, y)
    for made in (MIM(task="foo"), ChainSelector("mim", task="foo")):
        with pytest.raises(RequestError, match="must be 'auto' or 'classification' or 'regr"):
            made.fit(X, y)


def test_tags_say_what_these_parameters_take() -> None:
    def takes_nan(made) -> bool:
        return get_tags(made).input_tags.allow_nan

    assert takes_nan(ReliefF()) and not takes_nan(Immigrate()) and not takes_nan(KNN())
    assert takes_nan(MIM(missing="level")) and not takes_nan(MIM())
    assert takes_nan(NPFS(base="mim:missing=level")) and not takes_nan(NPFS(base="jmi"))
    assert not takes_nan(NPFS(base=Immigrate())) and takes_nan(NPFS(base=ReliefF()))
    assert not takes_nan(MIM(missing="no such word"))
    # A later stage may refuse what the first takes, unless one before it fills them.
    assert not takes_nan(ChainRegressor("rrelieff knn"))
    assert takes_nan(ChainRegressor("impute rrelieff knn"))
    assert takes_nan(ChainSelector("mim:missing=level relieff"))


def test_categories_of_a_frame_are_categories(frames) -> None:
    library = frames.__name__
    rng = np.random.default_rng(2)
    colour = rng.choice(["red", "green", "blue", "black"], 80)
    size = rng.standard_normal(80)
    y = np.isin(colour, ["red", "black"])
    kind = "category" if library == "pandas" else frames.Categorical
    series = frames.Series("colour", colour) if library == "polars" else frames.Series(colour)
    column = series.astype(kind) if library == "pandas" else series.cast(kind)
    X = frames.DataFrame({"size": size, "colour": column, "more": size[::-1].copy()})
    fitted = MRMR(top=1).set_output(transform=library).fit(X, y)
    # As numbers in alphabetic order, equal-width bins or a threshold could not tell all of it.
    assert fitted.scores_[1] == pytest.approx(
        -np.mean(y) * np.log2(np.mean(y)) - np.mean(~y) * np.log2(np.mean(~y))
    )
    assert fitted.get_feature_names_out().tolist() == ["colour"]
    kept = fitted.transform(X)
    assert type(kept) is type(X) and str(kept["colour"].dtype) == str(X["colour"].dtype)
    discrete = ReliefF(k=5).fit(X, y)
    assert discrete.scores_[1] == discrete.scores_.max()
    nearest = KNN(k=3).fit(X, y)
    assert nearest.predict(X[:7]).shape == (7,)
    assert (nearest.predict(X[-20:]) == nearest.predict(X)[-20:]).all()
    unseen = (
        X.head(1).assign(colour="pink")
        if library == "pandas"
        else X.head(1).with_columns(frames.lit("pink").alias("colour"))
    )
    # A new category is one more level, as on the command line.
    assert nearest.predict(unseen).shape == (1,)
    assert fitted.transform(unseen)["colour"].to_list() == ["pink"]
    # Nor do messages speak of its options.
    with pytest.raises(ValueError, match="encode them as indicator columns, leave them out, or"):
        fsframe.sklearn.RFE(top=1).fit(X, y)


def test_a_new_one_of_ordered_categories_is_refused_where_it_is_read() -> None:
    order = ["low", "mid", "high"]
    stage = pandas.Categorical(["low", "high"] * 20, categories=order, ordered=True)
    y = np.arange(40) % 2
    X = pandas.DataFrame({"stage": stage, "size": y + np.linspace(0, 0.1, 40)})
    reads = ChainClassifier("knn:k=3").fit(X, y)
    assert reads.predict(X.head(1).assign(stage="mid")).shape == (1,)
    with pytest.raises(DataError, match=r"'stage': 'top' is not one of .*: low < mid < high"):
        reads.predict(X.head(1).assign(stage="top"))
    size_alone = ChainClassifier("mim:top=1,exclude=[stage] knn:k=3").fit(X, y)
    assert size_alone.predict(X.head(2).assign(stage="top")).tolist() == [0, 1]


def test_a_category_that_only_test_rows_have_spoils_no_fold() -> None:
    rng = np.random.default_rng(4)
    site = pandas.Categorical(["a", "b"] * 44 + ["z", None])
    age = rng.standard_normal(90)
    X = pandas.DataFrame({"age": age, "site": site})
    for chain in ("impute mim:top=1 knn", "impute knn", "impute:method=neighbours knn"):
        scores = cross_val_score(ChainClassifier(chain), X, age > 0, cv=3, error_score="raise")
        assert scores.mean() > 0.8


def test_categories_that_are_numbers_keep_their_numbers_and_levels_their_spelling() -> None:
    number, age = np.arange(40) % 4, np.linspace(0, 1, 40)
    spelled = pandas.Categorical(["1", "1.0"] * 20)
    X = pandas.DataFrame({"number": pandas.Categorical(number), "spelled": spelled, "age": age})
    nearest = KNN(k=1).fit(X, np.arange(40) % 2)
    assert nearest.predict(X).tolist() == [0, 1] * 20
    X.loc[[3, 5], "number"] = np.nan
    filled = ChainSelector("impute mim:top=3").set_output(transform="pandas").fit(X, age)
    assert filled.transform(X)["number"].dtype == X["number"].dtype
    assert not filled.transform(X).isna().any(axis=None)


def test_text_that_is_no_category_is_refused_with_the_way_out() -> None:
    X = pandas.DataFrame({"a": pandas.Categorical(["u", "v"] * 5), "b": ["text"] * 10})
    with pytest.raises(ValueError, match=r"'b': 'text' is not a number; .*make them categories"):
        ReliefF().fit(X, [0, 1] * 5)


# What it says


def test_warnings_of_the_library_arrive_once_and_from_here(interacting) -> None:
    X, y = interacting
    with pytest.warns(FsframeWarning) as told:
        MRMR(top=2).fit(X, y)
    assert [w.category for w in told] == [FsframeWarning]
    assert str(told[0].message).startswith("MRMR: all 8 columns were cut into bins")
    assert told[0].filename == __file__


def test_warnings_in_a_search_come_from_here_too(interacting) -> None:
    search = GridSearchCV(MRMR(), {"top": [2, 3]}, cv=3, scoring=lambda *_: 0.0)
    with pytest.warns(FsframeWarning) as told:
        search.fit(*interacting)
    assert {w.filename for w in told} == {__file__}
    assert all(str(w.message).startswith("MRMR: all 8 columns were cut") for w in told)


def test_refused_values_are_all_reported_and_are_value_errors(plain) -> None:
    made = ReliefF(k=0, m=-1)
    with pytest.raises(ValueError, match=r"relieff: .*k must be.*m must be") as caught:
        made.fit(*plain)
    assert isinstance(caught.value, RequestError)
    with pytest.raises(ValueError, match="one class only"):
        ReliefF().fit(plain[0], np.ones(90))
    with pytest.raises(ValueError, match="memory_limit must be"):
        ReliefF(memory_limit=0).fit(*plain)
    with pytest.raises(ValueError, match="'2 bytes' is not a size"):
        ReliefF(memory_limit="2 bytes").fit(*plain)
    with pytest.raises(ValueError, match="n_jobs must be a whole number or None, not '2'"):
        ReliefF(n_jobs="2").fit(*plain)
    assert ReliefF(memory_limit="2GB").fit(*plain).scores_.size == plain[0].shape[1]
    with pytest.raises(RequestError, match="more than the"):
        Immigrate(memory_limit=100).fit(*plain)
    with pytest.raises(ValueError, match=r"give it, as in NPFS\(base='immigrate'\)"):
        NPFS().fit(*plain)


def test_wrong_arguments_are_reported_with_the_right_ones() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'kk'\. Did you mean `k`"):
        ReliefF(kk=3)
    with pytest.raises(TypeError, match="given by name"):
        ReliefF(3)
    with pytest.raises(AttributeError, match=r"no attribute 'Reliefff'\. Did you mean `ReliefF`"):
        fsframe.sklearn.Reliefff  # noqa: B018
    with pytest.raises(RequestError, match="Did you mean `ReliefF`"):
        estimator("Reliefff")
    with pytest.raises(RequestError, match="evaluates a chain"):
        estimator("cross-validation")
    with pytest.raises(NotFittedError):
        ReliefF().transform([[1.0]])


def test_signatures_and_docstrings_are_those_of_the_declarations() -> None:
    for name, method in offered_names().items():
        made = getattr(fsframe.sklearn, name)
        registry = selectors if method in selectors else fsframe.classifiers
        parameters = inspect.signature(made).parameters
        text = inspect.getdoc(made)
        for parameter in registry[method].parameters():
            assert parameters[parameter.name].default == (
                inspect.Parameter.empty if parameter.required else parameter.default
            )
            assert f"\n{parameter.name} : " in text
        assert {"random_state", "n_jobs"} < set(parameters)
        assert class_name(method) == made.__name__ == made.__qualname__ == name
    assert "sigma : float or {'cv'}, default=1.0" in inspect.getdoc(Immigrate)
    assert "task" not in inspect.signature(LOGO).parameters


# What is done with it


def test_a_selector_may_be_the_base_of_another(plain) -> None:
    X, y = plain
    by_object = NPFS(base=MIM(top=2), n=9, null="published")
    by_text = NPFS(base="mim:top=2", n=9, null="published")
    np.testing.assert_array_equal(by_object.fit(X, y).scores_, by_text.fit(X, y).scores_)
    assert by_object.get_params()["base__top"] == by_text.get_params()["base__mim__top"] == 2
    assert by_object.set_params(base__top=3).base.top == 3
    assert by_text.set_params(base__mim__top=3, n=8).base == "mim:top=3" and by_text.n == 8
    with pytest.raises(RequestError, match="set random_state on the estimator"):
        NPFS(base=MIM(random_state=4)).fit(X, y)


def test_a_class_of_this_program_is_an_estimator_once_registered(plain) -> None:
    @fsframe.register
    @attrs.frozen(kw_only=True)
    class WidestRange(fsframe.Selector):
        """Features whose values spread widest."""

        takes_counts = True
        power: float = param(1.0, real(above=0), help="What the range is raised to.")

        def _select(self, data, upstream, run):
            spread = np.ptp(data.X, axis=0) ** self.power
            return Selection(selected=[int(spread.argmax())], scores=spread)

    X, y = plain
    X[0, 4] = 99.0
    made = fsframe.sklearn.WidestRange(power=2)
    assert made.fit(X, y, sample_weight=np.ones(90)).ranking_.tolist() == [4]
    assert "power : float, default=1.0" in inspect.getdoc(type(made))
    assert ChainSelector([made, "relieff"]).get_params()["widest_range__power"] == 2
    blank, (name, classes), state = made.__reduce__()
    assert (name, classes) == ("widest-range", {"widest-range": WidestRange})
    again = blank(name, classes)
    again.__setstate__(state)
    assert again.ranking_.tolist() == [4]
