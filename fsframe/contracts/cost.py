"""What a fit costs, as methods declare it."""

from __future__ import annotations

import attrs

__all__ = ["Cost"]


@attrs.frozen(kw_only=True)
class Cost:
    """A forecast of processor time on one core of about 3 GHz; good to a factor of three.

    Parameters
    ----------
    seconds : float ≥ 0
    formula : str
        Where they come from, of n rows and p columns: ``"0.001 + 5e-11 n²p"``.
    """

    seconds: float
    formula: str
