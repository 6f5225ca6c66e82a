"""Base of the selectors over margins, and the classifier by expected distance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.kernels import fits_in_threads
from fsframe.method.classifier import Classifier
from fsframe.method.run import Run
from fsframe.method.selection import PairWeights, Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.method.stage_view import drawn_rows
from fsframe.params import choice, flag, integer, optional, param, real
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.training import (
    Training,
    one_blas_thread,
    prototypes_over_parts,
    prototypes_parameter,
    require_margins,
    row_notes,
    training_of,
    with_prototypes,
    workers_within,
)

if TYPE_CHECKING:
    from fsframe_margin.engine.margins import PairSpace
    from fsframe_margin.engine.prediction import Tuned

Floats = NDArray[np.float64]

SAMPLE = 1000
"""Number of rows to learn from that is proposed if a run would take hours."""


def pair_matrix(pairs: PairWeights, size: int) -> Floats:
    """Pair weights as a (size, size) matrix, zero for unknown pairs.

    >>> pair_matrix(PairWeights.from_triplets([2, 0], [0], [1], [0.5], [0.1, 0.2]), 3)
    array([[0.2, 0. , 0.5],
           [0. , 0. , 0. ],
           [0.5, 0. , 0.1]])
    """
    W = np.zeros((size, size))
    i, j, weight = pairs.triplets()
    columns = pairs.columns
    W[columns[i], columns[j]] = W[columns[j], columns[i]] = weight
    main = pairs.main_effects()
    if main is not None:
        W[columns, columns] = main
    return W


def feature_weights(upstream: Selection | None, columns: NDArray[np.intp]) -> Floats:
    """The upstream weights of `columns`; ones if there are none, or all are zero."""
    if upstream is not None and upstream.weights is not None:
        arrived = upstream.weights[columns]
        if arrived.any():
            return arrived
    return np.ones(columns.size)


def upstream_pairs(upstream: Selection | None) -> PairWeights | None:
    """The upstream pair weights, or None if feature weights are newer (`Selection.carried`)."""
    if upstream is None or upstream.pair_weights is None:
        return None
    older = "pair_weights" in upstream.carried and "weights" not in upstream.carried
    return None if older and upstream.weights is not None else upstream.pair_weights


def upstream_matrix(upstream: Selection, columns: NDArray[np.intp], size: int) -> Floats | None:
    """W over `columns` from the upstream weights, norm one: pair weights, else diag(w), else None.

    Negative pair weights (of `lfe` or a psd update) are set to zero: eq. 3.5 needs W ≥ 0.
    """
    pairs = upstream_pairs(upstream)
    if pairs is not None:
        W = pair_matrix(pairs, size)[np.ix_(columns, columns)]
    elif upstream.weights is not None:
        W = np.diag(upstream.weights[columns])
    else:
        return None
    W = np.maximum(W, 0.0)
    norm = np.linalg.norm(W)
    return W / norm if norm > 0 else None


_AXES: Mapping[str, Any] = {
    "W": (0, 1), "w": 0, "sigma": (), "round-sigma": (), "round-alpha": (),
    "centre": 0, "scale": 0,
}  # fmt: skip
"""The axes of a model's arrays that run over columns."""


def carried(squares: Floats, margin: float) -> Floats:
    """The margin that each feature carries: its share of ‖W‖² times the expected margin per row.

    Parameters
    ----------
    squares : (p,) float64
        Σ_b W_ab² of each feature, or w_a²; shares are relative to their sum.
    margin : float
        <W, −Σ>/N, minus the penalty if there is one; a negative margin counts as zero.

    Returns
    -------
    (p,) float64
        They sum to the margin. At a fixed point of a method whose step 2 sets W to the projection
        of −Σ on its cone, scaled to a norm, this is Σ_b W_ab (−Σ)_ab / N, the part of the margin
        that the entries of the feature contribute (docs/methods/immigrate.md).

    Examples
    --------
    >>> carried(np.array([0.5, 0.0, 0.5]), 3.0)
    array([1.5, 0. , 1.5])
    """
    total = float(squares.sum())
    return squares * (max(margin, 0.0) / total) if total > 0 else np.zeros_like(squares)


def standardize_parameter() -> Any:
    """The parameter `standardize` of methods that can scale the columns."""
    return param(
        True,
        flag(),
        help="Scale features to mean 0 and standard deviation 1, learned from the training rows.",
    )


@attrs.frozen(kw_only=True)
class MarginSelector(Selector):
    """A selector that learns from margins of weighted rows, in scaled columns that vary."""

    table_copies: ClassVar[float] = 2.0
    reads_columns: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True
    natural_zero: ClassVar[bool] = True

    standardize: bool = standardize_parameter()

    def _training(
        self, data: Dataset, upstream: Selection | None, *, margins: bool = False
    ) -> Training:
        """The training rows; with `margins`, refused if none has both a hit and a miss."""
        training = training_of(self.method_name(), data, upstream, self.standardize)
        if margins:
            require_margins(self.method_name(), training)
        return training

    def top_only_cuts(self) -> bool:
        return True

    def works_in_parts(self, data: Dataset) -> bool:
        """Whether prototypes can be drawn over the parts: fewer than rows, classes, no gaps."""
        n: int | None = getattr(self, "prototypes", None)
        few = n is not None and n < data.n_samples
        return few and data.task == "classification" and not data.matrix.facts.missing.any()

    def parts_problem(self, data: Dataset, n_features: int | None = None) -> str:
        problem = super().parts_problem(data, n_features)
        if problem and hasattr(self, "prototypes") and data.task == "classification":
            return f"{problem}, or use prototypes=4000: rows are drawn over the parts"
        return problem

    def _drawn(self, data: Dataset, upstream: Selection | None, run: Run, key: int = 2) -> Training:
        """The training rows: all of them, or prototypes, drawn by stream `key` of the run."""
        name, n = self.method_name(), getattr(self, "prototypes", None)
        generator = run.generator(key)
        if data.in_parts and n is not None:
            return prototypes_over_parts(name, data, upstream, self.standardize, n, generator, run)
        return with_prototypes(self._training(data, upstream), n, generator)

    def _select_many(
        self, data: Dataset, counts: NDArray[np.int64], upstream: Selection | None, run: Run
    ) -> list[Selection]:
        """The results for every row of `counts`, (n_resamples, n_samples).

        Resample b uses ``run.child(b)`` and one thread, on its drawn rows only; the instance
        weights that it returns are mapped back to all rows. The compiled loops release the
        interpreter, so `run.threads` resamples run at a time; results do not depend on that number.
        """

        def one(b: int) -> Selection:
            rows, local, local_upstream = drawn_rows(data, counts[b], upstream)
            surroundings = attrs.evolve(run.child(b).quiet(), threads=1)
            selection = self._select(local, local_upstream, surroundings)
            if selection.instance_weights is None or rows.size == data.n_samples:
                return selection
            spread = np.zeros(data.n_samples)
            spread[rows] = selection.instance_weights
            return attrs.evolve(selection, instance_weights=spread)

        workers = workers_within(run, data.n_samples, data.n_features)
        # Also set here: changing the limit between resamples while others are running made a fit
        # take forty times as long.
        with one_blas_thread:
            return fits_in_threads(workers, one, range(len(counts)))

    def _selection(
        self,
        training: Training,
        ranking: Floats,
        above: int,
        *,
        scores: Floats | None = None,
        model: Mapping[str, Any] | None = None,
        notes: Iterable[str] = (),
        selected: Any = None,
        **parts: Any,
    ) -> Selection:
        """The result, in the columns of the table.

        The published rule keeps `above` columns; the best by `ranking` are kept, at least one,
        unless `selected` names the columns. `scores` are `ranking` by default. `model` holds arrays
        for classifiers, to which centre and scale of the columns are added. `notes` are warnings,
        which follow those about the rows; `parts` are the other fields of the Selection.
        """
        if selected is None:
            selected = rank_by_score(ranking, self.keep_count(len(ranking), max(1, above)))
        scores = ranking if scores is None else scores
        if model is not None:
            scaling = training.scaling
            model = {**model, "centre": scaling.centre, "scale": scaling.scale}
            parts["model"] = model
            parts["model_columns"] = {name: _AXES[name] for name in model if name in _AXES}
        return Selection(
            selected=selected, scores=scores, warnings=(*row_notes(training), *notes), **parts
        )


@attrs.frozen(kw_only=True)
class TunedSelector(MarginSelector):
    """A selector with a width σ that inner cross-validation can choose."""

    folds: int = param(5, integer(2), help="Number of inner folds, for sigma=cv.")
    prototypes: int | None = prototypes_parameter()

    def ignores_time(self) -> str:
        tuned = getattr(self, "sigma", None) == "cv"
        return "sigma=cv assigns rows to folds without regard to their order" if tuned else ""

    def _tune(
        self,
        training: Training,
        start: Floats,
        settings: Sequence[tuple[float, Any]],
        fit: Callable[[PairSpace, Floats, tuple[float, Any]], Floats],
        run: Run,
    ) -> Tuned:
        """The best of `settings`; `fit` returns the weights for a setting on one fold."""
        from fsframe_margin.engine.prediction import stratified_folds, tune

        folds = stratified_folds(training.y, self.folds, run.generator(1), training.groups)
        return tune(training, start, settings, fit, folds, self.standardize, run)


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
        from fsframe_margin.engine.margins import PairSpace

        training = training_of("margin", data, upstream, self.standardize)
        weights = self._weights(training, upstream)
        unweighted = attrs.evolve(training, outer=np.ones(len(training.y)))
        space = PairSpace.of(unweighted, run, linear=weights.ndim == 1)
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
