"""The result object of a study, for programs and notebooks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from fsframe.analysis.comparison_display import comparison_lines, result_columns
from fsframe.analysis.comparison_result import ComparedChains, place_of
from fsframe.analysis.results import EvaluationResult, as_result
from fsframe.analysis.study_files import write_folder
from fsframe.errors import RequestError, StoreError
from fsframe.evaluation.comparison import Comparison, described_tables, study_comparisons
from fsframe.storage import check_destination
from fsframe.storage.study_file import STUDY_FILE, StudyCell, StudyRecord, write_study
from fsframe.storage.study_file import load_study as read_study
from fsframe.storage.write import run_file_content
from fsframe.text import counted, printable


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StudyResult(ComparedChains):
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
    >>> found = fsframe.study(data, chains, measures=["auc"], folds=3)
    >>> found.best()
    'mim:top=1 knn'
    >>> found.to_frame().columns[:4]
    ['data', 'chain', 'metric', 'value']
    """

    record: StudyRecord

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.record.name

    @property
    def chains(self) -> tuple[str, ...]:
        """The chains, as they were given."""
        return self.record.chains

    @property
    def data(self) -> tuple[str, ...]:
        """Names of the tables."""
        return self.record.tables

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures; chains are compared by the first."""
        return self.record.measures

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds; the folds of all of them are pooled."""
        return self.record.seeds

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
        return self.comparisons[self.measures[0]]

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
            One of `seeds`; the first by default.

        Raises
        ------
        RequestError
            If there is no such run.
        """
        every = (*self.chains, *self.record.beside)
        if seed is not None and seed not in self.seeds:
            raise RequestError(
                f"there is no seed {seed}; there are {', '.join(map(str, self.seeds))}"
            )
        cell = StudyCell(
            place_of(data, self.data, "table"),
            place_of(chain, every, "chain"),
            0 if seed is None else self.seeds.index(seed),
        )
        if cell not in self.record.runs:
            raise RequestError(f"{every[cell.chain]} does not take all features of {data}")
        found = as_result(self.record.runs[cell])
        assert isinstance(found, EvaluationResult)
        return found

    def __repr__(self) -> str:
        lines = [self._title(), f"tables: {'; '.join(described_tables(self.record))}", ""]
        return "\n".join(map(printable, [*lines, *comparison_lines(self.comparison)]))

    def _title(self) -> str:
        seeds = f"seed{'s' * (len(self.seeds) > 1)} {', '.join(map(str, self.seeds))}"
        return (
            f"{self.name}: {counted(len(self.chains), 'chain')} on "
            f"{counted(len(self.data), 'table')} by {', '.join(self.measures)}; {seeds}"
        )

    def _repr_html_(self) -> str:
        return self._shown(self._title(), described_tables(self.record), self.comparisons.values())

    def _result_columns(self) -> dict[str, Any]:
        columns = result_columns(self.comparisons.values())
        # Baselines have no marks.
        marks = ("on_front", "fewest_features")
        return columns | {name: [mark is True for mark in columns[name]] for name in marks}

    def plot(
        self, kind: str | None = None, ax: Any = None, *, data: int | str | None = None
    ) -> Any:
        """Plot the runs with the first seed by the first measure, as a matplotlib figure.

        Parameters
        ----------
        kind : str, optional
            As in `ComparisonResult.plot`, with its defaults.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        data : int or str, optional
            The table, for kinds that show one.

        Raises
        ------
        RequestError
            If there is no such kind, or it takes only one run.
        PluginError
            If matplotlib is not installed.
        """
        place = None if data is None else place_of(data, self.data, "table")
        tables = range(len(self.data)) if place is None else [place]
        runs = [
            self.record.runs[StudyCell(t, c, 0)] for t in tables for c in range(len(self.chains))
        ]
        return self._drawn(runs, kind, ax, place)

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
        If there is none, or any run in it is damaged.
    """
    place = Path(path)
    return StudyResult(record=read_study(place / STUDY_FILE if place.is_dir() else place))
