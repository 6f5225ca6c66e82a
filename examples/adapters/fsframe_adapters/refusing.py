"""A ValueError of a package about the data, told as fsframe tells what is wrong with data."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import numpy as np

from fsframe import DataError


@contextlib.contextmanager
def data_at_fault(stage: str) -> Iterator[None]:
    """Around a fit: its ValueErrors become DataErrors, its warnings of divisions are left out."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            yield
        except (ValueError, RuntimeError, np.linalg.LinAlgError) as error:
            raise DataError(f"{stage}: {' '.join(str(error).split())[:200]}") from error
