"""Which chain to begin with, and how long it would take."""

from __future__ import annotations

import attrs
import numpy as np

from fsframe.contracts.dataset import Dataset
from fsframe.registry import selectors

__all__ = ["Forecast", "first_chain"]

# Above this many features NPFS answers with a corrected test, to which IMMIGRATE's scores are blind
# (docs/methods/npfs.md).
_MANY_FEATURES = 200
_HOUR = 3600.0


@attrs.frozen(kw_only=True)
class Forecast:
    """Processor seconds that a chain would take, and the formula they come from."""

    seconds: float
    formula: str


def first_chain(data: Dataset) -> tuple[str, Forecast]:
    """The chain to begin with, and what it would take."""
    n, p = data.n_samples, data.n_features
    gaps = any(np.isnan(data.columns(a, b)).any() for a, b in data.column_blocks())
    parts = ["top=100"] * (p > _MANY_FEATURES) + ["missing=pairwise"] * gaps
    bases = [f"mim:{','.join(parts)}" if parts else "mim"]
    first = "impute " if gaps and "impute" in selectors else ""
    if p <= _MANY_FEATURES:
        bases.insert(0, "relieff")
        if data.task == "classification" and (first or not gaps):
            bases.insert(0, "immigrate")
    forecasts = [_forecast(base, n, p) for base in bases]
    best = next((k for k, found in enumerate(forecasts) if found.seconds < _HOUR), len(bases) - 1)
    begin = first if bases[best] == "immigrate" else ""
    return f"{begin}{bases[best]} npfs", forecasts[best]


# Processor seconds of one fit among many on n rows and p columns: fitted to measurements on one
# core of about 3 GHz, n from 70 to 3000, p from 22 to 20,000, all within a factor of two.
_FITS = {
    "immigrate": ("0.008 + 5e-10 n²p²", lambda n, p: 8e-3 + 5e-10 * n * n * p * p),
    "relieff": ("0.001 + 5e-11 n²p", lambda n, p: 1e-3 + 5e-11 * n * n * p),
    "mim": ("3e-6 p + 2.5e-9 np", lambda n, p: 3e-6 * p + 2.5e-9 * n * p),
}
_NPFS_FITS = 1100


def _forecast(base: str, n: int, p: int) -> Forecast:
    words, seconds = _FITS[base.partition(":")[0]]
    return Forecast(
        seconds=_NPFS_FITS * seconds(n, p), formula=f"{_NPFS_FITS} fits of {words} seconds each"
    )
