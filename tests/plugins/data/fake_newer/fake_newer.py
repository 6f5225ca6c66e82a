"""Needs a plugin API of the future."""

from fsframe.entries import SelectorEntry
from fsframe.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-newer", target="fake_newer:Nothing", api=99)
