"""Names made safe to print: a file may hold names with control sequences."""

from __future__ import annotations

import unicodedata

# Control, format (bidirectional overrides among them), surrogate, private, unassigned,
# line and paragraph separators.
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
        Cut the result to so many characters, the last being an ellipsis.

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
