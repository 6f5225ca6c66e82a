"""Estimator classes made from the declarations of methods."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from fsframe.kinds import Kind, annotation, is_flag
from fsframe.method.classifier import Classifier, Regressor
from fsframe.method.selector import Selector
from fsframe.params import Parameter
from fsframe.registry import Offer
from fsframe.sklearn import class_name, find_method_offer
from fsframe.sklearn.estimators import (
    ClassifierEstimator,
    MethodEstimator,
    RegressorEstimator,
    SelectorEstimator,
    WeightedSelectorEstimator,
)
from fsframe.sklearn.parameters import (
    ATTRIBUTES,
    SETTINGS,
    constructor,
    settings_of,
    with_own_classes,
)
from fsframe.sklearn.tables import copies_are_weights

_WIDTH = 92
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.M)


def docstring(offer: Offer, method: type[Selector] | type[Classifier], *, weighted: bool) -> str:
    """The numpydoc text of an estimator, from an offer and the docstring of the method's class.

    `weighted`: whether `fit` takes `sample_weight`.
    """
    opening, sections = _sections(inspect.getdoc(method) or "")
    lines = [opening or f"{offer.entry.summary}.", ""]
    lines += [f"The method `{offer.name}` of fsframe as an estimator.", ""]
    lines += ["Parameters", "----------", *_parameters(method), ""]
    classifier = issubclass(method, Classifier)
    fitted = "regressor" if issubclass(method, Regressor) else "classifier"
    what = ATTRIBUTES[fitted if classifier else "selector"]
    lines += ["Attributes", "----------", what.rstrip()]
    if "max_iter" in {parameter.name for parameter in method.parameters()}:
        which = "at most; the actual number is not known" if classifier else "of the fit"
        lines += ["n_iter_ : int", f"    Number of iterations {which}."]
    lines += [ATTRIBUTES["every"].rstrip(), ""]
    for title in ("Raises", "Notes", "References"):
        text = sections.get(title, "")
        if title == "Notes":
            text = "\n\n".join(filter(None, [text, _notes(offer, method, weighted)]))
        if title == "References" and not text and offer.entry.reference:
            text = "\n".join(textwrap.wrap(offer.entry.reference, _WIDTH, break_long_words=False))
        if text:
            lines += [title, "-" * len(title), text, ""]
    return "\n".join(lines).rstrip() + "\n"


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """The text before the first section of a numpydoc docstring, and the sections by title."""
    parts = _SECTION.split(text)
    bodies = zip(parts[1::2], parts[2::2], strict=True)
    return parts[0].strip(), {title.strip(): body.strip("\n") for title, body in bodies}


def _parameters(method: type[Selector] | type[Classifier]) -> Iterator[str]:
    for parameter in method.parameters():
        default = "" if parameter.required else f", default={parameter.default!r}"
        yield f"{parameter.name} : {_type(parameter.kind)}{default}"
        yield from _indented(parameter_help(parameter))
    for name in settings_of(method):
        setting = SETTINGS[name]
        yield f"{name} : {setting.kind}, default={setting.default!r}"
        yield from _indented(setting.help)


def _type(kind: Kind) -> str:
    """The type of a parameter as numpydoc writes it."""
    text = re.sub(r"Literal\[(.*?)\]", r"{\1}", annotation(kind))
    return "object" if text == "Any" else text.replace(" | ", " or ")


def parameter_help(parameter: Parameter) -> str:
    """Help of a parameter, its range, symbol and source."""
    kind = parameter.kind
    rule = re.sub(r"\bnone$", "None", kind.describe())
    # The type already describes choices and unbounded numbers.
    plain = is_flag(kind) or not re.search(r"[≥≤><(\[]|such as", rule)
    ranges = "" if plain else f"{rule[:1].upper()}{rule[1:]}."
    symbol = f"The paper's {parameter.symbol}." if parameter.symbol else ""
    source = f"Source: {parameter.source}." if parameter.source else ""
    return " ".join(filter(None, [parameter.help, ranges, symbol, source]))


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")


def _notes(offer: Offer, method: type[Selector] | type[Classifier], weighted: bool) -> str:
    notes = []
    if issubclass(method, Selector):
        notes.append(f"For {' and '.join(sorted(method.tasks))}.")
        notes.append(
            "`sample_weight`: a row of weight k counts as k rows."
            if weighted
            else "`fit` takes no `sample_weight`: a row of weight k would not equal k rows."
        )
    notes.append(f"Plugin {offer.provider} {offer.version}.")
    return "\n".join(textwrap.wrap(" ".join(notes), _WIDTH))


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


def blank(kind: str | type, classes: Mapping[str, type]) -> Any:
    """An estimator without state, for pickle, after `with_own_classes`.

    `kind` is its class, or the name of its method.
    """
    with_own_classes(classes)
    made: Any = estimator(kind) if isinstance(kind, str) else kind
    return made.__new__(made)


def _class(offer: Offer, method: type[Selector] | type[Classifier]) -> type[MethodEstimator]:
    base, name = _base(offer, method), class_name(offer.name)
    defaults = {
        p.name: inspect.Parameter.empty if p.required else p.default for p in method.parameters()
    }
    return type(
        name,
        (base,),
        {
            "__module__": "fsframe.sklearn",
            "__qualname__": name,
            "__doc__": docstring(offer, method, weighted=base is WeightedSelectorEstimator),
            "__init__": constructor(name, defaults, settings_of(method)),
            "_name": offer.name,
            "_method": method,
            "_settings": settings_of(method),
            "_blank": staticmethod(blank),
        },
    )


def _base(offer: Offer, method: type[Selector] | type[Classifier]) -> type[MethodEstimator]:
    if issubclass(method, Regressor):
        return RegressorEstimator
    if issubclass(method, Classifier):
        return ClassifierEstimator
    return WeightedSelectorEstimator if copies_are_weights(offer, method) else SelectorEstimator
