"""Which classes the name of an estimator may mean: scikit-learn's own, and those the user allows.

A name may stand in a run file from a stranger, and importing a module runs it. So nothing is
imported because a text says so: a name is compared with the names that scikit-learn gives itself,
and with the list in the environment variable ``FSFRAME_SKLEARN_ALLOW``. No file adds to that list.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

from fsframe.errors import PluginError, RequestError, one_line
from fsframe.suggest import did_you_mean

__all__ = ["ALLOW", "find_estimator"]

ALLOW = "FSFRAME_SKLEARN_ALLOW"
"""Environment variable: import paths of further estimator classes, joined by commas."""

_EXAMPLE = "such as sklearn.naive_bayes.GaussianNB"


def find_estimator(name: str, environ: Mapping[str, str] = os.environ) -> type:
    """The class of a scikit-learn classifier, or of one that the user allows by its whole name.

    Parameters
    ----------
    name : str
        Such as ``sklearn.svm.SVC``: the package, one of its public modules, a public class.
    environ : mapping
        Where ``FSFRAME_SKLEARN_ALLOW`` is looked up.

    Raises
    ------
    RequestError
        If the name is neither, or what it names is no classifier.
    PluginError
        If scikit-learn is not installed.

    Examples
    --------
    >>> find_estimator("sklearn.svm.SVC").__name__
    'SVC'
    >>> find_estimator("antigravity.Boom", {})
    Traceback (most recent call last):
    ...
    fsframe.errors.RequestError: 'antigravity.Boom' is not one of scikit-learn's own classifiers, \
such as sklearn.naive_bayes.GaussianNB; to allow a class that you trust, set \
FSFRAME_SKLEARN_ALLOW=antigravity.Boom
    """
    path = name.replace(":", ".")
    allowed = [entry.strip() for entry in environ.get(ALLOW, "").split(",")]
    if path in allowed:
        return _allowed(path)
    package, _, rest = path.partition(".")
    module_name, _, class_name = rest.partition(".")
    if package != "sklearn" or "." in class_name or not class_name.isidentifier():
        raise _refusal(name, path)
    module = _public_module(module_name)
    if module is None:
        raise _refusal(name, path)
    found = _classifiers(module)
    if class_name not in found:
        hint = did_you_mean(path, [f"sklearn.{module_name}.{known}" for known in found])
        raise RequestError(
            f"{name!r} is not one of scikit-learn's own classifiers, {_EXAMPLE}{hint}"
        )
    return found[class_name]


def _refusal(name: str, path: str) -> RequestError:
    parts = path.split(".")
    way = (
        f"; to allow a class that you trust, set {ALLOW}={path}"
        if parts[0] != "sklearn" and len(parts) > 1 and all(p.isidentifier() for p in parts)
        else ""
    )
    return RequestError(f"{name!r} is not one of scikit-learn's own classifiers, {_EXAMPLE}{way}")


def _public_module(name: str) -> ModuleType | None:
    """The public module of scikit-learn of that name, if scikit-learn itself lists it."""
    try:
        package = import_module("sklearn")
    except ImportError as error:
        if "No module named 'sklearn'" not in str(error):
            raise PluginError(f"scikit-learn cannot be imported: {one_line(error)}") from error
        raise PluginError(
            "scikit-learn is not installed; install fsframe[sklearn] to use its classifiers"
        ) from None
    listed = [own for own in package.__all__ if own == name]
    if not listed:
        return None
    try:
        return import_module(f"sklearn.{listed[0]}")
    except ImportError:
        # The list holds some functions too, such as `clone`.
        return None


def _classifiers(module: ModuleType) -> dict[str, type]:
    base = import_module("sklearn.base")
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    found: dict[str, object] = {}
    for name in names:
        # Experimental classes raise ImportError until they are enabled.
        with contextlib.suppress(ImportError):
            found[name] = getattr(module, name, None)
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, type)
        and issubclass(value, base.ClassifierMixin)
        and issubclass(value, base.BaseEstimator)
        and value.__module__.partition(".")[0] == "sklearn"
    }


def _allowed(path: str) -> type:
    """A class that the user allows, from a module that the user names."""
    module_name, _, class_name = path.rpartition(".")
    try:
        found = getattr(import_module(module_name), class_name, None) if module_name else None
    except ImportError as error:
        raise RequestError(f"cannot import {path!r}, which {ALLOW} allows: {error}") from None
    if not isinstance(found, type) or not hasattr(found, "predict"):
        raise RequestError(f"{path!r}, which {ALLOW} allows, is not a classifier")
    return found
