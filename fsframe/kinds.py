"""Kinds of parameters: their valid values, in words and in code.

Conversion refuses loss of information (``3.9`` is not an integer) and non-finite numbers. Nothing
here imports numpy.
"""

from __future__ import annotations

import contextlib
import json
import math
import numbers
from collections.abc import Iterable
from typing import Any, ClassVar, Protocol, runtime_checkable

import attrs

from fsframe.errors import PluginError, RequestError
from fsframe.grammar import StageText, format_stages, parse_list, parse_stages
from fsframe.text import did_you_mean

MOST_TIMES = 100_000_000
"""Upper limit for numbers of rounds, trees and the like; more is assumed to be a typing error."""


@runtime_checkable
class Kind(Protocol):
    """The valid values of a parameter.

    `convert` turns a Python value into the stored one, `parse` does the same for text (both raise
    ValueError with the violated rule), `describe` states the rule in a few words, and `choices`
    lists words for shell completion.
    """

    def convert(self, value: Any) -> Any: ...
    def parse(self, text: str) -> Any: ...
    def describe(self) -> str: ...
    def choices(self) -> tuple[str, ...]: ...


class _KindBase:
    """Base of the kinds here: text is converted like other values, and there are no words.

    `python` is the type for annotations.
    """

    python: ClassVar[str] = "str"

    def convert(self, value: Any) -> Any:
        raise NotImplementedError

    def describe(self) -> str:
        raise NotImplementedError

    def parse(self, text: str) -> Any:
        return self.convert(text)

    def choices(self) -> tuple[str, ...]:
        return ()

    def annotation(self) -> str:
        return self.python

    def _broken(self, detail: str = "") -> ValueError:
        """The error that says the rule."""
        return ValueError(f"must be {self.describe()}{detail}")


class _Number(_KindBase):
    """Base of numeric kinds: `_stored` returns the number to store, or None if out of range."""

    def convert(self, value: Any) -> Any:
        number = None
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            # 10**400 has no float.
            with contextlib.suppress(OverflowError):
                number = self._stored(value)
        if number is None:
            raise self._broken()
        return number

    def parse(self, text: str) -> Any:
        try:
            return self.convert(self._number_in(text.strip()))
        except ValueError:
            raise self._broken() from None

    def _stored(self, number: Any) -> float | None:
        raise NotImplementedError

    def _number_in(self, text: str) -> float:
        # Whole numbers do not pass through float, which cannot hold 2**60 + 1.
        return int(text) if text.lstrip("+-").isdigit() else float(text)


@attrs.frozen
class real(_Number):
    """A finite number, with inclusive (least, most) or exclusive (above, below) bounds.

    >>> real(above=0).describe()
    'a number > 0'
    """

    python = "float"
    noun: ClassVar[str] = "a number"

    least: float | None = None
    most: float | None = None
    above: float | None = attrs.field(default=None, kw_only=True)
    below: float | None = attrs.field(default=None, kw_only=True)

    def _stored(self, number: Any) -> float | None:
        converted = float(number)
        return converted if math.isfinite(converted) and self._holds(converted) else None

    def _holds(self, number: float) -> bool:
        return (
            (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )

    def describe(self) -> str:
        bounds = {"≥": self.least, ">": self.above, "≤": self.most, "<": self.below}
        parts = [
            f"{sign} {bound:g}" if isinstance(bound, float) else f"{sign} {bound}"
            for sign, bound in bounds.items()
            if bound is not None
        ]
        return " ".join([self.noun, *([" and ".join(parts)] if parts else [])])


class integer(real):
    """A whole number, bounded likewise; ``3.0`` is accepted, ``3.9`` is not.

    >>> integer(1).convert(3.0)
    3
    """

    python = "int"
    noun = "a whole number"

    def _stored(self, number: Any) -> int | None:
        return int(number) if _is_whole(number) and self._holds(int(number)) else None


@attrs.frozen
class count_or_fraction(_Number):
    """A count from 1, or a fraction in (0, 1]: ``1`` is one, ``1.0`` is all.

    >>> count_or_fraction().parse("25%")
    0.25
    """

    python = "int | float"

    def convert(self, value: Any) -> Any:
        percent = isinstance(value, str) and value.strip().endswith("%")
        return self.parse(value) if percent else super().convert(value)

    def _stored(self, number: Any) -> int | float | None:
        if 0 < number <= 1 and not isinstance(number, numbers.Integral):
            return float(number)
        return int(number) if number >= 1 and _is_whole(number) else None

    def _number_in(self, text: str) -> float:
        if not text.endswith("%"):
            return super()._number_in(text)
        share = float(text[:-1]) / 100
        # 200% is no count of two.
        return share if share <= 1 else math.nan

    def describe(self) -> str:
        return "a count ≥ 1 or a fraction in (0, 1], such as 10, 0.1 or 10%"


def _is_whole(number: Any) -> bool:
    # Integers are always finite, and `isfinite` raises OverflowError for 10**400.
    return isinstance(number, numbers.Integral) or (math.isfinite(number) and int(number) == number)


@attrs.frozen
class flag(_KindBase):
    """True or false."""

    python = "bool"

    def convert(self, value: Any) -> bool:
        # numpy's bool is recognized by its name, since it is no subclass of `bool`.
        if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            return bool(value)
        raise self._broken()

    def parse(self, text: str) -> bool:
        word = text.strip().lower()
        if word in ("true", "yes", "on", "1"):
            return True
        if word in ("false", "no", "off", "0"):
            return False
        raise self._broken()

    def describe(self) -> str:
        return "true or false"

    def choices(self) -> tuple[str, ...]:
        return ("true", "false")


@attrs.frozen
class _Choice(_KindBase):
    words: tuple[str, ...]

    def convert(self, value: Any) -> str:
        if isinstance(value, str) and value in self.words:
            return str(value)
        hint = did_you_mean(value, self.words) if isinstance(value, str) else ""
        raise self._broken(hint)

    def describe(self) -> str:
        return " or ".join(self.words)

    def annotation(self) -> str:
        return f"Literal[{', '.join(map(repr, self.words))}]"

    def choices(self) -> tuple[str, ...]:
        return self.words


@attrs.frozen
class offered(_KindBase):
    """A name that plugins offer in `registry`, one of the registries of `fsframe.registry`.

    The name must exist; what it refers to is not imported.

    >>> offered("nulls").parse("published")
    'published'
    """

    registry: str

    def _offers(self) -> Any:
        import fsframe.registry

        return getattr(fsframe.registry, self.registry)

    def convert(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self._broken()
        try:
            self._offers().offer(value)
        except PluginError as error:
            raise ValueError(str(error)) from None
        except RequestError:
            hint = did_you_mean(value, self.choices())
            raise self._broken(hint) from None
        return str(value)

    def describe(self) -> str:
        return " or ".join(self.choices())

    def choices(self) -> tuple[str, ...]:
        return tuple(self._offers())


@attrs.frozen
class text(_KindBase):
    """Any text; `what` describes it in a few words."""

    what: str = "text"

    def convert(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self._broken()
        return str(value)

    def describe(self) -> str:
        return self.what


@attrs.frozen
class json_object(text):
    """A JSON object as text; programs may give a dict.

    >>> json_object().convert({"max_depth": 3})
    '{"max_depth": 3}'
    """

    python = "str | dict[str, Any]"

    what: str = "a JSON object"

    def convert(self, value: Any) -> str:
        if isinstance(value, dict):
            try:
                value = json.dumps(value)
            except (TypeError, ValueError) as error:
                raise self._broken(f": {error}") from None
        return super().convert(value)


def _real_name(name: str) -> str:
    from fsframe.registry import classifiers, real_name, selectors

    return real_name(name, selectors, classifiers)


@attrs.frozen
class stages(_KindBase):
    """The text of a chain, kept in its canonical form; its names are looked up with the chain."""

    def convert(self, value: Any) -> str:
        try:
            parsed = parse_stages(value if isinstance(value, str) else str(value))
            return format_stages(StageText(_real_name(s.name), s.params) for s in parsed)
        except RequestError as error:
            raise self._broken(f": {error}") from None

    def describe(self) -> str:
        return "a selector or a chain, such as jmi or (mim:top=50 jmi)"


@attrs.frozen
class optional(_KindBase):
    """A kind, or None."""

    kind: Kind

    def convert(self, value: Any) -> Any:
        # The word "none" is accepted from programs too.
        if value is None or (isinstance(value, str) and _is_none(value)):
            return None
        return self.kind.convert(value)

    def parse(self, text: str) -> Any:
        return None if _is_none(text) else self.kind.parse(text)

    def describe(self) -> str:
        return self.kind.describe() + ", or none"

    def annotation(self) -> str:
        return _union(self.kind, "None")

    def choices(self) -> tuple[str, ...]:
        return self.kind.choices()


def _union(*kinds: Kind | str) -> str:
    """The union of the types of some kinds, without repetition."""
    texts = [kind if isinstance(kind, str) else annotation(kind) for kind in kinds]
    return " | ".join(dict.fromkeys(texts))


def _is_none(text: str) -> bool:
    return text.strip().lower() == "none"


@attrs.frozen
class _Either(_KindBase):
    kinds: tuple[Kind, ...]

    def _first(self, method: str, value: Any) -> Any:
        for kind in self.kinds:
            try:
                return getattr(kind, method)(value)
            except ValueError:
                continue
        raise self._broken()

    def convert(self, value: Any) -> Any:
        return self._first("convert", value)

    def parse(self, text: str) -> Any:
        return self._first("parse", text)

    def describe(self) -> str:
        return " or ".join(kind.describe() for kind in self.kinds)

    def annotation(self) -> str:
        return _union(*self.kinds)

    def choices(self) -> tuple[str, ...]:
        return tuple(word for kind in self.kinds for word in kind.choices())


@attrs.frozen
class listing(_KindBase):
    """A tuple of at least `least` values of one kind, written ``[a,b]``.

    >>> listing(integer()).parse("[1,2]")
    (1, 2)
    """

    kind: Kind
    least: int = 0

    def convert(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise self._broken()
        items = tuple(self.kind.convert(item) for item in value)
        return self._enough(items)

    def parse(self, text: str) -> tuple[Any, ...]:
        try:
            items = parse_list(text)
        except RequestError as error:
            raise self._broken(f": {error}") from None
        return self._enough(tuple(self.kind.parse(item) for item in items))

    def _enough(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(items) < self.least:
            raise self._broken()
        return items

    def describe(self) -> str:
        most = f" (at least {self.least})" if self.least else ""
        return f"a list [a,b,…] of {self.kind.describe()}{most}"

    def annotation(self) -> str:
        return f"Sequence[{annotation(self.kind)}]"


def choice(*words: str) -> Kind:
    """One of the given words."""
    return _Choice(words)


def either(*kinds: Kind) -> Kind:
    """A value that one of several kinds accepts, tried in order.

    >>> either(real(above=0), choice("cv")).parse("cv")
    'cv'
    """
    return _Either(kinds)


def is_flag(kind: Kind) -> bool:
    """Whether a kind accepts only true or false."""
    return isinstance(kind, flag)


def is_stages(kind: Kind) -> bool:
    """Whether a kind accepts the text of a chain, required or optional."""
    return isinstance(kind.kind if isinstance(kind, optional) else kind, stages)


def annotation(kind: Kind) -> str:
    """The Python type that a kind accepts, for annotations.

    A kind of another package may provide a method of this name; otherwise it is ``Any``.

    >>> annotation(optional(either(integer(1), choice("auto", "all"))))
    "int | Literal['auto', 'all'] | None"
    """
    make = getattr(kind, "annotation", None)
    return str(make()) if callable(make) else "Any"


def limits(kind: Kind) -> dict[str, Any]:
    """The bounds and words that a kind declares, for programs.

    Of lists, `least` is the smallest length, and `items` are the limits of their values.

    >>> limits(optional(either(real(0, 1), choice("auto"))))
    {'least': 0, 'most': 1, 'choices': ['auto']}
    >>> limits(listing(real(above=0), least=2))
    {'least': 2, 'items': {'above': 0}}
    """
    if isinstance(kind, (optional, _Either)):
        kinds = (kind.kind,) if isinstance(kind, optional) else kind.kinds
        return {name: value for each in kinds for name, value in limits(each).items()}
    found: dict[str, Any] = {}
    for name in ("least", "most", "above", "below"):
        # Kinds of other packages may mean something else by these names.
        if isinstance(bound := getattr(kind, name, None), (int, float)):
            found[name] = bound
    if isinstance(kind, listing):
        found["items"] = limits(kind.kind)
    elif kind.choices():
        found["choices"] = [*kind.choices()]
    return found


def offered_by(kind: Kind) -> str:
    """The registry whose names a kind accepts, for kinds made by `offered`; empty for others."""
    return kind.registry if isinstance(kind, offered) else ""
