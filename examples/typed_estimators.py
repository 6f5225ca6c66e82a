"""Selectors of fsframe in a pipeline of scikit-learn, with types that `mypy --strict` checks.

python examples/typed_estimators.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, cross_val_score  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]

import fsframe
from fsframe.sklearn import MRMR, ChainClassifier, ChainSelector, Immigrate, WeightedKNN


def best_names(selector: MRMR | Immigrate | ChainSelector, names: tuple[str, ...]) -> list[str]:
    """Names of the features that a fitted selector keeps, best first."""
    return [names[column] for column in selector.ranking_]


def main() -> None:
    """Print what two selectors keep, and how well two pipelines predict unseen people."""
    data = fsframe.read(Path(__file__).parent / "parkinsons_subjects.csv", groups="subject")
    X: NDArray[np.float64] = data.X
    y: NDArray[np.int64] = data.y

    filtered = MRMR(top=5, discretise="equal-frequency", bins=5).fit(X, y)
    print("mrmr:", ", ".join(best_names(filtered, data.feature_names)))

    screen = MRMR(top=10, discretise="equal-frequency", bins=5)
    chain = ChainSelector([screen, Immigrate(sigma="cv")], random_state=1)
    chain.set_params(mrmr__top=8).fit(X, y)
    print("mrmr immigrate:", ", ".join(best_names(chain, data.feature_names)))
    pair = chain.pairs_[0]
    print("strongest pair:", data.feature_names[pair.a], data.feature_names[pair.b])

    print(f"largest class: {np.bincount(y).max() / len(y):.3f}")
    for estimator in (
        make_pipeline(Immigrate(), WeightedKNN(k=3)),
        ChainClassifier([screen, "immigrate", WeightedKNN(k=3)]),
    ):
        scores = cross_val_score(estimator, X, y, groups=data.groups, cv=GroupKFold(8))
        print(f"{np.mean(scores):.3f}", repr(estimator))


if __name__ == "__main__":
    main()
