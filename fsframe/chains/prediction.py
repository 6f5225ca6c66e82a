"""Predict with a finished run: its classifier is fitted again on the table of the run."""

from __future__ import annotations

from fsframe.chains.chain import Chain
from fsframe.contracts.classifier import FittedOnColumns
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.run import Run
from fsframe.errors import RequestError
from fsframe.registry import preferring
from fsframe.storage import RunRecord

__all__ = ["refit"]


def refit(record: RunRecord, training: Dataset, classifier: str = "") -> FittedOnColumns:
    """The fitted classifier at the end of a run.

    A run file does not store fitted classifiers: the classifier is fitted again on the stored
    selection with the run's random stream, which gives the same classifier bit for bit.

    Parameters
    ----------
    record : RunRecord
    training : Dataset
        The table of the run.
    classifier : str
        Classifier for a run whose chain does not end with one.

    Raises
    ------
    DataError
        If `training` is not the table of the run.
    RequestError
        If there is no classifier, or `classifier` is given for a chain that ends with one.
    """
    record.require_table(training)
    with preferring(record.providers()):
        chain = Chain.parse(record.chain)
    if chain.classifier is None and not classifier:
        raise RequestError(
            f"the chain `{record.chain}` does not end with a classifier; name one, such as "
            "--classifier margin"
        )
    if chain.classifier is not None and classifier:
        raise RequestError(f"the chain `{record.chain}` ends with its own classifier already")
    method = chain.classifier or Chain.parse(classifier).classifier
    if method is None:
        raise RequestError(f"`{classifier}` is not a classifier")
    upstream = None
    for stage in record.stages:
        upstream = stage.selection if stage.selection is not None else upstream
    run = Run(entropy=record.seed or 0).child(len(chain.selecting))
    return method.fit(training, upstream, run)
