"""One self-contained HTML page about one run or several, without external resources."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from fsframe.errors import PluginError, RequestError
from fsframe.evaluation.recorded import RecordedEvaluation, recorded_protocol
from fsframe.registry import report_sections
from fsframe.show.section import About, Bullets, Picture, Table, Text
from fsframe.show.sections import figures_of_several
from fsframe.show.verdicts import heading, measure_words, verdict_of_several
from fsframe.storage import RunRecord
from fsframe.table.dataset import Dataset
from fsframe.text import safe

_MOST_RUNS = 20


def report_page(record: RunRecord, path: Path | None = None, data: Dataset | None = None) -> str:
    """The page about a run as HTML text.

    Parameters
    ----------
    record : RunRecord
    path : Path, optional
        The run file, named at the foot.
    data : Dataset, optional
        Its table, for means, directions and plots of values.

    Returns
    -------
    str
        Complete without scripts; with them, its tables sort and filter.

    Raises
    ------
    DataError
        If `data` is another table.
    """
    if data is not None:
        record.require_table(data)
    body = [
        f"<h1>{escape(heading(record))}</h1>",
        *_facts(record),
        *_sections(About(record=record, path=path, data=data)),
    ]
    return page_text(f"{record.chain} on {record.data.name}", body)


def report_page_of_several(runs: Sequence[tuple[RunRecord, Path | None]]) -> str:
    """The page about several runs: what they have in common, then each run.

    Parameters
    ----------
    runs : sequence of (RunRecord, Path)
        Two to twenty.

    Raises
    ------
    RequestError
        If there are fewer or more.
    """
    if not 2 <= len(runs) <= _MOST_RUNS:
        raise RequestError(f"a page covers one run, or 2 to {_MOST_RUNS} runs, not {len(runs)}")
    records = [record for record, _ in runs]
    first, second = verdict_of_several(records)
    pictures = map(Picture, figures_of_several(records))
    about_all = About(record=records[0], prefix="all")
    body = [
        f"<h1>{len(runs)} runs side by side</h1>",
        f'<p class="verdict">{escape(first)} {escape(second)}</p>',
        *_overview(records),
        *(line for picture in pictures for line in picture.lines(about_all)),
    ]
    for number, (record, path) in enumerate(runs, start=1):
        body.append(f'<section><h2 id="run-{number}">{number}. {escape(heading(record))}</h2>')
        about = About(record=record, path=path, level=3, prefix=f"run{number}")
        body += [*_facts(record), *_sections(about), "</section>"]
    return page_text(f"{len(runs)} runs", body)


def page_text(title: str, body: Iterable[str]) -> str:
    """A whole page around the lines of its body, with its style, its script and its policy."""
    style, script = (
        (files("fsframe.show") / name).read_text("utf-8") for name in ("page.css", "page.js")
    )
    digest = base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode()
    # The browser runs only this script, whatever names in files contain.
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'"
    )
    text = "\n".join(body)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{safe(title)}</title><style>\n{style}</style></head>\n"
        f"<body>\n<main>\n{text}\n</main>\n<script>\n{script}</script>\n</body></html>\n"
    )


def _facts(record: RunRecord) -> Iterator[str]:
    classes = f", {len(record.class_names)} classes" if record.class_names else ""
    yield (
        f'<p class="quiet"><code>{safe(record.chain)}</code> on {record.n_samples} samples × '
        f"{record.n_features} features{classes}; seed {record.seed}, {safe(record.created)}</p>"
    )


def _sections(about: About) -> Iterator[str]:
    """The sections about one run, as offered by plugins, ordered by place."""
    offers: list[Any] = sorted(report_sections.offers(), key=lambda o: (o.entry.place, o.name))
    missing = [p for p in report_sections.unusable() if p.source.bundled]
    for plugin in missing:
        note = f"The sections of the plugin {plugin.name} are missing: it is {plugin.status}."
        yield from Text(note, "quiet").lines(about)
    for offer in offers:
        try:
            yield from report_sections[offer.name]().lines(about)
        except PluginError as error:
            if offer.plugin.source.bundled:
                raise
            # A failing section of another plugin does not prevent the page.
            yield from Bullets([str(error)], "warnings").lines(about)


def _overview(records: Sequence[RunRecord]) -> Iterator[str]:
    """One line for each run."""
    rows = []
    for number, record in enumerate(records, start=1):
        protocol, leading, phi = recorded_protocol(record), "—", "—"
        chain = record.chain if protocol is None else protocol.base
        if isinstance(protocol, RecordedEvaluation):
            first = protocol.found.leading
            leading = f"{measure_words(first.name)} {first.mean:.3f}"
            phi = f"{protocol.found.stability.value:.3f}"
        kept = str(record.selected.size)
        rows.append([str(number), chain, record.data.name, kept, leading, phi, str(record.seed)])
    header = ["run", "chain", "table", "kept", "quality", "stability φ", "seed"]
    yield from Table(header, rows, "runs", {0, 3, 4, 5, 6}).lines(About(record=records[0]))
