"""The result object of a chain: it shows, plots and saves itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from fsframe.analysis.display import result_lines
from fsframe.analysis.record_display import feature_rows, pair_heading, pair_rows, table_facts
from fsframe.chains.stage import ChainResult
from fsframe.errors import PluginError, RequestError
from fsframe.plots.canvas import figure_bytes
from fsframe.plots.kinds import draw
from fsframe.registry.importing import needed
from fsframe.storage import write_run
from fsframe.table.dataset import Dataset
from fsframe.text import html_block, html_table, printable

_WARNINGS_SHOWN = 10


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SelectionResult(ChainResult):
    """The result of a chain on a table: a run, with tables, plots and exports.

    Everything of `RunRecord` is there: `selected`, `selected_names`, `scores`, `pairs`, `stages`,
    `to_frame`. `fsframe.select` makes one; `fsframe.load_run` reads one.

    Examples
    --------
    >>> import fsframe
    >>> X = [[1, 5], [2, 5], [9, 4], [8, 6]]
    >>> data = fsframe.Dataset.from_arrays(X, ["a", "a", "b", "b"], name="toy")
    >>> found = fsframe.select("mim:top=1,bins=2", data)
    >>> found.selected_names
    ('f1',)
    >>> found.to_frame().columns
    ['rank', 'feature', 'kept', 'score']
    """

    def __repr__(self) -> str:
        return "\n".join(map(printable, result_lines(self, None)))

    def _repr_html_(self) -> str:
        facts = [table_facts(self), *self._warnings()]
        return html_block(f"{self.chain} on {self.data.name}", facts, *self._tables())

    def _warnings(self) -> Iterator[str]:
        warnings = self.all_warnings()
        yield from (f"warning: {warning}" for warning in warnings[:_WARNINGS_SHOWN])
        if len(warnings) > _WARNINGS_SHOWN:
            yield f"… and {len(warnings) - _WARNINGS_SHOWN} more warnings (all_warnings() has all)"

    def _tables(self) -> Iterator[str]:
        if self.selected.size:
            yield html_table(*feature_rows(self))
        if self.n_pairs:
            yield html_block(pair_heading(self), (), html_table(*pair_rows(self)))

    def plot(
        self,
        kind: str | None = None,
        ax: Any = None,
        *,
        data: Dataset | None = None,
        most: int | None = None,
        pair: tuple[str, str] | None = None,
    ) -> Any:
        """Plot the run, as a matplotlib figure; pyplot is not used.

        Parameters
        ----------
        kind : str, optional
            One of `fsframe.plots.kinds.KINDS` (docs/results.md), such as ``"scores"``,
            ``"matrix"``, ``"tests"``, ``"roc"``, ``"stability"``; by default the one that suits the
            run.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default, which a notebook shows.
        data : Dataset, optional
            The table of the run, for kinds that show values.
        most, pair
            For kinds that take them: the number of features, and the names of two.

        Raises
        ------
        RequestError
            If there is no such kind, or the run lacks what it needs.
        PluginError
            If matplotlib is not installed.
        """
        name = self._kind() if kind is None else kind
        return shown_picture(draw(name, [self], data, ax, most=most, pair=pair), ax)

    def _kind(self) -> str:
        return "scores"

    def to_sklearn(self) -> Any:
        """The selection as a fitted transformer of scikit-learn, for tables with the same columns.

        Returns
        -------
        fsframe.sklearn.ChainSelector
            With the chain, the seed and the selections of this run: `transform` keeps the columns
            that the run kept; `fit` runs the chain again, with the same `always_keep` and
            `feature_groups` (weights, groups, times and covariates of rows are arguments of `fit`).
            A run does not store names of categories: where a stage fills missing values, those of
            categorical columns are refused until `fit`.

        Raises
        ------
        RequestError
            If the chain ends with a classifier: a run does not store fitted classifiers.
        PluginError
            If scikit-learn is not installed.
        """
        fitted_selector = estimators().fitted_selector
        found = [stage.selection for stage in self.stages if stage.selection is not None]
        if len(found) < len(self.stages):
            raise RequestError(
                f"the chain `{self.chain}` ends with a classifier: use it in "
                "fsframe.sklearn.ChainClassifier instead"
            )
        return fitted_selector(
            self.chain,
            found,
            self.feature_names,
            task=self.data.task,
            **self._estimator_settings(),
        )

    def _estimator_settings(self) -> dict[str, Any]:
        """Parameters of an estimator besides the chain, as this run had them."""
        return {
            "always_keep": self.environment.get("keep"),
            "feature_groups": self.environment.get("feature_groups"),
            "random_state": self.seed,
        }

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the run file to `path`; `fsframe.load_run` and ``fsframe show`` read it.

        Raises
        ------
        StoreError
            If the file exists and `overwrite` is false, or it cannot be written.
        """
        target = Path(path)
        write_run(target, self, overwrite=overwrite)
        return target


def estimators() -> Any:
    """The module of estimators of chains; PluginError where scikit-learn is not installed."""
    try:
        from fsframe.sklearn import chain_estimators
    except ImportError:
        raise PluginError(needed("an estimator", "scikit-learn")) from None
    return chain_estimators


def shown_picture(figure: Any, ax: Any) -> Any:
    """The figure; a new one shows itself in a notebook, as figures of pyplot do."""
    if ax is None:
        figure._repr_png_ = lambda: figure_bytes(figure, "png", dpi=90.0)
    return figure
