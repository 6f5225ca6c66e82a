"""Sets of values in a chain's text, grids, and `compare` on them: baselines, screens and files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import fsframe
from fsframe.errors import RequestError
from fsframe.evaluation.grid import ChainGrid, combined, spelled_out
from tests.evaluation.tables import rows_of, separated, write_csv
from tests.same_process import fsframe as ran

TREE = "sklearn:estimator=sklearn.tree.DecisionTreeClassifier,"
MANY = ",".join(map(str, range(1, 41)))
DEPTHS = ['{"max_depth": 1}', '{"max_depth": 3}']


@pytest.mark.parametrize(
    ("text", "chains"),
    [
        (
            "immigrate:sigma={cv,4,0.5} margin",
            [f"immigrate:sigma={s} margin" for s in ("cv", 4.0, 0.5)],
        ),
        # The last set varies fastest.
        ("mim:top={1,2} knn:k={3,5}", [f"mim:top={t} knn:k={k}" for t in (1, 2) for k in (3, 5)]),
        ("npfs:base=(mim:top={3,5} jmi),n=5", [f"npfs:n=5,base=(mim:top={t} jmi)" for t in (3, 5)]),
        ("mim:top={1,1,2}", ["mim:top=1", "mim:top=2"]),
        # An object of JSON is a value, not a set.
        (f"{TREE}options='{DEPTHS[1]}'", [f"{TREE}options={DEPTHS[1]}"]),
        (TREE + "options={}", [TREE.rstrip(",")]),
        (f"{TREE}options={{'{DEPTHS[0]}','{DEPTHS[1]}'}}", [f"{TREE}options={d}" for d in DEPTHS]),
    ],
)
def test_sets_stand_for_one_chain_for_each_value_in_their_order(text, chains):
    grid = ChainGrid.parse(text)
    assert [str(chain) for chain in grid.chains] == chains and ChainGrid.parse(grid.text) == grid


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mim:top={0,3,-1} knn:k={2,none}", ["'0'", "'-1'", "'none'"]),
        (f"mim:top={{{MANY}}} knn:k={{{MANY}}}", ["1600 combinations"]),
        ("imigrate:sigma={1,2}", ["Did you mean `immigrate`"]),
    ],
    ids=["every refused value", "too many, before any is built", "an unknown method"],
)
def test_sets_that_cannot_be_are_refused_and_named(text, words):
    with pytest.raises(RequestError) as caught:
        ChainGrid.parse(text)
    message = str(caught.value)
    assert all(word in message for word in words) and "'3'" not in message
    assert message.count("imigrate") <= 2


@pytest.mark.parametrize(
    "text",
    ["{mim,jmi}:top={5,10}", "mim", "a{b,{c,d}e}f", "{mim,jmi:top={1,2}}", "sklearn:x={5}", "p{}q"],
)
def test_sets_are_spelled_out_as_bash_does(text):
    theirs = subprocess.run(
        ["bash", "-c", f"echo {text}"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert spelled_out(text) == theirs
    json = 'sklearn:estimator=sklearn.svm.SVC,options={"C": 1, "kernel": "linear"}'
    assert spelled_out(json) == [json]


def test_a_grid_is_the_same_whether_the_shell_has_spelled_it_out_or_not():
    quoted = combined(["{mim,jmi}:top={5,10}"], ["{knn,margin}"])
    bare = combined(["mim:top=5", "mim:top=10", "jmi:top=5", "jmi:top=10"], ["knn", "margin"])
    assert quoted == bare and len(bare) == 8
    with pytest.raises(RequestError, match="classifiers after"):
        combined(["mim"], [])
    with pytest.raises(RequestError, match="more than the 1000 allowed"):
        combined(["mim:top={" + ",".join(map(str, range(1, 600))) + "}"], ["knn", "margin"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("one", "two")):
        write_csv(Path(f"{name}.csv"), separated(40, 4, seed, signal=[1.2, 1.2]))
    return tmp_path


QUICK = "--folds 4 --repeats 1 -q"


def test_a_grid_by_a_loss_stands_beside_the_larger_class_and_all_features(folder):
    more = f"x knn:k=5 on one.csv two.csv {QUICK} --metric log-loss --json -o kept"
    done = ran(f"compare {{mim,anova-f}}:top={{1,2}} {more}")
    found = done.json
    assert done.code == 0 and len(found["chains"]) == 4 and found["metric"] == "log-loss"
    assert not found["larger_is_better"] and np.array(found["values"]).shape == (2, 4)
    assert found["larger_class"] == pytest.approx([np.log(2)] * 2, rel=0.05)
    alone = ran(f"evaluate knn:k=5 on one.csv {QUICK} --no-out --json").json
    value = found["all_features"]["knn:k=5"][0]
    assert value == pytest.approx(alone["measures"]["log-loss"]["mean"])
    best = int(np.argmin(found["values"][0]))
    ranks = stats.rankdata(np.round(found["values"], 12), axis=1).mean(axis=0)
    assert found["mean_ranks"] == pytest.approx(ranks.tolist())
    assert found["front"][0][best]
    posterior = np.array(found["bayesian_signed_rank"])
    assert posterior.sum(axis=2) == pytest.approx(np.ones((4, 4)))
    for pair in found["pairs"]:
        i, j = (found["chains"].index(pair[side]) for side in "ab")
        d = found["data"].index(pair["data"])
        assert pair["difference"] == pytest.approx(found["values"][d][j] - found["values"][d][i])
    assert [row["chain"] for row in rows_of("kept/results.csv")[4:6]] == [
        "(larger class)",
        "(all features) knn:k=5",
    ]
    # Called again, nothing is computed; in other words the same grid.
    again = ran(f"compare mim:top=1 mim:top=2 anova-f:top=1 anova-f:top=2 {more}")
    assert again.json == found


def test_what_is_said_fits_a_screen_and_names_the_baselines(folder):
    done = ran(f"compare {{mim,jmi}}:top=1 x knn on one.csv two.csv {QUICK}")
    assert done.code == 0 and all(len(line) <= 80 for line in done.out.splitlines())
    for word in ("larger class", "all: knn", "Bayesian signed-rank", "Friedman", "Nemenyi", "‡"):
        assert word in done.out


def test_many_chains_are_set_against_the_best(folder):
    grid = "compare mim:top={1,2,3} x knn knn:k=3 knn:k=5 on one.csv"
    assert "against the others" in ran(f"{grid} {QUICK}").out
    out = " ".join(ran(f"{grid} two.csv {QUICK}").out.split())
    # What a table leaves out is said.
    assert "against the others, over 2 tables:" in out and "All pairs: --json." in out
    assert "From 2 tables these probabilities say very little." in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("{mim,jmi}:top=1 on one.csv", "makes a grid"),
        ("mim x on one.csv", "classifiers after"),
        ("mim x knn x margin on one.csv", "one `x`"),
        ("{mim,imm}:top=1 x {knn,knm} on one.csv", "knm"),
        ("mim jmi x margin on one.csv --metric brier", "needs probabilities"),
        ("mim jmi x knn on one.csv --metric accurracy", "Did you mean `accuracy`"),
    ],
)
def test_wrong_grids_are_refused_before_anything_runs(folder, words, said):
    done = ran(f"compare {words} {QUICK}")
    assert (done.code, done.out) == (2, "") and said in done.err


def test_the_baseline_on_all_features_fills_gaps_as_the_chains_do():
    data = separated(40, 4, signal=3.0)
    X = data.X.copy()
    X[5, 1] = np.nan
    chains = ["impute mim:top=1 knn", "impute:method=mean mim:top=1 knn", "impute:top=3 mim knn"]
    told = str(fsframe.compare(chains, X, data.y, folds=2, repeats=1))
    baselines = ("impute knn", "impute:method=mean knn", "knn")
    assert all(f"all: {text}" in told for text in baselines)
    assert all(f"all: {text}" not in told for text in ("impute:top", "mim"))
