"""The result object of a comparison, for programs and notebooks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.analysis.comparison_display import accuracy_rows, comparison_lines, pair_columns
from fsframe.analysis.comparison_files import (
    check_folder,
    make_folder,
    run_file,
    write_comparison,
)
from fsframe.analysis.results import EvaluationResult, as_result, frame_of
from fsframe.analysis.selection_result import shown_picture
from fsframe.errors import RequestError
from fsframe.evaluation.comparison import Cell, Comparison
from fsframe.plots.kinds import KINDS, draw
from fsframe.storage import RunRecord, check_destination, write_run
from fsframe.text import did_you_mean, html_block, html_table, listed, printable


def _usual_kind(found: Comparison, data: int | None = None) -> str:
    """The default kind of plot of a comparison, or of one of its tables."""
    if data is None and len(found.data) > 1:
        return "cd"
    # A chain that always keeps everything has no stability.
    known = np.isfinite(found.stability[data or 0]).sum()
    return "pareto" if known >= 2 else "roc"


def place_of(wanted: int | str, names: Sequence[str], what: str) -> int:
    """The position of an item given by position or name; RequestError if there is none.

    Examples
    --------
    >>> place_of("knn", ["mim knn", "knn"], "chain"), place_of(-1, ["mim knn", "knn"], "chain")
    (1, 1)
    """
    if isinstance(wanted, str):
        if wanted in names:
            return list(names).index(wanted)
        hint = did_you_mean(wanted, names) or f"; there are {listed(names)}"
        raise RequestError(f"there is no {what} {wanted!r}{hint}")
    if not -len(names) <= wanted < len(names):
        raise RequestError(f"there is no {what} {wanted}; there are {len(names)}, from 0")
    return wanted % len(names)


class ComparedChains:
    """What the results of a comparison and of a study have in common."""

    if TYPE_CHECKING:

        @property
        def comparison(self) -> Comparison:
            """The comparison by the leading measure."""

    @property
    def chains(self) -> tuple[str, ...]:
        """The chains, as they were given."""
        return self.comparison.chains

    @property
    def data(self) -> tuple[str, ...]:
        """Names of the tables."""
        return self.comparison.data

    def result(self, chain: int | str, data: int | str = 0) -> EvaluationResult:
        """The evaluation of one chain on one table."""
        raise NotImplementedError

    def best(self, data: int | str | None = None) -> str:
        """The chain to prefer, on all tables or one of them (`Comparison.best`).

        On one table the chain that keeps the fewest features within one standard error of the best;
        on several the one with the best mean rank.
        """
        place = None if data is None else place_of(data, self.data, "table")
        return self.chains[self.comparison.best(place)]

    def to_sklearn(self, chain: int | str | None = None, data: int | str | None = None) -> Any:
        """A chain as an estimator of scikit-learn, to be fitted; the best one by default.

        Parameters
        ----------
        chain : int or str, optional
            One of `chains`, or its position; by default `best`.
        data : int or str, optional
            The table it is for, where there are several.

        Returns
        -------
        estimator
            As `EvaluationResult.to_sklearn` says; of a study, with its first seed.

        Raises
        ------
        RequestError
            If there is no such chain or table.
        PluginError
            If scikit-learn is not installed.

        Notes
        -----
        The estimate of the best of several chains is optimistic: report the comparison, or evaluate
        the choice itself with a chain of sets (``{mim,jmi}``).
        """
        chosen = self.best(data) if chain is None else chain
        return self.result(chosen, 0 if data is None else data).to_sklearn()

    def to_frame(self, what: str = "results", *, library: str = "polars") -> Any:
        """The results of every chain on every table, or the tests of all pairs, as a data frame.

        Parameters
        ----------
        what : {"results", "pairs"}
            Results: of a study, by every measure. Pairs: mean difference of accuracy (of a study,
            of its first measure), p-values of Student's paired test and of the corrected resampled
            test, and who wins by the latter.
        library : {"polars", "pandas"}

        Raises
        ------
        RequestError
            If there is no such table.
        """
        tables = {
            "results": self._result_columns,
            "pairs": lambda: pair_columns(self.comparison),
        }
        return frame_of(tables, what, library)

    def _result_columns(self) -> dict[str, Any]:
        raise NotImplementedError

    def _shown(self, title: str, facts: Iterable[str], found: Iterable[Comparison]) -> str:
        """Comparisons as HTML, for notebooks."""
        shown = [accuracy_rows(each) for each in found]
        chains = [list(pair) for pair in zip(shown[0][0][1:], self.chains, strict=True)]
        facts = [*facts, "± is the corrected standard error; * the best mean."]
        tables = (html_table(*each) for each in shown)
        return html_block(title, facts, html_table(["", "chain"], chains), *tables)

    def _drawn(
        self, runs: Sequence[RunRecord], kind: str | None, ax: Any, data: int | None = None
    ) -> Any:
        """A plot of some runs by the measure of the comparison."""
        name = _usual_kind(self.comparison, data) if kind is None else kind
        takes = name in KINDS and "metric" in KINDS[name].options
        metric = self.comparison.metric if takes else None
        return shown_picture(draw(name, runs, ax=ax, metric=metric), ax)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ComparisonResult(ComparedChains):
    """Comparison of several chains on identical folds of one or more tables, by `fsframe.compare`.

    Parameters
    ----------
    comparison : Comparison
        Means, tests and ranks.
    cells : n_data rows of n_chains Cells
    records : n_data rows of n_chains RunRecords
        The runs it is based on.
    """

    comparison: Comparison
    cells: Sequence[Sequence[Cell]]
    records: Sequence[Sequence[RunRecord]]

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """(n_data, n_chains) mean accuracy over the splits."""
        return self.comparison.accuracy

    def result(self, chain: int | str, data: int | str = 0) -> EvaluationResult:
        """The evaluation of one chain on one table, by positions or names.

        Raises
        ------
        RequestError
            If there is no such chain or table.
        """
        row = self.records[place_of(data, self.data, "table")]
        found = as_result(row[place_of(chain, self.chains, "chain")])
        assert isinstance(found, EvaluationResult)
        return found

    def __repr__(self) -> str:
        return "\n".join(map(printable, comparison_lines(self.comparison)))

    def _repr_html_(self) -> str:
        return self._shown("Chains on identical folds", (), [self.comparison])

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the run files of all chains and the tables of results to a folder.

        Parameters
        ----------
        folder : path
            Created if it does not exist. `fsframe.load_run` reads a run file in it;
            ``fsframe report``, ``plot`` and ``table`` take the whole folder, and
            ``fsframe compare -o`` continues it.

        Raises
        ------
        StoreError
            If it holds run files or results of something else, or cannot be written.
        """
        target = Path(folder)
        check_folder(target, [])
        runs = {
            run_file(target, self.data[d], self.chains[c]): record
            for d, row in enumerate(self.records)
            for c, record in enumerate(row)
        }
        make_folder(target)
        for path in runs:
            check_destination(path)
        for path, record in runs.items():
            write_run(path, record)
        write_comparison(self.comparison, self.cells, target)
        return target

    def plot(self, kind: str | None = None, ax: Any = None) -> Any:
        """Plot the comparison, as a matplotlib figure.

        Parameters
        ----------
        kind : str, optional
            One of `fsframe.plots.kinds.KINDS` that takes several runs: ``"pareto"``, the measure
            against stability; ``"cd"``, mean ranks with the critical difference; ``"roc"``;
            ``"sets"``. By default ``"cd"`` for several tables, and for one table ``"pareto"`` if
            two chains have a stability, else ``"roc"``.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Raises
        ------
        RequestError
            If there is no such kind, or it takes only one run.
        PluginError
            If matplotlib is not installed.
        """
        return self._drawn([each for row in self.records for each in row], kind, ax)

    def _result_columns(self) -> dict[str, Any]:
        found = self.comparison
        where = [(d, c) for d in range(len(self.data)) for c in range(len(self.chains))]
        fields = (found.accuracy, found.standard_error, found.kept, found.stability, found.seconds)
        values = [[float(table[d, c]) for d, c in where] for table in fields]
        texts = [[self.data[d] for d, _ in where], [self.chains[c] for _, c in where]]
        names = "data,chain,accuracy,standard_error,features_kept,stability,seconds"
        columns: dict[str, Any] = dict(zip(names.split(","), [*texts, *values], strict=True))
        if found.metric != "accuracy":
            columns[found.metric] = [float(found.values[d, c]) for d, c in where]
        return columns
