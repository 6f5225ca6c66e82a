"""Performance measures: the bundled ones, and the functions behind them."""

from __future__ import annotations

from fsframe.evaluation.measures.labels import accuracy, balanced_accuracy, confusion
from fsframe.evaluation.measures.scores import auc, log_loss

__all__ = ["accuracy", "auc", "balanced_accuracy", "confusion", "log_loss"]
