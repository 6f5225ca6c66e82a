"""A marked hook whose name is not quite right."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selector():
    yield SelectorEntry(name="fake-misspelled", target="fake_misspelled:Nothing")
