"""The margin classifier: eq. 3.18 with the upstream weights."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.method.classifier import Classifier
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import choice, optional, param, real
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.parallel import one_blas_thread
from fsframe_margin.engine.training import Training, training_of
from fsframe_margin.methods.margin_selector import (
    pair_matrix,
    standardize_parameter,
    upstream_pairs,
)

__all__ = ["FittedMargin", "Margin"]

Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True, eq=False)
class FittedMargin:
    """Training rows, weights and σ, as needed for eq. 3.18."""

    training: Training
    space: Any
    weights: Floats
    sigma: float

    @one_blas_thread
    def distances(self, X: Floats) -> Floats:
        """Ψ_c of eq. 3.18, (m, n_classes); smaller is nearer."""
        from fsframe_margin.engine.prediction import class_distances

        rows = self.training.rows(X)
        return class_distances(self.space, self.weights, self.sigma, rows, self.training.n_classes)

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Class codes (m,), ties to the first class."""
        from fsframe_margin.engine.prediction import nearest_class

        return nearest_class(self.distances(X))

    @one_blas_thread
    def predict_scores(self, X: Floats) -> Floats:
        """Each class's share of a row's distances, negated, (m, n_classes)."""
        from fsframe_margin.engine.prediction import relative_scores

        return relative_scores(self.distances(X))

    def arrays(self) -> dict[str, Floats]:
        """The arrays needed to predict again."""
        return {"weights": self.weights, "sigma": np.array(self.sigma)}


@attrs.frozen(kw_only=True)
class Margin(Classifier):
    """The class with the smallest expected distance under the upstream weights.

    Parameters
    ----------
    sigma : float > 0, optional
        Width σ; by default that of the stage that the weights come from, else 1.
    measure : {"auto", "quadratic", "linear"}
        q with the pair weights W, or wᵀ|x − x′| with the feature weights.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    ŷ = argmin_c Σ_{y_n = c} α_n^c q(x, x_n) (IMMIGRATE eq. 3.18; IM4E eq. 10 with the linear
    measure), any number of classes. The newest upstream weights are used: pair weights of the stage
    on the left, else its feature weights, else those of earlier stages, else equal weights with the
    linear measure. Weights are restricted to the remaining columns and rescaled to norm one (sum
    one for the linear measure), so that σ keeps its scale.

    Predicting m rows costs m n A²/2; memory 256 rows of length n.

    References
    ----------
    Zhao, Hong, Liu: IMMIGRATE, eq. 3.18; Bei, Hong 2015, eq. 10.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> from fsframe_margin.methods.immigrate import Immigrate
    >>> X = np.random.default_rng(0).standard_normal((90, 4))
    >>> data = Dataset.from_arrays(X, X[:, 1] * X[:, 3] > 0)
    >>> fitted = Margin().fit(data, Immigrate().select(data))
    >>> float((fitted.predict(X) == data.y).mean()) > 0.95
    True
    """

    takes_nominal: ClassVar[bool] = True
    table_copies: ClassVar[float] = 4.0

    sigma: float | None = param(
        None,
        optional(real(above=0)),
        help="Width of the neighbourhood; by default that of the stage the weights come from.",
        symbol="σ",
        source="Zhao, Hong, Liu, eq. 3.18",
    )
    measure: str = param(
        "auto",
        choice("auto", "quadratic", "linear"),
        help="Distance with pair weights, or with feature weights only.",
    )
    standardize: bool = standardize_parameter()

    @one_blas_thread
    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> FittedMargin:
        from fsframe_margin.engine.margins import PairSpace, pair_memory

        training = training_of("margin", data, upstream, self.standardize)
        weights = self._weights(training, upstream)
        space = PairSpace(
            training.X, training.y, count=training.count,
            threads=run.threads, memory=pair_memory(run, len(training.y)), linear=weights.ndim == 1,
            steps=training.steps,
        )  # fmt: skip
        return FittedMargin(
            training=training, space=space, weights=weights, sigma=self._sigma(upstream)
        )

    def _sigma(self, upstream: Selection | None) -> float:
        if self.sigma is not None:
            return self.sigma
        if upstream is not None and "sigma" in upstream.model:
            # A run file holds a single value as an array of one.
            return float(np.ravel(upstream.model["sigma"])[0])
        return 1.0

    def _weights(self, training: Training, upstream: Selection | None) -> Floats:
        size = training.varying.size
        if upstream is None:
            upstream = Selection(selected=[], scores=np.empty(0))
        pairs, w = upstream.pair_weights, upstream.weights
        if self.measure == "quadratic" and pairs is None:
            raise RequestError(
                "margin: measure=quadratic needs pair weights from the stage on its left "
                "(such as immigrate); it gave none"
            )
        # Newest first: weights of the stage on the left before those that it passed on.
        if self.measure != "quadratic":
            pairs = upstream_pairs(upstream) if self.measure == "auto" else None
        if pairs is not None:
            W = pair_matrix(pairs, training.n_features)[np.ix_(training.varying, training.varying)]
            norm = np.linalg.norm(W)
            return W / norm if norm > 0 else np.eye(size) / np.sqrt(size)
        if w is None:
            return np.full(size, 1.0 / size)
        w = w[training.varying]
        return w / w.sum() if w.any() else np.full(size, 1.0 / size)
