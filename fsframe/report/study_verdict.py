"""The verdict of a comparison: two sentences that hold for any result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsframe.evaluation.comparison import Comparison
from fsframe.report.verdict import measure_name_words, quoted
from fsframe.storage import printable

__all__ = ["verdict_of_comparison"]

_MOST_NAMED = 3


def verdict_of_comparison(found: Comparison) -> tuple[str, str]:
    """Which chain is best and by how much, and whether it differs from the others.

    Parameters
    ----------
    found : Comparison
    """
    if np.isnan(found.values).any():
        return (
            f"{_capital(_measure(found))} has no value for some of the "
            f"{len(found.chains)} chains on {_tables(found)}.",
            "Chains are not ranked by it.",
        )
    return _on_one_table(found) if len(found.data) == 1 else _over_tables(found)


def _on_one_table(found: Comparison) -> tuple[str, str]:
    better = _better(found)[0]
    best = np.flatnonzero(better == better.max()).tolist()
    first, low_high = best[0], found.intervals[0, best[0]]
    value = f"{found.values[0, first]:.2f}"
    if np.isfinite(low_high).all():
        value += " (95 % {:.2f} to {:.2f})".format(*low_high)
    beside = [f"{name} on all features" for name in map(quoted, found.all_features)]
    values = [float(of[0]) for of in found.all_features.values()]
    beside, values = [*beside, f"the {found.rule}"], [*values, float(found.larger_class[0])]
    against = [f"{v:.2f} of {name}" for name, v in zip(beside, values, strict=True) if v == v]
    comparison = f", against {' and '.join(against)}" if against else ""
    one = (
        f"On {_tables(found)} {_named(found, best)} {'has' if len(best) == 1 else 'share'} the "
        f"best {_measure(found)} of {len(found.chains)} chains: {value}{comparison}."
    )
    if not found.papers:
        return one, f"{_capital(_measure(found))} has no value in some folds, so nothing is tested."
    others = len(found.chains) - 1
    wins = int((found.outcome["corrected"][0, first] == "win").sum())
    whom = f"`{printable(found.chains[first], longest=120)}`" if len(best) > 1 else "it"
    two = (
        f"By the corrected resampled t-test, {whom} is significantly better than {wins} of the "
        f"{others} others (p < 0.05 each, not adjusted for their number)"
        if others > 1
        else "By the corrected resampled t-test, the two "
        f"{'differ' if wins else 'do not differ'} significantly (p < 0.05)"
    )
    fewest = int(found.fewest[0])
    if fewest >= 0:
        two += (
            "; the fewest features within one standard error of the best, "
            f"{found.kept[0, fewest]:.1f} on average, are kept by {quoted(found.chains[fewest])}"
        )
    return one, f"{two}."


def _over_tables(found: Comparison) -> tuple[str, str]:
    ranks, p = found.ranks, found.adjusted_p
    assert ranks is not None and p is not None
    order = ranks.mean_ranks.round(9)
    best = np.flatnonzero(order == order.min()).tolist()
    first, n, m = best[0], len(found.data), len(found.chains)
    sign = 1 if found.larger_is_better else -1
    above = int((sign * found.values[:, first] > sign * found.larger_class).sum())
    whom = f"`{printable(found.chains[first], longest=120)}`" if len(best) > 1 else "it"
    one = (
        f"Over {n} tables {_named(found, best)} {'has' if len(best) == 1 else 'share'} the best "
        f"mean rank of {m} chains by {_measure(found)}, {ranks.mean_ranks[first]:.2f}"
    )
    if not np.isnan(found.larger_class).any():
        on = f"all {n}" if above == n else f"{above} of the {n}"
        one += f"; {whom} does better than the {found.rule} on {on}"
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


def _better(found: Comparison) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return found.values if found.larger_is_better else -found.values


def _named(found: Comparison, places: Sequence[int]) -> str:
    names = [quoted(found.chains[place]) for place in places[:_MOST_NAMED]]
    more = len(places) - len(names)
    if more:
        return f"{', '.join(names)} and {more} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _tables(found: Comparison) -> str:
    return printable(found.data[0]) if len(found.data) == 1 else f"{len(found.data)} tables"


def _measure(found: Comparison) -> str:
    return measure_name_words(found.metric)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
