"""A comparison as text, JSON, CSV and HDF5, and its output folder."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from fsframe.errors import StoreError
from fsframe.storage import check_destination, place_file
from fsframe.table.text_file import defused
from fsframe.text import number_text, table_lines

if TYPE_CHECKING:
    from fsframe.evaluation.comparison import Cell, Comparison

RESULTS = ("results.csv", "results.h5")
"""The files in the folder of a comparison besides the run files."""

_MOST_PAIRWISE = 6


_RULE_WORDS = (
    ("two-step", "paired t-test, p < 0.05 (IMMIGRATE's rule)"),
    ("strict", "paired t-test, p < 0.01 and ≥ 0.5 % (IM4E's rule)"),
    ("corrected", "corrected resampled t-test, p < 0.05 (keeps its level)"),
)


@attrs.frozen
class ChainOnTable:
    """What a comparison says of one chain on one table; NaN where something is not known.

    Parameters
    ----------
    data, chain, metric : str
    value, standard_error, low, high : float
        The measure, with its corrected standard error and its 95 % interval.
    accuracy, features_kept, stability : float
    on_front, fewest_features : bool
        Whether no other chain has both a better value and a larger stability; whether it keeps the
        fewest features within one standard error of the best.
    seconds : float
    """

    data: str
    chain: str
    metric: str
    value: float
    standard_error: float
    low: float
    high: float
    accuracy: float
    features_kept: float
    stability: float
    on_front: bool
    fewest_features: bool
    seconds: float


CSV_NAMES = tuple(field.name for field in attrs.fields(ChainOnTable))
"""The columns of the table of results."""


def chains_on(result: Comparison, d: int) -> list[ChainOnTable]:
    """The chains of a comparison on its table number `d`."""
    numbers = {
        "value": result.values,
        "standard_error": result.standard_error,
        "low": result.intervals[..., 0],
        "high": result.intervals[..., 1],
        "accuracy": result.accuracy,
        "features_kept": result.kept,
        "stability": result.stability,
        "seconds": result.seconds,
    }
    return [
        ChainOnTable(
            data=result.data[d],
            chain=chain,
            metric=result.metric,
            on_front=bool(result.front[d, c]),
            fewest_features=int(result.fewest[d]) == c,
            **{name: float(values[d, c]) for name, values in numbers.items()},
        )
        for c, chain in enumerate(result.chains)
    ]


def baselines_on(result: Comparison, d: int) -> Iterator[tuple[str, bool, float]]:
    """The baselines on a table: name, whether it ignores the features, value.

    The rule that ignores the features comes first, then the classifiers on all features.
    """
    yield result.rule, True, float(result.larger_class[d])
    for name, values in result.all_features.items():
        yield name, False, float(values[d])


def result_columns(results: Iterable[Comparison]) -> dict[str, list[Any]]:
    """The tables of results of comparisons as columns; None where something is not known."""
    rows = [row for result in results for row in _result_rows(result)]
    return {name: [row[k] for row in rows] for k, name in enumerate(CSV_NAMES)}


def pair_columns(result: Comparison) -> dict[str, list[Any]]:
    """The tests of every two chains on every table as columns."""
    places = list(result.papers)
    return {
        "data": [result.data[d] for d, _, _ in places],
        "a": [result.chains[i] for _, i, _ in places],
        "b": [result.chains[j] for _, _, j in places],
        "difference": [result.papers[place].difference for place in places],
        "p_paired": [result.papers[place].p_value for place in places],
        "p_corrected": [result.corrected[place].p_value for place in places],
        "corrected": [str(result.outcome["corrected"][place]) for place in places],
    }


def csv_rows(result: Comparison) -> Iterator[Sequence[str]]:
    """The table of results: a row for each table and chain, then the baselines."""
    for data, *cells in _result_rows(result):
        yield [defused(data), *map(_cell, cells)]


def _result_rows(result: Comparison) -> Iterator[list[Any]]:
    for d, data in enumerate(result.data):
        yield from ([*map(_known, attrs.astuple(row))] for row in chains_on(result, d))
        for name, alone, value in baselines_on(result, d):
            label = f"({name})" if alone else f"(all features) {name}"
            yield [data, label, result.metric, _known(value), *[None] * 9]


def csv_text(results: Iterable[Comparison]) -> str:
    """The tables of results of comparisons below one line of names, as CSV."""
    memory = io.StringIO()
    writer = csv.writer(memory, lineterminator="\n")
    writer.writerow(CSV_NAMES)
    for result in results:
        writer.writerows(csv_rows(result))
    return memory.getvalue()


def _known(value: Any) -> Any:
    return None if value != value else value


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value if isinstance(value, str) else repr(value)


def hdf5_image(result: Comparison, cells: Sequence[Sequence[Cell]]) -> bytes:
    """The results as the bytes of an HDF5 file: means, and the accuracy of every split of every
    table.
    """
    import h5py
    import numpy as np

    memory = io.BytesIO()
    with h5py.File(memory, "w") as file:
        file.attrs["encoding-type"] = "fsframe-comparison"
        file.attrs["encoding-version"] = 1
        file["chains"] = np.array([chain.encode() for chain in result.chains])
        file["data"] = np.array([name.encode() for name in result.data])
        file.attrs["metric"] = result.metric
        names = ("values", "standard_error", "intervals", "larger_class", "accuracy", "kept")
        for name in (*names, "stability", "front", "seconds"):
            file.create_dataset(name, data=getattr(result, name), fletcher32=True)
        for name, row in zip(result.data, cells, strict=True):
            values = np.array([cell.evaluation.measures[result.metric].values for cell in row])
            file.create_dataset(f"splits/{name}", data=values, fletcher32=True)
    return memory.getvalue()


def comparison_object(result: Comparison) -> dict[str, Any]:
    """A comparison as one object for `json_text`."""
    pairs = [
        {
            "data": result.data[d],
            "a": result.chains[i],
            "b": result.chains[j],
            "difference": test.difference,
            "p_paired": test.p_value,
            "p_corrected": result.corrected[d, i, j].p_value,
            "posterior": result.posterior[d, i, j],
            "two_step": result.outcome["two-step"][d, i, j],
            "strict": result.outcome["strict"][d, i, j],
            "corrected": result.outcome["corrected"][d, i, j],
        }
        for (d, i, j), test in result.papers.items()
    ]
    ranks = result.ranks
    return {
        "chains": result.chains,
        "data": result.data,
        "metric": result.metric,
        "larger_is_better": result.larger_is_better,
        "values": result.values,
        "standard_error": result.standard_error,
        "intervals": result.intervals,
        "larger_class": result.larger_class,
        "all_features": result.all_features,
        "rule": result.rule,
        "accuracy": result.accuracy,
        "features_kept": result.kept,
        "stability": result.stability,
        "seconds": result.seconds,
        "front": result.front,
        "fewest_features": [None if c < 0 else c for c in result.fewest.tolist()],
        "rope": result.rope,
        "pairs": pairs,
        "bayesian_signed_rank": result.overall,
        "wilcoxon_holm": result.adjusted_p,
        "mean_ranks": None if ranks is None else ranks.mean_ranks,
        "critical_difference": None if ranks is None else ranks.difference,
        "friedman_p": None if ranks is None else ranks.friedman_p,
        "alike": None if ranks is None else ranks.groups,
    }


def _letters(result: Comparison) -> list[str]:
    """Short names of chains for tables."""
    return [chr(ord("A") + c) if c < 26 else f"C{c + 1}" for c in range(len(result.chains))]


def accuracy_rows(result: Comparison) -> tuple[list[str], list[list[str]], set[int]]:
    """The means as a table: names of columns, rows, and which columns hold numbers.

    Accuracies are in per cent, other measures as they are.
    """
    letters = _letters(result)
    percent = result.metric == "accuracy"
    rows = []
    for d, data in enumerate(result.data):
        best = result.values[d].max() if result.larger_is_better else result.values[d].min()
        cells = []
        for row in chains_on(result, d):
            value, error = (
                (100 * row.value, 100 * row.standard_error)
                if percent
                else (row.value, row.standard_error)
            )
            digits = 1 if percent else 3
            shown = f"{value:.{digits}f} ± {error:.{digits}f}"
            cells.append(shown + ("*" if row.value == best else " "))
        rows.append([data, *cells])
    name = "accuracy, %" if percent else result.metric
    return [name, *letters], rows, set(range(1, len(letters) + 1))


def comparison_lines(result: Comparison) -> Iterator[str]:
    """A comparison as lines for a terminal."""
    letters = _letters(result)
    for letter, chain in zip(letters, result.chains, strict=True):
        yield f"{letter}  {chain}"
    for d in range(len(result.data)):
        yield ""
        yield from _table_of(result, d, letters)
    yield ""
    yield "±: corrected standard error. 95 %: interval of the mean. φ: stability."
    yield "*: best. ‡: fewest features, with a value within ± of the best."
    yield "P: Pareto front, no other chain has both a better value and a larger φ."
    if not result.papers:
        yield f"No tests: {result.metric} has no value in some folds."
        return
    yield ""
    if len(letters) <= _MOST_PAIRWISE:
        yield from _pairwise(result, letters)
    else:
        yield from _against_best(result, letters)
    yield from _rank_lines(result, letters)


def _table_of(result: Comparison, d: int, letters: Sequence[str]) -> Iterator[str]:
    """One table: every chain, then the baselines."""
    values = result.values[d]
    best = values.max() if result.larger_is_better else values.min()
    rows = []
    for letter, row in zip(letters, chains_on(result, d), strict=True):
        marks = "*" * bool(row.value == best) + "‡" * row.fewest_features + " P" * row.on_front
        interval = "" if row.low != row.low else f"{row.low:.3f} … {row.high:.3f}"
        cells = [
            number_text(row.value),
            number_text(row.standard_error),
            interval,
            f"{row.features_kept:.1f}",
        ]
        rows.append([letter, *cells, number_text(row.stability, 2), marks.strip()])
    for name, alone, value in baselines_on(result, d):
        shown = name if alone or len(name) <= 30 else f"{name[:29]}…"
        rows.append([shown if alone else f"all: {shown}", number_text(value), *[""] * 5])
    yield f"{result.data[d]}, {result.metric}:"
    header = ["", "value", "±", "95 %", "kept", "φ", ""]
    yield from table_lines(header, rows, right={1, 2, 3, 4, 5})


def _matrix(
    letters: Sequence[str], text: Callable[[int, int], str], right: bool = False
) -> Iterator[str]:
    """A table of every chain with every other one."""
    some = range(len(letters))
    rows = [[letters[i], *("" if i == j else text(i, j) for j in some)] for i in some]
    yield from table_lines(["", *letters], rows, {*range(1, len(letters) + 1)} if right else set())


def _pairwise(result: Comparison, letters: Sequence[str]) -> Iterator[str]:
    yield "Wins, ties, losses of the row against the column, over the tables:"
    for rule, words in _RULE_WORDS:
        yield f"  {words}"
        for line in _matrix(letters, partial(_tally, result, rule)):
            yield f"  {line}"
    if len(result.data) > 1:
        return
    yield (
        f"Probability that the row is better by more than {result.rope:g} (correlated Bayesian "
        "t-test):"
    )
    for line in _matrix(letters, lambda i, j: f"{_better(result, i, j):.2f}"):
        yield f"  {line}"


def _tally(result: Comparison, rule: str, i: int, j: int) -> str:
    return "{},{},{}".format(*result.tally(rule, i, j))


def _better(result: Comparison, i: int, j: int) -> float:
    return result.posterior[0, i, j][2] if i < j else result.posterior[0, j, i][0]


def _against_best(result: Comparison, letters: Sequence[str]) -> Iterator[str]:
    """Every chain against the best on average, where there are too many pairs to show."""
    means = result.values.mean(axis=0)
    best = int(means.argmax() if result.larger_is_better else means.argmin())
    yield f"Wins, ties, losses of {letters[best]} against the others, over the tables:"
    rows = [
        [letter, *(_tally(result, rule, best, c) for rule, _ in _RULE_WORDS)]
        for c, letter in enumerate(letters)
        if c != best
    ]
    yield from table_lines(["", "p < 0.05", "p < 0.01, ≥ 0.5 %", "corrected"], rows)


def _rank_lines(result: Comparison, letters: Sequence[str]) -> Iterator[str]:
    ranks, p = result.ranks, result.adjusted_p
    if ranks is None or p is None:
        return
    yield ""
    yield f"Over {len(result.data)} tables (Friedman p = {ranks.friedman_p:.3g}):"
    order = sorted(range(len(letters)), key=lambda c: (ranks.mean_ranks[c], c))
    rows = [[letters[c], f"{ranks.mean_ranks[c]:.2f}"] for c in order]
    yield from table_lines(["", "mean rank"], rows, right={1})
    yield f"Nemenyi's critical difference at {ranks.level:g}: {ranks.difference:.2f} ranks"
    for group in ranks.groups:
        yield "no significant difference by Wilcoxon–Holm: " + " ".join(letters[c] for c in group)
    if len(letters) <= _MOST_PAIRWISE:
        yield "Wilcoxon–Holm p-values:"
        yield from _matrix(letters, lambda i, j: f"{p[i, j]:.3g}", right=True)
    else:
        first = order[0]
        yield (
            f"Wilcoxon–Holm p-values of {letters[first]} against the others (--json has all pairs):"
        )
        others = [[letters[c], f"{p[first, c]:.3g}"] for c in order[1:]]
        yield from table_lines(["", "p"], others, right={1})
    if result.overall is None:
        return
    if result.few_tables:
        yield f"From {len(result.data)} tables the following probabilities say very little."
    yield "Bayesian signed-rank test: probability that the row is better by more than"
    some, chances = order[:_MOST_PAIRWISE], result.overall
    among = f", the {len(some)} best of {len(order)}; --json has all" * (len(some) < len(order))
    yield f"{result.rope:g} (and that they are practically equal){among}:"
    yield from _matrix(
        [letters[c] for c in some],
        lambda i, j: "{2:.2f} ({1:.2f})".format(*chances[some[i], some[j]]),
    )


def run_file(folder: Path, table: str, chain: str) -> Path:
    """Path of the run file of a chain on a table."""
    return folder / f"{table}.{_slug(chain)}.h5"


def check_folder(folder: Path, apart_from: Sequence[Path]) -> None:
    """Refuse to replace files in `folder` that no earlier comparison has written.

    Raises
    ------
    StoreError
        Also if the folder cannot be written to.
    """
    for name in RESULTS if folder.is_dir() else ():
        check_destination(folder / name, overwrite=True, apart_from=list(apart_from))
    results = folder / RESULTS[0]
    if not results.is_file():
        return
    with open(results, "rb") as file:
        if file.readline(200).strip() != ",".join(CSV_NAMES).encode():
            raise StoreError(
                f"{results} already exists and does not come from an earlier comparison; move "
                "it, or choose another folder with --out"
            )


def recorded_request(folder: Path) -> tuple[list[str], str] | None:
    """The chains of the comparison in `folder`, and its measure.

    None if there is no table of results. The other runs in it are classifiers on all features.
    """
    try:
        with open(folder / RESULTS[0], newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        return None
    if len(rows) < 2 or tuple(rows[0]) != CSV_NAMES or any(len(r) != len(rows[0]) for r in rows):
        return None
    # Baselines have no standard error, stability or time.
    chains = dict.fromkeys(row[1] for row in rows[1:] if row[-1])
    return list(chains), rows[1][2]


def make_folder(folder: Path) -> None:
    """Create the folder; StoreError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is not a folder" if folder.exists() else error.strerror or str(error)
        raise StoreError(f"cannot make {folder}: {reason}; choose another --out") from error


def write_comparison(
    comparison: Comparison,
    cells: Sequence[Sequence[Cell]],
    folder: Path | None = None,
    csv_out: Path | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write the table of results, and to `folder` also the accuracy of every split."""
    text = csv_text([comparison])
    if folder is not None:
        # Made again from the run files at every call.
        contents = (text.encode(), hdf5_image(comparison, cells))
        for name, content in zip(RESULTS, contents, strict=True):
            place_file(folder / name, content, overwrite=True)
    # Last: once this file is there, the same command is refused, so the folder must be whole.
    if csv_out is not None:
        place_file(csv_out, text.encode(), overwrite=overwrite)


def _slug(text: str) -> str:
    """A chain's text as part of a file name, different for different chains."""
    plain = "".join(c if c.isalnum() else "-" for c in text).strip("-")[:60]
    return f"{plain}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"
