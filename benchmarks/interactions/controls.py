"""What `interactions` finds on tables with known interactions, and whether it keeps its level.

    python benchmarks/interactions/controls.py [--tables 200] [--bins 2 3] [--out FILE]
        [--figure FILE.svg]

Places: how often the true pair comes first (both pairs in places 1 and 2) in ten tables of 400 rows
and 10 columns, and its median place; for additive labels the place and p of the pair that adds up,
which is no interaction. Power: share of tables in which the true pair has q ≤ 0.05. Level: share of
all pairs with p ≤ 0.05 and 0.01 where no pair interacts, with its standard error over tables (pairs
of one table are not independent), by χ² alone and as reported; and the share of tables with any
pair of q ≤ 0.05. Last, how often two main effects that are additive in the log odds are taken for
an interaction because bins are coarse.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fsframe
from fsframe.table.dataset import Dataset

ROOT = Path(__file__).parents[2]
GAMETES = ROOT / "tests" / "plugins" / "relief" / "data" / "gametes2way.csv"
Rng = np.random.Generator
Maker = Callable[[Rng], tuple[np.ndarray, ...]]


def labelled(rng: Rng, log_odds: np.ndarray) -> np.ndarray:
    """Two classes by a logistic model."""
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(int)


def normal(rng: Rng, n: int = 400, p: int = 10, shared: float = 0.0) -> np.ndarray:
    """Normal columns, any two of them with correlation `shared`."""
    common = rng.normal(size=(n, 1))
    return np.sqrt(1 - shared) * rng.normal(size=(n, p)) + np.sqrt(shared) * common


def xor(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    X = normal(rng)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def two_xor(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    X = normal(rng)
    both = np.sign(X[:, 0] * X[:, 1]) + np.sign(X[:, 2] * X[:, 3])
    return X, np.where(both == 0, rng.integers(0, 2, len(X)), both > 0).astype(int)


def additive(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    X = normal(rng)
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def logistic(strength: float, shared: float = 0.0, n: int = 400) -> Maker:
    def make(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        X = normal(rng, n, shared=shared)
        return X, labelled(rng, strength * (X[:, 0] + X[:, 1]))

    return make


def product(strength: float, main: float = 0.0) -> Maker:
    def make(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        X = normal(rng)
        return X, labelled(rng, strength * X[:, 0] * X[:, 1] + main * (X[:, 0] + X[:, 1]))

    return make


def noisy_signs(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    X = normal(rng)
    return X, labelled(rng, 0.6 * np.sign(X[:, 0] * X[:, 1]))


def one_corner(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    X = normal(rng)
    return X, labelled(rng, -1.0 + 2.0 * ((X[:, 0] > 0.5) & (X[:, 1] > 0.5)))


def bands(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    X = normal(rng)
    middle = np.abs(X[:, :2]) < 0.5
    return X, labelled(rng, np.where(middle[:, 0] == middle[:, 1], 0.7, -0.7))


def null(n: int = 400, shared: float = 0.0) -> Maker:
    return lambda rng: (normal(rng, n, shared=shared), rng.permutation(np.arange(n) % 2))


def three_classes(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    return normal(rng, 200), rng.choice(3, 200, p=[0.6, 0.3, 0.1])


def genotypes(main: float, n: int = 400) -> Maker:
    def make(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        X = rng.binomial(2, rng.uniform(0.05, 0.5, 10), (n, 10)).astype(float)
        return X, labelled(rng, main * (X[:, 0] - X[:, 0].mean() + X[:, 1] - X[:, 1].mean()))

    return make


def people(told: bool) -> Maker:
    """60 people with four rows each; people differ from one another, and each has one label."""

    def make(rng: Rng) -> tuple[np.ndarray, ...]:
        who = np.repeat(np.arange(60), 4)
        X = normal(rng, 60)[who] + 0.3 * normal(rng, len(who))
        y = rng.permutation(np.arange(60) % 2)[who]
        return (X, y, who) if told else (X, y)

    return make


def found(make: Maker, seed: int, bins: int, **options: int) -> fsframe.Selection:
    X, y, *groups = make(np.random.default_rng(seed))
    data = Dataset.from_arrays(X, y, groups=groups[0] if groups else None)
    return fsframe.selectors["interactions"](bins=bins, **options).select(data, seed=seed)


def place(selection: fsframe.Selection, pair: tuple[int, int]) -> tuple[int, float]:
    """Place of a pair, from 1, and its p; the last place and 1 if its table is uninformative."""
    at = np.flatnonzero((selection.tables["pairs"] == pair).all(axis=1))
    if not at.size:
        return int(selection.tables["n_tested"][0]), 1.0
    return int(at[0]) + 1, float(selection.tables["p_values"][at[0]])


def few_people(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """The mean recordings of 32 people, eight of them healthy, with labels dealt again."""
    of_people = fsframe.read(ROOT / "examples/parkinsons_subjects.csv", groups="subject")
    assert of_people.groups is not None
    who = np.unique(of_people.groups, return_inverse=True)[1]
    X = np.array([of_people.X[who == person].mean(axis=0) for person in range(who.max() + 1)])
    y = np.array([of_people.y[who == person][0] for person in range(len(X))])
    return X, rng.permutation(y)


PLACES: dict[str, tuple[Maker, list[tuple[int, int]]]] = {
    "one XOR": (xor, [(0, 1)]),
    "two XOR": (two_xor, [(0, 1), (2, 3)]),
    "additive, deterministic": (additive, [(0, 1)]),
    "additive, logistic": (logistic(1.5), [(0, 1)]),
    "additive, logistic, columns of r = 0.5": (logistic(1.5, 0.5), [(0, 1)]),
}
POWER: dict[str, Maker] = {
    "product, log odds 0.8 x1 x2": product(0.8),
    "product beside main effects": product(0.8, 0.8),
    "signs, log odds ±0.6": noisy_signs,
    "one corner": one_corner,
    "middle bands": bands,
}
LEVEL: dict[str, Maker] = {
    "null, 400 rows": null(),
    "null, 100 rows": null(100),
    "null, 40 rows": null(40),
    "null, 400 rows, r = 0.5": null(400, 0.5),
    "main effects, 400 rows": logistic(1.0),
    "main effects, r = 0.5": logistic(1.0, 0.5),
    "main effects, r = 0.8": logistic(1.0, 0.8),
    "main effects, r = 0.5, 2000 rows": logistic(1.0, 0.5, 2000),
    "genotypes, null": genotypes(0.0),
    "genotypes, main effects": genotypes(1.0),
    "three classes, 200 rows": three_classes,
    "60 people × 4 rows, with groups": people(True),
    "60 people × 4 rows, without": people(False),
    "means of 32 people, labels dealt again": few_people,
}

ADDING: dict[str, Maker] = {
    "log odds 1 (x1 + x2)": logistic(1.0),
    "log odds 1.5 (x1 + x2)": logistic(1.5),
    "log odds 1.5 (x1 + x2), r = 0.5": logistic(1.5, 0.5),
    "sign(x1 + x2)": additive,
}


def levels_of(make: Maker, bins: int, tables: int) -> dict[str, float]:
    shares = []
    for seed in range(tables):
        selection = found(make, 10_000 + seed, bins)
        plain, p = selection.tables["chi2_p_values"], selection.tables["p_values"]
        n = selection.tables["n_tested"][0]
        any_found = selection.tables["q_values"][0] <= 0.05
        shares.append([(plain <= 0.05).sum() / n, (plain <= 0.01).sum() / n,
                       (p <= 0.05).sum() / n, (p <= 0.01).sum() / n, any_found])  # fmt: skip
    mean = np.mean(shares, axis=0)
    error = np.std(shares, axis=0, ddof=1) / np.sqrt(tables)
    names = ("chi2_05", "chi2_01", "p_05", "p_01", "any_q_05")
    result: dict[str, float] = {}
    for name, value, se in zip(names, mean, error, strict=True):
        result |= {name: round(float(value), 5), f"{name}_se": round(float(se), 5)}
    return result


def share_of_pair(make: Maker, bins: int, tables: int) -> dict[str, float]:
    """How often the pair of two additive main effects has p ≤ 0.05 and 0.001."""
    ps = np.array([place(found(make, seed, bins), (0, 1))[1] for seed in range(tables)])
    return {"p_05": float(np.mean(ps <= 0.05)), "p_001": float(np.mean(ps <= 0.001))}


def draw(levels: dict[str, dict[str, float]], path: str) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "interactions"
    import matplotlib.pyplot as plt

    names = list(levels)[::-1]
    at = np.arange(len(names))
    figure, axes = plt.subplots(figsize=(7, 0.4 * len(names) + 1.2))
    for key, label, mark in (("chi2_05", "χ² alone", "o"), ("p_05", "as reported", "s")):
        axes.errorbar(
            [100 * levels[name][key] for name in names], at,
            xerr=[200 * levels[name][key + "_se"] for name in names], fmt=mark, label=label,
        )  # fmt: skip
    axes.axvline(5, color="black", linewidth=0.8)
    axes.set_yticks(at, names)
    axes.set_xlabel("pairs with p ≤ 0.05 where none interacts, % (± 2 standard errors)")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--bins", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--out")
    parser.add_argument("--levels", nargs="+", help="measure these levels only, and print them")
    parser.add_argument("--figure", help="draw the levels of the last of --bins")
    options = parser.parse_args()
    if options.levels:
        for bins, name in itertools.product(options.bins, options.levels):
            print(bins, name, levels_of(LEVEL[name], bins, options.tables), flush=True)
        return
    report: dict[str, object] = {}
    for bins in options.bins:
        places: dict[str, object] = {}
        for name, (make, pairs) in PLACES.items():
            seen = [[place(found(make, seed, bins), pair) for pair in pairs] for seed in range(10)]
            ranks = np.array([[rank for rank, _ in row] for row in seen])
            ps = np.array([[p for _, p in row] for row in seen])
            places[name] = {
                "in_front": int((ranks.max(axis=1) <= len(pairs)).sum()),
                "median_place": float(np.median(ranks)),
                "least_p": float(ps.min()),
                "largest_p": float(ps.max()),
            }
            print(bins, name, places[name], flush=True)
        power = {}
        for name, make in POWER.items():
            hits = 0
            for seed in range(options.tables // 2):
                selection = found(make, seed, bins, draws=100)
                rank, _ = place(selection, (0, 1))
                q = selection.tables["q_values"]
                hits += rank <= len(q) and bool(q[rank - 1] <= 0.05)
            power[name] = hits / (options.tables // 2)
            print(bins, name, "power", power[name], flush=True)
        levels = {}
        for name, make in LEVEL.items():
            levels[name] = levels_of(make, bins, options.tables)
            print(bins, name, levels[name], flush=True)
        apparent = {}
        for name, make in ADDING.items():
            apparent[name] = share_of_pair(make, bins, options.tables)
            print(bins, name, "pair that adds up", apparent[name], flush=True)
        report[f"bins={bins}"] = {
            "places": places,
            "power": power,
            "level": levels,
            "pair_that_adds_up": apparent,
        }
        if options.figure and bins == options.bins[-1]:
            draw(levels, options.figure)
    with GAMETES.open() as lines:
        header, *rows = csv.reader(lines)
    values = np.array(rows, dtype=float)
    data = Dataset.from_arrays(values[:, :-1], values[:, -1].astype(int), header[:-1])
    selection = fsframe.selectors["interactions"]().select(data)
    a, b = selection.tables["pairs"][0]
    report["gametes"] = {
        "first": [data.feature_names[a], data.feature_names[b]],
        "p": float(selection.tables["p_values"][0]),
        "second_p": float(selection.tables["p_values"][1]),
    }
    print(report["gametes"])
    if options.out:
        Path(options.out).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
