"""Parameters, declared once for the constructor, the command line, storage, help and docs.

Nothing here imports numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import attrs

from fsframe.errors import RequestError
from fsframe.grammar import format_list
from fsframe.kinds import (
    Kind,
    choice,
    count_or_fraction,
    either,
    flag,
    integer,
    is_flag,
    json_object,
    listing,
    offered,
    optional,
    real,
    stages,
    text,
)
from fsframe.text import did_you_mean, meant_by

__all__ = [
    "Kind",
    "Parameter",
    "Parameterised",
    "choice",
    "count_or_fraction",
    "either",
    "flag",
    "format_value",
    "integer",
    "is_flag",
    "json_object",
    "listing",
    "number_to_keep",
    "offered",
    "optional",
    "param",
    "real",
    "stages",
    "text",
]


@attrs.frozen
class _Rejected:
    """An invalid value, kept until all values of an object are known."""

    value: Any
    rule: str


def param(
    default: Any = attrs.NOTHING,
    kind: Kind | None = None,
    *,
    help: str = "",
    symbol: str = "",
    source: str = "",
) -> Any:
    """An attrs field with a kind, a help text and a source in the paper.

    Parameters
    ----------
    default
        The default value; without one the parameter is required.
    kind : Kind
        The accepted values.
    help : str
        One sentence of help.
    symbol : str
        The paper's symbol, such as ``σ``.
    source : str
        Paper, equation or algorithm number.

    Raises
    ------
    ValueError
        When the class is defined, if `kind` does not accept `default` (`Parameterised`).

    Notes
    -----
    The converter never raises. It keeps invalid values, so that one message can report *all* those
    of an object.
    """
    taken = kind if kind is not None else text()

    def convert(value: Any) -> Any:
        try:
            return taken.convert(value)
        except ValueError as error:
            return _Rejected(value, str(error))

    metadata: dict[str, Any] = {
        "fsframe": {"kind": taken, "help": help, "symbol": symbol, "source": source}
    }
    if default is attrs.NOTHING:
        return attrs.field(converter=convert, metadata=metadata, kw_only=True)
    try:
        # Converted like a given value, so that the two compare as equal.
        default = taken.convert(default)
    except ValueError as error:
        # The class, which knows the parameter's name, raises it.
        metadata["refused"] = f"the default {default!r} {error}"
    return attrs.field(default=default, converter=convert, metadata=metadata, kw_only=True)


def number_to_keep(default: str, order: str = "") -> Any:
    """The parameter `top` of a selector.

    Parameters
    ----------
    default : str
        How many features are kept without it, for the help.
    order : str
        How features are ranked, where that is not obvious, such as ``", by score"``.
    """
    return param(
        None,
        optional(count_or_fraction()),
        help=f"Number of features to keep{order}: a count, or a fraction of the features it is "
        f"given. By default {default}.",
    )


def ties_of_neighbours() -> Any:
    """The parameter `ties` of methods with k nearest neighbours."""
    return param(
        "share",
        choice("share", "index"),
        help="Rows tied at the k-th distance share the remaining places, or are taken in row "
        "order.",
    )


def level_of_tests() -> Any:
    """The parameter `alpha` of a filter whose scores have p-values, for `significant_columns`."""
    return param(
        None,
        optional(real(above=0, below=1)),
        help="Keep the features whose p-value, adjusted by `correction`, is at or below this, at "
        "most `top` of them; without it the `top` best.",
        symbol="α",
    )


def correction_of_tests() -> Any:
    """The parameter `correction` of a filter whose scores have p-values."""
    return param(
        "bh",
        choice("bh", "by", "bonferroni", "none"),
        help="With alpha: false discovery rate by Benjamini and Hochberg, or Benjamini and "
        "Yekutieli (any dependence), family-wise error by Bonferroni, or none.",
    )


@attrs.frozen(kw_only=True)
class Parameter:
    """One declared parameter of a class, for help, command line, storage and docs."""

    name: str
    kind: Kind
    default: Any
    help: str
    symbol: str
    source: str

    @property
    def required(self) -> bool:
        """Whether the parameter has no default."""
        return self.default is attrs.NOTHING


def format_value(value: Any) -> str:
    """A parameter's value as text for the chain grammar, which `Kind.parse` reads back.

    >>> format_value((1, 2.5)), format_value(True), format_value(None), format_value(("a,b",))
    ('[1,2.5]', 'true', 'none', "['a,b']")
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        nested = any(isinstance(item, (tuple, list)) for item in value)
        return format_list((format_value(item) for item in value), nested=nested)
    if isinstance(value, float):
        return repr(value)
    return str(value)


@attrs.frozen(kw_only=True)
class Parameterised:
    """Base of all classes with declared parameters.

    Attributes
    ----------
    data_errors : tuple of exception types
        Exceptions of the author's code that the data cause, such as a library's ValueError about a
        class of one row. They are reported as a DataError (exit code 4), not as an error of the
        plugin.

    Raises
    ------
    RequestError
        From the constructor, listing every value that is out of range.
    ValueError
        When a derived class is defined, if the default of a parameter is out of its range.
    """

    data_errors: ClassVar[tuple[type[Exception], ...]] = ()

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        for name, field in vars(cls).items():
            metadata = getattr(field, "metadata", None)
            if isinstance(metadata, dict) and "refused" in metadata:
                refused = metadata["refused"]
                raise ValueError(f"parameter {name!r} of {cls.__qualname__}: {refused}")

    def __attrs_post_init__(self) -> None:
        problems = []
        for parameter in self.parameters():
            value = getattr(self, parameter.name)
            if isinstance(value, _Rejected):
                problems.append(f"{parameter.name} {value.rule}, not {value.value!r}")
        if not problems:
            problems.extend(self.check_parameters())
        if problems:
            raise RequestError(f"{self.method_name()}: " + "; ".join(problems))

    def check_parameters(self) -> Iterator[str]:
        """Problems with combinations of parameters; authors override this."""
        return iter(())

    @classmethod
    def method_name(cls) -> str:
        """The class's name as a user would type it: ``WeightedKnn`` is ``weighted-knn``."""
        name = cls.__name__
        return "".join(("-" if i and c.isupper() else "") + c.lower() for i, c in enumerate(name))

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """The declared parameters, the class's own before the inherited ones."""
        parameters = []
        for field in attrs.fields(cls):
            declared = field.metadata.get("fsframe")
            if declared is not None:
                parameters.append(
                    (field.inherited, Parameter(name=field.name, default=field.default, **declared))
                )
        return tuple(p for inherited, p in sorted(parameters, key=lambda pair: pair[0]))

    @classmethod
    def from_texts(cls, values: Mapping[str, str]) -> Any:
        """An object from parameters given as text, as on the command line.

        Raises
        ------
        RequestError
            Listing every unknown parameter and every invalid value.
        """
        known = {parameter.name: parameter for parameter in cls.parameters()}
        problems: list[str] = []
        taken: dict[str, Any] = {}
        given = {name.replace("-", "_") for name in values}
        unlike_any = False
        for name, value in values.items():
            key = name.replace("-", "_")
            if key not in known:
                hint = _hint(key, known)
                unlike_any = unlike_any or not hint
                problems.append(f"no parameter {name!r}{hint}")
                continue
            try:
                taken[key] = known[key].kind.parse(value)
            except ValueError as error:
                problems.append(f"{key} {error}, not {value!r}")
        problems.extend(
            f"{name} is required ({p.kind.describe()})"
            for name, p in known.items()
            if p.required and name not in given
        )
        if unlike_any:
            # Once for all unknown names.
            problems.append(f"it has {', '.join(known)}" if known else "it has no parameters")
        if problems:
            raise RequestError(f"{cls.method_name()}: " + "; ".join(problems))
        return cls(**taken)

    def values(self) -> dict[str, Any]:
        """All parameters with their values, defaults included."""
        return {p.name: getattr(self, p.name) for p in self.parameters()}

    def changed(self) -> dict[str, Any]:
        """The parameters whose values are not the defaults."""
        return {
            p.name: getattr(self, p.name)
            for p in self.parameters()
            if p.required or not _same(getattr(self, p.name), p.default)
        }


def _hint(word: str, known: Iterable[str]) -> str:
    """A suggestion for an unknown parameter: another package's name for one, or a similar name."""
    if meant := meant_by(word, known):
        return f". Did you mean `{meant[0]}`?"
    for option in ("seed", "workers"):
        if word == option or meant_by(word, (option,)):
            return f": --{option} applies to the whole run"
    return did_you_mean(word, known)


def _same(value: Any, default: Any) -> bool:
    # 1 == 1.0, but a count of one is not a fraction of one.
    return type(value) is type(default) and bool(value == default)
