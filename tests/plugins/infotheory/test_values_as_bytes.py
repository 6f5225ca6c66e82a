"""What only looks like a small whole number, or like a missing value, is taken for what it is."""

from __future__ import annotations

import numpy as np
import pytest

import fsframe
from fsframe import Dataset


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("rule", ["auto", "equal-width", "equal-frequency"])
@pytest.mark.parametrize("exponent", [-16, -40, -200, -300])
def test_the_unit_of_a_column_does_not_change_its_information(
    exponent: int, rule: str, order: str
) -> None:
    generator = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = generator.normal(size=(40, 3))
    X[:, 0] += 2 * y
    mim = fsframe.selectors["mim"](discretise=rule)

    def scores(table: np.ndarray) -> np.ndarray:
        return mim.select(Dataset.from_arrays(np.array(table, order=order), y)).scores

    # Powers of two, so that no digit is rounded away.
    small = scores(np.ldexp(X, round(exponent / np.log10(2))))
    assert small.min() > 0
    assert np.array_equal(small, scores(X))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("value", [126, 127, 128, 129, 254, 255])
def test_a_value_far_from_the_first_rows_is_not_missing(value: int, order: str) -> None:
    y = (np.arange(100) >= 64).astype(int)
    X = np.column_stack([value * y, np.arange(100) % 3]).astype(float)
    found = fsframe.selectors["mim"]().select(Dataset.from_arrays(np.array(X, order=order), y))
    assert found.warnings == ()
    share = 0.36
    entropy = -share * np.log2(share) - (1 - share) * np.log2(1 - share)
    assert found.scores[0] == pytest.approx(entropy, abs=1e-12)
