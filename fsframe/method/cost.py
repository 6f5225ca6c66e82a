"""The declared cost of a fit."""

from __future__ import annotations

import attrs

__all__ = ["Cost"]


@attrs.frozen(kw_only=True)
class Cost:
    """An estimate of processor time on one core of about 3 GHz, within a factor of three.

    Parameters
    ----------
    seconds : float ≥ 0
    formula : str
        Their formula, for n rows and p columns: ``"0.001 + 5e-11 n²p"``.
    """

    seconds: float
    formula: str
