"""Groups of rows that are permuted, dealt and averaged as wholes; columns chosen by tests.

Recordings of one person are similar for reasons unrelated to the label. If some are in the training
part and others in the test part, the person is learned instead of the label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.method.ranking import RELEVANT, Statement, rank_by_score
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.method.statistics import adjusted_p_values
from fsframe.table.arrays import freeze
from fsframe.table.dataset import Dataset

FEWEST_GROUPS = 4
"""Minimum number of groups; bootstraps of fewer are too similar to be informative."""


@attrs.frozen(kw_only=True, eq=False)
class Grouping:
    """The groups of a table as units that are drawn, assigned and permuted instead of rows.

    Parameters
    ----------
    code : (n_samples,) int
        Group of each row, 0 … n_groups - 1, all of them present.
    stratum : (n_groups,) int
        The most frequent class of a group's rows, the first on a tie; zeros for a numeric target.
        Drawing within the classes means drawing within these strata.
    times : (n_groups,) int
        Count of each group in the table: an outer bootstrap draws whole groups.
    rest : (n_samples,) int
        Count of each row within one copy of its group: 1, unless single rows were drawn.
    """

    code: NDArray[np.intp]
    stratum: NDArray[np.int64]
    times: NDArray[np.int64]
    rest: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        groups: NDArray[Any],
        y: NDArray[np.int64] | None,
        times: NDArray[np.int64] | None = None,
    ) -> Grouping:
        """The groups of rows with class codes `y` (None for a numeric target)."""
        names, code = np.unique(groups, return_inverse=True)
        stratum = np.zeros(names.size, dtype=np.int64)
        if y is not None:
            members = np.zeros((names.size, int(y.max()) + 1))
            np.add.at(members, (code, y), 1.0)
            stratum = members.argmax(axis=1)
        drawn = np.ones(len(code), dtype=np.int64) if times is None else times
        most = np.zeros(names.size, dtype=np.int64)
        np.maximum.at(most, code, drawn)
        if np.array_equal(most[code], drawn):
            return cls(code=code, stratum=stratum, times=most, rest=np.ones_like(drawn))
        return cls(code=code, stratum=stratum, times=np.minimum(most, 1), rest=drawn)

    def __len__(self) -> int:
        return len(self.stratum)

    def rows(self, per_group: NDArray[Any]) -> NDArray[Any]:
        """Counts of the groups, (…, n_groups), as counts of their rows, (…, n_samples)."""
        spread: NDArray[Any] = per_group[..., self.code] * self.rest
        return spread


def class_text(code: int, classes: Sequence[Any]) -> str:
    """A class for a message: its label, or its number if `classes` are not known."""
    return f"{str(classes[code])!r}" if classes else f"number {int(code) + 1}"


def single_row_classes(y: NDArray[Any], groups: NDArray[Any], classes: Sequence[Any] = ()) -> str:
    """The classes whose rows are all in one group, for a message; empty if there are none."""
    alone = [code for code in np.unique(y) if np.unique(groups[y == code]).size < 2]
    return ", ".join(
        f"{class_text(code, classes)} ({int((y == code).sum())} rows)" for code in alone
    )


def require_two(
    groups: NDArray[Any], y: NDArray[np.int64], what: str, classes: Sequence[Any] = ()
) -> None:
    """Refuse a class whose rows are all in one group: the two effects cannot be separated.

    Raises
    ------
    DataError
        Naming these classes.
    """
    listed = single_row_classes(y, groups, classes)
    if listed:
        raise DataError(
            f"{what}: classes that lie within a single group: {listed}; effects of the class and "
            "of the group cannot be separated. Add groups, or leave the class out"
        )


def _varying(
    y: NDArray[Any], groups: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """The first row of each group, the group of each row, and in which groups the label varies."""
    _, first, code = np.unique(groups, return_index=True, return_inverse=True)
    varies = np.zeros(first.size, dtype=bool)
    varies[code[y != y[first[code]]]] = True
    return first, code, varies


def permuted_labels(
    y: NDArray[Any], groups: NDArray[Any], generator: np.random.Generator
) -> NDArray[Any]:
    """The label permuted among groups as wholes, or within them, as (n_samples,).

    Parameters
    ----------
    y : (n_samples,)
        Class codes, or a numeric target.
    groups : (n_samples,) int
    generator : numpy.random.Generator

    Notes
    -----
    Groups with a constant label exchange their labels as wholes, so that all permutations are
    equally likely if groups, not rows, are independent. In the other groups, such as a patient
    before and after treatment, the label is permuted among the rows of the group. If groups differ
    in size, the number of rows with each label varies; the number of groups does not.

    References
    ----------
    Winkler et al. 2015, Multi-level block permutation, NeuroImage 123:253 (whole-block and
    within-block exchangeability).

    Examples
    --------
    >>> people = np.array([0, 0, 1, 1, 2, 2])
    >>> permuted = permuted_labels(np.array([1, 1, 0, 0, 0, 0]), people, np.random.default_rng(0))
    >>> bool((permuted[::2] == permuted[1::2]).all()), int(permuted.sum())
    (True, 2)
    """
    first, code, varies = _varying(y, groups)
    uniform = np.flatnonzero(~varies)
    label_of = y[first]
    label_of[uniform] = label_of[generator.permutation(uniform)]
    permuted = label_of[code]
    for group in np.flatnonzero(varies):
        rows = np.flatnonzero(code == group)
        permuted[rows] = y[generator.permutation(rows)]
    return permuted


def permuted_rows(
    y: NDArray[Any], groups: NDArray[Any], generator: np.random.Generator
) -> NDArray[np.intp]:
    """An order of the rows such that ``y[order]`` is a permutation that respects the groups.

    Parameters
    ----------
    y : (n_samples,)
        Class codes, or a numeric target.
    groups : (n_samples,) int
    generator : numpy.random.Generator

    Returns
    -------
    (n_samples,) int
        A permutation of the rows. Groups of *equal size* with a constant label are exchanged as
        wholes; rows of the other groups among themselves. With groups of different sizes there are
        fewer such orders than results of `permuted_labels`, which need not be an order of the rows.

    References
    ----------
    Winkler et al. 2015, NeuroImage 123:253: blocks of the same size are exchanged.

    Examples
    --------
    >>> people = np.array([0, 0, 1, 1, 2])
    >>> permuted_rows(np.array([1, 1, 0, 0, 0]), people, np.random.default_rng(3)).tolist()
    [2, 3, 0, 1, 4]
    """
    _, code, varies = _varying(y, groups)
    sizes = np.bincount(code)
    members = np.split(np.argsort(code, kind="stable"), np.cumsum(sizes)[:-1])
    order = np.empty(len(code), dtype=np.intp)
    for size in np.unique(sizes):
        alike = np.flatnonzero((sizes == size) & ~varies)
        for place, taken in zip(alike, generator.permutation(alike), strict=True):
            order[members[place]] = members[taken]
    for group in np.flatnonzero(varies):
        order[members[group]] = generator.permutation(members[group])
    return order


def rows_of_strata(strata: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """The rows of each stratum, ascending, in the order of the strata's codes.

    >>> [rows.tolist() for rows in rows_of_strata(np.array([7, 2, 7]))]
    [[1], [0, 2]]
    """
    order = np.argsort(strata, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(strata[order])) + 1)


def permuted_within(
    y: NDArray[Any], strata: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[Any]:
    """The label permuted within each stratum, as (n_samples,).

    Raises
    ------
    DataError
        If the label is constant in every stratum: there is nothing to permute.

    References
    ----------
    P. Good 2005, Permutation, Parametric and Bootstrap Tests of Hypotheses, section 3.7: what the
    rows of a stratum have in common, such as covariates, is preserved.

    Examples
    --------
    >>> sex = np.array([0, 0, 0, 1, 1, 1])
    >>> permuted = permuted_within(np.array([1, 0, 0, 1, 1, 0]), sex, np.random.default_rng(1))
    >>> [int(permuted[sex == s].sum()) for s in (0, 1)]
    [1, 2]
    """
    permuted = y.copy()
    for rows in varied_strata(y, strata):
        permuted[rows] = y[generator.permutation(rows)]
    return permuted


def varied_strata(y: NDArray[Any], strata: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """`rows_of_strata`; DataError if the label (n_samples,) is constant in every stratum."""
    parts = rows_of_strata(strata)
    if all((y[rows] == y[rows[0]]).all() for rows in parts):
        raise DataError(
            "the covariates (--adjust) determine the label: it is constant in each of their "
            f"{len(parts)} strata, which leaves nothing for a feature to explain: leave some of "
            "them out"
        )
    return parts


def rotated_labels(
    y: NDArray[Any],
    times: NDArray[np.float64],
    generator: np.random.Generator,
    groups: NDArray[Any] | None = None,
    stretches: int = 1,
) -> NDArray[Any]:
    """The label rotated in time by a random number of rows; the last ones move to the beginning.

    Neighbours in time stay neighbours, so that the autocorrelation of the label is preserved and
    its association with the features is not.

    Parameters
    ----------
    y, times : (n_samples,)
    generator : numpy.random.Generator
    groups : (n_samples,) int, optional
        Rows that belong together. The labels of groups with a constant label are rotated among
        these groups, in the order in which they begin; in the others, among the rows of the group.
    stretches : int ≥ 1
        Number of equal stretches of time that rows, or groups with a constant label, are cut into.
        Each is rotated in itself, so that a trend over the whole series is preserved too.

    Notes
    -----
    Exact for a circular stationary series, or one that is circular and stationary in each stretch;
    otherwise the last and the first row are the only new pair of neighbours. There are n − 1
    rotations; of m groups with constant labels, m − 1. Only with several stretches, a rotation by
    nothing is one of them.

    Examples
    --------
    >>> rotated_labels(np.arange(4), np.array([0.0, 1, 2, 3]), np.random.default_rng(0)).tolist()
    [1, 2, 3, 0]
    >>> times, draw = np.arange(6.0), np.random.default_rng(0)
    >>> rotated_labels(np.arange(6), times, draw, stretches=2).tolist()
    [1, 2, 0, 5, 3, 4]
    """
    order = np.argsort(times, kind="stable")
    rotated = y.copy()
    if groups is None:
        rotated[order] = _rotated(y[order], generator, stretches)
        return rotated
    first, code, varies = _varying(y[order], groups[order])
    label_of = y[order][first]
    uniform = np.flatnonzero(~varies)
    uniform = uniform[np.argsort(first[uniform])]
    label_of[uniform] = _rotated(label_of[uniform], generator, stretches)
    rotated[order] = label_of[code]
    for group in np.flatnonzero(varies):
        rows = order[code == group]
        rotated[rows] = _rotated(y[rows], generator)
    return rotated


def _rotated(
    labels: NDArray[Any], generator: np.random.Generator, stretches: int = 1
) -> NDArray[Any]:
    """The labels of each stretch rotated by a random number of places; by at least one if there is
    only one stretch."""
    if len(labels) < 2:
        return labels
    if stretches == 1:
        return np.roll(labels, int(generator.integers(1, len(labels))))
    parts = np.array_split(labels, min(stretches, len(labels)))
    return np.concatenate([np.roll(part, int(generator.integers(len(part)))) for part in parts])


def deal_rows(y: NDArray[Any], folds: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """The fold that each row is assigned to, stratified by class, as (n_samples,).

    Notes
    -----
    Members of each class are shuffled and assigned to folds in turn; the next class continues where
    the last one stopped, so that fold sizes differ by at most one row.

    Examples
    --------
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> folds = deal_rows(y, 3, np.random.default_rng(0))
    >>> [sorted(y[folds == k].tolist()) for k in range(3)]
    [[0, 1], [0, 1], [0, 1]]
    """
    place = np.empty(len(y), dtype=np.intp)
    assigned = 0
    for code in np.unique(y):
        members = generator.permutation(np.flatnonzero(y == code))
        place[members] = (assigned + np.arange(members.size)) % folds
        assigned += members.size
    return place


def deal_groups(
    y: NDArray[Any], groups: NDArray[Any], folds: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """The fold that each row is assigned to, groups kept together, as (n_samples,).

    Notes
    -----
    Groups are assigned from the largest to the smallest, equal ones in random order, each to the
    fold whose class frequencies, as shares of each class, it brings nearest to equal shares; on a
    tie to the fold with the fewest rows. So no fold stays empty if there are enough groups.
    """
    names, code = np.unique(groups, return_inverse=True)
    classes, label = np.unique(y, return_inverse=True)
    table = np.zeros((names.size, classes.size))
    np.add.at(table, (code, label), 1.0)
    rows = table.sum(axis=1)
    table /= table.sum(axis=0)
    order = generator.permutation(names.size)
    order = order[np.argsort(-rows[order], kind="stable")]
    held, sizes = np.zeros((folds, classes.size)), np.zeros(folds)
    place = np.empty(names.size, dtype=np.intp)
    for group in order:
        even = held - 1.0 / folds
        excess = ((even + table[group]) ** 2 - even**2).sum(axis=1)
        # Rounded, so that folds that are equal up to the last bits are distinguished by size.
        fold = int(np.lexsort((sizes, np.round(excess, 12)))[0])
        place[group] = fold
        held[fold] += table[group]
        sizes[fold] += rows[group]
    return place[code]


def label_problem(data: Dataset, name: str) -> str:
    """The message with which the method `name` refuses labels that vary within groups; or empty."""
    if data.groups is None:
        return ""
    first, code, varies = _varying(data.y, data.groups)
    if not varies.any():
        return ""
    row = int(np.argmax(data.y != data.y[first][code]))
    return (
        f"{name}: the label varies within {data.group_name!r} (rows "
        f"{first[code[row]] + 1} and {row + 1}); with groups their means are tested, which "
        "need a label that is the same in all rows of a group. Leave the groups out "
        "(--groups) only if rows are independent"
    )


def with_group_means(data: Dataset, name: str) -> Dataset:
    """The table of groups: the mean of each column over a group's rows, and the group's label.

    Without groups, `data` itself is returned. A value that all rows of a group have is kept
    exactly; in a nominal column the most frequent level is taken (on a tie, that of the lowest
    code). A value is missing if it is missing in all rows of the group. The counts of the groups
    are those with which they were drawn.

    Raises
    ------
    DataError
        If the label varies within a group, or a resample splits a group; it names the method
        `name`.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [4.0, np.nan]])
    >>> data = Dataset.from_arrays(X, np.array([0, 0, 1]), groups=np.array([7, 7, 9]))
    >>> means = with_group_means(data, "anova-f")
    >>> means.X.tolist(), means.y.tolist()
    ([[2.0, 5.0], [4.0, nan]], [0, 1])
    """
    if data.groups is None:
        return data
    problem = label_problem(data, name)
    if problem:
        raise DataError(problem)
    codes = data.y if data.task == "classification" else None
    together = Grouping.of(data.groups, codes, data.counts)
    first = np.zeros(len(together), dtype=np.intp)
    first[together.code[::-1]] = np.arange(data.n_samples)[::-1]
    if (together.rest != 1).any():
        raise DataError(
            f"{name}: a resample splits rows of one {data.group_name!r}; the test uses "
            "means over whole groups"
        )
    X = np.empty((len(together), data.n_features))
    for start, stop in data.column_blocks():
        block = np.asarray(data.columns(start, stop)).astype(np.float64)
        for place in range(stop - start):
            nominal = bool(data.categorical[start + place])
            X[:, start + place] = _group_values(block[:, place], together, nominal)
    X.setflags(write=False)
    given = data.covariates
    if given is not None:
        means = [
            _group_values(values, together, bool(nominal))
            for values, nominal in zip(given.values.T, given.nominal, strict=True)
        ]
        given = attrs.evolve(given, values=freeze(np.column_stack(means)))
    return attrs.evolve(
        data,
        covariates=given,
        matrix=X,
        y=data.y[first],
        counts=None if data.counts is None else together.times,
        groups=None,
        group_name="",
    )


def _group_values(
    values: NDArray[np.float64], together: Grouping, nominal: bool
) -> NDArray[np.float64]:
    """The mean of each group, or its most frequent level; NaN without a known value."""
    known = ~np.isnan(values)
    code, present = together.code[known], values[known]
    low, high = np.full(len(together), np.inf), np.full(len(together), -np.inf)
    np.minimum.at(low, code, present)
    np.maximum.at(high, code, present)
    if nominal:
        levels, level = np.unique(present, return_inverse=True)
        times = np.zeros((len(together), max(1, levels.size)))
        np.add.at(times, (code, level), 1.0)
        mean = levels[times.argmax(axis=1)] if levels.size else np.zeros(len(together))
    else:
        rows = np.maximum(np.bincount(code, minlength=len(together)), 1)
        # Differences from the smallest, because sums of large values would lose small variation.
        rest = np.bincount(code, weights=present - low[code], minlength=len(together)) / rows
        mean = np.where(np.isfinite(low), low, 0.0) + rest
    return np.where(high < low, np.nan, np.where(low == high, low, mean))


Floats = NDArray[np.float64]


# attrs would take the parameters of Selector for its own if it were no attrs class, and prefer
# them to those of a second base.
@attrs.frozen(kw_only=True, auto_attribs=False)
class FilterWithTests(Selector):
    """Base, besides the one that scores, of filters whose scores have p-values.

    They declare the parameters `alpha` and `correction` (`fsframe.params.level_of_tests`). A
    ranking needs no independent rows; p-values, by which `alpha` decides, do.
    """

    alpha: float | None
    correction: str

    def statement(self, base: Selector | None = None) -> Statement:
        return RELEVANT

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """As for every filter, and why `alpha` cannot be used on the rows of a table."""
        yield from super().role_problems(data)
        if self.alpha is None or data.groups is None:
            return
        name = self.method_name()
        problem = label_problem(data, f"{name}:alpha=…")
        if problem:
            yield (
                f"{problem}; `{name}:top=10 npfs` tests features by labels that it permutes "
                "within the groups"
            )
        if data.in_parts:
            yield (
                f"{name}: alpha=… tests the means of groups, which needs the table in memory; "
                "leave alpha out (a ranking), or raise --memory"
            )

    def ignores_time(self) -> str:
        dependent = "" if self.alpha is None else "its p-values take rows as independent"
        return super().ignores_time() or dependent

    def independent_rows(self, data: Dataset) -> Dataset:
        """The table to test: the means of groups if there are groups and `alpha`, else `data`."""
        return data if self.alpha is None else with_group_means(data, self.method_name())

    def significant_columns(
        self, scores: Floats, p_values: Floats, data: Dataset, default: int
    ) -> Selection:
        """The `top` best columns by `scores`, or with `alpha` those whose q is at most `alpha`.

        Its tables are ``p_values``, if rows are independent, and ``q_values`` where `alpha` is
        given.

        Parameters
        ----------
        scores, p_values : (p,) float64
            All columns count as tested; those without information have p = 1.
        data : Dataset
            The table that was tested. Without `alpha`, rows that belong together (groups, times)
            give no p-values.
        default : int
            Number kept without `top` and `alpha`.

        Notes
        -----
        q is p adjusted by `correction` for the number of columns. By Benjamini and Hochberg the
        expected share of false columns among the kept is at most `alpha` if tests are independent
        or positively dependent (PRDS); by Benjamini and Yekutieli under any dependence; by
        Bonferroni the probability of any false column is.

        References
        ----------
        Y. Benjamini, Y. Hochberg 1995, J. R. Stat. Soc. B 57:289–300. Y. Benjamini, D. Yekutieli
        2001, Ann. Stat. 29:1165–1188.
        """
        if self.alpha is None:
            kept = rank_by_score(scores, self.keep_count(scores.size, default))
            tables = {} if data.together is not None else {"p_values": p_values}
            return Selection(selected=kept, scores=scores, tables=tables)
        q_values = adjusted_p_values(p_values, self.correction)
        significant = q_values <= self.alpha
        ranked = rank_by_score(scores)
        kept = ranked[significant[ranked]][: self.keep_count(scores.size, scores.size)]
        notes: tuple[str, ...] = ()
        if not kept.size and scores.size:
            best = int(ranked[0])
            notes = (
                f"no column has q ≤ {self.alpha:g} ({self.correction}); the best, "
                f"{data.feature_names[best]}, has p = {p_values[best]:.2g}, "
                f"q = {q_values[best]:.2g}",
            )
        tables = {"p_values": p_values, "q_values": q_values}
        return Selection(selected=kept, scores=scores, tables=tables, warnings=notes)
