"""Its distribution has no METADATA."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-nameless", target="fake_empty_too:Nothing")
