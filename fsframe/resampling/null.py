"""Null hypotheses for npfs: labels under the null, or the distribution of a count."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import PluginError
from fsframe.method.boundary import in_stage
from fsframe.table.dataset import Dataset

__all__ = ["CountNull", "Null", "RelabellingNull"]


class Null:
    """The null hypothesis that a feature is selected by chance; it has no parameters.

    Derive from `RelabellingNull` or `CountNull`.

    Attributes
    ----------
    promise : str
        What the test guarantees about a selected feature, and the rate of false selections; stored
        with every run and shown in its report.
    holds_level : bool
        Whether at most a share alpha of the features is selected if the label carries no
        information. If not, every run has a warning.
    """

    promise: ClassVar[str] = ""
    holds_level: ClassVar[bool] = True


class RelabellingNull(Null):
    """Permuted labels: the base is run on each of them as on the true ones.

    The test is exact if these labels are exchangeable with the true ones when no feature is
    relevant.
    """

    @final
    def labels(self, data: Dataset, generator: np.random.Generator) -> NDArray:
        """Labels under the null hypothesis.

        Returns
        -------
        (n_samples,) as ``data.y``

        Raises
        ------
        PluginError
            If the author's code fails, or returns labels that this table cannot have.
        """
        with in_stage(type(self), type(self).__name__, "null"):
            found = np.asarray(self._labels(data, generator))
        told = f"null {type(self).__name__}"
        if found.shape != data.y.shape or found.dtype != data.y.dtype:
            raise PluginError(
                f"{told} returned labels of shape {found.shape} of {found.dtype}; the table has "
                f"{data.y.shape} of {data.y.dtype}"
            )
        if not np.isin(found, data.y).all():
            raise PluginError(f"{told} returned labels that the table does not have")
        return found

    @abstractmethod
    def _labels(self, data: Dataset, generator: np.random.Generator) -> NDArray:
        """New labels for the rows of `data`, of the same shape and type.

        Draw from `generator` only; do not change `data`. If ``data.groups`` is given, rows of one
        group belong together: see `fsframe.resampling.groups.permuted_labels`.
        """


class CountNull(Null):
    """The distribution of a count under the null; the base runs on resamples of the true label
    only.

    Attributes
    ----------
    fraction : float
        Default rows per bootstrap, as a share of all.
    at_least : bool
        Whether a count that equals the critical value is relevant.
    own_resamples : bool
        Whether `_resamples` gives the rows of each resample, instead of bootstraps.
    """

    fraction: ClassVar[float] = 1.0
    at_least: ClassVar[bool] = False
    own_resamples: ClassVar[bool] = False

    @final
    def tail(self, kept: NDArray[np.int64], cells: int, bias: float) -> NDArray[np.float64]:
        """P(Z ≥ z) for z = 0 … n + 1, where n is the number of resamples.

        Raises
        ------
        PluginError
            If the author's code fails, or returns another array.
        ValueError
            If the author's code raises it, such as for a bias that makes a probability exceed one.
        """
        with in_stage(type(self), type(self).__name__, "null"):
            try:
                found = np.asarray(self._tail(kept, cells, bias), dtype=np.float64)
            except ValueError as error:
                refusal: ValueError | None = error
            else:
                refusal = None
        if refusal is not None:
            raise refusal
        falls = found.shape == (kept.size + 2,) and (np.diff(found) <= 1e-12).all()
        if not falls or abs(found[0] - 1) > 1e-9 or found[-1] != 0:
            raise PluginError(
                f"null {type(self).__name__} gave no tail: {kept.size + 2} numbers that fall from "
                "1 to 0, P(Z ≥ z) for z = 0 … n + 1"
            )
        return found

    @final
    def resamples(self, data: Dataset, n: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """How often each row is in each of n resamples, (n, n_samples)."""
        with in_stage(type(self), type(self).__name__, "null"):
            found = np.asarray(self._resamples(data, n, generator))
        if found.shape != (n, data.n_samples) or found.dtype.kind not in "iu" or found.min() < 0:
            raise PluginError(
                f"null {type(self).__name__} gave no counts of {data.n_samples} rows in {n} "
                "resamples"
            )
        return found

    @abstractmethod
    def _tail(self, kept: NDArray[np.int64], cells: int, bias: float) -> NDArray[np.float64]:
        """The tail of the null distribution of a count.

        Parameters
        ----------
        kept : (n,) int64
            Number of features (pairs) that each resample selects.
        cells : int
            Number of features (pairs) that can be selected.
        bias : float
            β, added to the probability of being selected.
        """

    def _resamples(
        self, data: Dataset, n: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """With `own_resamples`: how often each row is in each resample."""
        raise NotImplementedError
