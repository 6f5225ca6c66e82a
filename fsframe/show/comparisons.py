"""A comparison as text, JSON, tables and CSV, and its output folder."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from fsframe.atomic import check_destination, check_ending, place_file
from fsframe.errors import StoreError
from fsframe.table.spelling.text_file import defused
from fsframe.text import Rows, csv_text, facts, listed, number_text, table_lines, wrapped

if TYPE_CHECKING:
    from fsframe.evaluation.comparison import Comparison
    from fsframe.storage.study_file import StudyRecord

RESULTS = "results.csv"
"""Name of the table of results in the folder of a comparison."""

MARKS = (
    "±: standard error, corrected for overlapping training sets (Nadeau, Bengio 2003). 95 %: "
    "interval of the mean, within the range of the measure. kept: mean number of features. φ: "
    "their stability from fold to fold. *: best. ‡: fewest features, with a value within ± of the "
    "best. P: Pareto front, no other chain has both a better value and a larger φ."
)
"""Meaning of the columns and marks of `result_rows`."""

_RULES = {"two-step": "p < .05", "strict": "p < .01", "corrected": "corrected"}
_WIDTH = 80
_ON_ALL = "(all features) "
_JSON_FIELDS = (
    "chains", "data", "metric", "larger_is_better", "values", "standard_error", "intervals",
    "larger_class", "all_features", "rule", "accuracy",
)  # fmt: skip
_JSON_FIELDS_OF_RANKS = {
    "mean_ranks": "mean_ranks",
    "critical_difference": "difference",
    "friedman_p": "friedman_p",
    "alike": "groups",
}
"""Fields of a comparison, and of its ranks, in the JSON object."""


CSV_NAMES = (
    "data", "chain", "metric", "value", "standard_error", "low", "high", "accuracy",
    "features_kept", "stability", "on_front", "fewest_features", "seconds",
)  # fmt: skip
"""Columns of the table of results.

The value is the mean of the measure, with its corrected standard error and 95 % interval (low,
high). On the front: no other chain has both a better value and a larger stability. Fewest features:
the chain keeps the fewest features within one standard error of the best.
"""


def baselines_on(result: Comparison, d: int) -> Iterator[tuple[str, bool, float]]:
    """The baselines on a table: name, whether it ignores the features, value.

    The rule that ignores the features comes first, then the classifiers on all features.
    """
    yield result.rule, True, float(result.larger_class[d])
    for name, values in result.all_features.items():
        yield name, False, float(values[d])


def result_columns(results: Iterable[Comparison]) -> dict[str, list[Any]]:
    """The results as columns, with a row for each table and chain, then the table's baselines.

    Unknown values are None.
    """
    rows = [row for result in results for row in _result_rows(result)]
    return {name: [row[k] for row in rows] for k, name in enumerate(CSV_NAMES)}


def _result_rows(result: Comparison) -> Iterator[list[Any]]:
    for d, data in enumerate(result.data):
        for c, chain in enumerate(result.chains):
            numbers = [result.values[d, c], result.standard_error[d, c], *result.intervals[d, c]]
            numbers += [result.accuracy[d, c], result.kept[d, c], result.stability[d, c]]
            marks = [bool(result.front[d, c]), int(result.fewest[d]) == c]
            row = [*map(float, numbers), *marks, float(result.seconds[d, c])]
            yield [data, chain, result.metric, *map(_known, row)]
        for name, alone, value in baselines_on(result, d):
            label = f"({name})" if alone else f"{_ON_ALL}{name}"
            yield [data, label, result.metric, _known(value), *[None] * 9]


def results_csv(results: Iterable[Comparison]) -> str:
    """The results of comparisons as CSV, with one header line."""
    rows = [
        [defused(data), *(str(c).lower() if isinstance(c, bool) else c for c in cells)]
        for result in results
        for data, *cells in _result_rows(result)
    ]
    return csv_text([CSV_NAMES, *rows])


def _known(value: Any) -> Any:
    return None if value != value else value


def tested_pairs(result: Comparison) -> list[dict[str, Any]]:
    """Every pair of chains on every table: difference, tests, and the outcome by each rule."""
    return [
        {
            "data": result.data[d],
            "a": result.chains[i],
            "b": result.chains[j],
            "difference": test.difference,
            "p_paired": test.p_value,
            "p_corrected": result.corrected[d, i, j].p_value,
            "posterior": result.posterior[d, i, j],
            **{rule.replace("-", "_"): result.outcome[rule][d, i, j] for rule in _RULES},
        }
        for (d, i, j), test in result.papers.items()
    ]


def pair_columns(result: Comparison) -> dict[str, list[Any]]:
    """The tests of every pair of chains on every table, as columns."""
    names = ("data", "a", "b", "difference", "p_paired", "p_corrected", "corrected")
    pairs = tested_pairs(result)
    return {name: [pair[name] for pair in pairs] for name in names}


def comparison_object(result: Comparison) -> dict[str, Any]:
    """A comparison as one object for `json_text`."""
    return {
        **facts(result, *_JSON_FIELDS),
        "features_kept": result.kept,
        **facts(result, "stability", "seconds", "front"),
        "fewest_features": [None if c < 0 else c for c in result.fewest.tolist()],
        "rope": result.rope,
        "pairs": tested_pairs(result),
        "bayesian_signed_rank": result.overall,
        "wilcoxon_holm": result.adjusted_p,
        **{key: getattr(result.ranks, name, None) for key, name in _JSON_FIELDS_OF_RANKS.items()},
    }


def study_object(study: StudyRecord, comparisons: Mapping[str, Comparison]) -> dict[str, Any]:
    """A study, with its comparison by each measure, as one object for `json_text`."""
    objects = {metric: comparison_object(each) for metric, each in comparisons.items()}
    return {**study.asked(), "comparisons": objects}


def result_rows(result: Comparison, d: int, names: Sequence[str]) -> Rows:
    """The results on table `d`: header, rows, and which columns hold numbers.

    The chains come first, labelled with `names`, then the baselines.
    """
    values = result.values[d]
    best = values.max() if result.larger_is_better else values.min()
    rows = []
    for c, (name, value) in enumerate(zip(names, values, strict=True)):
        low, high = result.intervals[d, c]
        marks = "*" * bool(value == best) + "‡" * bool(result.fewest[d] == c)
        marks += " P" * bool(result.front[d, c])
        interval = "" if low != low else f"{low:.3f} … {high:.3f}"
        numbers = [number_text(value), number_text(result.standard_error[d, c]), interval]
        kept = [f"{result.kept[d, c]:.1f}", number_text(result.stability[d, c], 2)]
        rows.append([name, *numbers, *kept, marks.strip()])
    for name, alone, value in baselines_on(result, d):
        shown = name if alone or len(name) <= 30 else f"{name[:29]}…"
        rows.append([shown if alone else f"all: {shown}", number_text(value), *[""] * 5])
    return ["", "value", "±", "95 %", "kept", "φ", ""], rows, {1, 2, 3, 4, 5}


def against_best(result: Comparison, names: Sequence[str]) -> Rows:
    """The best chain on average compared with every other, as a table; chains are called `names`.

    Chains are in the order of their means or mean ranks; the best is itself a row only if chains
    are ranked over several tables. Columns: the outcome for the best by each rule (over several
    tables, its wins, ties and losses); mean rank and p by Wilcoxon's test with Holm's adjustment;
    probabilities that the best is better, practically equal, worse.
    """
    order = result.order()
    best, ranks, p = order[0], result.ranks, result.adjusted_p
    rules = _RULES if result.papers else {}
    header = ["", *rules.values()]
    if ranks is not None:
        header += ["mean rank", "p, Holm"]
    if _has_chances(result):
        header += ["better", "equal", "worse"]
    rows = []
    for c in order if ranks is not None else order[1:]:
        if len(result.data) == 1:
            cells = [str(result.outcome[rule][0, best, c]) for rule in rules]
        else:
            cells = ["{},{},{}".format(*result.tally(rule, best, c)) for rule in rules]
        if ranks is not None and p is not None:
            cells += [f"{ranks.mean_ranks[c]:.2f}", f"{p[best, c]:.3g}"]
        chances = result.chances(best, c)
        if chances is not None:
            cells += [f"{chance:.2f}" for chance in reversed(chances)]
        if c == best:
            cells = [cell if place == len(rules) else "—" for place, cell in enumerate(cells)]
        rows.append([names[c], *cells])
    return header, rows, set(range(1, len(header)))


def _has_chances(result: Comparison) -> bool:
    return result.overall is not None or (len(result.data) == 1 and bool(result.papers))


def words_of_tests(result: Comparison) -> list[str]:
    """The tests by which `against_best` compares chains, one sentence each."""
    words, several = [], len(result.data) > 1
    if result.papers:
        words.append(
            f"{'Wins, ties, losses' if several else 'Win, tie or loss'} of the best: by the "
            "paired t-test of the papers with p < .05 (IMMIGRATE's rule), by the same with "
            "p < .01 and a difference of at least 0.5 % (IM4E's), and by the corrected resampled "
            "t-test with p < .05, the only one that keeps its level."
        )
    if result.ranks is not None:
        words.append(
            f"Friedman's test that all chains are equal has p = {result.ranks.friedman_p:.3g}; "
            f"mean ranks at least {result.ranks.difference:.2f} apart differ by Nemenyi's test at "
            f"{result.ranks.level:g}. p, Holm: Wilcoxon's signed-rank test against the best, "
            "adjusted for all pairs of chains."
        )
    if _has_chances(result):
        test = "Bayesian signed-rank test" if several else "correlated Bayesian t-test"
        words.append(
            f"Better, equal, worse: the probabilities, by the {test}, that the best is better by "
            f"more than {result.rope:g}, practically equal, or worse by more than that."
        )
    if result.overall is not None and result.few_tables:
        words.append(f"From {len(result.data)} tables these probabilities say very little.")
    return words


def comparison_lines(result: Comparison) -> Iterator[str]:
    """A comparison as lines for a terminal."""
    letters = [chr(ord("A") + c) if c < 26 else f"C{c + 1}" for c in range(len(result.chains))]
    for letter, chain in zip(letters, result.chains, strict=True):
        yield f"{letter}  {chain}"
    for d, data in enumerate(result.data):
        yield ""
        yield f"{data}, {result.metric}:"
        yield from table_lines(*result_rows(result, d, letters))
    yield ""
    yield from wrapped(MARKS, width=_WIDTH)
    yield ""
    if len(result.chains) == 1:
        yield "No tests: there is one chain."
        return
    if not result.papers:
        yield f"No paired tests: {result.metric} has no value in some folds."
        if result.ranks is None:
            return
    over = f", over {len(result.data)} tables" if len(result.data) > 1 else ""
    yield f"{letters[result.order()[0]]} against the others{over}:"
    yield from table_lines(*against_best(result, letters))
    for group in () if result.ranks is None else result.ranks.groups:
        yield "no significant difference by Wilcoxon–Holm: " + " ".join(letters[c] for c in group)
    words = [*words_of_tests(result), "All pairs: --json."]
    yield from wrapped(" ".join(words), width=_WIDTH)


def run_file(folder: Path, table: str, chain: str) -> Path:
    """Path of the run file of a chain on a table, different for different chains and tables."""
    plain = "".join(c if c.isalnum() else "-" for c in chain).strip("-")[:60]
    # Programs may call a table anything; names of files have no slash.
    stem = re.sub(r"[/\\]", "-", table)
    named = chain if stem == table else f"{chain} on {table}"
    return folder / f"{stem}.{plain}.{hashlib.sha256(named.encode()).hexdigest()[:8]}.h5"


def check_folder(folder: Path, apart_from: Sequence[Path]) -> None:
    """Refuse to replace a file in `folder` that no earlier comparison has written.

    Raises
    ------
    StoreError
        Also if the folder cannot be written to, or is named like a file.
    """
    check_ending(folder, holds="a comparison", instead="its results.csv is the table")
    if not folder.is_dir():
        return
    results = check_destination(folder / RESULTS, overwrite=True, apart_from=apart_from)
    if results.is_file() and recorded_results(folder) is None:
        raise StoreError(
            f"{folder / RESULTS} already exists and does not come from an earlier comparison; "
            "move it, or choose another folder with --out"
        )


@attrs.frozen
class TableOfResults:
    """What the table of results in a folder is of.

    Parameters
    ----------
    chains : tuple of str
    metric : str
    rows : frozenset of (table, chain)
        Its rows, also those of classifiers on all features, and of the rule that ignores them.
    """

    chains: tuple[str, ...]
    metric: str
    rows: frozenset[tuple[str, str]]

    def holds(self, table: str, chain: str) -> bool:
        """Whether it has a row of this chain, or classifier on all features, on this table."""
        return (defused(table), chain) in self.rows


def recorded_results(folder: Path) -> TableOfResults | None:
    """The content of the table of results in `folder`; None if there is no such table."""
    try:
        with open(folder / RESULTS, newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
    except (OSError, ValueError, csv.Error):
        return None
    if not rows or tuple(header) != CSV_NAMES or any(len(row) != len(header) for row in rows):
        return None
    # Baselines have no standard error, stability or time.
    chains = dict.fromkeys(row[1] for row in rows if row[-1])
    held = frozenset((row[0], row[1].removeprefix(_ON_ALL)) for row in rows)
    return TableOfResults(tuple(chains), rows[0][2], held)


def check_kept(folder: Path, tables: Sequence[str], chains: Sequence[str]) -> None:
    """Refuse to replace a table of results by one that lacks some of its chains or tables.

    Raises
    ------
    StoreError
        Naming what would be lost.
    """
    earlier = recorded_results(folder)
    if earlier is None:
        return
    lost = sorted({table for table, _ in earlier.rows} - {defused(table) for table in tables})
    lost += [f"`{chain}`" for chain in earlier.chains if chain not in chains]
    if lost:
        raise StoreError(
            f"{folder / RESULTS} holds results that this comparison lacks: {listed(lost)}; name "
            "them too (what is there is not computed again), choose another folder with --out, or "
            "replace that table (--overwrite)"
        )


def make_folder(folder: Path) -> None:
    """Create the folder; StoreError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is not a folder" if folder.exists() else error.strerror or str(error)
        raise StoreError(f"cannot make {folder}: {reason}; choose another --out") from error


def write_comparison(comparison: Comparison, folder: Path) -> None:
    """Write the table of results to `folder`."""
    # Rebuilt from the run files at every call.
    place_file(folder / RESULTS, results_csv([comparison]).encode(), overwrite=True)
