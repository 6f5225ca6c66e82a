"""What chains cost, by what their methods declare: forecasts, and what is told before a run."""

from __future__ import annotations

import numpy as np
import pytest

import fsframe
from fsframe import Dataset


@pytest.mark.parametrize(
    ("text", "n", "p", "seconds"),
    [
        ("mim:top=10", 100, 1000, 1e-3 + 3e-6 * 1000 + 2.5e-9 * 100 * 1000),
        ("mim:top=10 relieff", 100, 1000, 1e-3 + 3e-3 + 2.5e-4 + 1e-3 + 5e-11 * 100**2 * 10),
        ("relieff npfs", 100, 20, 1091 * (1e-3 + 5e-11 * 100**2 * 20)),
        ("npfs:base=(mim:top=5),n=30,null=published", 100, 20, 30 * (1e-3 + 6e-5 + 5e-6)),
        # A corrected test above 200 features: 200 + 450 · 2 fits, and one on the whole table.
        ("mim:top=100 npfs", 100, 2000, 1101 * (1e-3 + 6e-3 + 5e-4)),
    ],
)
def test_costs_of_stages_add_up_and_multiply(text, n, p, seconds):
    assert fsframe.Chain.parse(text).cost(n, p).seconds == pytest.approx(seconds)


def test_a_stage_that_declares_nothing_is_not_forecast():
    assert fsframe.Chain.parse("mim:top=5 turf:base=relieff").cost(50, 9) is None
    assert fsframe.Chain.parse("vls npfs").cost(50, 9) is None


def test_a_forecast_of_hours_says_what_makes_it_less_on_this_table():
    tall, wide = (
        Dataset.from_arrays(np.zeros((n, p)), np.arange(n) % 2)
        for n, p in ((40_000, 9), (12_000, 300))
    )

    def told(chain, data):
        return [w for w in fsframe.Chain.parse(chain).forewarnings(data) if "hours" in w]

    (few_columns,) = told("immigrate npfs", tall)
    assert "Screen" not in few_columns and "immigrate:prototypes=1000" in few_columns
    (many_columns,) = told("surf npfs", wide)
    assert "Screen first (mim:top=100)" in many_columns and "surf:m=1000" in many_columns
    assert not told("immigrate:prototypes=100 npfs:n=20", tall)


def test_hours_are_reported_before_a_run_and_by_parameters():
    data = Dataset.from_arrays(np.eye(40), np.arange(40) % 2)
    (told,) = [w for w in fsframe.Chain.parse("boruta npfs").forewarnings(data) if "hours" in w]
    assert told.startswith("forecast: about 21.")
    few = fsframe.Chain.parse("boruta:trees=5,max_runs=5 npfs:n=10")
    assert not [w for w in few.forewarnings(data) if "hours" in w]
