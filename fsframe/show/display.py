"""Any run as text and as JSON: its table, stages, features, pairs, and its protocol if any."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.atomic import place_file
from fsframe.errors import RequestError
from fsframe.method.selection import rank_by_score
from fsframe.params import format_value
from fsframe.registry import classifiers, selectors
from fsframe.show.protocols import ShownProtocol, shown_protocol
from fsframe.show.verdicts import (
    covariates,
    decisions,
    doubtful,
    interacting,
    known_offer,
    pair_test_words,
    pair_weight_words,
    stated,
    statements,
)
from fsframe.storage import RunRecord, StageRecord
from fsframe.storage.checked_tables import clusters
from fsframe.table.roles import side_roles
from fsframe.text import (
    Rows,
    counted,
    csv_text,
    facts,
    printable,
    shown_width,
    some_of,
    table_lines,
    wrapped,
)

_PAIRS_SHOWN, _FEW_PAIRS = 10, 3
_EFFECT = ("effect", "standard_error")
# In the JSON object; the run file has all.
_PAIRS_LISTED = 1000
_FEATURES_SHOWN = 30
_FREQUENCIES_SHOWN = 15
_WARNINGS_SHOWN = 100
_WIDTH = 80
_VERDICT_NAMES = 6
_BAR = 16
_LEAST_BAR = 4
_CLUSTERS_SHOWN = 10
_MEMBERS_SHOWN = 4
_LONGEST_VALUE = 300


def result_object(record: RunRecord, path: Path | None) -> dict[str, Any]:
    """The record as one object for ``--json``, which writes NaN scores as null."""
    names = record.feature_names
    return {
        "chain": record.chain,
        "run_file": None if path is None else str(path),
        "data": {
            **facts(record.data, "name", "sha256", "label"),
            **facts(record, "n_samples", "groups", "n_features"),
            "classes": record.class_names,
        },
        "seed": record.seed,
        "selected": record.selected_names,
        "scores": dict(zip(names, record.scores.tolist(), strict=True)),
        "pairs": [[names[a], names[b], w] for a, b, w in record.strongest_pairs(_PAIRS_LISTED)],
        "n_pairs": record.n_pairs,
        "pair_tests": _tests_object(record),
        "warnings": record.all_warnings(),
        "statements": [
            {
                "stage": stage,
                **facts(said, "word", "kind"),
                "sentence": said.sentence(stage, covariates(record)),
            }
            for stage, said in stated(record)
        ],
        "stages": [
            {
                **facts(stage, "name", "provider", "provider_version", "params"),
                "n_features_in": stage.features_in.size,
                "selected": stage.selection and [names[c] for c in stage.selection.selected],
                "seconds": stage.seconds,
            }
            for stage in record.stages
        ],
        "digests": record.digests(),
    }


def _tests_object(record: RunRecord) -> dict[str, Any] | None:
    """The tests of pairs, the smallest p first; None if there are none."""
    if record.pair_tests is None:
        return None
    tests, names = record.pair_tests.tests, record.feature_names
    listed = zip(tests.pairs, tests.p_values, tests.q_values, strict=True)
    sizes = [tests.tables[name] for name in _EFFECT if name in tests.tables]
    return {
        "method": record.pair_tests.name,
        "provider": record.pair_tests.provider,
        "features": [names[column] for column in tests.columns],
        **facts(tests, "n_tested", "n_chosen_from"),
        "pairs": [
            [names[a], names[b], float(p), float(q)]
            for (a, b), p, q in islice(listed, _PAIRS_LISTED)
        ],
        "effects": [
            [float(size) if np.isfinite(size) else None for size in of_pair]
            for of_pair in islice(zip(*sizes, strict=True), _PAIRS_LISTED)
        ],
    }


def closing_lines(record: RunRecord, path: Path | None) -> Iterator[str]:
    """The lines below every result: warnings, and the path of the run file."""
    if record.all_warnings():
        yield ""
        yield from warning_lines(record, _WARNINGS_SHOWN, "--json")
    if path is not None:
        yield ""
        yield f"run file: {path}"


def warning_lines(record: RunRecord, most: int, where: str) -> Iterator[str]:
    """At most `most` warnings, one per line; `where` names the place that has them all."""
    warnings = record.all_warnings()
    yield from (f"warning: {warning}" for warning in warnings[:most])
    if len(warnings) > most:
        yield f"… and {len(warnings) - most} more warnings ({where} has all)"


def _row_roles(record: RunRecord) -> str:
    """The groups of rows, the time column, the row weights and the covariates, if there are any."""
    time, weights = record.environment.get("time"), record.environment.get("weights")
    roles = ""
    if record.groups is not None:
        roles += f" in {record.groups[1]} groups ({printable(record.groups[0])})"
    if isinstance(time, str):
        roles += f" in the order of {printable(time)}"
    if isinstance(weights, dict) and isinstance(weights.get("name"), str):
        roles += f" with weights ({printable(weights['name'])})"
    if adjusted := covariates(record):
        roles += f", adjusted for {', '.join(adjusted)},"
    for role in side_roles():
        if role.name not in ("time", "adjust") and (given := record.environment.get(role.name)):
            names = map(str, given if isinstance(given, list) else [given])
            roles += f", {role.fact.format(', '.join(map(printable, names)))},"
    return roles


def _feature_roles(record: RunRecord) -> str:
    """The features that are always kept and the groups of features, if there are any."""
    kept, groups = record.environment.get("keep"), record.environment.get("feature_groups")
    roles = []
    if isinstance(kept, list) and kept:
        roles.append(f"{some_of([printable(str(name)) for name in kept], 3)} always kept")
    if isinstance(groups, dict) and groups:
        roles.append(f"in {counted(len(groups), 'group')} kept or dropped whole")
    return f" ({'; '.join(roles)})" if roles else ""


def table_facts(record: RunRecord) -> str:
    """The table of a run in words: its size, roles and label."""
    return ", ".join(filter(None, (size_facts(record), label_facts(record))))


def size_facts(record: RunRecord) -> str:
    """Numbers of samples and features, with groups and other roles of rows and columns."""
    samples = f"{counted(record.n_samples, 'sample')}{_row_roles(record)}"
    return f"{samples} × {counted(record.n_features, 'feature')}{_feature_roles(record)}"


def label_facts(record: RunRecord) -> str:
    """The label, such as ``label: class (2 classes: ill, well)``."""
    label = f"label: {printable(record.data.label)}" if record.data.label else ""
    if record.class_names:
        labels = ", ".join(printable(label) for label in record.class_names[:6])
        more = ", …" if len(record.class_names) > 6 else ""
        classes = counted(len(record.class_names), "class")
        return f"{label} ({classes}: {labels}{more})".lstrip()
    return f"{label} ({record.data.task})" if label else ""


def stage_lines(record: RunRecord) -> Iterator[str]:
    """The stages from left to right: how many features each saw and kept."""
    for place, stage in enumerate(record.stages):
        if stage.selection is None:
            seen = stage.features_in.size
            yield f"{stage.name}: fitted on {counted(seen, 'feature')}, {stage.seconds:.2f} s"
        else:
            kept, seen = stage.selection.selected.size, stage.features_in.size
            of = counted(seen, "feature") + _repeating(record, place)
            yield f"{stage.name}: kept {kept} of {of}, {stage.seconds:.2f} s"
    for sentence in statements(record):
        yield from wrapped(sentence)


def _repeating(record: RunRecord, place: int) -> str:
    """A note that a wrapping stage repeats those on its left and sees their columns; else empty."""
    stage, before = record.stages[place], record.stages[:place]
    offer = known_offer(stage.name, selectors)
    if stage.params.get("base") or not before or not getattr(offer and offer.entry, "wraps", False):
        return ""
    left = " ".join(each.name for each in before)
    return f" (repeats {printable(left)} on resamples)"


def _more(number: int, where: str, path: Path | None) -> str:
    """The line for what is not shown; `where` has all, if the run has a file."""
    return f"… and {number} more" + (f" ({where} has all)" if path is not None else "")


def feature_lines(record: RunRecord, path: Path | None) -> Iterator[str]:
    if not record.selected.size:
        yield "No feature was kept."
        return
    header, rows, right = feature_rows(record)
    lines = list(table_lines(header, rows, right=right))
    room = min(_BAR, _WIDTH - 2 - max(map(shown_width, lines)))
    if room >= _LEAST_BAR:
        bars = _bars(record.scores[record.selected[:_FEATURES_SHOWN]], room)
        lines = list(
            table_lines([*header, ""], [[*r, b] for r, b in zip(rows, bars, strict=True)], right)
        )
    yield from lines
    if record.selected.size > _FEATURES_SHOWN:
        yield _more(record.selected.size - _FEATURES_SHOWN, "`fsframe table`", path)
    yield from _number_lines(record)


def _number_lines(record: RunRecord) -> Iterator[str]:
    """The meaning of score, p and q, if there is a p or a q."""
    columns = record.feature_table().columns
    if "p" not in columns or np.isnan(columns["p"]).all():
        if "q" in columns:
            yield from wrapped(
                "q: the lowest bound on the share of false features among the kept ones at which "
                "this feature is still kept."
            )
        yield from _order_lines(record)
        return
    p, scores = columns["p"], columns["score"]
    known = (p > 0) & (scores < sys.float_info.max)
    logs = known.any() and np.allclose(scores[known], -np.log10(p[known]), rtol=1e-6, atol=1e-9)
    score_note = "score: −log₁₀ p. " if logs else ""
    yield from wrapped(
        f"{score_note}p: probability of such a result if the label carried no information. q: p "
        f"adjusted for {counted(int((~np.isnan(p)).sum()), 'tested feature')}."
    )


def _order_lines(record: RunRecord) -> Iterator[str]:
    """Why scores rise with the rank, if they do."""
    rises = bool((np.diff(record.scores[record.selected]) > 0).any())
    name = record.stages[-1].name
    if rises and name in selectors and selectors[name].greedy:
        yield from wrapped(
            "rank: the order in which the features were chosen. score: the value of the criterion "
            "when the feature was chosen, given those above it, so it may rise from rank to rank."
        )


def verdict_lines(record: RunRecord) -> Iterator[str]:
    """The three verdicts of a test, and what would change each; none without a test."""
    if doubtful(record) is None:
        return
    yield ""
    for each in decisions(record):
        names = some_of([printable(name) for name in each.names], _VERDICT_NAMES)
        yield from wrapped(f"{each.verdict.capitalize()} ({len(each.names)}): {names}")
        yield from wrapped(each.change, indent="  ")


def feature_rows(record: RunRecord) -> Rows:
    """The kept features as a table, at most as many as are shown."""
    selected = record.selected
    shown = record.feature_table().head(min(_FEATURES_SHOWN, selected.size))
    header = ["rank", "feature", "score"]
    columns = [
        [str(rank) for rank in shown.columns["rank"]],
        [printable(name) for name in shown.columns["feature"]],
        [_short(score) for score in shown.columns["score"]],
    ]
    for key in ("p", "q"):
        if key in shown.columns:
            header.append(key)
            columns.append(["" if v != v else f"{v:.2g}" for v in shown.columns[key]])
    # The ranking stage before the last one.
    for name, earlier in record.ranking_stages()[-2:-1]:
        header.append(f"{name} score")
        columns.append([_short(earlier.scores[c]) for c in selected[:_FEATURES_SHOWN]])
    rows = [list(cells) for cells in zip(*columns, strict=True)]
    return header, rows, {0, *range(2, len(header))}


def _bars(scores: NDArray[np.float64], room: int) -> list[str]:
    largest = max((abs(score) for score in scores if math.isfinite(score)), default=0.0)
    shares = [1.0 if s == math.inf else s / largest if largest > 0 else 0.0 for s in scores]
    return ["█" * round(room * max(0.0, s)) if math.isfinite(s) else "" for s in shares]


def _short(value: float) -> str:
    if math.isnan(value):
        return "—"
    # Scores must be finite: the largest double stands for infinity.
    return "∞" if value >= sys.float_info.max else f"{value + 0.0:.4g}"


def pair_lines(record: RunRecord, path: Path | None) -> Iterator[str]:
    yield pair_heading(record)
    yield from table_lines(*pair_rows(record))
    if (more := record.n_pairs - _pairs_shown(record)) > 0:
        yield _more(more, "`fsframe table RUN --pairs`", path)
    yield from wrapped(" ".join(pair_test_words(record)))


def pair_heading(record: RunRecord) -> str:
    """The heading of the pairs: what their weights mean, and how many there are."""
    shown, (what, how) = _pairs_shown(record), pair_weight_words(record)
    of = f", the {shown} largest of {record.n_pairs}" if record.n_pairs > shown else ""
    return f"Pairs by {what}{f' ({how})' if how else ''}{of}:"


def _pairs_shown(record: RunRecord) -> int:
    """How many pairs are shown: fewer if a test found none that interacts."""
    return _FEW_PAIRS if interacting(record) == 0 else _PAIRS_SHOWN


def pair_rows(record: RunRecord) -> Rows:
    """The strongest pairs as a table."""
    shown, names = record.strongest_pairs(_pairs_shown(record)), record.feature_names
    rows = [[printable(names[a]), printable(names[b]), _short(w)] for a, b, w in shown]
    header = ["feature", "with", "weight"]
    if record.pair_tests is not None:
        header += ["p", "q"]
        for row, (a, b, _) in zip(rows, shown, strict=True):
            tested = record.pair_tests.tests.of(a, b)
            row += ["—", "—"] if tested is None else [f"{value:.2g}" for value in tested]
        sizes = [record.pair_tests.tests.values_of(a, b, _EFFECT) for a, b, _ in shown]
        if any(np.isfinite(values).any() for values in sizes):
            header += ["effect", "± se"]
            for row, values in zip(rows, sizes, strict=True):
                row += [f"{value:.2g}" if np.isfinite(value) else "—" for value in values]
    return header, rows, {2, 3, 4, 5, 6}


def cluster_lines(record: RunRecord, path: Path | None) -> Iterator[str]:
    """The features that were left out because they are redundant with a kept one."""
    names = record.feature_names
    for stage in record.stages:
        represented = clusters(stage)
        if not represented:
            continue
        largest = sorted(represented, key=lambda column: (-len(represented[column]), column))
        yield ""
        yield f"{stage.name}: features that represent a cluster"
        rows = []
        for column in largest[:_CLUSTERS_SHOWN]:
            members = [printable(names[member]) for member in represented[column]]
            rows.append([printable(names[column]), some_of(members, _MEMBERS_SHOWN)])
        yield from table_lines(["feature", "represents"], rows)
        if len(represented) > _CLUSTERS_SHOWN:
            yield _more(len(represented) - _CLUSTERS_SHOWN, "the run file", path)


def frequency_lines(record: RunRecord) -> Iterator[str]:
    """How often each feature was kept, for a result whose scores are shares of resamples."""
    yield from table_lines(*frequency_rows(record))
    more = int((record.scores > 0).sum()) - _FREQUENCIES_SHOWN
    if more > 0:
        yield f"… and {more} more"


def frequency_rows(record: RunRecord) -> Rows:
    """How often each feature was kept, as a table."""
    ranked = [column for column in rank_by_score(record.scores) if record.scores[column] > 0]
    rows = [
        [printable(record.feature_names[c]), f"{100 * float(record.scores[c]):.0f} %"]
        for c in ranked[:_FREQUENCIES_SHOWN]
    ]
    return ["feature", "kept in"], rows, {1}


def result_lines(record: RunRecord, path: Path | None) -> Iterator[str]:
    """The record as lines for a terminal; the last says where the run file is."""
    protocol = _whole_protocol(record)
    if protocol is None:
        yield from _chain_lines(record, path)
    else:
        facts_of_run = f"{size_facts(record)}, {protocol.repeated}"
        yield f"{protocol.base} on {printable(record.data.name)}: {facts_of_run}"
        yield label_facts(record)
        yield from protocol.lines()
        yield ""
        yield from frequency_lines(record)
    yield from closing_lines(record, path)


def _chain_lines(record: RunRecord, path: Path | None) -> Iterator[str]:
    yield f"{record.chain} on {printable(record.data.name)}: {table_facts(record)}"
    yield ""
    yield from stage_lines(record)
    protocol = shown_protocol(record)
    if protocol is not None:
        yield ""
        yield from protocol.short_lines()
    yield ""
    yield from feature_lines(record, path)
    yield from verdict_lines(record)
    if record.n_pairs:
        yield ""
        yield from pair_lines(record, path)
    yield from cluster_lines(record, path)


def file_lines(record: RunRecord, path: Path) -> Iterator[str]:
    """A run file as lines for a terminal: its origin, then the result."""
    yield f"created   {record.created} by fsframe {record.fsframe_version}, seed {record.seed}"
    if record.command:
        yield f"command   {printable(record.command)}"
    if record.data.source:
        yield f"data      {printable(record.data.source)}, SHA-256 {record.data.sha256[:16]}…"
    for stage in record.stages:
        provider = f"{stage.provider} {stage.provider_version}{_absence(stage)}"
        yield f"stage     {printable(stage.name)}, from {printable(provider)}"
        given = ", ".join(
            f"{key}={printable(format_value(value), longest=_LONGEST_VALUE)}"
            for key, value in stage.params.items()
            if value is not None
        )
        blank = " " * 10
        text = printable(given)
        yield from textwrap.wrap(text, 96, initial_indent=blank, subsequent_indent=blank)
    yield ""
    yield from result_lines(record, path)


def _absence(stage: StageRecord) -> str:
    """A remark if the method of a stage is not installed."""
    registry = classifiers if stage.kind == "classifier" else selectors
    plain = stage.name.rpartition("/")[2]
    return "" if f"{stage.provider}/{plain}" in registry else ", not available here"


def protocol_object(record: RunRecord, path: Path | None) -> dict[str, Any]:
    """The object of `evaluate --json` or `stability --json`; of `chain` for any other run."""
    protocol, told = _whole_protocol(record), result_object(record, path)
    return told if protocol is None else told | protocol.fields()


def file_object(record: RunRecord, path: Path | None) -> dict[str, Any]:
    """The object of `show --json`: that of its command, with the origin of the run."""
    origin = facts(record, "created", "command", "fsframe_version", "environment")
    return protocol_object(record, path) | origin


def protocol_csv(record: RunRecord, path: Path, *, overwrite: bool) -> None:
    """Write the measures of each fold, or of a stability study the metrics by set size.

    Raises
    ------
    RequestError
        If the run is neither an evaluation nor a stability study.
    StoreError
        If the file exists already, or cannot be written.
    """
    protocol = _whole_protocol(record)
    if protocol is None:
        raise RequestError(
            "--csv writes the folds of an evaluation or the metrics of a stability study; this run "
            "is neither (`fsframe table` writes its features)"
        )
    place_file(path, csv_text(protocol.csv_rows()).encode(), overwrite=overwrite)


def _whole_protocol(record: RunRecord) -> ShownProtocol | None:
    """The protocol of a run without other stages; None for any other run."""
    return shown_protocol(record) if len(record.stages) == 1 else None
