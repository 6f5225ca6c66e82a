"""Draws the figures of the margin family's pages beside itself.

    python docs/methods/figures/draw_margin.py [NAME …]

Equal versions draw equal files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import fsframe

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
plt.rcParams.update({"svg.hashsalt": "fsframe", "svg.fonttype": "none", "font.size": 8})


def parkinsons() -> fsframe.Dataset:
    return fsframe.read(ROOT / "examples" / "parkinsons.csv")


def xor(noise: int = 4, rows: int = 120, seed: int = 0) -> fsframe.Dataset:
    """The sign of f1·f2 is the class; the rest is noise."""
    X = np.random.default_rng(seed).standard_normal((rows, 2 + noise))
    return fsframe.Dataset.from_arrays(X, (X[:, 0] * X[:, 1] > 0).astype(int))


def legend_above(ax: plt.Axes, room: float) -> None:
    """A legend in a strip that the curves leave free: so much of their height is added for it."""
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + room * (high - low))
    ax.legend(frameon=False, loc="upper right")


def immigrate(axes: np.ndarray) -> None:
    data = xor(8)
    for label, options in (
        ("element-wise, line search", {}),
        ("element-wise, whole steps", {"line_search": False, "keep": "last"}),
        ("psd-clip, whole steps", {"update": "psd-clip", "line_search": False}),
    ):
        selection = fsframe.selectors["immigrate"](max_iter=15, tol=0.0, **options).select(data)
        axes[0].plot(selection.tables["cost"], marker=".", label=label)
    axes[0].set(
        xlabel="update", ylabel="cost G (eq. 3.5)", title="XOR with 8 noise features, σ = 1"
    )
    legend_above(axes[0], 0.5)
    W = fsframe.selectors["immigrate"](sigma=0.5).select(data).pair_weights.matrix
    picture = axes[1].imshow(W, cmap="Blues", vmin=0)
    axes[1].set(title="W, σ = 0.5: the class is sign(f1·f2)", xticks=range(10), yticks=range(10))
    axes[1].set_xticklabels(range(1, 11))
    axes[1].set_yticklabels(range(1, 11))
    plt.colorbar(picture, ax=axes[1], shrink=0.8)


def im4e(axes: np.ndarray) -> None:
    data = parkinsons()
    for ax, sigma in zip(axes, (0.25, 2.0), strict=True):
        w = fsframe.selectors["im4e"](sigma=sigma).select(data).weights
        order = np.argsort(-w, kind="stable")
        ax.bar(range(len(w)), w[order])
        ax.axhline(2 / len(w), color="black", ls="--", lw=0.8)
        ax.set(title=f"Parkinsons, σ = {sigma:g}; line: 2/A", xlabel="features, sorted", ylabel="w")


def bim(axes: np.ndarray) -> None:
    data = parkinsons()
    selection = fsframe.selectors["bim"]().select(data, seed=1)
    kept = selection.tables["kept"].astype(bool)
    rounds = np.arange(len(kept))
    axes[0].plot(rounds[kept], selection.tables["error"][kept], ".", label="kept")
    axes[0].plot(rounds[~kept], selection.tables["error"][~kept], "x", label="discarded")
    axes[0].axhline(0.5, color="black", lw=0.8)
    axes[0].set(title="Parkinsons", xlabel="round", ylabel="weighted error ε")
    axes[0].legend(frameon=False)
    axes[1].imshow(selection.pair_weights.matrix, cmap="Blues", vmin=0)
    axes[1].set(title="W averaged by votes", xlabel="feature", ylabel="feature")


def simba(axes: np.ndarray) -> None:
    data = xor(6, 150, 3)
    passes = [1, 2, 3, 5, 8, 12]
    for ax, utility in zip(axes, ("linear", "sigmoid"), strict=True):
        paths = np.array(
            [
                fsframe.selectors["simba"](passes=p, utility=utility).select(data, seed=0).weights
                for p in passes
            ]
        )
        ax.plot(passes, paths[:, 2:], color="lightgrey")
        ax.plot(passes, paths[:, :2], marker=".", color="C0")
        ax.set(title=f"XOR (blue) and noise, {utility}", xlabel="passes", ylabel="weight")


def gflip(axes: np.ndarray) -> None:
    data = parkinsons()
    for ax, utility in zip(axes, ("linear", "zero-one"), strict=True):
        selection = fsframe.selectors["gflip"](utility=utility).select(data, seed=0)
        inside = selection.tables["inside"] > 0
        order = np.argsort(-selection.scores, kind="stable")
        colours = np.where(inside[order], "C0", "lightgrey")
        ax.bar(range(len(order)), selection.scores[order], color=colours)
        ax.set(title=f"Parkinsons, {utility}; blue: in the set", xlabel="features, sorted",
               ylabel="loss without it")  # fmt: skip


def irelief(axes: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 60))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(100) > 0).astype(int)
    data = fsframe.Dataset.from_arrays(X, y)
    for ax, sigma in zip(axes, (0.1, 3.0), strict=True):
        selection = fsframe.selectors["irelief"](sigma=sigma).select(data)
        ax.bar(range(60), selection.weights, color=["C0"] * 2 + ["lightgrey"] * 58)
        steps = len(selection.tables["change"]) - 1
        ax.set(title=f"2 features of 60 matter, σ = {sigma:g}: {steps} updates", xlabel="feature",
               ylabel="w")  # fmt: skip


def lfe(axes: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5)) @ np.diag([1, 1, 1, 1, 1.0])
    y = (X[:, 0] - X[:, 1] > 0).astype(int)
    data = fsframe.Dataset.from_arrays(X, y)
    for ax, name in zip(axes, ("lfe", "immigrate"), strict=True):
        W = fsframe.selectors[name]().select(data).pair_weights.matrix
        top = np.abs(W).max()
        picture = ax.imshow(W, cmap="RdBu", vmin=-top, vmax=top)
        ax.set(title=f"{name}: W for the class sign(f1 − f2)")
        plt.colorbar(picture, ax=ax, shrink=0.8)


def logo(axes: np.ndarray) -> None:
    data = parkinsons()
    levels = [0.25, 0.5, 1, 2, 4, 8, 16]
    paths = np.array([fsframe.selectors["logo"](l1=v).select(data).weights for v in levels])
    axes[0].semilogx(levels, paths, marker=".")
    axes[0].set(title="Parkinsons", xlabel="λ", ylabel="w")
    axes[1].semilogx(levels, (paths > 1e-6 * paths.max(axis=1, keepdims=True)).sum(axis=1), "o-")
    axes[1].set(xlabel="λ", ylabel="features with a weight", ylim=(0, None))


def mbiw(axes: np.ndarray) -> None:
    rng = np.random.default_rng(4)
    X = np.r_[rng.normal((0, 0), 1, (60, 2)), rng.normal((3, 0), 1, (60, 2))]
    y = np.repeat([0, 1], 60)
    X[:3], X[60:63] = rng.normal((4, 0), 0.5, (3, 2)), rng.normal((-1, 3), 0.3, (3, 2))
    data = fsframe.Dataset.from_arrays(X, y)
    omega = fsframe.selectors["mbiw"]().select(data).instance_weights * len(y)
    for label, marker in ((0, "o"), (1, "s")):
        rows = y == label
        axes[0].scatter(*X[rows].T, s=25 * omega[rows], marker=marker, alpha=0.6)
    axes[0].set(title="size: N ω; six rows are misplaced", xlabel="f1", ylabel="f2")
    axes[1].hist([np.delete(omega, [*range(3), 60, 61, 62]), omega[[0, 1, 2, 60, 61, 62]]],
                 bins=15, stacked=True, label=["others", "misplaced"])  # fmt: skip
    axes[1].set(xlabel="N ω", ylabel="rows")
    axes[1].legend(frameon=False)


def simba_mbiw(axes: np.ndarray) -> None:
    data = parkinsons()
    rng = np.random.default_rng(0)
    n = data.n_samples
    counts = np.array([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(25)])
    sizes = np.arange(2, 21, 2)
    kuncheva = fsframe.stability_metrics["kuncheva"]()
    for ax, table in zip(axes, ("bootstraps", "halves"), strict=True):
        drawn = counts
        if table == "halves":
            drawn = np.array([rng.permutation(np.arange(n) % 2) for _ in range(25)])
        for label, method in (
            ("simba", fsframe.selectors["simba"]()),
            ("order, mean one", fsframe.selectors["simba-mbiw"](instance_scale="mean")),
            ("order, sum one", fsframe.selectors["simba-mbiw"]()),
        ):
            scores = np.array([s.scores for s in method.select_many(data, drawn, seed=0)])
            ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
            ax.plot(sizes, [kuncheva(ranks < k).value for k in sizes], marker=".", label=label)
        ax.set(title=f"Parkinsons, 25 {table}", xlabel="features kept", ylabel="Kuncheva index")
        legend_above(ax, 0.5)


def _regions(ax: plt.Axes, data: fsframe.Dataset, fitted: object, title: str) -> None:
    x, y = np.meshgrid(np.linspace(-3, 3, 40), np.linspace(-3, 3, 40))
    codes = fitted.predict(np.c_[x.ravel(), y.ravel()]).reshape(x.shape)
    ax.contourf(x, y, codes, levels=[-0.5, 0.5, 1.5], colors=["#cfe2f3", "#fce5cd"])
    for label, marker in ((0, "o"), (1, "s")):
        ax.scatter(*data.X[data.y == label].T, s=6, marker=marker)
    ax.set(title=title, xlim=(-3, 3), ylim=(-3, 3))


def margin(axes: np.ndarray) -> None:
    data = xor(0, 120, 5)
    selection = fsframe.selectors["immigrate"](top=2).select(data)
    for ax, sigma in zip(axes, (0.2, 4.0), strict=True):
        fitted = fsframe.classifiers["margin"](sigma=sigma).fit(data, selection)
        _regions(ax, data, fitted, f"XOR, weights of immigrate, σ = {sigma:g}")


def weighted_knn(axes: np.ndarray) -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 2))
    y = (X[:, 0] > 0).astype(int)
    flip = rng.choice(120, 15, replace=False)
    y[flip] = 1 - y[flip]
    data = fsframe.Dataset.from_arrays(X, y)
    plain = fsframe.classifiers["weighted-knn"](k=3).fit(data)
    selection = fsframe.selectors["simba-mbiw"](top=1.0).select(data)
    weighted = fsframe.classifiers["weighted-knn"](k=3).fit(data, selection)
    _regions(axes[0], data, plain, "k = 3, no weights; 15 of 120 labels wrong")
    _regions(axes[1], data, weighted, "k = 3, weights of simba-mbiw")


FIGURES: dict[str, Callable[[np.ndarray], None]] = {
    name.replace("_", "-"): globals()[name]
    for name in (
        "immigrate", "im4e", "bim", "simba", "gflip", "irelief", "lfe", "logo", "mbiw",
        "simba_mbiw", "margin", "weighted_knn",
    )
}  # fmt: skip


def main() -> None:
    for name in sys.argv[1:] or FIGURES:
        figure, axes = plt.subplots(1, 2, figsize=(6.4, 2.6))
        FIGURES[name](axes)
        figure.tight_layout()
        figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)
        print(HERE / f"{name}.svg")


if __name__ == "__main__":
    main()
