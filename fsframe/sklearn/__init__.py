"""Methods and chains as estimators of scikit-learn.

Every registered method, also of third-party plugins, has a class here under the name used in its
papers: ``ReliefF``, ``MultiSURF``, ``MRMR``, ``Immigrate``, ``NPFS``, ``WeightedKNN``. ``dir()``
lists them; `estimator` finds one by the method's name.

>>> from fsframe.sklearn import ReliefF
>>> ReliefF(k=10, top=5)
ReliefF(k=10, top=5)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from fsframe.errors import FsframeWarning, PluginError, RequestError
from fsframe.registry import Offer, Registry, classifiers, find_offer, selectors
from fsframe.text import did_you_mean

_HOME = {
    "ChainClassifier": "fsframe.sklearn.generated",
    "ChainRegressor": "fsframe.sklearn.generated",
    "ChainSelector": "fsframe.sklearn.generated",
    "FsframeWarning": "fsframe.errors",
    "estimator": "fsframe.sklearn.generated",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted({*_HOME, *_importable_names()})
    methods = {} if name.startswith("_") or name in _HOME else offered_names()
    if name not in _HOME and name not in methods:
        hint = did_you_mean(name, [*_HOME, *methods]) if methods else ""
        raise AttributeError(f"module 'fsframe.sklearn' has no attribute {name!r}{hint}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    return import_module("fsframe.sklearn.generated").estimator(methods[name])


def _importable_names() -> Iterator[str]:
    """The offered names whose classes can be imported; a warning for each of the others."""
    estimator = import_module("fsframe.sklearn.generated").estimator
    for name, method in offered_names().items():
        try:
            estimator(method)
        except PluginError as error:
            _, offer = find_offer(method, selectors, classifiers)
            warnings.warn(
                f"{name} of {offer.provider!r} is left out of fsframe.sklearn: {error}",
                FsframeWarning,
                stacklevel=3,
            )
        else:
            yield name


def __dir__() -> list[str]:
    return sorted(
        {*(name for name in globals() if name.startswith("__")), *_HOME, *offered_names()}
    )


_PROTOCOL = "protocol"

# Words as written in papers; other words are capitalised.
_WRITTEN = """
BetaGamma BIM CIFE CMI CMIM CondRed DISR FCBF GFlip ICAP IM4E IRelief JMI JMI3 JMIM KNN LFE LOGO
MBIW MIFS MIM MRMR MultiSURF MultiSURFStar NJMIM NPFS ReliefF RFE RFECV RReliefF SURF SURFStar
SVM SWRFStar TuRF VLS
"""
_SPELLED = {word.lower(): word for word in _WRITTEN.split()}


def class_name(name: str) -> str:
    """The name of the estimator of a method, which is named with or without its provider.

    Examples
    --------
    >>> [class_name(name) for name in ("mrmr", "relieff", "weighted-knn", "acme/my-jmi")]
    ['MRMR', 'ReliefF', 'WeightedKNN', 'MyJMI']
    """
    words = name.rpartition("/")[2].split("-")
    return "".join(_SPELLED.get(word, word.capitalize()) for word in words)


def offered_names() -> dict[str, str]:
    """Names of estimators → names of methods, except contested ones (``provider/name``).

    If two methods would have the same estimator name, the bundled one gets it.

    Examples
    --------
    >>> offered_names()["MultiSURF"]
    'multisurf'
    """
    offers = [offer for registry in (selectors, classifiers) for offer in registry.offers()]
    names: dict[str, str] = {}
    for offer in sorted(offers, key=lambda offer: (not offer.plugin.source.bundled, offer.name)):
        if "/" not in offer.name and offer.entry.family != _PROTOCOL:
            names.setdefault(class_name(offer.name), offer.name)
    return dict(sorted(names.items()))


def find_method_offer(name: str) -> tuple[Registry, Offer]:
    """The registry and offer of a method, by its own name or that of its estimator.

    Raises
    ------
    RequestError
        If there is no such method, or it is a protocol.
    PluginError
        As raised by `fsframe.registry.find_offer`.
    """
    if not any(registry.matching(name) for registry in (selectors, classifiers)):
        names = offered_names()
        if name in names:
            name = names[name]
        elif hint := did_you_mean(name, list(names)):
            raise RequestError(f"there is no estimator {name!r}{hint}")
    registry, offer = find_offer(name, selectors, classifiers)
    if offer.entry.family == _PROTOCOL:
        raise RequestError(
            f"{name!r} evaluates a chain and is not an estimator; evaluate estimators with "
            "scikit-learn's cross_validate or cross_val_score, or run the protocol with "
            "`fsframe.Chain`"
        )
    return registry, offer
