"""What these packages raise where the data are to blame, and what of them is kept from others."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import numpy as np

DATA_ERRORS = (ValueError, RuntimeError, np.linalg.LinAlgError)
"""Declared as `data_errors`, so that fsframe tells them as what is wrong with the data."""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Around a fit: warnings of divisions and the like are left out."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def same_random_state() -> Iterator[None]:
    """Around what seeds or draws from numpy's global stream: it is put back."""
    state = np.random.get_state()
    try:
        yield
    finally:
        np.random.set_state(state)
