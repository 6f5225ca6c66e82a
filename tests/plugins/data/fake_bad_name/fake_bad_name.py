"""Offers a name that the grammar does not take."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="on", target="fake_bad_name:Nothing")
