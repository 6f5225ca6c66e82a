"""Yields what is no entry."""

from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield {"name": "fake-wrong-type"}
