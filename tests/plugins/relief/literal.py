"""The definitions of the family written out as loops: slow, and nothing else."""

from __future__ import annotations

import numpy as np


def diffs(X, discrete):
    """(n, n, p) differences, NaN where a value is missing."""
    n, p = X.shape
    out = np.empty((n, n, p))
    for a in range(p):
        x = X[:, a]
        known = x[~np.isnan(x)]
        if not known.size:
            out[:, :, a] = np.nan
            continue
        span = known.max() - known.min()
        d = np.abs(x[:, None] - x[None, :])
        if discrete[a]:
            out[:, :, a] = np.where(np.isnan(d), np.nan, (d > 0).astype(float))
        else:
            out[:, :, a] = d / span if span > 0 else np.where(np.isnan(d), np.nan, 0.0)
    return out


def distances(delta, same):
    """Mean over shared features times their number; NaN for a row's own copies."""
    p = delta.shape[2]
    known = ~np.isnan(delta)
    shared = known.sum(axis=2)
    with np.errstate(invalid="ignore"):
        D = np.where(known, delta, 0).sum(axis=2) / shared * p
    D[same] = np.nan
    return D


def near_weights(d, members, rule, T, k):
    """{instance: weight} near, and far, of one target among `members`."""
    members = [j for j in members if not np.isnan(d[j])]
    if not members:
        return {}, {}
    if rule == "nearest":
        order = sorted(members, key=lambda j: d[j])
        if len(order) <= k:
            return dict.fromkeys(order, 1.0), {}
        edge = d[order[k - 1]]
        tied = [j for j in members if abs(d[j] - edge) <= 1e-12 * edge]
        inner = [j for j in members if d[j] < edge and j not in tied]
        near = dict.fromkeys(inner, 1.0)
        near.update({j: (k - len(inner)) / len(tied) for j in tied})
        return near, {}
    if rule == "swrfstar":
        u = np.nanstd(d) / 4
        s = {
            j: 0.0 if u == 0 else 2 / (1 + np.exp(-(np.nanmean(d) - d[j]) / u)) - 1 for j in members
        }
        tiny = 1e-12 * np.nanmean(d)
        clear = [j for j in members if abs(np.nanmean(d) - d[j]) > tiny]
        near = {j: s[j] for j in clear if s[j] > 0}
        return near, {j: -s[j] for j in clear if s[j] < 0}
    if rule in ("surf", "surfstar"):
        low = high = T
    else:
        mean, sd = np.nanmean(d), np.nanstd(d)
        low, high = mean - sd / 2, mean + sd / 2
    near = {j: 1.0 for j in members if d[j] < low * (1 - 1e-12)}
    far = {j: 1.0 for j in members if d[j] > high * (1 + 1e-12)}
    return near, far if rule.endswith("star") else {}


def mean_diff(delta_i, weights, a):
    known = [j for j in weights if not np.isnan(delta_i[j, a])]
    total = sum(weights[j] for j in known)
    if not total:
        return None
    return sum(weights[j] * delta_i[j, a] for j in known) / total


def scores(X, y, discrete, rule, k=10, row=None, omega=None, pooled=False):
    """Scores in classification; rows with equal `row` are copies of one another."""
    n = len(X)
    row = np.arange(n) if row is None else row
    delta = diffs(X, discrete)
    D = distances(delta, row[:, None] == row[None, :])
    T = np.nanmean(D)

    def sides(i, members):
        members = [j for j in members if row[j] != row[i]]
        return near_weights(D[i], members, rule, T, k)

    return means(X, y, delta, sides, omega, pooled)


def means(X, y, delta, sides_of, omega=None, pooled=False):
    """Equation (3): `sides_of(i, members)` are the near and far weights of one class to target i.

    `pooled`: all other classes are one.
    """
    n, p = X.shape
    omega = np.ones(n) if omega is None else omega
    W = np.zeros(p)
    for i in range(n):
        label = (y == y[i]).astype(int) if pooled else y
        prior = np.bincount(label, minlength=2) / n
        own = label[i]
        sides = {
            c: sides_of(i, [j for j in range(n) if label[j] == c and j != i])
            for c in range(len(prior))
        }
        for a in range(p):
            if np.isnan(X[i, a]):
                continue
            for side, sign in ((0, 1.0), (1, -1.0)):
                hit = mean_diff(delta[i], sides[own][side], a)
                misses = {c: mean_diff(delta[i], sides[c][side], a) for c in sides if c != own}
                misses = {c: m for c, m in misses.items() if m is not None}
                part = -hit if hit is not None else 0.0
                if misses:
                    whole = sum(prior[c] for c in misses)
                    part += sum(prior[c] / whole * m for c, m in misses.items())
                W[a] += sign * omega[i] * part
    return W / omega.sum()


def regression_scores(X, y, discrete, k, decay=None):
    """RReliefF with rank weights exp(-(r / decay)^2), or equal ones; ties shared."""
    n, p = X.shape
    delta = diffs(X, discrete)
    D = distances(delta, np.eye(n, dtype=bool))
    dy = np.abs(y[:, None] - y[None, :]) / np.ptp(y)
    c, ca, a_sum, m = np.zeros(p), np.zeros(p), np.zeros(p), np.zeros(p)
    for i in range(n):
        near, _ = near_weights(D[i], [j for j in range(n) if j != i], "nearest", None, k)
        if decay is not None:
            for j in near:
                rank = sum(1 for q in near if D[i, q] < D[i, j] * (1 - 1e-12))
                near[j] *= np.exp(-((rank / decay) ** 2))
        for a in range(p):
            known = [j for j in near if not np.isnan(delta[i, j, a])]
            total = sum(near[j] for j in known)
            for j in known:
                w = near[j] / total / n
                c[a] += w * dy[i, j]
                ca[a] += w * dy[i, j] * delta[i, j, a]
                a_sum[a] += w * delta[i, j, a]
                m[a] += w
    return ca / c - (a_sum - ca) / (m - c)


def iterative_scores(X, y, discrete, least, rounds):
    """Iterative Relief, equations (5) to (8) of its page; no early stop."""
    p = X.shape[1]
    delta = diffs(X, discrete)
    known = ~np.isnan(delta)
    w, total = np.ones(p), np.zeros(p)
    for _ in range(rounds):
        with np.errstate(invalid="ignore"):
            D = p * (np.where(known, delta, 0) * w).sum(axis=2) / (known * w).sum(axis=2)
        np.fill_diagonal(D, np.nan)

        def ball(i, members, D=D):
            reach = []
            for of_class in (y == y[i], y != y[i]):
                near = np.sort(D[i, of_class])
                near = near[~np.isnan(near)]
                reach.append(near[min(least, len(near)) - 1] if len(near) else 0.0)
            r = max(reach) * (1 + 1e-9)
            weight = {
                j: (max(0.0, 1 - (D[i, j] / r) ** 2) if r > 0 else float(D[i, j] == 0))
                for j in members
                if not np.isnan(D[i, j])
            }
            return {j: v for j, v in weight.items() if v > 0}, {}

        total += means(X, y, delta, ball)
        positive = np.maximum(total, 0)
        if not positive.any():
            break
        w = p * positive / positive.sum()
    return total / rounds
