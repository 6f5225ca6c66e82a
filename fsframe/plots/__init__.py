"""Plots of runs as matplotlib figures; needs the extra ``report``, never pyplot.

Every function takes finished runs and optionally an `Axes` to draw on, and returns the figure. What
each kind needs is listed by `fsframe.plots.kinds.KINDS`; a run that lacks it is refused.
"""

from __future__ import annotations

from fsframe.lazy_imports import lazy_attributes

_HOMES = {
    "accuracy_against_stability": ".comparisons",
    "accuracy_by_size": ".evaluations",
    "bootstrap_matrix": ".resampling",
    "calibration": ".evaluations",
    "class_distributions": ".features",
    "convergence": ".features",
    "critical_difference": ".comparisons",
    "figure_bytes": ".canvas",
    "kept_sets": ".resampling",
    "pair_matrix": ".pairs",
    "pair_network": ".pairs",
    "pair_picture": ".pairs",
    "ranked_scores": ".features",
    "roc": ".evaluations",
    "stability_path": ".resampling",
    "test_statistics": ".resampling",
}

__all__ = sorted(_HOMES)

__getattr__ = lazy_attributes(__name__, _HOMES)
