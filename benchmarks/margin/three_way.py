"""IMMIGRATE with triples of columns for pairs: does it find interactions of three, and only them?

    python benchmarks/margin/three_way.py [--columns 10 20] [--tables 20] [--minutes N]

d(x, y) = Σ W_abc |x_a − y_a| |x_b − y_b| |x_c − y_c| with W symmetric, W ≥ 0, ‖W‖_F = 1; cost,
probabilities of hits and misses, step 2, line search and prediction (eq. 3.18) are IMMIGRATE's.
The start is W_aaa = 1/√A. For the accuracy σ is chosen of `SIGMAS`, by learning on one half of the
training rows and predicting the other; triples are read from the W of σ = 64, where all rows are
neighbours. Each table has 200 training rows and 200 others; only its first three columns matter:

parity           the class is the sign of the product of three normal columns
binary-parity    the same of columns of −1 and 1
sums             the class is 1 with probability ½ + (s_1 + s_2 + s_3)/6, s the signs of three
                 normal columns: no interaction at all
threshold        the class is the sign of the sum of three normal columns
permuted         the classes of `parity` in another order
binary-permuted  the same of `binary-parity`

The share of a triple a < b < c is 6 W_abc², its part of ‖W‖²; that of a table is the largest. It is
*called* if it is above that of every table with permuted classes. *Beyond its parts*: W_abc is
above the W of all triples that repeat some of a, b and c. *Screen* is the simplest rival, the
triple whose product of standardised columns correlates most with the class, called if it does more
than in every table with permuted classes. Prediction is measured on the first tables of each case
(--predicted), not with permuted classes.

Tables that are measured already (`three_way_tables.csv`) are not measured again.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

import fsframe
from fsframe.chains.chain import Chain

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

HERE = Path(__file__).parent
SIGMAS = (64.0, 16.0, 4.0, 1.0)
WIDE = 64.0
TRUE = (0, 1, 2)
TRAINED, HELD_OUT = 200, 200
BLOCK, KEPT = 2048, 1 << 27
"""Pairs of rows in a block; bytes of products that are kept from one pass to the next."""
CHAINS = {
    "two-way": "immigrate:sigma=cv,top=1.0 margin",
    "relieff": "relieff:top=3 knn:k=5,ties=index",
}


class Products:
    """Blocks of D, (m, A), each with its products D_b D_c, b ≤ c; kept if they are few."""

    def __init__(self, D: Floats) -> None:
        self.D, self.size = D, D.shape[1]
        self.pairs = np.triu_indices(self.size)
        small = D.nbytes * self.pairs[0].size // self.size <= KEPT
        self.kept = list(self._blocks()) if small else None

    def _blocks(self) -> Iterator[tuple[Floats, Floats]]:
        for at in range(0, len(self.D), BLOCK):
            part = self.D[at : at + BLOCK]
            yield part, part[:, self.pairs[0]] * part[:, self.pairs[1]]

    def __iter__(self) -> Iterator[tuple[Floats, Floats]]:
        return iter(self._blocks() if self.kept is None else self.kept)


def cubes(D: Products, W: Floats) -> Floats:
    """Σ_abc W_abc D_a D_b D_c for each row of D."""
    b, c = D.pairs
    M = W[:, b, c] * np.where(b < c, 2.0, 1.0)
    return np.concatenate([(products @ M.T * part).sum(axis=1) for part, products in D])


def moments(D: Products, weights: Floats) -> Floats:
    """Σ over the rows of D of weight D_a D_b D_c, (A, A, A)."""
    b, c = D.pairs
    half, at = np.zeros((D.size, b.size)), 0
    for part, products in D:
        half += (part * weights[at : at + len(part), None]).T @ products
        at += len(part)
    whole = np.empty((D.size,) * 3)
    whole[:, b, c] = whole[:, c, b] = half
    return whole


def coefficients(q: Floats, hits: NDArray[np.bool_], sigma: float) -> tuple[float, Floats]:
    """G and ∂G/∂q as `fsframe_margin.plain.coefficients` has them, without its logarithms of sums.

    Rows that are no hits are misses, but for the row itself.
    """
    cost, c = 0.0, np.zeros_like(q)
    for members, sign in ((hits, 1.0), (~hits & ~np.eye(len(q), dtype=bool), -1.0)):
        z = np.where(members, q, np.inf)
        low = z.min(axis=1, keepdims=True)
        e = np.exp((low - z) / sigma)
        total = e.sum(axis=1, keepdims=True)
        cost -= sign * float((sigma * np.log(total) - low).sum())
        c += sign * e / total
    return cost, c


def three_way(
    X: Floats, y: Labels, sigma: float, updates: int = 20, change: float = 1e-4
) -> Floats:
    """W of the three-way form, by whole or halved steps that lower the cost.

    Parameters
    ----------
    X, y : array
        Rows (n, A) and their classes.
    sigma : float
    updates : int
        At most so many.
    change : float
        It stops where an update changes the cost by less than this part of itself.
    """
    n, p = X.shape
    i, j = np.triu_indices(n, 1)
    D, hits = Products(np.abs(X[i] - X[j])), np.equal.outer(y, y) & ~np.eye(n, dtype=bool)

    def cost(q: Floats) -> tuple[float, Floats]:
        whole = np.zeros((n, n))
        whole[i, j] = whole[j, i] = q
        G, c = coefficients(whole, hits, sigma)
        return G, (c + c.T)[i, j]

    W = np.zeros((p, p, p))
    W[(np.arange(p),) * 3] = 1.0 / np.sqrt(p)
    q = cubes(D, W)
    G, c = cost(q)
    for _ in range(updates):
        gradient = moments(D, c)
        U = np.maximum(-gradient, 0.0)
        if not U.any():
            break
        U /= np.linalg.norm(U)
        slope, before, towards = float((gradient * (U - W)).sum()), G, cubes(D, U)
        for t in 0.5 ** np.arange(11):
            mixed = (1.0 - t) * W + t * U
            size = np.linalg.norm(mixed)
            trial = ((1.0 - t) * q + t * towards) / size
            G, c = cost(trial)
            if G - before <= 1e-4 * t * slope:
                W, q = mixed / size, trial
                break
        if before - G < change * abs(before):
            break
    return W


def predicted(X: Floats, y: Labels, W: Floats, sigma: float, rows: Floats) -> Labels:
    """Eq. 3.18 with this distance, for rows that W was not learned from."""
    D = Products(np.abs(rows[:, None] - X[None]).reshape(-1, X.shape[1]))
    q = cubes(D, W).reshape(len(rows), -1)
    expected = [
        (softmax(np.where(y == c, -q / sigma, -np.inf), axis=1) * q).sum(axis=1) for c in (0, 1)
    ]
    return np.argmin(expected, axis=0)


def chosen(X: Floats, y: Labels) -> float:
    """The σ whose W, of the even rows, predicts the odd rows best."""
    fit, labels = X[::2], y[::2]
    right = [
        (predicted(fit, labels, three_way(fit, labels, s), s, X[1::2]) == y[1::2]).sum()
        for s in SIGMAS
    ]
    return SIGMAS[int(np.argmax(right))]


def top_triple(W: Floats) -> tuple[tuple[int, int, int], float, bool]:
    """The largest triple of different columns, its share, and whether it is beyond its parts."""
    triples = itertools.combinations(range(W.shape[0]), 3)
    a, b, c = max(triples, key=lambda triple: W[triple])
    parts = [
        W[triple]
        for triple in itertools.combinations_with_replacement((a, b, c), 3)
        if len(set(triple)) < 3
    ]
    return (a, b, c), 6.0 * float(W[a, b, c]) ** 2, bool(W[a, b, c] > max(parts))


def screened(Z: Floats, y: Labels) -> tuple[tuple[int, int, int], float]:
    """The triple whose product correlates most with the class, and that correlation in size."""
    triples = np.array(list(itertools.combinations(range(Z.shape[1]), 3)))
    products = Z[:, triples].prod(axis=2)
    products = products - products.mean(axis=0)
    sizes = np.abs((y - y.mean()) @ products) / np.linalg.norm(products, axis=0)
    a, b, c = triples[np.argmax(sizes)]
    return (int(a), int(b), int(c)), float(sizes.max() / np.linalg.norm(y - y.mean()))


def _normal(rng: np.random.Generator, n: int, p: int) -> Floats:
    return rng.standard_normal((n, p))


def _binary(rng: np.random.Generator, n: int, p: int) -> Floats:
    return 2.0 * rng.integers(0, 2, (n, p)) - 1.0


def _product(rng: np.random.Generator, X: Floats) -> NDArray[np.bool_]:
    return X.prod(axis=1) > 0


def _sum(rng: np.random.Generator, X: Floats) -> NDArray[np.bool_]:
    return X.sum(axis=1) > 0


def _additive(rng: np.random.Generator, X: Floats) -> NDArray[np.bool_]:
    return rng.random(len(X)) < 0.5 + np.sign(X).sum(axis=1) / 6.0


def _permuted(rng: np.random.Generator, X: Floats) -> NDArray[np.bool_]:
    return rng.permutation(_product(rng, X))


KEYS = ("columns", "case", "table")
Done = dict[tuple[int, str, int], dict[str, float]]
Draw = Callable[[np.random.Generator, int, int], Floats]
Signal = Callable[[np.random.Generator, Floats], NDArray[np.bool_]]
CASES: dict[str, tuple[Draw, Signal]] = {
    "parity": (_normal, _product),
    "binary-parity": (_binary, _product),
    "sums": (_normal, _additive),
    "threshold": (_normal, _sum),
    "permuted": (_normal, _permuted),
    "binary-permuted": (_binary, _permuted),
}
CONTROL = {
    "parity": "permuted", "binary-parity": "binary-permuted", "sums": "permuted",
    "threshold": "permuted",
}  # fmt: skip


def measured(case: str, p: int, seed: int, accuracy: bool) -> dict[str, float]:
    """The triple that one table gives, and with `accuracy` how well the three forms predict."""
    columns, signal = CASES[case]
    rng = np.random.default_rng([seed, p])
    X = columns(rng, TRAINED + HELD_OUT, p)
    y = signal(rng, X[:, :3]).astype(np.int64)
    train, rows, truth = X[:TRAINED], X[TRAINED:], y[TRAINED:]
    mean, scale = train.mean(axis=0), train.std(axis=0)
    Z, labels = (train - mean) / scale, y[:TRAINED]
    began = time.process_time()
    W = three_way(Z, labels, WIDE)
    triple, share, beyond = top_triple(W)
    seconds = time.process_time() - began
    rival, correlation = screened(Z, labels)
    found = {
        "true triple": float(triple == TRUE),
        "share": round(share, 5),
        "beyond its parts": float(beyond),
        "seconds": round(seconds, 3),
        "screen": float(rival == TRUE),
        "correlation": round(correlation, 4),
        "screen seconds": round(time.process_time() - began - seconds, 3),
    }
    if accuracy:
        sigma = chosen(Z, labels)
        tuned = W if sigma == WIDE else three_way(Z, labels, sigma)
        right = predicted(Z, labels, tuned, sigma, (rows - mean) / scale) == truth
        found |= {"sigma": sigma, "tuned": float(top_triple(tuned)[0] == TRUE)}
        found["three-way"] = round(float(right.mean()), 4)
        data = fsframe.Dataset.from_arrays(train, labels)
        for name, chain in CHAINS.items():
            guesses = np.asarray(Chain.parse(chain).fit(data, seed=seed).predict(rows))
            found[name] = round(float((guesses == truth).mean()), 4)
    return found


def summaries(done: Done) -> Iterator[dict[str, object]]:
    """A row for each case and number of columns."""
    found: dict[tuple[int, str], list[dict[str, float]]] = {}
    for (p, case, _), values in done.items():
        found.setdefault((p, case), []).append(values)

    def mean(tables: list[dict[str, float]], name: str) -> float:
        return round(float(np.mean([one[name] for one in tables])), 3)

    for (p, case), tables in sorted(found.items(), key=lambda item: item[0][0]):
        shares = np.array([one["share"] for one in tables])
        row: dict[str, object] = {"columns": p, "case": case, "tables": len(tables)}
        for name in ("true triple", "screen"):
            row[name] = mean(tables, name) if case in CONTROL else ""
        for name, of in (("smallest", np.min), ("median", np.median), ("largest", np.max)):
            row[f"{name} share"] = round(float(of(shares)), 4)
        control = found.get((p, CONTROL.get(case, "")))
        for name, of in (("called", "share"), ("screen called", "correlation")):
            above = max(one[of] for one in control) if control else 0.0
            calls = [one[of] > above for one in tables]
            row[name] = round(float(np.mean(calls)), 3) if control else ""
        for name in ("beyond its parts", "seconds", "screen seconds"):
            row[name] = mean(tables, name)
        learned = [one for one in tables if "three-way" in one]
        row["tables predicted"] = len(learned)
        for name in ("three-way", *CHAINS):
            values = np.array([one[name] for one in learned])
            many = values.size > 1
            row[name] = mean(learned, name) if learned else ""
            row[f"{name} ±"] = round(values.std(ddof=1) / values.size**0.5, 3) if many else ""
        row["median sigma"] = float(np.median([one["sigma"] for one in learned])) if learned else ""
        row["true triple at it"] = mean(learned, "tuned") if learned else ""
        yield row


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 20])
    parser.add_argument("--tables", type=int, default=20, help="of each case")
    parser.add_argument("--predicted", type=int, default=3, help="so many of them for accuracy")
    parser.add_argument("--minutes", type=float, default=0, help="begin no table later; 0: all")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "three_way.csv")
    asked = parser.parse_args()
    each = asked.out.with_stem(asked.out.stem + "_tables")
    done = read(each)
    began = time.monotonic()
    for p, seed, case in itertools.product(asked.columns, range(asked.tables), CASES):
        accuracy = seed < asked.predicted and case in CONTROL
        if (p, case, seed) in done and (not accuracy or "three-way" in done[p, case, seed]):
            continue
        if asked.minutes and time.monotonic() - began > 60 * asked.minutes:
            break
        done[p, case, seed] = measured(case, p, seed, accuracy)
        print(p, case, seed, done[p, case, seed], flush=True)
        write(each, [{**dict(zip(KEYS, key, strict=True)), **done[key]} for key in done])
    write(asked.out, list(summaries(done)))


def read(path: Path) -> Done:
    """What is measured already, by columns, case and table."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {
            (int(row.pop("columns")), row.pop("case"), int(row.pop("table"))): {
                name: float(value) for name, value in row.items() if value
            }
            for row in csv.DictReader(file)
        }


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """The rows as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
