"""Groups of features, time and covariates: read, honoured or refused by name, stored."""

import attrs
import numpy as np
import polars
import pytest
from scipy import stats

import fsframe
from fsframe import Chain, Dataset, read
from fsframe.errors import DataError
from fsframe.evaluation.folds import folds_in_time
from fsframe.evaluation.summary import summarise
from fsframe.resampling.groups import rotated_labels
from fsframe.storage import load_run
from tests.same_process import fsframe as run


@pytest.fixture(scope="module")
def confounded():
    """f1 follows the stratum z, which the class follows; f8 follows the class within strata."""
    draw = np.random.default_rng(0)
    z = draw.integers(0, 3, 240)
    y = (draw.random(240) < 0.1 + 0.4 * z).astype(int)
    X = draw.normal(size=(240, 9))
    X[:, 0], X[:, 7], X[:, 8] = z + 0.3 * X[:, 0], 0.8 * y + X[:, 7], z
    return Dataset.from_arrays(X, y)


def test_partial_f_is_that_of_two_linear_models(confounded):
    data = confounded.with_roles(adjust=["f9", "f2"])
    selection = fsframe.selectors["anova-f"]().select(data)
    y, Z, n = data.y, data.covariates.values, data.n_samples
    D = np.column_stack([np.ones(n), Z])
    for column in range(data.n_features):
        x = data.X[:, column]
        rss = [np.linalg.lstsq(model, x)[1][0] for model in (D, np.column_stack([D, y]))]
        F = (rss[0] - rss[1]) / (rss[1] / (n - 4))
        assert selection.scores[column] == pytest.approx(F, rel=1e-9)
        assert selection.tables["p_values"][column] == pytest.approx(
            stats.f.sf(F, 1, n - 4), rel=1e-7
        )


def test_conditional_information_and_chi2_are_sums_over_strata(confounded):
    X = (confounded.X > 0.5).astype(float)
    X[:, 8] = confounded.X[:, 8]
    data = Dataset.from_arrays(X, confounded.y).with_roles(adjust="f9")
    strata = [np.flatnonzero(X[:, 8] == level) for level in range(3)]
    bits, chi2 = np.zeros(8), np.zeros(8)
    for rows in strata:
        part = Dataset.from_arrays(X[rows][:, :8], data.y[rows])
        bits += fsframe.selectors["mim"]().select(part).scores * len(rows) / data.n_samples
        chi2 += fsframe.selectors["chi2"]().select(part).scores
    assert fsframe.selectors["mim"]().select(data).scores == pytest.approx(bits, abs=1e-12)
    assert fsframe.selectors["chi2"]().select(data).scores == pytest.approx(chi2, abs=1e-9)


@pytest.mark.parametrize("name", ["mim", "chi2", "jmi"])
def test_numbers_cut_at_quintiles_to_adjust_are_named_and_no_stratum_is_counted(confounded, name):
    selection = fsframe.selectors[name]().select(confounded.with_roles(adjust=["f1", "f9"]))
    fifths, bins = selection.warnings
    assert fifths.startswith("adjusted within fifths of f1, in which features that follow it")
    assert bins.startswith("all 7 columns were cut into bins")
    few = fsframe.selectors[name]().select(confounded.with_roles(adjust="f9"))
    assert few.warnings == ("all 8" + bins.removeprefix("all 7"),)
    # Whatever a column is called.
    names = ("strata of f1", *confounded.feature_names[1:8])
    named = attrs.evolve(confounded.take_columns(np.arange(8)), feature_names=names)
    assert fsframe.selectors["jmi"](given=[names[0]]).select(named).warnings == few.warnings


# Of methods by themselves, and of what the covariates explain, the conformance suite sees to it.
@pytest.mark.parametrize(
    "chain",
    ["mim:discretise=mdl", "mim:estimator=knn", "relieff turf", "mim:top=3 relieff ensemble:n=4"],
)
def test_what_knows_no_covariates_refuses_before_any_work(confounded, chain):
    with pytest.raises(DataError, match=r"cannot adjust for f9 \(--adjust\)"):
        Chain.parse(chain).run(confounded.with_roles(adjust="f9"))


def test_npfs_permutes_labels_within_strata_whatever_it_resamples(confounded):
    adjusted = confounded.with_roles(adjust="f9")
    plain = confounded.take_columns(np.arange(8))
    chain = Chain.parse("relieff:top=3 npfs:n=20,permutations=20,alpha=0.05")
    assert "f1" in chain.run(plain, seed=1).selected_names
    alone = chain.run(adjusted, seed=1)
    assert "f8" in alone.selected_names and "f1" not in alone.selected_names
    assert alone.environment["adjust"] == ["f9"]
    spread = chain.run(adjusted, seed=1, executor=None)
    assert (
        spread.stages[-1].selection.scores.tobytes() == alone.stages[-1].selection.scores.tobytes()
    )
    determined = attrs.evolve(adjusted, y=(confounded.X[:, 8] > 0).astype(np.int64))
    # Told beside other problems, before the base has worked.
    told = fsframe.selectors["npfs"]().role_problems(determined)
    assert any("determine the label" in said for said in told)
    with pytest.raises(DataError, match="determine the label"):
        chain.run(determined, seed=1)
    for base in ("mim:top=3", "chi2:top=3,discretise=equal-width", "mim:top=3 cpss"):
        with pytest.raises(DataError, match=r"each level of f9 .* leave it out"):
            Chain.parse(base).run(determined)


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize(
    "adjust", ["age", "age,site", "age,clinic", "age,weight", "age,weight,site"]
)
def test_permuted_labels_follow_the_numbers_as_the_true_ones_do(adjust, skewed):
    # Features that follow the numbers, and the label only through them, would look relevant.
    rng = np.random.default_rng(5)
    numbers, site = rng.normal(size=(1000, 2)), rng.integers(0, 3, size=1000)
    clinic = rng.integers(0, 60, size=1000)
    given = np.sinh(4 * numbers) if skewed else numbers
    covariates = dict(
        zip(("age", "weight", "site", "clinic"), (*given.T, site, clinic), strict=True)
    )
    followed = numbers[:, 0] * (1.0 if "weight" not in adjust else numbers[:, 1])
    if adjust == "age,site":
        followed = np.sin(2 * followed)
    y = (followed + 0.3 * rng.normal(size=1000) > 0).astype(int)
    X = np.column_stack([rng.normal(size=1000), *covariates.values()])
    data = Dataset.from_arrays(X, y, ["x", *covariates], categorical=[4])
    data = data.with_roles(adjust=adjust.split(","))
    permuted = fsframe.registry.nulls["permutation"]().labels(data, rng)
    assert (permuted != y).mean() > 0.02
    follows = np.corrcoef([permuted, y], followed)[:2, 2]
    assert follows[0] == pytest.approx(follows[1], abs=0.015)
    assert np.array_equal(np.bincount(permuted), np.bincount(y))


@pytest.mark.parametrize("task", ["regression", "survival", "three classes", "nine classes"])
def test_labels_of_any_kind_are_permuted_among_rows_of_like_covariates(task):
    rng = np.random.default_rng(6)
    Z = rng.normal(size=(600, 3))
    y = np.abs(3.0 + Z.sum(axis=1) + 0.3 * rng.normal(size=600)) + 0.01
    event = (rng.random(600) < 0.5) * 1.0
    if "classes" in task:
        parts = 3 if task == "three classes" else 9
        y = np.searchsorted(np.quantile(y, np.arange(1, parts) / parts), y)
    X, names = np.column_stack([rng.normal(size=600), Z]), ["x", "a", "b", "c"]
    given = {"event": event} if task == "survival" else {}
    kind = {} if task != "regression" else {"task": "regression"}
    data = Dataset.from_arrays(X, y, names, **given, **kind).with_roles(adjust=["a", "b", "c"])
    permuted = fsframe.registry.nulls["permutation"]().labels(data, rng)
    assert (permuted != data.y).mean() > 0.1
    near = np.corrcoef([np.abs(permuted), np.abs(data.y)], Z.sum(axis=1))[:2, 2]
    assert near[0] == pytest.approx(near[1], abs=0.03)


def test_a_numeric_target_follows_the_covariate_within_strata_hardly_at_all():
    rng = np.random.default_rng(0)
    age = rng.normal(size=200)
    y = age + 0.5 * rng.normal(size=200)
    data = Dataset.from_arrays(np.column_stack([age, age]), y, ["x", "age"], task="regression")
    null = fsframe.registry.nulls["permutation"]()
    data = data.with_roles(adjust="age")
    permuted = [np.corrcoef(null.labels(data, rng), age)[0, 1] for _ in range(20)]
    assert np.mean(permuted) == pytest.approx(np.corrcoef(y, age)[0, 1], abs=0.004)


def test_groups_of_features_are_kept_whole_and_stored(tmp_path, confounded):
    path = tmp_path / "sets.csv"
    path.write_text("feature,group\nf8,pair\nf2,pair\nf3,other\nf4,other\n")
    table = tmp_path / "t.csv"
    names = [f"f{k + 1}" for k in range(9)]
    frame = polars.DataFrame(dict(zip(names, confounded.X.T, strict=True)))
    frame.with_columns(polars.Series("class", confounded.y)).write_csv(table)
    data = read(table, feature_groups=path)
    assert data.feature_groups == {"pair": ("f8", "f2"), "other": ("f3", "f4")}
    done = run("chain", "jmi:top=2", "on", str(table), "--feature-groups", str(path), "-o",
               str(tmp_path / "r.h5"), "--keep", "f3,f4", code=0)  # fmt: skip
    header = "9 features (f3, f4 always kept; in 2 groups kept or dropped whole)"
    assert header in done.out
    assert header in run("show", str(tmp_path / "r.h5")).out
    record = load_run(tmp_path / "r.h5")
    kept = set(record.selected_names)
    assert {"f2", "f8"} <= kept or not {"f2", "f8"} & kept
    assert record.environment["feature_groups"]["pair"] == ["f8", "f2"]
    frames = read(frame.with_columns(polars.Series("class", confounded.y)), label="class",
                  feature_groups={"pair": ["f8", "f2"], "other": ["f3", "f4"]})  # fmt: skip
    assert frames.sha256 == data.sha256
    # Run files store groups by name: their order in the file identifies no other table.
    for command in ("audit", "table"):
        assert "no longer" not in run(command, str(tmp_path / "r.h5"), code=0).err
    for text, told in (("f1,a\nf1,b\n", "two groups"), ("g1,a\n", "not features: 'g1'"),
                       ("f1\n", "line 1: 1 fields"), ("", "holds no feature groups")):  # fmt: skip
        path.write_text(text)
        with pytest.raises(DataError, match=told):
            read(table, feature_groups=path)


def test_indicators_of_one_column_are_one_group():
    draw = np.random.default_rng(2)
    colour = draw.integers(0, 3, 90)
    X = np.column_stack([colour, draw.normal(size=90)])
    data = Dataset.from_arrays(X, (colour == 1).astype(int), categorical=[0]).encoded("onehot")
    assert data.feature_groups == {"f1": ("f1=0", "f1=1", "f1=2")}
    assert set(Chain.parse("anova-f:top=1").run(data).selected_names) == {"f1=0", "f1=1", "f1=2"}


@pytest.fixture(scope="module")
def series():
    draw = np.random.default_rng(4)
    times = draw.permutation(120)
    y = draw.permutation(np.arange(30) % 2)[times // 4]
    X = draw.normal(size=(120, 6))
    X[:, 1], X[:, 5] = X[:, 1] + 2 * y, times
    return Dataset.from_arrays(X, y).with_roles(time="f6")


def test_training_is_always_before_test(series):
    times = series.times.values[:, 0]
    for split in folds_in_time(series.y, times, 4):
        assert times[split.train].max() < times[split.test].min()
    evaluation = fsframe.evaluate("mim:top=2 knn", series, folds=4, repeats=1, seed=0)
    fold = evaluation.stages[0].selection.tables["fold"][0]
    assert [int((fold == k).sum()) for k in range(-1, 4)] == [24] * 5
    assert evaluation.environment["time"] == "f6"
    tested = fold >= 0
    predicted = evaluation.stages[0].selection.tables["predicted"][0]
    assert (predicted[tested] == series.y[tested]).mean() > 0.7 and (predicted[~tested] == -1).all()


def test_intervals_count_what_was_learned_from_and_what_was_tested(series, batches):
    evaluation = fsframe.evaluate("mim:top=2 knn", series, folds=4, repeats=1, seed=0)
    # 24 rows are tested by 24, 48, 72 and 96.
    assert summarise(evaluation.stages[0].selection).test_to_train == pytest.approx(24 / 60)
    grouped = fsframe.evaluate("mim:top=2 knn", batches, folds=4, repeats=1, seed=0)
    assert summarise(grouped.stages[0].selection).by_group.n_groups == 32


def test_the_future_changes_no_prediction(series):
    changed = series.X.copy()
    late = series.times.values[:, 0] >= np.sort(series.times.values[:, 0])[48]
    changed[late] = 99.0
    later = attrs.evolve(series, matrix=changed)
    tables = [
        fsframe.evaluate("mim:top=2 knn", data, folds=4, repeats=1).stages[0].selection.tables
        for data in (series, later)
    ]
    first = tables[0]["fold"][0] == 0
    assert np.array_equal(tables[0]["predicted"][0][first], tables[1]["predicted"][0][first])


@pytest.mark.parametrize(
    "ask",
    [
        lambda data: fsframe.evaluate("mim:top=2 knn", data, folds=4, repeats=2),
        lambda data: fsframe.evaluate("mim:top={1,2} knn", data, folds=4, repeats=1),
        lambda data: Chain.parse("relieff:permutations=99").run(data),
        lambda data: Chain.parse("immigrate:sigma=cv").run(data),
        lambda data: Chain.parse("lasso").run(data),
        lambda data: Chain.parse("boruta").run(data),
    ],
)
def test_what_takes_rows_out_of_order_refuses(series, ask):
    with pytest.raises(DataError, match="f6"):
        ask(series)


def test_bootstraps_draw_stretches_and_labels_are_rotated(series):
    kept = Chain.parse("mim:top=2 npfs:n=20,permutations=20,alpha=0.05").run(series, seed=3)
    assert "f2" in kept.selected_names
    assert fsframe.stability("mim:top=2", series, n=6).environment["time"] == "f6"
    times = np.array([3.0, 1, 2, 0])
    result = rotated_labels(np.array([0, 1, 2, 3]), times, np.random.default_rng(5))
    assert sorted(result) == [0, 1, 2, 3] and not np.array_equal(result, [0, 1, 2, 3])
    in_time = np.argsort(times)
    steps = np.diff(np.append(result[in_time], result[in_time][0]))
    assert sorted(steps) == sorted(np.diff(np.append(np.array([0, 1, 2, 3])[in_time], 3)))


def test_roles_are_checked_together():
    data = Dataset.from_arrays([[1.0, 2, 0], [2, 1, 1], [3, 0, np.nan]], [0, 1, 0])
    with pytest.raises(DataError, match=r"missing or infinite in 1 row, the first in row 3"):
        data.with_roles(adjust="f3")
    with pytest.raises(DataError, match="cannot be both the time and a covariate"):
        data.with_roles(time="f1", adjust="f1")
    with pytest.raises(DataError, match=r"no column 'f9' \(time\)"):
        data.with_roles(time="f9")
    with pytest.raises(DataError, match="no feature is left"):
        data.take_columns(np.array([0, 1])).with_roles(time="f1", adjust=["f2"])


@pytest.fixture(scope="module")
def batches():
    """40 batches of 3 rows one after another; the label is a batch's, and the second column's."""
    draw = np.random.default_rng(9)
    place = draw.permutation(120)
    batch = place // 3
    y = draw.permutation(np.arange(40) % 2)[batch]
    X = draw.normal(size=(120, 5))
    X[:, 1], X[:, 4] = X[:, 1] + 2 * y, place
    return Dataset.from_arrays(X, y, groups=batch, group_name="batch").with_roles(time="f5")


def test_groups_lie_wholly_before_or_after_in_every_fold(batches):
    times = batches.times.values[:, 0]
    for split in folds_in_time(batches.y, times, 6, (), batches.groups):
        assert times[split.train].max() < times[split.test].min()
        assert not set(batches.groups[split.train]) & set(batches.groups[split.test])
    evaluation = fsframe.evaluate("mim:top=2 knn", batches, folds=6, repeats=1, seed=0)
    fold = evaluation.stages[0].selection.tables["fold"][0]
    assert all(np.unique(fold[batches.groups == batch]).size == 1 for batch in range(40))
    assert evaluation.environment["time"] == "f5" and evaluation.groups == ("batch", 40)


def test_stretches_of_time_hold_whole_groups(batches):
    for stretch in np.unique(batches.together):
        rows = batches.together == stretch
        assert not set(batches.groups[rows]) & set(batches.groups[~rows])


def test_labels_of_groups_are_handed_on_in_time():
    times = np.array([5.0, 4, 3, 2, 1, 0])
    groups = np.array([0, 0, 1, 1, 2, 2])
    for seed in range(6):
        moved = rotated_labels(
            np.array([7, 7, 8, 8, 9, 9]), times, np.random.default_rng(seed), groups
        )
        assert moved.tolist() in ([9, 9, 7, 7, 8, 8], [8, 8, 9, 9, 7, 7])
        within = rotated_labels(
            np.array([0, 1, 2, 3, 3, 3]), times, np.random.default_rng(seed), groups
        )
        assert within.tolist() == [1, 0, 3, 2, 3, 3]


@pytest.mark.parametrize(
    "ask",
    [
        lambda data: fsframe.evaluate("mim:top=2 knn", data, folds=3, repeats=1),
        lambda data: fsframe.compare(["mim knn", "chi2 knn"], [data], folds=3, repeats=1),
        lambda data: fsframe.stability("mim:top=2", data, n=6),
    ],
)
def test_groups_that_overlap_in_time_are_refused_with_a_way_out(batches, ask):
    values = batches.times.values % 7
    overlapping = attrs.evolve(batches, times=attrs.evolve(batches.times, values=values))
    with pytest.raises(DataError, match=r"overlap(?s:.*)(leave|Leave) out the time"):
        ask(overlapping)
    # What draws nothing has nothing to keep in order.
    assert Chain.parse("mim:top=2").run(overlapping).selected_names
