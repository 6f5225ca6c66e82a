"""Offers one name twice."""

from fsframe.registry.entries import ClassifierEntry, SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-double", target="fake_twice:A")


@hookimpl
def fsframe_classifiers():
    yield ClassifierEntry(name="fake-double", target="fake_twice:B")
