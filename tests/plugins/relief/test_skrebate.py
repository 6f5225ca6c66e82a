"""Scores compared with scikit-rebate 0.8.4: equal, or every difference accounted for.

`definition` is the score in plain arrays. With the departures of a case it is skrebate's, to 1e-10,
and without any one of these it is not; without departures it is ours.
What the departures are, and who follows the papers:

* ``zeros`` (SURF, SURF*): T is the mean over all pairs *and* the zero distances of instances to
  themselves. Greene et al. 2009 take pairs of different instances, as we do.
* ``triangle`` (the same, tables with gaps): the upper triangle of the matrix is zeros there, and
  counted in the mean: T is half of what it should be. A defect.
* ``levels`` (columns of both kinds, no gaps): the discrete part of a distance is multiplied by p
  over the number of discrete columns; with a single gap it is not. In all papers a distance is the
  sum of diffs over features. A defect: `test_mixed_columns_by_hand`.
* ``deviation`` (columns of both kinds): in scores a continuous diff above the column's standard
  deviation counts as 1. Its authors call that their own simplification of the ramp of Hong 1997,
  for which we have `ramp`; not in Kononenko 1994 or Robnik-Šikonja & Kononenko 2003.
* ``classes`` (three and more): misses of class c weigh n_c² / Σ n in place of P(c) / (1 − P(y_i))
  (Kononenko 1994): an average over classes only where all n_c are equal.
* ``one-minus`` (MultiSURF*): far instances score by 1 − diff, which differs where a target has no
  far hit or no far miss with a value. That is the paper's form; the page says what we do.
* ``itself`` (ReliefF with k of at least the size of a class): the target is a hit of its own. Its
  program says that this must not be; a defect.
* ``split`` (numeric target): hits are the instances whose target differs by less than its standard
  deviation. Ours are the sums of RReliefF, but for the forms with a star, which split too.

Ties at the k-th distance, which an unstable sort decides there, are avoided: on tables of levels
alone k is all rows.

scikit-rebate's own tests, through a module `skrebate` of thin classes over `fsframe.sklearn`, were
run by hand; the page of the family says what they found.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fsframe
from fsframe import Dataset, Run
from fsframe_relief import plain
from tests.plugins.shared import peer

ROWS, COLUMNS, K = 30, 6, 3
PEER = "skrebate==0.8.4"
NAMES = {
    "relieff": "ReliefF",
    "surf": "SURF",
    "surfstar": "SURFstar",
    "multisurf": "MultiSURF",
    "multisurfstar": "MultiSURFstar",
}


@pytest.fixture(scope="module")
def skrebate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The package, installed into a folder of its own."""
    with peer(PEER, "skrebate", tmp_path_factory.mktemp("skrebate")) as package:
        yield package


def tables() -> dict[str, tuple[np.ndarray, np.ndarray, list[int]]]:
    """Columns, label, and the numbers of the discrete columns."""
    rng = np.random.default_rng(0)
    real = rng.normal(size=(ROWS, COLUMNS))
    levels = rng.integers(0, 3, (ROWS, COLUMNS)).astype(float)
    mixed = np.hstack([levels[:, :2], real[:, 2:]])
    two = (rng.random(ROWS) < 0.45).astype(int)
    three = rng.choice(3, ROWS, p=[0.5, 0.3, 0.2])
    number = rng.normal(size=ROWS) + real[:, 0]

    def gaps(X: np.ndarray) -> np.ndarray:
        return np.where(rng.random(X.shape) < 0.1, np.nan, X)

    every = list(range(COLUMNS))
    return {
        "continuous": (real, two, []),
        "discrete": (levels, two, every),
        "mixed": (mixed, two, [0, 1]),
        "gaps": (gaps(real), two, []),
        "discrete gaps": (gaps(levels), two, every),
        "mixed gaps": (gaps(mixed), two, [0, 1]),
        "classes": (real, three, []),
        "number": (real, number, []),
        "number, discrete": (levels, number, every),
        "number, gaps": (gaps(real), number, []),
    }


def departures(table: str, method: str) -> set[str]:
    """In what skrebate's score of a table differs from ours."""
    found = set()
    if method in ("surf", "surfstar"):
        found.add("triangle" if "gaps" in table else "zeros")
    if table.startswith("mixed"):
        found |= {"deviation"} if "gaps" in table else {"deviation", "levels"}
    if table == "classes":
        found.add("classes")
    if method == "relieff" and "discrete" in table:
        found.add("itself")
    if table.startswith("number") and not method.endswith("star"):
        found.add("split")
    if method == "multisurfstar" and table in ONE_SIDED:
        found.add("one-minus")
    return found


# Where a target has no far hit, or no far miss, with a value in some column.
ONE_SIDED = {"gaps", "classes", "mixed gaps", "number, gaps"}


def definition(
    X: np.ndarray, y: np.ndarray, discrete: list[int], method: str, changed: set[str]
) -> np.ndarray:
    """The scores of a method, with departures."""
    n, p = X.shape
    mask = np.isin(np.arange(p), discrete)
    delta = plain.differences(X, mask)
    weight = np.where(mask, p / max(1, mask.sum()), 1.0) if "levels" in changed else np.ones(p)
    D = plain.distances(delta, weight)
    T = float(np.nanmean(D))
    if changed & {"zeros", "triangle"}:
        T *= (n - 1) / n / (2 if "triangle" in changed else 1)
    if "deviation" in changed:
        far = np.abs(X[:, None] - X[None]) > np.nanstd(X, axis=0)
        delta = np.where(far & ~mask & ~np.isnan(delta), 1.0, delta)
    number = y.dtype.kind == "f"
    rule = "nearest" if method == "relieff" else method
    k = ROWS if all(mask) else K
    others = ~np.eye(n, dtype=bool)
    hit = y[:, None] == y
    if number:
        hit = np.abs(y[:, None] - y) < np.std(y, ddof=1)
    labels = np.zeros(n, dtype=int) if number else y
    prior = np.bincount(labels) / n
    W = np.zeros(p)
    for i in range(n):
        misses = [~hit[i]] if number else [y == c for c in np.unique(y) if c != y[i]]
        shares = [1.0] if number else [prior[c] for c in np.unique(y) if c != y[i]]
        groups = [hit[i] & others[i], *misses]
        sides = [plain.neighbours(D[i], members, rule, T, k) for members in groups]
        if "itself" in changed:
            sides[0][0][i] = 1.0
        known = np.where(np.isnan(X[i]), 0.0, 1.0)
        W += known * difference(delta[i], [near for near, _ in sides], shares, changed)
        far = [weights for _, weights in sides]
        if "one-minus" in changed:
            W += known * difference(1 - delta[i], far, shares, changed)
        else:
            W -= known * difference(delta[i], far, shares, changed)
    return W / n


def difference(
    delta: np.ndarray, groups: list[np.ndarray], shares: list[float], changed: set[str]
) -> np.ndarray:
    """Mean diff to misses less that to hits, `groups[0]`; a group without values counts nothing."""
    means = [plain.mean_difference(delta, weights) for weights in groups]
    sizes = np.array([(weights[:, None] * ~np.isnan(delta)).sum(axis=0) for weights in groups[1:]])
    if "classes" in changed:
        total = sizes.sum(axis=0)
        factors = len(sizes) * sizes**2 / np.where(total > 0, total, 1) ** 2
    else:
        usable = np.array(shares)[:, None] * (sizes > 0)
        total = usable.sum(axis=0)
        factors = usable / np.where(total > 0, total, 1)
    return (factors * np.nan_to_num(means[1:])).sum(axis=0) - np.nan_to_num(means[0])


def test_mixed_columns_by_hand():
    # One discrete column and two continuous ones with range 1; k = 1, no ties. Distances:
    #        1    2    3    4
    #   0   1.2  1.5  3.0  1.5     hits: 0 and 1 of each other, 2 of 0, 3 and 4 of each other
    #   1        2.3  1.8  2.3     misses: 0, 2: 4;  1: 3;  3, 4: 2
    #   2             1.5  0.4     (with 3 for a differing level, "levels", the hit of 0 is 2 and
    #   3                  1.5     the miss of 3 is 1)
    X = np.array([[0, 0, 0], [1, 0.1, 0.1], [0, 0.7, 0.8], [1, 1, 1], [0, 0.9, 0.6]])
    y = np.array([0, 0, 0, 1, 1])
    # diff to the miss less diff to the hit, for targets 0 to 4.
    wanted = [
        (0 - 1) + (0 - 1) + (0 - 0) + (1 - 1) + (0 - 1),
        (0.9 - 0.1) + (0.9 - 0.1) + (0.2 - 0.7) + (0.3 - 0.1) + (0.2 - 0.1),
        (0.6 - 0.1) + (0.9 - 0.1) + (0.2 - 0.8) + (0.2 - 0.4) + (0.2 - 0.4),
    ]
    for ties in ("share", "index"):
        stage = fsframe.selectors["relieff"](k=1, discrete_features=[0], ties=ties)
        scores = stage.select(Dataset.from_arrays(X, y), run=Run(entropy=0, threads=1)).scores
        np.testing.assert_allclose(scores, np.array(wanted) / 5, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_one_gap_changes_how_skrebate_weighs_levels(skrebate):
    # The same rows with and without a gap in a column that is constant otherwise, and so in no
    # difference: nothing but the way to distances changes.
    rng = np.random.default_rng(3)
    X = np.hstack([rng.integers(0, 3, (40, 2)), rng.normal(size=(40, 4)), np.ones((40, 1))])
    y, gap = rng.integers(0, 2, 40), X.copy()
    gap[0, 6] = np.nan
    found = [
        skrebate.MultiSURF(categorical_features=[0, 1, 6]).fit(table.copy(), y).feature_importances_
        for table in (X, gap)
    ]
    assert np.abs(found[0] - found[1])[1:6].max() > 0.01
    mine = [ours(table, y, [0, 1, 6], "multisurf") for table in (X, gap)]
    # With a gap a distance of row 0 is the mean over the other columns, times their number.
    assert np.abs(mine[0] - mine[1])[:6].max() < np.abs(found[0] - found[1])[:6].max() / 2


@pytest.mark.slow
def test_turf_keeps_the_same_columns_with_the_same_scores(skrebate):
    # Ten columns, then five, then three; no departure applies to MultiSURF on this table.
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 10))
    y = (X[:, 2] * X[:, 5] + 0.5 * rng.normal(size=40) > 0).astype(int)
    base = skrebate.MultiSURF(categorical_features=[], n_features_to_select=3)
    peer = skrebate.TURF(base, pct=0.5, num_scores_to_return=3).fit(X.copy(), y)
    chain = fsframe.Chain.parse("multisurf:discrete_features=none turf:drop=0.5,top=3")
    selection = chain.select(Dataset.from_arrays(X, y), seed=0)
    assert set(selection.selected.tolist()) == set(peer.top_features_[:3].tolist())
    kept = np.sort(selection.selected)
    last = selection.tables["last_score"][kept]
    np.testing.assert_allclose(last, peer.feature_importances_[kept], rtol=0, atol=1e-10)


def theirs(skrebate: Any, X: np.ndarray, y: np.ndarray, discrete: list[int], method: str) -> Any:
    """The scores of the package."""
    k = {"n_neighbors": ROWS if len(discrete) == COLUMNS else K} if method == "relieff" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = getattr(skrebate, NAMES[method])(categorical_features=discrete, **k)
        return fitted.fit(X.copy(), y).feature_importances_


def ours(X: np.ndarray, y: np.ndarray, discrete: list[int], method: str) -> np.ndarray:
    k = {"k": ROWS if len(discrete) == COLUMNS else K} if method == "relieff" else {}
    selector = fsframe.selectors[method](discrete_features=discrete or "none", **k)
    scores = selector.select(Dataset.from_arrays(X, y), run=Run(entropy=0, threads=1)).scores
    assert scores is not None
    return scores


CASES = [(table, method) for table in tables() for method in NAMES]


@pytest.mark.slow
@pytest.mark.parametrize(("table", "method"), CASES)
def test_skrebate_differs_by_what_is_listed_and_nothing_else(table, method, skrebate):
    X, y, discrete = tables()[table]
    found, listed = theirs(skrebate, X, y, discrete, method), departures(table, method)
    wanted = definition(X, y, discrete, method, listed)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)
    for one in listed:
        without = definition(X, y, discrete, method, listed - {one})
        assert np.abs(found - without).max() > 1e-6 or one == "split", one
    # Of a numeric target ours are the sums of RReliefF, which `definition` has not.
    if "split" not in listed:
        wanted = definition(X, y, discrete, method, set())
        np.testing.assert_allclose(ours(X, y, discrete, method), wanted, rtol=0, atol=1e-10)
