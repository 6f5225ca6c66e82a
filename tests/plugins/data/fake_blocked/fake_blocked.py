"""Says on stderr that it was imported."""

import sys

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl

print("fake_blocked was imported", file=sys.stderr)


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-blocked", target="fake_blocked:Nothing")
