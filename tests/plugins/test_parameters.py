"""What no method can be asked for is refused by the parameter's name, before work starts."""

from __future__ import annotations

import attrs
import pytest

import fsframe
from fsframe.errors import RequestError

WORK = {"n", "permutations", "permuted_n", "fits", "draws", "trees", "rounds", "passes"}
WORK |= {"penalties", "repeats", "max_runs"}
"""Parameters that say how often something is done, whatever the table is like."""

# The most rounds, after which it ends if weights have not settled before.
LIMITS = {("iterative-relief", "rounds")}


def asked() -> list[tuple[str, str]]:
    return [
        (name, field.name)
        for name in sorted(fsframe.selectors)
        for field in attrs.fields(fsframe.selectors[name])
        if field.name in WORK and (name, field.name) not in LIMITS
    ]


def test_every_method_that_repeats_is_asked():
    assert len(asked()) > 25
    assert {name for _, name in asked()} == WORK


@pytest.mark.parametrize("times", [2**32, 10**18])
@pytest.mark.parametrize(("name", "parameter"), asked())
def test_four_billion_times_is_refused(name, parameter, times):
    with pytest.raises(RequestError, match=parameter):
        fsframe.selectors[name](**{parameter: times})


REQUIRED = {
    "sklearn-selector": {"estimator": "SelectKBest"},
    "sklearn": {"estimator": "GaussianNB"},
}
FREE = {"base", "classifier", "estimator"}
BELOW_ZERO = {"delta", "threshold", "impute"}
"""Parameters that are texts, and those that may be negative."""

PARAMETERS = [
    (registry, name, parameter.name)
    for registry in (fsframe.selectors, fsframe.classifiers, fsframe.stability_metrics)
    for name in registry
    for parameter in registry[name].parameters()
    if parameter.name not in FREE
]


@pytest.mark.parametrize(("registry", "name", "parameter"), PARAMETERS)
def test_what_is_outside_the_range_of_a_parameter_is_refused(registry, name, parameter):
    for wrong in (-1, float("nan"), float("inf"), "no such thing"):
        if wrong == -1 and parameter in BELOW_ZERO:
            continue
        with pytest.raises(RequestError, match=parameter):
            registry[name](**REQUIRED.get(name, {}) | {parameter: wrong})
