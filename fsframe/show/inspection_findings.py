"""What is open about a table before a chain runs, the gravest first."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import attrs

from fsframe.table.column_facts import Covariate
from fsframe.table.column_guesses import Guesses, spelled_key
from fsframe.text import counted

_LEVEL, _RARE, _CLASSES = 0.05, 10, 10


@attrs.frozen(kw_only=True)
class Finding:
    """An open question: columns, what was found about them, and the option that settles it."""

    columns: tuple[str, ...]
    what: str
    option: str = ""


def findings_of(
    guesses: Guesses, known: Collection[int], group: int | None, suggested: Mapping[str, Any]
) -> Iterator[Finding]:
    """The findings about a table, the most serious first.

    Parameters
    ----------
    guesses : Guesses
    known : collection of int
        Columns whose kind the user has declared.
    group : int, optional
        The column of groups that the user has named.
    suggested : mapping of str to JSON values
        Suggested arguments of `fsframe.read`.
    """
    found, facts = guesses.found, guesses.found.columns
    covariates = [c for c in guesses.covariates if c.column not in known]
    yield from (_covariate(c, guesses, suggested) for c in covariates if c.same)
    for k in guesses.twice:
        name, other = guesses.names[k], guesses.names.index(guesses.names[k]) + 1
        yield Finding(
            columns=(name,),
            what=f"column {k + 1} has the name of column {other}: rename it in "
            "the file to use both, or leave it out",
            option=_option("--drop", [guesses.keys[k]]),
        )
    yield from _grouped(
        guesses,
        "identifies the source of repeated rows: one label for each value, {different} values",
        guesses.people if group is None else [],
        "--groups",
    )
    yield from _few_rows(guesses)
    yield from (_covariate(c, guesses, suggested) for c in covariates if c.pure and not c.same)
    yield from _grouped(
        guesses,
        "identifies the rows; as a feature it would leak the label",
        guesses.identifiers,
        "--drop",
    )
    yield from (_covariate(c, guesses, suggested) for c in covariates if not c.pure and not c.same)
    for k in guesses.coded:
        for code, times in facts[k].codes:
            yield Finding(
                columns=(guesses.names[k],),
                what=f"{code:g} occurs {times} times, far from the other values, and looks "
                "like a code for a missing value",
                option=f"--na {code:g}",
            )
    for k in guesses.odd:
        if k in known:
            continue
        shown = ", ".join(f"{text!r} ({times} times)" for text, times in facts[k].odd)
        limits = any(text[:1] in "<>≤≥" for text, _ in facts[k].odd)
        what = f"numbers but for {shown}: missing values?"
        if limits:
            what += " A limit of detection may be replaced in the file instead, such as by its half"
        words = [word for text, _ in facts[k].odd for word in ("--na", text)]
        yield Finding(columns=(guesses.names[k],), what=what, option=shlex.join(words))
    asked = [k for k in guesses.texts if k not in known and k not in {c.column for c in covariates}]
    for what, columns, option in (
        ("dates: use them as numbers of days (--dates days) or as the order of rows in folds "
         "and bootstraps (--time, with --dates days), or leave them out", guesses.dates, "--drop"),
        ("free text", [k for k in guesses.prose if k not in known], "--drop"),
        ("text: categories" + _examples(guesses, asked), asked, "--categorical"),
        ("no value at all", guesses.empty, "--drop"),
        ("one value only, no information", guesses.constant, ""),
    ):  # fmt: skip
        yield from _grouped(guesses, what, columns, option)
    equal = [(guesses.names[a], guesses.names[b]) for a, b in found.repeated_columns]
    if equal:
        shown = ", ".join(f"{a} = {b}" for a, b in equal[:5])
        more = f" and {len(equal) - 5} more" if len(equal) > 5 else ""
        yield Finding(columns=(), what=f"columns that are equal: {shown}{more}")
    if found.repeated_rows:
        many = found.repeated_rows
        yield Finding(
            columns=(),
            what=f"{many} of {found.n_rows} rows repeat{'s' * (many == 1)} an earlier one in all "
            "columns",
        )


def _covariate(one: Covariate, guesses: Guesses, suggested: Mapping[str, Any]) -> Finding:
    """How a covariate and the label are associated, in words."""
    name, label = guesses.names[one.column], guesses.names[guesses.label]
    key = guesses.keys[one.column]
    adjusted = name in suggested.get("adjust", ())
    dropped = key in suggested.get("drop", ())
    if one.same:
        what = (
            f"cannot be told apart from {label}: {one.shown}. Whatever is associated with {label} "
            f"may be an effect of {name}, and no analysis of this table can tell"
        )
        return Finding(columns=(name,), what=what, option=_option("--drop", [key]))
    if one.pure:
        what = (
            f"confounded with {label}: {one.shown}. A feature that follows {name} looks important"
        )
    elif one.p < _LEVEL:
        what = f"associated with {label} (p = {one.p:.2g}): {one.shown}"
    elif one.shown:
        what = f"no association with {label} is seen (p = {one.p:.2g}): {one.shown}"
    else:
        what = "may explain why a feature is associated with the label"
    if one.technical:
        what += "; it tells how samples were taken, so it is no feature"
    if dropped and not adjusted:
        what += "; left out here, since with groups, gaps or small strata it cannot be adjusted for"
        return Finding(columns=(name,), what=what, option=_option("--drop", [key]))
    if not adjusted and not one.technical:
        what += f"; a feature here ({_option('--adjust', [name])} adjusts for it instead)"
        text = one.column in guesses.texts
        return Finding(
            columns=(name,), what=what, option=_option("--categorical", [key]) if text else ""
        )
    return Finding(columns=(name,), what=what, option=_option("--adjust", [name]))


def _few_rows(guesses: Guesses) -> Iterator[Finding]:
    """Classes of few rows, and missing labels."""
    column, label = guesses.found.columns[guesses.label], guesses.names[guesses.label]
    if column.missing:
        yield Finding(
            columns=(label,),
            what=f"the label is missing in {counted(column.missing, 'row')}; fill it in, or "
            + (
                "leave such rows out"
                if guesses.found.leaves_rows_out
                else "take them out of the file"
            ),
            option="--missing-label drop" if guesses.found.leaves_rows_out else "",
        )
    if column.different > _CLASSES:
        return
    codes, levels = guesses.found.classes(guesses.label)
    sizes = {name: int((codes == k).sum()) for k, name in enumerate(levels)}
    rare = {
        name: size for name, size in sizes.items() if size < min(_RARE, guesses.found.n_rows / 5)
    }
    if rare:
        shown = ", ".join(f"{name} {size}" for name, size in list(rare.items())[:5])
        yield Finding(
            columns=(label,),
            what=f"few rows of a class ({shown} of {guesses.found.n_rows}): only strong effects "
            "can be found, and accuracy says little",
        )


def _examples(guesses: Guesses, columns: list[int]) -> str:
    """The values of text columns, such as `` (sex: f, m; site: A, B, C)``."""
    shown = []
    for k in columns[:3]:
        column = guesses.found.columns[k]
        more = ", …" if column.different > len(column.examples) else ""
        shown.append(f"{column.name}: {', '.join(column.examples)}{more}")
    return f" ({'; '.join(shown)})" if shown else ""


def _grouped(guesses: Guesses, what: str, columns: list[int], option: str) -> Iterator[Finding]:
    """One finding per message, for all columns that it applies to."""
    together: dict[str, list[int]] = {}
    for k in columns:
        text = what.replace("{different}", str(guesses.found.columns[k].different))
        together.setdefault(text, []).append(k)
    for text, members in together.items():
        yield Finding(
            columns=tuple(guesses.names[k] for k in members),
            what=text,
            option=_option(option, [guesses.keys[k] for k in members]) if option else "",
        )


def _option(option: str, keys: list[str | int]) -> str:
    return shlex.join([option, ",".join(map(spelled_key, keys))])
