"""Fails after its first entry."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-early", target="fake_midway:Nothing")
    raise KeyError("the second entry")
