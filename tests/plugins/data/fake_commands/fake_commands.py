"""Offers commands (sound, raising, named as one of ours, none at all) and an engine."""

from fsframe.registry.entries import CommandEntry, EngineEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_commands():
    yield CommandEntry(name="count-lines", target="fake_counting:count", summary="Count lines")
    yield CommandEntry(name="fail", target="fake_counting:fail", summary="Fail")
    yield CommandEntry(name="show", target="fake_counting:count", summary="Something else")
    yield CommandEntry(name="no-command", target="fake_counting:plain", summary="A function")


@hookimpl
def fsframe_engines():
    yield EngineEntry(
        name="one-thread", target="fake_engines:OneThread", summary="A thread of its own"
    )
