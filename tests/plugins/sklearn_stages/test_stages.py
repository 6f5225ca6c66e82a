"""What the stages promise beside scikit-learn's results: refusals, groups, copies, the test."""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from functools import partial

import attrs
import numpy as np
import pytest
from sklearn.utils.parallel import delayed

import fsframe
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.table.dataset import Dataset
from fsframe_filters.columns import Correlation, Variance
from fsframe_sklearn.boruta import Boruta, _adjusted_p_values
from fsframe_sklearn.by_name import SklearnSelector
from fsframe_sklearn.elimination import Rfe, Rfecv, Sequential
from fsframe_sklearn.estimators import counted_data, guarded, make_folds
from fsframe_sklearn.learners import Importance
from fsframe_sklearn.penalised import ElasticNet, Lasso
from tests.command_line import python
from tests.plugins.shared import ROOT, keep_steps, people

FAST_FOREST = json.dumps({"n_estimators": 5})


def table(n=60, p=6, seed=0, task="classification"):
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, p))
    signal = 2 * X[:, 1] + X[:, 3] + 0.3 * generator.standard_normal(n)
    y = signal > 0 if task == "classification" else signal
    return Dataset.from_arrays(X, y, task=task)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_score_that_draws_noise_draws_it_from_the_seed(task):
    name = "mutual_info_classif" if task == "classification" else "mutual_info_regression"
    options = json.dumps({"k": 2, "score_func": name})
    method = SklearnSelector(estimator="SelectKBest", options=options)
    # The noise breaks ties.
    plain = table(task=task)
    tied = Dataset.from_arrays(np.round(plain.X), plain.y, task=task)
    found = []
    for state in range(4):
        np.random.seed(state)
        found.append(method.select(tied, seed=3).scores.tobytes())
    assert len(set(found)) == 1
    assert len({method.select(tied, seed=seed).scores.tobytes() for seed in range(4)}) > 1


# Requests


@pytest.mark.parametrize(
    ("stage", "task", "words"),
    [
        ("importance:of=Ridge", "classification", "of=Ridge is not a classifier"),
        ("rfe:of=SVC", "regression", "of=SVC is not a regressor"),
        ('boruta:options={"criterion": "gini"}', "regression", "criterion"),
        ("sklearn-selector:estimator=SelectKBest", "regression", "f_regression"),
        ("rfe:of=SVC", "classification", "rfe: of=SVC has coefficients only with a linear kernel"),
        ("importance:of=NuSVR", "regression", "of=LinearSVR"),
        ("rfecv:folds=999", "classification", "rfecv: 999 folds need at least as many rows"),
        ("sequential:folds=999", "classification", "sequential: 999 folds need"),
        ("lasso:folds=999", "regression", "lasso: 999 folds need"),
        ("importance:measure=held-out,folds=999", "regression", "importance: 999 folds need"),
    ],
)
def test_what_does_not_suit_the_table_is_reported_before_any_stage_runs(stage, task, words):
    with pytest.raises(RequestError, match=words):
        Chain.parse(f"variance {stage}").check_request(table(task=task))
    with pytest.raises(RequestError, match=words):
        Chain.parse(f"npfs:base=({stage})").check_request(table(task=task))


def test_an_estimator_that_says_nothing_of_columns_is_refused_by_name():
    with pytest.raises(
        RequestError, match="importance: GaussianNB: the estimator has neither coef_"
    ):
        Importance(of="GaussianNB").select(table())
    selection = Importance(of="GaussianNB", measure="held-out", folds=2).select(table())
    assert selection.selected[0] == 1


def test_columns_without_importance_that_fill_up_top_are_noted():
    stump = {"of": "DecisionTreeClassifier", "options": {"max_depth": 1}}
    filled = Importance(top=2, **stump).select(table())
    assert filled.warnings == ("columns without importance (0 or less) are kept to reach top",)
    assert not Importance(top=1, **stump).select(table()).warnings


_WITHOUT = """
import contextlib, io, json, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "sklearn":
            raise ModuleNotFoundError("No module named 'sklearn'", name=name)
sys.meta_path.insert(0, Absent())
from fsframe.cli import _run
found = []
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        found.append([_run(words), said.getvalue()])
print(json.dumps(found))
"""


def test_what_is_no_estimator_imports_no_scikit_learn():
    on = ["on", str(ROOT / "examples/parkinsons.csv"), "--no-out"]
    expected = [
        (["plugins"], 0, "12 methods"),
        (["methods", "boruta"], 0, "Kursa"),
        (["chain", "variance", "correlation", *on], 0, "represents"),
    ]
    result = json.loads(python("-c", _WITHOUT, json.dumps([each[0] for each in expected])).out)
    for (words, code, said), (exit_code, text) in zip(expected, result, strict=True):
        assert exit_code == code and said in text, (words, text)


# Rows


@pytest.mark.parametrize(
    ("method", "refused"),
    [
        (Importance(options=FAST_FOREST), ""),
        (Boruta(trees=10, max_runs=5, alpha=0.3), ""),
        (Sequential(of="HistGradientBoostingClassifier", folds=2, top=1), ""),
        (Variance(), ""),
        (Importance(of="LogisticRegression"), "missing values in 'f1', 'f5'"),
        (Rfe(), "missing values in 'f1', 'f5'"),
        (Sequential(folds=2), "missing values in 'f1', 'f5'"),
        (SklearnSelector(estimator="SelectKBest", options='{"k": 2}'), "values in 'f1', 'f5'"),
        (Lasso(), "does not take missing values"),
        (ElasticNet(), "does not take missing values"),
        (Correlation(), "does not take missing values"),
    ],
)
def test_missing_values_are_taken_where_the_estimator_takes_them(method, refused):
    X = table().X.copy()
    X[::7, 0] = X[3, 4] = np.nan
    with pytest.raises(DataError, match=refused) if refused else contextlib.nullcontext():
        assert method.select(Dataset.from_arrays(X, table().y)).selected.size


def test_copies_and_groups_are_never_on_both_sides_of_a_fold():
    data = table()
    counts = np.random.default_rng(2).multinomial(60, np.full(60, 1 / 60))
    drawn = data.with_counts(counts).take_rows(np.flatnonzero(counts))
    people = attrs.evolve(data, groups=np.arange(60) // 4, group_name="person")
    for given in (drawn, people):
        _, y, unit = counted_data(given)
        splits = make_folds(given, y, unit, 5, np.random.default_rng(0), "x")
        assert sorted(np.concatenate([test for _, test in splits])) == list(range(len(y)))
        for train, test in splits:
            assert not set(unit[train]) & set(unit[test])
    with pytest.raises(DataError, match="rfecv: 5 folds need"):
        Rfecv().select(attrs.evolve(data, groups=np.arange(60) // 15, group_name="person"))


def test_held_out_groups_show_that_nothing_was_learned():
    data = people(7, 24, 5, 8, 0.05)
    stage = Importance(of="KNeighborsClassifier", options='{"n_neighbors": 1}', measure="held-out")
    kept_apart = stage.select(data).scores
    mixed = stage.select(attrs.evolve(data, groups=None, group_name="")).scores
    assert mixed.min() > 0.02
    assert abs(kept_apart.mean()) < 0.02


@pytest.mark.parametrize(
    "method",
    [
        Boruta(),
        SklearnSelector(estimator="RFECV", options='{"estimator": "LinearSVC"}'),
    ],
)
def test_groups_that_would_be_taken_apart_are_refused(method):
    with pytest.raises(DataError, match=r"rows of one 'person' together: .*\(--drop person\)"):
        method.select(people(7, 24, 5, 8, 0.05))


@pytest.mark.parametrize("stage", [Importance, Rfe, Rfecv, partial(Sequential, top=1)])
def test_warnings_of_fits_are_stored_with_the_result(stage):
    made = stage(of="LogisticRegression", options='{"max_iter": 1}')
    assert any(text.startswith("ConvergenceWarning: ") for text in made.select(table()).warnings)


@pytest.mark.parametrize("method", [Lasso(top=3), ElasticNet(top=3)])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_counts_weigh_as_copies_do_where_no_penalty_is_chosen(method, task):
    data = table(task=task)
    counts = np.random.default_rng(1).multinomial(60, np.full(60, 1 / 60))
    copied = data.take_rows(np.repeat(np.arange(60), counts))
    one, other = method.select(data.with_counts(counts)), method.select(copied)
    assert one.selected.tolist() == other.selected.tolist()
    assert one.scores == pytest.approx(other.scores, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("method", [Rfe, Rfecv])
def test_help_names_the_estimator_that_rfe_fits_and_a_quicker_one(method):
    (told,) = (each.help for each in method.parameters() if each.name == "of")
    assert 'SVC or SVR with kernel="linear"' in told and "LinearSVC" in told


def test_the_forecast_of_importance_is_that_of_its_trees():
    def seconds(text: str, n: int = 1000, p: int = 200) -> float | None:
        cost = Chain.parse(text).cost(n, p)
        return None if cost is None else cost.seconds

    stumps = 'of=GradientBoostingClassifier,options={"max_depth":1,"max_features":0.25}'
    assert seconds("importance") == pytest.approx(100 * (1.2e-3 + 8.46e-3), rel=0.01)
    assert seconds(f"importance:{stumps}") == pytest.approx(100 * (0.6e-3 + 4e-3), rel=0.01)
    assert seconds("importance:of=LinearDiscriminantAnalysis") is None
    assert seconds("importance:measure=held-out,of=LogisticRegression") is None


BOOSTED, MISSED = (
    "importance:of=GradientBoostingClassifier",
    "choose the same columns on every half",
)
ORDERED = "top=10, which keeps the first"


@pytest.mark.parametrize(
    ("chain", "rare", "said"),
    [
        (f"{BOOSTED} ipss", True, MISSED),
        (f"ipss:base=({BOOSTED})", True, MISSED),
        (f"{BOOSTED} ipss", False, ""),
        ("importance ipss", True, ""),
        (f"{BOOSTED} ipss:bound=permutation", True, ""),
        (f"{BOOSTED} npfs", True, ""),
        ("lasso cpss", False, f"lasso: .*{ORDERED}"),
        ("mim:top=20 elastic-net npfs", False, f"elastic-net: .*{ORDERED}"),
        ("ipss:base=lasso", False, f"lasso: .*{ORDERED}"),
        ("lasso:top=5 cpss", False, ""),
        ("lasso:score_by=coefficient knockoffs", False, ""),
        ("lasso", False, ""),
        ("npfs:base=mim lasso", False, ""),
        ("mim npfs lasso", False, ""),
    ],
)
def test_what_misses_its_level_or_keeps_the_first_of_a_path_is_said_before_the_run(
    chain, rare, said
):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 30))
    if rare:
        X = (generator.random((60, 8)) < 0.1).astype(float)
    told = [*Chain.parse(chain).forewarnings(Dataset.from_arrays(X, np.arange(60) % 2))]
    about = [line for line in told if MISSED in line or ORDERED in line]
    assert len(about) == bool(said) and all(re.search(said, line) for line in about)


# Boruta


def test_what_boruta_confirms_is_said_to_be_of_these_rows():
    X = np.random.default_rng(0).normal(size=(80, 5))
    label = X[:, 3] > 0
    said = "holds over forests, which all see the same rows"
    selection = Boruta(trees=8, max_runs=12).select(Dataset.from_arrays(X, label))
    assert selection.selected.tolist() == [3] and any(said in text for text in selection.warnings)
    few = Boruta(trees=8, max_runs=2).select(Dataset.from_arrays(X, label))
    ranked = Boruta(trees=8, max_runs=12, top=1).select(Dataset.from_arrays(X, label))
    assert not any(said in text for text in (*few.warnings, *ranked.warnings))


def test_the_test_of_boruta_is_the_published_one():
    # R's Boruta: p.adjust(pbinom(hits − 1, runs, 0.5, lower.tail = FALSE), "bonferroni") < alpha.
    decision = np.zeros(4, dtype=np.int64)
    stage = Boruta(alpha=0.05)
    stage._decide(decision, np.array([6, 0, 3, 5]), 6)
    assert decision.tolist() == [0, 0, 0, 0]  # 4 / 64 is more than 0.05
    stage._decide(decision, np.array([7, 0, 3, 6]), 7)
    assert decision.tolist() == [1, -1, 0, 0]  # 4 / 128 is less, 4 · 8 / 128 is more
    stage._decide(decision, np.array([7, 8, 3, 6]), 8)
    assert decision.tolist() == [1, -1, 0, 0], "what is decided stays so"


def test_the_two_step_test_of_boruta_decides_after_fewer_forests():
    # 10 of 1000 columns always win, the others never: both tails are 2^−t. Of BorutaPy's two tests
    # the second, 2^−t <= alpha / t, decides: first at t = 8.
    hits = np.r_[np.ones(10, np.int64), np.zeros(990, np.int64)]
    for correction, t in (("two-step", 8), ("bonferroni", 15)):
        stage = Boruta(alpha=0.05, correction=correction)
        decision = np.zeros(1000, dtype=np.int64)
        stage._decide(decision, hits * (t - 1), t - 1)
        assert not decision[10:].any()
        stage._decide(decision, hits * t, t)
        assert (decision[10:] == -1).all()
    # Within the columns the rate of false discoveries: ten at 2^−12 are found among 1000,
    # 1000 / 10 · 2^−12 = 0.024, and one alone is not.
    stage, lone = Boruta(alpha=0.05, correction="two-step"), np.r_[12, np.full(999, 6)]
    for winners, found in ((np.where(np.arange(1000) < 10, 12, 6), 10), (lone, 0)):
        decision = np.zeros(1000, dtype=np.int64)
        stage._decide(decision, winners, 12)
        assert (decision == 1).sum() == found


def test_boruta_tells_how_many_forests_it_takes_to_confirm_a_column():
    data = table(p=30)
    selection = Boruta(trees=5, max_runs=3, alpha=0.05).select(data)
    (told,) = [w for w in selection.warnings if "no column is confirmed" in w]
    assert "that takes 10 forests or more" in told  # 30 / 2^9 is above 0.05, 30 / 2^10 below


def test_boruta_tells_what_it_saw():
    data = table(p=8)
    selection = Boruta(trees=15, max_runs=12, alpha=0.05).select(data)
    tables = selection.tables
    best = tables["best-shadow"][:, None]
    seen = ~np.isnan(tables["importance"])
    assert tables["forests"].tolist() == seen.sum(axis=0).tolist()
    hits = np.nansum(np.where(seen, tables["importance"] > best, 0), axis=0)
    assert tables["hits"].tolist() == hits.tolist()
    assert set(selection.selected) == set(np.flatnonzero(tables["decision"] == 1)) >= {1, 3}
    tentative = [data.feature_names[c] for c in np.flatnonzero(tables["decision"] == 0)]
    told = "".join(w for w in selection.warnings if "tentative" in w)
    assert all(name in told for name in tentative) and bool(tentative) == bool(told)
    rejected = tables["decision"] == -1
    assert (tables["forests"][rejected] < len(best)).all() or len(best) < 12


def test_the_best_copies_are_draws_of_the_best_irrelevant_column():
    table = np.array([[4.0, 2.0, 1.0], [8.0, 2.0, np.nan], [6.0, 3.0, 1.0]])
    shadows, typical = np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 1.0])
    # Divided by the typical copy: means 14/3, 2 and 1 of the columns; copies 2, 2 and 6.
    result = _adjusted_p_values(table, shadows, typical)
    assert result == pytest.approx([2 / 4, 4 / 4, 4 / 4])
    assert _adjusted_p_values(table[:, :1], shadows * 0.7, typical) == pytest.approx([1 / 4])


def test_boruta_over_tables_needs_a_column_that_few_best_copies_reach():
    data = table(p=8)
    stage = Boruta(trees=10, max_runs=19, alpha=0.05, correction="best-shadow")
    selection = stage.select(data)
    kept = selection.tables["decision"] == 1
    assert np.flatnonzero(kept).tolist() == sorted(selection.selected.tolist()) == [1, 3]
    assert (kept == (selection.tables["p_adjusted"] <= 0.05)).all()
    assert len(selection.tables["best-shadow"]) == 19, (
        "nothing is decided for a column before the last"
    )
    assert not any("tentative" in w or "holds over forests" in w for w in selection.warnings)
    null = Dataset.from_arrays(data.X, np.random.default_rng(9).permutation(data.y))
    assert stage.select(null).selected.size == 0


def test_boruta_shuffles_copies_of_a_drawn_row_as_one():
    """One by one, true columns would know a row that was drawn, shuffled ones would not."""
    generator = np.random.default_rng(5)
    data = Dataset.from_arrays(generator.standard_normal((40, 6)), np.arange(40) % 2)
    counts = generator.multinomial(120, np.full(40, 1 / 40))
    drawn = data.with_counts(counts)
    copied = data.take_rows(np.repeat(np.arange(40), counts))
    stage = Boruta(trees=15, max_runs=6, top=6)
    as_counts = stage.select(drawn).tables["hits"].sum()
    as_rows = stage.select(copied).tables["hits"].sum()
    assert as_counts <= 12 < 20 <= as_rows


def test_forests_that_were_kept_are_not_grown_again(monkeypatch):
    keep_steps(monkeypatch)
    first = Boruta(trees=5, max_runs=4).select(table())
    monkeypatch.setattr(Boruta, "_one_forest", print)
    again = Boruta(trees=5, max_runs=4).select(table())
    assert again.scores.tobytes() == first.scores.tobytes()


# In chains


def test_a_lasso_under_npfs_and_stability():
    data = table(n=50, p=5)
    selection = Chain.parse("lasso:top=2,penalties=10 npfs:n=20,null=published").select(data)
    assert {1, 3} <= set(selection.selected)
    weak = Lasso(top=2, weakness=0.4)
    drawn = {weak.select(data, seed=seed).scores.tobytes() for seed in range(6)}
    assert len(drawn) > 2, "a randomised lasso draws columns anew for every seed"
    assert weak.select(data, seed=3).scores.tobytes() == weak.select(data, seed=3).scores.tobytes()


def test_what_the_left_stage_found_best_stands_for_its_cluster():
    data = table()
    X = np.column_stack([data.X, data.X[:, 1] + 0.01, -data.X[:, 1]])
    wide = Dataset.from_arrays(X, data.y)
    chain = Chain.parse("variance correlation:keep=upstream")
    assert fsframe.selectors["correlation"] is Correlation
    selection = chain.select(wide)
    assert 1 in selection.selected and not {6, 7} & set(selection.selected)
    assert (
        selection.tables["stands-for"][[1, 6, 7]].tolist()
        == [selection.tables["stands-for"][1]] * 3
    )
    with pytest.raises(RequestError, match="keep=upstream needs a previous stage"):
        Correlation(keep="upstream").select(wide)
    chain.check_request(wide)
    Chain.parse("variance npfs:base=(correlation:keep=upstream)").check_request(wide)
    for first in ("correlation:keep=upstream mim", "npfs:base=(correlation:keep=upstream)"):
        with pytest.raises(RequestError, match="correlation: keep=upstream needs a previous stage"):
            Chain.parse(first).check_request(wide)


def test_codes_of_categories_are_in_no_cluster():
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 4, 60).astype(float)
    X = np.column_stack([codes, codes, generator.standard_normal(60)])
    y = generator.integers(0, 2, 60)
    numbers = Correlation().select(Dataset.from_arrays(X, y))
    names = Correlation().select(Dataset.from_arrays(X, y, categorical=[0, 1]))
    assert (numbers.selected.size, names.selected.size) == (2, 3)


def test_a_warning_that_depends_on_the_timing_of_threads_is_not_kept():
    data = Dataset.from_arrays(np.eye(4), [0, 1, 0, 1])
    # Without the filters that a forest hands to its threads.
    warn, given, _ = delayed(warnings.warn)("the data are odd", UserWarning)
    with guarded("boruta: the forest", data) as issued:
        warn(*given)
    assert issued == ["UserWarning: the data are odd"]
