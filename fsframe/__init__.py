"""fsframe: feature selection as chains of published methods.

The names below are loaded when they are used, so that importing the package is quick.

>>> import fsframe
>>> data = fsframe.Dataset.from_arrays([[1, 5], [2, 5], [9, 4], [8, 6]], ["a", "a", "b", "b"])
>>> fsframe.selectors["mim"](top=1).select(data).selected
array([0])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsframe.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from fsframe.ask.functions import compare as compare
    from fsframe.ask.functions import evaluate as evaluate
    from fsframe.ask.functions import inspect as inspect
    from fsframe.ask.functions import select as select
    from fsframe.ask.functions import stability as stability
    from fsframe.ask.functions import study as study
    from fsframe.chains.chain import Chain as Chain
    from fsframe.errors import DataError as DataError
    from fsframe.errors import FsframeError as FsframeError
    from fsframe.errors import FsframeWarning as FsframeWarning
    from fsframe.errors import PluginError as PluginError
    from fsframe.errors import RequestError as RequestError
    from fsframe.errors import StoreError as StoreError
    from fsframe.method.classifier import Classifier as Classifier
    from fsframe.method.classifier import FittedClassifier as FittedClassifier
    from fsframe.method.classifier import FittedRegressor as FittedRegressor
    from fsframe.method.classifier import PredictionMeasure as PredictionMeasure
    from fsframe.method.classifier import Predictions as Predictions
    from fsframe.method.classifier import Regressor as Regressor
    from fsframe.method.run import Run as Run
    from fsframe.method.selection import PairWeights as PairWeights
    from fsframe.method.selection import Selection as Selection
    from fsframe.method.selector import Selector as Selector
    from fsframe.method.stability_metric import StabilityMetric as StabilityMetric
    from fsframe.registry import classifiers as classifiers
    from fsframe.registry import measures as measures
    from fsframe.registry import register as register
    from fsframe.registry import regressors as regressors
    from fsframe.registry import selectors as selectors
    from fsframe.registry import stability_metrics as stability_metrics
    from fsframe.resampling.resamples import WrappingSelector as WrappingSelector
    from fsframe.show.results import ComparisonResult as ComparisonResult
    from fsframe.show.results import EvaluationResult as EvaluationResult
    from fsframe.show.results import SelectionResult as SelectionResult
    from fsframe.show.results import StabilityResult as StabilityResult
    from fsframe.show.results import StudyResult as StudyResult
    from fsframe.show.results import load_run as load_run
    from fsframe.show.results import load_study as load_study
    from fsframe.table.dataset import Dataset as Dataset
    from fsframe.table.read import read as read

    __version__: str

_NAMES = {
    "ask.functions": "compare evaluate inspect select stability study",
    "chains.chain": "Chain",
    "method.classifier": "Classifier FittedClassifier FittedRegressor PredictionMeasure "
    "Predictions Regressor",
    "table.dataset": "Dataset",
    "method.run": "Run",
    "method.selection": "PairWeights Selection",
    "method.selector": "Selector",
    "method.stability_metric": "StabilityMetric",
    "errors": "DataError FsframeError FsframeWarning PluginError RequestError StoreError",
    "registry": "classifiers measures register regressors selectors stability_metrics",
    "resampling.resamples": "WrappingSelector",
    "show.results": "ComparisonResult EvaluationResult SelectionResult StabilityResult StudyResult "
    "load_run load_study",
    "table.read": "read",
}
_HOME = {name: f"fsframe.{home}" for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)

_lazy = lazy_attributes(__name__, _HOME)


if not TYPE_CHECKING:  # Type checkers would take any name for one of this package.

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("fsframe")
        value = globals()[name] = _lazy(name)
        return value


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *_HOME, "__version__"})
