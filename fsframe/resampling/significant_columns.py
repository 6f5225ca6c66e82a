"""Choosing columns by the p-values of a test of each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from fsframe.method.selection import rank_by_score
from fsframe.resampling.groups import label_problem, with_group_means
from fsframe.table.dataset import Dataset

Floats = NDArray[np.float64]


class FilterWithLevel(Protocol):
    """A filter with the parameters `alpha` and `correction` (`fsframe.params.level_of_tests`)."""

    @property
    def top(self) -> int | float | None: ...

    @property
    def alpha(self) -> float | None: ...

    @property
    def correction(self) -> str: ...

    def keep_count(self, n_features: int, default: int) -> int: ...


@attrs.frozen(kw_only=True, eq=False)
class KeptColumns:
    """The columns that a filter keeps.

    Parameters
    ----------
    selected : (k,) intp
        Best first.
    tables : dict
        ``p_values``, and ``q_values`` where `alpha` is given.
    notes : tuple of str
    """

    selected: NDArray[np.intp]
    tables: dict[str, Floats]
    notes: tuple[str, ...]


def significant_columns(
    method: FilterWithLevel, scores: Floats, p_values: Floats, names: tuple[str, ...], default: int
) -> KeptColumns:
    """The `top` best columns by `scores`, or with `alpha` those whose q is at most `alpha`.

    Parameters
    ----------
    method : FilterWithLevel
    scores, p_values : (p,) float64
        All columns count as tested; p = 1 for those that say nothing.
    names : tuple of str
        Of the columns.
    default : int
        Number kept without `top` and `alpha`.

    Notes
    -----
    q is p adjusted by `correction` for the number of columns. By Benjamini and Hochberg the
    expected share of false columns among the kept is at most `alpha` if tests are independent or
    positively dependent (PRDS); by Benjamini and Yekutieli under any dependence; by Bonferroni the
    probability of any false column is.

    References
    ----------
    Y. Benjamini, Y. Hochberg 1995, J. R. Stat. Soc. B 57:289–300. Y. Benjamini, D. Yekutieli 2001,
    Ann. Stat. 29:1165–1188.
    """
    if method.alpha is None:
        kept = rank_by_score(scores, method.keep_count(scores.size, default))
        return KeptColumns(selected=kept, tables={"p_values": p_values}, notes=())
    q_values = adjusted(p_values, method.correction)
    significant = q_values <= method.alpha
    ranked = rank_by_score(scores)
    kept = ranked[significant[ranked]][: method.keep_count(scores.size, scores.size)]
    notes: tuple[str, ...] = ()
    if not kept.size and scores.size:
        best = int(ranked[0])
        notes = (
            f"no column has q ≤ {method.alpha:g} ({method.correction}); the best, {names[best]}, "
            f"has p = {p_values[best]:.2g}, q = {q_values[best]:.2g}",
        )
    return KeptColumns(
        selected=kept, tables={"p_values": p_values, "q_values": q_values}, notes=notes
    )


def adjusted(p_values: Floats, correction: str) -> Floats:
    """P-values adjusted for their number.

    Examples
    --------
    >>> adjusted(np.array([0.01, 0.02, 0.9]), "bh").round(9).tolist()
    [0.03, 0.03, 0.9]
    >>> adjusted(np.array([0.01, 0.02, 0.9]), "bonferroni").round(9).tolist()
    [0.03, 0.06, 1.0]
    """
    if correction == "none" or not p_values.size:
        return p_values
    if correction == "bonferroni":
        return np.minimum(1.0, p_values * p_values.size)
    return np.asarray(false_discovery_control(p_values, method=correction))


def independent_rows(data: Dataset, method: FilterWithLevel, name: str) -> Dataset:
    """The table to test: with `alpha` and groups of rows the means of the groups.

    A ranking needs no independent rows; a p-value does.
    """
    return data if method.alpha is None else with_group_means(data, name)


def row_problems(data: Dataset, method: FilterWithLevel, name: str) -> Iterator[str]:
    """Why `alpha` cannot be used on the rows of a table, a sentence each."""
    if method.alpha is None or data.groups is None:
        return
    problem = label_problem(data, f"{name}:alpha=…")
    if problem:
        yield problem
    if data.in_parts:
        yield (
            f"{name}: alpha=… tests the means of groups, which needs the table in memory; leave "
            "alpha out (a ranking), or raise --memory"
        )


def order_matters(method: FilterWithLevel) -> str:
    """What a test does that ignores the order of time; empty without `alpha`."""
    return "" if method.alpha is None else "its p-values take rows as independent"
