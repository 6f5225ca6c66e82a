"""Arguments that name run files, comparisons and studies; their tables; names of new run files."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from fsframe import storage
from fsframe.cli.terminal import say
from fsframe.errors import DataError, FsframeError, RequestError, StoreError
from fsframe.grammar import StageText
from fsframe.system import STDOUT_PATHS
from fsframe.text import did_you_mean

if TYPE_CHECKING:
    from fsframe.show.comparisons import TableOfResults
    from fsframe.storage.study_file import StudyCell, StudyRecord
    from fsframe.table.dataset import Dataset

_LONGEST = 100
_ODD = re.compile(r"[^A-Za-z0-9=.,+_-]+")


def find_run(text: str) -> Path:
    """The path of the run file that `text` names.

    A bare name that is not in this folder is looked up in its subfolders, since run files are
    written beside the data; a single match is used, with a note on stderr.

    Raises
    ------
    StoreError
        If there is no such file, several match, or its run is not finished.
    """
    path = Path(text)
    if path.is_file():
        return path
    if path.is_dir():
        raise StoreError(f"{text} is a folder; name a run file in it")
    if path.name == text:
        below = sorted(file for file in Path().glob(f"*/{glob.escape(text)}") if file.is_file())
        if len(below) == 1:
            say(f"note: reading {below[0]}", err=True)
            return below[0]
        if below:
            several = ", ".join(map(str, below))
            raise StoreError(
                f"there is no {text} here, but there are several in subfolders: "
                f"{several}; name one of them"
            )
    if is_unfinished(path):
        raise StoreError(
            f"{text} is not finished: `fsframe resume {shlex.quote(text)}` continues it, unless "
            "its command still runs"
        )
    folder = path.parent
    near = [str(file) for file in folder.glob("*.h5")] if folder.is_dir() else []
    raise StoreError(f"there is no run file {text!r}{did_you_mean(text, near)}")


def is_unfinished(out: Path) -> bool:
    """Whether there is work of an unfinished run that is to write `out`.

    A folder of units that is empty was left only because it could not be removed.
    """
    from fsframe.storage.checkpoint import units_folder

    folder = units_folder(out)
    if not folder.is_dir():
        return False
    with contextlib.suppress(OSError):
        return not set(os.listdir(folder)) <= {"lock"}
    return True


def find_runs(texts: Sequence[str]) -> list[Path]:
    """The run files that `texts` name; a folder stands for all run files in it, in order of name.

    Raises
    ------
    StoreError
        As `find_run`, or if a folder has none.
    """
    from fsframe.storage.spec import is_run_file

    paths: list[Path] = []
    for text in texts:
        folder = Path(text)
        if not folder.is_dir():
            paths.append(find_run(text))
            continue
        inside = [path for path in sorted(folder.glob("*.h5")) if is_run_file(path)]
        if not inside:
            raise StoreError(f"there is no run file in the folder {text}")
        paths += inside
    return paths


def open_run(text: str) -> tuple[Path, storage.RunRecord]:
    """The path of the run file that `text` names, and what it holds.

    Raises
    ------
    StoreError
        As `find_run`, or if the file is no run file or is damaged.
    """
    path = find_run(text)
    return path, storage.load_run(path)


def table_after_on(words: Sequence[str], example: str) -> str | None:
    """The table that a command names as ``on DATA``; None if it names none.

    Raises
    ------
    RequestError
        If `words` are anything else; `example` is the command as it is typed.
    """
    if words and (len(words) != 2 or words[0] != "on"):
        raise RequestError(f"name the table: {example}")
    return words[1] if words else None


def stored_reading(record: storage.RunRecord) -> dict[str, Any]:
    """The arguments of `fsframe.read` stored in a run file; invalid ones are ignored."""
    return valid_reading(record.environment.get("reading"))


def valid_reading(reading: Any) -> dict[str, Any]:
    """The valid arguments of `fsframe.read` among those of a file, which may be untrusted."""
    from fsframe.evaluation.study_plan import of_texts
    from fsframe.table.reading_options import stored_types

    # Feature groups as a dict only: a path to a file of them could come from anybody.
    kinds = {**stored_types(), "feature_groups": (dict,)}
    return {
        key: value
        for key, value in (reading.items() if isinstance(reading, dict) else ())
        if type(value) in kinds.get(key, ()) and of_texts(value, (str, int))
    }


def check_reader_of_run(record: storage.RunRecord, path: str) -> None:
    """Raise PluginError if a plugin read the run's table, and is not there to read `path`."""
    from fsframe.table.reader import check_reader

    reading = record.environment.get("reading")
    reader = reading.get("reader") if isinstance(reading, dict) else None
    check_reader(reader, path, record.data.source)


def source_of_run(record: storage.RunRecord, file: Path, given: str | None, how: str) -> str:
    """The path of the run's table: the `given` one, or where it is found (`tables_at`).

    Raises
    ------
    DataError
        If it is not there any more; `how` says how to give its path.
    """
    if given:
        return given
    source = record.data.source
    places = tables_at(source, file)
    if not places:
        raise DataError(
            f"the table the run was made on ({source or 'location unknown'}) is not there; give "
            f"its path: {how}"
        )
    for place in places if len(places) > 1 else ():
        with contextlib.suppress(FsframeError):
            if table_of_run(record, place).sha256 == record.data.sha256:
                return place
    return places[0]


def tables_at(source: str, file: Path) -> list[str]:
    """The tables, whole or in parts, that a path recorded for the run file `file` may mean.

    It is read from the current folder, then from that of the run file, and last as a name there.
    """
    from fsframe.table.reader import in_parts

    folder = file.parent
    paths = [source, str(folder / source), str(folder / Path(source).name)] if source else []
    tables: dict[str, str] = {}
    for path in paths:
        # A path in a file of somebody else may be too long for the system.
        with contextlib.suppress(OSError):
            if Path(path).is_file() or in_parts(path):
                tables.setdefault(os.path.abspath(path), path)
    return list(tables.values())


def table_of_run(record: storage.RunRecord, source: str, **given: Any) -> Dataset:
    """Read the table of a run with the arguments of the run, except for those that are `given`.

    Raises
    ------
    DataError
        If the table cannot be read.
    PluginError
        If the plugin that read the table for the run is not there.
    """
    from fsframe.table.read import read

    check_reader_of_run(record, source)
    arguments = {**stored_reading(record), **given}
    if "event" not in arguments:
        arguments.setdefault("task", record.data.task)
    if "label" in arguments:
        return read(source, **arguments)
    try:
        return read(source, **{**arguments, "label": record.data.label})
    except DataError:
        # The label of arrays is not a column; a name may look like a number.
        return read(source, **arguments)


def table_for(
    what: str, record: storage.RunRecord, file: Path, given: str | None, wanted: bool
) -> Dataset | None:
    """The table `given`, or else, if `wanted`, that of the run.

    None, and a note that `what` is missing, if it is gone or has changed.
    """
    if given:
        return table_of_run(record, given)
    if not wanted:
        return None
    source = record.data.source
    why = []
    for place in tables_at(source, file):
        try:
            data = table_of_run(record, place)
        except FsframeError as error:
            why.append(str(error))
        else:
            if data.sha256 == record.data.sha256:
                return data
            why.append(f"{place} is no longer the table the run was made on")
    missing = f"{source or 'the table'} is not there"
    say(
        f"note: without {what}: {'; '.join(why) or missing} (give its path with `on DATA`; "
        "--no-means hides this note)",
        err=True,
    )
    return None


def not_to_replace(
    paths: Iterable[Path], records: Iterable[storage.RunRecord], *tables: str | None
) -> list[str | Path]:
    """The files that no output may replace: run files, the tables of their runs, other `tables`.

    Tables without a path are left out.
    """
    sources, files = {record.data.source for record in records}, list(paths)
    beside = {path.parent: path for path in files}.values()
    found = (place for source in sources for file in beside for place in tables_at(source, file))
    return [*files, *filter(None, dict.fromkeys([*tables, *sources, *found]))]


@attrs.frozen(kw_only=True)
class NamedResults:
    """The runs that a command was asked to show, and the study or comparison that they form.

    A comparison has a run file for each cell (`where`), a study a single file. `name` is the
    default path of output files, without their ending.
    """

    records: Sequence[storage.RunRecord]
    paths: Sequence[Path]
    name: Path
    study: StudyRecord | None = None
    where: Mapping[StudyCell, Path] | None = None

    def used(self, table: str | None = None) -> list[str | Path]:
        """The files and tables that must not be replaced."""
        return not_to_replace(self.paths, self.records, table)

    def named(self, ending: str) -> Path:
        """The default path of an output file."""
        return self.name.with_name(f"{self.name.name}.{ending}")


def find_results(texts: Sequence[str], *, comparisons: bool, folders: bool = True) -> NamedResults:
    """The results that `texts` name: run files or, if accepted, a comparison or a folder of runs.

    Raises
    ------
    StoreError, RequestError
        As `find_runs` and `find_comparison`.
    """
    named = find_comparison(texts[0]) if comparisons and len(texts) == 1 else None
    if named is not None:
        return named
    paths = find_runs(texts) if folders else list(map(find_run, texts))
    records = list(map(storage.load_run, paths))
    return NamedResults(records=records, paths=paths, name=paths[0].with_suffix(""))


def study_file(text: str) -> Path | None:
    """The file of the study that `text` names, itself or by its folder; None for anything else."""
    path = Path(text)
    inside = path / "study.zip"
    if inside.is_file():
        return inside
    return path if path.suffix == ".zip" else None


def files_named(text: str) -> list[Path]:
    """The study, or the run files, that `text` names.

    Raises
    ------
    StoreError
        As `find_runs`.
    """
    file = study_file(text)
    return find_runs([text]) if file is None else [file]


def find_comparison(text: str) -> NamedResults | None:
    """The study in a file or its folder, or the comparison in a folder; None for anything else.

    Raises
    ------
    StoreError
        If a file of the study or the comparison is damaged.
    RequestError
        If the runs in the folder do not form a comparison.
    """
    file = study_file(text)
    if file is None and not Path(text).is_dir():
        return None

    from fsframe.evaluation.comparison import study_of_runs
    from fsframe.show.comparisons import recorded_results
    from fsframe.storage.study_file import load_study

    if file is not None:
        study = load_study(file)
        records = list(study.runs.values())
        return NamedResults(records=records, paths=[file], name=file.with_suffix(""), study=study)
    results = recorded_results(Path(text))
    if results is None:
        return None
    folder, files = Path(text).resolve(), find_runs([text])
    records = [storage.load_run(file) for file in files]
    of_table = [record for record in records if _is_row(record, results)]
    study = study_of_runs(of_table, results.chains, [results.metric], name=folder.name)
    places = {id(record): file for record, file in zip(records, files, strict=True)}
    where = {cell: places[id(run)] for cell, run in study.runs.items()}
    return NamedResults(records=records, paths=files, name=folder, study=study, where=where)


def _is_row(record: storage.RunRecord, results: TableOfResults) -> bool:
    """Whether the table has a row of this run; true of a run that can be in none."""
    from fsframe.evaluation.recorded import RecordedEvaluation, recorded_protocol

    recorded = recorded_protocol(record)
    return not isinstance(recorded, RecordedEvaluation) or results.holds(
        record.data.name, recorded.base
    )


def is_stdout(path: str) -> bool:
    """Whether an output path stands for standard output.

    >>> is_stdout("-"), is_stdout("/dev/stdout"), is_stdout("-.csv")
    (True, True, False)
    """
    return path == "-" or path in STDOUT_PATHS


def run_path(data: Path, stages: Sequence[StageText]) -> Path:
    """Default path of a run file: beside the data, named by data, stages and parameters.

    For a table in parts, the file is beside the folder, so that it is not one of the parts.

    Parameters
    ----------
    data : Path
    stages : sequence of StageText
        Stages with the parameters to include: those that differ from their defaults.

    Notes
    -----
    A name has letters, digits and ``=.,+_-`` only, at most 100 of them for the stages. Otherwise
    it is shortened and ends with a digest of the chain, so that names of different chains differ.

    Examples
    --------
    >>> from fsframe.grammar import parse_stages
    >>> str(run_path(Path("examples/parkinsons.csv.gz"), parse_stages("immigrate npfs/npfs")))
    'examples/parkinsons.immigrate-npfs.h5'
    >>> run_path(Path("t.csv"), parse_stages("mim:top=50 npfs:n=30,alpha=0.1")).name
    't.mim_top=50-npfs_n=30_alpha=0.1.h5'
    >>> run_path(Path("t.csv"), parse_stages("immigrate:sigma={4,2,1} margin")).name
    't.immigrate_sigma=4,2,1-margin-98e24999.h5'
    """
    from fsframe.table.reader import in_parts, table_name

    row = "-".join(_stage_name(stage) for stage in stages)
    plain = _ODD.sub("-", row)
    # Brackets around a value are left out of the name, not replaced.
    plain = re.sub(r"(?<==)-+|-+(?=[-_]|$)", "", plain)
    if plain != row or len(row) > _LONGEST:
        digest = hashlib.sha256(row.encode()).hexdigest()[:8]
        plain = f"{plain[: _LONGEST - 9]}-{digest}"
    neighbour = data if data.is_dir() or not in_parts(data) else data.parent.resolve()
    return neighbour.with_name(f"{table_name(data)}.{plain}.h5")


def _stage_name(stage: StageText) -> str:
    given = (f"{key}={value}" for key, value in stage.params.items())
    return "_".join([stage.name.rpartition("/")[2], *given])
