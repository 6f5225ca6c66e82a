"""A method of your own, used by name in a chain and in a comparison; passes `mypy --strict`.

python examples/own_method.py
"""

from __future__ import annotations

from pathlib import Path

import attrs
import numpy as np

import fsframe
from fsframe.method.ranking import rank_by_score
from fsframe.params import param, real

TABLE = Path(__file__).with_name("parkinsons.csv")


@fsframe.register
@attrs.frozen(kw_only=True)
class MedianGap(fsframe.Selector):
    """Features whose class medians lie furthest apart, in units of their spread."""

    floor: float = param(1e-9, real(above=0), help="Added to the spread.")

    def _select(
        self, data: fsframe.Dataset, upstream: fsframe.Selection | None, run: fsframe.Run
    ) -> fsframe.Selection:
        drawn = np.ones(data.n_samples, dtype=np.int64) if data.counts is None else data.counts
        rows = np.repeat(np.arange(data.n_samples), drawn)
        X, y = data.X[rows], data.y[rows]
        medians = np.array([np.median(X[y == code], axis=0) for code in np.unique(y)])
        scores = np.ptp(medians, axis=0) / (X.std(axis=0) + self.floor)
        best = rank_by_score(scores)[: self.keep_count(scores.size, 10)]
        return fsframe.Selection(selected=best, scores=scores)


def compared() -> fsframe.ComparisonResult:
    """The method compared with a bundled one, with the same classifier on the same folds."""
    chains = ["median-gap:top=3 knn", "anova-f:top=3 knn"]
    data = fsframe.read(TABLE)
    return fsframe.compare(chains, data, folds=5, repeats=1, progress=False)


if __name__ == "__main__":
    print(compared())
