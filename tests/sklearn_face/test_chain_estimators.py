"""Chains as estimators: parameters by the names of stages, objects as stages, classifiers."""

from __future__ import annotations

import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone

from fsframe import Chain, Dataset, FsframeWarning, RequestError, selectors
from fsframe.sklearn import KNN, MIM, ChainClassifier, ChainRegressor, ChainSelector, Immigrate
from fsframe.sklearn.parameters import chain_of, stage_keys, stage_values, with_stage_values
from tests.command_line import python

pytestmark = pytest.mark.filterwarnings("ignore::fsframe.errors.FsframeWarning")


def test_it_selects_what_the_chain_selects(interacting) -> None:
    X, y = interacting
    selector = ChainSelector("mim:top=6 immigrate:top=2", random_state=3).fit(X, y)
    expected = Chain.parse("mim:top=6 immigrate:top=2").select(Dataset.from_arrays(X, y), seed=3)
    assert selector.ranking_.tolist() == expected.selected.tolist()
    np.testing.assert_array_equal(selector.scores_, expected.scores)
    assert list(selector.selections_) == ["mim", "immigrate"]
    assert selector.selections_["mim"].selected.size == 6
    assert selector.pairs_ == expected.pair_weights.top()


def test_parameters_of_stages_are_parameters() -> None:
    selector = ChainSelector("mim:top=50 immigrate")
    params = selector.get_params()
    assert params["mim__top"] == 50 and params["immigrate__sigma"] == 1.0
    assert set(selector.get_params(deep=False)) == {
        "chain",
        "task",
        "always_keep",
        "feature_groups",
        "random_state",
        "n_jobs",
        "memory_limit",
    }
    assert selector.set_params(mim__top=np.int64(20)).chain == "mim:top=20 immigrate"
    assert clone(selector).set_params(immigrate__sigma="cv", n_jobs=2).chain == (
        "mim:top=20 immigrate:sigma=cv"
    )
    assert clone(selector).set_params(chain="jmi", jmi__top=0.5).chain == "jmi:top=0.5"


def test_a_method_that_stands_twice_is_numbered_from_the_left() -> None:
    selector = ChainSelector("mim:top=50 mim:top=9 simba-mbiw")
    assert stage_keys(selector.chain) == ["mim_1", "mim_2", "simba_mbiw"]
    selector.set_params(mim_1__top=40, mim_2__top=5, simba_mbiw__top=2)
    assert selector.chain == "mim:top=40 mim:top=5 simba-mbiw:top=2"
    with pytest.raises(ValueError, match="2 times; write mim_1__top or mim_2__top"):
        selector.set_params(mim__top=3)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("jmi__top", "stages of the chain are mim, npfs"),
        ("mim__topp", "Did you mean `top`"),
        ("npfs__base__mim__top", "stages of the chain are relieff"),
        ("topp", "Invalid parameter 'topp'"),
    ],
)
def test_a_parameter_that_is_not_there_is_refused(name, told) -> None:
    with pytest.raises(ValueError, match=told):
        ChainSelector("mim npfs:base=relieff").set_params(**{name: 3})


def test_stages_of_a_base_have_parameters_too() -> None:
    text = "jmi npfs:n=9,base=(mim:top=50 jmi:top=5)"
    assert stage_values(text)["npfs__base__jmi__top"] == 5
    changed = with_stage_values(text, {"npfs__base__jmi__top": 3, "npfs__n": 8})
    assert changed == "jmi npfs:n=8,base=(mim:top=50 jmi:top=3)"
    assert str(Chain.parse(changed)) == changed


def test_values_with_commas_and_quotes_survive() -> None:
    values = {"mim__given": ("a, b", "it's"), "mim__edges": [0.5, 1.5]}
    changed = with_stage_values("mim:discretise=edges", values)
    made = Chain.parse(changed).stages[0].method
    assert made.given == ("a, b", "it's") and made.edges == (0.5, 1.5)
    assert stage_values(changed)["mim__given"] == ("a, b", "it's")


def test_stages_may_be_objects(interacting) -> None:
    X, y = interacting
    text = ChainSelector("mim:top=6 immigrate:top=2").fit(X, y)
    ways = [
        [MIM(top=6), Immigrate(top=2)],
        ["mim:top=6", Immigrate(top=2)],
        [selectors["mim"](top=6), selectors["immigrate"](top=2)],
        Chain.parse("mim:top=6 immigrate:top=2"),
        [ChainSelector("mim:top=6"), "immigrate:top=2"],
    ]
    for chain in ways:
        selector = clone(ChainSelector(chain))
        # There and back, so that these are seen to be the parameters of the stages.
        selector.set_params(mim__top=3).set_params(mim__top=6)
        np.testing.assert_array_equal(selector.fit(X, y).scores_, text.scores_)
        assert str(chain_of(selector.chain)) == "mim:top=6 immigrate:top=2"


def test_a_clone_does_not_share_its_stages() -> None:
    first = ChainSelector([MIM(top=6), selectors["immigrate"]()])
    second = clone(first).set_params(mim__top=2, immigrate__sigma=0.5)
    assert first.get_params()["mim__top"] == 6 and second.get_params()["mim__top"] == 2
    assert first.get_params()["immigrate__sigma"] == 1.0


def test_what_is_no_chain_is_refused_when_it_is_fitted(plain) -> None:
    for chain, told in [
        ("mimm", "Did you mean `mim`"),
        ("mim:top=0", "top must be"),
        (["mim", 3], "estimators of fsframe.sklearn, selectors and classifiers, not int"),
        ([], "the chain is empty"),
        ("npfs", "put one on its left"),
        ([MIM(n_jobs=2), "jmi"], "set n_jobs on the estimator of the chain"),
    ]:
        selector = ChainSelector(chain)
        assert isinstance(selector.get_params(), dict)
        with pytest.raises(ValueError, match=told):
            selector.fit(*plain)


def test_warnings_of_every_stage_arrive_under_its_name(interacting) -> None:
    X, y = interacting
    with pytest.warns(FsframeWarning) as told:
        ChainSelector("mim:top=6 relieff:k=90").fit(X, y)
    texts = [str(w.message) for w in told if w.category is FsframeWarning]
    assert len(texts) == len(told) == 2
    assert texts[0].startswith("ChainSelector: mim: all 8 columns")
    assert texts[1].startswith("ChainSelector: relieff: ")
    assert {w.filename for w in told} == {__file__}


def test_a_classifier_at_the_end_is_not_ignored(interacting) -> None:
    X, y = interacting
    with pytest.raises(RequestError, match="use ChainClassifier"):
        ChainSelector("immigrate margin").fit(X, y)
    with pytest.raises(RequestError, match="add one, as in 'immigrate margin', or use ChainSel"):
        ChainClassifier("immigrate").fit(X, y)


def test_a_chain_predicts_with_the_classifier_at_its_end(interacting) -> None:
    X, y = interacting
    labels = np.array([10.0, 20.0])[y]
    made = ChainClassifier("immigrate:top=2 margin", random_state=1).fit(X[:90], labels[:90])
    chain = Chain.parse("immigrate:top=2 margin")
    fitted = chain.fit(Dataset.from_arrays(X[:90], y[:90]), seed=1)
    np.testing.assert_array_equal(
        made.predict(X[90:]), np.array([10.0, 20.0])[fitted.predict(X[90:])]
    )
    assert made.score(X[90:], labels[90:]) > 0.9
    assert made.ranking_.tolist() == [2, 6] or made.ranking_.tolist() == [6, 2]
    assert made.set_params(immigrate__top=3).chain == "immigrate:top=3 margin"
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.decision_function(X), made.decision_function(X))


def test_a_classifier_alone_is_a_chain_without_a_selection(interacting) -> None:
    X, y = interacting
    alone = ChainClassifier([KNN(k=3)]).fit(X, y)
    np.testing.assert_array_equal(alone.predict(X), KNN(k=3).fit(X, y).predict(X))
    assert not hasattr(alone, "selection_") and not hasattr(alone, "scores_")


def test_regression_is_what_the_stages_take() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = np.round(3 * X[:, 1])
    # Whole numbers, and a stage that takes a target only.
    assert ChainSelector("mim:top=3 rrelieff:top=1").fit(X, y).ranking_.tolist() == [1]
    assert ChainSelector("mim:top=1", task="regression").fit(X, y).ranking_.tolist() == [1]
    with pytest.raises(ValueError, match="Unknown label type"):
        ChainSelector("immigrate").fit(X, X[:, 1])


def test_missing_values_are_taken_where_the_first_stage_takes_them(plain) -> None:
    X, y = plain
    X[4, 5] = np.nan
    chain = "mim:top=2,missing=level immigrate:top=1"
    assert ChainSelector(chain).fit(X, y).transform(X).shape == (90, 1)
    with pytest.raises(ValueError, match="contains NaN"):
        ChainSelector("immigrate mim:missing=level").fit(X, y)
    X[4, [1, 3]] = np.nan
    with pytest.raises(ValueError, match="does not take missing values"):
        ChainSelector(chain).fit(X, y)


@pytest.mark.parametrize("library", ["numpy", "pandas", "polars"])
def test_what_a_stage_fills_is_filled_in_new_rows_too(plain, library) -> None:
    X, y = plain
    holed = X.copy()
    holed[4, [1, 3]] = np.nan
    chain = ChainSelector("impute immigrate:top=2")
    table, rows = holed, np.full((2, 6), np.nan)
    if library != "numpy":
        frames = pytest.importorskip(library)
        table, rows = (
            frames.DataFrame({name: part[:, j] for j, name in enumerate("abcdef")})
            for part in (holed, rows)
        )
        chain.set_output(transform=library)
    chain.fit(table, y)
    medians = np.nanquantile(holed, 0.5, axis=0, method="lower")
    np.testing.assert_array_equal(
        np.asarray(chain.transform(rows)), [medians[chain.get_support()]] * 2
    )
    classifier = ChainClassifier("impute immigrate:top=2 weighted-knn").fit(holed, y)
    assert classifier.predict(np.full((1, 6), np.nan)) == classifier.predict([medians])


def test_a_category_that_is_missing_is_filled_by_a_category() -> None:
    colour = pandas.Categorical(["red", "red", "blue", None] * 10)
    X = pandas.DataFrame({"colour": colour, "size": np.arange(40.0)})
    made = ChainSelector("impute").set_output(transform="pandas").fit(X, [0, 1] * 20)
    assert made.transform(X)["colour"].tolist() == ["red", "red", "blue", "red"] * 10


def test_a_chain_predicts_numbers(interacting) -> None:
    X, _ = interacting
    y = X[:, 2] + 0.1 * X[:, 3]
    made = ChainRegressor("rrelieff:top=1 knn:k=3").fit(X[:90], y[:90])
    data = Dataset.from_arrays(X[:90], y[:90])
    fitted = Chain.parse("rrelieff:top=1 knn:k=3").fit(data, seed=0)
    np.testing.assert_array_equal(made.predict(X[90:]), fitted.predict(X[90:]))
    assert made.ranking_.tolist() == [2] and made.score(X[90:], y[90:]) > 0.9
    assert made.set_params(knn__k=5).chain == "rrelieff:top=1 knn:k=5"
    linear = ChainRegressor("sklearn:estimator=sklearn.linear_model.LinearRegression").fit(X, y)
    assert linear.score(X, y) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="margin is not made for regression: use ChainClassifier"):
        ChainRegressor("immigrate margin").fit(X, y)
    with pytest.raises(ValueError, match="y holds 'b', which is no number"):
        ChainRegressor("knn").fit(X, np.where(y > 0, "a", "b"))


def test_where_nothing_is_kept_it_predicts_what_an_evaluation_does() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    made = ChainRegressor("anova-f:alpha=1e-9 ridge")
    with pytest.warns(FsframeWarning, match="kept no feature; the mean target of the training"):
        made.fit(X, y)
    np.testing.assert_allclose(made.predict(X), y.mean())
    for rows in (np.arange(60) % 3 > 0, np.arange(60) % 3 == 0):
        chain = ChainClassifier("anova-f:alpha=1e-9 knn")
        with pytest.warns(FsframeWarning, match="the most frequent class of the training"):
            chain.fit(X, rows)
        assert (chain.predict(X) == (rows.mean() > 0.5)).all()
        np.testing.assert_allclose(chain.predict_proba(X)[:, 1], rows.mean())


SESSION = """
import numpy as np, fsframe, warnings
from joblib.externals.loky import get_reusable_executor
from fsframe.method.ranking import rank_by_score
from fsframe.sklearn import ChainSelector, NPFS
warnings.simplefilter("ignore")

@fsframe.register
class Last(fsframe.Selector):
    "The columns from the right."
    def _select(self, data, upstream, run):
        scores = np.arange(data.n_features, dtype=float)
        best = rank_by_score(scores)[: self.keep_count(len(scores), 2)]
        return fsframe.Selection(selected=best, scores=scores)

X, y = np.random.default_rng(0).standard_normal((40, 5)), np.arange(40) % 2
npfs = NPFS(base="last:top=1", n=5, null="published", alpha=0.5)
workers = get_reusable_executor(max_workers=1)
for made in (ChainSelector("last:top=2"), npfs):
    here, there = made.fit(X, y), workers.submit(made.fit, X, y).result()
    assert there is not here and there.ranking_.tolist() == here.ranking_.tolist()
    print(here.ranking_.tolist())
"""


def test_a_class_of_this_session_travels_to_joblibs_workers() -> None:
    assert python("-c", SESSION).out == "[4, 3]\n[4]\n"


def test_a_score_of_many_whole_numbers_is_not_taken_as_classes(interacting) -> None:
    X, _ = interacting
    y = np.round(100 * X[:, 0])
    for made in (ChainSelector("mim:top=1"), MIM(top=1), ChainSelector("immigrate")):
        with pytest.raises(ValueError, match=r"different numbers, .* of them once: say whether"):
            made.fit(X, y)
    said = ChainSelector("anova-f:top=1", task="regression").fit(X, y)
    assert said.ranking_.tolist() == [0]
