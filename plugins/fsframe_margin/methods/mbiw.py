"""MBIW: instance weights from the agreement of margin profiles."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.blas import one_blas_thread
from fsframe_margin.methods.margin_selector import MarginSelector
from fsframe_margin.methods.upstream_weights import feature_weights

__all__ = ["Mbiw"]


@attrs.frozen(kw_only=True)
class Mbiw(MarginSelector):
    """Instance weights ω that favour rows whose margin profile is close to the others'.

    Parameters
    ----------
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    x′ = |x − miss| − |x − hit| per feature, nearest by Euclidean distance weighted by the upstream
    feature weights (‖z‖_w² = Σ w² z²; ones if there are none); ω ∝ 1 / mean distance between x′ and
    the other profiles (eq. 2), Σ ω = 1. The weights are returned as `instance_weights`.

    All columns are kept unless `top` is set; the score of a column is its mean margin Σ ω x′, as in
    a weighted Relief. Time 2 N² A; memory 8 N A bytes and blocks of 256 rows of length N.

    References
    ----------
    Prat, Belanche: Instance and feature weighted k-nearest-neighbours algorithm, ESANN 2016,
    eq. 2; Han, Yu: A variance reduction framework for stable feature selection, ICDM 2010.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [5.0]])
    >>> found = Mbiw().select(Dataset.from_arrays(X, [0, 0, 0, 1, 1, 1]))
    >>> int(np.argmin(found.instance_weights))
    5
    """

    natural_zero: ClassVar[bool] = False
    table_copies: ClassVar[float] = 3.0

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.instance_weighting import instance_weights, margin_profiles

        training = self._training(data, upstream, margins=True)
        w = feature_weights(upstream, training.varying)
        XT = np.ascontiguousarray(training.X.T)
        training = training.released()
        profiles = margin_profiles(XT, training.y, w, training.steps)
        del XT
        omega = instance_weights(profiles, training.count)
        scores = training.spread((omega * training.count) @ profiles)
        return self._selection(training, scores, len(scores), instance_weights=omega)
