"""Numeric targets through evaluate, compare, stability, predict, pictures and reports."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.evaluation.recorded import recorded_evaluation
from fsframe.method.classifier import Regressor
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from tests.same_process import fsframe as ran

PARKINSONS = Path(__file__).parents[2] / "examples" / "parkinsons.csv"


def real() -> Dataset:
    """Recordings of voices, a measure of noise in place of the class: 195 × 21."""
    table = fsframe.read(PARKINSONS)
    column = table.feature_names.index("HNR")
    others = np.delete(np.arange(table.n_features), column)
    names = [table.feature_names[c] for c in others]
    return Dataset.from_arrays(
        table.X[:, others], table.X[:, column], names, name="voices", label_name="HNR"
    )


@pytest.fixture(scope="module")
def voices() -> Dataset:
    return real()


def small(n: int = 60, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = 2 * X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(n)
    return Dataset.from_arrays(X, y, name="small")


def evaluated(base: str, data: Dataset, more: str = "folds=5,repeats=2", seed: int = 0):
    return Chain.parse(f"cross-validation:base='{base}',all_features=yes,{more}").run(data, seed)


@pytest.mark.parametrize("options", ["{}", '{"alpha": 10}'])
def test_figures_are_scikit_learns_on_a_real_table(voices, options):
    from sklearn import metrics
    from sklearn.linear_model import Ridge

    text = f"sklearn:estimator=Ridge,standardize=yes,options={options}"
    record = evaluated(text, voices)
    found = recorded_evaluation(record).evaluation
    fold = record.stages[-1].tables["fold"]
    want = {name: [] for name in ("r2", "mae", "rmse", "concordance")}
    for row in fold:
        for number in range(5):
            train, test = row != number, row == number
            centre, scale = voices.X[train].mean(axis=0), voices.X[train].std(axis=0)
            model = Ridge(**json.loads(options)).fit(
                (voices.X[train] - centre) / scale, voices.y[train]
            )
            told, y = model.predict((voices.X[test] - centre) / scale), voices.y[test]
            want["r2"].append(metrics.r2_score(y, told))
            want["mae"].append(metrics.mean_absolute_error(y, told))
            want["rmse"].append(metrics.root_mean_squared_error(y, told))
            a, b = np.triu_indices(len(y), 1)
            differ = y[a] != y[b]
            right = np.sign(y[a] - y[b]) * np.sign(told[a] - told[b])
            want["concordance"].append(((right[differ] + 1) / 2).mean())
    assert set(found.measures) == set(want)
    for name, values in want.items():
        assert found.measures[name].values == pytest.approx(values, rel=1e-9), name
    # The chain is a regressor alone: all features are what it sees.
    assert found.all_features is not None
    assert found.all_features.values == pytest.approx(want["r2"], rel=1e-9)


@pytest.mark.parametrize(("stage", "k"), [("knn:k=7", 7), ("weighted-knn:k=3", 3)])
def test_nearest_neighbours_are_scikit_learns(voices, stage, k):
    import sklearn.neighbors as neighbours

    train, test = np.arange(150), np.arange(150, 195)
    data = voices.take_rows(train)
    fitted = Chain.parse(stage).fit(data)
    centre, scale = data.X.mean(axis=0), data.X.std(axis=0)
    model = neighbours.KNeighborsRegressor(k).fit((data.X - centre) / scale, data.y)
    want = model.predict((voices.X[test] - centre) / scale)
    assert fitted.predict(voices.X[test]) == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("stage", ["knn:k=4", "weighted-knn", "sklearn:estimator=LinearRegression"])
def test_a_row_drawn_twice_counts_twice(stage):
    data = small()
    counts = np.random.default_rng(5).integers(0, 3, data.n_samples)
    # Copies are neighbours each: weighted-knn takes copies for one neighbour, with two votes.
    if stage == "weighted-knn":
        stage = "weighted-knn:k=60"
    drawn = Chain.parse(stage).fit(data.with_counts(counts))
    copies = Chain.parse(stage.replace("k=60", "k=1000")).fit(
        data.take_rows(np.repeat(np.arange(data.n_samples), counts))
    )
    assert drawn.predict(data.X) == pytest.approx(copies.predict(data.X), rel=1e-9)


def test_the_rule_without_features_is_the_mean_of_the_training_rows():
    data = small()
    record = evaluated("correlation:top=2 knn:k=3", data)
    found = recorded_evaluation(record).evaluation
    fold = record.stages[-1].tables["fold"]
    want = []
    for row in fold:
        for number in range(5):
            y, mean = data.y[row == number], data.y[row != number].mean()
            want.append(1 - ((y - mean) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    assert found.baseline.name == "mean"
    assert found.baseline.values == pytest.approx(want)
    assert found.measures["r2"].baseline == pytest.approx(np.mean(want))
    assert found.leading.name == "r2" and found.agreement is None


def test_rows_of_the_test_part_teach_nothing():
    """What is predicted of a row does not change when its own target does."""
    data = small()
    base = "correlation:top={1,2} sklearn:estimator=Ridge,standardize=yes"
    before = evaluated(base, data).stages[-1].tables
    y = data.y.copy()
    y[7] += 100.0
    changed = Dataset.from_arrays(data.X, y, name="small")
    after = evaluated(base, changed).stages[-1].tables
    assert np.array_equal(before["fold"], after["fold"])
    for name in ("predicted", "all-features"):
        assert np.array_equal(before[name][:, 7], after[name][:, 7])
        others = np.delete(np.arange(data.n_samples), 7)
        assert not np.array_equal(before[name][:, others], after[name][:, others])


def test_tuning_goes_by_the_inner_error_and_a_table_is_not_stratified():
    data = small(80)
    record = evaluated("correlation:top={1,2,5} sklearn:estimator=LinearRegression", data)
    tuning = record.stages[-1].tables["tuning"]
    assert (tuning <= 1).all() and (tuning > 0).all()
    assert (tuning.argmax(axis=1) == record.stages[-1].tables["chosen"]).all()
    assert (tuning[:, 1] > tuning[:, 0]).all()
    sizes = np.bincount(record.stages[-1].tables["fold"][0])
    assert sizes.tolist() == [16] * 5


def test_groups_are_kept_together_and_leave_one_out_is_measured_over_all():
    data = small()
    grouped = Dataset.from_arrays(data.X, data.y, groups=np.arange(60) // 5, name="people")
    tables = evaluated("knn:k=3", grouped, "folds=4,repeats=2").stages[-1].tables
    for row in tables["fold"]:
        assert all(np.unique(part).size == 1 for part in row.reshape(12, 5))
    alone = recorded_evaluation(evaluated("knn:k=3", grouped, "scheme=leave-one-out")).evaluation
    assert alone.n_splits == 12
    found = recorded_evaluation(
        evaluated("correlation:top=2 knn:k=3", data, "scheme=leave-one-out,curve=[1,2]")
    ).evaluation
    r2 = found.measures["r2"]
    assert r2.pooled and 0 < r2.mean < 1 and np.isnan(r2.standard_error)
    assert found.curve[1].accuracy == pytest.approx(r2.mean)


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


def test_what_does_not_fit_the_label_is_refused_before_any_work():
    classes = Dataset.from_arrays(np.eye(20), ["a", "b"] * 10)
    for base, data, words in (
        ("margin", small(), "needs classes, not a numeric target"),
        ("sklearn:estimator=Ridge", classes, "needs a numeric target, not classes"),
        ("sklearn:estimator=GaussianNB", small(), "end the chain with a regressor"),
    ):
        with pytest.raises((DataError, RequestError), match=words):
            evaluated(base, data)
        with pytest.raises((DataError, RequestError), match=words):
            Chain.parse(base).run(data)
    with pytest.raises(RequestError, match="it is for classes, and the table has a numeric"):
        evaluated("knn", small(), "metric=[auc]")
    with pytest.raises(DataError, match="60 rows allow at most 60 folds"):
        evaluated("knn", small(), "folds=61")


def test_comparisons_and_stability_of_numeric_targets():
    data, other = small(), small(seed=4)
    other = Dataset.from_arrays(other.X, other.y, name="other")
    chains = ["correlation:top=2 sklearn:estimator=Ridge", "correlation:top=1 knn:k=3", "knn:k=3"]
    found = fsframe.compare(chains, [data, other], folds=4, repeats=2)
    assert found.comparison.metric == "r2" and found.comparison.rule == "mean"
    assert found.comparison.values.argmax(axis=1).tolist() == [0, 0]
    assert set(found.comparison.corrected) == {
        (d, i, j) for d in (0, 1) for i, j in ((0, 1), (0, 2), (1, 2))
    }
    assert np.isnan(found.comparison.accuracy).all()
    by_error = fsframe.compare(chains, data, folds=4, repeats=2, metric="rmse")
    assert not by_error.comparison.larger_is_better
    assert by_error.comparison.papers[0, 0, 1].difference > 0
    with pytest.raises(DataError, match="no measure applies to both"):
        fsframe.compare(
            ["knn", "weighted-knn"], [data, Dataset.from_arrays(np.eye(20), ["a", "b"] * 10)]
        )
    stable = fsframe.stability("correlation:top=2", data, n=10)
    assert stable.values["nogueira"] > 0.9


def test_a_regressor_of_ones_own_is_held_to_its_contract():
    import attrs

    class Two:
        def predict(self, X):
            return np.full((len(X), 2), 1.0)

    @attrs.frozen(kw_only=True)
    class Wrong(Regressor):
        def _fit(self, data, upstream, run):
            return Two()

    fitted = Wrong().fit(small(), None, Run())
    with pytest.raises(fsframe.errors.PluginError, match="one finite number for each row"):
        fitted.predict(small().X)
    with pytest.raises(RequestError, match="no class scores"):
        fitted.predict_scores(small().X)
    with pytest.raises(DataError, match="needs a numeric target, not classes"):
        Wrong().fit(Dataset.from_arrays(np.eye(4), ["a", "b"] * 2))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("one", 0), ("two", 4)):
        data = small(seed=seed)
        rows = [",".join([*data.feature_names, "y"])]
        rows += [
            ",".join(map(repr, map(float, [*x, y]))) for x, y in zip(data.X, data.y, strict=True)
        ]
        Path(f"{name}.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


QUICK = "--folds 4 --repeats 2 -q"
EVALUATE = f"evaluate correlation:top=2 knn:k=3 on one.csv {QUICK}"


def test_commands_from_the_table_to_the_page(folder):
    done = ran(f"{EVALUATE} --curve auto -o e.h5 --csv folds.csv")
    assert done.code == 0 and "larger class" not in done.out and "probabilities" not in done.out
    heading = next(line for line in done.out.split("\n") if line.startswith("measure "))
    assert heading.split() == ["measure", "value", "±", "95", "%", "mean", "all", "features"]
    header = Path("folds.csv").read_text().splitlines()[0]
    assert header == "split,features_kept,r2,mae,rmse,concordance"
    shown = ran("show e.h5").out
    assert all(line in shown for line in done.out.split("\n")[2:7])
    assert ran("verify e.h5").code == 0
    ridge = "correlation:top=2 sklearn:estimator=Ridge"
    done = ran(f"compare '{ridge}' knn:k=3 on one.csv two.csv {QUICK} -o cmp")
    assert done.code == 0, done.err
    assert "one, r2:" in done.out and "\nmean " in done.out
    rows = list(csv.DictReader(io.StringIO(Path("cmp/results.csv").read_text())))
    assert {row["metric"] for row in rows} == {"r2"} and rows[0]["accuracy"] == ""
    done = ran(f"chain {ridge} on one.csv -q -o c.h5")
    assert done.code == 0, done.err
    done = ran("predict c.h5 on two.csv")
    lines = list(csv.reader(io.StringIO(done.out)))
    assert done.code == 0 and lines[0] == ["row", "prediction"]
    want = fsframe.read("two.csv").y
    assert np.corrcoef([float(line[1]) for line in lines[1:]], want)[0, 1] > 0.95
    Path("s.toml").write_text(
        'chains = ["correlation:top=2 knn:k=3", "knn:k=3"]\ntables = ["one.csv"]\nfolds = 3\n'
    )
    done = ran("study s.toml -q")
    assert done.code == 0, done.err
    assert (
        Path("s/table-r2.tex").is_file() and "a numeric target" in Path("s/methods.md").read_text()
    )


def test_pictures_and_pages_adapt_or_refuse_by_name(folder):
    assert ran(f"{EVALUATE} --curve auto -o e.h5").code == 0
    assert ran(f"{EVALUATE.replace('k=3', 'k=1')} -o f.h5").code == 0
    for kind, runs in (("sizes", "e.h5"), ("pareto", "e.h5 f.h5")):
        done = ran(f"plot {kind} {runs} -o {kind}.svg")
        assert done.code == 0, done.err
        text = Path(f"{kind}.svg").read_text()
        assert "R²" in text and "accuracy" not in text
    for kind in ("roc", "calibration"):
        done = ran(f"plot {kind} e.h5 -o {kind}.svg")
        assert done.code == 2 and "numeric target" in done.err and "no classes" in done.err
    done = ran("report e.h5 -o e.html")
    assert done.code == 0, done.err
    page = Path("e.html").read_text()
    assert "R²" in page and "larger class" not in page and "always predicting the mean" in page
    assert ran("report e.h5 f.h5 -o both.html").code == 0
