"""A hook without its marker."""

from fsframe.registry.entries import SelectorEntry


def fsframe_selectors():
    yield SelectorEntry(name="fake-unmarked", target="fake_unmarked:Nothing")
