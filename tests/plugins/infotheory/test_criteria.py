"""Every greedy criterion against the reference selections."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fsframe

FORMULAS = {
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


def make(text, **more):
    name, _, options = text.partition(":")
    values = dict(option.split("=") for option in options.split(",") if option)
    return fsframe.selectors[name].from_texts({**values, **{k: str(v) for k, v in more.items()}})


@pytest.mark.parametrize("name", ["tiny", "m1"])
@pytest.mark.parametrize("criterion", FORMULAS)
def test_order_and_scores_equal_the_formula(name, criterion, table, expected):
    order, scores = expected(f"{name}_formula", criterion)
    found = make(FORMULAS[criterion], top=len(order)).select(table(name))
    assert found.selected.tolist() == order
    assert_allclose(found.scores[order], scores, rtol=0, atol=1e-12)
    assert_array_equal(found.tables["criterion"], found.scores[order])


@pytest.mark.parametrize("name", ["tiny", "m1"])
@pytest.mark.parametrize(
    "criterion", ["mrmr", "cmim", "jmi", "disr", "jmim", "njmim", "cmi", "jmi3"]
)
def test_order_and_scores_in_nats_equal_praznik(name, criterion, table, expected):
    order, scores = expected(f"{name}_praznik", criterion)
    found = make(criterion, top=len(order), unit="nats").select(table(name))
    assert found.selected.tolist() == order
    assert_allclose(found.scores[order], scores, rtol=0, atol=1e-12)


@pytest.mark.parametrize("criterion", ["cmim", "cmi", "jmim", "njmim"])
def test_stopping_at_the_first_score_not_above_zero_ends_where_praznik_does(
    criterion, table, expected
):
    order, _ = expected("tiny_praznik", criterion)
    assert make(criterion, stop="positive").select(table("tiny")).selected.tolist() == order
