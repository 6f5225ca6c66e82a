"""Columns that describe how samples were taken, or people, and how they go with the label."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.table.column_facts import ColumnFacts, Contents
from fsframe.table.label_guess import PERSONAL, TECHNICAL, is_likely_label, name_words

__all__ = ["Covariate", "adjusted_for", "covariates_of"]

_CODE = re.compile(r"(b|batch|c|centre|center|site|p|plate|run|lot)[ _-]?[0-9]{1,2}", re.IGNORECASE)
_FEW, _MOST_LEVELS, _CLASSES = 10, 24, 10
_PURE, _LEVEL, _FEWEST, _PARTS = 5, 0.05, 5, 5


@attrs.frozen(kw_only=True, eq=False)
class Covariate:
    """A column that may explain why a feature goes with the label, without being its cause.

    Parameters
    ----------
    column : int
    technical : bool
        Whether its name says that it tells how samples were taken or measured (batch, centre, …).
    p : float
        p-value of independence of the label; NaN where the label is a number.
    pure : int
        Rows of levels that have one class only, of at least five rows each.
    same : bool
        Whether every level has one class only, so that its effect and that of the label are the
        same.
    shown : str
        The classes in each level, in words.
    """

    column: int
    technical: bool
    p: float
    pure: int
    same: bool
    shown: str


def covariates_of(found: Contents, columns: Iterable[int], label: int) -> list[Covariate]:
    """Those of the columns that look like covariates, the most confounded first.

    They are named so (batch, centre, plate, sex, age, …), or hold few codes such as B1, B2, B3.
    """
    described = []
    for k in columns:
        column = found.columns[k]
        technical = _is_technical(column)
        if technical or _is_personal(column) or _is_shaped(column, _few_levels(found, k)):
            described.append(_described(found, k, label, technical))
    described.sort(key=lambda c: (not c.same, not c.pure, not c.technical, not c.p < 1, c.p))
    return described


def adjusted_for(
    found: Contents,
    covariates: Sequence[Covariate],
    known: Collection[int],
    grouped: bool,
) -> tuple[list[int], list[int]]:
    """Covariates to adjust for, and those to leave out because that is impossible.

    Technical columns are never features. Columns about people are adjusted for if they go with the
    label. Strata keep at least five rows on average.
    """
    n_rows = found.n_rows
    adjust: list[int] = []
    aside: list[int] = []
    strata = np.zeros(n_rows, dtype=np.int64)
    for one in covariates:
        if one.column in known or not (one.technical or one.p < _LEVEL):
            continue
        joint = strata
        if not (grouped or one.same or found.columns[one.column].missing):
            own, _ = _levels(found, one.column)
            joint = np.unique(strata * (own.max() + 1) + own, return_inverse=True)[1]
        if joint is not strata and (joint.max() + 1) * _FEWEST <= n_rows:
            strata = joint
            adjust.append(one.column)
        elif one.technical:
            aside.append(one.column)
    return adjust, aside


def _is_technical(column: ColumnFacts) -> bool:
    few = 2 <= column.different <= _MOST_LEVELS and not is_likely_label(column)
    kinds = ("text", "two values", "whole number")
    return few and column.kind in kinds and bool(TECHNICAL & set(name_words(column.name)))


def _is_shaped(column: ColumnFacts, levels: Sequence[str]) -> bool:
    """Whether the levels are codes of batches, plates or centres: B1, B2, B3."""
    if column.kind != "text" or not 2 <= column.different <= _FEW or is_likely_label(column):
        return False
    return bool(levels) and all(map(_CODE.fullmatch, levels))


def _few_levels(found: Contents, k: int) -> list[str]:
    return found.levels(k) if found.columns[k].kind == "text" else []


def _is_personal(column: ColumnFacts) -> bool:
    words = set(name_words(column.name))
    if "age" in words and column.kind in ("number", "whole number", "two values"):
        return True
    few = 2 <= column.different <= _FEW and column.kind != "date"
    return few and bool(PERSONAL & words)


def _levels(found: Contents, column: int) -> tuple[NDArray[np.int64], list[str]]:
    """Codes of the levels of a column and their names; many numbers are cut at their quintiles."""
    codes, names = found.codes(column), found.levels(column)
    if len(names) <= _MOST_LEVELS and found.columns[column].different <= _FEW:
        return codes, names
    if found.columns[column].kind == "text":
        return codes, names
    values = np.array([float(name) for name in names])
    known = np.where(codes < 0, np.nan, values[codes])
    cuts = np.unique(np.nanquantile(known, np.arange(1, _PARTS) / _PARTS))
    edges = [f"{cut:g}" for cut in cuts]
    named = [f"up to {edge}" for edge in edges] + [f"above {edges[-1]}"]
    return np.where(codes < 0, -1, np.searchsorted(cuts, known, side="left")), named


def _described(found: Contents, k: int, label: int, technical: bool) -> Covariate:
    if found.columns[label].different > _CLASSES:
        return Covariate(
            column=k, technical=technical, p=float("nan"), pure=0, same=False, shown=""
        )
    own, levels = _levels(found, k)
    of_label, classes = found.classes(label)
    counts = np.zeros((len(levels), len(classes)), dtype=np.int64)
    known = (own >= 0) & (of_label >= 0)
    np.add.at(counts, (own[known], of_label[known]), 1)
    there = counts.sum(axis=1) > 0
    alone = (counts > 0).sum(axis=1) == 1
    large = alone & (counts.sum(axis=1) >= _PURE)
    order = sorted(np.flatnonzero(there).tolist(), key=lambda level: not large[level])
    shown = "; ".join(
        f"{levels[level]} is "
        + ", ".join(
            f"{count} {name}" for count, name in zip(counts[level].tolist(), classes, strict=True)
        )
        for level in order[:4]
    )
    more = len(order) - 4
    return Covariate(
        column=k,
        technical=technical,
        p=_independence(counts[there]),
        pure=int(counts[large].sum()),
        same=bool(alone[there].all() and large.sum() > 1),
        shown=shown + (f"; and {more} more" if more > 0 else ""),
    )


def _independence(counts: NDArray[Any]) -> float:
    """p-value of the χ² test of a table of counts without empty rows."""
    counts = counts[:, counts.sum(axis=0) > 0]
    if min(counts.shape) < 2:
        return 1.0
    from scipy.stats import chi2_contingency

    return float(chi2_contingency(counts, correction=False).pvalue)
