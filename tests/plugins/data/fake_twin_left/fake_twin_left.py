"""Shares the name of its entry point with another distribution."""

from fsframe.entries import SelectorEntry
from fsframe.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-left", target="fake_twin_left:Nothing")
