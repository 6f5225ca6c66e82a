"""Every criterion against the plain reading of its formula, and mutual information by hand."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import fsframe
from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe.testing.tables import assert_equal
from fsframe_infotheory import plain
from fsframe_infotheory.engine import encode
from fsframe_infotheory.methods.criteria import Mim
from tests.grids import diagonal, examples, slow

CRITERIA = {**plain.CRITERIA, "mim": lambda facts, j, selected: facts.relevance(j)}


@pytest.fixture(autouse=True, scope="module")
def _threads_share_even_small_work():
    before, encode.SMALL_WORK = encode.SMALL_WORK, 0
    yield
    encode.SMALL_WORK = before


@st.composite
def tables(draw):
    """Small tables whose columns have from 1 to 40 levels, so that every way to count is met."""
    n, p = draw(st.integers(4, 70)), draw(st.integers(2, 6))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    n_levels = rng.choice([1, 2, 3, 5, 17, 40], p)
    X = np.column_stack([rng.integers(0, size, n) for size in n_levels]).astype(float)
    y = rng.integers(0, draw(st.integers(2, 4)), n)
    y[:2] = [0, 1]
    if p > 2 and draw(st.booleans()):
        X[:, 1] = X[:, 0]
    return X, y


def make(text, **more):
    name, _, options = text.partition(":")
    values = dict(option.split("=") for option in options.split(",") if option)
    return fsframe.selectors[name].from_texts({**values, **{k: str(v) for k, v in more.items()}})


def check(found, order, scores, atol=1e-10):
    assert found.selected.tolist() == order
    assert_allclose(found.scores[order], scores, rtol=0, atol=atol)


@pytest.mark.parametrize("criterion", CRITERIA)
@examples(16, least=8)
@given(tables(), st.sampled_from(["plain", "weights", "holes"]))
def test_engine_equals_the_plain_formula(criterion, drawn, kind):
    X, y = drawn
    n, p = X.shape
    rng, weights, k = np.random.default_rng(n), np.ones(n), p
    upstream, settings = None, {"discretise": "none"}
    if kind == "weights":
        weights = rng.integers(1, 9, n) / 4
        upstream = fsframe.Selection(
            selected=np.arange(p), scores=np.zeros(p), instance_weights=weights
        )
    if kind == "holes":
        # Pairwise deletion; beyond three columns hardly a row is left.
        X, k = np.where(rng.random(X.shape) < 0.15, np.nan, X), min(3, p)
        settings["missing"] = "pairwise"
    order, scores = plain.select(plain.Informations(X, y, weights), CRITERIA[criterion], k)
    selector, data = make(criterion, **settings, top=k), Dataset.from_arrays(X, y)
    for threads in (1, 2):
        check(selector.select(data, upstream, run=Run(threads=threads)), order, scores)


# Reference selections

FORMULAS = {
    "mim": "mim",
    "mifs_1": "mifs:beta=1",
    "mifs_0.5": "mifs:beta=0.5",
    "mrmr": "mrmr",
    "cmim": "cmim",
    "cmim_brown": "cmim:clamp=false",
    "jmi": "jmi",
    "jmi_brown": "jmi:form=mean",
    "disr": "disr",
    "cife": "cife",
    "icap": "icap",
    "condred": "condred",
    "betagamma_0.5_0.5": "betagamma:beta=0.5,gamma=0.5",
    "cmi": "cmi",
    "jmim": "jmim",
    "njmim": "njmim",
}


PRAZNIK = ("mrmr", "cmim", "jmi", "disr", "jmim", "njmim", "cmi", "jmi3")


OTHERS = [*(("formula", c) for c in FORMULAS), *(("praznik", c) for c in PRAZNIK)]


@pytest.mark.parametrize(("by", "name"), diagonal(OTHERS, ["tiny", "m1"]))
def test_order_and_scores_equal_those_of_other_programs(by, name, table, expected):
    program, criterion = by
    order, scores = expected(f"{name}_{program}", criterion)
    text, unit = (FORMULAS[criterion], "bits") if program == "formula" else (criterion, "nats")
    selection = make(text, top=len(order), unit=unit).select(table(name))
    check(selection, order, scores, 1e-12)
    if criterion != "mim":
        assert_array_equal(selection.tables["criterion"], selection.scores[order])


@pytest.mark.parametrize("criterion", ["cmim", "cmi", "jmim", "njmim"])
def test_stopping_at_the_first_score_not_above_zero_ends_where_praznik_does(
    criterion, table, expected
):
    order, _ = expected("tiny_praznik", criterion)
    assert make(criterion, stop="positive").select(table("tiny")).selected.tolist() == order


# Mutual information alone


@pytest.mark.parametrize("name", ["cont5", "cont25"])
def test_default_bins_give_the_information_that_praznik_gives(name, table, reference_folder):
    with (reference_folder / f"{name}_praznik_mi.csv").open() as lines:
        nats = [float(row["mi_nats"]) for row in csv.DictReader(lines)]
    selection = Mim(unit="nats").select(table(name))
    assert_allclose(selection.scores, nats, atol=1e-12)
    assert "bins of equal width by default" in selection.warnings[0]


def _mixed():
    rng = np.random.default_rng(0)
    size = (300, 10)
    X = np.c_[rng.integers(0, 5, size), rng.normal(size=size), rng.integers(0, 40, size)]
    y = rng.integers(0, 3, 300)
    X[:, 0] += y
    X[rng.random(X.shape) < 0.1] = np.nan
    return Dataset.from_arrays(X, y)


@pytest.mark.parametrize(
    ("rule", "many"),
    [("auto", 7), ("auto", 60), ("mdl", 7), slow("mdl", 60)],
)
def test_bootstraps_together_are_those_of_each_and_counts_are_copies(rule, many):
    # 60 of 300 rows are more draws than are counted in one pass.
    data, rng = _mixed(), np.random.default_rng(1)
    counts = np.array([np.bincount(rng.integers(0, 300, 300), minlength=300) for _ in range(many)])
    mim = Mim(discretise=rule, missing="level", top=5)
    alone = [mim.select(data.with_counts(row)) for row in counts]
    for memory, kind in ((1 << 30, np.int64), (50_000, np.int64), (1 << 30, np.uint8)):
        selections = mim.select_many(data, counts.astype(kind), run=Run(memory=memory))
        for together, one in zip(selections, alone, strict=True):
            assert_equal(together, one, rule, besides=("model", "tables", "warnings"))
    copied = mim.select(data.take_rows(np.repeat(np.arange(300), counts[0])))
    assert_array_equal(alone[0].scores, copied.scores)
    # Unlike totals, and more than a short integer holds.
    counts[5] *= 250
    many = (mim.select_many(data, counts.astype(kind)) for kind in (np.uint16, np.int64))
    for short, long in zip(*many, strict=True):
        assert_array_equal(short.scores, long.scores)


def test_named_features_that_an_earlier_stage_dropped_end_no_run(table):
    data = table("tiny")
    names = data.feature_names
    best = [names[k] for k in Mim(top=2).select(data).selected]
    out = next(name for name in names if name not in best)
    plain_run = fsframe.select("mim:top=2 jmi:top=1", data)
    result = fsframe.select(f"mim:top=2 jmi:top=1,exclude=[{out}]", data)
    assert result.selected_names == plain_run.selected_names
    assert not any(out in text for text in result.stages[1].selection.warnings)
    for more in ("", ",estimator=knn"):
        result = fsframe.select(f"mim:top=2 jmi:top=1,given=[{out}]{more}", data)
        assert result.selected.size == 1
        assert any(f"{out} (given) not used" in w for w in result.stages[1].selection.warnings)


def test_features_that_the_table_lacks_are_refused_before_any_stage_runs(table):
    data, listened = table("tiny"), []
    chain = fsframe.Chain.parse("immigrate:top=2 mim:exclude=[zz],given=[x00]")
    with pytest.raises(RequestError) as caught:
        chain.run(data, listener=listened.append)
    assert "mim: there is no feature 'zz'" in str(caught.value)
    assert "mim: there is no feature 'x00'" in str(caught.value) and not listened
    assert "Did you mean `x0`?" in str(caught.value)
    with pytest.raises(RequestError, match="no feature 'zz'"):
        Mim(exclude=["zz"]).select(data)


@pytest.mark.parametrize(
    "options", [{}, {"exclude": ("f1",)}, {"estimator": "knn"}, {"unit": "nats"}]
)
def test_mim_has_the_table_of_relevance_that_all_filters_have(options):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    data = Dataset.from_arrays(X + y[:, None] * [0.0, 1.0, 2.0, 0.5], y)
    selection = fsframe.selectors["mim"](**options).select(data)
    relevance = selection.tables["relevance"]
    assert np.isfinite(relevance).all()
    known = ~np.isnan(selection.scores)
    np.testing.assert_array_equal(relevance[known], selection.scores[known])
    other = fsframe.selectors["mrmr"](**options).select(data).tables["relevance"]
    np.testing.assert_allclose(relevance, other, rtol=0, atol=1e-12)
