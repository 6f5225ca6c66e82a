"""Offers commands: one that works, one that raises, one named as one of fsframe's own."""

from fsframe.registry.entries import CommandEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_commands():
    yield CommandEntry(name="count-lines", target="fake_counting:count", summary="Count lines")
    yield CommandEntry(name="fail", target="fake_counting:fail", summary="Fail")
    yield CommandEntry(name="show", target="fake_counting:count", summary="Something else")
    yield CommandEntry(name="no-command", target="fake_counting:plain", summary="A function")
