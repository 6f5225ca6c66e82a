"""A run that takes a while, and what ends it early."""

from __future__ import annotations

import numpy as np

from fsframe.chains.chain import Chain
from fsframe.storage.unit_files import Manifest
from fsframe.table.dataset import Dataset

MANIFEST = Manifest(chain="x", seed=0, sha256="", software={})
"""That of no run in particular."""
CHAIN = Chain.parse("mim:top=3 npfs:n=8,permutations=2,alpha=0.2")


class Stop(Exception):
    """Ends a run as any failure would."""


def table(seed: int = 5) -> Dataset:
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 3, size=(40, 9)).astype(float)
    return Dataset.from_arrays(X, (X[:, 2] > 0).astype(int))


def stop_late(progress):
    if progress.done > 6:
        raise Stop
