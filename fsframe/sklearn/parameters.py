"""Parameters of estimators: their settings, those of the stages of a chain, and pickles.

A parameter of a stage is named after the stage: ``mim__top``. A stage has the name of its method
without the provider, with underscores for hyphens; stages of the same name are numbered from the
left: ``jmi_1``, ``jmi_2``. The base of a wrapping stage has stages too: ``npfs__base__mim__top``.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from fsframe.chains.chain import Chain
from fsframe.chains.stage import Stage, find_method, registry_of_class
from fsframe.errors import FsframeError, RequestError
from fsframe.grammar import StageText, format_stages, parse_stages
from fsframe.kinds import is_stages
from fsframe.method.classifier import Classifier
from fsframe.method.selector import Selector
from fsframe.params import Parameter, format_value
from fsframe.registry import classifiers, default_manager, register, selectors
from fsframe.sklearn.messages import InvalidRequest
from fsframe.storage.unit_files import software
from fsframe.text import did_you_mean


@attrs.frozen(kw_only=True)
class Setting:
    """A parameter: its default, its type for docstrings, and its help."""

    kind: str
    help: str
    default: Any = None


_DECLARED = tomllib.loads(Path(__file__).with_name("docstrings.toml").read_text("utf-8"))

ATTRIBUTES: Mapping[str, str] = _DECLARED["attributes"]
"""Texts about the attributes of fitted estimators, as numpydoc writes them."""

SETTINGS = {name: Setting(**fields) for name, fields in _DECLARED["settings"].items()}
"""The parameters that estimators have besides those of their methods."""


def settings_of(method: type[Selector] | type[Classifier]) -> tuple[str, ...]:
    """The settings of a method's estimator, without those that the method declares itself."""
    parameters = {parameter.name for parameter in method.parameters()}
    if not issubclass(method, Selector):
        parameters |= {"task", "always_keep", "feature_groups"}
    elif len(method.tasks) < 2:
        parameters.add("task")
    return tuple(name for name in SETTINGS if name not in parameters)


_PLACED, _NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


def constructor(
    owner: str, defaults: Mapping[str, Any], settings: Iterable[str], positional: int = 0
) -> Callable[..., None]:
    """The constructor of the estimator `owner`, which stores its arguments.

    Its parameters are those of `defaults`, of which the first `positional` may be given by
    position, and `settings`.
    """
    every = {**defaults, **{name: SETTINGS[name].default for name in settings}}
    names = list(every)
    arguments = [
        inspect.Parameter(name, _PLACED if place < positional else _NAMED, default=every[name])
        for place, name in enumerate(names)
    ]
    myself = inspect.Parameter("self", _PLACED)
    signature = inspect.Signature([myself, *arguments], return_annotation=None)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        unknown = [name for name in kwargs if name not in names]
        if unknown:
            hint = did_you_mean(unknown[0], names)
            raise TypeError(f"{owner}() got an unexpected keyword argument {unknown[0]!r}{hint}")
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            others = f" but {names[0]}" if positional else ""
            told = f"{error}; all parameters{others} are given by name"
            raise TypeError(f"{owner}(): {told}") from None
        bound.apply_defaults()
        for name in names:
            setattr(self, name, bound.arguments[name])

    __init__.__qualname__ = f"{owner}.__init__"
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def is_set(value: Any, default: Any) -> bool:
    """Whether a setting differs from its default; sequences and arrays always do."""
    return bool(np.ndim(value)) or value != default


def own_classes(chain_of: Callable[[], Chain]) -> dict[str, type]:
    """Classes registered in this process that stages of a chain use, nested ones too, by name.

    None if the chain is invalid.
    """
    try:
        used = software(chain_of())
    except (FsframeError, ValueError):
        return {}
    return {
        plugin.entries[0].name: plugin.registered
        for plugin in default_manager().plugins()
        if plugin.registered is not None and plugin.software in used
    }


def with_own_classes(classes: Mapping[str, type]) -> None:
    """Register `classes` under their names if they are not yet; called by unpickling.

    Raises
    ------
    RequestError
        If an installed plugin offers one of the names.
    """
    for name, method in classes.items():
        if selectors.get(name) is not method and classifiers.get(name) is not method:
            register(name=name)(method)


def chain_of(given: Any) -> Chain:
    """The chain that an estimator was given.

    Parameters
    ----------
    given : str, Chain, estimator, Selector, Classifier, or a sequence of these
        A text may be several stages.

    Raises
    ------
    RequestError, PluginError
        As raised by `Chain.parse`, and if something else is given.
    """
    if isinstance(given, Chain):
        return given
    if isinstance(given, str):
        return Chain.parse(given)
    parts = given if _is_list(given) else [given]
    return Chain(tuple(stage for part in parts for stage in _stages(part)))


def chain_text(given: Any) -> Any:
    """`given` as the text of a chain; None and text as they are, also in a list."""
    if given is None or isinstance(given, str):
        return given
    return " ".join(map(chain_text, given)) if _is_list(given) else str(chain_of(given))


def _is_list(given: Any) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str)


def _stages(part: Any) -> tuple[Stage, ...]:
    if isinstance(part, (str, Chain)):
        return chain_of(part).stages
    if hasattr(part, "_as_stages"):
        stages: tuple[Stage, ...] = part._as_stages()
        return stages
    if isinstance(part, (Selector, Classifier)):
        return (Stage(_registered_name(part), part),)
    raise InvalidRequest(
        "a chain is text such as 'mim:top=50 immigrate', or a list of texts, estimators of "
        f"fsframe.sklearn, selectors and classifiers, not {type(part).__name__}"
    )


def _registered_name(method: Selector | Classifier) -> str:
    kind = type(method)
    target = f"{kind.__module__}:{kind.__qualname__}"
    offers = registry_of_class(kind).offers()
    names = (offer.name for offer in offers if offer.entry.target == target)
    return next(names, method.method_name())


def _stage_texts(given: Any) -> list[StageText]:
    """The stages as text; none if they cannot be parsed."""
    try:
        return list(parse_stages(chain_text(given)))
    except FsframeError:
        return []


def _keys(texts: Iterable[StageText]) -> list[str]:
    names = [re.sub(r"\W", "_", stage.name.rpartition("/")[2]) for stage in texts]
    times, seen = Counter(names), Counter[str]()
    keys = []
    for name in names:
        seen[name] += 1
        keys.append(name if times[name] == 1 else f"{name}_{seen[name]}")
    return keys


def stage_keys(given: Any) -> list[str]:
    """Names of the stages in parameter names, left to right.

    >>> stage_keys("simba-mbiw:top=9 jmi:top=5 jmi:top=2")
    ['simba_mbiw', 'jmi_1', 'jmi_2']
    """
    return _keys(_stage_texts(given))


def stage_values(given: Any) -> dict[str, Any]:
    """All parameters of all stages, those at their defaults too.

    Empty if the chain cannot be parsed: `fit` raises the error.

    Examples
    --------
    >>> values = stage_values("mim:top=50 npfs:base=(jmi:top=3),n=9")
    >>> values["mim__top"], values["mim__unit"], values["npfs__base__jmi__top"]
    (50, 'bits', 3)
    """
    texts = _stage_texts(given)
    return {
        f"{key}__{name}": value
        for key, stage in zip(_keys(texts), texts, strict=True)
        for name, value in _read(stage)
    }


def _read(stage: StageText) -> Iterator[tuple[str, Any]]:
    """Names and values of the parameters of a stage that is text."""
    for parameter in _parameters(stage.name).values():
        text = stage.params.get(parameter.name)
        if text is None and parameter.required:
            continue
        try:
            value = parameter.default if text is None else parameter.kind.parse(text)
        except ValueError:
            value = text
        yield parameter.name, value
        if is_stages(parameter.kind) and isinstance(value, str):
            for name, inner in stage_values(value).items():
                yield f"{parameter.name}__{name}", inner


def _parameters(name: str) -> dict[str, Parameter]:
    try:
        return {parameter.name: parameter for parameter in find_method(name).parameters()}
    except FsframeError:
        return {}


def with_stage_values(given: Any, values: Mapping[str, Any]) -> str:
    """The text of a chain with other values of parameters of its stages.

    Parameters
    ----------
    given : as for `chain_of`
    values : mapping
        Names such as ``mim__top`` → values.

    Raises
    ------
    InvalidRequest
        For an unknown stage or parameter. Values are checked by `fit`.

    Examples
    --------
    >>> with_stage_values("mim:top=50 immigrate", {"mim__top": 20, "immigrate__sigma": 0.5})
    'mim:top=20 immigrate:sigma=0.5'
    """
    texts = _stage_texts(given)
    keys = _keys(texts)
    for full, value in values.items():
        key, _, name = full.partition("__")
        if key not in keys or not name:
            raise InvalidRequest(_no_stage(full, key, keys))
        place = keys.index(key)
        texts[place] = _set(texts[place], full, name, value)
    return format_stages(texts)


def _set(stage: StageText, full: str, name: str, value: Any) -> StageText:
    outer, _, inner = name.partition("__")
    parameter = _known(full, outer, _parameters(stage.name))
    if inner:
        value = with_stage_values(stage.params.get(outer, ""), {inner: value})
    try:
        text = format_value(parameter.kind.convert(value))
    except (ValueError, RequestError):
        text = format_value(value)
    return StageText(stage.name, {**stage.params, outer: text})


def _known(full: str, name: str, parameters: Mapping[str, Parameter]) -> Parameter:
    if name not in parameters:
        hint = did_you_mean(name, parameters) or f"; it has {', '.join(parameters)}"
        raise InvalidRequest(f"no parameter {full!r}: the stage has no {name!r}{hint}")
    return parameters[name]


def _no_stage(full: str, key: str, keys: Sequence[str]) -> str:
    several = [place for place in keys if re.fullmatch(rf"{re.escape(key)}_\d+", place)]
    if several:
        ways = " or ".join(full.replace(key, one, 1) for one in several)
        return (
            f"no parameter {full!r}: {key} occurs in the chain {len(several)} times; write {ways}"
        )
    known = ", ".join(keys) or "unknown, since it cannot be parsed"
    return f"no parameter {full!r}: the stages of the chain are {known}"
