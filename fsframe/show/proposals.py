"""The chains that are proposed for a table, by the entries of plugins (`ProposalEntry`).

Those of fsframe are chosen by the ledger (`benchmarks/ledger`, `docs/ledger.md`), which draws
tables whose relevant columns are known. For each of its designs the proposed chain has the best F1,
or one within a standard error of the best, among the chains and packages that keep what they
promise; `tests/evaluation/test_proposals.py` reads the stored rows and fails if an entry and the
ledger disagree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError
from fsframe.method.run import Cost
from fsframe.method.stage_view import filling_stage
from fsframe.method.statistics import mean_ranks
from fsframe.registry import proposals
from fsframe.registry.entries import ProposalEntry
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import unit_columns

_SAMPLE = 500
"""Number of columns, evenly spread, that are examined for heavy tails and rare values."""

_HEAVY = 6.0
"""Sample kurtosis above which tails are heavy: 3 for normal values, 6 for Laplace's."""

_MOST_CORRELATED = 60
"""Largest number of columns whose correlations are examined: the ledger has no wider design with
correlated columns."""

_BY_CHANCE = 4.0
"""Multiple of 1/√n that no correlation of so few unrelated columns reaches."""

_COPIES = 0.95
"""Correlation from which columns count as copies of each other: none of them is needed, and `cpss`
keeps them only by its worst-case bound."""


@attrs.frozen(kw_only=True)
class Shape:
    """Properties of a table that proposals depend on; none relates a column to the label.

    Parameters
    ----------
    rows, columns : int
    words : frozenset of str
        The words of `fsframe.registry.entries.TABLE_WORDS` that apply. Tails are heavy if more than
        half of the numeric columns have a sample kurtosis above 6. A table is correlated if some
        columns (their ranks, with heavy tails) are correlated more than by chance and none is a
        copy of another, and has copies if one is; only tables of at most 60 columns, all numeric
        and without missing values, are examined for that. A class is rare if it has less than a
        fifth of the rows. Values are rare if more than half of the columns have two, one of them in
        at most a tenth of the rows.
    """

    rows: int
    columns: int
    words: frozenset[str]

    @classmethod
    def of(cls, data: Dataset) -> Shape:
        """The shape of a table; of one in parts, without words that need a pass over its values."""
        nominal, gaps = bool(data.categorical.any()), _has_gaps(data)
        heavy = data.in_memory and _heavy_tails(data)
        plain = data.n_features <= _MOST_CORRELATED and not (nominal or gaps or data.in_parts)
        largest = _largest_correlation(data, of_ranks=heavy) if plain else 0.0
        present = {
            "covariates": data.covariates is not None,
            "time": data.times is not None,
            "groups": data.groups is not None,
            "nominal": nominal,
            "gaps": gaps,
            "heavy-tails": heavy,
            "correlated": _BY_CHANCE / np.sqrt(data.n_samples) < largest < _COPIES,
            "copies": largest >= _COPIES,
            "parts": data.in_parts,
            "rare-values": data.in_memory and _rare_values(data),
            "rare-class": data.task == "classification"
            and bool(5 * np.bincount(data.y).min() < data.n_samples),
        }
        words = {data.task, *(word for word, there in present.items() if there)}
        return cls(rows=data.n_samples, columns=data.n_features, words=frozenset(words))

    def fits(self, entry: ProposalEntry) -> bool:
        """Whether an entry is for tables of this shape; one for tables in parts must say so."""
        return (
            entry.when <= self.words
            and ("parts" in entry.when or "parts" not in self.words)
            and not entry.unless & self.words
            and entry.fewest_columns <= self.columns <= (entry.most_columns or self.columns)
            and self.rows >= entry.rows_per_column * self.columns
        )


def _has_gaps(data: Dataset) -> bool:
    if data.in_parts:
        return bool(data.matrix.facts.missing.any())
    return any(np.isnan(data.columns(a, b)).any() for a, b in data.column_blocks())


def _largest_correlation(data: Dataset, *, of_ranks: bool) -> float:
    """The largest correlation of two columns in magnitude.

    Constant columns have no correlation. A few extreme values correlate by chance; their ranks do
    not.
    """
    columns = np.asarray(data.columns(0, data.n_features), dtype=np.float64)
    units = unit_columns(np.apply_along_axis(mean_ranks, 0, columns) if of_ranks else columns)
    correlations = np.abs(units.T @ units)
    np.fill_diagonal(correlations, 0.0)
    return float(correlations.max(initial=0.0))


def _heavy_tails(data: Dataset) -> bool:
    """Whether more than half of the numeric columns have heavy tails.

    Columns of at most 10 different values are not counted.
    """
    heavy = judged = 0
    for values in _sampled(data, np.flatnonzero(~data.categorical)):
        if np.unique(values[:1000]).size <= 10:
            continue
        # Scaled, because fourth powers of values of 1e80 overflow.
        centred = values - values.mean()
        centred /= np.abs(centred).max()
        judged += 1
        heavy += bool((centred**4).mean() > _HEAVY * (centred**2).mean() ** 2)
    return 2 * heavy > judged


def _rare_values(data: Dataset) -> bool:
    """Whether more than half of the columns have two values, one in at most a tenth of the rows."""
    rare = judged = 0
    for values in _sampled(data, np.arange(data.n_features)):
        judged += 1
        if values.size:
            at_low = np.count_nonzero(values == values.min())
            at_high = np.count_nonzero(values == values.max())
            two = at_low + at_high == values.size
            rare += bool(two and 10 * min(at_low, at_high) <= values.size)
    return 2 * rare > judged


def _sampled(data: Dataset, columns: NDArray[np.intp]) -> Iterator[NDArray[np.float64]]:
    """The values of some of the columns, evenly spread, without missing ones."""
    for column in columns[:: max(1, columns.size // _SAMPLE)].tolist():
        values = np.asarray(data.columns(column, column + 1), dtype=np.float64)[:, 0]
        yield values[~np.isnan(values)]


def rules() -> list[ProposalEntry]:
    """The proposals of plugins, in the order in which they are tried."""
    entries: list[Any] = [offer.entry for offer in proposals.offers()]
    return sorted(entries, key=lambda entry: (not entry.question, entry.place, entry.name))


def usual_chain() -> str:
    """The first chain without conditions, for a table that is refused; empty if there is none."""
    for rule in rules():
        bounds = rule.fewest_columns, rule.most_columns, rule.rows_per_column, rule.most_hours
        if rule.question and not rule.when and not any(bounds):
            return rule.chain
    return ""


@attrs.frozen(kw_only=True)
class Proposal:
    """A chain for a table.

    Parameters
    ----------
    chain : str
    question : str
        The question that the kept features answer; empty for a last resort.
    promise : str
        The bound that the chain keeps, in words; empty if unknown.
    cost : Cost, optional
    command : str
        The command that runs it; empty if the file of the table is not known.
    """

    chain: str
    question: str = ""
    promise: str = ""
    cost: Cost | None = None
    command: str = ""


def proposals_for(data: Dataset, *, fill: bool = False) -> list[Proposal]:
    """One chain for each question: that of the first entry that fits the table and whose chain
    accepts it. If no question has one, that of the first such entry without a question.

    With `fill`, every chain begins with a stage that fills missing values, for a classifier that
    takes none.
    """
    shape = Shape.of(data)
    filler = filling_stage() if fill else ""
    by_question: dict[str, Proposal] = {}
    for rule in rules():
        if (
            rule.question in by_question
            or (by_question and not rule.question)
            or not shape.fits(rule)
        ):
            continue
        text = rule.gaps if "gaps" in shape.words else rule.chain
        if filler and not text.startswith(filler):
            text = f"{filler} {rule.chain}"
        try:
            chain = Chain.parse(text)
            chain.check_request(data)
        except FsframeError:  # A plugin is blocked, or a role of the table is refused.
            continue
        cost = chain.cost(data.n_samples, data.n_features)
        if rule.most_hours and (cost is None or cost.seconds > 3600.0 * rule.most_hours):
            continue
        by_question[rule.question] = Proposal(
            chain=text, question=rule.question, promise=rule.promise, cost=cost
        )
    return list(by_question.values())
