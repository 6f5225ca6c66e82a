"""Sets of values in a chain's text, and grids of selectors and classifiers."""

from __future__ import annotations

import subprocess

import pytest

from fsframe.errors import PluginError, RequestError
from fsframe.evaluation.grid import ChainGrid, combined, spelled_out

TREE = "sklearn:estimator=sklearn.tree.DecisionTreeClassifier,"
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
    assert [str(chain) for chain in ChainGrid.parse(text).chains] == chains


def test_grids_read_back_from_their_canonical_text():
    grid = ChainGrid.parse("  mim:top={1, 2}   knn ")
    assert ChainGrid.parse(grid.text) == grid


def test_every_refused_value_is_named():
    with pytest.raises(RequestError) as caught:
        ChainGrid.parse("mim:top={0,3,-1} knn:k={2,none}")
    message = str(caught.value)
    assert all(word in message for word in ("'0'", "'-1'", "'none'")) and "'3'" not in message


def test_too_many_combinations_are_refused_before_any_is_built():
    sets = ",".join(str(k) for k in range(1, 41))
    with pytest.raises(RequestError, match="1600 combinations"):
        ChainGrid.parse(f"mim:top={{{sets}}} knn:k={{{sets}}}")


def test_an_unknown_method_is_reported_once():
    with pytest.raises((RequestError, PluginError)) as caught:
        ChainGrid.parse("imigrate:sigma={1,2}")
    assert str(caught.value).count("imigrate") <= 2 and "immigrate" in str(caught.value)


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
