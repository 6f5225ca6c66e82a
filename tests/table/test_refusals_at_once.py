"""Everything that is refused about columns and their roles is told at once, with the option that
settles it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fsframe
from fsframe import Dataset
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.show.inspection import inspect_table
from tests.same_process import fsframe as run

WRONG = {"drop": ["zz", "who"], "groups": "qq", "weight": "ww", "keep": "kk", "label": "ll"}


def table(tmp_path, form: str):
    """A small table as a path or frame of some form."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {"a": [0.5, 1, 2, 3], "b": [1, 2, 0, 5], "who": [1, 1, 2, 2], "k": [0, 1, 0, 1]}
    )
    if form == "frame":
        return frame
    path = tmp_path / f"t.{form}"
    if form == "csv":
        frame.write_csv(path)
    elif form == "parquet":
        frame.write_parquet(path)
    else:
        np.savez(path, X=frame.to_numpy()[:, :3], y=frame["k"], feature_names=["a", "b", "who"])
    return path


@pytest.mark.parametrize("form", ["csv", "parquet", "frame", "npz"])
def test_columns_that_are_not_there_are_reported_for_all_roles(tmp_path, form: str) -> None:
    with pytest.raises(DataError) as caught:
        fsframe.read(table(tmp_path, form), **WRONG)
    lines = str(caught.value).splitlines()
    assert len(lines) == 5
    for name in ("zz", "qq", "ww", "kk", "ll"):
        assert sum(f"'{name}'" in line for line in lines) == 1


@pytest.mark.parametrize("form", ["csv", "parquet", "frame", "npz"])
def test_two_roles_of_one_column_are_reported_for_all_columns(tmp_path, form: str) -> None:
    label = "y" if form == "npz" else "k"
    with pytest.raises(DataError) as caught:
        fsframe.read(table(tmp_path, form), label=label, drop="a", keep="a", time="b", adjust="b",
                     groups=label)  # fmt: skip
    text = str(caught.value)
    assert "is the label and cannot name groups (--groups)" in text
    assert "is left out (--drop) and cannot be kept (--keep)" in text
    assert "is the time (--time) and cannot be a covariate (--adjust)" in text


@pytest.mark.parametrize("form", ["csv", "frame"])
def test_the_label_that_is_taken_without_being_named_has_no_other_role(tmp_path, form) -> None:
    for role in ("keep", "categorical", "ordinal", "time"):
        with pytest.raises(DataError, match="is the label and cannot"):
            fsframe.read(table(tmp_path, form), **{role: "k"})
    # The last column names groups: the label is the one before it.
    assert fsframe.read(table(tmp_path, form), groups="k").label_name == "who"


def test_a_dropped_column_may_name_groups_and_a_covariate_may_be_categorical(tmp_path) -> None:
    data = fsframe.read(table(tmp_path, "csv"), drop="who", groups="who")
    assert data.feature_names == ("a", "b") and data.n_groups == 2
    data = fsframe.read(table(tmp_path, "csv"), adjust="who", categorical="who")
    assert data.covariates.nominal.tolist() == [True]


def test_cells_of_label_groups_weights_and_features_are_reported_together(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,who,w,b,k\n1,p,1,u,x\n2,,1,v,y\n3,q,two,u,\n4,q,1,w,y\n")
    done = run("chain", "mim", "on", str(path), "--groups", "who", "--weight", "w", "--no-out")
    assert done.code == 4
    for part in (
        "line 4, column 5 (k): the label is missing",
        "line 3, column 2 (who): the group is missing",
        "line 4, column 3 (w): the weight 'two' is not a number",
        "line 2, column 4 (b): 'u' is not a number",
    ):
        assert done.err.count(part) == 1


def with_roles(task: str = "classification") -> Dataset:
    """A table in which columns and rows have many roles, and a value is missing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    X[:, 5] = np.arange(60) % 3
    X[3, 0] = np.nan
    y = np.arange(60) % 2 if task == "classification" else X[:, 1] * 1.5
    data = Dataset.from_arrays(
        X, y, task=task, categorical=[5], groups=np.repeat(np.arange(12), 5), keep=[1],
        weights=1 + np.arange(60) % 2, weight_name="w",
    )  # fmt: skip
    return data.with_roles(time="f3", adjust="f4")


def test_refusals_of_all_stages_and_roles_are_one_error() -> None:
    chain = Chain.parse("surf:permutations=99 boruta npfs:base=(boruta),null=shards")
    with pytest.raises(DataError) as caught:
        chain.run(with_roles())
    lines = str(caught.value).splitlines()
    assert len(lines) == len(set(lines))
    for stage, parts in {
        "surf": ["'w'", "'f3'", "--adjust"],
        "boruta": ["--groups", "'f3'", "--adjust", "--encode onehot"],
        "npfs": ["'w'", "--keep", "'f3'", "null=shards"],
    }.items():
        own = [line for line in lines if line.startswith(stage)]
        assert [part for part in parts if not any(part in line for line in own)] == []


def test_a_label_missing_values_and_parameters_are_reported_with_the_roles() -> None:
    chosen = 'sklearn-selector:estimator=SelectKBest,options={"score_func":"chi2"}'
    with pytest.raises(DataError) as caught:
        Chain.parse(f"immigrate {chosen}").run(with_roles("regression"))
    text = str(caught.value)
    for part in (
        "immigrate does not take a numeric target",
        "immigrate does not take missing values",
        "immigrate cannot adjust for f4 (--adjust)",
        "score_func=chi2 does not take a numeric target",
    ):
        assert text.count(part) == 1
    # Alone, a parameter has the exit code of its kind.
    plain = Dataset.from_arrays(np.eye(4), [0.5, 1.5, 2.5, 4], task="regression")
    with pytest.raises(RequestError, match="score_func=chi2"):
        Chain.parse(chosen).run(plain)


def test_a_classifier_that_refuses_gaps_says_how_to_fill_them() -> None:
    data = Dataset.from_arrays([[0.5, np.nan], [1, 2], [2, 3], [3, 5]], [0, 1, 0, 1])
    for chain in ("knn", "cross-validation:base=knn,folds=2,repeats=1"):
        with pytest.raises(DataError, match=r"knn does not take missing values.*`impute knn`"):
            Chain.parse(chain).run(data)


def test_what_several_compared_chains_refuse_is_reported_once() -> None:
    X = np.random.default_rng(0).standard_normal((20, 3))
    data = Dataset.from_arrays(X, np.arange(20) % 2, weights=np.ones(20), weight_name="w")
    with pytest.raises(DataError) as caught:
        fsframe.compare(["mim:top=1", "relieff:top=1", "mim:top=1 npfs:n=5"], data)
    lines = str(caught.value).splitlines()
    assert len(lines) == 2 and "cross-validation" in lines[0] and "npfs" in lines[1]


def test_a_study_tells_roles_and_parameters_of_all_chains() -> None:
    X = np.random.default_rng(0).standard_normal((40, 4))
    data = Dataset.from_arrays(X, np.arange(40) % 2, weights=np.ones(40), weight_name="w")
    with pytest.raises(RequestError) as caught:
        fsframe.study(data, ["mim:top=1", "mim:top=2 npfs:n=5,permutations=20"])
    text = str(caught.value)
    for part in ("cross-validation samples", "npfs samples", "use permutations="):
        assert text.count(part) == 1


def test_inspect_tells_all_columns_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,u\n2,1,v\n3,0,u\n4,1,v\n")
    with pytest.raises(DataError) as caught:
        inspect_table(tmp_path / "t.csv", label="yy", drop="zz", groups="qq", ordinal={"oo": ()})
    for name in ("'yy'", "'zz'", "'qq'", "'oo'"):
        assert str(caught.value).count(name) == 1
