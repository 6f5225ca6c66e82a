"""Base of the estimators of chains: parameters of stages, and a fit of the chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from fsframe.chains.chain import Chain, Stage
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.sklearn.estimators import StageEstimator, run_of
from fsframe.sklearn.messages import InvalidRequest, as_value_errors, warn_each
from fsframe.sklearn.pickling import blank_chain, own_classes
from fsframe.sklearn.predicting import PredictsRows
from fsframe.sklearn.roles import Roles
from fsframe.sklearn.settings import is_set
from fsframe.sklearn.stage_values import chain_of, stage_keys, stage_values, with_stage_values
from fsframe.sklearn.tables import Codes, Training, training_table
from fsframe.table.survival import LABELS

__all__ = ["ChainEstimator"]


class ChainEstimator(StageEstimator):
    """Base of estimators of chains: the chain, and the parameters of its stages."""

    chain: Any
    selections_: dict[str, Selection]
    _codes: Codes

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep`, those of the stages too, as ``mim__top``."""
        own: dict[str, Any] = super().get_params(deep=False)
        return {**own, **stage_values(self.chain)} if deep else own

    def set_params(self, **params: Any) -> Self:
        """This estimator with other parameters; ``mim__top`` is that of the stage `mim`.

        Raises
        ------
        ValueError
            If there is no such parameter, or no such stage.
        """
        own = self.get_params(deep=False)
        super().set_params(**{k: v for k, v in params.items() if k in own or "__" not in k})
        nested = {name: value for name, value in params.items() if name not in own}
        if nested:
            self.chain = with_stage_values(self.chain, nested)
        return self

    def _chain(self) -> Chain:
        with as_value_errors():
            return chain_of(self.chain)

    def _as_stages(self) -> tuple[Stage, ...]:
        plain = type(self)(self.chain).get_params(deep=False)
        values = self.get_params(deep=False).items()
        own = [n for n, v in values if n != "chain" and is_set(v, plain[n])]
        if own:
            raise InvalidRequest(
                f"{type(self).__name__} is part of a chain here: set {', '.join(own)} on the "
                "estimator that contains it"
            )
        return self._chain().stages

    def __reduce__(self) -> tuple[Any, ...]:
        return blank_chain, (type(self), own_classes(self._chain)), self.__getstate__()

    def _run_chain(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        roles: Roles,
        task: str,
    ) -> None:
        """Run the chain on a table and store the selections of its stages."""
        run, chain = run_of(self), self._chain()
        with as_value_errors():
            training = training_table(
                self, chain, X, y, sample_weight, groups, roles, task=task, tasks=_tasks(chain)
            )
            chain.check_request(training.data)
            results = list(chain.steps(training.data, run, training.upstream))
        self._set_selections([result.selection for result in results], training.codes)
        if isinstance(self, PredictsRows):
            fitted = results[-1].fitted
            assert fitted is not None
            self._set_fitted(training, fitted)
        warn_each(self._warnings(training), type(self).__name__)

    def _set_selections(self, found: Sequence[Selection | None], codes: Codes) -> None:
        """Store the selections of the stages; a classifier has none."""
        keys = stage_keys(str(self._chain()))
        self.selections_ = {
            key: selection
            for key, selection in zip(keys, found, strict=True)
            if selection is not None
        }
        if self.selections_:
            self.selection_ = list(self.selections_.values())[-1]
        elif hasattr(self, "selection_"):
            del self.selection_
        self._codes = codes

    def _warnings(self, training: Training) -> Iterator[str]:
        yield from training.data.warnings
        for key, found in self.selections_.items():
            yield from (f"{key}: {text}" for text in found.warnings)


def _tasks(chain: Chain) -> tuple[str, ...]:
    """The tasks that all stages support."""
    last = chain.classifier
    found = set(LABELS) if last is None else set(last.predicts())
    for stage in chain.selecting:
        if isinstance(stage.method, Selector):
            found &= stage.method.tasks
    # If no task is left, the stage that does not support the task refuses it.
    return tuple(sorted(found)) or ("classification", "regression")
