"""Names classes that cannot be used."""

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-no-module", target="fake_not_there:Thing")
    yield SelectorEntry(name="fake-no-class", target="fake_bad_classes:Thing")
    yield SelectorEntry(name="fake-no-selector", target="fake_bad_classes:NoSelector")
    yield SelectorEntry(name="fake-exiting-class", target="fake_exiting_class:Thing")


class NoSelector:
    """Not a selector."""
