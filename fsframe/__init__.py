"""fsframe: feature selection as chains of published methods.

The names below are loaded when they are used, so that importing the package is quick.

>>> import fsframe
>>> data = fsframe.Dataset.from_arrays([[1, 5], [2, 5], [9, 4], [8, 6]], ["a", "a", "b", "b"])
>>> fsframe.selectors["mim"](top=1).select(data).selected
array([0])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsframe.chain import Chain as Chain
    from fsframe.classifier import Classifier as Classifier
    from fsframe.classifier import FittedClassifier as FittedClassifier
    from fsframe.dataset import Dataset as Dataset
    from fsframe.errors import DataError as DataError
    from fsframe.errors import FsframeError as FsframeError
    from fsframe.errors import PluginError as PluginError
    from fsframe.errors import RequestError as RequestError
    from fsframe.errors import StoreError as StoreError
    from fsframe.reading import read as read
    from fsframe.registry import classifiers as classifiers
    from fsframe.registry import selectors as selectors
    from fsframe.registry import stability_metrics as stability_metrics
    from fsframe.run import Run as Run
    from fsframe.selection import PairWeights as PairWeights
    from fsframe.selection import Selection as Selection
    from fsframe.selector import Selector as Selector
    from fsframe.stability import StabilityMetric as StabilityMetric
    from fsframe.store import load_run as load_run
    from fsframe.wrapping import WrappingSelector as WrappingSelector

_HOME = {
    "Chain": "fsframe.chain",
    "Classifier": "fsframe.classifier",
    "DataError": "fsframe.errors",
    "Dataset": "fsframe.dataset",
    "FittedClassifier": "fsframe.classifier",
    "FsframeError": "fsframe.errors",
    "PairWeights": "fsframe.selection",
    "PluginError": "fsframe.errors",
    "RequestError": "fsframe.errors",
    "Run": "fsframe.run",
    "Selection": "fsframe.selection",
    "Selector": "fsframe.selector",
    "StabilityMetric": "fsframe.stability",
    "StoreError": "fsframe.errors",
    "WrappingSelector": "fsframe.wrapping",
    "classifiers": "fsframe.registry",
    "load_run": "fsframe.store",
    "read": "fsframe.reading",
    "selectors": "fsframe.registry",
    "stability_metrics": "fsframe.registry",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("fsframe")
    if name not in _HOME:
        raise AttributeError(f"module 'fsframe' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, "__version__"})
