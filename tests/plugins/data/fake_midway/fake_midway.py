"""Fails after its first entry."""

from fsframe.entries import SelectorEntry
from fsframe.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-early", target="fake_midway:Nothing")
    raise KeyError("the second entry")
