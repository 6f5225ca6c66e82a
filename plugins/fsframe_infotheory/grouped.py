"""Joint counts of features with many levels, of weighted samples, and with missing values left out.

Two ways: a dense table of counts where it is small beside the samples, and a walk through samples
sorted by the partner's level, which needs no table at all and so takes any number of levels.
"""

from __future__ import annotations

import numpy as np

from fsframe.compiled import njit

__all__ = ["dense_sums", "grouped_sums", "level_sums"]


@njit()
def level_sums(codes, n_levels, starts, table, sums_j, sums_jy):  # type: ignore[no-untyped-def]
    """Write Σ c·log₂c over the levels, and over levels and classes, of features listed as codes.

    Whole counts only; parameters as in `dense_sums`.
    """
    n_classes = starts.size - 1
    most = 0
    for j in range(n_levels.size):
        most = max(most, n_levels[j])
    counts = np.zeros((most, n_classes), np.int64)
    for j in range(n_levels.size):
        for c in range(n_classes):
            for i in range(starts[c], starts[c + 1]):
                counts[codes[j, i], c] += 1
        of_j = 0.0
        of_jy = 0.0
        for level in range(n_levels[j]):
            total = np.int64(0)
            for c in range(n_classes):
                of_jy += table[counts[level, c]]
                total += counts[level, c]
                counts[level, c] = 0
            of_j += table[total]
        sums_j[j] = of_j
        sums_jy[j] = of_jy


@njit()
def dense_sums(  # type: ignore[no-untyped-def]
    codes, n_levels, partner, partner_levels, starts, table, start, stop, sums_js, sums_jsy
):
    """Write Σ c·log₂c over (feature, partner) and (feature, partner, class) for whole counts.

    Parameters
    ----------
    codes : (m, n) unsigned integers
        Levels of the features, samples sorted by class.
    n_levels : (m,) int64
    partner : (n,) int64
        Levels of the partner, below `partner_levels`.
    starts : (n_classes + 1,) int64
        First sample of each class.
    table : (n + 1,) float64
        c·log₂c.
    start, stop : int
        Features to do.
    sums_js, sums_jsy : (m,) float64
        Results.
    """
    n_classes = starts.size - 1
    most = 0
    for j in range(start, stop):
        most = max(most, n_levels[j])
    # Two tables take turns, so that neighbouring samples in one cell need not wait for each other.
    even = np.zeros(most * partner_levels * n_classes, np.int32)
    odd = np.zeros(most * partner_levels * n_classes, np.int32)
    for j in range(start, stop):
        size = n_levels[j] * partner_levels * n_classes
        even[:size] = 0
        odd[:size] = 0
        for c in range(n_classes):
            i = starts[c]
            while i + 1 < starts[c + 1]:
                even[(np.int64(codes[j, i]) * partner_levels + partner[i]) * n_classes + c] += 1
                k = i + 1
                odd[(np.int64(codes[j, k]) * partner_levels + partner[k]) * n_classes + c] += 1
                i += 2
            if i < starts[c + 1]:
                even[(np.int64(codes[j, i]) * partner_levels + partner[i]) * n_classes + c] += 1
        js = 0.0
        jsy = 0.0
        for cell in range(n_levels[j] * partner_levels):
            both = 0
            for c in range(n_classes):
                count = even[cell * n_classes + c] + odd[cell * n_classes + c]
                both += count
                jsy += table[count]
            js += table[both]
        sums_js[j] = js
        sums_jsy[j] = jsy


@njit()
def _clogc(c):  # type: ignore[no-untyped-def]
    # 1e-300: what is left of a sum of weights taken back one by one is zero, not its rounding.
    return c * np.log2(c) if c > 1e-300 else 0.0


@njit()
def grouped_sums(  # type: ignore[no-untyped-def]
    codes,
    n_levels,
    dropped,
    order,
    group_starts,
    labels,
    n_classes,
    weights,
    start,
    stop,
    sums,
):
    """Write all sums Σ c·log₂c of (feature, partner, class), weighted, missing values left out.

    Parameters
    ----------
    codes : (m, n) unsigned integers
        Levels of the features.
    n_levels : (m,) int64
    dropped : (m,) int64
        Level that leaves a sample out of the counts with this feature; −1 for none.
    order : (n,) int64
        Samples sorted by the partner's level, then by class; those without the partner left out.
    group_starts : (n_groups + 1,) int64
        Where in `order` each level of the partner begins.
    labels : (n,) int64
        Class of each sample.
    weights : (n,) float64
    start, stop : int
        Features to do.
    sums : (8, m) float64
        Results: total weight, then Σ c·log₂c over j, jy, s, sy, y, js, jsy.

    Notes
    -----
    O(n + levels) per feature; every cell's weight is summed in the order of `order`.
    """
    most = 0
    for j in range(start, stop):
        most = max(most, n_levels[j])
    of_j = np.zeros(most)
    of_jy = np.zeros(most * n_classes)
    of_js = np.zeros(most)
    of_jsy = np.zeros(most)
    of_y = np.zeros(n_classes)
    for j in range(start, stop):
        levels = n_levels[j]
        drop = dropped[j]
        of_j[:levels] = 0.0
        of_jy[: levels * n_classes] = 0.0
        of_y[:] = 0.0
        total = 0.0
        s = 0.0
        sy = 0.0
        js = 0.0
        jsy = 0.0
        for g in range(group_starts.size - 1):
            stop_group = group_starts[g + 1]
            in_group = 0.0
            i = group_starts[g]
            while i < stop_group:
                c = labels[order[i]]
                first = i
                in_class = 0.0
                while i < stop_group and labels[order[i]] == c:
                    a = np.int64(codes[j, order[i]])
                    if a != drop:
                        w = weights[order[i]]
                        of_jsy[a] += w
                        in_class += w
                    i += 1
                for k in range(first, i):
                    a = np.int64(codes[j, order[k]])
                    w = of_jsy[a]
                    if a != drop and w != 0.0:
                        jsy += _clogc(w)
                        of_js[a] += w
                        of_jy[a * n_classes + c] += w
                        of_jsy[a] = 0.0
                sy += _clogc(in_class)
                of_y[c] += in_class
                in_group += in_class
            for k in range(group_starts[g], stop_group):
                a = np.int64(codes[j, order[k]])
                w = of_js[a]
                if a != drop and w != 0.0:
                    js += _clogc(w)
                    of_j[a] += w
                    of_js[a] = 0.0
            s += _clogc(in_group)
            total += in_group
        of_feature = 0.0
        with_class = 0.0
        for a in range(levels):
            of_feature += _clogc(of_j[a])
            for c in range(n_classes):
                with_class += _clogc(of_jy[a * n_classes + c])
        of_class = 0.0
        for c in range(n_classes):
            of_class += _clogc(of_y[c])
        sums[0, j] = total
        sums[1, j] = of_feature
        sums[2, j] = with_class
        sums[3, j] = s
        sums[4, j] = sy
        sums[5, j] = of_class
        sums[6, j] = js
        sums[7, j] = jsy
