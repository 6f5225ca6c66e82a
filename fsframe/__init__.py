"""fsframe: feature selection as chains of published methods.

The names below are loaded when they are used, so that importing the package is quick.

>>> import fsframe
>>> data = fsframe.Dataset.from_arrays([[1, 5], [2, 5], [9, 4], [8, 6]], ["a", "a", "b", "b"])
>>> fsframe.selectors["mim"](top=1).select(data).selected
array([0])
"""

from __future__ import annotations

from typing import Any

from fsframe.lazy_imports import lazy_attributes

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
    "resampling.wrapping": "WrappingSelector",
    "show.comparison_results": "ComparisonResult StudyResult load_study",
    "show.results": "EvaluationResult SelectionResult StabilityResult load_run",
    "table.read": "read",
}
"""Module → its names that are names of the package; `docs/make_stubs.py` makes its stub of them."""

_HOME = {name: f"fsframe.{home}" for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)

_lazy = lazy_attributes(__name__, _HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("fsframe")
    value = globals()[name] = _lazy(name)
    return value


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *_HOME, "__version__"})
