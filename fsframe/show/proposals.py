"""The chains that are proposed for a table: by one table of rules, chosen by the ledger.

The ledger (`benchmarks/ledger`, `docs/ledger.md`) draws tables of known relevant columns. For each
of its designs the proposed chain has the best F1, or one within a standard error of the best, among
the chains and packages that keep what they promise; `tests/evaluation/test_proposals.py` reads the
stored rows and fails if a rule and the ledger disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
import numpy as np

from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError
from fsframe.method.run import Cost
from fsframe.method.selector import Selector
from fsframe.registry import selectors
from fsframe.table.dataset import Dataset

RELEVANT = "which features are relevant, each by itself"
TOGETHER = "which features are relevant, perhaps only together with others"
NEEDED = "which of the correlated features are needed, given all others"

_SAMPLE = 500
"""Columns that are looked at for heavy tails, evenly spread."""

_HEAVY = 6.0
"""Sample kurtosis above which tails are heavy: 3 for normal values, 6 for Laplace's."""

_MANY_ROWS = 10
"""Rows a column from which a parabola costs little where all is linear."""


_FEW_COLUMNS = 50
"""Widest table for `ipss` and `cpss` over ReliefF: on 60 × 1000 they miss what they promise."""


_HALVES_COLUMNS = range(25, 61)
"""Numbers of columns for halves that keep five: with fewer no share of the halves bounds what is
kept, and the ledger has no wider design with correlated columns."""

_BY_CHANCE = 4.0
"""Times 1/√n: a correlation that no pair of `_HALVES_COLUMNS` unrelated columns has."""

_COPIES = 0.95
"""Correlation from which columns are copies of each other: none of them is needed, and the bound
of `cpss` is missed there (1.60 ± 0.17 false on `copies`, one promised)."""


_HOUR = 3600.0


@attrs.frozen(kw_only=True)
class Shape:
    """What a proposal depends on; none of it is what the label says about a column.

    Parameters
    ----------
    rows, columns : int
    task : {"classification", "regression", "survival"}
    adjusted, ordered, grouped, nominal, gaps : bool
        Whether there are covariates, a time, groups of rows, nominal columns, missing values.
    heavy_tails : bool
        Whether more than half of the numeric columns have a sample kurtosis above 6.
    correlation : float
        The largest absolute correlation of two columns; 0 on tables of more than 60 columns or of
        fewer than 25, and where values are missing or columns are nominal.
    """

    rows: int
    columns: int
    task: str
    adjusted: bool
    ordered: bool
    grouped: bool
    nominal: bool
    gaps: bool
    heavy_tails: bool
    correlation: float = 0.0

    @classmethod
    def of(cls, data: Dataset) -> Shape:
        """The shape of a table in memory."""
        nominal = bool(data.categorical.any())
        gaps = any(np.isnan(data.columns(a, b)).any() for a, b in data.column_blocks())
        plain = data.n_features in _HALVES_COLUMNS and not (nominal or gaps)
        return cls(
            rows=data.n_samples,
            columns=data.n_features,
            task=data.task,
            adjusted=data.covariates is not None,
            ordered=data.times is not None,
            grouped=data.groups is not None,
            nominal=nominal,
            gaps=gaps,
            heavy_tails=_heavy_tails(data),
            correlation=_largest_correlation(data) if plain else 0.0,
        )

    @property
    def correlated(self) -> bool:
        """Whether columns are correlated more than by chance, and none is a copy of another."""
        return _BY_CHANCE / np.sqrt(self.rows) < self.correlation < _COPIES


def _largest_correlation(data: Dataset) -> float:
    """The largest absolute correlation of two different columns; constant columns have none."""
    X = np.asarray(data.columns(0, data.n_features), dtype=np.float64)
    # Scaled before squares are summed: values of 1e200 overflow.
    X = X / np.maximum(np.abs(X).max(axis=0), np.finfo(float).tiny)
    X = X - X.mean(axis=0)
    size = np.sqrt((X**2).sum(axis=0))
    # Equal values, whose mean is rounded, vary by less.
    X = X[:, size > 1e-12] / size[size > 1e-12]
    found = np.abs(X.T @ X)
    np.fill_diagonal(found, 0.0)
    return float(found.max(initial=0.0))


def _heavy_tails(data: Dataset) -> bool:
    """Whether more than half of the numeric columns have heavy tails; columns of few values (of
    10 at most) have none."""
    numeric = np.flatnonzero(~data.categorical)
    heavy = judged = 0
    for column in numeric[:: max(1, numeric.size // _SAMPLE)]:
        values = np.asarray(data.columns(int(column), int(column) + 1), dtype=np.float64)[:, 0]
        values = values[~np.isnan(values)]
        if np.unique(values[:1000]).size <= 10:
            continue
        # Scaled, because fourth powers of values of 1e80 overflow.
        centred = values - values.mean()
        centred /= np.abs(centred).max()
        judged += 1
        heavy += bool((centred**4).mean() > _HEAVY * (centred**2).mean() ** 2)
    return 2 * heavy > judged


@attrs.frozen(kw_only=True)
class Rule:
    """One line of the table.

    Parameters
    ----------
    chain : str
    question : str
        What the kept columns answer.
    promise : str
        What the chain bounds, in words.
    tables : str
        The tables it is for, in words.
    applies : callable
        The same of a `Shape`.
    gaps : str
        The chain where values are missing.
    designs : tuple of str
        Designs of the ledger in which it is first, or within a standard error of the first; empty
        if none has such tables.
    """

    chain: str
    question: str
    promise: str
    tables: str
    applies: Callable[[Shape], bool]
    gaps: str
    designs: tuple[str, ...]

    def text(self, shape: Shape) -> str:
        """The chain for such a table."""
        return self.gaps if shape.gaps else self.chain


FDR = "of those kept at most 5% are false, on average"
LEVEL = "of those that say nothing about the label at most 1% are kept, on average"

RULES: tuple[Rule, ...] = (
    Rule(
        question=RELEVANT,
        tables="times until an event",
        applies=lambda shape: shape.task == "survival",
        chain="cox-score:alpha=0.05",
        gaps="impute cox-score:alpha=0.05",
        promise=FDR,
        designs=("survival",),
    ),
    Rule(
        question=RELEVANT,
        tables="rows with a time, at most 50 columns",
        applies=lambda shape: shape.ordered and shape.columns <= _FEW_COLUMNS,
        chain="relieff:top=5 cpss:bound=r-concave",
        gaps="relieff:top=5 cpss:bound=r-concave",
        promise="at most one of those kept is false, on average",
        designs=("drift",),
    ),
    Rule(
        question=RELEVANT,
        tables="covariates",
        applies=lambda shape: shape.adjusted,
        chain="anova-f:alpha=0.05",
        gaps="impute anova-f:alpha=0.05",
        promise=FDR,
        designs=("batch",),
    ),
    Rule(
        question=RELEVANT,
        tables="covariates and nominal features",
        applies=lambda shape: shape.adjusted,
        chain="chi2:alpha=0.05,discretise=equal-frequency,bins=3",
        gaps="chi2:alpha=0.05,discretise=equal-frequency,bins=3,missing=pairwise",
        promise=FDR,
        designs=(),
    ),
    Rule(
        question=RELEVANT,
        tables="heavy tails in most columns",
        applies=lambda shape: shape.heavy_tails,
        chain="anova-f:alpha=0.05,ranks=true",
        gaps="anova-f:alpha=0.05,ranks=true,missing=pairwise",
        promise=FDR,
        designs=("heavy-tails",),
    ),
    Rule(
        question=RELEVANT,
        tables="a numeric target and at least 10 rows a column",
        applies=lambda shape: (
            shape.task == "regression" and shape.rows >= _MANY_ROWS * shape.columns
        ),
        chain="anova-f:alpha=0.05,curved=true",
        gaps="anova-f:alpha=0.05,curved=true,missing=pairwise",
        promise=FDR,
        designs=("curved",),
    ),
    Rule(
        question=RELEVANT,
        tables="all others",
        applies=lambda shape: True,
        chain="anova-f:alpha=0.05",
        gaps="anova-f:alpha=0.05,missing=pairwise",
        promise=FDR,
        designs=(
            "independent", "blocks", "copies", "chains", "sparse-linear", "mixed", "rare",
            "genotypes", "60x1000", "30x2000", "95-5", "people",
        ),
    ),
    Rule(
        question=RELEVANT,
        tables="rows of one group with different labels",
        applies=lambda shape: shape.grouped and not shape.ordered,
        chain="anova-f npfs",
        gaps="anova-f:missing=pairwise npfs",
        promise=LEVEL,
        designs=(),
    ),
    Rule(
        question=TOGETHER,
        tables="classes and at most 50 columns",
        applies=lambda shape: shape.task == "classification" and shape.columns <= _FEW_COLUMNS,
        chain="relieff ipss",
        gaps="relieff ipss",
        promise="of those kept at most 10% are false, on average",
        designs=("xor", "three-way"),
    ),
    Rule(
        question=NEEDED,
        tables="25 to 60 columns, some of them correlated and none a copy of another",
        applies=lambda shape: shape.correlated and not shape.heavy_tails,
        chain="lasso:top=5 cpss:bound=r-concave",
        gaps="impute lasso:top=5 cpss:bound=r-concave",
        promise="at most one of those kept is not, on average",
        designs=("blocks", "genotypes"),
    ),
)  # fmt: skip


@attrs.frozen(kw_only=True)
class Proposal:
    """A chain for a table.

    Parameters
    ----------
    chain : str
    question : str
        What the kept features answer; empty if unknown.
    promise : str
        What the chain bounds, in words; empty if unknown.
    cost : Cost, optional
    """

    chain: str
    question: str = ""
    promise: str = ""
    cost: Cost | None = None


def proposals_for(data: Dataset) -> list[Proposal]:
    """One chain for each question, by the first rule whose tables are such and whose chain takes
    this one; if there is none, the first chain that methods propose themselves."""
    shape = Shape.of(data)
    found: dict[str, Proposal] = {}
    for rule in RULES:
        if rule.question in found or not rule.applies(shape):
            continue
        text = rule.text(shape)
        try:
            chain = Chain.parse(text)
            chain.check_request(data)
        except FsframeError:  # A plugin is blocked, or a role of the table is refused.
            continue
        found[rule.question] = Proposal(
            chain=text,
            question=rule.question,
            promise=rule.promise,
            cost=chain.cost(data.n_samples, data.n_features),
        )
    if not found:
        text, cost = _of_methods(data, shape.gaps)
        return [Proposal(chain=text, cost=cost)] if text else []
    return list(found.values())


def _of_methods(data: Dataset, gaps: bool) -> tuple[str, Cost | None]:
    """The first chain that methods propose and that takes less than an hour, else the last; empty
    if nothing is proposed for such a table."""
    found: list[tuple[str, Cost | None]] = []
    for test in _proposals(data, gaps, wraps=True):
        for base in _proposals(data, gaps, wraps=False):
            chain = f"{base} {test}"
            cost = Chain.parse(chain).cost(data.n_samples, data.n_features)
            found.append((chain, cost))
            if cost is not None and cost.seconds < _HOUR:
                return found[-1]
    return found[-1] if found else ("", None)


def proposed_chains(data: Dataset) -> list[str]:
    """Every stage that methods propose for such a table as a separate chain, by priority."""
    gaps = any(np.isnan(data.columns(a, b)).any() for a, b in data.column_blocks())
    return list(_proposals(data, gaps, wraps=False))


def first_in_parts(data: Dataset) -> str:
    """The stage to start with on a table in parts: the first proposed one that works on such a
    table; empty if there is none."""
    gaps = bool(data.matrix.facts.missing.any())
    for text in _proposals(data, gaps, wraps=False):
        methods = [stage.method for stage in Chain.parse(text).stages]
        if all(isinstance(m, Selector) and m.works_in_parts(data) for m in methods):
            return text
    return ""


def _proposals(data: Dataset, gaps: bool, *, wraps: bool) -> Iterator[str]:
    """The stages that entries propose, by priority."""
    offers = [o for o in selectors.offers() if getattr(o.entry, "proposed", 0)]
    for offer in sorted(offers, key=lambda o: (getattr(o.entry, "proposed", 0), o.name)):
        if getattr(offer.entry, "wraps", False) != wraps:
            continue
        method: type[Selector] = selectors[offer.name]
        text = method.proposal(data, gaps) if wraps or data.task in method.tasks else ""
        if text and gaps and not wraps and not method.takes_missing:
            fill = [o.name for o in selectors.offers() if "fill" in getattr(o.entry, "gives", ())]
            text = f"{fill[0]} {text}" if fill else ""
        if text:
            yield text
