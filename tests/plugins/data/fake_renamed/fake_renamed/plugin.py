"""What entries can say of themselves."""

from fsframe.registry.entries import Deprecated, SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(
        name="widest", target="fake_renamed.methods:Widest", aliases=["broadest", "mim"]
    )
    yield SelectorEntry(
        name="narrowest",
        target="fake_renamed.methods:Narrowest",
        deprecated=Deprecated(since="0.9", replacement="widest"),
    )
    yield SelectorEntry(
        name="lacking",
        target="fake_renamed.absent:Lacking",
        requires=["no-such-distribution", "fsframe[no-such-extra]"],
    )
