"""Write docs/wide.md and its picture from the rows of the benchmark on wide tables.

python benchmarks/wide/page.py [--rows FILE] [--out FILE]
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import attrs
import numpy as np
from run import CHOSEN, CLASSIFIERS, LEAK, METHODS, RESULTS, SIZES, TABLES, read

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "wide.md"
PICTURE = "figures/wide-pareto.svg"
BRE = ROOT / "benchmarks" / "published" / "results" / "bre.csv"
BASELINE = "all features"
TUNED = "10,30,100"
"""The numbers of features among which the folds choose where one is tuned."""

ALIKE = 0.5
"""Methods whose first features agree at least so well, beyond chance, rank alike."""

Rows = list[dict[str, str]]


@attrs.frozen
class Line:
    """What the benchmark found about a method.

    Parameters
    ----------
    method : str
    tables : int
        On which it ran.
    accuracy : dict of str to float
        Mean balanced accuracy with each classifier, in [0, 1], over its tables.
    gain, error : float
        Mean over tables of its balanced accuracy minus that of all features (the mean of three
        classifiers), and the standard error over tables; NaN for all features.
    phi, similar, features, seconds : float
        Means over tables; NaN without a value.
    permuted : float
        Mean of balanced accuracy minus chance with labels in a random order; NaN if it did not run.
    tuned, tuned_error : float
        Balanced accuracy with a tuned number of features minus that of the fixed one: the mean over
        tables on which both ran, of the mean of classifiers, and its standard error.
    tuned_gain : float
        The gain then, over those tables.
    tuned_features : float
        The number that is kept then, a mean over folds, classifiers and tables.
    """

    method: str
    tables: int
    accuracy: dict[str, float]
    gain: float
    error: float
    phi: float
    similar: float
    features: float
    seconds: float
    permuted: float
    tuned: float = float("nan")
    tuned_error: float = float("nan")
    tuned_gain: float = float("nan")
    tuned_features: float = float("nan")


def counting(rows: Rows, sizes: str = SIZES) -> Rows:
    """The rows of the default size, or of other `sizes`, on tables that are finished.

    A table is finished if four in five methods ran on it: one that was stopped in the middle would
    favour the methods that come first.
    """
    rows = [row for row in rows if row["sizes"] == sizes]
    methods: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        methods[row["table"], row["label"]].add(row["method"])
    whole = {key for key, ran in methods.items() if len(ran) >= 0.8 * len(METHODS)}
    return [row for row in rows if (row["table"], row["label"]) in whole]


def mean_of(rows: Rows, column: str) -> float:
    """The mean of a column, blanks left out; NaN without values."""
    values = [float(row[column]) for row in rows if row[column] != ""]
    return float(np.mean(values)) if values else float("nan")


def gains(rows: Rows) -> dict[str, dict[str, float]]:
    """Balanced accuracy minus that of all features, by method and table: means of classifiers."""
    held = defaultdict(list)
    for row in rows:
        if row["label"] == "true":
            held[row["method"], row["table"]].append(float(row["balanced_accuracy"]))
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for (method, table), values in held.items():
        if (BASELINE, table) in held:
            found[method][table] = float(np.mean(values) - np.mean(held[BASELINE, table]))
    return found


def lines(rows: Rows) -> list[Line]:
    """One line for each method, the largest gain first."""
    by_gain = gains(rows)
    made = []
    for method in dict.fromkeys(row["method"] for row in rows):
        true = [r for r in rows if (r["method"], r["label"]) == (method, "true")]
        if not true:
            continue
        permuted = [
            float(r["balanced_accuracy"]) - 1 / int(r["classes"])
            for r in rows
            if (r["method"], r["label"]) == (method, "permuted")
        ]
        gain = np.array(list(by_gain[method].values()))
        spread = gain.std(ddof=1) / np.sqrt(gain.size) if gain.size > 1 else float("nan")
        ran = {r["table"] for r in true}
        made.append(
            Line(
                method,
                len(ran),
                {c: mean_of([r for r in true if r["classifier"] == c], "balanced_accuracy")
                 for c in CLASSIFIERS},
                float("nan") if method == BASELINE else float(gain.mean()),
                float("nan") if method == BASELINE else float(spread),
                mean_of(true, "phi"),
                # Sets that hold every feature agree by necessity.
                float("nan") if method == BASELINE else mean_of(true, "similar"),
                mean_of(true, "features"),
                3 * mean_of(true, "seconds"),
                float(np.mean(permuted)) if permuted else float("nan"),
            )
        )  # fmt: skip
    return sorted(made, key=lambda line: -np.nan_to_num(line.gain, nan=0.0))


def with_tuned(found: list[Line], rows: Rows, tuned: Rows) -> list[Line]:
    """The lines with what tuning the number of features changes, on the same tables."""
    fixed = {
        (r["method"], r["table"], r["classifier"]): float(r["balanced_accuracy"])
        for r in rows
        if r["label"] == "true"
    }
    made, gain_then = [], gains(tuned)
    for line in found:
        changes = defaultdict(list)
        own = [r for r in tuned if (r["method"], r["label"]) == (line.method, "true")]
        for row in own:
            key = (line.method, row["table"], row["classifier"])
            if key in fixed:
                changes[row["table"]].append(float(row["balanced_accuracy"]) - fixed[key])
        if line.method == BASELINE or len(changes) < 2:
            made.append(line)
            continue
        by_table = np.array([np.mean(values) for values in changes.values()])
        made.append(
            attrs.evolve(
                line,
                tuned=float(by_table.mean()),
                tuned_error=float(by_table.std(ddof=1) / np.sqrt(by_table.size)),
                tuned_gain=float(np.mean([*gain_then[line.method].values()])),
                tuned_features=mean_of(own, "features"),
            )
        )
    return made


def front(points: dict[str, tuple[float, float]]) -> list[str]:
    """The names of the points of which no other is as good in both and better in one."""
    return [
        name
        for name, (a, b) in points.items()
        if not any(
            x >= a and y >= b and (x, y) != (a, b)
            for other, (x, y) in points.items()
            if other != name
        )
    ]


def fronts(found: list[Line]) -> tuple[list[str], list[str]]:
    """Who is on the front of accuracy and stability, and on that of accuracy and time.

    Only methods that ran on as many tables as any are compared.
    """
    most = max(line.tables for line in found)
    whole = [line for line in found if line.tables == most and line.method != BASELINE]
    stable = {m.method: (m.gain, m.similar) for m in whole if not np.isnan(m.similar)}
    quick = {m.method: (m.gain, -m.seconds) for m in whole}
    return front(stable), front(quick)


def groups(chosen: Rows, columns: dict[str, int]) -> list[list[str]]:
    """Methods that rank alike: average linkage of how far their first features agree.

    The agreement of two methods on a table is Kuncheva's index of their first features, the share
    they have in common beyond chance; over tables its mean counts.
    """
    held: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for row in chosen:
        if row["table"] in columns:
            held[row["method"]][row["table"]] = set(row["chosen"].split())
    clusters = [[method] for method in held if method in METHODS]
    pair: dict[frozenset[str], float] = {}
    for a, b in combinations(held, 2):
        values = []
        for table in held[a].keys() & held[b].keys():
            one, two = held[a][table], held[b][table]
            chance = len(one) * len(two) / columns[table]
            most = min(len(one), len(two))
            if most > chance:
                values.append((len(one & two) - chance) / (most - chance))
        pair[frozenset((a, b))] = float(np.mean(values)) if values else 0.0
    while len(clusters) > 1:
        value, i, j = max(
            (float(np.mean([pair[frozenset((a, b))] for a in one for b in two])), i, j)
            for (i, one), (j, two) in combinations(enumerate(clusters), 2)
        )
        if value < ALIKE:
            break
        clusters[i] += clusters.pop(j)
    return [sorted(cluster) for cluster in clusters if len(cluster) > 1]


def firsts(rows: Rows) -> dict[str, int]:
    """On how many tables each method has the largest gain, ties counted for all of them."""
    by_table: dict[str, dict[str, float]] = defaultdict(dict)
    for method, values in gains(rows).items():
        for table, value in values.items():
            if method != BASELINE:
                by_table[table][method] = value
    counts: dict[str, int] = defaultdict(int)
    for values in by_table.values():
        best = max(values.values())
        for method, value in values.items():
            counts[method] += value == best
    return {m: n for m, n in counts.items() if n}


def sentence_on_all_features(found: list[Line]) -> list[str]:
    """The classifiers that are best with all features, if there are any."""
    most = max(line.tables for line in found)
    baseline = next((m for m in found if m.method == BASELINE and m.tables == most), None)
    whole = [line for line in found if line.tables == most and line.method != BASELINE]
    if baseline is None or not whole:
        return []
    said = []
    for classifier in CLASSIFIERS:
        best = max(line.accuracy[classifier] for line in whole)
        if baseline.accuracy[classifier] > best:
            all_, best = 100 * baseline.accuracy[classifier], 100 * best
            said.append(
                f"* With `{classifier}` all features are best: {all_:.0f} %; the best method "
                f"reaches {best:.0f} %."
            )
    return said


def level_with(first: str, others: list[str], by_gain: dict[str, dict[str, float]]) -> list[str]:
    """The methods whose gain is within two standard errors of that of another, table by table."""
    found = []
    for method in others:
        shared = by_gain[first].keys() & by_gain[method].keys()
        gaps = np.array([by_gain[first][table] - by_gain[method][table] for table in shared])
        if method != first and gaps.size > 1:
            error = gaps.std(ddof=1) / np.sqrt(gaps.size)
            if gaps.mean() <= 2 * error:
                found.append(method)
    return found


def most_stable(found: list[Line]) -> str:
    """The method with the largest stability, similar features as equals."""
    known = [line for line in found if not np.isnan(line.similar)]
    return max(known, key=lambda line: line.similar).method


def cell(value: float, form: str = ".2f") -> str:
    """A number, or a dash where there is none; z: a rounded zero has no minus."""
    return "—" if np.isnan(value) else format(value, form)


def change(line: Line) -> str:
    """What tuning changes, in points, with its standard error."""
    if np.isnan(line.tuned):
        return "—"
    return f"{100 * line.tuned:+z.1f}±{100 * line.tuned_error:.1f}"


def sentence_on_tuning(found: list[Line]) -> list[str]:
    """What tuning the number of features changes, over methods."""
    known = [line for line in found if not np.isnan(line.tuned)]
    if not known:
        return []
    best = max(known, key=lambda line: line.tuned)
    first = max(known, key=lambda line: line.tuned_gain)
    clear = sum(abs(line.tuned) > 2 * line.tuned_error for line in known)
    mean = 100 * np.mean([line.tuned for line in known])
    return [
        f"* Tuning the number of features changes the gain by {mean:+.1f} points on average, that "
        f"of {best.method} most ({100 * best.tuned:+.1f}); {clear} of {len(known)} changes are "
        f"larger than two standard errors. {first.method} then has the largest gain, "
        f"{100 * first.tuned_gain:+.1f}."
    ]


def story() -> str:
    """The opening: what a leak does to a published table."""
    with BRE.open(newline="", encoding="utf-8") as file:
        of_bre = list(csv.DictReader(file))
    inside = [float(row["screened inside %"]) for row in of_bre]
    before = [float(row["permuted labels, before %"]) for row in of_bre]
    return (
        "On the breast cancer data of van 't Veer et al., papers print accuracies of 69 to 92 %. "
        "With genes chosen inside the folds, the same classifiers reach "
        f"{min(inside):.0f} to {max(inside):.0f} %. With genes chosen before the folds, and labels "
        f"in a random order, they reach {min(before):.0f} to {max(before):.0f} % "
        "([table](../benchmarks/published/results/bre.md)). On this page features are chosen "
        "inside the folds."
    )


def page(rows: Rows, chosen: Rows) -> str:
    """The whole page, of the rows that count."""
    tuned = counting(rows, TUNED)
    rows = counting(rows)
    found = with_tuned(lines(rows), rows, tuned)
    stable, quick = fronts(found)
    ran = sorted({r["table"] for r in rows if r["label"] == "true"}, key=TABLES.index)
    mixed = sorted({r["table"] for r in rows if r["label"] == "permuted"}, key=TABLES.index)
    columns = {r["table"]: int(r["columns"]) for r in rows}
    most = max(line.tables for line in found)
    missing = [m for m in METHODS if m not in {line.method for line in found}]
    partial = [f"{line.method} ({line.tables})" for line in found if line.tables < most]
    text = [
        "# Which filter on wide tables?",
        "",
        story(),
        "",
        f"**What ran.** {len(ran)} of {len(TABLES)} tables ({', '.join(ran)}), {len(found)} of "
        f"{len(METHODS)} methods, three classifiers (5 nearest neighbours, linear SVM, "
        f"naive Bayes), {SIZES} features, stratified 5-fold cross-validation, once."
        + (f" Not run: {', '.join(missing)}." if missing else "")
        + (
            f" On fewer than {most} tables, because a cell would have taken over a minute or for "
            f"want of time: {', '.join(partial)}."
            if partial
            else ""
        ),
        "",
        "* **gain**: balanced accuracy minus that of all features, in points, mean of classifiers "
        "and tables ± standard error over tables. **kNN, SVM, NB**: balanced accuracy, %.",
        "* **φ**: stability over the folds (Nogueira). **similar**: the same, with correlated "
        "features counted as equal (Zucknick, corrected for chance). **features**: how many are "
        "kept. **s**: processor seconds.",
        "* **random**: balanced accuracy of kNN minus chance, in points, with labels in a random "
        f"order, on {len(mixed)} tables.",
        f"* **tuned**: change of the gain, in points, if the number of features is tuned (of "
        f"{TUNED.replace(',', ', ')}) by three folds inside the training rows, for each "
        f"classifier, on {len({r['table'] for r in tuned})} tables; **to**: how many are then "
        "kept.",
        "* **front**: no method is both more accurate and more stable (A, by *similar*), or both "
        "more accurate and quicker (T).",
        "",
        "|method|gain|kNN|SVM|NB|φ|similar|features|s|random|tuned|to|front|",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for line in found:
        mark = "A" * (line.method in stable) + "T" * (line.method in quick)
        gain = "0" if line.method == BASELINE else f"{100 * line.gain:+.1f}"
        if not np.isnan(line.error):
            gain += f"±{100 * line.error:.1f}"
        accuracy = [cell(100 * line.accuracy[c], ".0f") for c in CLASSIFIERS]
        cells = [
            line.method.replace(" + ", "+"), gain, *accuracy, cell(line.phi), cell(line.similar),
            cell(line.features, ".0f"), cell(line.seconds, ".1f"),
            cell(100 * line.permuted, "+z.0f"), change(line), cell(line.tuned_features, ".0f"),
            mark,
        ]  # fmt: skip
        text.append(f"|{'|'.join(cells)}|")
    text += ["", f"![Gain and stability of each method]({PICTURE})", ""]
    text += ["## What follows", "", *conclusions(rows, chosen, columns, found)]
    text += [
        "",
        "To add your own method: `python benchmarks/wide/run.py --data DATA --methods "
        "'mine=my-method:top={SIZES}'`, then `python benchmarks/wide/page.py`.",
    ]
    return "\n".join(text) + "\n"


def conclusions(rows: Rows, chosen: Rows, columns: dict[str, int], found: list[Line]) -> list[str]:
    """What the figures say, beside the findings of 2020 and 2022."""
    tables = len({r["table"] for r in rows if r["label"] == "true"})
    counts = firsts(rows)
    leader, times = max(counts.items(), key=lambda item: item[1])
    order = [line.method for line in found if line.method != BASELINE]
    better = sum(line.gain > 2 * line.error for line in found if line.method != BASELINE)
    worse = sum(line.gain < -2 * line.error for line in found if line.method != BASELINE)
    near = level_with(order[0], order, gains(rows))
    agrees = "This agrees" if times <= tables / 2 else "This does not agree"
    stable, quick = fronts(found)
    both = [method for method in order if method in stable and method in quick]
    said = [
        f"* **{order[0]}** has the largest gain; {len(near)} of the other {len(order) - 1} are "
        f"within two standard errors of it. On both fronts: {', '.join(both)}. Compared with all "
        f"features, {better} methods gain, and {worse} lose, more than two standard errors.",
        *sentence_on_all_features(found),
        *sentence_on_tuning(found),
        "* Bommert et al. 2020 (22 filters, 16 tables) find that no group of filters always wins. "
        f"{agrees}: {len(counts)} methods are first on some table, {leader} most often, on "
        f"{times} of {tables}.",
        "* Bommert et al. 2022 (14 filters, 11 tables of survival) find the variance filter the "
        f"best. Here, with classes, it is number {order.index('variance') + 1} of {len(order)}, "
        "though the most stable."
        if most_stable(found) == "variance"
        else "* Bommert et al. 2022 (14 filters, 11 tables of survival) find the variance filter "
        "the best. Here, with classes, it is number "
        f"{order.index('variance') + 1} of {len(order)}.",
        f"* Groups that rank alike (first {CHOSEN} features agree by {ALIKE:g} "
        "or more beyond chance): "
        + "; ".join(", ".join(group) for group in groups(chosen, columns))
        + ".",
    ]
    honest = [line for line in found if not np.isnan(line.permuted)]
    leaks = [
        float(r["balanced_accuracy"]) - 1 / int(r["classes"]) for r in rows if r["method"] == LEAK
    ]
    if honest:
        worst = max(honest, key=lambda line: line.permuted)
        mean = float(np.mean([line.permuted for line in honest]))
        text = (
            f"* With labels in a random order, methods are {100 * mean:+z.0f} points from chance "
            f"on average, {worst.method} furthest above it ({100 * worst.permuted:+.0f})"
        )
        if leaks:
            text += f"; 30 features chosen by F before the folds are {100 * np.mean(leaks):+.0f}"
        said.append(text + ".")
    return said


def picture(found: list[Line], path: Path) -> None:
    """Gain against stability, and against time, the fronts named."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    # Without these, every run of the same figures makes another file.
    matplotlib.rcParams |= {"svg.hashsalt": "wide", "svg.fonttype": "none", "font.size": 9}
    stable, quick = fronts(found)
    most = max(line.tables for line in found)
    shown = [line for line in found if line.tables == most and line.method != BASELINE]
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 5), sharey=True, layout="constrained")
    for axis, ahead, value in (
        (axes[0], stable, lambda line: line.similar),
        (axes[1], quick, lambda line: line.seconds),
    ):
        for line in shown:
            on_front = line.method in ahead
            axis.plot(
                value(line), 100 * line.gain, "o", ms=6 if on_front else 4,
                color="#1f4e9c" if on_front else "#9aa3ad",
            )  # fmt: skip
        # Names stand on the side of the front, where there are no other points.
        side = 1 if axis is axes[0] else -1
        above = np.inf
        for line in sorted(shown, key=lambda line: -line.gain):
            if line.method in ahead:
                # Names of neighbours would overlap: 0.55 points are a line of text.
                above = min(100 * line.gain, above - 0.55)
                axis.annotate(
                    line.method, (value(line), above), xytext=(7 * side, -3),
                    textcoords="offset points", ha="left" if side > 0 else "right",
                )  # fmt: skip
        axis.margins(x=0.3, y=0.1)
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
        axis.axhline(0, color="#444444", lw=0.8)
    axes[0].set(
        xlabel="stability, similar features as equals", ylabel="gain over all features, points"
    )
    axes[1].set(xlabel="processor seconds for a table", xscale="log")
    axes[1].set_xticks(ticks := [0.3, 1, 3, 10], [f"{tick:g}" for tick in ticks])
    axes[1].minorticks_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=Path, default=RESULTS)
    parser.add_argument("--out", type=Path, default=PAGE)
    asked = parser.parse_args()
    rows = read(asked.rows)
    asked.out.write_text(page(rows, read(asked.rows.with_name("chosen.csv"))), encoding="utf-8")
    picture(lines(counting(rows)), asked.out.parent / PICTURE)


if __name__ == "__main__":
    main()
