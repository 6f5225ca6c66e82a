"""Kinds: which values a parameter takes, in words and in code.

Conversion refuses loss (``3.9`` is not an integer) and non-finite numbers. Nothing here imports
numpy.
"""

from __future__ import annotations

from fsframe.contracts.kinds.compound import EitherKind, ListingKind, OptionalKind
from fsframe.contracts.kinds.numeric import CountOrFractionKind, IntegerKind, RealKind
from fsframe.contracts.kinds.protocol import Kind
from fsframe.contracts.kinds.words import ChoiceKind, FlagKind, StagesKind, TextKind

__all__ = [
    "Kind",
    "choice",
    "count_or_fraction",
    "either",
    "flag",
    "integer",
    "is_flag",
    "listing",
    "optional",
    "real",
    "stages",
    "text",
]


def real(
    least: float | None = None,
    most: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
) -> Kind:
    """A finite number, with bounds that belong to the range (least, most) or do not (above, below).

    >>> real(above=0).describe()
    'a number > 0'
    """
    return RealKind(least, most, above, below)


def integer(
    least: int | None = None,
    most: int | None = None,
    *,
    above: int | None = None,
    below: int | None = None,
) -> Kind:
    """A whole number; ``3.0`` is taken, ``3.9`` is not.

    >>> integer(1).convert(3.0)
    3
    """
    return IntegerKind(least, most, above, below)


def flag() -> Kind:
    """True or false."""
    return FlagKind()


def is_flag(kind: Kind) -> bool:
    """Whether a kind takes just true or false."""
    return isinstance(kind, FlagKind)


def choice(*words: str) -> Kind:
    """One of some words."""
    return ChoiceKind(words)


def text(what: str = "text") -> Kind:
    """Any text; `what` says in a few words what it should be."""
    return TextKind(what)


def either(*kinds: Kind) -> Kind:
    """What the first of several kinds takes.

    >>> either(real(above=0), choice("cv")).parse("cv")
    'cv'
    """
    return EitherKind(kinds)


def optional(kind: Kind) -> Kind:
    """A kind, or None."""
    return OptionalKind(kind)


def listing(kind: Kind, least: int = 0) -> Kind:
    """A tuple of one kind, written ``[a,b]``.

    >>> listing(integer()).parse("[1,2]")
    (1, 2)
    """
    return ListingKind(kind, least)


def count_or_fraction() -> Kind:
    """A count from 1, or a fraction in (0, 1]: ``1`` is one, ``1.0`` is all.

    >>> count_or_fraction().parse("25%")
    0.25
    """
    return CountOrFractionKind()


def stages() -> Kind:
    """The text of a chain, kept in its canonical form."""
    return StagesKind()
