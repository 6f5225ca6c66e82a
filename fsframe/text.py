"""Texts for people: names made safe to print, numbers in words, tables, suggestions; and remarks on
stderr that belong to no run, such as that kernels are being compiled.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import io
import itertools
import json
import os
import re
import sys
import textwrap
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from html import escape
from typing import Any, TypeGuard

# Unicode categories: control, format (bidirectional overrides among them), surrogate, private,
# unassigned, line and paragraph separators.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "[": "{[}",
        "]": "{]}",
        "*": r"{*}",
        "−": r"\textminus{}",
    }
)


def is_unsafe(character: str) -> bool:
    """Whether a character is invisible or changes how the text around it is displayed."""
    return unicodedata.category(character) in _UNSAFE


def printable(text: str, longest: int | None = None) -> str:
    r"""The text with every invisible character (`is_unsafe`) written as an escape.

    Parameters
    ----------
    text : str
        Any text, such as a feature name from a file.
    longest : int, optional
        Maximum length; a longer result is cut and ends with an ellipsis.

    Returns
    -------
    str
        One line; backslashes are doubled only where an escape was needed. Applied to its own
        result it changes nothing.

    Examples
    --------
    >>> printable("Jitter(%)"), printable("\x1b[2J"), printable("glucose", longest=5)
    ('Jitter(%)', '\\x1b[2J', 'gluc…')
    """
    if not text.isprintable() and any(map(is_unsafe, text)):
        text = "".join(
            character.encode("unicode_escape").decode("ascii")
            if is_unsafe(character) or character == "\\"
            else character
            for character in text
        )
    if longest is not None and len(text) > longest:
        text = text[: longest - 1] + "…"
    return text


def feature_labels(names: Iterable[str], longest: int = 28) -> list[str]:
    """Names of features as labels of one figure or list: printable characters, shortened.

    Labels of different names that would be alike lack the beginning that these names share.

    >>> feature_labels(["glucose in plasma, fasting", "glucose in plasma, random", "age"], 16)
    ['…ma, fasting', '…ma, random', 'age']
    """
    texts = [printable(name) for name in names]
    alike: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        alike.setdefault(printable(text, longest=longest), []).append(text)
    labels: dict[str, str] = {}
    for label, group in alike.items():
        if len(group) == 1:
            labels[group[0]] = label
            continue
        # What the first and the last share, all share; some of it stays, as a hint.
        pairs = zip(min(group), max(group), strict=False)
        shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        start = shared - longest // 4
        tails = feature_labels([text[start:] for text in group], longest - 1)
        labels.update(
            (text, f"…{tail.removeprefix('…')}") for text, tail in zip(group, tails, strict=True)
        )
    return [labels[text] for text in texts]


def storable_text(text: str) -> str:
    r"""A text from the operating system as valid UTF-8.

    File names are bytes. Bytes that the locale cannot decode arrive as surrogates; they are decoded
    as UTF-8 if they are valid UTF-8, and written as escapes if not.

    >>> storable_text("gr\udcc3\udcb6\udcc3\udc9fen.csv"), storable_text("bad\udcff.csv")
    ('größen.csv', 'bad\\xff.csv')
    """
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()


def tex(text: str) -> str:
    r"""The text for LaTeX, with all its special characters escaped.

    >>> tex("a_b & 50 %"), tex(r"\input{x}")
    ('a\\_b \\& 50 \\%', '\\textbackslash{}input\\{x\\}')
    """
    return printable(text).translate(_TEX)


_CELL = "padding:2px 12px 2px 0;text-align:{};"


def safe(text: str) -> str:
    """`text` for HTML, with markup and control sequences escaped."""
    return escape(printable(text))


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names joined by commas, only the first ones if there are many.

    >>> listed(["a", "b", "c"], most=2), listed(["a"])
    ('a, b, … (3)', 'a')
    """
    shown = ", ".join(printable(str(name), longest=40) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)})"


def counted(number: int, thing: str) -> str:
    """A number with its noun: ``1 feature``, ``2 features``.

    >>> counted(1, "class"), counted(2, "class"), counted(0, "feature")
    ('1 class', '2 classes', '0 features')
    """
    plural = "es" if thing.endswith("s") else "s"
    return f"{number} {thing}{'' if number == 1 else plural}"


def number_text(value: float | None, digits: int = 4) -> str:
    """A number as a cell of a table; a dash where it is undefined.

    >>> number_text(0.5), number_text(float("nan")), number_text(-0.001, 2)
    ('0.5000', '—', '0.00')
    """
    if value is None or value != value:
        return "—"
    shown = f"{value:.{digits}f}"
    return shown.lstrip("-") if float(shown) == 0 else shown


def duration(seconds: float) -> str:
    """A duration in seconds, minutes, hours or days, whichever is easiest to read."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 360_000 else f"{seconds / 86_400:.0f} days"


def some_of(names: Sequence[str], most: int = 5) -> str:
    """Names joined by commas, only the first ones and the number of others if there are many.

    >>> some_of(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def interval_text(interval: Sequence[float] | None, digits: int = 3) -> str:
    """A 95 % interval in words; empty where there is none.

    >>> interval_text((0.5, 0.75), 2)
    '95 % from 0.50 to 0.75'
    """
    if interval is None:
        return ""
    low, high = interval
    return f"95 % from {low:.{digits}f} to {high:.{digits}f}"


def shown_width(text: str) -> int:
    """Number of terminal cells that `text` takes: two for wide characters, none for combining ones.

    >>> shown_width("gene"), shown_width("遺伝子"), shown_width("e\u0301")
    (4, 6, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(character) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(character) in "WF"
        else 1
        for character in text
    )


Rows = tuple[list[str], list[list[str]], set[int]]
"""A table to show: names of columns, rows, and which columns hold numbers."""


def table_lines(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Set[int] = frozenset(),
) -> Iterator[str]:
    """A table as lines, columns two spaces apart, those in `right` aligned to the right.

    >>> print(*table_lines(["n", "name"], [["1", "a"], ["10", "b"]], right={0}), sep="\\n")
     n  name
     1  a
    10  b
    """
    # Escaped before output, since an escape is wider than its character.
    shown = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(shown_width(row[c]) for row in shown) for c in range(len(header))]
    for row in shown:
        cells = []
        for c, (cell, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - shown_width(cell))
            cells.append(blanks + cell if c in right else cell + blanks)
        yield "  ".join(cells).rstrip()


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    r"""Rows as comma-separated text, each ending in a line feed.

    >>> csv_text([["feature", "score"], ["a, b", 0.5]])
    'feature,score\n"a, b",0.5\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def wrapped(text: str, indent: str = "", width: int = 96) -> list[str]:
    """A paragraph as lines of at most `width` characters; longer words are not broken."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def html_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Set[int] = frozenset()
) -> str:
    """A table, its columns in `right` aligned to the right; every cell is escaped.

    >>> "<b>" in html_table(["n"], [["<b>"]])
    False
    """

    def row(cells: Sequence[str], tag: str) -> str:
        parts = (
            f'<{tag} style="{_CELL.format("right" if place in right else "left")}">{safe(cell)}'
            f"</{tag}>"
            for place, cell in enumerate(cells)
        )
        return f"<tr>{''.join(parts)}</tr>"

    head = f"<thead>{row(header, 'th')}</thead>" if any(header) else ""
    body = "".join(row(cells, "td") for cells in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def html_block(title: str, facts: Sequence[str] = (), *tables: str) -> str:
    """A heading, sentences below it, and tables as `html_table` makes them."""
    lines = "".join(f"<div>{safe(fact)}</div>" for fact in facts if fact)
    return f"<div><strong>{safe(title)}</strong>{lines}{''.join(tables)}</div>"


def are_texts(value: object) -> TypeGuard[Sequence[str]]:
    """Whether a value, such as one from a file that may be untrusted, is a list of texts.

    >>> are_texts(["a", "b"]), are_texts([]), are_texts(["a", 1]), are_texts("ab")
    (True, True, False, False)
    """
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)


def facts(of: object, *names: str) -> dict[str, Any]:
    """The named attributes of an object, for the output of ``--json``."""
    return {name: getattr(of, name) for name in names}


_QUOTED = re.compile(r'(?<![^,=<\s])"[^"]*"(?=\s*(?:[,=<]|$))')


def list_parts(text: str, separator: str = ",") -> list[str]:
    """The parts of a list in an option, stripped; those in double quotes may hold the separator.

    The quotes stay, for `unquoted`.

    >>> list_parts('id, "Weight, kg", 5" pipe')
    ['id', '"Weight, kg"', '5" pipe']
    """
    masked = _QUOTED.sub(lambda quoted: quoted[0].replace(separator, "\0"), text)
    return [part.strip().replace("\0", separator) for part in masked.split(separator)]


def unquoted(part: str) -> str:
    """A part of `list_parts` without the quotes around it."""
    return part[1:-1] if part[:1] == part[-1:] == '"' and part.count('"') == 2 else part


def list_part(name: str, separators: str = ",") -> str:
    """A name as a part of a list: in quotes if it contains a separator."""
    return f'"{name}"' if set(separators) & set(name) else name


def level_orders(text: str) -> dict[str, tuple[str, ...]]:
    """The columns of ``--ordinal``, with the levels of each from the lowest to the highest.

    >>> level_orders('size=S<M<L,grade,age="<18"<18-65<">65"')
    {'size': ('S', 'M', 'L'), 'grade': (), 'age': ('<18', '18-65', '>65')}
    """
    orders = {}
    for part in filter(None, list_parts(text)):
        name, *order = list_parts(part, "=")
        levels = list_parts("=".join(order), "<") if order else ()
        orders[unquoted(name)] = tuple(map(unquoted, levels))
    return orders


def most_alike(word: str, known: Iterable[str]) -> str:
    """The known name that is most similar to a word, in any case; empty if none is similar."""
    lowered = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.6)
    return lowered[near[0]] if near else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that suggests the most similar known name; empty if none is similar.

    >>> did_you_mean("imigrate", ["immigrate", "npfs"])
    '. Did you mean `immigrate`?'
    >>> did_you_mean("xyz", ["immigrate", "npfs"])
    ''
    """
    near = most_alike(word, known)
    return f". Did you mean `{near}`?" if near else ""


_MEANT = {
    "label": ["target", "y", "outcome", "response", "labels", "target_column", "label_column"],
    "groups": ["group", "subject", "subjects", "group_column"],
    "drop": ["exclude", "ignore", "drop_columns", "columns_to_drop"],
    "categorical": ["nominal", "categories", "cat_features", "categorical_features"],
    "seed": ["random_state", "random_seed", "rng"],
    "workers": ["n_jobs", "jobs", "processes"],
    "folds": ["cv", "n_splits"],
    "repeats": ["n_repeats"],
    "metric": ["scoring", "measure", "measures"],
    "measures": ["scoring", "metric", "metrics", "measure"],
    "na": ["na_values", "missing_values"],
    "delimiter": ["sep"],
    "weight": ["weights", "sample_weight"],
    "adjust": ["covariates", "covariate", "confounders", "confounder", "adjust_for"],
    "out": ["output", "path", "file"],
    "time": ["times"],
    # Parameters of methods.
    "k": ["n_neighbors", "n_neighbours", "neighbors", "neighbours", "num_neighbors"],
    "top": ["n_features_to_select", "n_features", "n_selected_features", "num_features", "nfeat"],
    "bins": ["n_bins", "nbins", "num_bins"],
    "n": ["n_resamples", "n_bootstraps", "n_bootstrap", "n_subsamples", "n_iterations"],
    "permutations": ["n_permutations", "n_perm", "nperm"],
    "trees": ["n_estimators", "n_trees", "num_trees", "ntree"],
    "max_runs": ["max_iter", "maxruns", "n_iterations"],
    "alpha": ["p_value", "pvalue", "significance", "fdr"],
    "correction": ["p_adjust", "p_adjust_method", "multiple_testing", "mcadj"],
}


def meant_by(word: str, known: Iterable[str]) -> list[str]:
    """The `known` arguments, or parameters of a method, that other packages call `word`.

    >>> meant_by("target", ["label", "groups"])
    ['label']
    """
    return [name for name in known if word.lower() in _MEANT.get(name, ())]


def unexpected(function: str, given: Iterable[str], known: Iterable[str]) -> str:
    """The message for keyword arguments that a function does not have, with suggestions.

    >>> unexpected("select", ["target"], ["label", "groups"])
    "select() got an unexpected keyword argument 'target'; did you mean `label=`?"
    >>> unexpected("select", ["colour"], ["label", "groups"])
    "select() got an unexpected keyword argument 'colour'; it takes label, groups"
    """
    known = list(known)
    wrong = list(given)
    message = f"{function}() got {'an ' if len(wrong) == 1 else ''}unexpected keyword argument"
    message += "s" * (len(wrong) > 1) + " " + ", ".join(map(repr, wrong))
    near = []
    for word in wrong:
        meant = meant_by(word, known)
        close = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.7)
        near += [f"`{name}=`" for name in (meant or close)[:1]]
    if len(near) == len(wrong):
        return f"{message}; did you mean {', '.join(dict.fromkeys(near))}?"
    return f"{message}; it takes {', '.join(known)}"


_BEYOND_ASCII = re.compile(r"[^\x00-\x7e]")


def json_text(value: Any) -> str:
    r"""`value` as JSON on one line, unsafe characters as equivalent ``\u`` escapes.

    Arrays become lists; numbers that are not finite, which JSON does not have, become null.

    >>> json_text({"naïve \x9b[2J": [1.5, float("inf")]})
    '{"naïve \\u009b[2J": [1.5, null]}'
    """
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)
    return _BEYOND_ASCII.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character == "\x7f":
        # The one control character that JSON does not escape.
        return "\\u007f"
    return json.dumps(character)[1:-1] if is_unsafe(character) else character


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return None
    return value


REMARKS_VARIABLE = "FSFRAME_REMARKS"
"""Environment variable, inherited by workers: ``json`` prints remarks as events (as ``--progress
json`` does), ``none`` prints none (``--quiet``)."""


_clearing: list[Callable[[], None]] = []


@contextlib.contextmanager
def clearing_progress(clear: Callable[[], None]) -> Iterator[None]:
    """Within this context, call `clear` before printing a remark, to erase the progress line."""
    _clearing.append(clear)
    try:
        yield
    finally:
        _clearing.remove(clear)


def clear_progress() -> None:
    """Erase the current line of stderr."""
    for clear in _clearing:
        clear()


def remark(text: str) -> None:
    """Print a remark on stderr, in the format of the run's other output there.

    Does nothing if stderr is closed, or remarks are not wanted.
    """
    if sys.stderr is None or os.environ.get(REMARKS_VARIABLE) == "none":
        return
    clear_progress()
    line = f"fsframe: {text}"
    if os.environ.get(REMARKS_VARIABLE) == "json":
        line = json.dumps({"event": "note", "text": text}, ensure_ascii=False)
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)


_waits = 0
_TICK = 0.5
_ERASE = "\r\033[K"


def wait_shown() -> bool:
    """Whether a wait is shown on the last line, which must then not be overwritten."""
    return _waits > 0


@contextlib.contextmanager
def ticking(text: str) -> Iterator[None]:
    """Within this context, `text` and the elapsed seconds are shown on a line, erased at the end.

    Only on a terminal, and only if remarks are printed as plain text.
    """
    global _waits
    stream = sys.stderr
    if (
        stream is None
        or os.environ.get(REMARKS_VARIABLE) in ("json", "none")
        or not getattr(stream, "isatty", bool)()
    ):
        yield
        return
    begun, done = time.monotonic(), threading.Event()

    def tick() -> None:
        while not done.wait(_TICK):
            with contextlib.suppress(OSError, ValueError):
                print(
                    f"{_ERASE}fsframe: {text}, {time.monotonic() - begun:.0f} s",
                    end="",
                    file=stream,
                    flush=True,
                )

    clear_progress()
    clock = threading.Thread(target=tick, name="fsframe-wait", daemon=True)
    _waits += 1
    clock.start()
    try:
        yield
    finally:
        done.set()
        clock.join()
        _waits -= 1
        with contextlib.suppress(OSError, ValueError):
            print(_ERASE, end="", file=stream, flush=True)
