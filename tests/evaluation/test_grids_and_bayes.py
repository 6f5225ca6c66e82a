"""Grids of selectors and classifiers, Bayesian tests, fronts, and what stands beside them."""

from __future__ import annotations

import csv
import io
import json
import subprocess

import numpy as np
import pytest
from scipy import stats

from fsframe.cli import main
from fsframe.errors import RequestError
from fsframe.evaluation.comparison_tests import (
    corrected_resampled_test,
    correlated_posterior,
    pareto_front,
    signed_rank_posterior,
)
from fsframe.evaluation.grid import combined, spelled_out
from fsframe.evaluation.measuring import one_standard_error


@pytest.mark.parametrize(
    "text",
    ["{mim,jmi}:top={5,10}", "mim", "a{b,{c,d}e}f", "{mim,jmi:top={1,2}}", "sklearn:x={5}", "p{}q"],
)
def test_sets_are_spelled_out_as_bash_does(text):
    theirs = subprocess.run(
        ["bash", "-c", f"echo {text}"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert spelled_out(text) == theirs


def test_a_json_object_is_one_value():
    text = 'sklearn:estimator=sklearn.svm.SVC,options={"C": 1, "kernel": "linear"}'
    assert spelled_out(text) == [text]


def test_a_grid_is_the_same_whether_the_shell_has_spelled_it_out_or_not():
    quoted = combined(["{mim,jmi}:top={5,10}"], ["{knn,margin}"])
    bare = combined(["mim:top=5", "mim:top=10", "jmi:top=5", "jmi:top=10"], ["knn", "margin"])
    assert quoted == bare and len(bare) == 8
    with pytest.raises(RequestError, match="classifiers after"):
        combined(["mim"], [])
    with pytest.raises(RequestError, match="more than the 1000 allowed"):
        combined(["mim:top={" + ",".join(map(str, range(1, 600))) + "}"], ["knn", "margin"])


def test_the_posterior_of_one_difference_is_the_beta_integral():
    # One table with d > 2ρ and z₀ = 0: θ_right = 1 − w₀² with w₀ ~ Beta(½, 1), so that it is the
    # larger share with probability P(w₀² < ½) = 2^(−1/4).
    worse, same, better = signed_rank_posterior(np.array([1.0]), 0.01)
    assert worse == 0.0 and better == pytest.approx(2**-0.25, abs=0.006)
    assert same == pytest.approx(1 - better)


def test_the_signed_rank_posterior_turns_with_its_sign_and_comes_back_bit_by_bit():
    d = np.random.default_rng(0).normal(0.01, 0.02, 12)
    one, again = signed_rank_posterior(d, 0.01, seed=3), signed_rank_posterior(d, 0.01, seed=3)
    assert one == again and sum(one) == pytest.approx(1)
    turned = signed_rank_posterior(-d, 0.01, seed=3)
    assert turned[::-1] == pytest.approx(one, abs=1e-12)
    assert signed_rank_posterior(d / 1000, 0.01)[1] > 0.999
    assert signed_rank_posterior(d + 1, 0.01)[2] > 0.999


def test_the_correlated_posterior_without_a_region_has_the_p_values_of_the_corrected_test():
    a, b = np.random.default_rng(1).random((2, 20))
    worse, same, better = correlated_posterior(a, b, 1 / 9, 0.0)
    assert same == pytest.approx(0, abs=1e-12)
    assert 2 * min(worse, better) == pytest.approx(corrected_resampled_test(a, b, 1 / 9).p_value)
    scale = np.sqrt((1 / 20 + 1 / 9) * np.var(a - b, ddof=1))
    expected = stats.t.sf((0.1 - (a - b).mean()) / scale, 19)
    assert correlated_posterior(a, b, 1 / 9, 0.1)[2] == pytest.approx(expected)
    assert correlated_posterior(a, a, 1 / 9, 0.01) == (0.0, 1.0, 0.0)


def test_the_front_is_what_nothing_beats_in_both():
    generator = np.random.default_rng(2)
    a, b = np.round(generator.random((2, 40)), 1)
    front = pareto_front(a, b)
    for i in range(40):
        beaten = any(
            a[j] >= a[i] and b[j] >= b[i] and (a[j] > a[i] or b[j] > b[i]) for j in range(40)
        )
        assert front[i] == (not beaten)


def test_one_standard_error_takes_the_fewest_features_near_the_best():
    kept = np.array([20.0, 10, 5, 1])
    assert one_standard_error(np.array([0.9, 0.89, 0.88, 0.5]), np.full(4, 0.02), kept) == 2
    assert one_standard_error(np.array([0.9, 0.89, 0.88, 0.5]), np.full(4, 0.0), kept) == 0
    assert one_standard_error(np.array([0.9, 0.8]), np.full(2, np.nan), kept[:2]) == -1


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


def ran(capsys, text, *more):
    with pytest.raises(SystemExit) as caught:
        main([*text.split(), *more])
    said = capsys.readouterr()
    return caught.value.code, said.out, said.err


QUICK = "--folds 4 --repeats 1 -q"


def test_a_grid_by_a_loss_stands_beside_the_larger_class_and_all_features(folder, capsys):
    words = f"compare {{mim,anova-f}}:top={{1,2}} x knn:k=5 on one.csv two.csv {QUICK}"
    code, out, _ = ran(capsys, words, "--metric", "log-loss", "--json", "-o", "kept")
    found = json.loads(out)
    assert code == 0 and len(found["chains"]) == 4 and found["metric"] == "log-loss"
    assert not found["larger_is_better"] and np.array(found["values"]).shape == (2, 4)
    assert found["larger_class"] == pytest.approx([np.log(2)] * 2, rel=0.05)
    alone = json.loads(ran(capsys, f"evaluate knn:k=5 on one.csv {QUICK} --no-out --json")[1])
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
    again = ran(
        capsys,
        "compare mim:top=1 mim:top=2 anova-f:top=1 anova-f:top=2 x knn:k=5 on one.csv two.csv "
        f"{QUICK}",
        *("--metric", "log-loss", "--json", "-o", "kept"),
    )[1]
    assert json.loads(again) == found


def test_what_is_said_fits_a_screen_and_names_the_baselines(folder, capsys):
    code, out, _ = ran(capsys, f"compare {{mim,jmi}}:top=1 x knn on one.csv two.csv {QUICK}")
    assert code == 0 and all(len(line) <= 80 for line in out.splitlines())
    for word in ("larger class", "all: knn", "Bayesian signed-rank", "Friedman", "Nemenyi", "‡"):
        assert word in out


def test_many_chains_are_set_against_the_best(folder, capsys):
    code, out, _ = ran(
        capsys, f"compare mim:top={{1,2,3}} x knn knn:k=3 knn:k=5 on one.csv {QUICK}"
    )
    assert code == 0 and "against the others" in out
    code, out, _ = ran(
        capsys, f"compare mim:top={{1,2,3}} x knn knn:k=3 knn:k=5 on one.csv two.csv {QUICK}"
    )
    # What a table leaves out is said.
    assert "against the others (--json has all pairs):" in out
    assert "From 2 tables the following probabilities say very little." in out
    assert "practically equal), the 6 best of 9; --json has all:" in out


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
def test_wrong_grids_are_refused_before_anything_runs(folder, capsys, words, said):
    code, out, err = ran(capsys, f"compare {words} {QUICK}")
    assert (code, out) == (2, "") and said in err
