"""Implements hooks of a later fsframe beside one of this."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-later", target="fake_later:Nothing")


@hookimpl(optionalhook=True)
def fsframe_dialects():
    raise RuntimeError("nobody calls this")
