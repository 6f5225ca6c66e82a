"""Wants a bundled method's name and a bundled plugin's, as its entry point."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="relieff", target="fake_taker_classes:Taken")
