"""Contests a name with another plugin."""

from fsframe.entries import SelectorEntry
from fsframe.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-contested", target="fake_contested_beta:Contested")
