"""What the trials of `benchmarks/trust/trials.py` found, and those that take no second."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.errors import RequestError, StoreError
from fsframe.evaluation.study_plan import read_plan
from fsframe.show.page import report_page
from fsframe.table.dataset import Dataset


@pytest.fixture
def data() -> Dataset:
    X = np.random.default_rng(2).normal(size=(30, 4))
    return Dataset.from_arrays(X, (X[:, 0] > 0).astype(int))


def test_predictions_of_more_classes_than_are_named_are_refused(data):
    chain = Chain.parse("cross-validation:base=(mim:top=2 knn),folds=2,repeats=1")
    record = chain.run(data)
    forged = attrs.evolve(record, data=attrs.evolve(record.data, class_names=("one",)))
    with pytest.raises(StoreError, match="is of 2 classes, and 1 are named"):
        report_page(forged)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = " + "[" * 3000 + "]" * 3000, "nested too deep"),
        (f"seeds = {list(range(2000))}", "must be at most 1000, not 2000"),
        (f"chains = ['{'mim ' * 5000}']", "a chain has at most 100 stages"),
    ],
)
def test_study_files_that_ask_for_ever_more_are_refused(tmp_path, text, says):
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(RequestError, match=says):
        read_plan(tmp_path / "study.toml")
