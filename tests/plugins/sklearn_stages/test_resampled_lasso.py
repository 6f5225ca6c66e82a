"""The lasso says before a run that without `top` it tunes its penalty in every resample."""

from __future__ import annotations

import numpy as np
import pytest

from fsframe import Chain, Dataset


@pytest.mark.parametrize(
    ("chain", "warned"),
    [
        ("lasso cpss", "lasso:"),
        ("mim:top=20 elastic-net npfs", "elastic-net:"),
        ("ipss:base=lasso", "lasso:"),
        ("lasso:top=5 cpss", ""),
        ("lasso:score_by=coefficient knockoffs", ""),
        ("lasso", ""),
        ("npfs:base=mim lasso", ""),
        ("mim npfs lasso", ""),
    ],
)
def test_a_lasso_without_top_warns_in_resamples_only(chain: str, warned: str) -> None:
    X = np.random.default_rng(0).normal(size=(40, 30))
    data = Dataset.from_arrays(X, np.arange(40) % 2)
    told = [w for w in Chain.parse(chain).forewarnings(data) if "top=10, the first" in w]
    assert len(told) == bool(warned) and all(warned in w for w in told)
