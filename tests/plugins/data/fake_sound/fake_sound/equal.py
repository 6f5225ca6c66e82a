"""A stability metric."""

import attrs

from fsframe.method.stability_metric import StabilityMetric, StabilityValue


@attrs.frozen(kw_only=True)
class FakeEqual(StabilityMetric):
    """Share of runs that equal the first."""

    def _measure(self, matrix, similarity=None):
        return StabilityValue(value=float((matrix == matrix[0]).all(axis=1).mean()))
