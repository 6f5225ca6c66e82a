"""Numeric targets through evaluate, compare, stability, predict, pictures and reports."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fsframe
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.evaluation.recorded import recorded_evaluation
from fsframe.method.classifier import Predictions, Regressor
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from tests.evaluation.tables import rows_of, write_csv
from tests.same_process import fsframe as ran

PARKINSONS = Path(__file__).parents[2] / "examples" / "parkinsons.csv"


@pytest.fixture(scope="module")
def voices() -> Dataset:
    """Recordings of voices, a measure of noise in place of the class: 195 × 21."""
    table = fsframe.read(PARKINSONS)
    column = table.feature_names.index("HNR")
    return Dataset.from_arrays(np.delete(table.X, column, axis=1), table.X[:, column])


def small(n: int = 60, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = 2 * X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(n)
    return Dataset.from_arrays(X, y, name="small")


def evaluated(base: str, data: Dataset, more: str = "folds=5,repeats=2", seed: int = 0):
    return Chain.parse(f"cross-validation:base='{base}',all_features=yes,{more}").run(data, seed)


@pytest.mark.parametrize("options", [pytest.param("{}", marks=pytest.mark.slow), '{"alpha": 10}'])
def test_figures_are_scikit_learns_on_a_real_table(voices, options):
    record = evaluated(f"sklearn:estimator=Ridge,standardize=yes,options={options}", voices)
    result = recorded_evaluation(record).evaluation
    model = make_pipeline(StandardScaler(), Ridge(**json.loads(options)))
    want = {name: [] for name in ("r2", "mae", "rmse", "concordance")}
    for row in record.stages[-1].tables["fold"]:
        for number in range(5):
            train, test = row != number, row == number
            told = model.fit(voices.X[train], voices.y[train]).predict(voices.X[test])
            both = Predictions(truth=voices.y[test], predicted=told)
            for name, values in want.items():
                values.append(fsframe.measures[name]()(both))
    assert set(result.measures) == set(want)
    for name, values in want.items():
        assert result.measures[name].values == pytest.approx(values, rel=1e-9), name
    # The chain is a regressor alone: all features are what it sees.
    assert result.all_features.values == pytest.approx(want["r2"], rel=1e-9)


@pytest.mark.parametrize(("stage", "k"), [("knn:k=7", 7), ("weighted-knn:k=3", 3)])
def test_nearest_neighbours_are_scikit_learns(voices, stage, k):
    train, new = voices.take_rows(np.arange(150)), voices.X[150:]
    model = make_pipeline(StandardScaler(), KNeighborsRegressor(k)).fit(train.X, train.y)
    result = Chain.parse(stage).fit(train).predict(new)
    assert result == pytest.approx(model.predict(new), rel=1e-9)


@pytest.mark.parametrize(
    ("drawn", "copied"),
    [
        ("knn:k=4", "knn:k=4"),
        # Copies are neighbours each: weighted-knn takes copies for one neighbour, with two votes.
        ("weighted-knn:k=60", "weighted-knn:k=1000"),
    ],
)
def test_a_row_drawn_twice_counts_twice(drawn, copied):
    data = small()
    counts = np.random.default_rng(5).integers(0, 3, data.n_samples)
    copies = data.take_rows(np.repeat(np.arange(data.n_samples), counts))
    result = Chain.parse(drawn).fit(data.with_counts(counts)).predict(data.X)
    assert result == pytest.approx(Chain.parse(copied).fit(copies).predict(data.X), rel=1e-9)


def test_the_rule_without_features_is_the_mean_of_the_training_rows():
    data = small()
    record = evaluated("correlation:top=2 knn:k=3", data)
    result = recorded_evaluation(record).evaluation
    fold = record.stages[-1].tables["fold"]
    want = []
    for row in fold:
        for number in range(5):
            y, mean = data.y[row == number], data.y[row != number].mean()
            want.append(1 - ((y - mean) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    assert result.baseline.name == "mean"
    assert result.baseline.values == pytest.approx(want)
    assert result.measures["r2"].baseline == pytest.approx(np.mean(want))
    assert result.leading.name == "r2" and result.agreement is None


def test_rows_of_the_test_part_teach_nothing():
    """What is predicted of a row does not change when its own target does."""
    data = small()
    base = "correlation:top={1,2} sklearn:estimator=Ridge,standardize=yes"
    before = evaluated(base, data, "folds=4,repeats=1").stages[-1].tables
    y = data.y.copy()
    y[7] += 100.0
    changed = Dataset.from_arrays(data.X, y, name="small")
    after = evaluated(base, changed, "folds=4,repeats=1").stages[-1].tables
    assert np.array_equal(before["fold"], after["fold"])
    for name in ("predicted", "all-features"):
        assert np.array_equal(before[name][:, 7], after[name][:, 7])
        others = np.delete(np.arange(data.n_samples), 7)
        assert not np.array_equal(before[name][:, others], after[name][:, others])


def test_tuning_goes_by_the_inner_error_and_a_table_is_not_stratified():
    data = small(80)
    chain = "correlation:top={1,2,5} sklearn:estimator=LinearRegression"
    record = evaluated(chain, data, "folds=5,repeats=1")
    tuning = record.stages[-1].tables["tuning"]
    assert (tuning <= 1).all() and (tuning > 0).all()
    assert (tuning.argmax(axis=1) == record.stages[-1].tables["chosen"]).all()
    assert (tuning[:, 1] > tuning[:, 0]).all()
    sizes = np.bincount(record.stages[-1].tables["fold"][0])
    assert sizes.tolist() == [16] * 5


def test_leave_one_out_is_measured_over_all_and_leaves_out_whole_groups():
    data = small()
    grouped = attrs.evolve(data, groups=np.arange(60) // 5, group_name="people")
    alone = recorded_evaluation(evaluated("knn:k=3", grouped, "scheme=leave-one-out")).evaluation
    assert alone.n_splits == 12
    result = recorded_evaluation(
        evaluated("correlation:top=2 knn:k=3", data, "scheme=leave-one-out,curve=[1,2]")
    ).evaluation
    r2 = result.measures["r2"]
    assert r2.pooled and 0 < r2.mean < 1 and np.isnan(r2.standard_error)
    assert result.curve[1].accuracy == pytest.approx(r2.mean)


def test_a_chain_that_keeps_nothing_predicts_the_mean():
    rng = np.random.default_rng(1)
    data = Dataset.from_arrays(rng.standard_normal((40, 3)), rng.standard_normal(40))
    record = evaluated("interactions knn", data, "folds=4,repeats=1")
    tables = record.stages[-1].tables
    none = ~tables["kept"].any(axis=1)
    assert none.any()
    for number in np.flatnonzero(none):
        row = tables["fold"][0]
        mean = data.y[row != number].mean()
        assert tables["predicted"][0, row == number] == pytest.approx(mean)
    assert any("mean target" in text for text in record.all_warnings())


CLASSES = Dataset.from_arrays(np.eye(20), ["a", "b"] * 10)


@pytest.mark.parametrize(
    ("base", "data", "more", "words"),
    [
        ("margin", small(), "", "needs classes, not a numeric target"),
        ("sklearn:estimator=Ridge", CLASSES, "", "needs a numeric target, not classes"),
        ("sklearn:estimator=GaussianNB", small(), "", "end the chain with a regressor"),
        ("knn", small(), "metric=[auc]", "it is for classes, and the table has a numeric"),
        ("knn", small(), "folds=61", "60 rows allow at most 60 folds"),
    ],
)
def test_what_does_not_fit_the_label_is_refused_before_any_work(base, data, more, words):
    with pytest.raises((DataError, RequestError), match=words) as caught:
        evaluated(base, data, more or "folds=5")
    assert str(caught.value).count(words) == 1
    if not more:
        with pytest.raises((DataError, RequestError), match=words):
            Chain.parse(base).run(data)


def test_comparisons_and_stability_of_numeric_targets():
    data, other = small(), attrs.evolve(small(seed=4), name="other")
    chains = ["correlation:top=2 sklearn:estimator=Ridge", "correlation:top=1 knn:k=3", "knn:k=3"]
    result = fsframe.compare(chains, [data, other], folds=4, repeats=2).comparison
    assert (result.metric, result.rule) == ("r2", "mean")
    assert result.values.argmax(axis=1).tolist() == [0, 0]
    pairs = ((0, 1), (0, 2), (1, 2))
    assert set(result.corrected) == {(d, i, j) for d in (0, 1) for i, j in pairs}
    assert np.isnan(result.accuracy).all()
    by_error = fsframe.compare(chains, data, folds=4, repeats=2, metric="rmse").comparison
    assert not by_error.larger_is_better and by_error.papers[0, 0, 1].difference > 0
    with pytest.raises(DataError, match="no measure applies to both"):
        fsframe.compare(["knn", "weighted-knn"], [data, CLASSES])
    assert fsframe.stability("correlation:top=2", data, n=10).values["nogueira"] > 0.9


def test_a_regressor_of_ones_own_is_held_to_its_contract():
    @attrs.frozen(kw_only=True)
    class Wrong(Regressor):
        def _fit(self, data, upstream, run):
            return SimpleNamespace(predict=lambda X: np.full((len(X), 2), 1.0))

    fitted = Wrong().fit(small(), None, Run())
    with pytest.raises(fsframe.errors.PluginError, match="one finite number for each row"):
        fitted.predict(small().X)
    with pytest.raises(RequestError, match="no class scores"):
        fitted.predict_scores(small().X)
    with pytest.raises(DataError, match="needs a numeric target, not classes"):
        Wrong().fit(CLASSES)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("one", 0), ("two", 4)):
        write_csv(Path(f"{name}.csv"), small(seed=seed))
    return tmp_path


QUICK = "--folds 3 --repeats 2 -q"
EVALUATE = f"evaluate correlation:top=2 knn:k=3 on one.csv {QUICK}"


def test_commands_from_the_table_to_the_page(folder):
    def done(line):
        result = ran(line, code=0)
        return result.out

    out = done(f"{EVALUATE} --curve auto -o e.h5")
    assert "larger class" not in out and "probabilities" not in out
    heading = next(line for line in out.split("\n") if line.startswith("measure "))
    assert heading.split() == ["measure", "value", "±", "95", "%", "mean", "all", "features"]
    shown = done("show e.h5 --csv folds.csv")
    header = "split,features_kept,r2,mae,rmse,concordance"
    assert Path("folds.csv").read_text().splitlines()[0] == header
    assert all(line in shown for line in out.split("\n")[2:7])
    ridge = "correlation:top=2 sklearn:estimator=Ridge"
    out = done(f"compare '{ridge}' knn:k=3 on one.csv two.csv {QUICK} -o cmp")
    assert "one, r2:" in out and "\nmean " in out
    rows = rows_of("cmp/results.csv")
    assert {row["metric"] for row in rows} == {"r2"} and rows[0]["accuracy"] == ""
    done(f"chain {ridge} on one.csv -q -o c.h5")
    lines = list(csv.reader(done("predict c.h5 on two.csv").splitlines()))
    assert lines[0] == ["row", "prediction"]
    told = [float(line[1]) for line in lines[1:]]
    assert np.corrcoef(told, fsframe.read("two.csv").y)[0, 1] > 0.95
    Path("s.toml").write_text(
        'chains = ["correlation:top=2 knn:k=3", "knn:k=3"]\ntables = ["one.csv"]\nfolds = 3\n'
    )
    done("study s.toml -q")
    assert Path("s/table-r2.tex").is_file()
    assert "a numeric target" in Path("s/methods.md").read_text()


def test_pictures_and_pages_adapt_or_refuse_by_name(folder):
    ran(f"{EVALUATE} --curve auto -o e.h5", code=0)
    ran(f"{EVALUATE.replace('k=3', 'k=1')} -o f.h5", code=0)
    for kind, runs in (("sizes", "e.h5"), ("pareto", "e.h5 f.h5")):
        done = ran(f"plot {kind} {runs} -o {kind}.svg", code=0)
        text = Path(f"{kind}.svg").read_text()
        assert "R²" in text and "accuracy" not in text
    for kind in ("roc", "calibration"):
        done = ran(f"plot {kind} e.h5 -o {kind}.svg")
        assert done.code == 2 and "numeric target" in done.err and "no classes" in done.err
    ran("report e.h5 -o e.html", code=0)
    page = Path("e.html").read_text()
    assert "R²" in page and "larger class" not in page and "always predicting the mean" in page
    assert "plot sets" in ran("report e.h5 f.h5 -o both.html", code=2).err
