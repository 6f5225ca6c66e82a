"""Compiled sums over pairs: the contribution of a block of targets to every feature's score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe_relief.engine.distance_kernels import fill_differences

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Listed = NDArray[np.int32]
Codes = NDArray[np.uint8] | NDArray[np.uint32]

FAST = {"reassoc", "contract", "nsz"}
CHUNK = 256
FOLD = 64


@njit()
def folded_lists(
    C: Floats,
    i0: int,
    i1: int,
    index: Listed,
    weight: Floats,
    length: Places,
) -> None:
    """For each row i of i0..i1 list the columns j > i where ``C[i, j] + C[j, i]`` is not zero."""
    n = C.shape[0]
    for j0 in range(i0, n, FOLD):
        # The part below the diagonal is read by rows and transposed in the cache.
        for j in range(j0, min(n, j0 + FOLD)):
            below = C[j, i0:i1]
            for r in range(i1 - i0):
                weight[r, j] = below[r]
    for r in range(i1 - i0):
        row = C[i0 + r]
        m = 0
        for j in range(i0 + r + 1, n):
            # written in any case and kept if not zero: a branch would be mispredicted half the
            # time
            w = weight[r, j] + row[j]
            index[r, m] = j
            weight[r, m] = w
            m += w != 0.0
        length[r] = m


@njit()
def row_lists(C: Floats, index: Listed, weight: Floats, length: Places) -> None:
    """For each row list the columns of non-zero weight."""
    for r in range(C.shape[0]):
        m = 0
        for j in range(C.shape[1]):
            w = C[r, j]
            index[r, m] = j
            weight[r, m] = w
            m += w != 0.0
        length[r] = m


@njit(fastmath=FAST)
def plain_scores(
    Z: Floats,
    rows: Places,
    index: Listed,
    weight: Floats,
    length: Places,
    out: Floats,
) -> None:
    """Add sum over listed pairs of weight |z_ia - z_ja|, for complete continuous columns."""
    p = Z.shape[1]
    for a0 in range(0, p, CHUNK):
        a1 = min(p, a0 + CHUNK)
        o = out[a0:a1]
        for r in range(rows.shape[0]):
            x = Z[rows[r], a0:a1]
            m = length[r]
            whole = m - m % 4
            for q in range(0, whole, 4):
                y0 = Z[index[r, q], a0:a1]
                y1 = Z[index[r, q + 1], a0:a1]
                y2 = Z[index[r, q + 2], a0:a1]
                y3 = Z[index[r, q + 3], a0:a1]
                w0 = weight[r, q]
                w1 = weight[r, q + 1]
                w2 = weight[r, q + 2]
                w3 = weight[r, q + 3]
                for a in range(o.shape[0]):
                    u = x[a]
                    o[a] += (w0 * abs(u - y0[a]) + w1 * abs(u - y1[a])) + (
                        w2 * abs(u - y2[a]) + w3 * abs(u - y3[a])
                    )
            for q in range(whole, m):
                y0 = Z[index[r, q], a0:a1]
                w0 = weight[r, q]
                for a in range(o.shape[0]):
                    o[a] += w0 * abs(x[a] - y0[a])


@njit(fastmath=FAST)
def level_scores(
    codes: Codes,
    stop: int,
    rows: Places,
    index: Listed,
    weight: Floats,
    length: Places,
    out: Floats,
) -> None:
    """Add sum over listed pairs of weight [code_ia != code_ja], for the first `stop` columns."""
    for a0 in range(0, stop, 4 * CHUNK):
        a1 = min(stop, a0 + 4 * CHUNK)
        o = out[a0:a1]
        for r in range(rows.shape[0]):
            x = codes[rows[r], a0:a1]
            for q in range(length[r]):
                z = codes[index[r, q], a0:a1]
                w = weight[r, q]
                for a in range(o.shape[0]):
                    o[a] += w if x[a] != z[a] else 0.0


@njit()
def probability_scores(
    Z: Floats,
    state: Listed,
    first_state: Places,
    n_real: int,
    floor: float,
    slope: float,
    level: Places,
    chance: Floats,
    y: Places,
    rows: Places,
    index: Listed,
    weight: Floats,
    length: Places,
    out: Floats,
) -> None:
    """Add sum over listed pairs of weight times diff, gaps by the probability rule.

    Two known values of a continuous column differ by clip((|d| - floor) * slope, 0, 1).
    """
    p = Z.shape[1]
    table = np.empty(first_state[p])
    for r in range(rows.shape[0]):
        fill_differences(rows[r], first_state, level, chance, y, table)
        x = Z[rows[r]]
        for q in range(length[r]):
            z = Z[index[r, q]]
            s = state[index[r, q]]
            w = weight[r, q]
            for a in range(n_real):
                d = abs(x[a] - z[a])
                t = table[s[a]]
                out[a] += w * (min(max((d - floor) * slope, 0.0), 1.0) if d == d else t)
            for a in range(n_real, p):
                out[a] += w * table[s[a]]


@njit()
def combine_groups(
    total: Floats,
    mean: Floats,
    known: NDArray[np.bool_],
    own: int,
    n_classes: int,
) -> float:
    # Combine group means. Group 2c has the near, 2c + 1 the far instances of class c; `total` is
    # the weight of a group. Shares of miss classes are renormalised over those with a known value.
    score = 0.0
    for side in range(2):
        g = 2 * own + side
        if known[g]:
            score += total[g] * mean[g]
        whole = 0.0
        usable = 0.0
        part = 0.0
        for c in range(n_classes):
            if c != own:
                g = 2 * c + side
                whole += total[g]
                if known[g]:
                    usable += total[g]
                    part += total[g] * mean[g]
        if usable != 0.0:
            score += part * (whole / usable)
    return score


@njit()
def gap_scores(
    values: Floats | Codes,
    coded: bool,
    gap: int,
    floor: float,
    slope: float,
    first: int,
    rows: Places,
    C: Floats,
    y: Places,
    n_classes: int,
    out: Floats,
) -> None:
    """Add the contribution of columns with gaps (or a ramp): weighted means over neighbours with a
    value.

    `values` are continuous, NaN where missing, or if `coded`, codes of discrete columns, `gap`
    where missing; columns before `first` are left out. A target whose own value is missing
    contributes nothing. ``C[r]`` are the signed weights of target ``rows[r]``; near hits
    and far misses are negative, near misses and far hits positive.
    """
    n, p = values.shape
    groups = 2 * n_classes
    top = np.empty((groups, CHUNK))
    base = np.empty((groups, CHUNK))
    total = np.empty(groups)
    mean = np.empty(groups)
    known = np.empty(groups, np.bool_)
    for a0 in range(first, p, CHUNK):
        a1 = min(p, a0 + CHUNK)
        for r in range(rows.shape[0]):
            i = rows[r]
            own = y[i]
            top[:, :] = 0.0
            base[:, :] = 0.0
            total[:] = 0.0
            x = values[i, a0:a1]
            for j in range(n):
                w = C[r, j]
                if w == 0.0:
                    continue
                g = 2 * y[j] + (1 if (w > 0.0) == (y[j] == own) else 0)
                total[g] += w
                z = values[j, a0:a1]
                t = top[g]
                b = base[g]
                if coded:
                    for a in range(a1 - a0):
                        t[a] += w if (z[a] != gap) & (x[a] != z[a]) else 0.0
                        b[a] += w if z[a] != gap else 0.0
                else:
                    for a in range(a1 - a0):
                        d = abs(x[a] - z[a])
                        v = min(max((d - floor) * slope, 0.0), 1.0)
                        t[a] += w * v if d == d else 0.0
                        b[a] += w if d == d else 0.0
            for a in range(a1 - a0):
                if coded and x[a] == gap:
                    continue
                for g in range(groups):
                    known[g] = base[g, a] != 0.0
                    mean[g] = top[g, a] / base[g, a] if known[g] else 0.0
                out[a0 + a] += combine_groups(total, mean, known, own, n_classes)


@njit()
def pair_weights(
    A: Floats,
    first: Places,
    second: Places,
    labels: Places,
    near: Floats,
    far: Floats,
    out: Floats,
) -> None:
    """Weights of pairs under each labelling.

    ``A[i, j]`` is the unsigned weight of j for target i, negative if j is far. ``near[t, i, c]``
    is the factor of near weights in class c for target i under labelling t, `far` that of far
    weights. ``out[t, q]`` adds both directions of pair q.
    """
    for t in range(labels.shape[0]):
        y = labels[t]
        for q in range(first.shape[0]):
            i = first[q]
            j = second[q]
            a = A[i, j]
            b = A[j, i]
            s = a * (near[t, i, y[j]] if a > 0.0 else far[t, i, y[j]])
            out[t, q] = s + b * (near[t, j, y[i]] if b > 0.0 else far[t, j, y[i]])
