"""The verdict of a run: a heading and two sentences that hold for any kind of run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsframe.contracts.showing import interval_text
from fsframe.evaluation.recorded import protocol_name, recorded_evaluation, recorded_stability
from fsframe.evaluation.summary import Measure
from fsframe.storage import RunRecord, printable
from fsframe.storage.selector_tables import bootstrap_tables

__all__ = [
    "heading",
    "measure_name_words",
    "measure_words",
    "quoted",
    "verdict",
    "verdict_of_several",
]

_NAMED = 5
_DOUBTFUL = 0.05
_OFTEN = 0.9
_LEVEL = 0.05


def heading(record: RunRecord) -> str:
    """The subject of the run and its main figure."""
    name, protocol = printable(record.data.name), protocol_name(record)
    if protocol == "cross-validation":
        leading = recorded_evaluation(record).found.leading
        return f"{name}: {measure_words(leading)} {leading.mean:.2f} on held-out rows"
    if protocol == "stability-study":
        metric = recorded_stability(record).tables.metrics[0]
        return f"{name}: stability {metric.value:.2f} ({printable(metric.name)})"
    return f"{name}: {record.selected.size} of {record.n_features} features kept"


def verdict(record: RunRecord) -> tuple[str, str]:
    """The result and its certainty, one sentence each."""
    protocol = protocol_name(record)
    if protocol == "cross-validation":
        return _of_evaluation(record)
    if protocol == "stability-study":
        return _of_stability(record)
    k, p = record.selected.size, record.n_features
    if not k:
        return f"None of {p} features is kept.", _certainty(record)
    verb = "is" if k == 1 else "are"
    return f"{k} of {p} features {verb} kept: {_named(record.selected_names)}.", _certainty(record)


def verdict_of_several(records: Sequence[RunRecord]) -> tuple[str, str]:
    """Features kept by all runs, and the number kept by one only."""
    sets = [set(record.selected_names) for record in records]
    common = sorted(set.intersection(*sets))
    every = set.union(*sets)
    alone = sum(1 for name in every if sum(name in own for own in sets) == 1)
    n = len(records)
    who = "Both runs keep" if n == 2 else f"All {n} runs keep"
    if len({record.data.sha256 for record in records}) > 1:
        who = f"By name, since their tables differ, {who[0].lower()}{who[1:]}"
    shared = f"{who} {len(common)} of {len(every)} features that any of them keeps"
    tail = f": {_named(common)}." if common else "."
    return shared + tail, f"{alone} {'is' if alone == 1 else 'are'} kept by one run only."


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name, longest=40) for name in names[:_NAMED])
    more = len(names) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _certainty(record: RunRecord) -> str:
    """How certain the selection is, as far as the run shows."""
    stages = [stage for stage in record.stages if stage.selection is not None]
    if not stages:
        return "No stage selects, so every feature is used as it is."
    k = record.selected.size
    found = bootstrap_tables(stages[-1])
    if found is not None and found.doubt is not None:
        kept = np.isin(found.columns, record.selected)
        doubtful = found.doubt > _DOUBTFUL
        near = found.columns[~kept & doubtful].tolist()
        sure = int((kept & ~doubtful).sum())
        sentence = (
            f"By the test over {found.n} bootstraps {sure} of them "
            f"{'is' if sure == 1 else 'are'} certain and {int((kept & doubtful).sum())} "
            "borderline (may change with another seed)"
        )
        if near:
            names = _named([record.feature_names[c] for c in near])
            return f"{sentence}; borderline among those left out: {names}."
        return f"{sentence}."
    table = record.feature_table()
    kept = table.columns["kept"]
    if "frequency" in table.columns:
        often = int((table.columns["frequency"][kept] >= _OFTEN).sum())
        return (
            f"{often} of the {k} kept are selected in at least nine of ten resamples of this table."
        )
    if "q" in table.columns:
        small = int((table.columns["q"][kept] <= _LEVEL).sum())
        tested = int((~np.isnan(table.columns["q"])).sum())
        return (
            f"{small} of the {k} kept have q ≤ {_LEVEL:g}, of {tested} features tested; how "
            "often they would be selected again was not tested."
        )
    return (
        "Nothing was tested or repeated, so this run cannot say how many of them would be "
        "selected again; add `npfs` to the chain, or run `fsframe stability`."
    )


def _of_evaluation(record: RunRecord) -> tuple[str, str]:
    recorded = recorded_evaluation(record)
    found = recorded.found
    balanced = found.measures.get("balanced-accuracy")
    rule = f"the {found.baseline.name}"
    rule += " for all" if found.task == "survival" else ""
    beside = [f"{found.baseline.mean:.2f} for always predicting {rule}"]
    if found.all_features is not None:
        beside.insert(0, f"{found.all_features.mean:.2f} with all features")
    if found.leading.name == "accuracy":
        told = f"predicts {_share(found.leading)} of the labels correctly"
    else:
        told = f"has {measure_words(found.leading)} {_share(found.leading)}"
        if found.leading.name != "r2":
            beside = [_short_of(found.leading, rule)]
    first = f"On held-out rows, {quoted(recorded.base)} {told}, against {' and '.join(beside)}"
    if balanced is not None and np.isfinite(balanced.mean) and record.class_names:
        chance = 1 / len(record.class_names)
        first += f"; balanced accuracy is {balanced.mean:.2f}, {chance:.2f} by chance"
    kept, phi = found.kept.mean(), found.stability
    second = f"It keeps {kept:.1f} of {record.n_features} features on average"
    if np.isfinite(phi.value):
        second += (
            f", with {_alike(phi.value)} from fold to fold (φ {phi.value:.2f}; 0 is chance, 1 "
            "always the same)"
        )
    return f"{first}.", f"{second}."


def _of_stability(record: RunRecord) -> tuple[str, str]:
    recorded = recorded_stability(record)
    kept = recorded.tables.kept
    sizes = kept.sum(axis=1)
    size = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"
    often = int((kept.mean(axis=0) > 0.5).sum())
    first = (
        f"On {len(kept)} resamples {quoted(recorded.base)} keeps {size} of {record.n_features} "
        f"features, {often} of them in more than half."
    )
    metric = recorded.tables.metrics[0]
    if not np.isfinite(metric.value):
        return first, f"{printable(metric.name)} is not defined for these sets."
    bounds = "" if metric.interval is None else f", {interval_text(metric.interval, 2)}"
    word = f": {_alike(metric.value)}" if metric.name.rpartition("/")[2] == "nogueira" else ""
    return first, f"Stability by {printable(metric.name)} is {metric.value:.2f}{bounds}{word}."


def measure_words(measure: Measure) -> str:
    """The name of a measure, for sentences."""
    return measure_name_words(measure.name)


def measure_name_words(name: str) -> str:
    """A measure's name as written in sentences."""
    plain = {"r2": "R²", "auc": "AUC", "c-index": "c-index"}
    return plain.get(name) or printable(name.replace("-", " "))


def _short_of(measure: Measure, rule: str) -> str:
    plain = "—" if measure.baseline is None else f"{measure.baseline:.2f}"
    return f"{plain} for always predicting {rule}"


def quoted(chain: str) -> str:
    """A chain in backquotes, for sentences."""
    return f"`{printable(chain, longest=120)}`"


def _share(measure: Measure) -> str:
    text = f"{measure.mean:.2f}"
    return (
        text
        if measure.interval is None
        else text + " (95 % {:.2f} to {:.2f})".format(*measure.interval)
    )


def _alike(phi: float) -> str:
    """Fleiss' terms for agreement beyond chance, as in Nogueira et al. 2018."""
    if phi > 0.75:
        return "excellent agreement"
    return "intermediate to good agreement" if phi >= 0.4 else "poor agreement"
