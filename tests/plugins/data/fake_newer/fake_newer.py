"""Needs a plugin API of the future."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-newer", target="fake_newer:Nothing", api=99)
