"""The synthetic experiment of the IMMIGRATE paper (§4.1): an interaction under growing noise.

    python examples/interaction_noise.py [--tables 20] [--out interaction_noise.svg]

Two classes of 100 rows, normal with means (4, 2) and (6, 0) and covariance [[1, ½], [½, 1]]: the
relation of the two features separates them. As noise, a share of each class, 5 % to 50 %, is drawn
around (8, −2) and (2, 4) instead, with covariance [[8, 4], [4, 8]]. The script prints and plots the
absolute weight of the pair (1, 2) under IMMIGRATE and LFE: mean and standard deviation over tables.
"""

from __future__ import annotations

import argparse

import numpy as np

import fsframe

LEVELS = np.arange(0, 55, 5) / 100
CENTRES = ((4.0, 2.0), (6.0, 0.0))
NOISE_CENTRES = ((8.0, -2.0), (2.0, 4.0))
COVARIANCE = np.array([[1.0, 0.5], [0.5, 1.0]])


def table(level: float, generator: np.random.Generator) -> fsframe.Dataset:
    """200 rows, a share `level` of them noise."""
    rows, labels = [], []
    for label in (0, 1):
        noisy = round(100 * level)
        rows.append(generator.multivariate_normal(CENTRES[label], COVARIANCE, 100 - noisy))
        rows.append(generator.multivariate_normal(NOISE_CENTRES[label], 8 * COVARIANCE, noisy))
        labels += [label] * 100
    return fsframe.Dataset.from_arrays(np.vstack(rows), labels, ["f1", "f2"])


def interaction(method: str, data: fsframe.Dataset) -> float:
    """The size of the weight of the pair (1, 2); ‖W‖_F = 1."""
    selection = fsframe.selectors[method]().select(data)
    return float(abs(selection.pair_weights.matrix[0, 1]))


def experiment(n_tables: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Weights by method, (n_levels, n_tables)."""
    sizes = {name: np.empty((len(LEVELS), n_tables)) for name in ("immigrate", "lfe")}
    for k, level in enumerate(LEVELS):
        for t in range(n_tables):
            data = table(float(level), np.random.default_rng((seed, k, t)))
            for name, weights in sizes.items():
                weights[k, t] = interaction(name, data)
    return sizes


def draw(sizes: dict[str, np.ndarray], path: str) -> None:
    """The figure: mean weight by noise level, with the standard deviation over tables."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "fsframe"  # the same file every time
    figure, axes = plt.subplots(figsize=(5, 3.2))
    for name, style in (("immigrate", "o-"), ("lfe", "s--")):
        mean, spread = sizes[name].mean(axis=1), sizes[name].std(axis=1)
        axes.errorbar(100 * LEVELS, mean, spread, fmt=style, capsize=2, label=name)
    axes.set_xlabel("noise, % of rows")
    axes.set_ylabel("|weight| of the pair (1, 2)")
    axes.set_ylim(0, None)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=20, help="tables per noise level")
    parser.add_argument("--out", default="interaction_noise.svg", help="where the figure goes")
    options = parser.parse_args()
    sizes = experiment(options.tables)
    print("noise  immigrate        lfe")
    for k, level in enumerate(LEVELS):
        cells = [f"{sizes[m][k].mean():.3f} ± {sizes[m][k].std():.3f}" for m in sizes]
        print(f"{level:4.0%}   " + "    ".join(cells))
    draw(sizes, options.out)
    print(f"figure: {options.out}")


if __name__ == "__main__":
    main()
