"""Offers a name that the grammar does not take."""

from fsframe.entries import SelectorEntry
from fsframe.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="on", target="fake_bad_name:Nothing")
