"""The roles that columns of a table can have: each is declared once, here; imports no NumPy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs

from fsframe.errors import RequestError
from fsframe.text import unexpected

AskedColumns = Mapping[str, Sequence[int]]
"""Positions of columns by the role that was asked for them."""

Keys = str | int | Iterable[str | int]
"""One column or several, each by name or by position."""

_LOAD = "load it by fsframe.read(polars.read_parquet(…))"
_IN_MEMORY = f"methods that use it need the table in memory; {_LOAD}"
_MANY = 10
_GIVEN: dict[str, tuple[type, ...]] = {"column": (str, int), "columns": (list,), "name": (str,)}


@attrs.frozen(kw_only=True)
class Role:
    """One role of columns.

    Parameters
    ----------
    name : str
        The argument of `fsframe.read`; with dashes, the option and the key of a study file.
    given : {"column", "columns", "name"}
        One column by name or number, several, or one by name only.
    word : str
        Name of its column in messages.
    help : str
        Help of the option.
    metavar : str
    being : str
        What a column of this role does, such as "names groups"; empty if it can have every other
        role as well.
    verb : str
        What a column with a conflicting role cannot do, such as "name groups".
    shares : set of str
        Roles declared later that its column can have as well.
    values : tuple of type
        Types of the stored argument, if not those of `given`.
    of_rows : bool
        Whether annotations of rows, which are not features, can have it.
    side : bool
        Whether it is a side role: its columns stay with the table, but are not features.
    fact : str
        For a side role: the description of a table that has it, such as "adjusted for {}".
    digest : str
        For a side role: the word before its values in digests.
    not_in_parts : str
        Why tables in parts do not support it, and what to do; empty if they do. Side roles are not
        supported unless this says otherwise.
    """

    name: str
    given: str
    word: str
    help: str
    metavar: str
    being: str = ""
    verb: str
    shares: frozenset[str] = frozenset()
    values: tuple[type, ...] = attrs.Factory(lambda self: _GIVEN[self.given], takes_self=True)
    of_rows: bool = False
    side: bool = False
    fact: str = attrs.Factory(lambda self: f"{self.word}: {{}}", takes_self=True)
    digest: str = attrs.Factory(lambda self: self.name, takes_self=True)
    not_in_parts: str = attrs.Factory(lambda self: _IN_MEMORY if self.side else "", takes_self=True)

    @property
    def option(self) -> str:
        """The option of commands."""
        return f"--{self.name.replace('_', '-')}"


ROLES: dict[str, Role] = {}
"""The roles by name. A column with one cannot also have a later one, unless that is declared."""


def declare(role: Role) -> None:
    """Add a role. The command line, which makes an option of each, must not be imported yet."""
    ROLES[role.name] = role


_KINDS = frozenset({"categorical", "ordinal"})

for _role in (
    Role(
        name="label", given="column", word="label", being="is the label", verb="be the label",
        of_rows=True, metavar="NAME|NUMBER",
        help="Column of the label: its name, or its number from 1 (from the end: -1). "
        "[default: the last column, if it looks like a label]",
    ),
    Role(
        name="drop", given="columns", word="column to drop", being="is left out",
        verb="be dropped", shares=frozenset({"groups", "weight"}), metavar="NAME,…",
        help="Columns to leave out; * matches anything.",
    ),
    Role(
        name="groups", given="column", word="groups", being="names groups", verb="name groups",
        of_rows=True, metavar="NAME|NUMBER",
        help="Column naming rows to keep together in every split, such as one person's.",
    ),
    Role(
        name="weight", given="column", word="weight", being="holds weights", verb="be weights",
        of_rows=True, metavar="NAME|NUMBER", help="Column of weights: how often each row counts.",
    ),
    Role(
        name="time", given="name", word="time", being="is the time", verb="be the time",
        shares=_KINDS, of_rows=True, side=True, fact="in the order of {}", digest="times",
        metavar="NAME", help="Column of time: resamples respect its order.",
        not_in_parts=f"resampling in time order needs the table in memory; {_LOAD}, or --drop the "
        "time",
    ),
    Role(
        name="event", given="name", word="events", being="tells the events",
        verb="tell events", of_rows=True, metavar="NAME",
        help="Survival data: column of events, 1 or 0, dead or alive; the label is the time.",
    ),
    Role(
        name="adjust", given="columns", word="column to adjust for", being="is a covariate",
        verb="be a covariate", shares=_KINDS, of_rows=True, side=True, fact="adjusted for {}",
        digest="covariates", metavar="NAME,…", help="Covariates to adjust for.",
        not_in_parts=f"strata of covariates need the table in memory; {_LOAD}, or --drop the "
        "covariates",
    ),
    Role(
        name="keep", given="columns", word="column to keep", verb="be kept", metavar="NAME,…",
        help="Columns that every stage has to keep.",
    ),
    Role(
        name="categorical", given="columns", word="categorical column", verb="be categorical",
        values=(list, bool), of_rows=True, metavar="NAME,…",
        help="Nominal columns, such as blood groups.",
    ),
    Role(
        name="ordinal", given="columns", word="ordinal column", verb="be ordinal",
        values=(list, dict), metavar="NAME[=LOW<…<HIGH],…",
        not_in_parts="write the parts with these columns as numbers",
        help="Columns with ordered levels: size=S<M<L; without levels, in numeric order.",
    ),
):  # fmt: skip
    declare(_role)


def side_roles() -> list[Role]:
    """The side roles: time, covariates, and those declared besides."""
    return [role for role in ROLES.values() if role.side]


def asked_sides(sides: Mapping[str, Any], function: str) -> dict[str, list[str]]:
    """The columns of side roles that were given as further arguments of a function.

    Raises
    ------
    TypeError
        If there is no such role.
    RequestError
        If several columns are given for a role of a single column.
    """
    for name, given in sides.items():
        if name not in ROLES or not ROLES[name].side:
            raise TypeError(unexpected(function, [name], ROLES))
        if ROLES[name].given == "name" and len(names_of(given)) > 1:
            raise RequestError(f"{name} is one column, not {len(names_of(given))}")
    columns = {name: names_of(given) for name, given in sides.items()}
    return {name: names for name, names in columns.items() if names}


def as_keys(given: str | int | bool | Iterable[str | int] | None) -> tuple[str | int, ...]:
    """Columns given as one name or number or several; none by True, False and None.

    >>> as_keys("a"), as_keys([0, "b"]), as_keys(True)
    (('a',), (0, 'b'), ())
    """
    if given is None or isinstance(given, bool):
        return ()
    return (given,) if isinstance(given, (str, int)) else tuple(given)


def said(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are not the defaults, as JSON values.

    >>> said({"label": None, "drop": ("a", 1), "keep": (), "ordinal": {2: ("S", "M")}})
    {'drop': ['a', 1], 'ordinal': {'2': ['S', 'M']}}
    """

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): list(several) for key, several in value.items()}
        return list(value) if isinstance(value, tuple) else value

    return {k: plain(value) for k, value in arguments.items() if value not in (None, (), [], {})}


def names_of(given: str | Iterable[str] | None) -> list[str]:
    """Columns given as one name or several, each once.

    >>> names_of("a"), names_of(["a", "b", "a"]), names_of(None)
    (['a'], ['a', 'b'], [])
    """
    return (
        [given] if isinstance(given, str) else list(dict.fromkeys(() if given is None else given))
    )


def spelled_out(roles: Mapping[str, Any], names: Sequence[str] | None) -> dict[str, Any]:
    """`roles` with keys such as ``rs*`` replaced by the columns that they match.

    A ``*`` stands for any characters, in roles of several columns, and matches no column that
    another key names. A key that is itself the name of a column means that column, and one that
    matches none is left as it is.

    >>> spelled_out({"label": "q", "categorical": ["q*", "b"]}, ["id", "q", "q1", "q2", "b"])
    {'label': 'q', 'categorical': ['q1', 'q2', 'b']}
    """
    lists = {
        role.name: roles[role.name]
        for role in ROLES.values()
        if role.given == "columns"
        and any(isinstance(key, str) and "*" in key for key in as_keys(roles.get(role.name)))
    }  # fmt: skip
    if not names or not lists:
        return dict(roles)
    known = set(names)
    named = {
        names[key] if isinstance(key, int) and -len(names) <= key < len(names) else key
        for role in ROLES
        for key in as_keys(roles.get(role))
        if not _is_pattern(key, known)
    }
    free = [name for name in names if name and name not in named]

    def columns(key: str | int) -> Sequence[str | int]:
        if not _is_pattern(key, known):
            return [key]
        matches = re.compile(".*".join(map(re.escape, str(key).split("*"))), re.DOTALL).fullmatch
        return [name for name in free if matches(name)] or [key]

    return {
        **roles,
        **{
            role: {name: given[key] for key in given for name in columns(key)}
            if isinstance(given, Mapping)
            else list(dict.fromkeys(name for key in as_keys(given) for name in columns(key)))
            for role, given in lists.items()
        },
    }


def _is_pattern(key: str | int, known: Collection[str]) -> bool:
    return isinstance(key, str) and "*" in key and key not in known


def shortened(keys: Sequence[str | int], names: Sequence[str]) -> list[str | int]:
    """`keys` with a pattern such as ``rs*``, for `spelled_out`, in place of many.

    It replaces ten columns or more that begin alike, if no other of `names` does.

    >>> names = ["id", *(f"rs{k}" for k in range(10)), "age"]
    >>> shortened([*names[1:11], "age"], names), shortened(names[1:9], names)
    (['rs*', 'age'], ['rs0', 'rs1', 'rs2', 'rs3', 'rs4', 'rs5', 'rs6', 'rs7'])
    """
    chosen = {key for key in keys if isinstance(key, str) and "*" not in key}
    stems = {key: re.split("[0-9]", key, maxsplit=1)[0] for key in chosen}
    short = {
        stem
        for stem, times in Counter(stems.values()).items()
        if stem and times >= _MANY and all(n in chosen for n in names if n.startswith(stem))
    }
    stem_of = ((key, stems.get(str(key), "")) for key in keys)
    return list(dict.fromkeys(f"{stem}*" if stem in short else key for key, stem in stem_of))


def with_option(text: str, role: Role) -> str:
    """What a column of a role does, with the option that declared it, for messages."""
    return text if role.name == "label" else f"{text} ({role.option})"


def only(asked: AskedColumns, role: str) -> int | None:
    """The column of a role that at most one column has; None if none has it."""
    return next(iter(asked.get(role, ())), None)


@attrs.frozen(kw_only=True)
class Layout:
    """The features of a table, and its label, groups and weights.

    Parameters
    ----------
    features : list of int
        In the order of the table: all columns that are not dropped and not the following.
    label, groups, weight : int, optional
    categorical, keep : list of bool
        Whether each feature was declared so.
    orders : mapping of int to tuple of str
        The ordinal columns with the order of their levels; empty: numeric order.
    """

    features: list[int]
    label: int | None
    groups: int | None
    weight: int | None
    categorical: list[bool]
    keep: list[bool]
    orders: Mapping[int, tuple[str, ...]]

    @classmethod
    def of(cls, asked: AskedColumns, n_columns: int, roles: Mapping[str, Any]) -> Layout:
        """The layout of `n_columns` columns, some of which are `asked` for by `roles`.

        If ``roles["categorical"]`` is True, all are; ``roles["ordinal"]`` gives the orders.
        """
        label, groups, weight = (only(asked, role) for role in ("label", "groups", "weight"))
        aside = {label, groups, weight, *asked.get("drop", ())}
        features = [column for column in range(n_columns) if column not in aside]
        every = roles.get("categorical") is True
        orders = (roles.get("ordinal") or {}).values()
        nominal, kept = set(asked.get("categorical", ())), set(asked.get("keep", ()))
        return cls(
            features=features,
            label=label,
            groups=groups,
            weight=weight,
            categorical=[every or column in nominal for column in features],
            keep=[column in kept for column in features],
            orders=dict(zip(asked.get("ordinal", ()), orders, strict=True)),
        )

    def of_rows(self, column: Callable[[int], tuple[str, Any]]) -> dict[str, Any]:
        """The groups and the weights of rows, as arguments of `Dataset.from_arrays`.

        `column` returns the name and the values of a column.
        """
        given: dict[str, Any] = {}
        if self.groups is not None:
            given["group_name"], given["groups"] = column(self.groups)
        if self.weight is not None:
            given["weight_name"], given["weights"] = column(self.weight)
        return given
