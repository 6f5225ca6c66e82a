"""One self-contained HTML page about a run: no script, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from fsframe.contracts.params import format_value
from fsframe.evaluation.recorded import protocol_name, recorded_evaluation, recorded_stability
from fsframe.evaluation.summary import Measure
from fsframe.report.figures import figures
from fsframe.report.pair_naming import pair_test_words, pair_weight_words
from fsframe.storage import RunRecord, printable

__all__ = ["report_page"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1a202c; }
h1 { font-size: 1.5rem; margin-bottom: 0.2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; }
th, td { padding: 0.15rem 0.9rem 0.15rem 0; text-align: left; }
th { border-bottom: 1px solid #a0aec0; } td.number { text-align: right; }
figure { margin: 1rem 0; } figcaption, .quiet { color: #4a5568; }
svg { max-width: 100%; height: auto; }
.warning { border-left: 4px solid #dd6b20; padding-left: 0.8rem; } code { background: #edf2f7; }
"""
_MOST = 50


def report_page(record: RunRecord, path: Path | None = None) -> str:
    """The page as HTML text.

    Parameters
    ----------
    record : RunRecord
    path : Path, optional
        The run file, named at the foot.

    Raises
    ------
    PluginError
        If matplotlib is not installed.
    """
    body = "\n".join(_body(record, path))
    title = _safe(f"{record.chain} on {record.data.name}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _body(record: RunRecord, path: Path | None) -> Iterator[str]:
    data = record.data
    kept = f"{record.selected.size} of {record.n_features} features kept"
    yield f"<h1>{_safe(data.name)}: {kept}</h1>"
    classes = f", {len(data.class_names)} classes" if data.class_names else ""
    yield (
        f'<p class="quiet"><code>{_safe(record.chain)}</code> on {record.n_samples} samples × '
        f"{record.n_features} features{classes}; seed {record.seed}, {_safe(record.created)}</p>"
    )
    told = record.all_warnings()
    for warning in told[:_MOST]:
        yield f'<p class="warning">{_safe(warning)}</p>'
    if len(told) > _MOST:
        yield f'<p class="quiet">… and {len(told) - _MOST} warnings more in the run file.</p>'
    yield from _measured(record)
    for figure in figures(record):
        yield f"<h2>{_safe(figure.heading)}</h2>"
        yield f"<figure>{figure.svg}<figcaption>{_safe(figure.caption)}</figcaption></figure>"
    yield "<h2>Kept features</h2>"
    names = record.feature_names
    yield from _table(
        ["rank", "feature", "score"],
        [
            [str(rank), names[c], f"{record.scores[c]:.4g}"]
            for rank, c in enumerate(record.selected[:_MOST], start=1)
        ],
    )
    if record.selected.size > _MOST:
        yield f'<p class="quiet">… and {record.selected.size - _MOST} more in the run file.</p>'
    if record.n_pairs:
        what, how = pair_weight_words(record)
        yield f"<h2>Pairs by {escape(what)}</h2>"
        if how:
            yield f'<p class="quiet">{escape(how)}.</p>'
        yield from _pairs(record)
    yield "<h2>How it was made</h2>"
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
    )
    same = "Digests: equal data, chain and seed give equal ones on the same kind of processor."
    yield f'<p class="quiet">{same}</p>'
    yield from _table(["part", "SHA-256"], [[k, v] for k, v in record.digests().items()])
    plain = {k: v for k, v in record.environment.items() if not isinstance(v, Mapping)}
    versions = ", ".join(f"{k} {v}" for k, v in plain.items())
    where = f"; run file {_safe(str(path))}" if path is not None else ""
    yield f'<p class="quiet">{_safe(versions)}{where}</p>'


def _pairs(record: RunRecord) -> Iterator[str]:
    """The pairs of the largest weights, and what testing them found."""
    names, tests = record.feature_names, record.pair_tests
    header, rows = ["feature", "with", "weight"], []
    for a, b, weight in record.strongest_pairs(_MOST):
        row = [names[a], names[b], f"{weight:.4g}"]
        if tests is not None:
            tested = tests.found.of(a, b)
            row += ["—", "—"] if tested is None else [f"{value:.2g}" for value in tested]
        rows.append(row)
    yield from _table(header if tests is None else [*header, "p", "q"], rows)
    if tests is not None:
        yield f'<p class="quiet">{escape(pair_test_words(record))}</p>'


def _figure(label: str, measure: Measure) -> list[str]:
    known, error = measure.mean == measure.mean, measure.standard_error
    spread = f"± {error:.4f}" if error == error else measure.undefined
    if measure.interval is not None:
        spread += ", 95 % from {:.3f} to {:.3f}".format(*measure.interval)
    return [label, f"{measure.mean:.4f}" if known else "—", spread]


def _measured(record: RunRecord) -> Iterator[str]:
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
        yield f"<h2>How well it does on rows it has not seen ({found.n_splits} splits)</h2>"
    elif name == "stability-study":
        metrics = recorded_stability(record).tables.metrics
        rows += [_stable(metric.name, metric.value, metric.interval) for metric in metrics]
        yield "<h2>How stable the choice is</h2>"
    else:
        return
    yield from _table(["measure", "value", ""], rows)


def _stable(name: str, value: float, interval: Any) -> list[str]:
    bounds = "" if interval is None else "95 % from {:.3f} to {:.3f}".format(*interval)
    return [f"stability {name}", f"{value:.3f}" if value == value else "—", bounds]


def _safe(text: str) -> str:
    return escape(printable(text))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "<table><tr>" + "".join(f"<th>{_safe(cell)}</th>" for cell in header) + "</tr>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in row) + "</tr>"
    yield "</table>"
