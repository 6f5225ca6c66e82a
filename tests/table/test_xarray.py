"""Tables of xarray: names from coordinates, roles from those along the samples."""

import numpy as np
import pytest

import fsframe
from fsframe import Chain, Dataset
from fsframe.errors import DataError

xarray = pytest.importorskip("xarray")

X = np.random.default_rng(0).standard_normal((12, 3))
KIND = np.array(["B", "T"] * 6)


def _array(**coords):
    own = {"gene": ["g1", "g2", "g3"], "cell": [f"c{k}" for k in range(12)]}
    return xarray.DataArray(X, dims=("cell", "gene"), coords={**own, **coords})


def test_a_data_array_is_samples_by_features_with_roles_among_its_coordinates():
    array = _array(
        kind=("cell", KIND), person=("cell", np.arange(12) // 2), unused=("cell", KIND), place="x"
    )
    data = fsframe.read(array, label="kind", groups="person", drop="g2")
    assert data.X.tolist() == X[:, [0, 2]].tolist()
    assert (data.feature_names, data.classes) == (("g1", "g3"), ("B", "T"))
    assert (data.n_groups, data.group_name, data.label_name) == (6, "person", "kind")
    assert len(Chain.parse("mim:top=1").run(array, label="kind").selected_names) == 1
    named = fsframe.evaluate("mim:top=1", array, label="kind", groups="person", folds=2)
    assert "12 samples in 6 groups (person) × 3 features" in repr(named)
    # As columns of their own in a frame, nothing else is a feature.
    frame = array.to_pandas().assign(kind=KIND)
    assert Dataset.from_frame(array, "kind").sha256 == Dataset.from_frame(frame, "kind").sha256


def test_a_label_may_stand_among_the_features_or_apart():
    array = _array()
    assert Dataset.from_frame(array, "g3").feature_names == ("g1", "g2")
    apart = Dataset.from_arrays(array, KIND)
    assert apart.feature_names == ("g1", "g2", "g3") and apart.classes == ("B", "T")
    bare = xarray.DataArray(X, dims=("cell", "gene"))
    assert Dataset.from_arrays(bare, KIND).feature_names == ("f1", "f2", "f3")


def test_bytes_stay_bytes():
    array = (_array() > 0).astype(np.uint8).assign_coords(kind=("cell", KIND))
    assert Dataset.from_frame(array, "kind").columns(0, 3).dtype == np.uint8


def test_a_dataset_has_a_variable_for_each_column():
    given = xarray.Dataset(
        {"a": ("t", X[:, 0]), "b": ("t", X[:, 1]), "y": ("t", KIND)}, coords={"kept": ("t", KIND)}
    )
    data = fsframe.read(given, label="y")
    assert data.feature_names == ("a", "b") and data.X.tolist() == X[:, :2].tolist()
    assert Dataset.from_frame(given, "kept", drop="y").label_name == "kept"


def test_other_dimensions_are_refused_with_their_sizes():
    with pytest.raises(DataError, match=r"not \(a: 2, b: 3, c: 2\)"):
        fsframe.read(xarray.DataArray(np.zeros((2, 3, 2)), dims=("a", "b", "c")), label="y")
    with pytest.raises(DataError, match=r"samples as their only dimension.*assign_coords"):
        Dataset.from_frame(xarray.Dataset({"x": (("a", "b"), X), "y": ("a", KIND)}), "y")


def test_a_coordinate_that_is_not_there_or_runs_elsewhere_is_named():
    given = xarray.DataArray(
        X,
        dims=("cell", "gene"),
        coords={"gene": [f"g{k}" for k in range(X.shape[1])], "kind": ("cell", KIND)},
    )
    with pytest.raises(DataError, match=r"'kin'\. Did you mean `kind`"):
        fsframe.read(given, label="kin")
    with pytest.raises(DataError, match=r"runs over 'cell', the samples are 'gene'.*transpose"):
        fsframe.read(given.T, label="kind")
