"""Prints to stdout, at import and when asked."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl

print("printed at import")


@hookimpl
def fsframe_selectors():
    print("printed by the hook")
    yield SelectorEntry(name="fake-printing", target="fake_printing_class:Printing")
