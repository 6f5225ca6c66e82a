"""A marked hook whose name is not quite right."""

from fsframe.entries import SelectorEntry
from fsframe.hookspecs import hookimpl


@hookimpl
def fsframe_selector():
    yield SelectorEntry(name="fake-misspelled", target="fake_misspelled:Nothing")
