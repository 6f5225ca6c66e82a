"""Weights of pairs of features: joint mutual information with the class, or synergy."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.params import choice, param
from fsframe.contracts.run import Run
from fsframe.contracts.selection import PairWeights
from fsframe.errors import RequestError
from fsframe_infotheory.engine.encode import Encoded
from fsframe_infotheory.engine.part_counts import EncodedParts, counter_of, partner_of

__all__ = ["PairParameters", "pair_informations"]


def pair_informations(
    encoded: Encoded | EncodedParts, columns: NDArray[np.intp], kind: str, run: Run
) -> PairWeights:
    """Informations of all pairs of `columns` about the class, in bits.

    Parameters
    ----------
    encoded : Encoded
        The table, with its codes.
    columns : (m,) int
    kind : str
        ``"synergy"``: I(X_i; X_j | Y) − I(X_i; X_j), the joint information minus the sum of
        both, negative for redundant features; ``"joint"``:
        I(X_i, X_j; Y).
    run : Run
        Threads and the bound on memory.

    Returns
    -------
    PairWeights
        The diagonal holds I(X_i; Y).

    Raises
    ------
    RequestError
        If the m × m weights would take more than half of the memory allowed.

    Notes
    -----
    One pass over all features per column, O(m p n) time, 8 m² bytes.
    """
    m = len(columns)
    if 8 * m * m > run.memory // 2:
        raise RequestError(
            f"weights of {m} × {m} pairs take {8 * m * m / 1e9:.1f} GB, more than half of the "
            f"{run.memory / 1e9:.1f} GB allowed; use pair_columns=selected, put a filter such as "
            "mim:top=2000 before, or allow more memory"
        )
    weights = np.empty((m, m))
    relevance = encoded.relevance[columns]
    with counter_of(encoded, run) as counter:
        for i, column in enumerate(columns):
            terms = counter.terms(partner_of(encoded, int(column)))
            if kind == "joint":
                values = terms.joint_relevance
            else:
                values = terms.conditional_redundancy - terms.redundancy
            weights[i, i] = relevance[i]
            weights[i, i + 1 :] = weights[i + 1 :, i] = values[columns[i + 1 :]]
            run.progress(i + 1, m, "pairs")
    return PairWeights(columns, weights)


# Without slots, so that it can be mixed with a base that has them.
@attrs.frozen(kw_only=True, slots=False)
class PairParameters:
    """Parameters of filters that give pair weights on request."""

    pairs: str = param(
        "none",
        choice("none", "synergy", "joint"),
        help="Pair weights: I(Xi; Xj | Y) − I(Xi; Xj), I(Xi, Xj; Y), or none.",
    )
    pair_columns: str = param(
        "all",
        choice("all", "selected"),
        help="Features to form pairs of: all (8 bytes per pair), or those selected.",
    )

    def weigh_pairs(
        self, encoded: Encoded | EncodedParts, selected: NDArray[np.intp], run: Run, unit: float
    ) -> PairWeights | None:
        """The pair weights that the parameters ask for, in `unit` per bit."""
        if self.pairs == "none":
            return None
        every = self.pair_columns == "all"
        columns = np.arange(encoded.n_features) if every else np.sort(selected)
        found = pair_informations(encoded, columns, self.pairs, run)
        return PairWeights(columns, np.asarray(found.matrix) * unit)
