"""Its distribution is called like a bundled plugin."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="relieff", target="fake_namesake_classes:Taken")
