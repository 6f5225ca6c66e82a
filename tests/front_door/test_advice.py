"""What an error advises a program is an argument of the function that was called."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import polars
import pytest

import fsframe
from fsframe.errors import DataError, UntidyTableError
from tests.front_door.builder import as_text, patients

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "select": lambda frame, **more: fsframe.select("mim:top=2,bins=3", frame, **more),
    "evaluate": lambda frame, **more: fsframe.evaluate(
        "mim:top=2,bins=3 knn", frame, folds=2, repeats=1, **more
    ),
    "stability": lambda frame, **more: fsframe.stability("mim:top=2,bins=3", frame, n=3, **more),
    "compare": lambda frame, **more: fsframe.compare(
        ["mim:top=2,bins=3 knn", "mim:top=1,bins=3 knn"], frame, folds=2, repeats=1, **more
    ),
    "study": lambda frame, **more: fsframe.study(
        frame, ["mim:top=2,bins=3 knn"], folds=2, measures="accuracy", **more
    ),
}


@pytest.fixture
def frame() -> polars.DataFrame:
    return polars.read_csv(io.StringIO(as_text(patients())))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_advice_is_taken_by_the_function_that_gives_it(frame, function):
    with pytest.raises(UntidyTableError) as caught:
        fsframe.read(frame)
    advised = caught.value.ways[0]
    said = ", ".join(f"{key}={value!r}" for key, value in advised.items())
    assert said in _refusal(function, frame)
    assert {"label", "drop", "categorical"} <= {*advised}
    assert FUNCTIONS[function](frame, **advised) is not None


def _refusal(function: str, frame: polars.DataFrame, **more: Any) -> str:
    with pytest.raises((fsframe.FsframeError, TypeError)) as caught:
        FUNCTIONS[function](frame, **more)
    return str(caught.value)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_argument_of_another_package_is_answered_with_ours(frame, function):
    told = _refusal(function, frame, target="Outcome")
    assert told == (
        f"{function}() got an unexpected keyword argument 'target'; did you mean `label=`?"
    )
    assert "it takes" in _refusal(function, frame, colour="red")
    told = _refusal(function, frame, target="Outcome", ignore="Date")
    assert told.endswith("'target', 'ignore'; did you mean `label=`, `drop=`?")
    for attempt in (fsframe.read, fsframe.Dataset.from_frame):
        with pytest.raises(TypeError, match="did you mean `label=`"):
            attempt(frame, target="Outcome")


def test_a_chain_says_which_functions_take_what_it_advises(frame):
    with pytest.raises(UntidyTableError, match=r"`fsframe.read` takes, and so does `fsframe.sel"):
        fsframe.Chain.parse("mim").run(frame, label="Outcome")


def test_features_without_options_are_advised_about_the_frame(frame):
    outcome = frame["Outcome"]
    with pytest.raises(DataError, match=r"make them categories \(X.astype"):
        fsframe.Dataset.from_arrays(frame.drop("Outcome"), outcome)


def test_missing_values_are_answered_with_what_can_be_typed():
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[2, 1] = np.nan
    data = fsframe.Dataset.from_arrays(X, np.arange(20) % 2)
    with pytest.raises(DataError) as caught:
        fsframe.select("mim", data)
    assert "`mim:missing=pairwise`" in str(caught.value)
    assert 'missing="pairwise"' in str(caught.value)
    assert fsframe.select("mim:missing=pairwise,top=1,bins=3", data).selected_names


def test_a_dataset_with_roles_besides_is_refused_by_name():
    data = fsframe.Dataset.from_arrays(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(fsframe.RequestError, match="label= drop= is for data frames"):
        fsframe.select("mim", data, label="y", drop=["x"])


def test_the_array_of_a_file_is_no_label_of_a_frame(frame):
    assert "y is for files, not for DataFrame; its label is label=" in _refusal(
        "select", frame, y="Outcome"
    )


def test_ranks_whose_scores_rise_are_explained():
    draw = np.random.default_rng(1)
    X = draw.integers(0, 3, (80, 5)).astype(float)
    data = fsframe.Dataset.from_arrays(X, (X[:, 0] + X[:, 1] + draw.random(80) > 2.5).astype(int))
    rising, falling = (str(fsframe.select(text, data)) for text in ("jmi:top=3", "mim:top=3"))
    assert "rank: the order in which the features were chosen" in rising
    assert "rank: the order" not in falling
