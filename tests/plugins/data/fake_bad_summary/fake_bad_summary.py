"""A summary that would spoil the terminal."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-loud", target="fake_bad_summary:Nothing", summary="\x1b[2J")
