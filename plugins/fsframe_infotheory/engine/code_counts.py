"""Joint counts of features with many levels, of weighted samples, and with missing values left out.

Two methods: a dense table of counts if it is small relative to the samples, or a pass through
samples sorted by the partner's level, which needs no table and takes any number of levels.
"""

from __future__ import annotations

import numpy as np

from fsframe.kernels.compiled import njit

PAIRED_CELLS = 4096
"""Most cells of a joint table with which two features are counted at once: 32 kB for both."""


@njit()
def level_sums(codes, n_levels, starts, table, sums_j, sums_jy):
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
        sums_j[j], sums_jy[j] = class_terms(counts, n_levels[j], table)
        counts[: n_levels[j]] = 0


@njit()
def class_terms(counts, n_levels, table):
    """Σ table[count] over levels, and over levels and classes, of counts (levels, classes)."""
    of_j = 0.0
    of_jy = 0.0
    for level in range(n_levels):
        total = np.int64(0)
        for c in range(counts.shape[1]):
            of_jy += table[counts[level, c]]
            total += counts[level, c]
        of_j += table[total]
    return of_j, of_jy


@njit()
def sum_of(counts, size, table):
    """Σ table[count], in four interleaved sums, so that additions do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(0, size - size % 4, 4):
        at = np.uintp(k)
        a += table[np.uintp(counts[at])]
        b += table[np.uintp(counts[at + np.uintp(1)])]
        c += table[np.uintp(counts[at + np.uintp(2)])]
        d += table[np.uintp(counts[at + np.uintp(3)])]
    for k in range(size - size % 4, size):
        a += table[np.uintp(counts[np.uintp(k)])]
    return (a + b) + (c + d)


@njit()
def _pair_terms(counts, size, groups, table, both):
    """Σ table[count] over (feature, partner) and (feature, partner, class); `both` is scratch."""
    jsy = sum_of(counts, size, table)
    if groups == 1:
        return jsy, jsy
    for k in range(size // groups):
        total = np.int64(0)
        for c in range(groups):
            total += counts[k * groups + c]
        both[k] = total
    return sum_of(both, size // groups, table), jsy


@njit()
def dense_sums(codes, n_levels, cells, n_cells, group, table, start, stop, sums_js, sums_jsy):
    """Write Σ c·log₂c over (feature, partner) and (feature, partner, class) for whole counts.

    Parameters
    ----------
    codes : (m, n) unsigned integers
        Levels of the features, samples sorted by class.
    n_levels : (m,) int64
    cells : (n,) uint16 or int32
        Partner's level · `group` + class of each sample, below `n_cells`.
    n_cells, group : int
        `group` is the number of classes, or 1 for counts without classes.
    table : (n + 1,) float64
        c·log₂c.
    start, stop : int
        Features to count.
    sums_js, sums_jsy : (m,) float64
        Results; the second is undefined without classes.
    """
    n = cells.size
    most = np.int64(0)
    for j in range(start, stop):
        most = max(most, n_levels[j])
    # Two features share a pass over the partner if both their tables fit into the cache, so that
    # increments do not wait for each other. Unsigned indices avoid the test for negative ones.
    size = most * n_cells
    together = 2 if size <= PAIRED_CELLS else 1
    counts = np.empty(2 * size, np.int32)
    both = np.empty(size // group, np.int32)
    width, second = np.uintp(n_cells), np.uintp(size)
    for first in range(start, stop, together):
        counts[: together * size] = 0
        last = min(first + together, stop)
        row = codes[first]
        if last - first == 2:
            other = codes[first + 1]
            for i in range(n):
                at = np.uintp(i)
                cell = np.uintp(cells[at])
                counts[np.uintp(row[at]) * width + cell] += 1
                counts[second + np.uintp(other[at]) * width + cell] += 1
        else:
            for i in range(n):
                at = np.uintp(i)
                counts[np.uintp(row[at]) * width + np.uintp(cells[at])] += 1
        for j in range(first, last):
            found = counts[(j - first) * size :]
            used = n_levels[j] * n_cells
            sums_js[j], sums_jsy[j] = _pair_terms(found, used, group, table, both)


@njit()
def dense_cells(codes, features, cells_of, n_cells, starts, cells):
    """Add joint counts with one partner to those of earlier parts, sample by sample.

    Parameters
    ----------
    codes : (m, n) unsigned integers
        Levels of the features.
    features : (m,) int64
        Index of each in `starts`.
    cells_of : (n,) uint16 or int32
        As `cells` in `dense_sums`, below `n_cells`.
    starts, cells
        As in `joint_counts.joint_cells`.
    """
    width = np.uintp(n_cells)
    for k in range(features.size):
        row = codes[k]
        found = cells[starts[features[k]] :]
        for i in range(cells_of.size):
            at = np.uintp(i)
            found[np.uintp(row[at]) * width + np.uintp(cells_of[at])] += 1


@njit()
def cell_sums(cells, starts, n_levels, partner_levels, groups, table, sums_js, sums_jsy):
    """Write Σ c·log₂c over (feature, partner) and (feature, partner, class) of whole counts.

    Parameters
    ----------
    cells, starts, n_levels
        As in `joint_counts.joint_cells`.
    partner_levels, groups : int
        `groups` is 1 for counts without classes.
    table : (n + 1,) float64
    sums_js, sums_jsy : (n_features,) float64
        Results; equal for one group.
    """
    for j in range(starts.size):
        size = n_levels[j] * partner_levels * groups
        found = cells[starts[j] : starts[j] + size]
        both = np.empty(size // groups if groups > 1 else 0, np.int64)
        sums_js[j], sums_jsy[j] = _pair_terms(found, size, groups, table, both)


@njit()
def weighted_dense_sums(
    codes, n_levels, cells, n_cells, group, weights, sums_js, sums_jsy, start, stop
):
    """`dense_sums` where samples have weights, (n,) float64; one table per feature."""
    most = np.int64(0)
    for j in range(start, stop):
        most = max(most, n_levels[j])
    masses = np.empty(most * n_cells)
    width = np.uintp(n_cells)
    for j in range(start, stop):
        row = codes[j]
        used = n_levels[j] * n_cells
        masses[:used] = 0.0
        for i in range(cells.size):
            at = np.uintp(i)
            masses[np.uintp(row[at]) * width + np.uintp(cells[at])] += weights[at]
        js = 0.0
        jsy = 0.0
        for k in range(0, used, group):
            both = 0.0
            for c in range(group):
                mass = masses[k + c]
                if mass > 0.0:
                    jsy += mass * np.log2(mass)
                    both += mass
            if both > 0.0:
                js += both * np.log2(both)
        sums_js[j] = js
        sums_jsy[j] = jsy


@njit()
def _clogc(c, table):
    if table.size > 1:
        return table[np.uintp(c)]
    # 1e-300: the rest of a sum of weights after subtracting them one by one is zero.
    return c * np.log2(c) if c > 1e-300 else 0.0


@njit()
def grouped_sums(
    codes,
    n_levels,
    dropped,
    order,
    group_starts,
    labels,
    n_classes,
    weights,
    table,
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
    table : (n + 1,) float64
        c·log₂c where weights are whole counts; of length 1 where they are not.
    start, stop : int
        Features to count.
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
                        jsy += _clogc(w, table)
                        of_js[a] += w
                        of_jy[a * n_classes + c] += w
                        of_jsy[a] = 0.0
                sy += _clogc(in_class, table)
                of_y[c] += in_class
                in_group += in_class
            for k in range(group_starts[g], stop_group):
                a = np.int64(codes[j, order[k]])
                w = of_js[a]
                if a != drop and w != 0.0:
                    js += _clogc(w, table)
                    of_j[a] += w
                    of_js[a] = 0.0
            s += _clogc(in_group, table)
            total += in_group
        of_feature = 0.0
        with_class = 0.0
        for level in range(levels):
            of_feature += _clogc(of_j[level], table)
            for c in range(n_classes):
                with_class += _clogc(of_jy[level * n_classes + c], table)
        of_class = 0.0
        for c in range(n_classes):
            of_class += _clogc(of_y[c], table)
        sums[0, j] = total
        sums[1, j] = of_feature
        sums[2, j] = with_class
        sums[3, j] = s
        sums[4, j] = sy
        sums[5, j] = of_class
        sums[6, j] = js
        sums[7, j] = jsy
