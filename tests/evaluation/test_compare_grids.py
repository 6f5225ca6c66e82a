"""The command `compare` on grids: baselines, and what its screens and files say."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from scipy import stats

import fsframe
from tests.same_process import fsframe as ran


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("one", 0), ("two", 1)):
        generator = np.random.default_rng(seed)
        y = np.arange(40) % 2
        X = generator.normal(size=(40, 4)) + 1.2 * y[:, None] * np.array([1, 1, 0, 0])
        rows = [f"{','.join(map(repr, x))},{c}" for x, c in zip(X.tolist(), y, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,c,d,class", *rows]) + "\n")
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
    rows = list(csv.DictReader(io.StringIO((folder / "kept" / "results.csv").read_text())))
    assert [row["chain"] for row in rows[4:6]] == ["(larger class)", "(all features) knn:k=5"]
    # Called again, nothing is computed; in other words the same grid.
    again = ran(f"compare mim:top=1 mim:top=2 anova-f:top=1 anova-f:top=2 {more}")
    assert again.json == found


def test_what_is_said_fits_a_screen_and_names_the_baselines(folder):
    done = ran(f"compare {{mim,jmi}}:top=1 x knn on one.csv two.csv {QUICK}")
    assert done.code == 0 and all(len(line) <= 80 for line in done.out.splitlines())
    for word in ("larger class", "all: knn", "Bayesian signed-rank", "Friedman", "Nemenyi", "‡"):
        assert word in done.out


def test_many_chains_are_set_against_the_best(folder):
    done = ran(f"compare mim:top={{1,2,3}} x knn knn:k=3 knn:k=5 on one.csv {QUICK}")
    assert done.code == 0 and "against the others" in done.out
    done = ran(f"compare mim:top={{1,2,3}} x knn knn:k=3 knn:k=5 on one.csv two.csv {QUICK}")
    # What a table leaves out is said.
    out = " ".join(done.out.split())
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
    X = np.random.default_rng(3).normal(size=(40, 4))
    X[:, 0] += 3 * (np.arange(40) % 2)
    X[5, 1] = np.nan
    chains = ["impute mim:top=1 knn", "impute:method=mean mim:top=1 knn", "impute:top=3 mim knn"]
    found = fsframe.compare(chains, X, np.arange(40) % 2, folds=2, repeats=1)
    told = str(found)
    assert "all: impute knn" in told and "all: impute:method=mean knn" in told
    assert "all: knn" in told
    assert all(f"all: {text}" not in told for text in ("impute:top", "mim"))
