"""Detect rows that look like repeated measurements of one person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import exp, fsum, lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray

from fsframe.table.dataset import Dataset
from fsframe.text import some_of

_MOST_ROWS, _MOST_PROBES, _MOST_COLUMNS = 5_000, 500, 100
_FEWEST_NAMES, _FEWEST_MEMBERS = 8, 10
_RARE = 1e-6
_ADVICE = (
    "if several rows come from one person, family or batch, name the column that says so "
    "(--groups COLUMN); otherwise accuracies are too high and p-values too small"
)


def repeated_rows(data: Dataset) -> Iterator[str]:
    """Warnings if rows of `data` look like repeated measurements of one person.

    Parameters
    ----------
    data : Dataset
        Tables with groups, with a time column, in parts or without classes give no warning: rows
        that are sorted by a numeric target or by time always resemble their neighbours.

    Notes
    -----
    A column looks like an identifier of repeated rows if it holds at least 8 different whole
    numbers, each in at least 2 rows on average, and the rows of each number are consecutive and
    have the same label. (If label and number increase together, the column may as well be a feature
    that separates the classes, and is not reported.)

    Rows look repeated if too many are adjacent, within their class, to the row of that class that
    is nearest by standardised columns. The adjacent row has to be strictly nearer than all others,
    so that duplicates among few values do not count. In random order the share is 2 / (m − 1) for a
    class of m rows. A share is reported if it exceeds that by 0.15 and its binomial p is below
    1e-6. At most 500 rows of each class in the first 5000 rows are tested, over at most 100 columns
    spread over the table.
    """
    if (
        data.task != "classification"
        or data.groups is not None
        or data.times is not None
        or data.in_parts
    ):
        return
    names = _identifiers(data)
    if names:
        yield (
            f"column{'s' * (len(names) > 1)} {some_of(names)} "
            f"look{'s' * (len(names) == 1)} like an identifier of repeated rows (rows with the "
            f"same value follow each other and share a label): {_ADVICE}"
        )
    share, chance = _adjacent_shares(data)
    if share:
        yield (
            f"neighbouring rows are alike: {share:.0%} have their nearest row of the same class "
            f"next to them, {chance:.1%} would by chance; {_ADVICE}"
        )


def warns_of_repeated_rows(warnings: Iterable[str]) -> bool:
    """Whether one of a run's warnings comes from `repeated_rows`.

    >>> warns_of_repeated_rows([f"column 'who' looks …: {_ADVICE}"])
    True
    >>> warns_of_repeated_rows(["another warning"])
    False
    """
    return any(_ADVICE in warning for warning in warnings)


def _identifiers(data: Dataset) -> list[str]:
    names = []
    for start, stop in data.column_blocks():
        block = data.columns(start, stop)
        for column in range(stop - start):
            if _identifies(np.asarray(block[:, column], dtype=np.float64), data.y):
                names.append(data.feature_names[start + column])
    return names


def _identifies(values: NDArray[np.float64], y: NDArray[np.int64]) -> bool:
    # Cheap tests first: most columns are measurements.
    if not np.isfinite(values).all() or (values[:64] != np.round(values[:64])).any():
        return False
    changes = np.flatnonzero(np.diff(values))
    if not _FEWEST_NAMES <= changes.size + 1 <= len(values) // 2:
        return False
    # Few values of each column decide about most columns: those with which runs of rows begin.
    starts = values[np.concatenate([[0], changes + 1])]
    if np.unique(starts).size != starts.size or (values != np.round(values)).any():
        return False
    names, code = np.unique(values, return_inverse=True)
    label = np.zeros(names.size, dtype=y.dtype)
    label[code] = y
    alternates = int(np.count_nonzero(np.diff(label))) > np.unique(y).size - 1
    return alternates and bool((label[code] == y).all())


def _adjacent_shares(data: Dataset) -> tuple[float, float]:
    """Shares of rows next to their nearest row, observed and by chance; zeros if not suspicious."""
    rows = min(data.n_samples, _MOST_ROWS)
    columns = np.unique(np.linspace(0, data.n_features - 1, _MOST_COLUMNS).astype(np.intp))
    table = np.hstack([data.columns(int(c), int(c) + 1)[:rows].astype(np.float64) for c in columns])
    known = np.isfinite(table)
    members = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, table, 0.0)
    centred = np.where(known, centred - centred.sum(axis=0) / members, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0) / members)
    scaled = centred[:, spread > 0] / spread[spread > 0]
    y = data.y[:rows]
    hits, probes, expected = 0, 0, 0.0
    for code in np.unique(y):
        of_class = scaled[y == code]
        if len(of_class) < _FEWEST_MEMBERS:
            continue
        some = np.unique(np.linspace(0, len(of_class) - 1, _MOST_PROBES).astype(np.intp))
        for probe in some.tolist():
            distance = ((of_class - of_class[probe]) ** 2).sum(axis=1)
            distance[probe] = np.inf
            near = [place for place in (probe - 1, probe + 1) if 0 <= place < len(of_class)]
            best = distance[near].min()
            distance[near] = np.inf
            hits += bool(best < distance.min() * (1 - 1e-9))
        probes += some.size
        expected += some.size * 2.0 / (len(of_class) - 1)
    if not probes:
        return 0.0, 0.0
    chance = min(expected / probes, 1.0)
    rare = _tail(hits, probes, chance) < _RARE
    return (hits / probes, chance) if rare and hits / probes > chance + 0.15 else (0.0, 0.0)


def _tail(hits: int, n: int, chance: float) -> float:
    """Binomial probability of at least `hits` among n; importing SciPy's takes 0.25 seconds.

    >>> round(_tail(2, 3, 0.5), 12), _tail(0, 3, 0.5), _tail(3, 3, 1.0)
    (0.5, 1.0, 1.0)
    """
    if hits <= 0 or chance >= 1.0:
        return 1.0
    if chance <= 0.0:
        return 0.0
    odds = log(chance), log1p(-chance)
    terms = (
        lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * odds[0] + (n - k) * odds[1]
        for k in range(hits, n + 1)
    )
    return min(1.0, fsum(map(exp, terms)))
