"""One self-contained HTML page about one run or several: nothing is fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from fsframe.contracts.answer import AnswerTable
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import format_value
from fsframe.errors import RequestError
from fsframe.evaluation.recorded import protocol_name, recorded_evaluation, recorded_stability
from fsframe.evaluation.summary import Measure
from fsframe.report.figures import Figure, figures, figures_of_several
from fsframe.report.methods_text import checklist, commands, methods_paragraph, references
from fsframe.report.pair_naming import pair_test_words, pair_weight_words
from fsframe.report.style import SCRIPT, STYLE
from fsframe.report.verdict import heading, verdict, verdict_of_several
from fsframe.storage import RunRecord, printable

__all__ = ["report_page", "report_page_of_several"]

_WARNINGS = 50
_ROWS = 1000
_MOST_RUNS = 20
_STATES = {"yes": "yes", "no": "no", "open": "for you to say", "n/a": "does not apply"}
_COLUMNS = {
    "frequency_low": "from",
    "frequency_high": "to",
    "with": "and",
}


def report_page(record: RunRecord, path: Path | None = None, data: Dataset | None = None) -> str:
    """The page about a run as HTML text.

    Parameters
    ----------
    record : RunRecord
    path : Path, optional
        The run file, named at the foot.
    data : Dataset, optional
        Its table, for means, directions and pictures of values.

    Returns
    -------
    str
        Complete without scripts; with them, its tables sort and filter.

    Raises
    ------
    DataError
        If `data` is another table.
    PluginError
        If matplotlib is not installed.
    """
    if data is not None:
        record.require_table(data)
    body = [
        f"<h1>{escape(heading(record))}</h1>",
        *_facts(record),
        *_section(record, path, data, 2),
    ]
    return _page(f"{record.chain} on {record.data.name}", body)


def report_page_of_several(runs: Sequence[tuple[RunRecord, Path | None]]) -> str:
    """The page about several runs: what they have in common, then each by itself.

    Parameters
    ----------
    runs : sequence of (RunRecord, Path)
        Two to twenty.

    Raises
    ------
    RequestError
        If there are fewer or more.
    PluginError
        If matplotlib is not installed.
    """
    if not 2 <= len(runs) <= _MOST_RUNS:
        raise RequestError(f"a page is about one run, or 2 to {_MOST_RUNS}, not {len(runs)}")
    records = [record for record, _ in runs]
    first, second = verdict_of_several(records)
    body = [
        f"<h1>{len(runs)} runs beside each other</h1>",
        f'<p class="verdict">{escape(first)} {escape(second)}</p>',
        *_overview(records),
        *_drawn(figures_of_several(records), 2, "all"),
    ]
    for number, (record, path) in enumerate(runs, start=1):
        body.append(f'<section><h2 id="run-{number}">{number}. {escape(heading(record))}</h2>')
        body += [*_facts(record), *_section(record, path, None, 3, f"run{number}"), "</section>"]
    return _page(f"{len(runs)} runs", body)


def _page(title: str, body: Iterable[str]) -> str:
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    # Whatever a name in a file might smuggle in, the browser runs this one script alone.
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
        f"<title>{_safe(title)}</title><style>{STYLE}</style></head>\n"
        f"<body>\n<main>\n{text}\n</main>\n<script>{SCRIPT}</script>\n</body></html>\n"
    )


def _facts(record: RunRecord) -> Iterator[str]:
    classes = f", {len(record.class_names)} classes" if record.class_names else ""
    yield (
        f'<p class="quiet"><code>{_safe(record.chain)}</code> on {record.n_samples} samples × '
        f"{record.n_features} features{classes}; seed {record.seed}, {_safe(record.created)}</p>"
    )


def _section(
    record: RunRecord, path: Path | None, data: Dataset | None, level: int, prefix: str = "run"
) -> Iterator[str]:
    """Everything about one run, below its heading."""
    yield f'<p class="verdict">{_marked(" ".join(verdict(record)))}</p>'
    yield from _warned(record, level)
    yield from _measured(record, level)
    yield from _drawn(figures(record, data), level, prefix)
    yield from _features(record, data, level)
    yield from _pairs(record, level)
    yield from _checked(record, level)
    yield from _methods(record, level)
    yield from _made(record, path, level)


def _warned(record: RunRecord, level: int) -> Iterator[str]:
    told = record.all_warnings()
    if not told:
        return
    yield f"<h{level}>What weakens this result</h{level}>"
    yield '<ul class="warnings">'
    yield from (f"<li>{_safe(warning)}</li>" for warning in told[:_WARNINGS])
    yield "</ul>"
    if len(told) > _WARNINGS:
        yield f'<p class="quiet">… and {len(told) - _WARNINGS} warnings more in the run file.</p>'


def _drawn(pictures: Iterable[Figure], level: int, prefix: str) -> Iterator[str]:
    for picture in pictures:
        caption = _safe(picture.caption)
        label = _safe(f"{picture.heading}. {picture.caption}")
        # Identifiers of one run's pictures are not those of another's.
        svg = (
            picture.svg.replace('id="', f'id="{prefix}-')
            .replace('href="#', f'href="#{prefix}-')
            .replace("url(#", f"url(#{prefix}-")
            .replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
        )
        yield f"<h{level}>{_safe(picture.heading)}</h{level}>"
        yield (
            '<figure><div class="scroll" tabindex="0" role="region" '
            f'aria-label="{_safe(picture.heading)}, picture">{svg}</div>'
            f"<figcaption>{caption}</figcaption></figure>"
        )


def _features(record: RunRecord, data: Dataset | None, level: int) -> Iterator[str]:
    if not any(stage.selection is not None for stage in record.stages):
        return
    yield f"<h{level}>Features</h{level}>"
    table = record.feature_table(data)
    yield from _answer("features", table, "fsframe table RUN")


def _pairs(record: RunRecord, level: int) -> Iterator[str]:
    table = record.pair_table()
    if not len(table):
        return
    what, how = pair_weight_words(record)
    yield f"<h{level}>Pairs by {escape(what)}</h{level}>"
    words = " ".join(text for text in (f"{how}." if how else "", pair_test_words(record)) if text)
    if words:
        yield f'<p class="quiet">{_marked(words)}</p>'
    yield from _answer("pairs", table, "fsframe table RUN --pairs")


def _answer(name: str, table: AnswerTable, command: str) -> Iterator[str]:
    shown = table.head(_ROWS)
    cells = [[_cell(value) for value in shown.cells(column)] for column in shown.columns]
    numbers = {k for k, column in enumerate(shown.columns.values()) if column.dtype.kind in "if"}
    header = [_COLUMNS.get(c, c.replace("_", " ")) for c in shown.columns]
    yield from _table(header, list(zip(*cells, strict=True)), name, numbers)
    if len(table) > _ROWS:
        yield (
            f'<p class="quiet">The first {_ROWS} of {len(table)}; <code>{command}</code> has all.'
            "</p>"
        )


def _cell(value: Any) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    # No minus before a zero.
    return "∞" if value >= 1.7e308 else f"{value + 0.0:.4g}"


def _checked(record: RunRecord, level: int) -> Iterator[str]:
    yield f"<h{level}>Checklist: leaks, and what a reader may ask</h{level}>"
    yield (
        '<p class="quiet">Items of REFORMS (Kapoor et al. 2024, Sci. Adv. 10:eadk3452) and '
        "TRIPOD+AI (Collins et al. 2024, BMJ 385:e078378) that a run can speak to, filled from "
        "what it knows.</p>"
    )
    rows = [[i.question, _STATES[i.state], i.answer, i.source] for i in checklist(record)]
    yield from _table(["question", "answer", "what the run knows", "from"], rows, "checklist")


def _methods(record: RunRecord, level: int) -> Iterator[str]:
    yield f"<h{level}>For the methods section</h{level}>"
    yield f"<p>{_marked(methods_paragraph(record))}</p>"
    sources = references(record)
    if sources:
        yield "<ol>"
        yield from (f"<li>{_safe(name)}: {_safe(source)}</li>" for name, source in sources)
        yield "</ol>"


def _made(record: RunRecord, path: Path | None, level: int) -> Iterator[str]:
    yield f"<h{level}>How it was made</h{level}>"
    lines = "\n".join(
        escape(line) for line in commands(record, None if path is None else str(path))
    )
    yield f'<pre tabindex="0" role="region" aria-label="commands"><code>{lines}</code></pre>'
    yield from _table(
        ["stage", "from", "features in", "kept", "seconds", "parameters"],
        [
            [
                stage.name,
                f"{stage.provider} {stage.provider_version}",
                str(stage.features_in.size),
                "—" if stage.selection is None else str(stage.selection.selected.size),
                f"{stage.seconds:.2f}",
                ", ".join(
                    f"{k}={format_value(v)}" for k, v in stage.params.items() if v is not None
                ),
            ]
            for stage in record.stages
        ],
        "stages",
        {2, 3, 4},
    )
    table = f"{record.data.source or record.data.name}, SHA-256 {record.data.sha256}"
    yield f'<p class="quiet">Table: <span class="long">{_safe(table)}</span></p>'
    same = "Digests: equal data, chain and seed give equal ones on the same kind of processor."
    yield f'<p class="quiet">{same}</p>'
    yield from _table(["part", "SHA-256"], [[k, v] for k, v in record.digests().items()], "digests")
    plain = {k: v for k, v in record.environment.items() if not isinstance(v, Mapping)}
    versions = ", ".join(f"{k} {v}" for k, v in plain.items())
    where = f"; run file {_safe(str(path))}" if path is not None else ""
    yield f'<p class="quiet">{_safe(versions)}{where}</p>'


def _overview(records: Sequence[RunRecord]) -> Iterator[str]:
    """One line for each run."""
    rows = []
    for number, record in enumerate(records, start=1):
        protocol, accuracy, phi = protocol_name(record), "—", "—"
        chain = record.chain
        if protocol == "cross-validation":
            recorded = recorded_evaluation(record)
            chain = recorded.base
            accuracy = f"{recorded.found.measures['accuracy'].mean:.3f}"
            phi = f"{recorded.found.stability.value:.3f}"
        elif protocol == "stability-study":
            chain = recorded_stability(record).base
        kept = str(record.selected.size)
        rows.append([str(number), chain, record.data.name, kept, accuracy, phi, str(record.seed)])
    header = ["run", "chain", "table", "kept", "accuracy", "stability φ", "seed"]
    yield from _table(header, rows, "runs", {0, 3, 4, 5, 6})


def _figure(label: str, measure: Measure) -> list[str]:
    known, error = measure.mean == measure.mean, measure.standard_error
    spread = f"± {error:.4f}" if error == error else measure.undefined
    if measure.interval is not None:
        spread += ", 95 % from {:.3f} to {:.3f}".format(*measure.interval)
    return [label, f"{measure.mean:.4f}" if known else "—", spread]


def _measured(record: RunRecord, level: int) -> Iterator[str]:
    """What an evaluation or a study of stability at the end of the chain has found."""
    name = protocol_name(record)
    rows = []
    if name == "cross-validation":
        found = recorded_evaluation(record).found
        for label, measure in found.measures.items():
            rows.append(_figure(label, measure))
            if label == "accuracy":
                rows.append(["of the larger class", f"{found.baseline.mean:.4f}", ""])
                if found.all_features is not None:
                    rows.append(_figure("with all features", found.all_features))
        rows.append(["features kept", f"{found.kept.mean():.1f}", ""])
        rows.append(_stable("φ", found.stability.value, found.stability.interval))
        title = f"How well it does on rows it has not seen ({found.n_splits} splits)"
    elif name == "stability-study":
        metrics = recorded_stability(record).tables.metrics
        rows += [_stable(metric.name, metric.value, metric.interval) for metric in metrics]
        title = "How stable the choice is"
    else:
        return
    yield f"<h{level}>{title}</h{level}>"
    yield from _table(["measure", "value", "uncertainty"], rows, "measures", {1})


def _stable(name: str, value: float, interval: Any) -> list[str]:
    bounds = "" if interval is None else "95 % from {:.3f} to {:.3f}".format(*interval)
    return [f"stability {name}", f"{value:.3f}" if value == value else "—", bounds]


def _marked(text: str) -> str:
    """Text with what stands between backquotes as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _safe(text: str) -> str:
    return escape(printable(text))


def _table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    name: str,
    numbers: Iterable[int] = (),
) -> Iterator[str]:
    """A table that scrolls by itself where it is wider than the page."""
    right = set(numbers)
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{_safe(name)}">'
    cells = "".join(
        f'<th scope="col"{" class=n" if k in right else ""}>{_safe(cell) or "&nbsp;"}</th>'
        for k, cell in enumerate(header)
    )
    yield f'<table data-name="{_safe(name)}"><thead><tr>{cells}</tr></thead><tbody>'
    for row in rows:
        yield (
            "<tr>"
            + "".join(
                f"<td class=n>{_safe(cell)}</td>" if k in right else f"<td>{_safe(cell)}</td>"
                for k, cell in enumerate(row)
            )
            + "</tr>"
        )
    yield "</tbody></table></div>"
