"""Bundled methods on tables of bytes and of two bits: the bits of numbers, and no widened table."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import fsframe
from fsframe import Chain, Dataset, Run
from fsframe.errors import FsframeError
from fsframe.table import frozen_table
from fsframe.testing import suite_for
from tests.plugins.shared import packed

RNG = np.random.default_rng(1)
N, P = 40, 12
G = RNG.integers(0, 3, (N, P))
GAPS = RNG.random((N, P)) < 0.05
CLASSES = ((G[:, 3] > 0) ^ (G[:, 7] > 1)).astype(int)
LABELS = {
    "classification": {"y": CLASSES},
    "regression": {"y": CLASSES + RNG.random(N), "task": "regression"},
    "survival": {"y": RNG.random(N) + 0.1, "event": (RNG.random(N) < 0.7).astype(int)},
}
# They hand the table to scikit-learn as floats, or need it standardised: the one copy they make.
WIDENED = {"importance", "knockoffs", "rfe", "rfecv", "sequential", "sklearn-selector"}
# Protocols, made with a base for classes.
OTHERS = {"cross-validation", "stability-study"}


MANY = RNG.integers(0, 40, (N, P))
TABLES = {
    "uint8": (G.astype(np.uint8), G.astype(float)),
    "int8": ((G - 1).astype(np.int8), (G - 1).astype(float)),
    "two bits": (packed(G), G.astype(float)),
    "two bits with gaps": (packed(G, GAPS), np.where(GAPS, np.nan, G)),
}
MORE = {"many levels": (MANY.astype(np.uint8), MANY.astype(float))}
METHODS = sorted(
    offer.name
    for registry in (fsframe.selectors, fsframe.classifiers)
    for offer in registry.offers()
    if offer.plugin.source.distribution == "fsframe" and offer.name not in OTHERS
)


@pytest.fixture
def widened(monkeypatch):
    """The shapes of tables that were converted to float64 as a whole."""
    seen = []
    convert = frozen_table._widened

    def noted(matrix):
        seen.append(matrix.shape)
        return convert(matrix)

    monkeypatch.setattr(frozen_table, "_widened", noted)
    return seen


def outcome(method, data: Dataset):
    """What the method finds, as bytes."""
    if hasattr(method, "fit"):
        return method.fit(data, seed=1).predict(G[:9]).tobytes()
    found = method.select(data, seed=1)
    return found.selected.tobytes(), found.scores.tobytes(), found.warnings


@pytest.mark.parametrize("name", METHODS)
def test_results_are_those_of_numbers_and_no_table_is_widened(name, widened):
    method = suite_for(name)().make()
    tasks = method.predicts() if hasattr(method, "fit") else method.tasks
    if name == "sklearn-selector":
        tasks = {"classification"}
    # The base that a stage is made with may be another.
    gaps_taken = name not in {"npfs", "ensemble"} and method.missing_taken()
    expected = {}
    for task, table in itertools.product(sorted(tasks), TABLES):
        if "gaps" in table and not gaps_taken:
            continue
        kept, numbers = TABLES[table]
        widened.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = outcome(method, Dataset.from_arrays(kept, **LABELS[task]))
            # Bytes and two bits hold the same numbers.
            key = task, numbers.tobytes()
            if key not in expected:
                expected[key] = outcome(method, Dataset.from_arrays(numbers, **LABELS[task]))
        assert found == expected[key], (task, table)
        assert bool(widened) == (name in WIDENED), (task, table, widened)


@pytest.mark.parametrize(
    "chain",
    ["relief", "relieff", "relieff:discrete_features=none", "surf:discrete_features=none",
     "relieff:missing=probability", "relieff:ramp=[0.1,0.5]", "relieff:m=30", "relieff:ties=index",
     "iterative-relief:discrete_features=none", "relieff:discrete_features=none,permutations=9",
     "rrelieff", "rrelieff:discrete_features=none", "vls:subset=5,rounds=3",
     "relieff:top=3 npfs:n=8,null=published", "impute relieff", "impute im4e:top=3",
     "impute:method=most-frequent mrmr:top=4"],
)  # fmt: skip
@pytest.mark.parametrize("table", ["int8", "two bits with gaps", "many levels"])
def test_chains_of_bytes_have_the_bits_of_numbers(chain, table):
    label = LABELS["regression" if "rrelieff" in chain else "classification"]
    found, expected = (
        Chain.parse(chain).run(Dataset.from_arrays(X, **label), seed=3)
        for X in (TABLES | MORE)[table]
    )
    for one, other in zip(found.stages, expected.stages, strict=True):
        assert one.selection.scores.tobytes() == other.selection.scores.tobytes()
        assert one.selection.warnings == other.selection.warnings


def test_a_packed_table_needs_an_eighth_of_the_memory_to_begin():
    data, small = Dataset.from_arrays(packed(G), CLASSES), Run(memory=2 * N * P)
    with pytest.raises(FsframeError, match="memory"):
        fsframe.selectors["immigrate"]()._require_memory(data, P, small)
    fsframe.selectors["vls"]()._require_memory(data, P, small)


def test_filled_genotypes_stay_in_two_bits_where_genotypes_fill_them():
    fill = RNG.integers(0, 3, P).astype(float)
    filled = packed(G, GAPS).filled(fill)
    assert filled.dtype == np.uint8
    np.testing.assert_array_equal(filled.read(0, P), np.where(GAPS, fill, G))
    assert packed(G, GAPS).filled(fill + 0.5) is None


@pytest.mark.parametrize("table", TABLES)
def test_evaluation_predicts_rows_of_bytes_as_numbers(table, widened):
    chain = "impute:method=most-frequent mim:top=5 knn"
    found, expected = (
        fsframe.evaluate(chain, Dataset.from_arrays(X, CLASSES), folds=3, repeats=1, seed=1)
        for X in TABLES[table]
    )
    assert found.to_frame().equals(expected.to_frame())


def test_encoded_bytes_stay_bytes():
    data, wide = (
        Dataset.from_arrays(X, CLASSES, categorical=[2, 5]).encoded("onehot")
        for X in TABLES["uint8"]
    )
    assert data.matrix.dtype == np.uint8
    assert data.feature_names == wide.feature_names
    assert data.sha256 == wide.sha256
