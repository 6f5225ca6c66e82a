"""Compiled rules that turn rows of distances into rows of signed neighbour weights, in place.

Target i spreads ``+omega_i`` over its misses and ``-omega_i`` over its hits, so that the score of a
feature is the sum over pairs of weight times diff. Misses of class c get the share
P(c) / sum of P over the other classes that have a usable miss. In regression (``signed`` false)
there is one class and all weights are positive with sum omega_i. NaN distances are no neighbours.
Rows are sorted by class: class c is the columns ``bounds[c] … bounds[c + 1]``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Listed = NDArray[np.int32]

TIE = 1e-12
"""Distances that differ by less than this fraction count as equal: sums are rounded."""

FAST = {"reassoc", "contract", "nsz"}


@njit(fastmath=FAST)
def row_moments(D: Floats, rows: Places, counts: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each row's distances, itself and NaN left out: sum, weight, mean, population deviation."""
    b, n = D.shape
    total, weight, mean, spread = np.empty(b), np.empty(b), np.empty(b), np.empty(b)
    for r in range(b):
        D[r, rows[r]] = np.nan
        s = 0.0
        c = 0.0
        for j in range(n):
            d = D[r, j]
            s += counts[j] * d if d == d else 0.0
            c += counts[j] if d == d else 0.0
        m = s / c if c > 0.0 else 0.0
        q = 0.0
        for j in range(n):
            d = D[r, j]
            q += counts[j] * (d - m) * (d - m) if d == d else 0.0
        total[r] = s
        weight[r] = c
        mean[r] = m
        spread[r] = np.sqrt(q / c) if c > 0.0 else 0.0
    return total, weight, mean, spread


@njit()
def class_factors(
    size: Floats,
    own: int,
    prior: Floats,
    signed: bool,
    omega: float,
    factor: Floats,
) -> None:
    """Factor of the weights in each class; 0 if a class has no usable neighbour."""
    usable = 0.0
    for c in range(size.shape[0]):
        if c != own and size[c] > 0.0:
            usable += prior[c]
    for c in range(size.shape[0]):
        if size[c] <= 0.0:
            factor[c] = 0.0
        elif not signed:
            factor[c] = omega / size[c]
        elif c == own:
            factor[c] = -omega / size[c]
        elif usable > 0.0:
            factor[c] = omega * prior[c] / usable / size[c]
        else:
            factor[c] = 0.0


@njit()
def nearest_weights(
    D: Floats,
    index: Listed,
    listed: bool,
    classes: Places,
    bounds: Places,
    counts: Floats,
    k: int,
    slots: int,
    kind: int,
    decay: float,
    by_index: bool,
    pooled: bool,
    signed: bool,
    prior: Floats,
    omega: Floats,
) -> None:
    """Weights of the k nearest of each class.

    k counts drawn copies, and may exceed the rows; at most `slots` rows are kept in
    order: k, or all if they are fewer.

    ``D[r]`` are distances to all instances, or if `listed` to the instances ``index[r]``; those of
    class c are in places ``bounds[r, c] … bounds[r, c + 1]``, and nothing follows the last class.

    kind 0: equal, 1: exp(-(rank / decay)^2), 2: 1 / distance. Ties at the k-th place share the
    remaining places, or with `by_index` are taken in row order. `pooled`: others are one class.
    `classes` are those of the targets, whose distance to themselves is NaN already.
    """
    n_classes = bounds.shape[1] - 1
    n_groups = prior.shape[0]
    # One more than needed, to detect ties of the k-th that were not kept.
    most = slots + 1
    best = np.empty((n_groups, most))
    units = np.empty((n_groups, most))
    place = np.empty((n_groups, most), np.int64)
    filled = np.empty(n_groups, np.int64)
    size = np.empty(n_groups)
    factor = np.empty(n_groups)
    near = np.empty(D.shape[1], np.int64)
    weight = np.empty(D.shape[1])
    group = np.empty(D.shape[1], np.int64)
    for r in range(D.shape[0]):
        mine = classes[r]
        own = 0 if pooled else mine
        row = D[r, : bounds[r, n_classes]]
        filled[:] = 0
        size[:] = 0.0
        for c in range(n_classes):
            g = (0 if c == mine else 1) if pooled else c
            m = filled[g]
            last = best[g, slots] if m == most else np.inf
            at = bounds[r, c]
            part = row[at : bounds[r, c + 1]]
            for e in range(part.shape[0]):
                d = part[e]
                if not (d < last):
                    continue
                q = m if m < most else slots
                while q > 0 and best[g, q - 1] > d:
                    best[g, q] = best[g, q - 1]
                    units[g, q] = units[g, q - 1]
                    place[g, q] = place[g, q - 1]
                    q -= 1
                best[g, q] = d
                units[g, q] = counts[index[r, at + e] if listed else at + e]
                place[g, q] = at + e
                m = min(m + 1, most)
                if m == most:
                    last = best[g, slots]
            filled[g] = m
        found = 0
        for g in range(n_groups):
            # The k-th place counts drawn copies; the places nearer than the edge are full.
            edge = -1.0
            seen = 0.0
            for q in range(filled[g]):
                seen += units[g, q]
                edge = best[g, q]
                if seen >= k:
                    break
            low = edge * (1.0 - TIE)
            high = edge * (1.0 + TIE)
            nearer = 0.0
            zero = 0.0
            for q in range(filled[g]):
                nearer += units[g, q] if best[g, q] < low else 0.0
                zero += units[g, q] if best[g, q] <= 0.0 else 0.0
            begin = found
            tied = 0.0
            kept = not by_index and (filled[g] < most or best[g, slots] > high)
            if kept:
                for q in range(filled[g]):
                    if best[g, q] <= high:
                        near[found] = place[g, q]
                        group[found] = g
                        found += 1
                        tied += units[g, q] if best[g, q] >= low else 0.0
            for c in range(n_classes):
                if kept or ((c != g) if not pooled else ((c == mine) != (g == 0))):
                    continue
                # the tied group is larger than the list: search the whole row
                at = bounds[r, c]
                part = row[at : bounds[r, c + 1]]
                for e in range(part.shape[0]):
                    if part[e] <= high:
                        near[found] = at + e
                        group[found] = g
                        found += 1
                        j = index[r, at + e] if listed else at + e
                        tied += counts[j] if part[e] >= low else 0.0
            left = k - nearer
            share = min(1.0, left / tied) if tied > 0.0 else 0.0
            for q in range(begin, found):
                j = near[q]
                d = row[j]
                w = 1.0 * counts[index[r, j] if listed else j]
                if d >= low:
                    if by_index:
                        w = min(w, left)
                        left -= w
                    else:
                        w *= share
                if kind == 1:
                    rank = 0.0
                    for e in range(filled[g]):
                        if best[g, e] >= d * (1.0 - TIE):
                            break
                        rank += units[g, e]
                    w *= np.exp(-((rank / decay) ** 2))
                elif kind == 2:
                    # The limit of 1 / d: neighbours at distance zero take all the weight.
                    if zero > 0.0:
                        w = w if d <= 0.0 else 0.0
                    else:
                        w /= d
                weight[q] = w
                size[g] += w
        class_factors(size, own, prior, signed, omega[r], factor)
        row[:] = 0.0
        for q in range(found):
            row[near[q]] = weight[q] * factor[group[q]]


@njit(fastmath=FAST)
def radius_weights(
    D: Floats,
    rows: Places,
    y: Places,
    bounds: Places,
    counts: Floats,
    near: Floats,
    far: Floats,
    star: bool,
    signed: bool,
    prior: Floats,
    omega: Floats,
) -> None:
    """Weights of all instances nearer than ``near[r]``, minus, for star, of those beyond
    ``far[r]``.

    Both bounds are strict; a distance equal to a bound is neither near nor far.
    """
    n_classes = prior.shape[0]
    inner = np.empty(n_classes)
    outer = np.empty(n_classes)
    inside = np.empty(n_classes)
    outside = np.empty(n_classes)
    for r in range(D.shape[0]):
        own = y[rows[r]]
        lo = near[r] - TIE * abs(near[r])
        hi = far[r] + TIE * abs(far[r]) if star else np.inf
        D[r, rows[r]] = np.nan
        for c in range(n_classes):
            d = D[r, bounds[c] : bounds[c + 1]]
            m = counts[bounds[c] : bounds[c + 1]]
            s = 0.0
            t = 0.0
            for j in range(d.shape[0]):
                s += m[j] if d[j] < lo else 0.0
                t += m[j] if d[j] > hi else 0.0
            inner[c] = s
            outer[c] = t
        class_factors(inner, own, prior, signed, omega[r], inside)
        class_factors(outer, own, prior, signed, omega[r], outside)
        for c in range(n_classes):
            d = D[r, bounds[c] : bounds[c + 1]]
            m = counts[bounds[c] : bounds[c + 1]]
            a = inside[c]
            b = outside[c]
            for j in range(d.shape[0]):
                d[j] = m[j] * ((a if d[j] < lo else 0.0) - (b if d[j] > hi else 0.0))
