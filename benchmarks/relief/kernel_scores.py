"""Loops that sum weighted differences over pairs, and the same with array operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsframe_relief.engine import distance_kernels
from fsframe_relief.engine import score_kernels as loops
from fsframe_relief.engine.columns import Plain, prepare_columns
from fsframe_relief.engine.feature_scores import Gapped, Lists, _level_masks


def cases():  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    n, p, b = 1000, 500, 50
    C = np.where(rng.random((n, n)) < 0.3, rng.normal(size=(n, n)), 0.0)
    rows = np.arange(b)
    lists = Lists(np.zeros((b, n), np.int32), np.zeros((b, n)), np.zeros(b, dtype=np.int64))
    loops.row_lists(C[:b], lists)
    index, weight, length = lists
    near = [(index[r, : length[r]], weight[r, : length[r]]) for r in range(b)]
    size = f"{b} targets × {n} × {p}, 30 % near"

    Z = rng.random((n, p))
    out = np.zeros(p)

    def plain() -> Any:
        out[:] = 0.0
        loops.plain_scores(Plain(np.arange(p), Z), rows, lists, out)
        return out

    # all instances at a time, weights zero or not, is no slower than gathering the near ones
    yield (
        "plain_scores",
        f"{size} (product)",
        plain,
        lambda: sum(C[i] @ np.abs(Z - Z[i]) for i in rows),
    )

    levelled = prepare_columns(rng.integers(0, 3, (n, p)).astype(float), np.ones(p, bool)).levelled
    codes = levelled.codes

    def levels() -> Any:
        out[:] = 0.0
        loops.level_scores(levelled, rows, lists, out)
        return out

    yield (
        "level_scores",
        f"{size} (product)",
        levels,
        lambda: sum(w @ (codes[j] != codes[i]) for i, (j, w) in zip(rows, near, strict=True)),
    )
    yield from gaps(rng, C, rows)
    yield from probabilities(rng, rows)
    yield from masks(rng)


def grouped(total: Any, parts: Any, own: int) -> Any:
    """Means over hits and misses of two classes, combined as by `combine_groups`, for a target."""
    score = 0.0
    for side in range(2):
        for c in (own, 1 - own):
            top, base = parts[2 * c + side]
            mean = np.divide(top, base, out=np.zeros_like(top), where=base != 0)
            score = score + total[2 * c + side] * mean * (base != 0)
    return score


def gaps(rng, C, rows):  # type: ignore[no-untyped-def]
    n, p = 1000, 500
    y = np.sort(rng.integers(0, 2, n))
    Z = rng.random((n, p))
    Z[rng.random((n, p)) < 0.1] = np.nan
    codes = rng.integers(0, 3, (n, p)).astype(np.uint8)
    codes[rng.random((n, p)) < 0.1] = 255
    part = C[rows]
    out = np.zeros(p)
    far = (part > 0) == (y == y[rows][:, None])
    groups = [(part != 0) & (y == c) & (far == bool(s)) for c in (0, 1) for s in (0, 1)]

    def arrays(known: Any, differ: Any) -> Any:
        total = np.zeros(p)
        for r, i in enumerate(rows):
            there = known & known[i]
            d = differ(i, there)
            w = [np.where(g[r], part[r], 0.0) for g in groups]
            parts = [(v @ d, v @ there) for v in w]
            total += np.where(known[i], grouped([v.sum() for v in w], parts, y[i]), 0.0)
        return total

    def special() -> Any:
        out[:] = 0.0
        loops.gap_scores(Gapped(Z, False, 0, 0.0, 1.0, 0), rows, part, y, 2, out)
        return out

    known = ~np.isnan(Z)
    filled = np.where(known, Z, 0.0)
    size = f"{len(rows)} targets × {n} × {p}, 10 % gaps (products by group)"
    yield (
        "gap_scores, numbers",
        size,
        special,
        lambda: arrays(known, lambda i, there: np.abs(filled - filled[i]) * there),
    )

    def gap() -> Any:
        out[:] = 0.0
        loops.gap_scores(Gapped(codes, True, 255, 0.0, 1.0, 0), rows, part, y, 2, out)
        return out

    coded = codes != 255
    yield (
        "gap_scores, codes",
        size,
        gap,
        lambda: arrays(coded, lambda i, t: (codes != codes[i]) & t),
    )


def probabilities(rng, rows):  # type: ignore[no-untyped-def]
    n, p, m = 1000, 200, 100
    X = rng.normal(size=(n, p))
    X[:, p // 2 :] = rng.integers(0, 3, (n, p // 2))
    X[rng.random((n, p)) < 0.1] = np.nan
    found = prepare_columns(X, np.arange(p) >= p // 2, classes=np.sort(rng.integers(0, 2, n)))
    c = found.probability
    index = rng.integers(0, n, (len(rows), m)).astype(np.int32)
    weight, length = rng.random((len(rows), m)), np.full(len(rows), m)
    lists = Lists(index, weight, length)
    out, table = np.zeros(p), np.empty(c.first_state[-1])

    def loop() -> Any:
        out[:] = 0.0
        loops.probability_scores(c, rows, lists, out)
        return out

    def arrays() -> Any:
        total = np.zeros(p)
        for r, i in enumerate(rows):
            # the table of one target is made by a loop here too
            distance_kernels.fill_differences(i, c, table)
            d = table[c.state[index[r]]]
            real = np.abs(c.values[index[r], : c.n_real] - c.values[i, : c.n_real])
            d[:, : c.n_real] = np.where(np.isnan(real), d[:, : c.n_real], real)
            total += weight[r] @ d
        return total

    size = f"{len(rows)} targets × {m} × {p}, 10 % gaps (table lookups)"
    yield "probability_scores", size, loop, arrays


def masks(rng):  # type: ignore[no-untyped-def]
    n, p = 1000, 2000
    G = rng.integers(0, 3, (n, p)).astype(float)
    y = np.sort(rng.integers(0, 2, n))
    columns = prepare_columns(G, np.ones(p, bool))
    hot = np.concatenate([v == G for v in range(3)], axis=1).astype(np.float32)
    C = np.where(rng.random((n, n)) < 0.3, np.where(y[:, None] == y, -1.0, 1.0) / n, 0.0)
    masks = _level_masks(columns)
    bounds = np.searchsorted(y, np.arange(3)).astype(np.int64)
    out, rows = np.zeros(p), np.arange(n)

    def loop() -> Any:
        out[:] = 0.0
        groups = masks.groups(n, 2)
        loops.weight_groups(C, rows, y, bounds, groups)
        loops.count_scores(columns.levelled, masks, rows, y, bounds, groups, out)
        return out

    own = columns.levelled.codes[:, None, :].astype(int)

    def arrays() -> Any:
        # two signs, exact counts in single precision, own level picked out
        total = np.zeros(p)
        for sign in (-1.0, 1.0):
            w = (C * sign > 0).astype(np.float32)
            equal = (w @ hot).reshape(n, 3, p)
            mine = np.take_along_axis(equal, own, 1)[:, 0]
            total += sign / n * (w.sum(axis=1)[:, None] - mine).sum(axis=0, dtype=float)
        return total

    yield "count_scores", f"{n} × {p} genotypes (one-hot products)", loop, arrays
