"""AnnData and sparse matrices from Python."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from scipy import sparse

import fsframe
from fsframe import Chain, Dataset
from fsframe.errors import DataError, RequestError

X = [[0.0, 5.0, 0.0], [1.0, 0.0, 2.0], [0.0, 6.0, 0.0], [0.0, 0.0, 0.0]]


class AnnData:
    """What fsframe asks of one."""

    def __init__(self, values) -> None:
        self.X = values
        self.var_names = pandas.Index(["g1", "g2", "g3"])
        kinds = pandas.Categorical(["B", "T", "B", "T"])
        self.obs = pandas.DataFrame({"type": kinds, "donor": ["a", "a", "b", "c"]})


AnnData.__module__ = "anndata._core.anndata"


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, pandas.DataFrame.to_numpy])
def test_obs_gives_label_and_groups(make) -> None:
    given = AnnData(make(pandas.DataFrame(X)) if make is pandas.DataFrame.to_numpy else make(X))
    data = fsframe.read(given, label="type", groups="donor", drop="g3")
    assert data.X.tolist() == [row[:2] for row in X]
    assert (data.feature_names, data.classes) == (("g1", "g2"), ("B", "T"))
    assert (data.n_groups, data.group_name, data.label_name) == (3, "donor", "type")
    assert Chain.parse("mim:top=1").run(given, label="type").selected_names == ("g2",)


def test_a_label_that_is_not_there_is_reported_with_those_that_are() -> None:
    with pytest.raises(DataError, match=r"column of obs.*type, donor"):
        fsframe.read(AnnData(X))
    with pytest.raises(DataError, match=r"'typ'.*Did you mean `type`"):
        fsframe.read(AnnData(X), label="typ")
    with pytest.raises(DataError, match="cannot name groups"):
        fsframe.read(AnnData(X), label="type", groups="type")


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
def test_a_sparse_matrix_of_any_form_is_taken(form: str) -> None:
    data = Dataset.from_arrays(sparse.coo_array(X).asformat(form), [0, 1, 0, 1])
    assert data.X.tolist() == X
    assert data.sha256 == Dataset.from_arrays(X, [0, 1, 0, 1]).sha256


@pytest.mark.slow
def test_a_real_one_is_taken() -> None:
    anndata = pytest.importorskip("anndata")
    one = AnnData(None)
    real = anndata.AnnData(
        sparse.csr_matrix(X), obs=one.obs, var=pandas.DataFrame(index=one.var_names)
    )
    data = fsframe.read(real, label="type", groups="donor")
    assert data.X.tolist() == X and data.n_groups == 3


def test_numbers_in_obs_are_codes_if_declared_categorical() -> None:
    given = AnnData(X)
    given.obs["plate"] = [3, 1, 2, 1]
    plain = fsframe.read(given, label="type", adjust="plate")
    coded = fsframe.read(given, label="type", adjust="plate", categorical="plate")
    assert plain.covariates.nominal.tolist() == [False]
    assert coded.covariates.nominal.tolist() == [True]
    assert coded.n_features == plain.n_features


def test_a_layer_is_taken_in_place_of_x() -> None:
    given = AnnData(sparse.csr_array(X))
    given.layers = {"counts": sparse.csr_array(2 * np.array(X)), "raw": np.array(X)}
    plain = fsframe.read(given, label="type")
    for name, times in (("counts", 2), ("raw", 1)):
        data = fsframe.read(given, label="type", x=f"layers/{name}")
        assert data.X.tolist() == (times * plain.X).tolist()
        assert data.sha256 == Dataset.from_frame(given, "type", layer=name).sha256
    with pytest.raises(DataError, match=r"no layer 'count'. Did you mean `counts`"):
        Dataset.from_frame(given, "type", layer="count")
    with pytest.raises(RequestError, match="is for an AnnData"):
        Dataset.from_frame(pandas.DataFrame({"a": [1, 2], "k": [0, 1]}), layer="counts")
