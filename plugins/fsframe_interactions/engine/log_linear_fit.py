"""The model without the three-way term: expected counts, deviance, degrees of freedom."""

from __future__ import annotations

import numpy as np

from fsframe.kernels.compiled import njit

__all__ = ["deviance", "fit", "freedom", "kirkwood"]


@njit()
def kirkwood(table, of_ij, of_ik, of_jk, expected):
    """Margins of `table` (levels, levels, classes) and the normalised Kirkwood superposition.

    p_ij p_ik p_jk / (p_i p_j p_k), over its sum η: a member of the model without the three-way
    term, and the start of iterative proportional fitting.
    """
    levels_a, levels_b, classes = table.shape
    of_ij[:] = 0.0
    of_ik[:] = 0.0
    of_jk[:] = 0.0
    total = 0.0
    for i in range(levels_a):
        for j in range(levels_b):
            for k in range(classes):
                count = table[i, j, k]
                of_ij[i, j] += count
                of_ik[i, k] += count
                of_jk[j, k] += count
                total += count
    norm = 0.0
    for i in range(levels_a):
        of_i = 0.0
        for j in range(levels_b):
            of_i += of_ij[i, j]
        for j in range(levels_b):
            of_j = 0.0
            for k in range(classes):
                of_j += of_jk[j, k]
            for k in range(classes):
                value = 0.0
                if of_ij[i, j] > 0.0 and of_ik[i, k] > 0.0 and of_jk[j, k] > 0.0:
                    of_k = 0.0
                    for row in range(levels_a):
                        of_k += of_ik[row, k]
                    value = of_ij[i, j] / of_i * of_ik[i, k] / of_j * of_jk[j, k] / of_k
                expected[i, j, k] = value
                norm += value
    if norm > 0.0:
        for i in range(levels_a):
            for j in range(levels_b):
                for k in range(classes):
                    expected[i, j, k] *= total / norm
    return total


@njit()
def fit(of_ij, of_ik, of_jk, expected, tolerance, most):
    """Scale `expected` to the three margins in turn until none is off by more than `tolerance`.

    Every step stays within the model, where the deviance is flat at the fit: its error is of the
    order of the squared error of the margins. Tables whose fit has empty cells
    beyond those of empty margins converge slowly; `most` rounds end them.
    """
    levels_a, levels_b, classes = expected.shape
    for _ in range(most):
        worst = 0.0
        for i in range(levels_a):
            for j in range(levels_b):
                have = 0.0
                for k in range(classes):
                    have += expected[i, j, k]
                if have > 0.0:
                    ratio = of_ij[i, j] / have
                    for k in range(classes):
                        expected[i, j, k] *= ratio
        for i in range(levels_a):
            for k in range(classes):
                have = 0.0
                for j in range(levels_b):
                    have += expected[i, j, k]
                if have > 0.0:
                    ratio = of_ik[i, k] / have
                    worst = max(worst, abs(ratio - 1.0))
                    for j in range(levels_b):
                        expected[i, j, k] *= ratio
        for j in range(levels_b):
            for k in range(classes):
                have = 0.0
                for i in range(levels_a):
                    have += expected[i, j, k]
                if have > 0.0:
                    ratio = of_jk[j, k] / have
                    worst = max(worst, abs(ratio - 1.0))
                    for i in range(levels_a):
                        expected[i, j, k] *= ratio
        if worst <= tolerance:
            return


@njit()
def deviance(table, expected):
    """G² = 2 Σ n log(n / expected), over cells with n > 0."""
    total = 0.0
    levels_a, levels_b, classes = table.shape
    for i in range(levels_a):
        for j in range(levels_b):
            for k in range(classes):
                count = table[i, j, k]
                if count > 0.0:
                    total += count * np.log(count / max(expected[i, j, k], 1e-300))
    return max(0.0, 2.0 * total)


@njit()
def _positive(margin):
    for i in range(margin.shape[0]):
        for j in range(margin.shape[1]):
            if not margin[i, j] > 0.0:
                return False
    return True


@njit()
def freedom(of_ij, of_ik, of_jk):
    """Degrees of freedom of the deviance: cells the model can fill less its parameters there.

    Without empty margins (A − 1)(B − 1)(K − 1). A cell is empty under the model where its pair of
    levels never occurs, or one of them never in the class. In what is left each pair of levels with
    c classes gives c − 1 log odds, less the rank of the main effects' log odds over them.
    """
    levels_a, levels_b = of_ij.shape
    classes = of_ik.shape[1]
    if _positive(of_ij) and _positive(of_ik) and _positive(of_jk):
        return (levels_a - 1) * (levels_b - 1) * (classes - 1)
    unknown = (levels_a + levels_b) * classes
    pivots = np.zeros((unknown, unknown))
    used = np.zeros(unknown, np.bool_)
    row = np.empty(unknown)
    rest = 0
    for i in range(levels_a):
        for j in range(levels_b):
            if of_ij[i, j] <= 0.0:
                continue
            first = -1
            for k in range(classes):
                if of_ik[i, k] <= 0.0 or of_jk[j, k] <= 0.0:
                    continue
                if first < 0:
                    first = k
                    continue
                row[:] = 0.0
                row[i * classes + k] = 1.0
                row[i * classes + first] = -1.0
                row[(levels_a + j) * classes + k] = 1.0
                row[(levels_a + j) * classes + first] = -1.0
                free = True
                for place in range(unknown):
                    if abs(row[place]) < 1e-9:
                        continue
                    # Loops, because array assignments take seconds to compile.
                    own = row[place]
                    if used[place]:
                        for other in range(unknown):
                            row[other] -= own * pivots[place, other]
                    else:
                        for other in range(unknown):
                            pivots[place, other] = row[other] / own
                        used[place] = True
                        free = False
                        break
                if free:
                    rest += 1
    return rest
