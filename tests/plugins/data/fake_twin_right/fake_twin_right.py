"""Shares the name of its entry point with another distribution."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-right", target="fake_twin_right:Nothing")
