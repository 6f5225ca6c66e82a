"""Methods and chains as estimators of scikit-learn.

Every registered method, also of third-party plugins, has a class here under the name used in its
papers: ``ReliefF``, ``MultiSURF``, ``MRMR``, ``Immigrate``, ``NPFS``, ``WeightedKNN``. ``dir()``
lists them; `estimator` finds one by the method's name.

>>> from fsframe.sklearn import ReliefF
>>> ReliefF(k=10, top=5)
ReliefF(k=10, top=5)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fsframe.sklearn.naming import offered_names

_HOME = {
    "ChainClassifier": "fsframe.sklearn.chain_estimators",
    "ChainRegressor": "fsframe.sklearn.chain_estimators",
    "ChainSelector": "fsframe.sklearn.chain_estimators",
    "FsframeWarning": "fsframe.errors",
    "estimator": "fsframe.sklearn.generated",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted({*_HOME, *offered_names()})
    methods = {} if name.startswith("_") or name in _HOME else offered_names()
    if name not in _HOME and name not in methods:
        from fsframe.text import did_you_mean

        hint = did_you_mean(name, [*_HOME, *methods]) if methods else ""
        raise AttributeError(f"module 'fsframe.sklearn' has no attribute {name!r}{hint}")
    try:
        if name in _HOME:
            return getattr(import_module(_HOME[name]), name)
        return import_module("fsframe.sklearn.generated").estimator(methods[name])
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("sklearn", "joblib"):
            raise
        from fsframe.registry.importing import needed

        raise ImportError(needed("fsframe.sklearn", "scikit-learn")) from error


def __dir__() -> list[str]:
    return sorted(
        {*(name for name in globals() if name.startswith("__")), *_HOME, *offered_names()}
    )
