# Written by `python docs/make_stubs.py` from the declarations of the methods; do not edit it.

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (  # type: ignore[import-untyped]
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
)
from sklearn.feature_selection import SelectorMixin  # type: ignore[import-untyped]

from fsframe.chains.chain import Chain
from fsframe.errors import FsframeWarning as FsframeWarning
from fsframe.method.classifier import Classifier, FittedOnColumns
from fsframe.method.selection import Pair, Selection
from fsframe.method.selector import Selector

_Stages = (
    str
    | Chain
    | Selector
    | Classifier
    | BaseEstimator
    | Sequence[str | Chain | Selector | Classifier | BaseEstimator]
)
_Seed = int | np.random.RandomState | np.random.Generator | None

class _Found:
    selection_: Selection
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    @property
    def scores_(self) -> NDArray[np.float64]: ...
    @property
    def ranking_(self) -> NDArray[np.intp]: ...
    @property
    def feature_importances_(self) -> NDArray[np.float64]: ...
    @property
    def pairs_(self) -> list[Pair]: ...
    @property
    def pvalues_(self) -> NDArray[np.float64]: ...
    @property
    def qvalues_(self) -> NDArray[np.float64]: ...

class _Selects(_Found, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    def transform(self, X: Any) -> Any: ...
    def fit_transform(self, X: Any, y: ArrayLike | None = None, **fit_params: Any) -> Any: ...
    def inverse_transform(self, X: Any) -> Any: ...
    def get_support(self, indices: bool = False) -> NDArray[Any]: ...
    def _get_support_mask(self) -> NDArray[np.bool_]: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...

class _PredictsNumbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    fitted_: FittedOnColumns
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def predict(self, X: Any) -> NDArray[np.float64]: ...
    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...

class _Predicts(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    classes_: NDArray[Any]
    fitted_: FittedOnColumns
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def predict(self, X: Any) -> NDArray[Any]: ...
    def decision_function(self, X: Any) -> NDArray[np.float64]: ...
    def predict_proba(self, X: Any) -> NDArray[np.float64]: ...
    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...

class _Selector(_Selects):
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self: ...

class _WeightedSelector(_Selects):
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self: ...

class _Classifier(_Predicts):
    def fit(self, X: Any, y: ArrayLike) -> Self: ...

class _Regressor(_PredictsNumbers):
    def fit(self, X: Any, y: ArrayLike) -> Self: ...

class ChainSelector(_Selects):
    """Keeps the columns that a chain selects; for pipelines and grid searches."""
    selections_: dict[str, Selection]
    def __init__(
        self,
        chain: _Stages = "immigrate",
        *,
        task: Literal["auto", "classification", "regression"] = "auto",
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...

class ChainClassifier(_Found, _Predicts):
    """Predicts with the classifier that ends a chain, from the columns and weights before it."""
    selections_: dict[str, Selection]
    def __init__(
        self,
        chain: _Stages = "immigrate margin",
        *,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...

class ChainRegressor(_Found, _PredictsNumbers):
    """Predicts numbers with the regressor that ends a chain, from what the chain keeps."""
    selections_: dict[str, Selection]
    def __init__(
        self,
        chain: _Stages = "rrelieff knn:k=5",
        *,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        adjust: Any = None,
    ) -> Self: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...

def estimator(name: str) -> type[Any]:
    """The estimator class of a registered method, of whatever plugin."""

class AnovaF(_WeightedSelector):
    """Features ranked by the variance between class means relative to the variance within classes."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        missing: Literal['refuse', 'pairwise'] = 'refuse',
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class BIM(_Selector):
    """Weights of features and pairs, averaged over the rounds of boosted IMMIGRATE."""
    n_iter_: int
    def __init__(
        self,
        *,
        top: int | float | None = None,
        rounds: int = 100,
        sigma_max: float = 4.0,
        sigma_min: float = 0.2,
        max_iter: int = 5,
        update: Literal['elementwise', 'psd', 'psd-clip'] = 'elementwise',
        line_search: bool = True,
        start: Literal['random', 'upstream', 'identity'] = 'random',
        standardize: bool = True,
        prototypes: int | None = None,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class BIMVote(_Classifier):
    """Weighted vote of boosted IMMIGRATE rounds (Algorithm 3)."""
    n_iter_: int
    def __init__(
        self,
        *,
        rounds: int = 100,
        sigma_max: float = 4.0,
        sigma_min: float = 0.2,
        max_iter: int = 5,
        update: Literal['elementwise', 'psd', 'psd-clip'] = 'elementwise',
        line_search: bool = True,
        start: Literal['random', 'upstream', 'identity'] = 'random',
        standardize: bool = True,
        prototypes: int | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class BetaGamma(_WeightedSelector):
    """Features by a linear combination of relevance, redundancy and conditional redundancy."""
    def __init__(
        self,
        *,
        beta: float = 1.0,
        gamma: float = 1.0,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        estimator: Literal['plug-in', 'knn'] = 'plug-in',
        neighbours: int = 3,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Boruta(_Selector):
    """Columns that beat the best of their shuffled copies more often than expected by chance."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        max_runs: int = 100,
        alpha: float = 0.01,
        correction: Literal['bonferroni', 'two-step'] = 'bonferroni',
        trees: int = 500,
        options: str = '{}',
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class CIFE(_WeightedSelector):
    """Features by relevance − redundancy + class-conditional redundancy (conditional infomax
feature extraction)."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        estimator: Literal['plug-in', 'knn'] = 'plug-in',
        neighbours: int = 3,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class CMI(_WeightedSelector):
    """Features by the information they add to all selected ones jointly, without approximation."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class CMIM(_WeightedSelector):
    """Features by the smallest information they add to any selected one (conditional mutual
information maximisation)."""
    def __init__(
        self,
        *,
        clamp: bool = True,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        estimator: Literal['plug-in', 'knn'] = 'plug-in',
        neighbours: int = 3,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Chi2(_WeightedSelector):
    """Features ranked by the chi-squared statistic of their levels against the class."""
    def __init__(
        self,
        *,
        rank_by: Literal['statistic', 'p-value'] = 'statistic',
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class CondRed(_WeightedSelector):
    """Features by relevance + class-conditional redundancy."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        estimator: Literal['plug-in', 'knn'] = 'plug-in',
        neighbours: int = 3,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Correlation(_WeightedSelector):
    """One column of each cluster of correlated columns."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        threshold: float = 0.9,
        method: Literal['pearson', 'spearman'] = 'pearson',
        clusters: Literal['complete', 'average', 'single'] = 'complete',
        keep: Literal['label', 'upstream', 'centre'] = 'label',
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Cox(_Regressor):
    """Log risks by Cox's proportional hazards with a ridge penalty."""
    def __init__(
        self,
        *,
        penalty: float = 1.0,
        ties: Literal['efron', 'breslow'] = 'efron',
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class CoxScore(_WeightedSelector):
    """Features ranked by the score test of Cox's model, each alone."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        ties: Literal['efron', 'breslow'] = 'efron',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Cpss(_Selector):
    """Features that a selector keeps on many halves of the table, with a bound on false ones."""
    def __init__(
        self,
        *,
        pairs: int = 50,
        false_selections: float = 1.0,
        threshold: float | None = None,
        bound: Literal['worst-case', 'unimodal', 'r-concave'] = 'worst-case',
        top: int | float | None = None,
        base: _Stages | None = None,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class DISR(_WeightedSelector):
    """Features by joint mutual information with each selected one, normalised by joint entropy
(double input symmetrical relevance)."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class ElasticNet(_Selector):
    """Columns with a non-zero coefficient in a model with an ℓ₁ and an ℓ₂ penalty."""
    def __init__(
        self,
        *,
        l1_ratio: float = 0.5,
        top: int | float | None = None,
        penalties: int = 50,
        smallest: float = 0.01,
        folds: int = 5,
        rule: Literal['min', 'one-se'] = 'min',
        weakness: float = 1.0,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Ensemble(_Selector):
    """Features by their mean ranks over many bootstraps of a selector."""
    def __init__(
        self,
        *,
        n: int = 50,
        aggregate: Literal['mean-rank', 'linear'] = 'mean-rank',
        fraction: float = 1.0,
        stratify: bool = True,
        top: int | float | None = None,
        base: _Stages | None = None,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class FCBF(_WeightedSelector):
    """Features more strongly related to the class than to any better feature (predominant
features)."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        delta: float = 0.0,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class GFlip(_Selector):
    """A feature set that no single addition or removal improves."""
    def __init__(
        self,
        *,
        utility: Literal['linear', 'zero-one', 'sigmoid'] = 'linear',
        beta: float = 1.0,
        max_passes: int = 20,
        top: int | float | None = None,
        standardize: bool = True,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class ICAP(_WeightedSelector):
    """Features whose redundancy with selected ones is penalised and whose synergy is not rewarded
(interaction capping)."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        estimator: Literal['plug-in', 'knn'] = 'plug-in',
        neighbours: int = 3,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class IM4E(_Selector):
    """Feature weights w of a Manhattan distance that maximise margins and their stability."""
    n_iter_: int
    def __init__(
        self,
        *,
        sigma: float | Literal['cv'] = 1.0,
        penalty: float | None = None,
        line_search: bool = False,
        max_iter: int = 50,
        tol: float = 1e-05,
        start: Literal['uniform', 'random', 'upstream'] = 'uniform',
        threshold: float = 2.0,
        margins: bool = False,
        top: int | float | None = None,
        standardize: bool = True,
        folds: int = 5,
        prototypes: int | None = None,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class IRelief(_Selector):
    """Feature weights w, ‖w‖₂ = 1, that maximise the expected margin of the inliers."""
    n_iter_: int
    def __init__(
        self,
        *,
        sigma: float = 2.0,
        max_iter: int = 100,
        tol: float = 1e-06,
        top: int | float | None = None,
        standardize: bool = True,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Immigrate(_Selector):
    """Weights W of features and of pairs of features that maximise stable hypothesis-margins."""
    n_iter_: int
    def __init__(
        self,
        *,
        sigma: float | Literal['cv'] = 1.0,
        update: Literal['elementwise', 'psd', 'psd-clip'] = 'elementwise',
        line_search: bool = True,
        max_iter: int = 50,
        tol: float | None = None,
        keep: Literal['auto', 'best', 'last'] = 'auto',
        start: Literal['upstream', 'identity', 'random'] = 'upstream',
        prune: bool | Literal['auto'] = 'auto',
        prune_from: Literal['start', 'half'] = 'start',
        l1: float = 0.0,
        screen: float | None = None,
        screened: Literal['drop', 'diagonal'] = 'drop',
        top: int | float | None = None,
        standardize: bool = True,
        folds: int = 5,
        prototypes: int | None = None,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Importance(_WeightedSelector):
    """Columns that a fitted estimator finds important."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        measure: Literal['own', 'held-out', 'out-of-bag'] = 'own',
        folds: int = 5,
        repeats: int = 5,
        scoring: str | None = None,
        of: str | None = None,
        options: str = '{}',
        standardize: bool = True,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Impute(_WeightedSelector):
    """Every column, the most complete first, with values to impute for missing ones."""
    def __init__(
        self,
        *,
        method: Literal['median', 'mean', 'most-frequent', 'neighbours'] = 'median',
        k: int = 5,
        standardize: bool = True,
        top: int | float | None = None,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Interactions(_WeightedSelector):
    """Features of pairs that interact: their joint effect is not the sum of both effects."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        bins: int = 3,
        max_levels: int = 5,
        correction: Literal['bh', 'by'] = 'bh',
        alpha: float = 0.05,
        keep: int = 20000,
        calibrate: int = 1000,
        draws: int = 200,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class InteractionsSplit(_Selector):
    """Features of pairs that interact on rows that were not used to choose them."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        alpha: float = 0.05,
        correction: Literal['bh', 'by'] = 'bh',
        bins: int = 3,
        draws: int = 200,
        base: _Stages | None = None,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Ipss(_Selector):
    """Features whose score stays high over many halves of the table, with a bound on false ones."""
    def __init__(
        self,
        *,
        pairs: int = 50,
        level: float = 0.1,
        false_selections: float | None = None,
        power: int = 3,
        cutoff: float = 0.05,
        delta: float = 1.0,
        top: int | float | None = None,
        base: _Stages | None = None,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class IterativeRelief(_Selector):
    """Relief scores with a distance weighted by the scores of the previous round."""
    def __init__(
        self,
        *,
        least: int = 10,
        rounds: int = 20,
        tol: float = 0.01,
        top: int | float | None = None,
        threshold: float = 0.0,
        discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str] = 'auto',
        task: Literal['data', 'classification', 'regression'] = 'data',
        m: int | None = None,
        missing: Literal['skip', 'probability'] = 'skip',
        ramp: Sequence[float] | None = None,
        permutations: int = 0,
        level: float | None = None,
        correction: Literal['benjamini-hochberg', 'none'] = 'benjamini-hochberg',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class JMI(_WeightedSelector):
    """Features by joint mutual information with each selected one and the class, summed."""
    def __init__(
        self,
        *,
        form: Literal['sum', 'mean'] = 'sum',
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        estimator: Literal['plug-in', 'knn'] = 'plug-in',
        neighbours: int = 3,
        pairs: Literal['none', 'synergy', 'joint'] = 'none',
        pair_columns: Literal['all', 'selected'] = 'all',
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class JMI3(_WeightedSelector):
    """Features by joint mutual information with each pair of selected ones, summed."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class JMIM(_WeightedSelector):
    """Features by the smallest joint mutual information with any selected one (joint mutual
information maximisation)."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        estimator: Literal['plug-in', 'knn'] = 'plug-in',
        neighbours: int = 3,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class KNN(_Classifier):
    """Majority vote of the k nearest training rows; their mean for a numeric target."""
    def __init__(
        self,
        *,
        k: int = 1,
        distance: Literal['euclidean', 'manhattan'] = 'euclidean',
        standardize: bool = True,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Knockoffs(_Selector):
    """Features that a selector prefers to imitations of them which know nothing of the label."""
    def __init__(
        self,
        *,
        level: float = 0.2,
        copies: int = 20,
        construction: Literal['mvr', 'equicorrelated'] = 'mvr',
        marginals: Literal['gaussian', 'ranks'] = 'gaussian',
        top: int | float | None = None,
        base: _Stages | None = None,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class LFE(_Selector):
    """A positive semi-definite W over signed differences that maximises the 1-NN margin."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        standardize: bool = True,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class LOGO(_Selector):
    """Sparse feature weights w ≥ 0 that make expected margins large in a logistic sense."""
    n_iter_: int
    def __init__(
        self,
        *,
        sigma: float = 2.0,
        l1: float = 1.0,
        max_iter: int = 50,
        tol: float = 0.001,
        top: int | float | None = None,
        standardize: bool = True,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Lasso(_Selector):
    """Columns with a non-zero coefficient in a model with an ℓ₁ penalty."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        penalties: int = 50,
        smallest: float = 0.01,
        folds: int = 5,
        rule: Literal['min', 'one-se'] = 'min',
        weakness: float = 1.0,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class MBIW(_Selector):
    """Instance weights ω that favour rows whose margin profile is close to the others'."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        standardize: bool = True,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class MIFS(_WeightedSelector):
    """Features by relevance − β · summed redundancy (Battiti's MIFS)."""
    def __init__(
        self,
        *,
        beta: float = 1.0,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        estimator: Literal['plug-in', 'knn'] = 'plug-in',
        neighbours: int = 3,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class MIM(_WeightedSelector):
    """Features ranked by their mutual information with the class, I(Xⱼ; Y)."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        estimator: Literal['plug-in', 'knn'] = 'plug-in',
        neighbours: int = 3,
        pairs: Literal['none', 'synergy', 'joint'] = 'none',
        pair_columns: Literal['all', 'selected'] = 'all',
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class MRMR(_WeightedSelector):
    """Features by relevance − mean redundancy (minimum redundancy, maximum relevance)."""
    def __init__(
        self,
        *,
        form: Literal['difference', 'quotient'] = 'difference',
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        estimator: Literal['plug-in', 'knn'] = 'plug-in',
        neighbours: int = 3,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Margin(_Classifier):
    """The class with the smallest expected distance under the upstream weights."""
    def __init__(
        self,
        *,
        sigma: float | None = None,
        measure: Literal['auto', 'quadratic', 'linear'] = 'auto',
        standardize: bool = True,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class MultiSURF(_Selector):
    """Relief scores over all hits and misses nearer than mean_i - sd_i / 2 of the target's
distances."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        threshold: float = 0.0,
        discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str] = 'auto',
        task: Literal['data', 'classification', 'regression'] = 'data',
        m: int | None = None,
        missing: Literal['skip', 'probability'] = 'skip',
        ramp: Sequence[float] | None = None,
        permutations: int = 0,
        level: float | None = None,
        correction: Literal['benjamini-hochberg', 'none'] = 'benjamini-hochberg',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class MultiSURFStar(_Selector):
    """Relief scores over instances nearer than mean_i - sd_i / 2, minus those over instances beyond
mean_i + sd_i / 2."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        threshold: float = 0.0,
        discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str] = 'auto',
        task: Literal['data', 'classification', 'regression'] = 'data',
        m: int | None = None,
        missing: Literal['skip', 'probability'] = 'skip',
        ramp: Sequence[float] | None = None,
        permutations: int = 0,
        level: float | None = None,
        correction: Literal['benjamini-hochberg', 'none'] = 'benjamini-hochberg',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class NJMIM(_WeightedSelector):
    """Features by the smallest joint mutual information with any selected one, over joint entropy."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        stop: Literal['k', 'positive', 'significant'] = 'k',
        alpha: float = 0.05,
        test: Literal['g', 'permutation'] = 'g',
        permutations: int = 199,
        constants: Literal['compete', 'last'] = 'compete',
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class NPFS(_Selector):
    """Features that a selector scores higher over bootstraps than it would under permuted labels."""
    def __init__(
        self,
        *,
        n: int | None = None,
        alpha: float = 0.01,
        null: str = 'permutation',
        permutations: int | None = None,
        permuted_n: int | None = None,
        statistic: Literal['scores', 'counts'] | None = None,
        compare: Literal['centred', 'pooled', 'own'] = 'centred',
        correction: Literal['auto', 'none', 'bonferroni', 'bh'] = 'auto',
        fraction: float | None = None,
        stratify: bool = True,
        bias: float = 0.0,
        settle: float | None = None,
        fits: int | None = None,
        of: Literal['features', 'pairs'] = 'features',
        pairs: int | None = None,
        top: int | float | None = None,
        base: _Stages | None = None,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class RFE(_WeightedSelector):
    """Columns that survive recursive elimination."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        step: int | float = 1,
        of: str | None = None,
        options: str = '{}',
        standardize: bool = True,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class RFECV(_WeightedSelector):
    """Columns that survive recursive elimination, as many as cross-validation finds best."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        folds: int = 5,
        scoring: str | None = None,
        of: str | None = None,
        options: str = '{}',
        standardize: bool = True,
        step: int | float = 1,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class RReliefF(_Selector):
    """Scores N_CA / N_C - (N_A - N_CA) / (m - N_C) for a numeric target."""
    def __init__(
        self,
        *,
        k: int = 70,
        weighting: Literal['rank', 'equal', 'distance'] = 'rank',
        decay: float = 20.0,
        ties: Literal['share', 'index'] = 'share',
        top: int | float | None = None,
        threshold: float = 0.0,
        discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str] = 'auto',
        task: Literal['data', 'classification', 'regression'] = 'data',
        m: int | None = None,
        missing: Literal['skip', 'probability'] = 'skip',
        ramp: Sequence[float] | None = None,
        permutations: int = 0,
        level: float | None = None,
        correction: Literal['benjamini-hochberg', 'none'] = 'benjamini-hochberg',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Relief(_Selector):
    """Relief scores over the nearest hit and the nearest miss of each target, W += (diff miss -
diff hit) / m."""
    def __init__(
        self,
        *,
        ties: Literal['share', 'index'] = 'share',
        top: int | float | None = None,
        threshold: float = 0.0,
        discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str] = 'auto',
        task: Literal['data', 'classification', 'regression'] = 'data',
        m: int | None = None,
        missing: Literal['skip', 'probability'] = 'skip',
        ramp: Sequence[float] | None = None,
        permutations: int = 0,
        level: float | None = None,
        correction: Literal['benjamini-hochberg', 'none'] = 'benjamini-hochberg',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class ReliefF(_Selector):
    """Relief scores over the k nearest hits and misses; misses weighted by P(c) / (1 - P(class))."""
    def __init__(
        self,
        *,
        k: int | None = None,
        weighting: Literal['equal', 'rank', 'distance'] = 'equal',
        decay: float = 20.0,
        ties: Literal['share', 'index'] = 'share',
        top: int | float | None = None,
        threshold: float = 0.0,
        discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str] = 'auto',
        task: Literal['data', 'classification', 'regression'] = 'data',
        m: int | None = None,
        missing: Literal['skip', 'probability'] = 'skip',
        ramp: Sequence[float] | None = None,
        permutations: int = 0,
        level: float | None = None,
        correction: Literal['benjamini-hochberg', 'none'] = 'benjamini-hochberg',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class RelievedF(_Selector):
    """Relief scores over all nearest hits and all nearest misses of each other class, with all
instances as targets."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        threshold: float = 0.0,
        discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str] = 'auto',
        task: Literal['data', 'classification', 'regression'] = 'data',
        m: int | None = None,
        missing: Literal['skip', 'probability'] = 'skip',
        ramp: Sequence[float] | None = None,
        permutations: int = 0,
        level: float | None = None,
        correction: Literal['benjamini-hochberg', 'none'] = 'benjamini-hochberg',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Ridge(_Regressor):
    """Ridge regression on standardised columns."""
    def __init__(
        self,
        *,
        penalty: float | Literal['auto'] = 'auto',
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class SURF(_Selector):
    """Relief scores over all hits and misses nearer than T, the mean distance over all pairs."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        threshold: float = 0.0,
        discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str] = 'auto',
        task: Literal['data', 'classification', 'regression'] = 'data',
        m: int | None = None,
        missing: Literal['skip', 'probability'] = 'skip',
        ramp: Sequence[float] | None = None,
        permutations: int = 0,
        level: float | None = None,
        correction: Literal['benjamini-hochberg', 'none'] = 'benjamini-hochberg',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class SURFStar(_Selector):
    """Relief scores over instances nearer than T, minus those over instances farther than T."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        threshold: float = 0.0,
        discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str] = 'auto',
        task: Literal['data', 'classification', 'regression'] = 'data',
        m: int | None = None,
        missing: Literal['skip', 'probability'] = 'skip',
        ramp: Sequence[float] | None = None,
        permutations: int = 0,
        level: float | None = None,
        correction: Literal['benjamini-hochberg', 'none'] = 'benjamini-hochberg',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class SWRFStar(_Selector):
    """Relief scores over all instances, weighted by a sigmoid of distance; distant ones are
subtracted."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        threshold: float = 0.0,
        discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str] = 'auto',
        task: Literal['data', 'classification', 'regression'] = 'data',
        m: int | None = None,
        missing: Literal['skip', 'probability'] = 'skip',
        ramp: Sequence[float] | None = None,
        permutations: int = 0,
        level: float | None = None,
        correction: Literal['benjamini-hochberg', 'none'] = 'benjamini-hochberg',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Sequential(_Selector):
    """Columns found by repeatedly adding, or removing, the best one by cross-validation."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        direction: Literal['forward', 'backward'] = 'forward',
        tol: float = 0.001,
        folds: int = 5,
        scoring: str | None = None,
        of: str | None = None,
        options: str = '{}',
        standardize: bool = True,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Simba(_Selector):
    """Feature weights that make hypothesis-margins large, by stochastic gradient ascent."""
    def __init__(
        self,
        *,
        passes: int = 1,
        order: Literal['random', 'given'] = 'random',
        utility: Literal['linear', 'sigmoid'] = 'linear',
        step: float | Literal['1/n'] = 1.0,
        beta: float = 1.0,
        top: int | float | None = None,
        standardize: bool = True,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class SimbaMBIW(_Selector):
    """Simba feature weights whose steps are scaled by instance weights, for stability."""
    def __init__(
        self,
        *,
        strategy: Literal['order', 'normal', 'sample'] = 'order',
        instance_scale: Literal['sum', 'mean'] = 'sum',
        refresh: int = 0,
        top: int | float | None = None,
        standardize: bool = True,
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Sklearn(_Classifier):
    """A scikit-learn classifier or regressor on the selected columns."""
    def __init__(
        self,
        *,
        estimator: str,
        options: str = '{}',
        standardize: bool = False,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class SklearnSelector(_Selector):
    """The selection of a scikit-learn selector."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        estimator: str,
        options: str = '{}',
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class SymmetricUncertainty(_WeightedSelector):
    """Features ranked by symmetric uncertainty with the class, between 0 and 1."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none'] = 'auto',
        bins: int | Literal['auto'] = 'auto',
        edges: Sequence[float] = (),
        max_levels: int = 32,
        missing: Literal['refuse', 'level', 'pairwise'] = 'refuse',
        unit: Literal['bits', 'nats'] = 'bits',
        given: Sequence[str] = (),
        exclude: Sequence[str] = (),
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class TuRF(_Selector):
    """The columns left after rounds of scoring with another selector and dropping the worst."""
    def __init__(
        self,
        *,
        drop: int | float = 0.1,
        top: int | float | None = None,
        base: _Stages | None = None,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class VLS(_Selector):
    """The largest Relief score of each feature over many random subsets of the features."""
    def __init__(
        self,
        *,
        subset: int = 100,
        rounds: int = 20,
        scoring: Literal['relieff', 'surf', 'multisurf'] = 'relieff',
        k: int = 10,
        top: int | float | None = None,
        threshold: float = 0.0,
        discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str] = 'auto',
        task: Literal['data', 'classification', 'regression'] = 'data',
        m: int | None = None,
        missing: Literal['skip', 'probability'] = 'skip',
        ramp: Sequence[float] | None = None,
        permutations: int = 0,
        level: float | None = None,
        correction: Literal['benjamini-hochberg', 'none'] = 'benjamini-hochberg',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class Variance(_WeightedSelector):
    """Columns whose variance is above `threshold`; the score is the variance."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        threshold: float = 0.0,
        task: Literal["auto", "classification", "regression"] = 'auto',
        always_keep: str | int | Sequence[str | int] | None = None,
        feature_groups: Mapping[str, Sequence[str | int]] | None = None,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...

class WeightedKNN(_Classifier):
    """k nearest neighbours under weighted distance, votes weighted by instance weights."""
    def __init__(
        self,
        *,
        k: int = 3,
        standardize: bool = True,
        random_state: _Seed = 0,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None: ...
