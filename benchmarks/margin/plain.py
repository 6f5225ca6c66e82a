"""IMMIGRATE's iteration in plain array expressions, not optimised; the baseline."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp


def plain_fit(X, y, sigma, iterations, block_bytes=16 << 20):  # type: ignore[no-untyped-def]
    """W after some full element-wise steps from I/√A; rows in blocks of 16 MB of differences."""
    n, A = X.shape
    W = np.eye(A) / np.sqrt(A)
    same = y[:, None] == y[None]
    rows = max(1, block_bytes // (8 * n * A))
    for _ in range(iterations):
        S = np.zeros((A, A))
        for start in range(0, n, rows):
            own = np.arange(start, min(start + rows, n))
            D = np.abs(X[own, None] - X[None]).reshape(-1, A)
            z = -((D @ W) * D).sum(axis=1).reshape(len(own), n) / sigma
            hit = same[own].copy()
            hit[np.arange(len(own)), own] = False
            c = np.zeros_like(z)
            for members, sign in ((hit, 1.0), (~same[own], -1.0)):
                masked = np.where(members, z, -np.inf)
                c += sign * np.exp(masked - logsumexp(masked, axis=1, keepdims=True))
            S += (D * c.reshape(-1, 1)).T @ D
        W = np.maximum(-S, 0.0)
        W /= np.linalg.norm(W)
    return W
