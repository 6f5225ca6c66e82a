"""Results of comparisons and studies, for programs and notebooks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.atomic import check_destination
from fsframe.errors import RequestError, StoreError
from fsframe.evaluation.comparison import Comparison, described_tables, study_comparisons
from fsframe.show.comparisons import (
    MARKS,
    check_folder,
    check_kept,
    comparison_lines,
    make_folder,
    pair_columns,
    result_columns,
    result_rows,
    run_file,
    study_object,
    write_comparison,
)
from fsframe.show.page import write_folder
from fsframe.show.plots import draw, known_kinds
from fsframe.show.results import EvaluationResult, as_result, frame_of, shown_picture
from fsframe.storage import write_run
from fsframe.storage.study_file import STUDY_FILE, StudyCell, StudyRecord, write_study
from fsframe.storage.study_file import load_study as read_study
from fsframe.storage.write import run_file_content
from fsframe.text import (
    counted,
    did_you_mean,
    html_block,
    html_table,
    json_text,
    listed,
    printable,
)


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


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ComparisonResult:
    """Comparison of several chains on identical folds of one or more tables, by `fsframe.compare`.

    Parameters
    ----------
    record : StudyRecord
        The request, and every run.
    """

    record: StudyRecord

    @property
    def chains(self) -> tuple[str, ...]:
        """The chains, as they were given."""
        return self.record.chains

    @property
    def data(self) -> tuple[str, ...]:
        """Names of the tables."""
        return self.record.tables

    @cached_property
    def comparisons(self) -> Mapping[str, Comparison]:
        """The comparison of the chains by each measure: means, tests, ranks."""
        try:
            return study_comparisons(self.record)
        except (KeyError, ValueError) as error:
            raise StoreError(f"the runs of the study are inconsistent: {error}") from error

    @property
    def comparison(self) -> Comparison:
        """The comparison by the first measure."""
        return self.comparisons[self.record.measures[0]]

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """(n_data, n_chains) mean accuracy over the splits; NaN without classes, where
        `comparison.values` has the measure that the chains are compared by."""
        return self.comparison.accuracy

    def result(
        self, chain: int | str, data: int | str = 0, seed: int | None = None
    ) -> EvaluationResult:
        """The evaluation of one chain on one table with one seed.

        Parameters
        ----------
        chain, data : int or str
            By position or name. A classifier on all features counts as a chain, on tables that it
            accepts.
        seed : int, optional
            One of the seeds of a study; the first by default.

        Raises
        ------
        RequestError
            If there is no such run.
        """
        every, seeds = (*self.chains, *self.record.beside), self.record.seeds
        if seed is not None and seed not in seeds:
            raise RequestError(f"there is no seed {seed}; there are {', '.join(map(str, seeds))}")
        cell = StudyCell(
            place_of(data, self.data, "table"),
            place_of(chain, every, "chain"),
            0 if seed is None else seeds.index(seed),
        )
        if cell not in self.record.runs:
            raise RequestError(f"{every[cell.chain]} does not take all features of {data}")
        result = as_result(self.record.runs[cell])
        assert isinstance(result, EvaluationResult)
        return result

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
            The table that the chain is for, if there are several.

        Returns
        -------
        estimator
            As described in `EvaluationResult.to_sklearn`; for a study, with its first seed.

        Raises
        ------
        RequestError
            If there is no such chain or table.

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
            Results: the columns of `results.csv`, for a study by every measure; the rows of each
            table end with its baselines. Pairs: mean difference by the first measure, p-values of
            Student's paired test and of the corrected resampled test, and the outcome of the
            latter.
        library : {"polars", "pandas"}

        Raises
        ------
        RequestError
            If there is no such table.
        """
        results = result_columns(self.comparisons.values())
        # Baselines have no marks.
        for name in ("on_front", "fewest_features"):
            results[name] = [mark is True for mark in results[name]]
        return frame_of({"results": results, "pairs": pair_columns(self.comparison)}, what, library)

    def to_json(self) -> str:
        """The request and the comparison by each measure in JSON, as ``fsframe show --json``."""
        return json_text(study_object(self.record, self.comparisons))

    def plot(
        self, kind: str | None = None, ax: Any = None, *, data: int | str | None = None
    ) -> Any:
        """Plot the runs as a matplotlib figure; of a study, those with the first seed.

        Kinds that show a measure use the first.

        Parameters
        ----------
        kind : str, optional
            One of `fsframe.show.plots.known_kinds` that takes several runs: ``"pareto"``, the
            measure against stability; ``"cd"``, mean ranks with the critical difference; ``"roc"``;
            ``"sets"``. By default ``"cd"`` for several tables, and for one table ``"pareto"`` if
            two chains have a stability, else ``"roc"``; of a single chain the default plot of its
            evaluation, on the first table unless `data` names one.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        data : int or str, optional
            The table, for kinds that show one.

        Raises
        ------
        RequestError
            If there is no such kind, or it takes only one run.
        """
        place = None if data is None else place_of(data, self.data, "table")
        if kind is None and len(self.chains) == 1:
            return self.result(0, place or 0).plot(ax=ax)
        rows = self.record.first_runs()
        runs = [run for row in (rows if place is None else [rows[place]]) for run in row]
        if kind is None and place is None and len(self.data) > 1:
            kind = "cd"
        elif kind is None:
            # A chain that always keeps everything has no stability.
            stable = np.isfinite(self.comparison.stability[place or 0]).sum()
            kind = "pareto" if stable >= 2 else "roc"
        known = known_kinds()
        takes = kind in known and "metric" in known[kind].options
        metric = self.comparison.metric if takes else None
        return shown_picture(draw(kind, runs, ax=ax, metric=metric), ax)

    def _title(self) -> str:
        return "Chains on identical folds"

    def __repr__(self) -> str:
        return "\n".join(map(printable, comparison_lines(self.comparison)))

    def _repr_html_(self) -> str:
        tables = []
        for comparison in self.comparisons.values():
            for d, data in enumerate(self.data):
                (_, *header), rows, numbers = result_rows(comparison, d, self.chains)
                header = [f"{data}, {comparison.metric}", *header]
                tables.append(html_table(header, rows, numbers))
        return html_block(self._title(), [*described_tables(self.record), MARKS], *tables)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the run files of all chains and the table of results to a folder.

        Parameters
        ----------
        path : path
            The folder, created if it does not exist. `fsframe.load_run` reads a run file in it;
            ``fsframe report``, ``plot`` and ``table`` take the whole folder, and
            ``fsframe compare -o`` continues it.
        overwrite : bool
            Whether run files that exist may be replaced, and a table of other results.

        Raises
        ------
        StoreError
            If a run file exists and `overwrite` is false, if ``results.csv`` does not come from a
            comparison, or if the folder cannot be written.
        """
        target = Path(path)
        check_folder(target, [])
        if not overwrite:
            check_kept(target, self.data, self.chains)
        make_folder(target)
        runs = {run_file(target, *self.record.named(c)): r for c, r in self.record.runs.items()}
        for file in runs:
            check_destination(file, overwrite=overwrite)
        for file, run in runs.items():
            write_run(file, run, overwrite=overwrite)
        write_comparison(self.comparison, target)
        return target


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StudyResult(ComparisonResult):
    """Results of chains on tables by several measures and seeds, by `fsframe.study`.

    Parameters
    ----------
    record : StudyRecord
        The request, and every run.

    Examples
    --------
    >>> import numpy as np, fsframe
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> data = fsframe.Dataset.from_arrays(X, X[:, 2] > 0, name="toy")
    >>> chains = ["mim:top=1 knn", "mim:top=4 knn"]
    >>> result = fsframe.study(data, chains, measures=["auc"], folds=3)
    >>> result.best()
    'mim:top=1 knn'
    >>> result.to_frame().columns[:4]
    ['data', 'chain', 'metric', 'value']
    """

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.record.name

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures; chains are compared by the first."""
        return self.record.measures

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds; the folds of all of them are pooled."""
        return self.record.seeds

    def __repr__(self) -> str:
        lines = [self._title(), f"tables: {'; '.join(described_tables(self.record))}", ""]
        return "\n".join(map(printable, [*lines, *comparison_lines(self.comparison)]))

    def _title(self) -> str:
        seeds = f"seed{'s' * (len(self.seeds) > 1)} {', '.join(map(str, self.seeds))}"
        return (
            f"{self.name}: {counted(len(self.chains), 'chain')} on "
            f"{counted(len(self.data), 'table')} by {', '.join(self.measures)}; {seeds}"
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the study to a file, or to a folder with its tables, texts and plots.

        Parameters
        ----------
        path : path
            A file if it ends with ``.zip``, else a folder for the files that ``fsframe study``
            writes. `fsframe.load_study` reads both; ``fsframe study``, ``report``, ``plot`` and
            ``table`` accept both.
        overwrite : bool
            Whether an existing study, and files that no study has written, may be replaced.

        Returns
        -------
        Path
            Path of the file.

        Raises
        ------
        StoreError
            If something else exists there, or the study cannot be written.
        """
        target = Path(os.path.abspath(path))
        folder = None if target.suffix == ".zip" else target
        file = target if folder is None else folder / STUDY_FILE
        if folder is None or folder.exists():
            check_destination(file, overwrite=overwrite)
        if folder is not None:
            write_folder(self.record, self.comparisons, folder, overwrite=overwrite)
        images = {cell: run_file_content(run) for cell, run in self.record.runs.items()}
        return write_study(
            file, self.record.asked(), images, self.record.source, overwrite=overwrite
        )


def load_study(path: str | os.PathLike[str]) -> StudyResult:
    """The study in a file, or in the folder of a study.

    Parameters
    ----------
    path : path
        ``study.zip`` or its folder. It may be untrusted: nothing that it names is built or
        imported.

    Raises
    ------
    StoreError
        If there is no study, or a run in it is damaged.
    """
    place = Path(path)
    return StudyResult(record=read_study(place / STUDY_FILE if place.is_dir() else place))
