"""Inspect a table: its contents, open questions before a chain runs, and a suggested chain."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from fsframe.analysis.proposals import first_chain
from fsframe.chains.repeated_rows import repeated_rows
from fsframe.contracts.asked_columns import WORDS, check_asked
from fsframe.contracts.column_facts import ColumnFacts, Contents
from fsframe.contracts.column_kinds import as_ordinal
from fsframe.contracts.cost import Cost
from fsframe.contracts.dataset import Dataset
from fsframe.errors import DataError
from fsframe.tables import read
from fsframe.tables.column_lookup import as_keys, column_word, find_column, find_columns
from fsframe.tables.file_contents import contents

__all__ = ["Finding", "Inspection", "inspect_table"]

_USUAL = ("class", "label", "target", "y", "outcome")
_IDENTIFIER = re.compile(r"(^|.*[\W_])(id|ids|index|idx|nr|no|uuid|guid|barcode)$|.*[a-z]I[Dd]$")
_NUMBER = re.compile(r"[+-]?[0-9]*,?[0-9]+")
_MANY, _FEWEST_ROWS, _FEWEST_NAMES = 20, 8, 8
_FIRST = {"label": 0, "task": 1, "groups": 2, "drop": 3, "categorical": 4, "na": 5}
_FORM = ("delimiter", "header", "decimal", "encoding", "na", "x", "y", "names")


@attrs.frozen(kw_only=True)
class Finding:
    """An open question: columns, what was found about them, and the option that settles it."""

    columns: tuple[str, ...]
    what: str
    option: str = ""


@attrs.frozen(kw_only=True, eq=False)
class Inspection:
    """Result of inspecting a table.

    Parameters
    ----------
    contents : Contents
    label : int
        The column that is the label, or would be taken as the label.
    said : bool
        Whether the user specified it.
    doubts : tuple of str
        Reasons why another column may be meant.
    roles : mapping of int to str
        Columns that are not features: ``"label"``, ``"groups"``, ``"dropped"``.
    findings : tuple of Finding
    options : mapping of str to JSON values
        Suggested arguments of `fsframe.read`.
    data : Dataset, optional
        The table read with them; None if that fails.
    refused : str
        Error message of reading.
    chain : str
        Suggested chain.
    command : str
        The command that runs it.
    forecast : Cost, optional
        None if the table cannot be read.
    """

    contents: Contents
    label: int
    said: bool
    doubts: tuple[str, ...]
    roles: Mapping[int, str]
    findings: tuple[Finding, ...]
    options: Mapping[str, Any]
    data: Dataset | None
    refused: str
    chain: str
    command: str
    forecast: Cost | None


def inspect_table(path: str | os.PathLike[str], **options: Any) -> Inspection:
    """Inspect a file column by column.

    Parameters
    ----------
    path : path
    options
        Arguments of `fsframe.read`; what they determine is not guessed.

    Raises
    ------
    DataError
        If the file is not a table, or lacks a column that `options` name.

    Notes
    -----
    Columns that `options` drop are not examined. An identifier column counts the rows, or differs
    in every row and is text or has an identifier's name (``id``, ``nr``, …). A column identifies
    groups of rows if it has at least 8 different values, two rows per value on average and one
    label per value. The label is the one in `options`, the label array, a column called class,
    label, target, y or outcome, or else the last column that is neither identifier nor date; a
    first column of two to ten values is preferred to a last one of more than 20 different numbers.
    """
    options |= {key: as_keys(options[key]) for key in ("drop",) if key in options}
    declared = options.get("categorical") or ()
    if not isinstance(declared, bool):
        declared = as_keys(declared)
        options |= {"categorical": declared} if declared else {}
    form = {key: options[key] for key in _FORM if key in options}
    found = contents(path, label=options.get("label"), **form)
    names = tuple(column.name for column in found.columns)
    commas = tuple(column.name for column in found.columns if _decimal_commas(column))
    if commas and "decimal" not in options:
        with contextlib.suppress(DataError):
            read_so = inspect_table(path, **options, decimal=",")
            told = Finding(columns=commas, what="numbers with decimal commas", option="--decimal ,")
            return attrs.evolve(read_so, findings=(told, *read_so.findings))
    n = len(names)

    def find(role: str, keys: Sequence[str | int]) -> list[int]:
        return find_columns(names, n, keys, f"{path}, {WORDS[role]}")

    ordinal = list(as_ordinal(options.get("ordinal")))
    drop, groups = options.get("drop", ()), options.get("groups")
    check_asked(
        find, lambda place: f"{path}: {column_word(place, names[place])}",
        label=options.get("label"), drop=drop, groups=groups, categorical=declared, ordinal=ordinal,
    )  # fmt: skip
    dropped = set(find("drop", drop))
    categorical = set(range(n)) if declared is True else set()
    if not isinstance(declared, bool):
        categorical |= set(find("categorical", declared))
    # Declared columns are not questioned.
    categorical |= set(find("ordinal", ordinal))
    if found.row_names:
        dropped.add(0)
    group = None if groups is None else find_column(names, n, groups, f"{path}, groups")
    skip = {column for column in range(n) if column in dropped or column == group}
    label, doubts = _label(found, names, options.get("label"), skip)
    judged = _Judged(found, label, skip)
    if options.get("dates"):
        judged.dates = []
    findings = [*judged.findings(categorical, group)]
    suggested = judged.suggested(options, group, categorical)
    suggested["label"] = judged.keys[label]
    if found.label_array == label and options.get("label") is None:
        del suggested["label"]
    data, refused = None, ""
    try:
        data = read(path, **suggested)
    except DataError as error:
        refused = str(error)
    if data is not None:
        findings += [Finding(columns=(), what=text) for text in repeated_rows(data)]
    chain, forecast = first_chain(data) if data is not None else ("", None)
    roles = (
        dict.fromkeys(judged.beside, "beside")
        | dict.fromkeys(dropped, "dropped")
        | dict.fromkeys(judged.left_out, "dropped")
    )
    if "groups" in suggested:
        roles[find_column(names, n, suggested["groups"], "groups")] = "groups"
    roles[label] = "label"
    return Inspection(
        contents=found,
        label=label,
        said=options.get("label") is not None or found.label_array == label,
        doubts=tuple(doubts),
        roles=roles,
        findings=tuple(findings),
        options=suggested,
        data=data,
        refused=refused,
        chain=chain,
        command=_command(path, chain or "immigrate npfs", suggested),
        forecast=forecast,
    )


def _decimal_commas(column: ColumnFacts) -> bool:
    """Whether the commonest cells of a column of text are numbers, one at least with a comma."""
    cells = column.examples
    return any("," in cell for cell in cells) and all(_NUMBER.fullmatch(cell) for cell in cells)


def _keys(found: Contents) -> tuple[str | int, ...]:
    """Keys of the columns: names, or positions where a name is ambiguous or looks like one."""
    names = [column.name for column in found.columns]
    times = Counter(names)
    return tuple(
        name
        if found.named
        and name
        and times[name] == 1
        and "," not in name
        and not name.strip().lstrip("-").isdigit()
        else column
        for column, name in enumerate(names)
    )


def _label(
    found: Contents, names: tuple[str, ...], said: str | int | None, skip: set[int]
) -> tuple[int, list[str]]:
    """The label column, and doubts about it."""
    if said is not None:
        return find_column(names, len(names), said, f"{found.path}, label"), []
    if found.label_array is not None:
        return found.label_array, []
    usable = [
        k
        for k, column in enumerate(found.columns)
        if k not in skip
        and not _identifier(column, found.n_rows)
        and column.kind != "date"
        and column.different > 1
    ]
    if not usable:
        raise DataError(
            f"{found.path} has no column that could be a label: all are left out, hold row "
            "names, or have a single value"
        )
    if found.beside:
        usable = [k for k in usable if k >= len(found.columns) - found.beside] or usable
    last, first = usable[-1], usable[0]
    lowered = {names[k].strip().lower(): k for k in reversed(usable)}
    usual = [lowered[word] for word in _USUAL if word in lowered]
    if usual:
        doubts = [] if last in usual else [f"it is not the last column, which is {names[last]!r}"]
        return usual[0], doubts
    if not _measured(found.columns[last]):
        return last, []
    few = [k for k in usable if 2 <= found.columns[k].different <= 10]
    what = f"{found.columns[last].different} different numbers"
    if first in few and first != last:
        return first, [
            f"chosen because it has few values; the last column, {names[last]!r}, has {what}, "
            "like a measurement"
        ]
    others = ", ".join(repr(names[k]) for k in few[:5])
    hint = f"; columns with few distinct values: {others}" if few else ""
    return last, [
        f"{what} look like a measurement{hint}: if it is not what is to be predicted, "
        "name the label"
    ]


def _measured(column: ColumnFacts) -> bool:
    return column.kind in ("number", "whole number") and column.different > _MANY


def _identifier(column: ColumnFacts, n_rows: int) -> bool:
    if column.counts_rows:
        return True
    if n_rows < _FEWEST_ROWS or column.missing or column.different < n_rows:
        return False
    named = bool(_IDENTIFIER.match(column.name.strip().lower())) or column.name.endswith("ID")
    return column.kind == "text" or (column.kind == "whole number" and named)


class _Judged:
    """The feature columns, classified by the question that each raises."""

    def __init__(self, found: Contents, label: int, skip: set[int]) -> None:
        self._names = tuple(column.name for column in found.columns)
        self._found = found
        self.keys = _keys(found)
        taken = skip | {label}
        first_beside = len(found.columns) - found.beside
        free = {k: c for k, c in enumerate(found.columns[:first_beside]) if k not in taken}
        beside = {k: found.columns[k] for k in range(first_beside, len(found.columns))}
        self.identifiers = [k for k, c in free.items() if _identifier(c, found.n_rows)]
        rest = {k: c for k, c in free.items() if k not in self.identifiers}
        whose = rest | {k: c for k, c in beside.items() if k not in taken}
        self.people = [k for k, c in whose.items() if self._repeats(k, c, label)]
        self.beside = sorted(beside)
        rest = {k: c for k, c in rest.items() if k not in self.people}
        self.dates = [k for k, c in rest.items() if c.kind == "date"]
        self.texts = [k for k, c in rest.items() if c.kind == "text"]
        # Free text has nearly as many values as rows, so it is not categorical.
        self.prose = [k for k in self.texts if 2 * rest[k].different > found.n_rows > _MANY]
        self.texts = [k for k in self.texts if k not in self.prose]
        self.empty = [k for k, c in rest.items() if c.kind == "empty"]
        self.constant = [k for k, c in rest.items() if c.constant]
        self.coded = [k for k, c in rest.items() if c.codes]
        self.gaps = [k for k, c in rest.items() if c.missing and c.kind != "empty"]

    def _repeats(self, k: int, column: ColumnFacts, label: int) -> bool:
        n = self._found.n_rows
        if not _FEWEST_NAMES <= column.different <= n // 2 or column.missing:
            return False
        if column.kind not in ("text", "whole number"):
            return False
        codes, of_label = self._found.codes(k), self._found.codes(label)
        if self._found.columns[label].different > _MANY:
            return False
        mark = np.zeros(column.different, dtype=of_label.dtype)
        mark[codes] = of_label
        if not (mark[codes] == of_label).all():
            return False
        # Numeric identifiers of groups come in runs, and not in the order of the label.
        runs = int(np.count_nonzero(np.diff(codes))) + 1 == column.different
        turns = int(np.count_nonzero(np.diff(mark))) > self._found.columns[label].different - 1
        return column.kind == "text" or (runs and turns)

    @property
    def left_out(self) -> list[int]:
        """Columns that cannot be features."""
        out = {*self.identifiers, *self.dates, *self.prose, *self.empty, *self.people[1:]}
        return sorted(out - set(self.beside))

    def suggested(
        self, options: Mapping[str, Any], group: int | None, categorical: set[int]
    ) -> dict[str, Any]:
        """The given arguments of `read`, with suggested ones added."""
        found = dict(options)
        if group is None and self.people:
            found["groups"] = self.keys[self.people[0]]
        out = [self.keys[k] for k in self.left_out if k not in categorical]
        if group is not None:
            out += [self.keys[k] for k in self.people[:1] if k not in self.beside]
        if out:
            found["drop"] = [*found.get("drop", ()), *out]
        texts = [self.keys[k] for k in self.texts if k not in categorical]
        if texts and not isinstance(found.get("categorical"), bool):
            found["categorical"] = [*found.get("categorical", ()), *texts]
        return found

    def findings(self, categorical: set[int], group: int | None) -> Iterator[Finding]:
        """The findings, the most serious first."""
        facts, n = self._found.columns, self._found.n_rows
        people = self.people if group is None else []
        for what, columns, option in (
            ("identifies the source of repeated rows: one label for each value, {different} "
             "values",
             people, "--groups {names}"),
            ("identifies the rows; as a feature it would leak the label", self.identifiers,
             "--drop {names}"),
            ("dates: use them as numbers of days (--dates days) or as the order of rows in folds "
             "and bootstraps (--time, with --dates days), or leave them out", self.dates,
             "--drop {names}"),
            ("free text: few values repeat", [k for k in self.prose if k not in categorical],
             "--drop {names}"),
            ("text: categories" + self._examples(categorical),
             [k for k in self.texts if k not in categorical], "--categorical {names}"),
            ("no value at all", self.empty, "--drop {names}"),
            ("one value only, no information", self.constant, ""),
        ):  # fmt: skip
            yield from self._grouped(what, columns, option)
        for k in self.coded:
            for code, times in facts[k].codes:
                yield Finding(
                    columns=(self._names[k],),
                    what=f"{code:g} occurs {times} times, far from the other values, and looks "
                    "like a code for a missing value",
                    option=f"--na {code:g}",
                )
        equal = [(self._names[a], self._names[b]) for a, b in self._found.repeated_columns]
        if equal:
            shown = ", ".join(f"{a} = {b}" for a, b in equal[:5])
            more = f" and {len(equal) - 5} more" if len(equal) > 5 else ""
            yield Finding(columns=(), what=f"columns that are equal: {shown}{more}")
        if self._found.repeated_rows:
            many = self._found.repeated_rows
            yield Finding(
                columns=(),
                what=f"{many} of {n} rows repeat{'s' * (many == 1)} an earlier one in all columns",
            )

    def _examples(self, categorical: set[int]) -> str:
        """The values of the text columns, such as `` (sex: f, m; site: A, B, C)``."""
        shown = []
        for k in [k for k in self.texts if k not in categorical][:3]:
            column = self._found.columns[k]
            more = ", …" if column.different > len(column.examples) else ""
            shown.append(f"{column.name}: {', '.join(column.examples)}{more}")
        return f" ({'; '.join(shown)})" if shown else ""

    def _grouped(self, what: str, columns: list[int], option: str) -> Iterator[Finding]:
        """One finding per message, for all columns that it applies to."""
        facts = self._found.columns
        together: dict[str, list[int]] = {}
        for k in columns:
            text = what.replace("{different}", str(facts[k].different))
            together.setdefault(text, []).append(k)
        for text, members in together.items():
            keys = [_spelled(self.keys[k]) for k in members]
            yield Finding(
                columns=tuple(self._names[k] for k in members),
                what=text,
                option=option.format(names=",".join(keys)) if option else "",
            )


def _command(path: str | os.PathLike[str], chain: str, options: Mapping[str, Any]) -> str:
    words = ["fsframe", "chain", *chain.split(), "on", str(path)]
    for key in sorted(options, key=lambda key: (_FIRST.get(key, 9), key)):
        value = options[key]
        if key == "header":
            words.append("--header" if value else "--no-header")
        elif key == "na":
            codes = value if isinstance(value, (list, tuple)) else [value]
            words += [word for code in codes for word in ("--na", str(code))]
        elif key == "categorical" and value is True:
            continue
        elif key == "ordinal":
            orders = as_ordinal(value).items()
            parts = (f"{name}={'<'.join(order)}" if order else str(name) for name, order in orders)
            words += ["--ordinal", ",".join(parts)]
        elif key in ("label", "groups"):
            words += [f"--{key}", _spelled(value)]
        elif isinstance(value, (list, tuple)):
            words += [f"--{key}", ",".join(map(_spelled, value))]
        else:
            words += [f"--{key}", str(value)]
    return shlex.join(words)


def _spelled(key: str | int) -> str:
    """A column as an option names it: by name, or by number from 1."""
    return key if isinstance(key, str) else str(key + 1)
