"""Its distribution has no METADATA."""

from fsframe.entries import SelectorEntry
from fsframe.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-nameless", target="fake_empty_too:Nothing")
