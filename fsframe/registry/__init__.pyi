# Written by `python docs/make_stubs.py` from the declarations of the methods; do not edit it.

from collections.abc import Sequence
from typing import Any, Literal, overload

from fsframe.method.classifier import Classifier, Regressor
from fsframe.method.selector import Selector
from fsframe.registry.registering import local_class_version as local_class_version
from fsframe.registry.registering import register as register
from fsframe.registry.registering import unreachable_classes as unreachable_classes
from fsframe.registry.registry import Offer as Offer
from fsframe.registry.registry import Registry as Registry
from fsframe.registry.registry import commands as commands
from fsframe.registry.registry import default_manager as default_manager
from fsframe.registry.registry import default_names as default_names
from fsframe.registry.registry import engines as engines
from fsframe.registry.registry import find_offer as find_offer
from fsframe.registry.registry import measures as measures
from fsframe.registry.registry import nulls as nulls
from fsframe.registry.registry import observers as observers
from fsframe.registry.registry import preferring as preferring
from fsframe.registry.registry import readers as readers
from fsframe.registry.registry import real_name as real_name
from fsframe.registry.registry import report_sections as report_sections
from fsframe.registry.registry import stability_metrics as stability_metrics
from fsframe.registry.registry import writers as writers

class _AnovaF(Selector):
    """Features ranked by the variance between class means relative to the variance within classes."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        missing: Literal['refuse', 'pairwise'] = 'refuse',
    ) -> None: ...
    top: int | float | None
    missing: Literal['refuse', 'pairwise']

class _Betagamma(Selector):
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
    ) -> None: ...
    beta: float
    gamma: float
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']
    estimator: Literal['plug-in', 'knn']
    neighbours: int

class _Bim(Selector):
    """Weights of features and pairs, averaged over the rounds of boosted IMMIGRATE."""
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
    ) -> None: ...
    top: int | float | None
    rounds: int
    sigma_max: float
    sigma_min: float
    max_iter: int
    update: Literal['elementwise', 'psd', 'psd-clip']
    line_search: bool
    start: Literal['random', 'upstream', 'identity']
    standardize: bool
    prototypes: int | None

class _Boruta(Selector):
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
    ) -> None: ...
    top: int | float | None
    max_runs: int
    alpha: float
    correction: Literal['bonferroni', 'two-step']
    trees: int
    options: str

class _Chi2(Selector):
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
    ) -> None: ...
    rank_by: Literal['statistic', 'p-value']
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]

class _Cife(Selector):
    """Features by relevance − redundancy + class-conditional redundancy (conditional infomax"""
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
    ) -> None: ...
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']
    estimator: Literal['plug-in', 'knn']
    neighbours: int

class _Cmi(Selector):
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
    ) -> None: ...
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']

class _Cmim(Selector):
    """Features by the smallest information they add to any selected one (conditional mutual"""
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
    ) -> None: ...
    clamp: bool
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']
    estimator: Literal['plug-in', 'knn']
    neighbours: int

class _Condred(Selector):
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
    ) -> None: ...
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']
    estimator: Literal['plug-in', 'knn']
    neighbours: int

class _Correlation(Selector):
    """One column of each cluster of correlated columns."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        threshold: float = 0.9,
        method: Literal['pearson', 'spearman'] = 'pearson',
        clusters: Literal['complete', 'average', 'single'] = 'complete',
        keep: Literal['label', 'upstream', 'centre'] = 'label',
    ) -> None: ...
    top: int | float | None
    threshold: float
    method: Literal['pearson', 'spearman']
    clusters: Literal['complete', 'average', 'single']
    keep: Literal['label', 'upstream', 'centre']

class _CoxScore(Selector):
    """Features ranked by the score test of Cox's model, each alone."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        ties: Literal['efron', 'breslow'] = 'efron',
    ) -> None: ...
    top: int | float | None
    ties: Literal['efron', 'breslow']

class _Cpss(Selector):
    """Features that a selector keeps on many halves of the table, with a bound on false ones."""
    def __init__(
        self,
        *,
        pairs: int = 50,
        false_selections: float = 1.0,
        threshold: float | None = None,
        bound: Literal['worst-case', 'unimodal', 'r-concave'] = 'worst-case',
        top: int | float | None = None,
        base: str | None = None,
    ) -> None: ...
    pairs: int
    false_selections: float
    threshold: float | None
    bound: Literal['worst-case', 'unimodal', 'r-concave']
    top: int | float | None
    base: str | None

class _CrossValidation(Selector):
    """Performance of a chain on held-out rows, and how often it keeps each feature."""
    def __init__(
        self,
        *,
        scheme: Literal['folds', 'five-by-two', 'leave-one-out'] = 'folds',
        folds: int = 10,
        repeats: int = 10,
        stratify: bool = True,
        groups: str | None = None,
        classifier: str = '',
        inner_folds: int = 5,
        curve: Sequence[int] | Literal['auto'] | None = None,
        all_features: bool = False,
        metric: Sequence[str] = (),
        top: int | float | None = None,
        base: str | None = None,
    ) -> None: ...
    scheme: Literal['folds', 'five-by-two', 'leave-one-out']
    folds: int
    repeats: int
    stratify: bool
    groups: str | None
    classifier: str
    inner_folds: int
    curve: Sequence[int] | Literal['auto'] | None
    all_features: bool
    metric: Sequence[str]
    top: int | float | None
    base: str | None

class _Disr(Selector):
    """Features by joint mutual information with each selected one, normalised by joint entropy"""
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
    ) -> None: ...
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']

class _ElasticNet(Selector):
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
    ) -> None: ...
    l1_ratio: float
    top: int | float | None
    penalties: int
    smallest: float
    folds: int
    rule: Literal['min', 'one-se']
    weakness: float

class _Ensemble(Selector):
    """Features by their mean ranks over many bootstraps of a selector."""
    def __init__(
        self,
        *,
        n: int = 50,
        aggregate: Literal['mean-rank', 'linear'] = 'mean-rank',
        fraction: float = 1.0,
        stratify: bool = True,
        top: int | float | None = None,
        base: str | None = None,
    ) -> None: ...
    n: int
    aggregate: Literal['mean-rank', 'linear']
    fraction: float
    stratify: bool
    top: int | float | None
    base: str | None

class _Fcbf(Selector):
    """Features more strongly related to the class than to any better feature (predominant"""
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
    ) -> None: ...
    top: int | float | None
    delta: float
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]

class _Gflip(Selector):
    """A feature set that no single addition or removal improves."""
    def __init__(
        self,
        *,
        utility: Literal['linear', 'zero-one', 'sigmoid'] = 'linear',
        beta: float = 1.0,
        max_passes: int = 20,
        top: int | float | None = None,
        standardize: bool = True,
    ) -> None: ...
    utility: Literal['linear', 'zero-one', 'sigmoid']
    beta: float
    max_passes: int
    top: int | float | None
    standardize: bool

class _Icap(Selector):
    """Features whose redundancy with selected ones is penalised and whose synergy is not rewarded"""
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
    ) -> None: ...
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']
    estimator: Literal['plug-in', 'knn']
    neighbours: int

class _Im4e(Selector):
    """Feature weights w of a Manhattan distance that maximise margins and their stability."""
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
    ) -> None: ...
    sigma: float | Literal['cv']
    penalty: float | None
    line_search: bool
    max_iter: int
    tol: float
    start: Literal['uniform', 'random', 'upstream']
    threshold: float
    margins: bool
    top: int | float | None
    standardize: bool
    folds: int
    prototypes: int | None

class _Immigrate(Selector):
    """Weights W of features and of pairs of features that maximise stable hypothesis-margins."""
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
    ) -> None: ...
    sigma: float | Literal['cv']
    update: Literal['elementwise', 'psd', 'psd-clip']
    line_search: bool
    max_iter: int
    tol: float | None
    keep: Literal['auto', 'best', 'last']
    start: Literal['upstream', 'identity', 'random']
    prune: bool | Literal['auto']
    prune_from: Literal['start', 'half']
    l1: float
    screen: float | None
    screened: Literal['drop', 'diagonal']
    top: int | float | None
    standardize: bool
    folds: int
    prototypes: int | None

class _Importance(Selector):
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
    ) -> None: ...
    top: int | float | None
    measure: Literal['own', 'held-out', 'out-of-bag']
    folds: int
    repeats: int
    scoring: str | None
    of: str | None
    options: str
    standardize: bool

class _Impute(Selector):
    """Every column, the most complete first, with values to impute for missing ones."""
    def __init__(
        self,
        *,
        method: Literal['median', 'mean', 'most-frequent', 'neighbours'] = 'median',
        k: int = 5,
        standardize: bool = True,
        top: int | float | None = None,
    ) -> None: ...
    method: Literal['median', 'mean', 'most-frequent', 'neighbours']
    k: int
    standardize: bool
    top: int | float | None

class _Interactions(Selector):
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
    ) -> None: ...
    top: int | float | None
    bins: int
    max_levels: int
    correction: Literal['bh', 'by']
    alpha: float
    keep: int
    calibrate: int
    draws: int

class _InteractionsSplit(Selector):
    """Features of pairs that interact on rows that were not used to choose them."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        alpha: float = 0.05,
        correction: Literal['bh', 'by'] = 'bh',
        bins: int = 3,
        draws: int = 200,
        base: str | None = None,
    ) -> None: ...
    top: int | float | None
    alpha: float
    correction: Literal['bh', 'by']
    bins: int
    draws: int
    base: str | None

class _Ipss(Selector):
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
        base: str | None = None,
    ) -> None: ...
    pairs: int
    level: float
    false_selections: float | None
    power: int
    cutoff: float
    delta: float
    top: int | float | None
    base: str | None

class _Irelief(Selector):
    """Feature weights w, ‖w‖₂ = 1, that maximise the expected margin of the inliers."""
    def __init__(
        self,
        *,
        sigma: float = 2.0,
        max_iter: int = 100,
        tol: float = 1e-06,
        top: int | float | None = None,
        standardize: bool = True,
    ) -> None: ...
    sigma: float
    max_iter: int
    tol: float
    top: int | float | None
    standardize: bool

class _IterativeRelief(Selector):
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
    ) -> None: ...
    least: int
    rounds: int
    tol: float
    top: int | float | None
    threshold: float
    discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str]
    task: Literal['data', 'classification', 'regression']
    m: int | None
    missing: Literal['skip', 'probability']
    ramp: Sequence[float] | None
    permutations: int
    level: float | None
    correction: Literal['benjamini-hochberg', 'none']

class _Jmi(Selector):
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
    ) -> None: ...
    form: Literal['sum', 'mean']
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']
    estimator: Literal['plug-in', 'knn']
    neighbours: int
    pairs: Literal['none', 'synergy', 'joint']
    pair_columns: Literal['all', 'selected']

class _Jmi3(Selector):
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
    ) -> None: ...
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']

class _Jmim(Selector):
    """Features by the smallest joint mutual information with any selected one (joint mutual"""
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
    ) -> None: ...
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']
    estimator: Literal['plug-in', 'knn']
    neighbours: int

class _Knockoffs(Selector):
    """Features that a selector prefers to imitations of them which know nothing of the label."""
    def __init__(
        self,
        *,
        level: float = 0.2,
        copies: int = 20,
        construction: Literal['mvr', 'equicorrelated'] = 'mvr',
        marginals: Literal['gaussian', 'ranks'] = 'gaussian',
        top: int | float | None = None,
        base: str | None = None,
    ) -> None: ...
    level: float
    copies: int
    construction: Literal['mvr', 'equicorrelated']
    marginals: Literal['gaussian', 'ranks']
    top: int | float | None
    base: str | None

class _Lasso(Selector):
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
    ) -> None: ...
    top: int | float | None
    penalties: int
    smallest: float
    folds: int
    rule: Literal['min', 'one-se']
    weakness: float

class _Lfe(Selector):
    """A positive semi-definite W over signed differences that maximises the 1-NN margin."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        standardize: bool = True,
    ) -> None: ...
    top: int | float | None
    standardize: bool

class _Logo(Selector):
    """Sparse feature weights w ≥ 0 that make expected margins large in a logistic sense."""
    def __init__(
        self,
        *,
        sigma: float = 2.0,
        l1: float = 1.0,
        max_iter: int = 50,
        tol: float = 0.001,
        top: int | float | None = None,
        standardize: bool = True,
    ) -> None: ...
    sigma: float
    l1: float
    max_iter: int
    tol: float
    top: int | float | None
    standardize: bool

class _Mbiw(Selector):
    """Instance weights ω that favour rows whose margin profile is close to the others'."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        standardize: bool = True,
    ) -> None: ...
    top: int | float | None
    standardize: bool

class _Mifs(Selector):
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
    ) -> None: ...
    beta: float
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']
    estimator: Literal['plug-in', 'knn']
    neighbours: int

class _Mim(Selector):
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
    ) -> None: ...
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    estimator: Literal['plug-in', 'knn']
    neighbours: int
    pairs: Literal['none', 'synergy', 'joint']
    pair_columns: Literal['all', 'selected']

class _Mrmr(Selector):
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
    ) -> None: ...
    form: Literal['difference', 'quotient']
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']
    estimator: Literal['plug-in', 'knn']
    neighbours: int

class _Multisurf(Selector):
    """Relief scores over all hits and misses nearer than mean_i - sd_i / 2 of the target's"""
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
    ) -> None: ...
    top: int | float | None
    threshold: float
    discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str]
    task: Literal['data', 'classification', 'regression']
    m: int | None
    missing: Literal['skip', 'probability']
    ramp: Sequence[float] | None
    permutations: int
    level: float | None
    correction: Literal['benjamini-hochberg', 'none']

class _Multisurfstar(Selector):
    """Relief scores over instances nearer than mean_i - sd_i / 2, minus those over instances beyond"""
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
    ) -> None: ...
    top: int | float | None
    threshold: float
    discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str]
    task: Literal['data', 'classification', 'regression']
    m: int | None
    missing: Literal['skip', 'probability']
    ramp: Sequence[float] | None
    permutations: int
    level: float | None
    correction: Literal['benjamini-hochberg', 'none']

class _Njmim(Selector):
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
    ) -> None: ...
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]
    stop: Literal['k', 'positive', 'significant']
    alpha: float
    test: Literal['g', 'permutation']
    permutations: int
    constants: Literal['compete', 'last']

class _Npfs(Selector):
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
        base: str | None = None,
    ) -> None: ...
    n: int | None
    alpha: float
    null: str
    permutations: int | None
    permuted_n: int | None
    statistic: Literal['scores', 'counts'] | None
    compare: Literal['centred', 'pooled', 'own']
    correction: Literal['auto', 'none', 'bonferroni', 'bh']
    fraction: float | None
    stratify: bool
    bias: float
    settle: float | None
    fits: int | None
    of: Literal['features', 'pairs']
    pairs: int | None
    top: int | float | None
    base: str | None

class _Relief(Selector):
    """Relief scores over the nearest hit and the nearest miss of each target, W += (diff miss -"""
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
    ) -> None: ...
    ties: Literal['share', 'index']
    top: int | float | None
    threshold: float
    discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str]
    task: Literal['data', 'classification', 'regression']
    m: int | None
    missing: Literal['skip', 'probability']
    ramp: Sequence[float] | None
    permutations: int
    level: float | None
    correction: Literal['benjamini-hochberg', 'none']

class _Relieff(Selector):
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
    ) -> None: ...
    k: int | None
    weighting: Literal['equal', 'rank', 'distance']
    decay: float
    ties: Literal['share', 'index']
    top: int | float | None
    threshold: float
    discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str]
    task: Literal['data', 'classification', 'regression']
    m: int | None
    missing: Literal['skip', 'probability']
    ramp: Sequence[float] | None
    permutations: int
    level: float | None
    correction: Literal['benjamini-hochberg', 'none']

class _RelievedF(Selector):
    """Relief scores over all nearest hits and all nearest misses of each other class, with all"""
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
    ) -> None: ...
    top: int | float | None
    threshold: float
    discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str]
    task: Literal['data', 'classification', 'regression']
    m: int | None
    missing: Literal['skip', 'probability']
    ramp: Sequence[float] | None
    permutations: int
    level: float | None
    correction: Literal['benjamini-hochberg', 'none']

class _Rfe(Selector):
    """Columns that survive recursive elimination."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        step: int | float = 1,
        of: str | None = None,
        options: str = '{}',
        standardize: bool = True,
    ) -> None: ...
    top: int | float | None
    step: int | float
    of: str | None
    options: str
    standardize: bool

class _Rfecv(Selector):
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
    ) -> None: ...
    top: int | float | None
    folds: int
    scoring: str | None
    of: str | None
    options: str
    standardize: bool
    step: int | float

class _Rrelieff(Selector):
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
    ) -> None: ...
    k: int
    weighting: Literal['rank', 'equal', 'distance']
    decay: float
    ties: Literal['share', 'index']
    top: int | float | None
    threshold: float
    discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str]
    task: Literal['data', 'classification', 'regression']
    m: int | None
    missing: Literal['skip', 'probability']
    ramp: Sequence[float] | None
    permutations: int
    level: float | None
    correction: Literal['benjamini-hochberg', 'none']

class _Sequential(Selector):
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
    ) -> None: ...
    top: int | float | None
    direction: Literal['forward', 'backward']
    tol: float
    folds: int
    scoring: str | None
    of: str | None
    options: str
    standardize: bool

class _Simba(Selector):
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
    ) -> None: ...
    passes: int
    order: Literal['random', 'given']
    utility: Literal['linear', 'sigmoid']
    step: float | Literal['1/n']
    beta: float
    top: int | float | None
    standardize: bool

class _SimbaMbiw(Selector):
    """Simba feature weights whose steps are scaled by instance weights, for stability."""
    def __init__(
        self,
        *,
        strategy: Literal['order', 'normal', 'sample'] = 'order',
        instance_scale: Literal['sum', 'mean'] = 'sum',
        refresh: int = 0,
        top: int | float | None = None,
        standardize: bool = True,
    ) -> None: ...
    strategy: Literal['order', 'normal', 'sample']
    instance_scale: Literal['sum', 'mean']
    refresh: int
    top: int | float | None
    standardize: bool

class _SklearnSelector(Selector):
    """The selection of a scikit-learn selector."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        estimator: str,
        options: str = '{}',
    ) -> None: ...
    top: int | float | None
    estimator: str
    options: str

class _StabilityStudy(Selector):
    """Stability of the features that a chain selects on resamples of the rows."""
    def __init__(
        self,
        *,
        metric: Sequence[str] = ('nogueira', 'kuncheva'),
        resample: Literal['subsample', 'bootstrap', 'folds'] = 'subsample',
        n: int = 30,
        fraction: float = 0.8,
        stratify: bool = True,
        sizes: int | Literal['all'] = 'all',
        top: int | float | None = None,
        base: str | None = None,
    ) -> None: ...
    metric: Sequence[str]
    resample: Literal['subsample', 'bootstrap', 'folds']
    n: int
    fraction: float
    stratify: bool
    sizes: int | Literal['all']
    top: int | float | None
    base: str | None

class _Surf(Selector):
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
    ) -> None: ...
    top: int | float | None
    threshold: float
    discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str]
    task: Literal['data', 'classification', 'regression']
    m: int | None
    missing: Literal['skip', 'probability']
    ramp: Sequence[float] | None
    permutations: int
    level: float | None
    correction: Literal['benjamini-hochberg', 'none']

class _Surfstar(Selector):
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
    ) -> None: ...
    top: int | float | None
    threshold: float
    discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str]
    task: Literal['data', 'classification', 'regression']
    m: int | None
    missing: Literal['skip', 'probability']
    ramp: Sequence[float] | None
    permutations: int
    level: float | None
    correction: Literal['benjamini-hochberg', 'none']

class _Swrfstar(Selector):
    """Relief scores over all instances, weighted by a sigmoid of distance; distant ones are"""
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
    ) -> None: ...
    top: int | float | None
    threshold: float
    discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str]
    task: Literal['data', 'classification', 'regression']
    m: int | None
    missing: Literal['skip', 'probability']
    ramp: Sequence[float] | None
    permutations: int
    level: float | None
    correction: Literal['benjamini-hochberg', 'none']

class _SymmetricUncertainty(Selector):
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
    ) -> None: ...
    top: int | float | None
    discretise: Literal['auto', 'equal-width', 'equal-frequency', 'mdl', 'freedman-diaconis', 'edges', 'none']
    bins: int | Literal['auto']
    edges: Sequence[float]
    max_levels: int
    missing: Literal['refuse', 'level', 'pairwise']
    unit: Literal['bits', 'nats']
    given: Sequence[str]
    exclude: Sequence[str]

class _Turf(Selector):
    """The columns left after rounds of scoring with another selector and dropping the worst."""
    def __init__(
        self,
        *,
        drop: int | float = 0.1,
        top: int | float | None = None,
        base: str | None = None,
    ) -> None: ...
    drop: int | float
    top: int | float | None
    base: str | None

class _Variance(Selector):
    """Columns whose variance is above `threshold`; the score is the variance."""
    def __init__(
        self,
        *,
        top: int | float | None = None,
        threshold: float = 0.0,
    ) -> None: ...
    top: int | float | None
    threshold: float

class _Vls(Selector):
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
    ) -> None: ...
    subset: int
    rounds: int
    scoring: Literal['relieff', 'surf', 'multisurf']
    k: int
    top: int | float | None
    threshold: float
    discrete_features: Literal['auto', 'all', 'none'] | Sequence[int | str]
    task: Literal['data', 'classification', 'regression']
    m: int | None
    missing: Literal['skip', 'probability']
    ramp: Sequence[float] | None
    permutations: int
    level: float | None
    correction: Literal['benjamini-hochberg', 'none']

class _Cox(Regressor):
    """Log risks by Cox's proportional hazards with a ridge penalty."""
    def __init__(
        self,
        *,
        penalty: float = 1.0,
        ties: Literal['efron', 'breslow'] = 'efron',
    ) -> None: ...
    penalty: float
    ties: Literal['efron', 'breslow']

class _Ridge(Regressor):
    """Ridge regression on standardised columns."""
    def __init__(
        self,
        *,
        penalty: float | Literal['auto'] = 'auto',
    ) -> None: ...
    penalty: float | Literal['auto']

class _BimVote(Classifier):
    """Weighted vote of boosted IMMIGRATE rounds (Algorithm 3)."""
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
    ) -> None: ...
    rounds: int
    sigma_max: float
    sigma_min: float
    max_iter: int
    update: Literal['elementwise', 'psd', 'psd-clip']
    line_search: bool
    start: Literal['random', 'upstream', 'identity']
    standardize: bool
    prototypes: int | None

class _Knn(Classifier):
    """Majority vote of the k nearest training rows; their mean for a numeric target."""
    def __init__(
        self,
        *,
        k: int = 1,
        distance: Literal['euclidean', 'manhattan'] = 'euclidean',
        standardize: bool = True,
    ) -> None: ...
    k: int
    distance: Literal['euclidean', 'manhattan']
    standardize: bool

class _Margin(Classifier):
    """The class with the smallest expected distance under the upstream weights."""
    def __init__(
        self,
        *,
        sigma: float | None = None,
        measure: Literal['auto', 'quadratic', 'linear'] = 'auto',
        standardize: bool = True,
    ) -> None: ...
    sigma: float | None
    measure: Literal['auto', 'quadratic', 'linear']
    standardize: bool

class _Sklearn(Classifier):
    """A scikit-learn classifier or regressor on the selected columns."""
    def __init__(
        self,
        *,
        estimator: str,
        options: str = '{}',
        standardize: bool = False,
    ) -> None: ...
    estimator: str
    options: str
    standardize: bool

class _WeightedKnn(Classifier):
    """k nearest neighbours under weighted distance, votes weighted by instance weights."""
    def __init__(
        self,
        *,
        k: int = 3,
        standardize: bool = True,
    ) -> None: ...
    k: int
    standardize: bool

class _Selectors(Registry):
    @overload
    def __getitem__(self, name: Literal['anova-f']) -> type[_AnovaF]: ...
    @overload
    def __getitem__(self, name: Literal['betagamma']) -> type[_Betagamma]: ...
    @overload
    def __getitem__(self, name: Literal['bim']) -> type[_Bim]: ...
    @overload
    def __getitem__(self, name: Literal['boruta']) -> type[_Boruta]: ...
    @overload
    def __getitem__(self, name: Literal['chi2']) -> type[_Chi2]: ...
    @overload
    def __getitem__(self, name: Literal['cife']) -> type[_Cife]: ...
    @overload
    def __getitem__(self, name: Literal['cmi']) -> type[_Cmi]: ...
    @overload
    def __getitem__(self, name: Literal['cmim']) -> type[_Cmim]: ...
    @overload
    def __getitem__(self, name: Literal['condred']) -> type[_Condred]: ...
    @overload
    def __getitem__(self, name: Literal['correlation']) -> type[_Correlation]: ...
    @overload
    def __getitem__(self, name: Literal['cox-score']) -> type[_CoxScore]: ...
    @overload
    def __getitem__(self, name: Literal['cpss']) -> type[_Cpss]: ...
    @overload
    def __getitem__(self, name: Literal['cross-validation']) -> type[_CrossValidation]: ...
    @overload
    def __getitem__(self, name: Literal['disr']) -> type[_Disr]: ...
    @overload
    def __getitem__(self, name: Literal['elastic-net']) -> type[_ElasticNet]: ...
    @overload
    def __getitem__(self, name: Literal['ensemble']) -> type[_Ensemble]: ...
    @overload
    def __getitem__(self, name: Literal['fcbf']) -> type[_Fcbf]: ...
    @overload
    def __getitem__(self, name: Literal['gflip']) -> type[_Gflip]: ...
    @overload
    def __getitem__(self, name: Literal['icap']) -> type[_Icap]: ...
    @overload
    def __getitem__(self, name: Literal['im4e']) -> type[_Im4e]: ...
    @overload
    def __getitem__(self, name: Literal['immigrate']) -> type[_Immigrate]: ...
    @overload
    def __getitem__(self, name: Literal['importance']) -> type[_Importance]: ...
    @overload
    def __getitem__(self, name: Literal['impute']) -> type[_Impute]: ...
    @overload
    def __getitem__(self, name: Literal['interactions']) -> type[_Interactions]: ...
    @overload
    def __getitem__(self, name: Literal['interactions-split']) -> type[_InteractionsSplit]: ...
    @overload
    def __getitem__(self, name: Literal['ipss']) -> type[_Ipss]: ...
    @overload
    def __getitem__(self, name: Literal['irelief']) -> type[_Irelief]: ...
    @overload
    def __getitem__(self, name: Literal['iterative-relief']) -> type[_IterativeRelief]: ...
    @overload
    def __getitem__(self, name: Literal['jmi']) -> type[_Jmi]: ...
    @overload
    def __getitem__(self, name: Literal['jmi3']) -> type[_Jmi3]: ...
    @overload
    def __getitem__(self, name: Literal['jmim']) -> type[_Jmim]: ...
    @overload
    def __getitem__(self, name: Literal['knockoffs']) -> type[_Knockoffs]: ...
    @overload
    def __getitem__(self, name: Literal['lasso']) -> type[_Lasso]: ...
    @overload
    def __getitem__(self, name: Literal['lfe']) -> type[_Lfe]: ...
    @overload
    def __getitem__(self, name: Literal['logo']) -> type[_Logo]: ...
    @overload
    def __getitem__(self, name: Literal['mbiw']) -> type[_Mbiw]: ...
    @overload
    def __getitem__(self, name: Literal['mifs']) -> type[_Mifs]: ...
    @overload
    def __getitem__(self, name: Literal['mim']) -> type[_Mim]: ...
    @overload
    def __getitem__(self, name: Literal['mrmr']) -> type[_Mrmr]: ...
    @overload
    def __getitem__(self, name: Literal['multisurf']) -> type[_Multisurf]: ...
    @overload
    def __getitem__(self, name: Literal['multisurfstar']) -> type[_Multisurfstar]: ...
    @overload
    def __getitem__(self, name: Literal['njmim']) -> type[_Njmim]: ...
    @overload
    def __getitem__(self, name: Literal['npfs']) -> type[_Npfs]: ...
    @overload
    def __getitem__(self, name: Literal['relief']) -> type[_Relief]: ...
    @overload
    def __getitem__(self, name: Literal['relieff']) -> type[_Relieff]: ...
    @overload
    def __getitem__(self, name: Literal['relieved-f']) -> type[_RelievedF]: ...
    @overload
    def __getitem__(self, name: Literal['rfe']) -> type[_Rfe]: ...
    @overload
    def __getitem__(self, name: Literal['rfecv']) -> type[_Rfecv]: ...
    @overload
    def __getitem__(self, name: Literal['rrelieff']) -> type[_Rrelieff]: ...
    @overload
    def __getitem__(self, name: Literal['sequential']) -> type[_Sequential]: ...
    @overload
    def __getitem__(self, name: Literal['simba']) -> type[_Simba]: ...
    @overload
    def __getitem__(self, name: Literal['simba-mbiw']) -> type[_SimbaMbiw]: ...
    @overload
    def __getitem__(self, name: Literal['sklearn-selector']) -> type[_SklearnSelector]: ...
    @overload
    def __getitem__(self, name: Literal['stability-study']) -> type[_StabilityStudy]: ...
    @overload
    def __getitem__(self, name: Literal['surf']) -> type[_Surf]: ...
    @overload
    def __getitem__(self, name: Literal['surfstar']) -> type[_Surfstar]: ...
    @overload
    def __getitem__(self, name: Literal['swrfstar']) -> type[_Swrfstar]: ...
    @overload
    def __getitem__(self, name: Literal['symmetric-uncertainty']) -> type[_SymmetricUncertainty]: ...
    @overload
    def __getitem__(self, name: Literal['turf']) -> type[_Turf]: ...
    @overload
    def __getitem__(self, name: Literal['variance']) -> type[_Variance]: ...
    @overload
    def __getitem__(self, name: Literal['vls']) -> type[_Vls]: ...
    @overload
    def __getitem__(self, name: str) -> Any: ...

class _Regressors(Registry):
    @overload
    def __getitem__(self, name: Literal['cox']) -> type[_Cox]: ...
    @overload
    def __getitem__(self, name: Literal['ridge']) -> type[_Ridge]: ...
    @overload
    def __getitem__(self, name: str) -> Any: ...

class _Classifiers(Registry):
    @overload
    def __getitem__(self, name: Literal['bim-vote']) -> type[_BimVote]: ...
    @overload
    def __getitem__(self, name: Literal['cox']) -> type[_Cox]: ...
    @overload
    def __getitem__(self, name: Literal['knn']) -> type[_Knn]: ...
    @overload
    def __getitem__(self, name: Literal['margin']) -> type[_Margin]: ...
    @overload
    def __getitem__(self, name: Literal['ridge']) -> type[_Ridge]: ...
    @overload
    def __getitem__(self, name: Literal['sklearn']) -> type[_Sklearn]: ...
    @overload
    def __getitem__(self, name: Literal['weighted-knn']) -> type[_WeightedKnn]: ...
    @overload
    def __getitem__(self, name: str) -> Any: ...

selectors: _Selectors
regressors: _Regressors
classifiers: _Classifiers
