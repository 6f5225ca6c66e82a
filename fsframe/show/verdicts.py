"""The findings of a run or a comparison in words: decisions on features, pairs, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError
from fsframe.evaluation.recorded import RecordedEvaluation, RecordedStability, recorded_protocol
from fsframe.method.ranking import Statement, rank_by_score
from fsframe.registry import Offer, Registry, find_offer, selectors, stability_metrics
from fsframe.show.protocols import distance_note
from fsframe.storage import RunRecord
from fsframe.storage.checked_tables import bootstrap_tables
from fsframe.text import counted, interval_text, number_text, printable, some_of

if TYPE_CHECKING:
    from fsframe.evaluation.comparison import Comparison

_LEVEL, _OFTEN = 0.05, 0.9
_NAMED, _BEST_NAMED = 5, 3


def doubtful(record: RunRecord) -> NDArray[np.int64] | None:
    """Columns whose decision another seed may reverse, the most doubtful first.

    A group of features, kept or dropped as one, is as doubtful as the clearest of its members that
    pass by themselves, or, without one, as its most doubtful member. None where the last selecting
    stage does not know the probability of that.
    """
    stages = [stage for stage in record.stages if stage.selection is not None]
    tables = bootstrap_tables(stages[-1]) if stages else None
    if tables is None or tables.doubt is None:
        return None
    doubt, borderline = tables.doubt.copy(), tables.borderline
    names = [record.feature_names[column] for column in tables.columns]
    for members in (record.environment.get("feature_groups") or {}).values():
        group = np.isin(names, members)
        passing = group & tables.passing
        if group.any():
            doubt[group] = doubt[passing].min() if passing.any() else doubt[group].max()
            clear = (passing & ~borderline).any()
            borderline[group] = not clear and bool(borderline[group].any())
    order = np.argsort(-doubt, kind="stable")
    return tables.columns[order[borderline[order]]]


@attrs.frozen(kw_only=True)
class Decision:
    """One of three verdicts on features, and what would change it.

    Parameters
    ----------
    verdict : {"kept", "borderline", "not kept"}
    names : tuple of str
        The features; borderline ones with their decision, such as ``age (kept)``.
    change : str
    """

    verdict: str
    names: tuple[str, ...]
    change: str


_KEPT = {
    True: "Another seed would almost always give the same. Other rows may not; `fsframe stability` "
    "repeats the selection on resamples of the rows.",
    False: "Other rows may give other features; `fsframe stability` repeats the selection on "
    "resamples of the rows.",
}
_BORDERLINE = "Another seed may decide otherwise. More resamples or more rows may settle it."
_ALONE = "There is one chain, so nothing is tested."
_NOT_KEPT = {
    True: "The evidence in these rows is too weak, which does not show irrelevance. With more "
    "rows, more may be kept.",
    False: "The score is too low for the limits of the chain, which does not show irrelevance. "
    "With larger limits, more are kept.",
}
"""What would change a verdict; True: a test decided it."""


def decisions(record: RunRecord) -> list[Decision]:
    """The verdicts on the features of a run; verdicts without features are left out.

    A feature is borderline if the test that decided would decide otherwise with another seed, with
    a probability above 0.05; it is then neither among the kept nor among the others.
    """
    selecting = [stage for stage in record.stages if stage.selection is not None]
    if not selecting:
        return []
    unsure = doubtful(record)
    tested = unsure is not None
    chosen = set(record.selected.tolist())
    # The kept ones first.
    near = [] if unsure is None else sorted(unsure.tolist(), key=lambda c: c not in chosen)
    kept = [c for c in record.selected.tolist() if c not in near]
    ranked = rank_by_score(record.scores).tolist()
    # Those that the last stage did not score come last.
    others = [*ranked, *sorted(set(range(record.n_features)) - set(ranked))]
    rest = [c for c in others if c not in chosen and c not in near]
    # The last selecting stage may have kept features by a level, as chi2:alpha=0.05 does.
    names, by_level = record.feature_names, selecting[-1].params.get("alpha") is not None
    unsure_names = [f"{names[c]} ({'kept' if c in chosen else 'not kept'})" for c in near]
    verdicts = (
        ("kept", [names[c] for c in kept], _KEPT[tested]),
        ("borderline", unsure_names, _BORDERLINE),
        ("not kept", [names[c] for c in rest], _NOT_KEPT[tested or by_level]),
    )
    return [
        Decision(verdict=verdict, names=tuple(those), change=change)
        for verdict, those, change in verdicts
        if those
    ]


def stated(record: RunRecord) -> list[tuple[str, Statement]]:
    """The stages that test, by name, and what each says of a feature: it is relevant, or needed
    (`fsframe.method.ranking`).

    Empty for evaluations, and if a method is not installed. Stages that can test but only ranked
    are left out: without a level, rows that belong together have no p.
    """
    if recorded_protocol(record) is not None:
        return []
    try:
        told = dict.fromkeys(Chain.parse(record.chain).statements())
    except FsframeError:
        return []
    ranked = {
        stage.name
        for stage in record.stages
        if stage.selection is not None
        and stage.params.get("alpha", 0) is None
        and "p_values" not in stage.selection.tables
    }
    return [(name, statement) for name, statement in told if name not in ranked]


def covariates(record: RunRecord) -> list[str]:
    """Names of the columns that were adjusted for."""
    adjusted = record.environment.get("adjust")
    return [printable(str(name)) for name in adjusted] if isinstance(adjusted, list) else []


def statements(record: RunRecord) -> list[str]:
    """The statements of `stated`, one sentence each."""
    given = covariates(record)
    return [statement.sentence(stage, given) for stage, statement in stated(record)]


def pair_weight_words(record: RunRecord) -> tuple[str, str]:
    """Meaning of the pair weights of a record, and how to read them; for headings.

    Both are as the entry of the method that made them declares (`SelectorEntry.pair_weight`);
    ``"weight"`` and an empty text if it is not installed or declares nothing.
    """
    offer = None if record.pair_stage is None else known_offer(record.pair_stage.name, selectors)
    declared = getattr(offer and offer.entry, "pair_weight", "")
    what, _, how = (declared or "weight").partition(": ")
    return what, how


def known_offer(name: str, *registries: Registry) -> Offer | None:
    """The installed method of that name, without importing it; None if there is no single one."""
    try:
        return find_offer(name, *registries)[1]
    except FsframeError:
        return None


def interacting(record: RunRecord) -> int | None:
    """Number of pairs with q ≤ 0.05 by the test that this record has; None if it has none."""
    table = record.pair_table()
    name = next((name for name in ("interaction_q", "q") if name in table.columns), None)
    return None if name is None else int((table.columns[name] <= _LEVEL).sum())


def pair_test_words(record: RunRecord) -> list[str]:
    """Which pairs of kept features interact, and the meaning of p and q, one sentence each.

    Empty if no pair was tested.
    """
    if record.pair_tests is None:
        return []
    tests, method = record.pair_tests.tests, record.pair_tests.name
    names = record.feature_names
    significant = int((tests.q_values <= _LEVEL).sum())
    said = [
        f"{printable(names[a])} × {printable(names[b])} (q {q:.2g})"
        for (a, b), q in zip(tests.pairs[:_NAMED].tolist(), tests.q_values, strict=False)
    ]
    number = f"{counted(tests.n_tested, 'pair')} tested"
    if significant:
        verb = "interacts" if significant == 1 else "interact"
        more = f" and {significant - _NAMED} more" if significant > _NAMED else ""
        named = f"{', '.join(said[:significant])}{more}"
        words = [f"{significant} of {number} {verb} (q ≤ {_LEVEL:g}): {named}."]
    else:
        best = f"; the smallest is that of {said[0]}" if said else ""
        words = [f"None of {number} interacts (q ≤ {_LEVEL:g}){best}."]
    words.append(
        "p: whether a pair says more about the label than its features do separately "
        f"(`{printable(method)}`)."
    )
    among = max(tests.n_chosen_from, tests.n_tested)
    chosen = "the choice among" if among > tests.n_tested else "testing"
    words.append(f"q: p adjusted for {chosen} {counted(among, 'pair')}.")
    if "g2" in tests.tables and np.isfinite(tests.tables.get("effect", np.nan)).any():
        words.append(
            "effect: change of the log odds with the product of the two features. It describes a "
            "straight shape only, while p is from a test over bins, which detects any shape: p may "
            "be small although effect ± se includes 0."
        )
    if tests.n_tested > len(tests.pairs):
        words.append("A dash: p is larger, or the values cannot show an interaction.")
    return words


def heading(record: RunRecord) -> str:
    """The subject of the run and its main figure."""
    name, protocol = printable(record.data.name), recorded_protocol(record)
    if isinstance(protocol, RecordedEvaluation):
        leading = protocol.evaluation.leading
        return f"{name}: {measure_words(leading.name)} {leading.mean:.2f} on held-out rows"
    if isinstance(protocol, RecordedStability):
        metric = protocol.tables.metrics[0]
        value = f"{metric.value:.2f}" if np.isfinite(metric.value) else "undefined"
        what = "distance" if distance_note(metric.name) else "stability"
        return f"{name}: {what} {value} ({printable(metric.name)})"
    if not record.selected.size:
        return f"{name}: none of {record.n_features} features kept"
    return f"{name}: {record.selected.size} of {record.n_features} features kept"


def verdict(record: RunRecord) -> tuple[str, str]:
    """The result and its certainty, one sentence each."""
    protocol = recorded_protocol(record)
    if isinstance(protocol, RecordedEvaluation):
        return _of_evaluation(record, protocol)
    if isinstance(protocol, RecordedStability):
        return _of_stability(record, protocol)
    k, p = record.selected.size, record.n_features
    if not k:
        return f"None of {p} features is kept.", _certainty(record)
    verb = "is" if k == 1 else "are"
    return f"{k} of {p} features {verb} kept: {_named(record.selected_names)}.", _certainty(record)


def _named(names: Sequence[str]) -> str:
    return some_of([printable(name, longest=40) for name in names], _NAMED)


def _certainty(record: RunRecord) -> str:
    """How certain the selection is, as far as the run shows."""
    stages = [stage for stage in record.stages if stage.selection is not None]
    if not stages:
        return "No stage selects, so every feature is used as it is."
    k = record.selected.size
    near = doubtful(record)
    if near is not None:
        m = near.size
        borderline = f"{m} {'is' if m == 1 else 'are'} borderline" if m else ""
        settled = k - int(np.isin(record.selected, near).sum())
        if not k:
            claim = f"; {borderline}" if m else ""
            return f"No feature stands out from what permuted or random labels give{claim}."
        if settled == k:
            claim = f"would almost always keep {'it' if k == 1 else 'all of them'} too"
        elif settled:
            claim = f"would almost always keep {settled} of the {k} too"
        else:
            claim = f"may drop {'it' if k == 1 else 'any of them'}"
        # If any of the kept may go, the number of borderline features adds nothing.
        claim += f"; {borderline}" if m > (0 if settled else k) else ""
        return (
            f"On these rows another seed {claim}. Whether other rows would decide the same was not "
            f"tested.{_as_by_chance(record)}"
        )
    if not k:
        return "No feature passed."
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
        if k == 1:
            claim = f"It has q {'≤' if small else '>'} {_LEVEL:g}"
        else:
            claim = f"{small} of the {k} kept have q ≤ {_LEVEL:g}"
        again = "it" if k == 1 else "they"
        return (
            f"{claim}, of {tested} features tested; how often {again} would be selected again was "
            "not tested."
        )
    return (
        "Nothing was tested or repeated, so this run cannot say how many of them would be "
        "selected again; add `npfs` to the chain, or run `fsframe stability`."
    )


def _as_by_chance(record: RunRecord) -> str:
    """A warning if p-values as small as those of all kept features are common by chance."""
    table = record.feature_table()
    if "q" not in table.columns:
        return ""
    q, kept = table.columns["q"], table.columns["kept"]
    if not kept.any() or not np.isfinite(q).any() or not (q[kept] > _LEVEL).all():
        return ""
    tested = int((~np.isnan(q)).sum())
    return (
        f" Among {tested} tested features without any information, p-values as small as "
        f"{'this one' if kept.sum() == 1 else 'these'} are common (q > {_LEVEL:g})."
    )


def _of_evaluation(record: RunRecord, recorded: RecordedEvaluation) -> tuple[str, str]:
    evaluation = recorded.evaluation
    balanced = evaluation.measures.get("balanced-accuracy")
    rule = f"the {evaluation.baseline.name}"
    rule += " for all" if evaluation.task == "survival" else ""
    baselines = [f"{evaluation.baseline.mean:.2f} for always predicting {rule}"]
    if evaluation.all_features is not None:
        baselines.insert(0, f"{evaluation.all_features.mean:.2f} with all features")
    leading = evaluation.leading
    value = _with_interval(leading.mean, leading.interval)
    if leading.name == "accuracy":
        performance = f"predicts {value} of the labels correctly"
    else:
        performance = f"has {measure_words(leading.name)} {value}"
        if leading.name != "r2":
            baseline = number_text(leading.baseline, 2)
            baselines = [f"{baseline} for always predicting {rule}"]
    first = (
        f"On held-out rows, {_quoted(recorded.base)} {performance}, against "
        f"{' and '.join(baselines)}"
    )
    if balanced is not None and np.isfinite(balanced.mean) and record.class_names:
        chance = 1 / len(record.class_names)
        first += f"; balanced accuracy is {balanced.mean:.2f}, {chance:.2f} by chance"
    kept, phi = evaluation.kept.mean(), evaluation.stability
    second = f"It keeps {kept:.1f} of {record.n_features} features on average"
    if np.isfinite(phi.value):
        second += (
            f", with {_alike(phi.value)} from fold to fold (φ {phi.value:.2f}; 0 is chance, 1 "
            "always the same)"
        )
    return f"{first}.", f"{second}."


def _of_stability(record: RunRecord, recorded: RecordedStability) -> tuple[str, str]:
    kept = recorded.tables.kept
    sizes = kept.sum(axis=1)
    size = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"
    often = int((kept.mean(axis=0) > 0.5).sum())
    first = (
        f"On {len(kept)} resamples {_quoted(recorded.base)} keeps {size} of {record.n_features} "
        f"features, {often} of them in more than half."
    )
    metric = recorded.tables.metrics[0]
    if not np.isfinite(metric.value):
        return first, f"{printable(metric.name)} is not defined for these sets."
    bounds = "" if metric.interval is None else f", {interval_text(metric.interval, 2)}"
    offer = known_offer(metric.name.partition(":")[0], stability_metrics)
    fleiss = getattr(offer and offer.entry, "fleiss", False)
    word = f": {_alike(metric.value)}" if fleiss else ""
    note = distance_note(metric.name)
    named = f"{printable(metric.name)} ({note})" if note else printable(metric.name)
    return first, f"Stability by {named} is {metric.value:.2f}{bounds}{word}."


def measure_words(name: str) -> str:
    """A measure's name as written in sentences."""
    plain = {"r2": "R²", "auc": "AUC", "c-index": "c-index"}
    return plain.get(name) or printable(name.replace("-", " "))


def _quoted(chain: str) -> str:
    """A chain in backquotes, for sentences."""
    return f"`{printable(chain, longest=120)}`"


def _with_interval(value: float, interval: Sequence[float] | None) -> str:
    bounds = "" if interval is None else " (95 % {:.2f} to {:.2f})".format(*interval)
    return f"{value:.2f}{bounds}"


def _alike(phi: float) -> str:
    """Fleiss' terms for agreement beyond chance, as in Nogueira et al. 2018."""
    if phi > 0.75:
        return "excellent agreement"
    return "intermediate to good agreement" if phi >= 0.4 else "poor agreement"


def verdict_of_comparison(comparison: Comparison) -> tuple[str, str]:
    """Which chain is best and by how much, and whether it differs from the others."""
    if np.isnan(comparison.values).any():
        return (
            f"{_subject(comparison)} has no value for some of the {len(comparison.chains)} chains "
            f"on {_tables(comparison)}.",
            "Chains are not ranked by it.",
        )
    return _on_one_table(comparison) if len(comparison.data) == 1 else _over_tables(comparison)


def _on_one_table(comparison: Comparison) -> tuple[str, str]:
    better = comparison.values[0] if comparison.larger_is_better else -comparison.values[0]
    best = np.flatnonzero(better == better.max()).tolist()
    first, low_high = best[0], comparison.intervals[0, best[0]]
    value = _with_interval(
        comparison.values[0, first], low_high if np.isfinite(low_high).all() else None
    )
    names = [f"{name} on all features" for name in map(_quoted, comparison.all_features)]
    values = [float(of[0]) for of in comparison.all_features.values()]
    names, values = [*names, f"the {comparison.rule}"], [*values, float(comparison.larger_class[0])]
    against = [f"{v:.2f} of {name}" for name, v in zip(names, values, strict=True) if v == v]
    compared_with = f", against {' and '.join(against)}" if against else ""
    alone = len(comparison.chains) == 1
    which = f"the best {_measure(comparison)} of {len(comparison.chains)} chains:"
    one = (
        f"On {_tables(comparison)} {_best_named(comparison, best)} "
        f"{_measure(comparison) if alone else which} {value}{compared_with}."
    )
    if alone:
        return one, _ALONE
    if not comparison.papers:
        return one, f"{_subject(comparison)} has no value in some folds, so nothing is tested."
    others = len(comparison.chains) - 1
    wins = int((comparison.outcome["corrected"][0, first] == "win").sum())
    whom = _quoted(comparison.chains[first]) if len(best) > 1 else "it"
    two = (
        f"By the corrected resampled t-test, {whom} is significantly better than {wins} of the "
        f"{others} others (p < 0.05 each, not adjusted for their number)"
        if others > 1
        else "By the corrected resampled t-test, the two "
        f"{'differ' if wins else 'do not differ'} significantly (p < 0.05)"
    )
    fewest = int(comparison.fewest[0])
    if fewest >= 0:
        two += (
            "; the fewest features within one standard error of the best, "
            f"{comparison.kept[0, fewest]:.1f} on average, are kept by "
            f"{_quoted(comparison.chains[fewest])}"
        )
    return one, f"{two}."


def _over_tables(comparison: Comparison) -> tuple[str, str]:
    ranks, p = comparison.ranks, comparison.adjusted_p
    order = np.zeros(1) if ranks is None else ranks.mean_ranks.round(9)
    best = np.flatnonzero(order == order.min()).tolist()
    first, n, m = best[0], len(comparison.data), len(comparison.chains)
    sign = 1 if comparison.larger_is_better else -1
    above = int((sign * comparison.values[:, first] > sign * comparison.larger_class).sum())
    whom = _quoted(comparison.chains[first]) if len(best) > 1 else "it"
    one = f"Over {n} tables {_best_named(comparison, best)} "
    if ranks is None:
        one += f"mean {_measure(comparison)} {comparison.values[:, first].mean():.2f}"
    else:
        one += (
            f"the best mean rank of {m} chains by {_measure(comparison)}, "
            f"{ranks.mean_ranks[first]:.2f}"
        )
    if not np.isnan(comparison.larger_class).any():
        on = f"all {n}" if above == n else f"{above} of the {n}"
        one += f"; {whom} does better than the {comparison.rule} on {on}"
    if ranks is None or p is None:
        return f"{one}.", _ALONE
    apart = int((p[first] < ranks.level).sum())
    test = "Wilcoxon's signed-rank test with Holm's adjustment"
    # The smallest possible p: the same chain wins on every table.
    if not apart and 2.0 ** (1 - n) * (m * (m - 1) / 2) >= ranks.level:
        return f"{one}.", (
            f"{n} tables are too few for {test} to find any two of {m} chains different at "
            f"{ranks.level:g}, however large the difference."
        )
    return f"{one}.", (
        f"By {test}, {whom} differs significantly from {apart} of the {m - 1} others at "
        f"{ranks.level:g}; Friedman's test that all are equal has p = {ranks.friedman_p:.2g}."
    )


def _best_named(comparison: Comparison, places: Sequence[int]) -> str:
    """The best chains and their verb."""
    names = [_quoted(comparison.chains[place]) for place in places[:_BEST_NAMED]]
    if len(places) == 1:
        return f"{names[0]} has"
    more = len(places) - len(names)
    last = f"{more} more" if more else names.pop()
    return f"{', '.join(names)} and {last} share"


def _tables(comparison: Comparison) -> str:
    n = len(comparison.data)
    return printable(comparison.data[0]) if n == 1 else f"{n} tables"


def _measure(comparison: Comparison) -> str:
    return measure_words(comparison.metric)


def _subject(comparison: Comparison) -> str:
    """The measure at the beginning of a sentence."""
    words = _measure(comparison)
    return words[:1].upper() + words[1:]
