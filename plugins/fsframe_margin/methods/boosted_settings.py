"""The parameters of BIM, as a selector and as a classifier, and its rounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.kinds import MOST_TIMES
from fsframe.method.run import Run, size_text
from fsframe.method.selection import Selection
from fsframe.params import Parameterised, choice, flag, integer, param, real
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.training import Training
from fsframe_margin.engine.updates import RULES
from fsframe_margin.methods.immigrate import descend
from fsframe_margin.methods.immigrate_fit import dense_start
from fsframe_margin.methods.margin_selector import standardize_parameter
from fsframe_margin.methods.prototypes import prototypes_parameter, with_prototypes

if TYPE_CHECKING:
    from fsframe_margin.engine.boosting import Boosted
    from fsframe_margin.engine.margins import PairSpace

__all__ = ["PROTOTYPES", "BoostedSettings"]

Floats = NDArray[np.float64]

_PAPER = "Zhao, Hong, Liu"

# Key of the random stream for prototypes; the keys of rounds are their numbers.
PROTOTYPES = 1 << 31


# Without slots, so that it can be a base class together with Selector or Classifier.
@attrs.frozen(kw_only=True, slots=False)
class BoostedSettings(Parameterised):
    """Parameters of Algorithm 3."""

    rounds: int = param(
        100,
        integer(1, MOST_TIMES),
        help="Number of boosting rounds.",
        symbol="T",
        source=f"{_PAPER}, §4.2",
    )
    sigma_max: float = param(
        4.0, real(above=0), help="σ in the first round.", symbol="σ_max", source=f"{_PAPER}, §4.2"
    )
    sigma_min: float = param(
        0.2,
        real(above=0),
        help="σ that the rounds converge to.",
        symbol="σ_min",
        source=f"{_PAPER}, §4.2",
    )
    max_iter: int = param(
        5,
        integer(1),
        help="Maximum number of updates per round; few keep the learners weak.",
        source=f"{_PAPER}, Algorithm 3",
    )
    update: str = param(
        "elementwise",
        choice(*RULES),
        help="Update rule of step 2, as in immigrate.",
    )
    line_search: bool = param(True, flag(), help="Line search, as in immigrate.")
    start: str = param(
        "random",
        choice("random", "upstream", "identity"),
        help="Start of W in every round: random, the upstream weights, or I/√A.",
        source=f"{_PAPER}, Algorithm 3",
    )
    standardize: bool = standardize_parameter()
    prototypes: int | None = prototypes_parameter()

    def check_parameters(self) -> Iterator[str]:
        if self.sigma_min > self.sigma_max:
            yield "sigma_min must not be larger than sigma_max"

    def learned_from(self, training: Training, run: Run) -> Training:
        """The rows that the rounds learn from: all of them, or prototypes."""
        return with_prototypes(training, self.prototypes, run.generator(PROTOTYPES))

    def boosted(
        self,
        data: Dataset,
        training: Training,
        space: PairSpace,
        upstream: Selection | None,
        run: Run,
    ) -> Boosted:
        """The rounds on the rows of `training`, with their pairs in `space`.

        Finished rounds are kept with the run.
        """
        from fsframe_margin.engine.boosting import boost, sigma_path

        size = training.varying.size
        held = 16 * self.rounds * size * size
        if held > run.memory:
            raise DataError(
                f"bim: {self.rounds} rounds over {size} columns hold {size_text(held)} of "
                f"weights, more than the {size_text(run.memory)} allowed; screen first "
                "(`im4e bim`), lower rounds, or raise the memory bound"
            )
        units = run.units(f"{type(self).__name__} {self.values()}", data, upstream)
        # One object for all rounds, unless each has a random start of its own.
        first = dense_start(training, upstream, self.start, run)
        drawn = self.start == "random"
        return boost(
            space,
            sigma_path(self.sigma_max, self.sigma_min, self.rounds),
            training.n_classes,
            lambda t: dense_start(training, upstream, "random", run, t) if t and drawn else first,
            self._short_descent,
            lambda done: run.progress(done, self.rounds, "boosting rounds"),
            units.get,
        )

    def _short_descent(self, space: PairSpace, start: Floats, sigma: float) -> Floats:
        weights: Floats = descend(
            space,
            start,
            sigma,
            rule=self.update,
            line_search=self.line_search,
            max_iter=self.max_iter,
            tol=1e-5 if self.line_search else 0.0,
            keep_best=self.line_search,
        ).weights
        return weights
