"""What the entries of `fsframe_unruly` name."""

from __future__ import annotations

import os
import sys

import attrs
import numpy as np

from fsframe.method.classifier import Classifier, FittedClassifier
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import choice, param
from fsframe.table.dataset import Dataset

HOW = ("none", "exit", "raise", "base", "chdir", "interrupt", "print")


class OwnError(BaseException):
    """One that `except Exception` does not see."""


def misbehave(how: str) -> None:
    if how == "exit":
        sys.exit(0)
    if how == "raise":
        raise RuntimeError("two\nlines\x1b[2J")
    if how == "base":
        raise OwnError("mine")
    if how == "chdir":
        os.chdir("/")
    if how == "interrupt":
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise ImportError("the kernels could not be compiled") from error
    if how == "print":
        print("x" * 100_000)


@attrs.frozen(kw_only=True)
class Unruly(Selector):
    """Variance, unless it has its way."""

    takes_counts = True

    how: str = param("none", choice(*HOW), help="What to do.")

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        misbehave(self.how)
        scores = np.cov(data.X.T, fweights=data.counts).diagonal()
        kept = rank_by_score(scores)[: self.keep_count(data.n_features, 2)]
        return Selection(selected=kept, scores=scores)


@attrs.frozen(kw_only=True)
class UnrulyKnn(Classifier):
    """Fails when it predicts."""

    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> FittedClassifier:
        return self

    def predict(self, X):
        raise RuntimeError("no prediction")

    predict_scores = predict
