"""The text of a chain: what `Chain.parse` reads and `str(chain)` writes.

::

    chain     = stage { blank stage }
    stage     = name [ ":" parameter { "," parameter } ]
    name      = word | provider "/" word
    parameter = key "=" value
    value     = plain | quoted | "[" … "]" | "{" … "}" | "(" chain ")"
    quoted    = "'" text "'" | '"' text '"'

Plain text ends at the next comma or blank. Brackets, braces and parentheses nest and may contain
both. A quotation mark in a text quoted by it is doubled: ``'it''s'``. Names and values are text;
nothing is looked up here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import attrs

from fsframe.errors import RequestError

_FILE = re.compile(r"\.[A-Za-z]\w*(\.\w+)?$")
_NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z][\w-]*\Z")
_KEY = re.compile(r"[A-Za-z][\w-]*\Z")
_CALL = re.compile(r"([A-Za-z][\w-]*)[(\[](.*)[)\]]\Z", re.DOTALL)
_BETWEEN = re.compile(r"\s*(?:->|→|>>|[|>+,;&])\s*")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_DEEPEST = 20
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", re.DOTALL)


@attrs.frozen
class StageText:
    """One stage as text: its name and its parameters in the order given."""

    name: str
    params: dict[str, str] = attrs.field(factory=dict)


def parse_stages(text: str) -> tuple[StageText, ...]:
    """The stages of a chain's text, left to right.

    Parameters
    ----------
    text : str
        Such as ``"im4e:top=200 immigrate npfs:n=100"``.

    Raises
    ------
    RequestError
        If `text` is not a text, is empty or does not follow the grammar; the message names the
        place.

    Examples
    --------
    >>> [s.name for s in parse_stages("im4e:top=200 npfs:base=(mim:top=5 jmi),n=50")]
    ['im4e', 'npfs']
    """
    if not isinstance(text, str):
        raise RequestError(
            f"a chain is a text such as 'mim:top=10 npfs', not {type(text).__name__}; it comes "
            "first, the data after it"
        )
    body = text.strip()
    while _is_group(body, "("):
        # Parentheses as after `base=`, which a shell passes on if they are quoted in an option.
        body = body[1:-1].strip()
    stages = tuple(parse_stage(part) for part in _split(body, blank=True))
    if not stages:
        raise RequestError("the chain is empty: name at least one selector, such as `immigrate`")
    return stages


def parse_stage(text: str) -> StageText:
    """One stage from its text, such as ``npfs:n=100,alpha=0.05``.

    Raises
    ------
    RequestError
        If the text does not follow the grammar.
    """
    name, colon, rest = text.partition(":")
    stages = name.split()
    if len(stages) > 1 and all(map(_NAME.match, stages)):
        raise RequestError(
            f"stage {text!r}: these are {len(stages)} stages in one pair of quotes; write them "
            "as separate words: " + " ".join(stages) + colon + "…" * bool(colon)
        )
    if not _NAME.match(name):
        told = _other_notation(text) or "a stage is written name or name:key=value,…"
        if _FILE.search(text):
            told += f"; if it is the table, put `on` before it: on {text}"
        raise RequestError(f"stage {text!r}: {name!r} is not a name; {told}")
    params: dict[str, str] = {}
    if colon and not rest.strip():
        raise RequestError(
            f"stage {text!r}: nothing follows the colon; write {name}:key=value, without blanks"
        )
    for place, part in enumerate(_split(rest, blank=False)):
        key, equals, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not _KEY.match(key):
            raise RequestError(
                f"stage {name!r}: {part!r} is not of the form key=value"
                + _suggestion(name, part, place == 0)
            )
        if key in params:
            raise RequestError(f"stage {name!r}: parameter {key!r} is given twice")
        params[key] = _unquote(value.strip())
    return StageText(name, params)


def _suggestion(name: str, part: str, first: bool) -> str:
    """A suggestion, after a semicolon, for a part that is not key=value; empty if there is none."""
    key, colon, value = (word.strip() for word in part.partition(":"))
    if colon and _KEY.match(key) and value:
        return f"; write {name}:{key}={value}"
    if _NAME.match(part.strip()) and first:
        return f"; write {name}:{part.strip()}=value, without blanks"
    if _NAME.match(part.strip()) or not part.strip():
        return "; separate parameters by commas and stages by blanks"
    if part.strip("{}[]()").replace(".", "").isalnum():
        return "; quote the stage if the shell has split its brackets or braces"
    return ""


def _other_notation(text: str) -> str:
    """Advice for stages in another notation; empty if none is recognized.

    >>> _other_notation("mim(top=5)"), _other_notation("mim->npfs"), _other_notation("npfs,n=9")
    ('write mim:top=5', 'write mim npfs', 'write npfs:n=9')
    """
    call = _CALL.match(text)
    if call is not None:
        name, inner = call[1], call[2].strip()
        stages = _BETWEEN.split(inner)
        if all(map(_NAME.match, stages)):
            return f"write {' '.join(stages)} {name}"
        return f"write {name}:{inner}" if "=" in inner else f"write {name}" if not inner else ""
    words = _BETWEEN.split(text)
    if len(words) > 1 and all(map(_NAME.match, words)):
        return f"write {' '.join(words)}"
    if len(words) > 1 and all(not word or _NAME.match(word) for word in words):
        return "only blanks separate stages"
    name, comma, parameters = text.partition(",")
    if comma and _NAME.match(name) and "=" in parameters:
        return f"write {name}:{parameters}"
    if "=" in text and _KEY.match(text.partition("=")[0]):
        return f"a parameter follows its stage and a colon: name:{text}"
    if text.startswith("--") and _KEY.match(text[2:]):
        return f"write it as a parameter of its stage: name:{text[2:]}=value"
    return ""


def _split(text: str, *, blank: bool) -> list[str]:
    """The parts of `text` between blanks, or commas, that stand outside brackets and quotes."""
    parts: list[str] = []
    start = 0
    open_brackets: list[str] = []
    quoted = ""
    for position, character in enumerate(text):
        if quoted:
            quoted = "" if character == quoted else quoted
        elif character in "'\"":
            quoted = character
        elif character in _CLOSING:
            open_brackets.append(_CLOSING[character])
            # Each level is parsed again: without a limit, a short text could take minutes.
            if len(open_brackets) > _DEEPEST:
                raise RequestError(
                    f"brackets are nested deeper than {_DEEPEST} at position {position + 1}"
                )
        elif character in _CLOSING.values():
            if not open_brackets or open_brackets.pop() != character:
                raise RequestError(
                    f"unexpected {character!r} at position {position + 1} of {text!r}"
                )
        elif not open_brackets and (character.isspace() if blank else character == ","):
            parts.append(text[start:position])
            start = position + 1
    if quoted or open_brackets:
        missing = quoted or open_brackets[-1]
        raise RequestError(f"{text!r} ends before its closing {missing!r}")
    parts.append(text[start:])
    if blank:
        return [part for part in parts if part.strip()]
    return parts if len(parts) > 1 or parts[0].strip() else []


def _is_group(text: str, opening: str) -> bool:
    """Whether `text` as a whole is one pair of brackets, opened by one of `opening`.

    ``[a],[b]`` is not: it has brackets at both ends, but they belong to different pairs.
    """
    if len(text) < 2 or text[0] not in opening or text[-1] != _CLOSING[text[0]]:
        return False
    try:
        _split(text, blank=True)
        # Without its last bracket a single pair is open; two pairs would close in between.
        return not _is_balanced(text[:-1]) and _is_balanced(text[1:-1])
    except RequestError:
        return False


def _is_balanced(text: str) -> bool:
    try:
        _split(text, blank=True)
    except RequestError:
        return False
    return True


def _unquote(value: str) -> str:
    if _QUOTED.fullmatch(value):
        mark = value[0]
        return value[1:-1].replace(mark * 2, mark)
    if _is_group(value, "("):
        return value[1:-1].strip()
    return value


def _in_quotes(value: str) -> str:
    mark = '"' if "'" in value and '"' not in value else "'"
    return mark + value.replace(mark, mark * 2) + mark


def quote(value: str) -> str:
    """`value` quoted as needed in a stage's text.

    >>> quote("0.5"), quote("a, b"), quote("mim:top=5 jmi"), quote("it's")
    ('0.5', "'a, b'", '(mim:top=5 jmi)', '"it\\'s"')
    """
    if _is_group(value, "[{"):
        return value
    if value and not re.search(r"[\s,'\"(){}\[\]]", value):
        return value
    try:
        if re.search(r"\s|:", value) and format_stages(parse_stages(value)) == value:
            return f"({value})"
    except RequestError:
        pass
    return _in_quotes(value)


def parse_list(text: str) -> list[str]:
    """The items of ``[a,b]`` as text, without quotes; the outer brackets may be left out.

    Raises
    ------
    RequestError
        If a quote or a bracket is not closed.

    Examples
    --------
    >>> parse_list("[a, 'b,c', [1,2]]")
    ['a', 'b,c', '[1,2]']
    """
    inner = text.strip()
    if _is_group(inner, "["):
        inner = inner[1:-1]
    parts = [part.strip() for part in _split(inner, blank=False)]
    return [_unquote(part) if _QUOTED.fullmatch(part) else part for part in parts]


def format_list(items: Iterable[str], *, nested: bool = False) -> str:
    """Text that `parse_list` reads back; with `nested`, the items are lists themselves.

    >>> format_list(["a", "b,c", ""])
    "[a,'b,c','']"
    """
    return "[" + ",".join(item if nested else _item(item) for item in items) + "]"


def _item(text: str) -> str:
    if text and text == text.strip() and not re.search(r"[,'\"(){}\[\]]", text):
        return text
    return _in_quotes(text)


def format_stages(stages: Iterable[StageText]) -> str:
    """The canonical text of stages: single blanks, parameters in their stored order.

    >>> format_stages(parse_stages("  mim:top=5    npfs "))
    'mim:top=5 npfs'
    """
    return " ".join(_format(stage) for stage in stages)


def _format(stage: StageText) -> str:
    if not stage.params:
        return stage.name
    return stage.name + ":" + ",".join(f"{k}={quote(v)}" for k, v in stage.params.items())
