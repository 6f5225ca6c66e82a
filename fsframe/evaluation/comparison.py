"""Several chains on identical folds of several tables: who wins, by which test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import FsframeError, RequestError
from fsframe.evaluation.comparing import (
    CriticalDifference,
    PairedTest,
    corrected_resampled_test,
    critical_difference,
    paired_t_test,
    wilcoxon_holm,
    win_tie_loss,
)
from fsframe.evaluation.cross_validation import CrossValidation, grid_of
from fsframe.evaluation.grid import ChainGrid
from fsframe.evaluation.summary import Evaluation

__all__ = ["RULES", "Cell", "Comparison", "compared", "methods_of"]

RULES = ("two-step", "strict", "corrected")
"""How a win is decided: IMMIGRATE's rule, IM4E's, and p < 0.05 in the corrected resampled test."""


@attrs.frozen(kw_only=True, eq=False)
class Cell:
    """One chain on one table.

    Parameters
    ----------
    chain, data : str
    evaluation : Evaluation
    seconds : float
        Time of all splits.
    """

    chain: str
    data: str
    evaluation: Evaluation
    seconds: float

    @property
    def accuracies(self) -> NDArray[np.float64]:
        """Accuracy of every split."""
        return self.evaluation.measures["accuracy"].values


@attrs.frozen(kw_only=True, eq=False)
class Comparison:
    """Chains compared on tables.

    Parameters
    ----------
    chains, data : tuple of str
    accuracy, standard_error, kept, stability, seconds : (n_data, n_chains) float
        Means over the splits; the standard error is the corrected one.
    papers, corrected : mapping of (data, i, j) to PairedTest
        Student's paired test as the papers use it, and the corrected resampled test, for i < j.
    outcome : mapping of str to (n_data, n_chains, n_chains) of "win", "tie", "loss", ""
        By rule: ``two-step``, ``strict`` (both on the papers' test), ``corrected`` (p < 0.05).
    adjusted_p : (n_chains, n_chains) float, optional
        Wilcoxon–Holm over the tables, where there are two at least.
    ranks : CriticalDifference, optional
        The summary over the tables.
    """

    chains: tuple[str, ...]
    data: tuple[str, ...]
    accuracy: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    kept: NDArray[np.float64]
    stability: NDArray[np.float64]
    seconds: NDArray[np.float64]
    papers: dict[tuple[int, int, int], PairedTest]
    corrected: dict[tuple[int, int, int], PairedTest]
    outcome: dict[str, NDArray[Any]]
    adjusted_p: NDArray[np.float64] | None
    ranks: CriticalDifference | None

    def tally(self, rule: str, i: int, j: int) -> tuple[int, int, int]:
        """Tables on which chain i wins against, ties with, loses to chain j."""
        column = self.outcome[rule][:, i, j]
        return tuple(int((column == word).sum()) for word in ("win", "tie", "loss"))  # type: ignore[return-value]


def methods_of(chains: Sequence[str], **protocol: Any) -> tuple[CrossValidation, ...]:
    """The protocol for every chain, checked before any work starts.

    Raises
    ------
    RequestError
        Naming everything that is wrong with any of them; if there are fewer than two, or one twice.
    """
    if len(chains) < 2:
        raise RequestError("a comparison needs at least two chains, each in quotes")
    methods, problems = [], []
    for chain in chains:
        own = {**protocol, "base": chain}
        if _ends_with_classifier(chain):
            own.pop("classifier", None)
        try:
            methods.append(CrossValidation.from_texts(own))
        except RequestError as error:
            problems.append(str(error))
    if problems:
        raise RequestError("\n".join(dict.fromkeys(problems)))
    texts = [grid_of(method).text for method in methods]
    twice = sorted({text for text in texts if texts.count(text) > 1})
    if twice:
        raise RequestError(f"the chain `{twice[0]}` is given twice; on equal folds it can only tie")
    return tuple(methods)


def compared(cells: Sequence[Sequence[Cell]]) -> Comparison:
    """What the cells say of the chains.

    Parameters
    ----------
    cells : n_data rows of n_chains Cells
        Evaluated on identical folds within a row.

    Raises
    ------
    ValueError
        If two chains were not evaluated on the same number of splits.
    """
    chains = tuple(cell.chain for cell in cells[0])
    names = tuple(row[0].data for row in cells)
    papers: dict[tuple[int, int, int], PairedTest] = {}
    corrected: dict[tuple[int, int, int], PairedTest] = {}
    shape = (len(names), len(chains), len(chains))
    outcome = {rule: np.full(shape, "", dtype="U4") for rule in RULES}
    opposite = {"win": "loss", "loss": "win", "tie": "tie"}
    for d, row in enumerate(cells):
        ratio = row[0].evaluation.test_to_train
        if len({cell.evaluation.n_splits for cell in row}) > 1:
            raise ValueError(f"the chains on {names[d]!r} were evaluated on different splits")
        for i in range(len(chains)):
            for j in range(i + 1, len(chains)):
                a, b = row[i].accuracies, row[j].accuracies
                papers[d, i, j] = paired_t_test(a, b)
                corrected[d, i, j] = corrected_resampled_test(a, b, ratio)
                verdicts = {
                    "two-step": win_tie_loss(papers[d, i, j], "two-step"),
                    "strict": win_tie_loss(papers[d, i, j], "strict"),
                    "corrected": win_tie_loss(corrected[d, i, j], "two-step"),
                }
                for rule, verdict in verdicts.items():
                    outcome[rule][d, i, j] = verdict
                    outcome[rule][d, j, i] = opposite[verdict]
    accuracy = _table(cells, lambda cell: cell.evaluation.measures["accuracy"].mean)
    several = len(names) >= 2
    return Comparison(
        chains=chains,
        data=names,
        accuracy=accuracy,
        standard_error=_table(cells, lambda c: c.evaluation.measures["accuracy"].standard_error),
        kept=_table(cells, lambda cell: float(cell.evaluation.kept.mean())),
        stability=_table(cells, lambda cell: cell.evaluation.stability.value),
        seconds=_table(cells, lambda cell: cell.seconds),
        papers=papers,
        corrected=corrected,
        outcome=outcome,
        adjusted_p=wilcoxon_holm(accuracy) if several else None,
        ranks=critical_difference(accuracy) if several else None,
    )


def _table(cells: Sequence[Sequence[Cell]], of: Callable[[Cell], float]) -> NDArray[np.float64]:
    return np.array([[of(cell) for cell in row] for row in cells])


def _ends_with_classifier(chain: str) -> bool:
    try:
        return ChainGrid.parse(chain).chains[0].classifier is not None
    except FsframeError:
        # What is wrong with it is told by the protocol, with everything else.
        return False
