"""Three real tables that scikit-learn brings along: three classes, two classes, a target."""

from __future__ import annotations

import pytest
from sklearn import datasets

from fsframe.table.dataset import Dataset

LOADERS = {
    "wine": datasets.load_wine,
    "cancer": datasets.load_breast_cancer,
    "diabetes": datasets.load_diabetes,
}


def real_table(name: str) -> Dataset:
    """One of the tables, of the largest every third row."""
    result = LOADERS[name]()
    rows = slice(None, None, 3 if name == "cancer" else 1)
    task = "regression" if name == "diabetes" else "classification"
    return Dataset.from_arrays(
        result.data[rows],
        result.target[rows],
        list(map(str, result.feature_names)),
        name=name,
        task=task,
    )


@pytest.fixture(params=list(LOADERS))
def real(request: pytest.FixtureRequest) -> Dataset:
    return real_table(request.param)
