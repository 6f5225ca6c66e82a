"""Scores against a slow independent program and against CORElearn (see data/README.md)."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.method.run import Run
from fsframe_relief.methods.variants import (
    Multisurf,
    Multisurfstar,
    Relief,
    Relieff,
    Rrelieff,
    Surf,
    Surfstar,
)

from .conftest import read_scores

PLAIN = {
    "gametes2way": {
        "plain_ReliefF_k10_tieindex": Relieff(k=10, ties="index"),
        "plain_ReliefF_k10_tiefrac": Relieff(k=10),
        "plain_ReliefF_k100_tieindex": Relieff(k=100, ties="index"),
        "plain_ReliefF_k100_tiefrac": Relieff(k=100),
        "plain_SURF": Surf(),
        "plain_SURFstar": Surfstar(),
        "plain_MultiSURF": Multisurf(),
        "plain_MultiSURFstar": Multisurfstar(),
    },
    "mixed3class_complete": {
        "plain_ReliefF_k10_prior": Relieff(k=10),
        "plain_ReliefF_k100_prior": Relieff(k=100),
        "plain_SURF_prior": Surf(),
        "plain_SURFstar_prior": Surfstar(),
        "plain_MultiSURF_prior": Multisurf(),
        "plain_MultiSURFstar_prior": Multisurfstar(),
    },
}
CORELEARN = {
    "mixed3class_complete": {
        "cl_ReliefFequalK_k10_noramp": Relieff(k=10),
        "cl_ReliefFequalK_k100_noramp": Relieff(k=100),
        "cl_ReliefFexpRank_k70_s20_noramp": Relieff(weighting="rank"),
        "cl_ReliefFdistance_noramp": Relieff(weighting="distance"),
        "cl_Relief": Relief(),
    },
    "contreg": {
        "cl_RReliefFequalK_k10_noramp": Rrelieff(k=10, weighting="equal"),
        "cl_RReliefFequalK_k100_noramp": Rrelieff(k=100, weighting="equal"),
        "cl_RReliefFexpRank_k70_s20_noramp": Rrelieff(),
        "cl_RReliefFdistance_noramp": Rrelieff(weighting="distance"),
        "cl_RReliefFequalK_k10_ramp": Rrelieff(k=10, weighting="equal", ramp=[0.04, 0.1]),
        "cl_RReliefFexpRank_default": Rrelieff(ramp=[0.04, 0.1]),
    },
}


def cases(references):
    return [
        (name, column, method) for name, of in references.items() for column, method in of.items()
    ]


@pytest.mark.parametrize(("name", "column", "method"), cases(PLAIN))
def test_scores_equal_the_slow_program(table, name, column, method):
    truth = read_scores(f"scores_{name}_plain.csv")[column]
    scores = method.select(table(f"{name}.csv")).scores
    np.testing.assert_allclose(scores, truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "column", "method"), cases(CORELEARN))
def test_scores_equal_corelearn_where_its_definitions_are_ours(table, name, column, method):
    truth = read_scores(f"scores_{name}_corelearn.csv")[column]
    scores = method.select(table(f"{name}.csv")).scores
    np.testing.assert_allclose(scores, truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", [Relieff(), Surf(), Multisurfstar()])
def test_a_small_memory_bound_changes_the_way_but_not_the_scores(table, method):
    data = table("mixed3class_complete.csv")
    wide = method.select(data, run=Run(memory=1 << 30))
    narrow = method.select(data, run=Run(memory=1 << 16))
    np.testing.assert_allclose(narrow.scores, wide.scores, rtol=0, atol=1e-13)
