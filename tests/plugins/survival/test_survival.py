"""Cox's score test, his model, and concordance, beside worked examples and other programs.

The numbers of `OTHERS` come from statsmodels 0.15.0 (PHReg: score and hessian at zero, and fit),
lifelines 0.30.3 (concordance_index, CoxPHFitter with the same penalty), on the table of `followed`.
"""

from __future__ import annotations

import csv
import itertools
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import fsframe
from fsframe import Chain, DataError, Dataset
from fsframe.evaluation.measures import CIndex
from fsframe.table.side_columns import times_and_events
from fsframe.testing import tables
from fsframe_survival.cox import (
    Cox,
    CoxScore,
    Times,
    fit_ridge,
    permutation_p_values,
    residuals,
    score_tests,
)
from tests.grids import slow
from tests.same_process import fsframe as run


@pytest.fixture(scope="module")
def followed() -> Dataset:
    """60 rows of 4 columns followed to 14 different times, half of them censored."""
    generator = np.random.Generator(np.random.PCG64(21))
    X = generator.standard_normal((60, 4))
    X[:, 3] = X[:, 3] > 0
    time = np.ceil(4 * generator.exponential(np.exp(-0.8 * X[:, 1] + 0.6 * X[:, 3])))
    end = np.ceil(4 * generator.exponential(2.0, 60))
    return Dataset.from_arrays(X, np.minimum(time, end), event=time <= end)


OTHERS = {
    "efron": (
        [0.3785297473, 3.8099253977, -0.3749280488, -1.0127525518],
        [-0.11885999, 1.2271656, -0.14248894, -1.07079321],
    ),
    "breslow": (
        [0.3275927619, 3.5485219241, -0.3464104106, -0.9477536274],
        [-0.13122138, 1.09580709, -0.1227973, -0.9323367],
    ),
}
RIDGE = [-0.049653, 0.842817, -0.076928, -0.352166]


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_score_tests_and_coefficients_are_those_of_statsmodels(followed, ties):
    z, beta = OTHERS[ties]
    selection = CoxScore(ties=ties).select(followed)
    np.testing.assert_allclose(selection.tables["z_score"], z, rtol=1e-9)
    np.testing.assert_allclose(Cox(penalty=0, ties=ties).fit(followed).inner.beta, beta, rtol=1e-6)


def test_the_ridge_is_that_of_lifelines(followed):
    beta = Cox(penalty=5).fit(followed).inner.beta * followed.X.std(axis=0)
    # It stops a little before the maximum.
    np.testing.assert_allclose(beta, RIDGE, atol=5e-5)


def test_concordance_is_that_of_lifelines(followed):
    risk = np.round(followed.X[:, 1] - 0.5 * followed.X[:, 3], 1)
    assert CIndex.of(followed.y, risk) == pytest.approx(0.7384066587395958, rel=1e-12)


def test_concordance_counted_pair_by_pair():
    generator = np.random.Generator(np.random.PCG64(2))
    time = generator.integers(1, 8, 40).astype(float)
    event, risk = generator.random(40) < 0.6, np.round(generator.random(40), 1)
    right, pairs = 0.0, 0
    for i in range(40):
        for j in range(40):
            if event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j])):
                pairs += 1
                right += 1.0 if risk[i] > risk[j] else 0.5 * (risk[i] == risk[j])
    data = Dataset.from_arrays(np.zeros((40, 1)), time, event=event)
    assert CIndex.of(data.y, risk) == pytest.approx(right / pairs, rel=1e-12)
    assert np.isnan(CIndex.of(np.array([-1.0, -2.0]), np.array([0.0, 1.0])))


def test_more_columns_than_rows_are_rotated_to_the_same_answer():
    generator = np.random.Generator(np.random.PCG64(3))
    X = generator.standard_normal((20, 50))
    times = Times.of(generator.random(20), generator.random(20) < 0.7, np.ones(20))
    found, converged = fit_ridge(X - X.mean(axis=0), times, 2.0)
    # Columns of zeros make the table square, so that it is not rotated.
    tall = np.vstack([X - X.mean(axis=0), np.zeros((40, 50))])
    more = Times(order=np.concatenate([times.order, np.arange(20, 60)]),
                 weight=np.concatenate([times.weight, np.zeros(40)]),
                 moments=times.moments, efron=True)  # fmt: skip
    expected, _ = fit_ridge(tall, more, 2.0)
    assert converged
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_a_perfect_order_without_penalty_is_refused_in_words():
    data = Dataset.from_arrays([[4.0], [3], [2], [1]], [1, 2, 3, 4], event=[1, 1, 1, 1])
    with pytest.raises(DataError, match="give a larger penalty, or fewer columns"):
        Cox(penalty=0).fit(data)
    assert np.isfinite(Cox().fit(data).predict(data.X)).all()


@pytest.mark.parametrize("name", ["knn", "weighted-knn", "margin"])
def test_classifiers_refuse_times_by_name(name):
    # Of selectors the conformance suite asks it.
    with pytest.raises(DataError, match=r"needs .*, not times until an event"):
        fsframe.classifiers[name]().fit(tables.survival())


def test_only_what_takes_times_is_proposed_to_adjust_for_covariates():
    data = tables.survival()
    last = data.feature_names[-1]
    with pytest.raises(DataError, match=r"\(--adjust\): add after it a stage .*\(npfs\)$"):
        fsframe.Chain.parse("cox-score").run(data.with_roles(adjust=last))


def test_evaluate_stability_and_npfs_go_by_concordance():
    data = tables.survival()
    evaluation = fsframe.evaluate("cox-score:top=2 cox", data, folds=4, repeats=2)
    assert "c-index" in repr(evaluation)
    assert fsframe.stability("cox-score:top=2", data, n=6).to_frame() is not None
    with warnings.catch_warnings(action="ignore"):
        kept = fsframe.select("cox-score:top=2 npfs:n=60,null=published", data)
    assert kept.to_frame()["feature"][0] == "f2"


def test_the_c_index_of_an_evaluation_is_that_of_its_folds():
    from fsframe.evaluation.recorded import recorded_evaluation

    data = tables.survival()
    chain = "cross-validation:folds=4,repeats=1,base=(cox-score:top=2 cox)"
    record = fsframe.Chain.parse(chain).run(data, seed=3)
    held = record.stages[-1].tables
    values = []
    for fold in range(4):
        rows = held["fold"][0] == fold
        train = data.take_rows(np.flatnonzero(~rows))
        kept = CoxScore(top=2).select(train)
        risk = Cox().fit(train, kept).predict(data.X[rows])
        np.testing.assert_allclose(held["predicted"][0, rows], risk, rtol=1e-9)
        values.append(CIndex.of(data.y[rows], risk))
    result = recorded_evaluation(record).evaluation
    assert result.leading.name == "c-index" and result.baseline.mean == 0.5
    assert result.leading.mean == pytest.approx(np.mean(values), rel=1e-9)


def test_tables_name_the_column_of_events(tmp_path):
    data = tables.survival()
    time, event = times_and_events(data.y)
    lines = ["a,b,c,d,e,f,days,dead"]
    lines += [",".join(map(repr, [*x, t, int(s)])) for x, t, s in
              zip(data.X.tolist(), time.tolist(), event, strict=True)]  # fmt: skip
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    read = fsframe.read(path, label="days", event="dead")
    assert read.task == "survival" and read.feature_names == tuple("abcdef")
    np.testing.assert_array_equal(np.signbit(read.y), np.signbit(data.y))
    import polars

    frame = polars.read_csv(path)
    assert Dataset.from_frame(frame, "days", event="dead").sha256 == read.sha256
    options = ["on", str(path), "--label", "days", "--event", "dead"]
    out = tmp_path / "r.h5"
    done = run("chain", "cox-score:top=2", "cox", *options, "--out", str(out))
    assert done.code == 0 and "days (survival)" in done.out, done.err
    assert fsframe.load_run(out).data.task == "survival"
    for command in (["audit", str(out)], ["predict", str(out), "on", str(path)],
                    ["report", str(out), "-o", str(tmp_path / "r.html")],
                    ["inspect", *options[1:]]):  # fmt: skip
        assert run(*command).code == 0, command
    assert "(label days, times until an event)" in (tmp_path / "r.html").read_text()
    for event, told in (
        ("a", "must be 1 (observed) or 0 (censored)"),
        ("ded", "Did you mean `dead`"),
    ):
        done = run("chain", "cox-score", "on", str(path), "--label", "days", "--event", event)
        assert done.code == 4 and told in done.err
    done = run("chain", "cox-score", "on", str(path), "--label", "days")
    assert done.code == 4 and "--event names the column of events" in done.err


def structured():
    """A table, and its label as other packages have it."""
    data = tables.survival()
    time, event = times_and_events(data.y)
    kinds = [("dead", bool), ("days", float)]
    return data, np.array(list(zip(event, time, strict=True)), dtype=kinds)


def test_estimators_take_structured_times():
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline

    from fsframe.sklearn import ChainRegressor, ChainSelector
    from fsframe.sklearn import Cox as CoxRegressor
    from fsframe.sklearn import CoxScore as CoxSelector

    data, y = structured()
    expected = CoxScore(top=2).select(data)
    for made in (CoxSelector(top=2), ChainSelector("cox-score:top=2")):
        np.testing.assert_array_equal(made.fit(data.X, y).scores_, expected.scores)
        np.testing.assert_array_equal(made.fit(data.X, data.y).scores_, expected.scores)
    chain = ChainRegressor("cox-score:top=2 cox").fit(data.X, y)
    assert chain.score(data.X, y) == CIndex.of(data.y, chain.predict(data.X)) > 0.7
    both = make_pipeline(CoxSelector(top=2), CoxRegressor())
    assert cross_val_score(both, data.X, data.y, cv=3).mean() > 0.7


def test_other_estimators_refuse_structured_times():
    from fsframe.sklearn import ChainClassifier, ChainSelector, Ridge, Variance, estimator

    data, y = structured()
    said = "(does not take|needs .*, not) times until an event"
    others = [ChainSelector("mim:top=2"), ChainClassifier("mim:top=2 knn"), Ridge()]
    for name in ("mim", "anova-f", "relieff", "rrelieff", "lasso", "rfe", "boruta"):
        others.append(estimator(name)())
    for made in (*others, estimator("mim")(task="regression")):
        with pytest.raises(ValueError, match=said):
            made.fit(data.X, y)
    # As on the command line, what ignores the label takes it.
    assert Variance(top=2).fit(data.X, y).ranking_.size == 2


@pytest.mark.parametrize("wrapper", ["npfs:n=6,permutations=16", "ensemble:n=6"])
def test_a_base_for_survival_is_resampled_as_a_chain_on_the_left_is(wrapper):
    data = tables.survival()
    by_base = Chain.parse(f"{wrapper},base=(cox-score:top=3)").select(data)
    by_left = Chain.parse(f"cox-score:top=3 {wrapper}").select(data)
    # Another place in the chain, other random numbers: the strongest feature is the same.
    assert np.nanargmax(by_base.scores) == np.nanargmax(by_left.scores) == 1
    with pytest.raises(DataError, match="does not take times until an event"):
        Chain.parse(f"{wrapper},base=mim").select(data)


@pytest.mark.parametrize("efron", [True, False])
def test_residuals_give_the_score_and_moments_over_all_permutations(efron):
    draw = np.random.default_rng(3)
    time, event = np.array([2.0, 3, 3, 3, 5, 7, 8]), np.array([1, 1, 1, 0, 0, 1, 1], dtype=bool)
    times = Times.of(time, event, np.ones(7), efron=efron)
    x = draw.standard_t(2, size=7)
    M = residuals(times)
    U = score_tests(x[:, None], times)[0][0]
    assert np.isclose(M @ x[times.order], U) and abs(M.sum()) < 1e-12
    every = np.array([M @ x[list(order)] for order in itertools.permutations(range(7))])
    centred = x - x.mean()
    assert abs(every.mean()) < 1e-12
    assert np.isclose((every**2).mean(), (centred**2).sum() * (M**2).sum() / 6)
    assert np.isclose((every**3).mean(), 7 * (centred**3).sum() * (M**3).sum() / (6 * 5))
    # Near the exact share of permutations that are as far on the same side, twice.
    exact = 2 * min((every >= U - 1e-12).mean(), (every <= U + 1e-12).mean())
    assert abs(permutation_p_values(x[:, None], times)[0] - exact) < 0.15


@pytest.mark.parametrize("law", [slow("t"), "rare", "normal"])
def test_permutations_keep_the_level_where_chi2_does_not(law):
    """100 rows, 40 % censored, columns that tell nothing; the figures of its docstring."""
    small = {"chi2": 0, "permutation": 0}
    p, tables = 5000, 8
    for seed in range(tables):
        draw = np.random.default_rng([seed, len(law)])
        time, until = draw.exponential(size=100), draw.exponential(1.5, size=100)
        X = {
            "t": draw.standard_t(2, size=(100, p)),
            "rare": (draw.random((100, p)) < 0.1).astype(float),
            "normal": draw.normal(size=(100, p)),
        }[law]
        data = Dataset.from_arrays(X, np.minimum(time, until), event=time <= until)
        for null in small:
            selection = CoxScore(alpha=0.05, null=null).select(data)
            small[null] += int((selection.tables["p_values"] <= 0.001).sum())
    shares = {null: count / (p * tables) for null, count in small.items()}
    assert shares["permutation"] < 0.0014
    assert (shares["chi2"] > 0.003) == (law != "normal")


def test_the_table_of_the_page_is_the_one_measured():
    root = Path(__file__).parents[3]
    page = (root / "docs" / "methods" / "survival.md").read_text(encoding="utf-8")
    with (root / "benchmarks" / "survival" / "results" / "level.csv").open() as file:
        found = {(r["rows"], r["law"], r["null"]): r for r in csv.DictReader(file)}
    shown = re.findall(r"^\| (\d+) \| (\w+) \| (\S+) \| (\S+) \| (\S+) \|$", page, re.MULTILINE)
    assert len(shown) == 6
    for n, null, *shares in shown:
        assert shares == [found[n, law, null]["0.0001"] for law in ("normal", "t", "rare")]
    assert f"{found['100', 'told', 'permutation']['0.05']} of the tables" in page
