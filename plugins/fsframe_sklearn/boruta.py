"""Boruta: columns that a random forest finds more important than the best shuffled copy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from fsframe.errors import RequestError
from fsframe.kinds import MOST_TIMES
from fsframe.method.ranking import RELEVANT, Statement
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.method.statistics import adjusted_p_values
from fsframe.params import choice, integer, json_object, number_to_keep, param, real
from fsframe.table.dataset import Dataset
from fsframe.text import some_of
from fsframe_sklearn.estimators import (
    LEARNERS,
    guarded,
    make_estimator,
    parse_options,
    seed_estimator,
)
from fsframe_sklearn.learners import target_of_trees

_FORESTS = {"classification": "RandomForestClassifier", "regression": "RandomForestRegressor"}
_LEAST_SHADOWS = 5


@attrs.frozen(kw_only=True)
class Boruta(Selector):
    """Columns that beat the best of their shuffled copies more often than expected by chance.

    Each of at most `max_runs` forests is fitted on the remaining columns and a shuffled copy of
    each (at least five copies). A column scores a hit if its importance exceeds that of the best
    copy. After each forest the hits of each undecided column are tested against
    Binomial(forests, ½), on both sides, with Bonferroni correction for the number of columns (or as
    `correction` says): significantly many confirm the column, significantly few reject it, and
    later forests omit it. Columns that remain undecided are *tentative*, with a warning.

    With ``correction=best-shadow`` nothing is confirmed before the last forest. Each forest has a
    copy of every column, also of the rejected, so that its best copy is one draw of the best of p
    irrelevant columns. Importances are divided by the mean of the forest's copies. A column whose
    mean over the forests is m has the p-value (1 + number of forests whose best copy is ≥ m) /
    (1 + forests), adjusted for the number of columns as in the single-step max test of Westfall &
    Young. It is confirmed if this is at most `alpha` and else rejected.

    Without `top` the confirmed columns are kept, which may be none. A column's score is the mean of
    (a − b) / (a + b) over the forests that used it, a its importance and b that of the best copy:
    from −1 to 1, above 0 where it is better than shuffled. Tables: ``decision`` (p,) is 1
    confirmed, 0 tentative, −1 rejected; ``hits`` and ``forests`` (p,); ``importance`` (n_forests,
    p), NaN where a forest omitted the column; ``best-shadow`` (n_forests,); with
    ``correction=best-shadow`` ``p_adjusted`` (p,).

    Notes
    -----
    The importance is the decrease of impurity, not the Z-score of the permuted accuracy as in the
    paper; the shuffled copies have the same bias. A row that a bootstrap drew twice has weight two
    in the forest, and its copies are shuffled as one: if they were shuffled separately, a tree
    could recognise a drawn row by the true columns but not by the shuffled ones. Rows of a group
    would have to be shuffled together for the same reason, which is impossible if groups differ in
    size: groups raise an error.

    The level of the published corrections is one over forests, not over tables. All forests see the
    same rows, and a column that goes with the label in these by chance beats the copies again and
    again. The best of p irrelevant columns is confirmed if it is above the quantile of the best
    copy that corresponds to the hits needed: about three in ten tables without a relevant column
    keep one, whatever `alpha` (docs/ledger.md; as with BorutaPy). A warning says so if columns are
    confirmed. ``correction=best-shadow`` compares with the quantile 1 − `alpha` instead: fewer
    relevant columns are found, and at most `alpha` of such tables keep one. The copies' importances
    are of single forests and the columns' are means, which vary less: that the level holds is
    expected and measured (2 of 160 tables at 0.05, docs/ledger.md), not proved.

    Up to `max_runs` forests of `trees` trees are stored one by one, so that a killed run can
    continue.

    References
    ----------
    M. B. Kursa, W. R. Rudnicki 2010, Feature selection with the Boruta package, J. Stat. Softw.
    36(11), sec. 2. P. H. Westfall, S. S. Young 1993, Resampling-Based Multiple Testing, Wiley,
    sec. 2.3 (``best-shadow``).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 5))
    >>> data = Dataset.from_arrays(X, X[:, 3] > 0)
    >>> Boruta(trees=20, max_runs=20).select(data).selected
    array([3])
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    takes_missing: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    takes_time: ClassVar[bool] = False
    table_copies: ClassVar[float] = 2.0
    reads_bytes: ClassVar[bool] = True

    top: int | float | None = number_to_keep(
        "those that the test confirms, which may be none", ", by score"
    )
    max_runs: int = param(
        100, integer(1, MOST_TIMES), help="Maximum number of forests.", source="sec. 3"
    )
    alpha: float = param(
        0.01,
        real(above=0, below=1),
        help="Significance level of the test on each side, over all features and forests of this "
        "table; with best-shadow over tables.",
        source="sec. 3",
    )
    correction: str = param(
        "bonferroni",
        choice("bonferroni", "two-step", "best-shadow"),
        help="Correction of the test: Bonferroni over all columns after every forest; or a false "
        "discovery rate over the columns not rejected and Bonferroni over forests, as in "
        "BorutaPy, which decides after fewer forests; or the mean importance against the best "
        "copies of all max_runs forests, with a level over tables.",
        source="sec. 3",
    )
    trees: int = param(500, integer(1, MOST_TIMES), help="Number of trees in a forest.")
    options: str = param(
        "{}",
        json_object(),
        help='Further parameters of the forest, as JSON: {"max_depth": 5}.',
    )

    def statement(self, base: Selector | None = None) -> Statement:
        return RELEVANT

    def ignores_groups(self) -> str:
        return "its copies of the columns are shuffled row by row"

    def cost(self, n: int, p: int) -> Cost:
        # A forest on the columns and as many shadows; all `max_runs` if any column stays tentative.
        tree = 1.3e-3 + 3e-7 * n * np.sqrt(2 * p)
        return Cost(
            seconds=self.max_runs * self.trees * tree,
            formula=f"{self.max_runs} · {self.trees} (0.0013 + 3e-7 n √2p)",
        )

    def check_parameters(self) -> Iterator[str]:
        least = _forests_for(self.alpha)
        if self.correction == "best-shadow" and self.max_runs < least:
            yield (
                f"correction=best-shadow with alpha={self.alpha:g} takes max_runs={least} or more: "
                f"the least p-value of {self.max_runs} forests is 1/{self.max_runs + 1}"
            )
        refused = []
        for name in _FORESTS.values():
            try:
                make_estimator(name, parse_options(self.options), LEARNERS)
            except RequestError as error:
                refused.append(str(error))
        if len(refused) == len(_FORESTS):
            yield refused[0]
        elif "n_estimators" in parse_options(self.options):
            yield "use trees instead of n_estimators"

    def check_request(self, data: Dataset) -> Iterator[str]:
        try:
            self._forest(data, 0)
        except RequestError as error:
            yield str(error)

    def _forest(self, data: Dataset, seed: int) -> Any:
        options = {**parse_options(self.options), "n_estimators": self.trees}
        made = make_estimator(_FORESTS[data.task], options, LEARNERS)
        return seed_estimator(made, seed, options)

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        p = data.n_features
        decision = np.zeros(p, dtype=np.int64)
        hits = np.zeros(p, dtype=np.int64)
        seen = np.zeros(p, dtype=np.int64)
        rows: list[NDArray[np.float64]] = []
        shadows: list[float] = []
        typical: list[float] = []
        title = f"boruta {self.trees} {self.options} {self.alpha}"
        if self.correction != "bonferroni":
            title += f" {self.correction}"
        steps = run.units(title, data, upstream)
        with guarded("boruta: the forest", data) as issued:
            for number in range(self.max_runs):
                live = np.flatnonzero(decision >= 0)
                kept = steps.get(number, partial(self._one_forest, data, live, run, number))
                importance, best = np.full(p, np.nan), float(kept["best"][0])
                importance[live] = kept["importance"]
                rows.append(importance)
                shadows.append(best)
                typical.append(float(kept["typical"][0]) if self._over_tables else 1.0)
                hits[live] += importance[live] > best
                seen[live] += 1
                self._decide(decision, hits, number + 1)
                run.progress(number + 1, self.max_runs, "boruta")
                if (decision != 0).all():
                    break
        run.progress(self.max_runs, self.max_runs, "boruta")
        table = np.array(rows)
        scores = _against_shadows(table, np.array(shadows))
        adjusted = {}
        if self._over_tables:
            p_values = _adjusted_p_values(table, np.array(shadows), np.array(typical))
            decision = np.where((decision == 0) & (p_values <= self.alpha), 1, -1)
            adjusted = {"p_adjusted": p_values}
        confirmed = int(np.count_nonzero(decision == 1))
        ranked = rank_by_score(scores)
        if self.top is None:
            selected = ranked[decision[ranked] == 1]
        else:
            selected = ranked[: self.keep_count(p, confirmed)]
        return Selection(
            selected=selected,
            scores=scores,
            tables={
                "decision": decision,
                "hits": hits,
                "forests": seen,
                "importance": table,
                "best-shadow": np.array(shadows),
                **adjusted,
            },
            warnings=(*issued, *self._warnings(data, decision, len(rows))),
        )

    def _one_forest(
        self, data: Dataset, live: NDArray[np.intp], run: Run, number: int
    ) -> dict[str, Any]:
        generator = run.generator(number)
        forest = self._forest(data, int(generator.integers(2**31 - 1)))
        # Fitting draws the seeds of all trees first, so the number of threads has no effect.
        forest.set_params(n_jobs=run.threads)
        copied = np.arange(data.n_features) if self._over_tables else live
        shadowed = np.resize(copied, max(copied.size, _LEAST_SHADOWS))
        n = data.n_samples
        X = np.empty((n, live.size + shadowed.size), dtype=np.float32)
        for place, column in enumerate(live.tolist()):
            X[:, place] = data.columns(column, column + 1)[:, 0]
        for place, column in enumerate(shadowed.tolist(), start=live.size):
            X[:, place] = data.columns(column, column + 1)[generator.permutation(n), 0]
        # Always passed: scikit-learn draws different rows with unit weights than without weights.
        weights = data.row_counts.astype(np.float64)
        y = target_of_trees(data, data.y)
        importance = forest.fit(X, y, sample_weight=weights).feature_importances_
        copies = importance[live.size :]
        kept = {"importance": importance[: live.size], "best": np.array([copies.max()])}
        if self._over_tables:
            # Without a split on any copy there is no scale: every used column beats them.
            kept["typical"] = np.array([copies.mean() or 1.0])
        return kept

    @property
    def _over_tables(self) -> bool:
        return self.correction == "best-shadow"

    def _decide(self, decision: NDArray[np.int64], hits: NDArray[np.int64], forests: int) -> None:
        """Confirm or reject undecided columns, in place; with best-shadow only reject."""
        live, undecided = np.flatnonzero(decision >= 0), decision == 0
        many = self._significant(binom.sf(hits[live] - 1, forests, 0.5), decision.size, forests)
        few = self._significant(binom.cdf(hits[live], forests, 0.5), decision.size, forests)
        if not self._over_tables:
            decision[live[many & undecided[live]]] = 1
        decision[live[few & undecided[live]]] = -1

    def _significant(
        self, p_values: NDArray[np.float64], p: int, forests: int
    ) -> NDArray[np.bool_]:
        """Mask of the columns not yet rejected that differ from chance, corrected for all tests."""
        if self.correction != "two-step":
            return np.asarray(np.minimum(p * p_values, 1.0) < self.alpha)
        within = adjusted_p_values(p_values) <= self.alpha
        return np.asarray(within & (p_values <= self.alpha / forests))

    def _warnings(self, data: Dataset, decision: NDArray[np.int64], forests: int) -> Iterator[str]:
        if self.top is None and (decision == 1).any() and not self._over_tables:
            yield (
                f"alpha={self.alpha:g} holds over forests, which all see the same rows, but not "
                "over tables: about three in ten tables without a relevant column keep one. With "
                "correction=best-shadow, alpha holds over tables"
            )
        tentative = np.flatnonzero(decision == 0)
        if tentative.size:
            named = some_of([data.feature_names[column] for column in tentative], 8)
            yield f"tentative after {forests} forests: {named}; a larger max_runs may decide"
        if self.top is None and not (decision == 1).any():
            note = "no column is confirmed to be better than its shuffled copies"
            least = int(np.floor(np.log2(decision.size / self.alpha))) + 1
            if self.correction == "bonferroni" and self.max_runs < least:
                note += (
                    f", and none could be: with {decision.size} columns and alpha={self.alpha:g} "
                    f"that takes {least} forests or more (max_runs), or correction=two-step"
                )
            yield note


def _forests_for(alpha: float) -> int:
    """The fewest forests whose least p-value is at most alpha.

    Examples
    --------
    >>> [_forests_for(alpha) for alpha in (0.05, 0.01, 0.3)]
    [19, 99, 3]
    """
    least = max(1, int(1 / alpha) - 1)
    return least if 1 / (least + 1) <= alpha else least + 1


def _adjusted_p_values(
    table: NDArray[np.float64], shadows: NDArray[np.float64], typical: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P-values of the columns' mean importance, adjusted by the best copy of each forest, (p,).

    Parameters
    ----------
    table : (n_forests, p) array
        Importances, NaN where a forest omitted a column.
    shadows, typical : (n_forests,) array
        The greatest and the mean importance of the forest's copies.
    """
    means = np.nanmean(table / typical[:, None], axis=0)
    reached = (shadows / typical)[:, None] >= means
    return np.asarray((1 + reached.sum(axis=0)) / (1 + shadows.size))


def _against_shadows(
    table: NDArray[np.float64], shadows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean of (importance − best shadow) / (importance + best shadow) per column, (p,)."""
    total = table + shadows[:, None]
    share = (table - shadows[:, None]) / np.where(total > 0, total, 1.0)
    return np.asarray(np.nanmean(share, axis=0))
