"""Returns one entry where entries are yielded."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    return SelectorEntry(name="fake-returns", target="fake_returns:Nothing")
