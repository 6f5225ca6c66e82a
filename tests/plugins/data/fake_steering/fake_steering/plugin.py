"""Names a selector."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(
        name="fake-steering", target="fake_steering.steering:FakeSteering", family="fake"
    )
