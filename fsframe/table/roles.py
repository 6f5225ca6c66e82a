"""Roles of columns, and the columns beside the features that carry them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.suggest import unexpected
from fsframe.table.arrays import freeze

__all__ = [
    "ROLES",
    "AskedColumns",
    "Role",
    "SideColumns",
    "asked_sides",
    "check_asked",
    "declare",
    "feature_sets",
    "names_of",
    "only",
    "side_roles",
    "time_blocks",
    "times_of_wholes",
]


_LEVELS, _PARTS = 10, 5


@attrs.frozen(kw_only=True, eq=False)
class SideColumns:
    """Columns other than features: times or covariates.

    Parameters
    ----------
    names : tuple of str
    values : (n_samples, n_columns) float64, finite
    nominal : (n_columns,) bool
        Columns whose numbers are codes of categories.
    handled : bool
        For covariates: whether the resampling stage adjusts for them, so that the stages it
        resamples need not.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64] = attrs.field(repr=False)
    nominal: NDArray[np.bool_] = attrs.field(repr=False)
    handled: bool = False

    @classmethod
    def of(
        cls,
        columns: Mapping[str, NDArray[Any]],
        nominal: Sequence[bool],
        what: str,
    ) -> SideColumns:
        """The columns, checked; text is treated as categories.

        Raises
        ------
        DataError
            If a value is missing or infinite.
        """
        kept, is_nominal = [], list(nominal)
        for place, (name, given) in enumerate(columns.items()):
            try:
                values = np.asarray(given, dtype=np.float64)
            except (TypeError, ValueError):
                texts = np.array([str(value) for value in np.asarray(given).tolist()])
                values = np.unique(texts, return_inverse=True)[1].astype(np.float64)
                values[(texts == "") | (texts == "nan") | (texts == "None")] = np.nan
                is_nominal[place] = True
            wrong = np.flatnonzero(~np.isfinite(values))
            if wrong.size:
                raise DataError(
                    f"{what} {name!r}: missing or infinite in {wrong.size} rows, the first in row "
                    f"{wrong[0] + 1}; every row needs a value"
                )
            kept.append(values)
        table = freeze(np.stack(kept, axis=1))
        return cls(names=tuple(columns), values=table, nominal=np.array(is_nominal, dtype=bool))

    def take_rows(self, rows: NDArray[np.intp]) -> SideColumns:
        """Only these rows, in this order."""
        return attrs.evolve(self, values=freeze(self.values[rows]))

    def tobytes(self) -> bytes:
        """Bytes that identify the content of these columns, without their names."""
        return self.values.astype("<f8").tobytes() + self.nominal.tobytes()

    def strata(self) -> NDArray[np.int64]:
        """Strata of rows that are equal in all columns, as codes (n_samples,).

        A numeric column with more than 10 distinct values is first cut at its quintiles.

        Examples
        --------
        >>> SideColumns.of({"sex": np.array(["m", "f", "m"])}, [True], "column").strata().tolist()
        [1, 0, 1]
        """
        codes = np.zeros(len(self.values), dtype=np.int64)
        for values, nominal in zip(self.values.T, self.nominal, strict=True):
            own = np.unique(values, return_inverse=True)[1]
            if not nominal and own.max() >= _LEVELS:
                cuts = np.quantile(values, np.arange(1, _PARTS) / _PARTS)
                own = np.searchsorted(cuts, values, side="left")
            codes = np.unique(codes * (own.max() + 1) + own, return_inverse=True)[1]
        return codes

    def design(self) -> NDArray[np.float64]:
        """Design matrix of a linear model, with an intercept first, as (n_samples, q).

        Numbers as they are, centred and of size about 1; an indicator for each level of a nominal
        column but its first.
        """
        columns = [np.ones(len(self.values))]
        for values, nominal in zip(self.values.T, self.nominal, strict=True):
            if nominal:
                columns += [(values == level) * 1.0 for level in np.unique(values)[1:]]
                continue
            centred = values - values.mean()
            columns.append(centred / max(float(np.abs(centred).max()), 1e-300))
        return np.stack(columns, axis=1)


def time_blocks(times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Block of time of each row, blocks of about n^(1/3) rows, as codes (n,).

    Rows of equal time are in one block.

    References
    ----------
    P. Bühlmann, H. Künsch 1999, Block length selection in the bootstrap for time series, Comput.
    Stat. Data Anal. 31:295–310: the order n^(1/3) for the variance of a mean.

    Examples
    --------
    >>> time_blocks(np.array([5.0, 1, 2, 3, 4, 6, 7, 8])).tolist()
    [2, 0, 0, 1, 1, 2, 3, 3]
    """
    n = len(times)
    length = max(1, round(n ** (1 / 3)))
    # Ties have the position of their first row.
    place = np.searchsorted(np.sort(times), times, side="left")
    found: NDArray[np.int64] = np.unique(place // length, return_inverse=True)[1].astype(np.int64)
    return found


def times_of_wholes(times: NDArray[np.float64], groups: NDArray[Any]) -> NDArray[np.float64]:
    """Times of rows such that no cut between two times splits a group, as (n_samples,).

    Groups that overlap in time are merged, and so are groups that overlap with these; each row has
    the time at which its merged group begins. Groups one after another stay separate.

    Examples
    --------
    >>> times, batch = np.array([1.0, 2, 3, 4, 5, 6]), np.array([7, 7, 8, 9, 8, 9])
    >>> times_of_wholes(times, batch).tolist()
    [1.0, 1.0, 3.0, 3.0, 3.0, 3.0]
    """
    names, code = np.unique(groups, return_inverse=True)
    first, last = np.full(names.size, np.inf), np.full(names.size, -np.inf)
    np.minimum.at(first, code, times)
    np.maximum.at(last, code, times)
    order = np.argsort(first, kind="stable")
    # A merged group can begin after the last row of all groups that began before.
    ended = np.maximum.accumulate(last[order])
    begins = np.append(True, first[order][1:] > ended[:-1])
    begun = np.empty(names.size)
    begun[order] = first[order][np.maximum.accumulate(np.where(begins, np.arange(names.size), 0))]
    whole: NDArray[np.float64] = begun[code]
    return whole


def feature_sets(
    groups: Mapping[str, Sequence[str]], names: Sequence[str], suggest: Any
) -> NDArray[np.int64]:
    """Features that are kept or dropped together: a code for each set, −1 for the others.

    `groups` has the features of each set by its name; `suggest` returns what a message about an
    unknown name adds. DataError lists unknown features, and those in two sets.
    """
    place = {name: column for column, name in enumerate(names)}
    codes = np.full(len(names), -1, dtype=np.int64)
    unknown, twice = [], []
    for code, members in enumerate(groups.values()):
        for name in dict.fromkeys(members):
            if name not in place:
                unknown.append(name)
            elif codes[place[name]] >= 0:
                twice.append(name)
            else:
                codes[place[name]] = code
    if unknown:
        raise DataError(
            f"feature groups name {len(unknown)} columns that are not features: "
            f"{', '.join(map(repr, unknown[:5]))}{suggest(unknown[0], names)}; a line of a file "
            "of groups is `feature,group`"
        )
    if twice:
        raise DataError(
            f"features in two groups: {', '.join(map(repr, twice[:5]))}; a feature is kept or "
            "dropped with one group only"
        )
    return freeze(codes)


AskedColumns = Mapping[str, Sequence[int]]
"""Positions of columns by the role that was asked for them."""

_POLARS = "fsframe.read(polars.read_parquet(…))"
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
        What messages call its column.
    help : str
        Of the option.
    metavar : str
    being : str
        What a column of this role does, such as "names groups"; empty if it can have every other
        role as well.
    verb : str
        What a column of another role cannot, such as "name groups".
    shares : set of str
        Roles that its column can have nevertheless, of those declared later.
    values : tuple of type
        Types of the stored argument, if not those of `given`.
    of_rows : bool
        Whether annotations of rows, which are not features, can have it.
    side : bool
        Whether it is a side role.
    fact : str
        Of a side role: what is said of a table that has it, such as "adjusted for {}".
    digest : str
        Of a side role: the word before its values in digests.
    not_in_parts : str
        Of a side role: why tables in parts do not support it, and what to do.
    """

    name: str
    given: str
    word: str
    help: str
    metavar: str
    being: str = ""
    verb: str
    shares: frozenset[str] = frozenset()
    values: tuple[type, ...] = attrs.field()
    of_rows: bool = False
    side: bool = False
    fact: str = attrs.field()
    digest: str = attrs.field()
    not_in_parts: str = "methods that use it need the table in memory; load it by " + _POLARS

    @values.default
    def _usual_values(self) -> tuple[type, ...]:
        return _GIVEN[self.given]

    @fact.default
    def _usual_fact(self) -> str:
        return f"{self.word}: {{}}"

    @digest.default
    def _usual_digest(self) -> str:
        return self.name

    @property
    def option(self) -> str:
        """The option of commands."""
        return f"--{self.name.replace('_', '-')}"


ROLES: dict[str, Role] = {}
"""The roles by name. The column of one cannot have a later one as well, unless that is declared."""


def declare(role: Role) -> None:
    """Add a role; before the command line is imported, which makes options of all."""
    ROLES[role.name] = role


_KINDS = frozenset({"categorical", "ordinal"})
_LOAD = f"load it by {_POLARS}"

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
        help="Columns to leave out, such as identifiers.",
    ),
    Role(
        name="groups", given="column", word="groups", being="names groups", verb="name groups",
        of_rows=True, metavar="NAME|NUMBER",
        help="Column naming rows to keep together in every split, such as one person's.",
    ),
    Role(
        name="weight", given="column", word="weight", being="holds weights", verb="be weights",
        of_rows=True, metavar="NAME|NUMBER", help="Column of weights: copies of each row.",
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
        verb="tell events", metavar="NAME",
        help="Survival data: column of 1 (event) and 0 (censored); the label is the time.",
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
        values=(list, bool), metavar="NAME,…", help="Nominal columns, such as blood groups.",
    ),
    Role(
        name="ordinal", given="columns", word="ordinal column", verb="be ordinal",
        values=(list, dict), metavar="NAME[=LOW<…<HIGH],…",
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
        If several columns have a role of one.
    """
    for name, given in sides.items():
        if name not in ROLES or not ROLES[name].side:
            raise TypeError(unexpected(function, [name], ROLES))
        if ROLES[name].given == "name" and len(names_of(given)) > 1:
            raise RequestError(f"{name} is one column, not {len(names_of(given))}")
    return {name: names_of(given) for name, given in sides.items() if given}


def names_of(given: str | Iterable[str] | None) -> list[str]:
    """Columns given as one name or several, each once.

    >>> names_of("a"), names_of(["a", "b", "a"]), names_of(None)
    (['a'], ['a', 'b'], [])
    """
    return [given] if isinstance(given, str) else list(dict.fromkeys(given or ()))


def check_asked(
    find: Callable[[str, Sequence[str | int]], list[int]],
    word: Callable[[int], str],
    n_columns: int = 0,
    **roles: Any,
) -> AskedColumns:
    """The columns of all roles, which exist, and none of which has two that exclude each other.

    Parameters
    ----------
    find : callable
        Given a role and keys, returns the positions of columns; DataError if there are none.
    word : callable
        What a message calls the column at a position.
    n_columns : int
        Number of columns, if without a given label it is the last that is neither dropped nor names
        groups or holds weights; 0 if none is.
    roles : str, int, several, bool or None
        The keys of each role of `ROLES`; True, False and None name no column.

    Returns
    -------
    dict of str to list of int
        Their positions, in the order of the keys, by role.

    Raises
    ------
    DataError
        Listing everything, one problem a line.

    Examples
    --------
    >>> find = lambda role, keys: ["abc".index(key) for key in keys]
    >>> check_asked(find, "column {}".format, label="c", drop=["a", "c"], keep="a")
    Traceback (most recent call last):
    fsframe.errors.DataError: column 2 is the label and cannot be dropped (--drop)
    column 0 is left out (--drop) and cannot be kept (--keep)
    """
    problems: list[str] = []
    places: dict[str, list[int]] = {}
    for role, given in roles.items():
        keys = _keys(given)
        try:
            places[role] = find(role, keys) if keys else []
        except DataError as error:
            problems.append(str(error))
    taken = {place for role in ("drop", "groups", "weight") for place in places.get(role, ())}
    if roles.get("label") is None:
        places["label"] = [k for k in reversed(range(n_columns)) if k not in taken][:1]
    for place in dict.fromkeys(place for found in places.values() for place in found):
        own = [role for role in ROLES.values() if place in places.get(role.name, ())]
        problems += [
            f"{word(place)} {_with_option(role.being, role)} and cannot "
            f"{_with_option(other.verb, other)}"
            for at, role in enumerate(own)
            if role.being
            for other in own[at + 1 :]
            if other.name not in role.shares
        ]
    if problems:
        raise DataError("\n".join(problems))
    return places


def _with_option(text: str, role: Role) -> str:
    return text if role.name == "label" else f"{text} ({role.option})"


def only(asked: AskedColumns, role: str) -> int | None:
    """The column of a role that one column has; None if none has it."""
    return next(iter(asked.get(role, ())), None)


def _keys(given: str | int | bool | Iterable[str | int] | None) -> list[str | int]:
    if given is None or isinstance(given, bool):
        return []
    return [given] if isinstance(given, (str, int)) else list(given)
