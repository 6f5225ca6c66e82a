"""Its distribution is called like a bundled plugin."""

from fsframe.entries import SelectorEntry
from fsframe.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="relieff", target="fake_namesake_classes:Taken")
