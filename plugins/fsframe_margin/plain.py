"""The methods as published, in plain arrays: reference for tests of the compiled engine.

Rows are (n, A); D[i, j] = |x_i − x_j|; a row's hits are the other rows of its class, its misses the
rows of other classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import entr, logsumexp, softmax

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


def coefficients(
    q: Floats, y: Labels, sigma: float, outer: Any = 1.0, count: Any = 1.0
) -> tuple[float, Floats]:
    """The cost G of eq. 3.5 after step 1 (eq. 3.6) at distances q, and c with ∂G/∂q = c, (n, n).

    G = σ Σ_n o_n [log Σ_misses c_m e^{−q/σ} − log Σ_hits c_h e^{−q/σ}]; a row without a hit has no
    margin. With e^{−q/σ} over its sum, c is o·α for hits and −o·β for misses.
    """
    same = np.equal.outer(y, y)
    hits = same & ~np.eye(len(y), dtype=bool)
    live = np.where(hits.any(axis=1), outer, 0.0)
    cost, c = 0.0, np.zeros_like(q)
    for members, sign in ((hits, 1.0), (~same, -1.0)):
        z = np.where(members, np.log(count) - q / sigma, -np.inf)
        total = np.where(live > 0, logsumexp(z, axis=1), 0.0)
        cost -= sign * sigma * float(live @ total)
        c += sign * live[:, None] * np.exp(np.where(live[:, None] > 0, z - total[:, None], 0.0))
    return cost, c


def immigrate_cost(
    X: Floats, y: Labels, W: Floats, sigma: float, outer: Any = 1.0, count: Any = 1.0
) -> tuple[float, Floats]:
    """IMMIGRATE's cost at W (eq. 3.5), q = |x_i − x_j|ᵀ W |x_i − x_j|, and Σ of Theorem 3.1."""
    D = np.abs(X[:, None] - X[None])
    cost, c = coefficients(np.einsum("ija,ab,ijb->ij", D, W, D), y, sigma, outer, count)
    return cost, np.einsum("ij,ija,ijb->ab", c, D, D)


def cost_with_entropies(X: Floats, y: Labels, W: Floats, sigma: float) -> float:
    """Eq. 3.5 term by term, with α and β of eq. 3.6; equal to the one sum of `immigrate_cost`.

    Σ_n [Σ_h α q − Σ_m β q] + σ Σ_n [E_n(β) − E_n(α)] with E(p) = −Σ p log p. As α ∝ e^{−q/σ},
    Σ α q − σ E(α) = −σ log Σ_h e^{−q/σ}, so the reduced form has no entropies.
    """
    D = np.abs(X[:, None] - X[None])
    q, cost = np.einsum("ija,ab,ijb->ij", D, W, D), 0.0
    for n, label in enumerate(y):
        hits = (y == label) & (np.arange(len(y)) != n)
        if hits.any():
            alpha, beta = softmax(-q[n, hits] / sigma), softmax(-q[n, y != label] / sigma)
            cost += alpha @ q[n, hits] - beta @ q[n, y != label]
            cost += sigma * (entr(beta).sum() - entr(alpha).sum())
    return float(cost)


def immigrate(
    X: Floats, y: Labels, sigma: float, updates: int, start: Any = None, outer: Any = 1.0
) -> Floats:
    """W after some whole steps of Algorithm 2 from I/√A, step 2 with W ≥ 0 as below eq. 3.5."""
    W = np.eye(X.shape[1]) / np.sqrt(X.shape[1]) if start is None else start
    for _ in range(updates):
        gain = np.maximum(-immigrate_cost(X, y, W, sigma, outer)[1], 0.0)
        if not gain.any():
            break  # no weight lowers the cost
        W = gain / np.linalg.norm(gain)
    return W


def predicted(X: Floats, y: Labels, W: Floats, sigma: float, rows: Floats | None = None) -> Labels:
    """argmin_c Σ_{y_n = c} α_n^c q(x′, x_n), eq. 3.18; by default for each x_n, itself left out."""
    D = np.abs((X if rows is None else rows)[:, None] - X[None])
    q = np.einsum("ija,ab,ijb->ij", D, W, D)
    z = -q / sigma
    if rows is None:
        np.fill_diagonal(z, -np.inf)
    expected = [
        (softmax(np.where(y == c, z, -np.inf), axis=1) * q).sum(axis=1) for c in range(y.max() + 1)
    ]
    return np.argmin(expected, axis=0)


def bim(
    X: Floats, y: Labels, sigmas: Iterable[float], updates: int
) -> list[tuple[float, float, Floats]]:
    """α_t, σ_t and W_t of the rounds that count (Algorithm 3, eq. 3.19), each from I/√A.

    With more than two classes SAMME's votes, halved as the paper's are.
    """
    D, C, rounds = np.full(len(y), 1.0 / len(y)), int(y.max()) + 1, []
    for sigma in sigmas:
        W = immigrate(X, y, sigma, updates, outer=D * len(y))
        wrong = predicted(X, y, W, sigma) != y
        error = D[wrong].sum()
        if 0.0 < error < 1.0 - 1.0 / C:
            alpha = 0.5 * (np.log((1.0 - error) / error) + np.log(C - 1.0))
            rounds.append((alpha, sigma, W))
            D = D * np.exp(alpha * wrong)
            D = D / D.sum()
    return rounds


def bim_vote(
    X: Floats, y: Labels, rounds: list[tuple[float, float, Floats]], rows: Floats
) -> Labels:
    """argmax_c Σ_t α_t [h_t(x′) = c], the end of Algorithm 3."""
    votes = np.zeros((len(rows), y.max() + 1))
    for alpha, sigma, W in rounds:
        votes[np.arange(len(rows)), predicted(X, y, W, sigma, rows)] += alpha
    return np.argmax(votes, axis=1)


def im4e(X: Floats, y: Labels, sigma: float, updates: int, penalty: float | None = None) -> Floats:
    """w after some updates w = v⁺/‖v⁺‖₁ (IM4E, Algorithm 1, eq. 5, 6, 9) from equal weights.

    With a penalty λ the minimiser of eq. 3 on the simplex instead: (v/2λ − τ)⁺ of sum one.
    """
    D = np.abs(X[:, None] - X[None])
    w = np.full(X.shape[1], 1.0 / X.shape[1])
    for _ in range(updates):
        v = -np.einsum("ij,ija->a", coefficients(D @ w, y, sigma)[1], D)
        if penalty is None:
            w = np.maximum(v, 0.0) / np.maximum(v, 0.0).sum()
        else:
            v = v / (2.0 * penalty)
            tau = brentq(lambda t: np.maximum(v - t, 0.0).sum() - 1.0, v.min() - 1.0, v.max())  # noqa: B023
            w = np.maximum(v - tau, 0.0)
    return w


def margins_of_rows(X: Floats, y: Labels, w: Floats, sigma: float) -> tuple[Floats, Floats, Floats]:
    """Expected margin of each row, and entropies of its hits and of its misses (IM4E, §2)."""
    q = (np.abs(X[:, None] - X[None]) * w).sum(axis=2)
    c = coefficients(q, y, sigma)[1]
    hit, miss = np.maximum(c, 0.0), np.maximum(-c, 0.0)
    return -(c * q).sum(axis=1), entr(hit).sum(axis=1), entr(miss).sum(axis=1)


def irelief(X: Floats, y: Labels, sigma: float, updates: int) -> Floats:
    """w after some updates w = ν⁺/‖ν⁺‖₂ (I-RELIEF) from equal weights, rows weighted by γ.

    γ_n = Σ_hits f / Σ_all f is the probability that row n is no outlier, f(d) = e^{−d/σ}.
    """
    D = np.abs(X[:, None] - X[None])
    w = np.full(X.shape[1], 1.0 / np.sqrt(X.shape[1]))
    for _ in range(updates):
        f = np.exp(-(D @ w) / sigma)
        np.fill_diagonal(f, 0.0)
        inlier = (f * np.equal.outer(y, y)).sum(axis=1) / f.sum(axis=1)
        nu = -np.einsum("ij,ija->a", coefficients(D @ w, y, sigma, inlier)[1], D)
        w = np.maximum(nu, 0.0) / np.linalg.norm(np.maximum(nu, 0.0))
    return w


def nearest(X: Floats, y: Labels, n: int, w: Any = 1.0) -> tuple[Floats, Floats]:
    """The nearest hit and the nearest miss of row n under ‖z‖_w² = Σ w² z²."""
    d = ((X - X[n]) ** 2 * np.square(w)).sum(axis=1)
    hits, misses = np.where(y == y[n], d, np.inf), np.where(y == y[n], np.inf, d)
    hits[n] = np.inf
    return X[np.argmin(hits)], X[np.argmin(misses)]


def simba(X: Floats, y: Labels, order: Iterable[int], importance: Any = 1.0) -> Floats:
    """w before the final squaring after visits of the rows in `order` (Simba, Algorithm 2)."""
    w, steps = np.ones(X.shape[1]), np.broadcast_to(importance, len(y))
    for n in order:
        hit, miss = nearest(X, y, n, w)
        parts = []
        for z in (X[n] - miss, X[n] - hit):
            size = np.sqrt((w**2 * z**2).sum())
            parts.append(z**2 / size if size > 0 else np.zeros_like(z))
        w = w + steps[n] * 0.5 * (parts[0] - parts[1]) * w
    return w


def mbiw(X: Floats, y: Labels) -> Floats:
    """ω of eq. 2 of Prat and Belanche: one over the mean distance between margin profiles."""
    profiles = []
    for n in range(len(y)):
        hit, miss = nearest(X, y, n)
        profiles.append(np.abs(X[n] - miss) - np.abs(X[n] - hit))
    P = np.array(profiles)
    omega = 1.0 / np.sqrt(((P[:, None] - P[None]) ** 2).sum(axis=2)).sum(axis=1)
    return omega / omega.sum()


def simba_mbiw(X: Floats, y: Labels) -> Floats:
    """w of SimbaMBIW (Prat and Belanche, Algorithm 1): rows by falling ω, steps ω, w²/‖w²‖_∞."""
    omega = mbiw(X, y)
    squares = simba(X, y, np.argsort(-omega, kind="stable"), omega) ** 2
    return squares / squares.max()


def weighted_knn(X: Floats, y: Labels, rows: Floats, k: int, w: Floats, omega: Floats) -> Labels:
    """Each row's class by the votes ω of its k nearest under ‖·‖_w (their Algorithm 2)."""
    classes = []
    for row in rows:
        first = np.argsort(((X - row) ** 2 * w**2).sum(axis=1), kind="stable")[:k]
        classes.append(np.bincount(y[first], weights=omega[first], minlength=y.max() + 1).argmax())
    return np.array(classes)


def lfe(X: Floats, y: Labels) -> Floats:
    """W of LFE: the positive part of Σ_n (m mᵀ − h hᵀ) of signed differences, norm one."""
    scatter = np.zeros((X.shape[1],) * 2)
    for n in range(len(y)):
        hit, miss = nearest(X, y, n)
        scatter += np.outer(X[n] - miss, X[n] - miss) - np.outer(X[n] - hit, X[n] - hit)
    values, vectors = np.linalg.eigh(scatter)
    W = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return W / np.linalg.norm(W)


def evaluation(
    X: Floats, y: Labels, features: Iterable[int], utility: Callable[[Floats], Floats]
) -> float:
    """e(F) of G-flip's Definition 2: the sum of the utilities of all margins in the columns F."""
    columns = sorted(features)
    d = np.sqrt(((X[:, None, columns] - X[None, :, columns]) ** 2).sum(axis=2))
    np.fill_diagonal(d, np.inf)
    same = np.equal.outer(y, y)
    theta = (np.where(same, np.inf, d).min(axis=1) - np.where(same, d, np.inf).min(axis=1)) / 2
    return float(utility(theta).sum())


def gflip(
    X: Floats,
    y: Labels,
    orders: Iterable[Iterable[int]],
    utility: Callable[[Floats], Floats] = lambda theta: theta,
) -> set[int]:
    """F of G-flip's Algorithm 1: passes over the features, each in an order of its own."""
    F: set[int] = set()
    for order in orders:
        before = F
        for feature in order:
            e1 = evaluation(X, y, F | {feature}, utility)
            e2 = evaluation(X, y, F - {feature}, utility)
            if e1 > e2 + 1e-9:
                F = F | {feature}
            elif e2 > e1 + 1e-9:
                F = F - {feature}
        if before == F:
            break
    return F


def expected_margins(X: Floats, y: Labels, w: Floats, sigma: float) -> Floats:
    """z̄_n = E|x_n − miss| − E|x_n − hit| under e^{−wᵀ|·|/σ} (LOGO, eq. 5–7), (n, A)."""
    D = np.abs(X[:, None] - X[None])
    return -np.einsum("ij,ija->ia", coefficients(D @ w, y, sigma)[1], D)


def logo(X: Floats, y: Labels, sigma: float, penalty: float, iterations: int) -> Floats:
    """w of LOGO: margins at w, then argmin over w ≥ 0 of Σ log(1 + e^{−wᵀz}) + λ Σ w, repeated.

    The minimum by many small projected steps.
    """
    w = np.ones(X.shape[1])
    for _ in range(iterations):
        z = expected_margins(X, y, w, sigma)
        step = 4.0 / np.linalg.norm(z, 2) ** 2  # one over the largest curvature
        for _ in range(20_000):
            gradient = penalty - z.T @ (1.0 / (1.0 + np.exp(z @ w)))
            before, w = w, np.maximum(w - step * gradient, 0.0)
            if np.abs(w - before).max() < 1e-13:
                break
    return w
