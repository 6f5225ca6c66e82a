"""Studies of a program: what the command computes, of frames too, saved, resumed, gone on with."""

from __future__ import annotations

import json
import shutil
import tomllib

import numpy as np
import pandas
import polars
import pytest
from sklearn.model_selection import GridSearchCV

import fsframe
from fsframe.errors import RequestError, StoreError
from fsframe.show.proposals import proposals_for
from fsframe.sklearn import ChainClassifier, ChainRegressor
from tests.same_process import fsframe as command

CHAINS = ["mim:top=1,bins=3 knn:k=3", "mim:top=3,bins=3 knn:k=3"]
ASKED = {"label": "kind", "measures": ["balanced-accuracy", "auc"], "seeds": [0, 5], "folds": 3}


@pytest.fixture(scope="module")
def frames():
    def made(seed):
        y = np.arange(36) % 2
        X = np.random.default_rng(seed).normal(size=(36, 3)) + y[:, None] * [2.0, 0.5, 0]
        return pandas.DataFrame(X, columns=["a", "b", "c"]).assign(kind=y)

    return {"one": made(0), "two": made(1)}


@pytest.fixture(scope="module")
def studied(frames):
    return fsframe.study(frames, CHAINS, **ASKED)


def test_a_study_of_a_program_is_that_of_the_command(frames, studied, tmp_path, undrawn):
    words = ['name = "study"', 'measures = ["balanced-accuracy", "auc"]', "seeds = [0, 5]"]
    words += ["folds = 3", f"chains = {CHAINS}", 'tables = ["one.csv", "two.csv"]']
    (tmp_path / "study.toml").write_text("\n".join(words))
    for name, frame in frames.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False, float_format="%.17g")
    command("study", str(tmp_path / "study.toml"), "-q", code=0)
    shown = command("show", str(tmp_path / "study"), "--json").json
    assert set(shown["comparisons"]) == {"balanced-accuracy", "auc"}
    assert "study.zip: sound, " in command("verify", str(tmp_path / "study")).out
    left = fsframe.load_study(tmp_path / "study")
    assert json.loads(left.to_json()) == shown
    assert left.record.asked() | {"sha256": 0} == studied.record.asked() | {"sha256": 0}
    for cell, run in left.record.runs.items():
        assert run.digests() == studied.record.runs[cell].digests()
    # The same study file, from a program: the finished one is read.
    again = fsframe.study(tmp_path / "study.toml", out=tmp_path / "study")
    assert again.best() == left.best() and again.record.asked() == left.record.asked()
    with pytest.raises(RequestError, match="describes the whole study: seeds, label"):
        fsframe.study(tmp_path / "study.toml", label="kind", seeds=3)


def test_it_shows_tabulates_and_draws_itself(studied):
    said = repr(studied)
    assert said.startswith("study: 2 chains on 2 tables by balanced-accuracy, auc; seeds 0, 5")
    assert "one (36 samples, 3 features, 2 classes)" in said and "mean rank" in said
    page = studied._repr_html_()
    assert "balanced-accuracy" in page and "auc" in page and "two" in page
    frame = studied.to_frame()
    assert isinstance(frame, polars.DataFrame) and frame["fewest_features"].dtype == polars.Boolean
    # Two tables by two measures: two chains, the larger class and the classifier on all features.
    assert len(frame) == 2 * 2 * 4
    value = frame.filter(data="one", chain=CHAINS[0], metric="auc")["value"].item()
    assert value == studied.comparisons["auc"].values[0, 0]
    assert len(studied.to_frame("pairs", library="pandas")) == 2
    with pytest.raises(RequestError, match="there are results, pairs"):
        studied.to_frame("folds")
    assert studied.plot().axes and studied.plot(data="one").axes
    with pytest.raises(RequestError, match="different tables"):
        studied.plot("pareto")


def test_a_run_of_it_is_an_evaluation(frames, studied):
    settings = {"label": "kind", "folds": 3, "repeats": 1, "seed": 5, "all_features": False}
    metric = ["accuracy", "balanced-accuracy", "auc"]
    alone = fsframe.evaluate(CHAINS[1], frames["two"], metric=metric, **settings)
    assert studied.result(CHAINS[1], "two", seed=5).digests() == alone.digests()
    assert studied.result("knn:k=3", 1).measures["auc"].mean == pytest.approx(
        studied.comparisons["auc"].all_features["knn:k=3"][1], abs=0.2
    )
    for wanted, words in (
        ((CHAINS[0] + "x",), "Did you mean"),
        ((9,), "there is no chain 9"),
        ((0, "three"), "there is no table 'three'"),
        ((0, 0, 7), "there is no seed 7; there are 0, 5"),
    ):
        with pytest.raises(RequestError, match=words):
            studied.result(*wanted)


def test_the_best_chain_is_the_smallest_within_a_standard_error(studied):
    result = studied.comparison
    for d, name in enumerate(studied.data):
        best = studied.chains.index(studied.best(name))
        near = result.values[d] >= result.values[d].max() - result.standard_error[d].max()
        assert near[best] and result.kept[d, best] == result.kept[d, near].min()
    assert studied.best() in CHAINS


def test_a_chain_of_it_continues_in_scikit_learn(frames, studied):
    made = studied.to_sklearn(CHAINS[0])
    assert isinstance(made, ChainClassifier) and made.random_state == 0
    X, y = frames["one"].drop(columns="kind"), frames["one"]["kind"]
    fitted = made.fit(X, y)
    whole = fsframe.select(CHAINS[0], frames["one"], label="kind")
    assert fitted.ranking_.tolist() == whole.selected.tolist()
    assert studied.to_sklearn().chain == studied.best()


def test_what_an_evaluation_tuned_is_searched_in_scikit_learn(frames):
    grouped, settings = frames["one"].assign(person=np.arange(36) // 3), {"folds": 3, "repeats": 1}
    settings |= {"label": "kind", "groups": "person", "inner_folds": 2}
    search = fsframe.evaluate("mim:top={1,3},bins=3 knn:k=3", grouped, **settings).to_sklearn()
    assert isinstance(search, GridSearchCV) and search.param_grid == {"chain": CHAINS}
    X, y = grouped[["a", "b", "c"]], grouped["kind"]
    fitted = search.fit(X, y, groups=grouped["person"])
    assert fitted.best_params_["chain"] in CHAINS and fitted.score(X, y) > 0.5
    numeric = frames["one"].assign(kind=frames["one"]["a"] * 2.5)
    chain = "rrelieff:top=2 knn:k=3"
    regressor = fsframe.evaluate(chain, numeric, label="kind", folds=3, repeats=1).to_sklearn()
    assert isinstance(regressor, ChainRegressor) and regressor.chain == chain


def test_a_comparison_gives_its_best_chain_or_a_named_one(frames):
    data = fsframe.Dataset.from_frame(frames["one"], "kind", keep="c", name="one")
    comparison = fsframe.compare(CHAINS, data, folds=3, repeats=1)
    assert comparison.to_sklearn().chain == comparison.best() == comparison.best("one")
    named = comparison.to_sklearn(CHAINS[1])
    assert named.chain == CHAINS[1] and named.always_keep == ["c"]
    with pytest.raises(RequestError, match="there is no chain"):
        comparison.to_sklearn("mim")


def test_without_chains_those_that_inspect_proposes_are_compared(frames):
    proposed = [each.chain for each in proposals_for(fsframe.read(frames["one"], label="kind"))]
    study = fsframe.study(frames["one"], label="kind", folds=3)
    assert len(proposed) > 1 and study.data == ("data",)
    assert [chain.removesuffix(" weighted-knn") for chain in study.chains] == proposed
    assert study.measures == ("accuracy",)


@pytest.mark.parametrize("column", ["a", pytest.param("c", marks=pytest.mark.slow)])
def test_proposed_chains_fill_gaps_before_a_classifier_that_takes_none(frames, column, capsys):
    gaps = frames["one"].copy()
    gaps.loc[3:9, column] = np.nan
    study = fsframe.study({"gaps": gaps, "full": frames["two"]}, label="kind", folds=3)
    every = (*study.chains, *study.record.beside)
    assert len(study.chains) > 1 and all(chain.startswith("impute ") for chain in every)
    assert "impute weighted-knn" in study.record.beside
    assert np.isfinite(study.comparison.all_features["impute weighted-knn"]).all()
    assert "does not take" not in capsys.readouterr().err


@pytest.mark.parametrize("tables", [["one"], ["one", "two"]])
def test_a_study_of_one_chain_shows_it_and_tests_nothing(frames, tables, tmp_path, undrawn):
    study = fsframe.study({t: frames[t] for t in tables}, CHAINS[:1], label="kind", folds=3)
    assert CHAINS[0] in repr(study) and study.best() == CHAINS[0] and study.to_sklearn()
    assert study.comparison.ranks is None and len(study.to_frame()) == 3 * len(tables)
    assert study.plot().axes[0].get_xlabel() == "false positive rate"
    study.save(tmp_path / "saved")
    assert "No tests: there is one chain." in repr(study) and "no value" not in repr(study)
    page = (tmp_path / "saved" / "report.html").read_text("utf-8")
    assert "so nothing is tested" in page and "best accuracy of" not in page
    text = (tmp_path / "saved" / "methods.md").read_text("utf-8")
    assert "We evaluated 1 chain of methods" in text and "test" not in text.partition(";")[2]
    assert "1 chain on" in page and "compared by" not in text


@pytest.mark.parametrize("measure", [pytest.param("auc", marks=pytest.mark.slow), "protocols/auc"])
def test_a_measure_without_values_in_the_folds_is_not_said_to_be_tested(
    frames, tmp_path, measure, undrawn
):
    settings = {"label": "kind", "measures": [measure], "scheme": "leave-one-out"}
    study = fsframe.study(frames["one"], CHAINS, **settings)
    study.save(tmp_path / "saved")
    text, bib = (
        (tmp_path / "saved" / name).read_text("utf-8") for name in ("methods.md", "references.bib")
    )
    assert not study.comparison.papers and f"chains were compared by {measure}" in text
    assert f"Measures were {measure}" in text and "hand2001" in text and "hand2001" in bib
    assert "paired tests" not in text and "We also report" not in text


def test_a_saved_study_is_read_back_and_written_up(studied, tmp_path, undrawn):
    file = studied.save(tmp_path / "kept.zip")
    folder = tmp_path / "kept"
    assert studied.save(folder).read_bytes() == file.read_bytes()
    assert {"results.csv", "methods.md", "report.html"} <= {p.name for p in folder.iterdir()}
    for place in (file, folder):
        assert repr(fsframe.load_study(place)) == repr(studied)
    source = tomllib.loads(fsframe.load_study(file).record.source)
    assert source["chains"] == CHAINS and source["seeds"] == [0, 5]
    for place in (file, folder):
        with pytest.raises(StoreError):
            studied.save(place)
    with pytest.raises(StoreError, match="load_study reads it"):
        fsframe.load_run(file)


def test_an_interrupted_study_continues_with_workers_too(
    frames, studied, tmp_path, monkeypatch, undrawn
):
    from fsframe.chains.request import Request

    real, computed = Request.run, []

    def counted(*words):
        computed.append(1)
        if len(computed) == 5:
            raise StoreError("the disk is full")
        return real(*words)

    monkeypatch.setattr(Request, "run", counted)
    out = tmp_path / "out"
    with pytest.raises(StoreError, match="disk is full"):
        fsframe.study(frames, CHAINS, out=out, **ASKED)
    # A study that is changed now has the runs that it still asks for, and computes the others.
    shutil.copytree(out, tmp_path / "changed")
    changed = fsframe.study(frames, CHAINS[:1], out=tmp_path / "changed", **ASKED)
    assert len(computed) == 5 + 6 and changed.chains == (CHAINS[0],)
    assert len(list((tmp_path / "changed" / "cells").iterdir())) == 2
    again = fsframe.study(frames, CHAINS, out=out, workers=1, **ASKED)
    assert len(computed) == 5 + 6 + 8
    for cell, run in again.record.runs.items():
        assert run.digests() == studied.record.runs[cell].digests()
    monkeypatch.setattr(Request, "run", lambda *_: pytest.fail("computed again"))
    shown = fsframe.study(frames, CHAINS, out=out, **ASKED)
    assert repr(shown) == repr(again)


def test_everything_wrong_with_it_is_reported_at_once(frames):
    with pytest.raises(RequestError) as caught:
        fsframe.study(
            {"one": frames["one"], "gone": "nowhere.csv"},
            ["mimm knn", "mim:top=0 knn"],
            label="kind",
            measures="acc",
            seeds=[1, 1],
        )
    for words in (
        "fsframe.study: data[gone]: there is no file nowhere.csv",
        "measures[0]: there is no measure 'acc'. Did you mean `auc`?",
        "chains[0]: there is no selector or classifier 'mimm'. Did you mean `mim`?",
        "chains[1]: mim: top",
        "seeds: must be distinct whole numbers",
    ):
        assert words in str(caught.value), words
    with pytest.raises(TypeError, match=r"study\(\) got .*threds"):
        fsframe.study(frames, threds=1)
    with pytest.raises(RequestError, match="workers= or executor="):
        fsframe.study(frames, workers=1, executor=object())
