"""Estimator classes generated from registered methods: signature, docstring, base class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from fsframe.method.classifier import Classifier, Regressor
from fsframe.method.selector import Selector
from fsframe.registry import Offer
from fsframe.sklearn.descriptions import docstring
from fsframe.sklearn.estimators import (
    ClassifierEstimator,
    MethodEstimator,
    RegressorEstimator,
    SelectorEstimator,
    WeightedSelectorEstimator,
)
from fsframe.sklearn.naming import class_name, find_method_offer
from fsframe.sklearn.pickling import with_own_classes
from fsframe.sklearn.settings import SETTINGS, settings_of
from fsframe.sklearn.tables import copies_are_weights
from fsframe.suggest import did_you_mean

__all__ = ["blank", "estimator", "signature_of"]

_made: dict[tuple[type, str], type[MethodEstimator]] = {}


def estimator(name: str) -> type[MethodEstimator]:
    """The estimator class of a registered method of any plugin.

    Parameters
    ----------
    name : str
        The method's name, ``"relieff"``, with its provider if several offer it
        (``"provider/name"``), or the name of the estimator, ``"ReliefF"``.

    Raises
    ------
    RequestError
        If there is no such method, or it is a protocol.
    PluginError
        If its plugin cannot be used.

    Examples
    --------
    >>> estimator("relieff")(k=10)
    ReliefF(k=10)
    """
    registry, offer = find_method_offer(name)
    method = registry[offer.name]
    key = (method, offer.name)
    if key not in _made:
        _made[key] = _class(offer, method)
    return _made[key]


def blank(name: str, classes: Mapping[str, type]) -> MethodEstimator:
    """An estimator without state, for pickle, after `with_own_classes`."""
    with_own_classes(classes)
    kind = estimator(name)
    return kind.__new__(kind)


def signature_of(method: type[Selector] | type[Classifier]) -> inspect.Signature:
    """The signature of an estimator's constructor: the method's parameters, then the settings."""
    defaults = {
        p.name: inspect.Parameter.empty if p.required else p.default for p in method.parameters()
    }
    defaults |= {name: SETTINGS[name].default for name in settings_of(method)}
    given = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in defaults.items()
    ]
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature([own, *given], return_annotation=None)


def _class(offer: Offer, method: type[Selector] | type[Classifier]) -> type[MethodEstimator]:
    base = _base(offer, method)
    name = class_name(offer.name)
    signature = signature_of(method)
    return type(
        name,
        (base,),
        {
            "__module__": "fsframe.sklearn",
            "__qualname__": name,
            "__doc__": docstring(offer, method, weighted=base is WeightedSelectorEstimator),
            "__init__": _constructor_of(name, signature),
            "_name": offer.name,
            "_method": method,
            "_blank": staticmethod(blank),
        },
    )


def _base(offer: Offer, method: type[Selector] | type[Classifier]) -> type[MethodEstimator]:
    if issubclass(method, Regressor):
        return RegressorEstimator
    if issubclass(method, Classifier):
        return ClassifierEstimator
    return WeightedSelectorEstimator if copies_are_weights(offer, method) else SelectorEstimator


def _constructor_of(owner: str, signature: inspect.Signature) -> Callable[..., None]:
    names = [name for name in signature.parameters if name != "self"]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        unknown = [name for name in kwargs if name not in names]
        if unknown:
            hint = did_you_mean(unknown[0], names)
            raise TypeError(f"{owner}() got an unexpected keyword argument {unknown[0]!r}{hint}")
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{owner}(): {error}; all parameters are given by name") from None
        bound.apply_defaults()
        for name in names:
            setattr(self, name, bound.arguments[name])

    __init__.__qualname__ = f"{owner}.__init__"
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__
