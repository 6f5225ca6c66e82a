"""Methods that were renamed, will go, or need what is absent."""

import attrs

from fsframe import Selection, Selector
from fsframe.method.selection import rank_by_score
from fsframe.registry.entries import Deprecated, SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="widest", target="fake_renamed:Widest", aliases=["broadest", "mim"])
    yield SelectorEntry(
        name="narrowest",
        target="fake_renamed:Narrowest",
        deprecated=Deprecated(since="0.9", replacement="widest"),
    )
    yield SelectorEntry(
        name="lacking",
        target="fake_absent:Lacking",
        requires=["no-such-distribution", "fsframe[no-such-extra]"],
    )


@attrs.frozen(kw_only=True)
class Widest(Selector):
    """Columns of the largest range."""

    sign = 1.0

    def _select(self, data, upstream, run):
        scores = self.sign * (data.X.max(axis=0) - data.X.min(axis=0))
        kept = rank_by_score(scores)[: self.keep_count(data.n_features, 2)]
        return Selection(selected=kept, scores=scores)


@attrs.frozen(kw_only=True)
class Narrowest(Widest):
    """Columns of the smallest range."""

    sign = -1.0
