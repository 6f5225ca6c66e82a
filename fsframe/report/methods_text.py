"""The methods paragraph of a run, with sources, and its checklist on data leakage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from fsframe.chains.repeated_rows import warns_of_repeated_rows
from fsframe.evaluation.recorded import (
    RecordedEvaluation,
    RecordedStability,
    recorded_protocol,
)
from fsframe.params import format_value
from fsframe.registry import Offer, classifiers, selectors, stability_metrics
from fsframe.storage import RunRecord, StageRecord, printable
from fsframe.storage.records import protocol_name

_NAMED_LIBRARIES = ("python", "numpy", "scipy", "numba")


def references(record: RunRecord) -> list[tuple[str, str]]:
    """(method, reference) of every method of the run that is installed."""
    found = {}
    for name in record.providers():
        offer = _offer(name)
        if offer is not None and offer.entry.reference:
            found[name] = offer.entry.reference
    return list(found.items())


def _offer(name: str) -> Offer | None:
    """The only installed method of that name, without importing it."""
    offers = [o for r in (selectors, classifiers, stability_metrics) for o in r.matching(name)]
    return offers[0] if len(offers) == 1 else None


def methods_paragraph(record: RunRecord) -> str:
    """A paragraph for the methods section: data, chain, parameters, protocol, program, seed."""
    data = record.data
    size = f"{record.n_samples} samples and {record.n_features} features"
    classes = f"{len(data.class_names)} classes" if data.class_names else "a number"
    label = f" (label {printable(data.label)}, {classes})" if data.label else ""
    text = [
        f"The table {printable(data.name)} has {size}{label}; the SHA-256 of its values is "
        f"{printable(data.sha256)}."
    ]
    numbers = {name: place for place, (name, _) in enumerate(references(record), start=1)}
    text.append(
        f"Features were selected with fsframe {record.fsframe_version or '(version not recorded)'}"
    )
    protocol = recorded_protocol(record)
    if isinstance(protocol, RecordedEvaluation):
        params = record.stages[-1].params
        text[-1] += (
            f" by `{printable(protocol.base)}`, evaluated by {params.get('repeats')} × "
            f"{params.get('folds')}-fold cross-validation in which every step that uses labels "
            "was fitted to the training rows of each fold alone."
        )
    elif isinstance(protocol, RecordedStability):
        text[-1] += (
            f" by `{printable(protocol.base)}` on {len(protocol.tables.kept)} resamples "
            f"({printable(protocol.resample)})."
        )
    else:
        text[-1] += f" by the chain `{printable(record.chain)}`."
    for stage in record.stages if protocol is None else record.stages[:-1]:
        offer = _offer(stage.name)
        mark = f" [{numbers[stage.name]}]" if stage.name in numbers else ""
        given = given_params(stage, " = ")
        what = f": {offer.entry.summary}" if offer is not None and offer.entry.summary else ""
        text.append(
            f"{printable(stage.name)}{mark}{printable(what.removesuffix('.'))}"
            + (f" ({printable(given, longest=600)})." if given else ".")
        )
    if record.groups is not None:
        name, number = record.groups
        text.append(
            f"Rows of one {printable(name)} were kept together in every resample ({number} groups)."
        )
    if record.pair_tests is not None:
        name, tests = record.pair_tests.name, record.pair_tests.found
        mark = f" [{numbers[name]}]" if name in numbers else ""
        text.append(
            f"{tests.n_tested} pairs of features were tested for interaction by "
            f"{printable(name)}{mark}; q-values allow for {tests.n_chosen_from} pairs."
        )
    text.append(
        "Intervals are 95 % intervals; q-values without another name are those of "
        "Benjamini and Hochberg (1995, Controlling the false discovery rate, J. R. Stat. Soc. B "
        "57:289-300, doi:10.1111/j.2517-6161.1995.tb02031.x)."
    )
    text.append(f"The random seed was {record.seed}.")
    if record.command:
        text.append(f"The command was `{printable(record.command, longest=600)}`.")
    libraries = [
        f"{name} {record.environment[name]}"
        for name in _NAMED_LIBRARIES
        if isinstance(record.environment.get(name), str)
    ]
    if libraries:
        text.append(f"It ran with {', '.join(libraries)}.")
    return " ".join(text)


def given_params(stage: StageRecord, equals: str = "=") -> str:
    """The parameters of a stage that have a value, those that it chose itself included."""
    given = {name: value for name, value in stage.params.items() if value is not None}
    given |= _chosen(stage, given)
    return ", ".join(f"{name}{equals}{format_value(value)}" for name, value in given.items())


def _chosen(stage: StageRecord, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of parameters that the method chose, as its entry says where to find them."""
    offer = _offer(stage.name)
    declared: Mapping[str, tuple[str, ...]] = getattr(offer and offer.entry, "chosen", {})
    found: dict[str, Any] = {}
    for table, names in declared.items():
        values = stage.tables.get(table)
        # Files may come from anybody.
        if values is None or values.shape != (len(names),) or values.dtype.kind not in "iuf":
            continue
        pairs = zip(names, values.tolist(), strict=True)
        found |= {name: value for name, value in pairs if name not in given}
    return found


def versions(record: RunRecord) -> str:
    """Versions of the program, its libraries and the machine."""
    plain = {k: v for k, v in record.environment.items() if not isinstance(v, Mapping)}
    return ", ".join(f"{k} {v}" for k, v in plain.items())


def commands(record: RunRecord, path: str | None) -> list[str]:
    """The command of the run, and commands to verify and export it."""
    found = [printable(record.command)] if record.command else []
    if not protocol_name(record) and record.data.source and not record.command:
        found.append(
            f'fsframe chain "{printable(record.chain)}" on {printable(record.data.source)} '
            f"--seed {record.seed}"
        )
    where = "RUN.h5" if path is None else printable(path)
    return [*found, f"fsframe verify {where}", f"fsframe table {where} -o features.csv"]


@attrs.frozen
class Item:
    """One item of the checklist: question, source, state and answer."""

    question: str
    source: str
    state: str
    answer: str


def checklist(record: RunRecord) -> Iterator[Item]:
    """Items of REFORMS and TRIPOD+AI that can be answered from a run.

    State is ``yes``, ``no``, ``open`` (only the author can say) or ``n/a``.

    References
    ----------
    Kapoor et al. 2024, REFORMS: Consensus-based recommendations for machine-learning-based science,
    Sci. Adv. 10:eadk3452. Collins et al. 2024, TRIPOD+AI statement, BMJ 385:e078378.
    """
    protocol = recorded_protocol(record)
    evaluation = protocol if isinstance(protocol, RecordedEvaluation) else None
    judged = evaluation is not None
    leak, methods = "REFORMS, data leakage", "TRIPOD+AI, analytical methods"
    yield Item(
        "Were features selected without looking at test rows?",
        f"{leak}; {methods}",
        "yes" if judged else "n/a",
        "Selection was repeated in every fold, on its training rows."
        if judged
        else "Nothing was predicted. All rows were used, so the accuracy of these features on "
        "the same rows would be too optimistic; `fsframe evaluate` selects inside each "
        "fold.",
    )
    yield Item(
        "Were scaling, binning and imputation learned from training rows?",
        leak,
        "yes" if judged else "n/a",
        "They are part of the chain, which saw the training rows of each fold only; the run "
        "cannot know what was done to the file before."
        if judged
        else "Nothing was predicted.",
    )
    if evaluation is not None:
        tuned = len(evaluation.chains) > 1
        yield Item(
            "Were parameters tuned on rows other than the test rows?",
            f"REFORMS, modelling; {methods}",
            "yes" if tuned else "n/a",
            f"Among {len(evaluation.chains)} chains, by inner folds of the training rows."
            if tuned
            else "One chain was evaluated; nothing was tuned.",
        )
    if record.groups is not None:
        name, number = record.groups
        state, answer = "yes", f"Rows of one {printable(name)} stayed together ({number} groups)."
    elif warns_of_repeated_rows(record.all_warnings()):
        state, answer = "no", "Rows look repeated, and no column of groups was named (--groups)."
    else:
        state, answer = (
            "open",
            "No column of groups was named; if several rows are of one person, family or batch, "
            "name it (--groups).",
        )
    yield Item(
        "Were rows that belong together kept together?", f"{leak}; TRIPOD+AI, data", state, answer
    )
    yield Item(
        "Would every feature legitimately be known at prediction time?",
        leak,
        "open",
        "Only you can say. Look first at the strongest features above: a stand-in for the label, "
        "such as a treatment given after the diagnosis, ends up there.",
    )
    yield Item(
        "Are the rows drawn from the people or things the conclusion is about?",
        "REFORMS, data quality; TRIPOD+AI, participants",
        "open",
        f"Only you can say; the table has {record.n_samples} rows.",
    )
    table = record.feature_table() if record.stages and not judged else None
    if table is not None and "q" in table.columns:
        yield Item(
            "Are p-values adjusted for the number of tests?",
            "REFORMS, metrics and uncertainty",
            "yes",
            "q is adjusted for the number of features tested.",
        )
    if evaluation is not None:
        found = evaluation.found
        rule = found.baseline.name
        yield Item(
            "Is performance reported with its uncertainty and against baselines?",
            f"REFORMS, metrics and uncertainty; {methods}",
            "yes" if found.leading.interval is not None else "no",
            f"{found.n_splits} splits with corrected standard errors; compared with the {rule}"
            + (" and all features." if found.all_features is not None else "."),
        )
    yield Item(
        "Can the computation be repeated?",
        "REFORMS, computational reproducibility; TRIPOD+AI, open science",
        "yes",
        f"Seed {record.seed}, versions, parameters and the fingerprint of the table are below; the "
        "table itself is not in the run file.",
    )
