"""BibTeX of the publications that the entries of methods and measures declare."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Iterable, Iterator

from fsframe.errors import FsframeError, RequestError
from fsframe.grammar import parse_stages
from fsframe.registry import classifiers, find_offer, measures, selectors
from fsframe.text import tex

# "Title, Journal 29(6):1035-1051"; title, number and pages are optional.
_ARTICLE = re.compile(
    r"(?:(?P<title>.+), )?(?P<journal>[^,:;()]+?) (?P<volume>(?:[A-Z]-)?\d+)"
    r"(?:\((?P<number>\d+)\))?(?::(?P<pages>[A-Za-z]*\d+(?:[-–]+\d+)?))?"
)
_IN_PROCEEDINGS = re.compile(
    r"(?P<title>.+), (?P<booktitle>[^,:;()]+), pp\. (?P<pages>\d+[-–]+\d+)"
)
_IDENTIFIERS = {
    "doi": re.compile(r"\bdoi:\s*(10\.\d+/\S+[^\s.,;)])"),
    "eprint": re.compile(r"\barXiv:\s*((?:[a-z-]+/)?[\d.]*\d)"),
    "isbn": re.compile(r"\bISBN ([\d-]+[\dX])"),
}
_PLACE = re.compile(r", ((?:eq\.|ch\.|Algorithm|Figure) [\d.]+)$")
_YEAR = re.compile(r"\b(1[89]\d\d|20\d\d)\b")


def references_of(chains: Iterable[str], metrics: Iterable[str]) -> dict[str, str]:
    """References declared by the methods in `chains`, nested ones too, and by the measures.

    Returns
    -------
    mapping of str to str
        References by name, those of measures by their text in `metrics`; methods that are not
        installed or declare none are left out.
    """
    references: dict[str, str] = {}
    for text in chains:
        for name in _names(text):
            try:
                reference = find_offer(name, selectors, classifiers)[1].entry.reference
            except FsframeError:
                continue
            if reference:
                references[name] = reference
    for text in metrics:
        try:
            offer = find_offer(parse_stages(text)[0].name, measures)[1]
        except FsframeError:
            continue
        if offer.entry.reference:
            references[text] = offer.entry.reference
    return references


def _names(text: str) -> Iterator[str]:
    """The methods of a chain, each followed by those of its base, if that can be read."""
    for stage in parse_stages(text):
        yield stage.name
        if base := stage.params.get("base"):
            with contextlib.suppress(RequestError):
                yield from _names(base)


def cited_keys(reference: str) -> list[str]:
    """Keys of the publications that a reference names, such as ``peng2005``.

    >>> cited_keys("John, Kohavi, Pfleger 1994, ICML; Kohavi, John 1997, Artif. Intell. 97:273")
    ['john1994', 'kohavi1997']
    """
    return [key for key, _ in _publications(reference)]


def _publications(reference: str) -> list[tuple[str, str]]:
    """(key, text) of each publication; the key is its first word and, if it has one, its year."""
    parts = []
    for text in publications(reference):
        if first := re.match(r"[^\W\d_]+", text):
            year = _YEAR.search(text)
            parts.append((_plain(first[0]) + (year[0] if year else ""), text))
    return parts


def publications(reference: str) -> list[str]:
    """The publications of a reference, which ``"; "`` separates."""
    return [part.strip() for part in re.split(r";\s", reference) if part.strip()]


def identifiers(publication: str) -> dict[str, str]:
    """The DOI, arXiv number (``eprint``) and ISBN that a publication gives.

    >>> identifiers("Breiman 2001, Random forests, Mach. Learn. 45:5, doi:10.1023/A:1010933404324")
    {'doi': '10.1023/A:1010933404324'}
    """
    matches = {name: pattern.search(publication) for name, pattern in _IDENTIFIERS.items()}
    return {name: match[1] for name, match in matches.items() if match}


def _plain(word: str) -> str:
    spelled = unicodedata.normalize("NFKD", word.lower())
    return "".join(c for c in spelled if c.isascii() and c.isalpha()) or "reference"


def bibtex_of(references: Iterable[str]) -> str:
    """BibTeX records of all publications in references, one for each key, in order.

    Examples
    --------
    >>> print(bibtex_of(["Hand, Till 2001, Machine Learning 45:171"]))
    @article{hand2001,
      author = {Hand and Till},
      year = {2001},
      journal = {Machine Learning},
      volume = {45},
      pages = {171}
    }
    """
    records: dict[str, str] = {}
    for reference in references:
        for key, text in _publications(reference):
            records.setdefault(key, _record(key, text))
    return "\n\n".join(records.values())


def _record(key: str, text: str) -> str:
    """One reference as a record: authors, year, publication, identifiers, place within it.

    It is an article if a journal, a volume, and a number or pages are given, part of proceedings if
    a book title and pages are given; otherwise the publication is a single field.
    """
    year = _YEAR.search(text)
    fields, rest = [], text
    if year and _are_names(text[: year.start()]):
        rest = text[year.end() :]
        names = text[: year.start()].replace("et al.", ", others")
        people = [name.strip() for name in re.split(r",|&|\band\b", names)]
        fields.append(("author", " and ".join(person for person in people if person)))
    if year:
        fields.append(("year", year[0]))
    place = _PLACE.search(rest)
    publication = _PLACE.sub("", rest)
    for pattern in _IDENTIFIERS.values():
        publication = pattern.sub("", publication)
    publication, kind = publication.strip(" ,.:"), "misc"
    if (article := _ARTICLE.fullmatch(publication)) and (article["number"] or article["pages"]):
        kind, details = "article", article.groupdict()
    elif part := _IN_PROCEEDINGS.fullmatch(publication):
        kind, details = "inproceedings", part.groupdict()
    else:
        details = {"howpublished": publication}
    if details.get("pages"):
        details["pages"] = re.sub("[-–]+", "--", details["pages"])
    fields += [(name, tex(value)) for name, value in details.items() if value]
    fields += list(identifiers(rest).items())
    if place:
        fields.append(("note", place[1]))
    body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields)
    return f"@{kind}{{{key},\n{body}\n}}"


def _are_names(text: str) -> bool:
    """Whether `text` is a list of family names: capitalised words and separators."""
    words = re.split(r"[\s,&]+", text.replace("et al.", "").strip(" ,"))
    return bool(words) and all(
        word[:1].isupper() or word in ("and", "de", "van", "von", "der") for word in words if word
    )
