"""Find the comparison or the study given as an argument."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from fsframe.cli.run_file import find_runs

if TYPE_CHECKING:
    from fsframe.storage.study_file import StudyCell, StudyRecord

__all__ = ["FoundComparison", "find_comparison"]


@attrs.frozen(kw_only=True)
class FoundComparison:
    """Evaluations of every chain on every table.

    Parameters
    ----------
    study : StudyRecord
    file : Path or None
        The file of a study.
    where : mapping of StudyCell to Path, or None
        The run files of a comparison.
    name : Path
        Default path of files about it, without ending.
    """

    study: StudyRecord
    file: Path | None
    where: Mapping[StudyCell, Path] | None
    name: Path

    def used(self) -> list[str | Path]:
        """Its files and its tables, which must not be replaced."""
        files = [self.file] if self.file else [*(self.where or {}).values()]
        return [*files, *filter(None, {run.data.source for run in self.study.runs.values()})]


def find_comparison(text: str) -> FoundComparison | None:
    """The study in a file or its folder, or the comparison in a folder; None for anything else.

    Raises
    ------
    StoreError
        If a file in it is damaged.
    RequestError
        If its runs do not make a comparison.
    """
    from fsframe.analysis.comparison_files import recorded_request
    from fsframe.evaluation.study_results import study_of_runs
    from fsframe.storage import load_run
    from fsframe.storage.study_file import load_study

    path = Path(text)
    inside = path / "study.zip"
    if path.suffix == ".zip" or inside.is_file():
        file = inside if inside.is_file() else path
        study = load_study(file)
        return FoundComparison(study=study, file=file, where=None, name=file.with_suffix(""))
    asked = recorded_request(path) if path.is_dir() else None
    if asked is None:
        return None
    (chains, metric), folder, files = asked, path.resolve(), find_runs([text])
    records = [load_run(file) for file in files]
    study = study_of_runs(records, chains, [metric], name=folder.name)
    places = {id(record): file for record, file in zip(records, files, strict=True)}
    where = {cell: places[id(run)] for cell, run in study.runs.items()}
    return FoundComparison(study=study, file=None, where=where, name=folder)
