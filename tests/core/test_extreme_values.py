"""Values near the largest and the smallest doubles: right answers, and no NaN."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset

METHODS = ("anova-f", "mim", "chi2", "jmi", "im4e", "irelief", "simba", "mbiw", "relieff", "surf",
           "immigrate")  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e300, 1e308, 1e-310, 5e-324])
def test_the_column_that_matters_is_best_at_any_scale(method, scale):
    X = np.random.default_rng(0).standard_normal((40, 6))
    y = np.arange(40) % 2
    X[:, 3] += 3 * y  # not the first, which wins ties
    # of the smallest double there are whole multiples only
    X = np.round(4 * X) * scale if scale == 5e-324 else X / np.abs(X).max() * scale
    found = Chain.parse(method).select(Dataset.from_arrays(X, y), run=Run(threads=1))
    assert np.isfinite(found.scores).all()
    assert found.selected[0] == 3
