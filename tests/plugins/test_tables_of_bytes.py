"""Bundled methods on tables of bytes, and on nominal columns with a numeric target."""

from __future__ import annotations

import itertools
import warnings

import attrs
import numpy as np
import pytest
import scipy.sparse

import fsframe
from fsframe import Chain, Dataset, Run
from fsframe.errors import DataError, FsframeError
from fsframe.table import frozen_table
from fsframe.testing import suite_for
from fsframe.testing.tables import assert_equal
from tests.grids import diagonal, slow
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
# Of these, some fit many times, and hand it over where the others do.
REPEATED = ["rfecv", "sequential"]
FEWER = {"boruta": {"max_runs": 3, "trees": 5}}
# Protocols, made with a base for classes.
OTHERS = {"cross-validation", "stability-study"}


MANY = RNG.integers(0, 40, (N, P))
TABLES = {
    "uint8": (G.astype(np.uint8), G.astype(float)),
    "int8": ((G - 1).astype(np.int8), (G - 1).astype(float)),
    "two bits": (packed(G), G.astype(float)),
    "two bits with gaps": (packed(G, GAPS), np.where(GAPS, np.nan, G)),
}
MORE = {
    "many levels": (MANY.astype(np.uint8), MANY.astype(float)),
    "sparse": (scipy.sparse.csr_array(G.astype(float)), G.astype(float)),
}
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
    selection = method.select(data, seed=1)
    return selection.selected.tobytes(), selection.scores.tobytes(), selection.warnings


@pytest.mark.parametrize(
    ("name", "table"),
    [
        *diagonal([name for name in METHODS if name not in REPEATED], list(TABLES)),
        *itertools.starmap(slow, itertools.product(REPEATED, TABLES)),
    ],
)
def test_results_are_those_of_numbers_and_no_table_is_widened(name, table, widened):
    method = suite_for(name)().make()
    method = attrs.evolve(method, **FEWER.get(name, {}))
    tasks = method.predicts() if hasattr(method, "fit") else method.tasks
    if name == "sklearn-selector":
        tasks = {"classification"}
    # The base that a stage is made with may be another.
    gaps_taken = name not in {"npfs", "ensemble"} and method.missing_taken()
    kept, numbers = TABLES[table if gaps_taken else table.removesuffix(" with gaps")]
    for task in sorted(tasks):
        widened.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, expected = (
                outcome(method, Dataset.from_arrays(X, **LABELS[task])) for X in (kept, numbers)
            )
        assert found == expected, task
        assert bool(widened) == (name in WIDENED), (task, widened)


CHAINS = [
    "relief", "relieff", "relieff:missing=probability", "surf:discrete_features=none",
    "relieff:discrete_features=none", "relieff:ramp=[0.1,0.5]", "relieff:m=30",
    "relieff:ties=index", "iterative-relief:discrete_features=none",
    "relieff:discrete_features=none,permutations=9", "rrelieff", "rrelieff:discrete_features=none",
    "vls:subset=5,rounds=3", "relieff:top=3 npfs:n=8,null=published", "impute relieff",
    "impute im4e:top=3", "impute im4e:sigma=cv,folds=2", "impute im4e:prototypes=30",
    "impute:method=most-frequent mrmr:top=4",
]  # fmt: skip


@pytest.mark.parametrize(
    ("chain", "table"), diagonal(CHAINS, ["int8", "two bits with gaps", "many levels", "sparse"])
)
def test_chains_of_bytes_have_the_bits_of_numbers(chain, table, widened):
    label = LABELS["regression" if "rrelieff" in chain else "classification"]
    kept, numbers = (Dataset.from_arrays(X, **label) for X in (TABLES | MORE)[table])
    result = Chain.parse(chain).run(kept, seed=3)
    assert not widened or table == "sparse", "the whole table was converted"
    expected = Chain.parse(chain).run(numbers, seed=3)
    for one, other in zip(result.stages, expected.stages, strict=True):
        assert_equal(one.selection, other.selection, chain, besides=("model", "tables"))


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


# Nominal columns with a numeric target


LEVELS = 6
RENAMED = {
    "in another order": ([4, 0, 5, 2, 1, 3], [1, 0]),
    "far apart": ([10, -3, 77, 2.5, 1000, 0], [7, 3]),
}
TAKEN = [
    *("anova-f", "mim", "mim:discretise=mdl", "cmim", "jmi", "mrmr", "fcbf", "chi2", "correlation"),
    *("interactions", "relieff", "rrelieff", "surf", "multisurf", "vls", "relieff:permutations=99"),
    *("surfstar", "multisurfstar:permutations=99", "swrfstar"),
    *("mim turf:base=rrelieff", "mim:top=4 npfs:base=mim,n=10,permutations=29"),
]
NUMBERS_ONLY = ("lasso", "elastic-net", "rfe", "importance", "boruta")


def _table(levels=range(LEVELS), two=(0, 1), n=80):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 5))
    level, half = rng.integers(0, LEVELS, n), rng.integers(0, 2, n)
    y = np.array([0.0, 3, -1, 2, -2, 1])[level] + X[:, 0] + 0.3 * rng.standard_normal(n)
    X[:, 1], X[:, 4] = np.array(list(levels))[level], np.array(two)[half]
    return Dataset.from_arrays(X, y, list("abcde"), categorical=[1, 4], task="regression")


@pytest.mark.parametrize(("chain", "how"), diagonal(TAKEN, list(RENAMED)))
def test_renaming_levels_changes_nothing(chain, how):
    stages = fsframe.Chain.parse(chain)
    result = stages.run(_table(), seed=1)
    assert result.selected.size or "interactions" in chain
    other = stages.run(_table(*RENAMED[how]), seed=1)
    assert other.selected.tolist() == result.selected.tolist()
    # Sums over levels go in the order of their codes: the last bits may differ.
    assert other.scores == pytest.approx(result.scores, rel=1e-9, abs=1e-12, nan_ok=True)


def test_anova_f_is_that_of_groups_for_levels():
    from scipy.stats import f_oneway

    data = _table()
    groups = [data.y[data.X[:, 1] == level] for level in range(LEVELS)]
    scores = fsframe.Chain.parse("anova-f:rank_by=statistic").run(data).scores
    assert scores[1] == pytest.approx(f_oneway(*groups).statistic, rel=1e-10)


def test_relieff_gives_0_to_a_column_whose_level_all_neighbours_share():
    # 25 rows for each pair of levels: the nearest 10 differ in none, and nothing is learned of it.
    scores = fsframe.Chain.parse("relieff:k=10").run(_table(n=300)).scores
    assert scores[1] == 0 and scores[4] == 0 < scores[0]


@pytest.mark.parametrize("predictor", ["knn", "weighted-knn", "ridge"])
def test_predictions_do_not_depend_on_what_levels_are_called(predictor):
    kinds = fsframe.regressors if predictor == "ridge" else fsframe.classifiers

    def predictions(*levels):
        data = _table(*levels, n=300)
        fitted = kinds[predictor]().fit(data.take_rows(np.arange(240)))
        return np.asarray(fitted.predict(data.X[240:])), data.y[240:]

    found, y = predictions()
    assert np.mean((found - y) ** 2) < 0.8 * np.var(y)
    for levels in RENAMED.values():
        assert predictions(*levels)[0] == pytest.approx(found, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", NUMBERS_ONLY)
def test_what_reads_numbers_refuses_levels_by_name_and_takes_them_encoded(name):
    with pytest.raises(DataError, match=rf"{name} .*'b', 'e'.*--encode onehot"):
        fsframe.Chain.parse(name).run(_table())
    if name in ("lasso", "rfe"):
        result = fsframe.Chain.parse(name).run(_table().encoded("onehot"), seed=1).selected_names
        assert any(feature.startswith("b=") for feature in result)
