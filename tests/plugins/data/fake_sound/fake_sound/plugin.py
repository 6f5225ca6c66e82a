"""Names a selector, a classifier and a stability metric; imports no numpy."""

from fsframe.registry.entries import ClassifierEntry, SelectorEntry, StabilityMetricEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(
        name="fake-spread",
        target="fake_sound.spread:FakeSpread",
        summary="Columns with the largest range",
        family="fake",
        reference="none",
    )


@hookimpl
def fsframe_classifiers():
    yield ClassifierEntry(name="fake-majority", target="fake_sound.majority:FakeMajority")


@hookimpl
def fsframe_stability_metrics():
    yield StabilityMetricEntry(name="fake-equal", target="fake_sound.equal:FakeEqual")
