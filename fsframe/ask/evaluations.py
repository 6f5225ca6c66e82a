"""Evaluate chains on tables: the runs of a comparison and of a study, each computed once."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from fsframe.analysis.comparison_files import make_folder, run_file, write_comparison
from fsframe.analysis.comparison_result import ComparisonResult
from fsframe.ask.request import Ask, Request, classifier_text
from fsframe.chains.chain import Chain, Stage
from fsframe.chains.recording import recorded_request
from fsframe.errors import DataError, FsframeError, RequestError, StoreError
from fsframe.evaluation.comparison import ROPE, Cell, compared, methods_of, on_all_features
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.measuring import find_measures
from fsframe.evaluation.recorded import recorded_evaluation
from fsframe.evaluation.study_plan import StudyPlan
from fsframe.evaluation.summary import LEADING
from fsframe.grammar import format_list
from fsframe.method.run import Run
from fsframe.storage import RunRecord, load_run, place_file
from fsframe.storage.encoding import fingerprint, numeric_differences
from fsframe.storage.study_file import (
    STUDY_FILE,
    StudyCell,
    StudyRecord,
    load_study,
    write_study,
)
from fsframe.storage.units.unit_files import Manifest
from fsframe.table.dataset import Dataset

_MARK = "study.json"


@attrs.frozen(eq=False)
class AskedTable:
    """A table to evaluate on: its data, its file, and where it is for the run file."""

    data: Dataset
    path: str | Path = ""
    source: str = ""


def evaluation_request(
    method: CrossValidation,
    table: AskedTable,
    tables: Iterable[Dataset],
    *,
    seed: int = 0,
    memory: int | None = None,
    out: Path | None = None,
) -> Request:
    """The request of a protocol on one of some tables, which share the memory of the run."""
    held = sum(each.nbytes for each in tables) - table.data.nbytes
    return Request(
        chain=_as_chain(method),
        data=table.data,
        seed=seed,
        out=out,
        path=table.path,
        source=table.source,
        memory=memory,
        beside=held,
    )


def _as_chain(method: CrossValidation) -> Chain:
    return Chain((Stage("cross-validation", method),))


def check_names(tables: Sequence[Dataset]) -> None:
    """Refuse two tables with the same name, which identifies results."""
    names = [table.name for table in tables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RequestError(f"two tables are called {twice[0]!r}; give them different names")


def compared_methods(
    chains: Iterable[Chain | str], given: Mapping[str, str | None], metric: str | None
) -> tuple[tuple[CrossValidation, ...], str | None]:
    """The evaluations of chains with parameters as text, and the name of the measure to compare by.

    Raises
    ------
    RequestError, PluginError
        Naming everything that is wrong with them.
    """
    given = {**given, "classifier": classifier_text(given["classifier"])}
    protocol = {name: text for name, text in given.items() if text is not None}
    if metric is not None:
        metric, measure = find_measures([metric])[0]
        protocol["metric"] = format_list(dict.fromkeys([LEADING[measure.task], metric]))
    return methods_of([str(chain) for chain in chains], **protocol), metric


def request_problems(
    methods: Sequence[CrossValidation], table: Dataset, seed: int
) -> Iterator[FsframeError]:
    """Requests that are known to fail on a table, before anything is computed; what several chains
    have in common once."""
    told: set[str] = set()
    for method in methods:
        try:
            _as_chain(method).check_request(table)
            method.check(table, Run(entropy=seed).child(0))
        except FsframeError as error:
            new = [line for line in str(error).splitlines() if line not in told]
            told.update(new)
            if len(new) == len(str(error).splitlines()):
                yield error
            elif new:
                yield type(error)("\n".join(new))


def compare_on(
    methods: Sequence[CrossValidation],
    tables: Sequence[AskedTable],
    ask: Ask,
    folder: Path | None = None,
    csv_out: Path | None = None,
    *,
    overwrite: bool = False,
    seed: int = 0,
    memory: int | None = None,
    mixed: bool = False,
    metric: str = "accuracy",
    rope: float = ROPE,
    all_features: bool = True,
    before: Callable[[Sequence[Request]], None] = lambda requests: None,
    tell: Callable[[str], None] = lambda text: None,
) -> ComparisonResult:
    """Every chain on every table, compared by `metric`, and written to the folder.

    Parameters
    ----------
    methods : sequence of CrossValidation
        The chains.
    ask : callable
        Computes what is not in the folder.
    folder : Path, optional
        Folder of the run files; those of an earlier call are verified and not computed again, and
        only with `mixed` may they be of another kind of processor.
    csv_out : Path, optional
        Another table of results; `overwrite` says whether it may be replaced.
    rope : float
        Half width of the region of practical equivalence.
    all_features : bool
        Whether every classifier is also evaluated on all features.
    before : callable
        Called with all requests before the first of them is computed.
    tell : callable
        Called with the classifiers that refuse a table.

    Raises
    ------
    StoreError
        If a file in the folder belongs to something else.
    """
    if folder is not None:
        make_folder(folder)
    data = [table.data for table in tables]
    alone = on_all_features(methods) if all_features else {}
    chosen = {str(method.base) for method in methods}
    total = len(tables) * (len(methods) + sum(text not in chosen for text in alone))
    number = itertools.count(1)

    def request(method: CrossValidation, table: AskedTable) -> Request:
        out = None if folder is None else run_file(folder, table.data.name, str(method.base))
        return evaluation_request(method, table, data, seed=seed, memory=memory, out=out)

    def one(asked: Request) -> RunRecord:
        record = None if asked.out is None else _finished(asked, mixed)
        return record or ask(attrs.evolve(asked, part=f"run {next(number)} of {total}"))

    def of_all(method: CrossValidation, place: int) -> Cell | None:
        """A classifier on all columns of a table; None where it does not take them."""
        same = [cell for cell in cells[place] if cell.chain == str(method.base)]
        if same:
            return same[0]
        try:
            for problem in request_problems([method], data[place], seed):
                raise problem
            return _cell(str(method.base), one(request(method, tables[place])))
        except (DataError, RequestError) as error:
            tell(f"{method.base} on all features of {data[place].name}: {error}")
            return None

    asked = [[request(method, table) for method in methods] for table in tables]
    before([each for row in asked for each in row])
    records = [[one(each) for each in row] for row in asked]
    cells = [
        [_cell(str(method.base), record) for method, record in zip(methods, row, strict=True)]
        for row in records
    ]
    on_all = {
        name: [of_all(method, place) for place in range(len(tables))]
        for name, method in alone.items()
    }
    found = compared(cells, metric, on_all=on_all, rope=rope, seed=seed)
    write_comparison(found, cells, folder, csv_out, overwrite=overwrite)
    return ComparisonResult(comparison=found, cells=cells, records=records)


def _cell(base: str, record: RunRecord) -> Cell:
    return Cell(
        chain=base,
        data=record.data.name,
        evaluation=recorded_evaluation(record).found,
        seconds=record.stages[-1].seconds,
    )


def _finished(asked: Request, mixed: bool) -> RunRecord | None:
    """The finished run of a request in a folder; None if there is none.

    Raises
    ------
    StoreError
        If another run is there.
    """
    assert asked.out is not None
    path = Path(asked.out)
    if not path.exists():
        return None
    record = load_run(path)
    for what, there, wanted in (
        ("chain", record.chain, str(asked.chain)),
        ("data", record.data.sha256, asked.data.sha256),
        ("seed", record.seed, asked.seed),
    ):
        if there != wanted:
            raise StoreError(
                f"{path} holds a run with another {what} ({there}, not {wanted}); "
                "choose another folder with --out"
            )
    changed = [] if mixed else numeric_differences(record.environment, fingerprint())
    if changed:
        raise StoreError(
            f"{path} was computed with {'; '.join(changed)}; results computed here may differ in "
            "the last bits. Run compare where it was started, choose another folder with --out, "
            "or accept both (--mixed)"
        )
    now = Manifest.of(asked.chain, asked.data, asked.seed, memory=asked.chosen_route())
    reasons = recorded_request(record).differences(now, mixed=True)
    if reasons:
        raise StoreError(
            f"{path} is the result of another request: {'; '.join(reasons)}; choose another "
            "folder with --out"
        )
    return record


@attrs.frozen(kw_only=True, eq=False)
class StudyRun:
    """One run of a study: what is asked, and whether the study goes on without it.

    It is `optional` if it is a classifier on all features, which may refuse a table.
    """

    cell: StudyCell
    method: CrossValidation
    request: Request
    optional: bool


def study_runs(
    plan: StudyPlan, work: Path | None = None, memory: int | None = None
) -> list[StudyRun]:
    """Every run of a study, in the order in which they are computed; their files are in `work`."""
    methods = [*plan.methods, *plan.beside.values()]
    total = len(plan.tables) * len(methods) * len(plan.seeds)
    places = itertools.product(*(range(len(each)) for each in (plan.tables, methods, plan.seeds)))
    data = [table.data for table in plan.tables]
    found = []
    for number, cell in enumerate(itertools.starmap(StudyCell, places), start=1):
        table, method = plan.tables[cell.table], methods[cell.chain]
        path = table.path or ""
        request = evaluation_request(
            method,
            AskedTable(table.data, path, str(path)),
            data,
            seed=plan.seeds[cell.seed],
            memory=memory,
            out=None if work is None else work / Path(cell.member).name,
        )
        found.append(
            StudyRun(
                cell=cell,
                method=method,
                request=attrs.evolve(request, part=f"run {number} of {total}"),
                optional=cell.chain >= len(plan.methods),
            )
        )
    return found


def finished_study(folder: Path, plan: StudyPlan) -> StudyRecord | None:
    """The finished study in `folder`; None if there is none.

    Raises
    ------
    StoreError
        If another study is there, or it is damaged.
    """
    target = folder / STUDY_FILE
    if not target.exists():
        return None
    record = load_study(target)
    # The chains of the runs include how rows are split.
    chains = {run.cell: str(run.request.chain) for run in study_runs(plan)}
    if record.asked() != plan.asked() or any(
        record.runs[cell].chain != chains[cell] for cell in record.runs
    ):
        raise StoreError(
            f"{target} is another study; choose another --out, or replace it (--overwrite)"
        )
    return record


def run_study(
    plan: StudyPlan,
    ask: Ask,
    folder: Path | None = None,
    *,
    overwrite: bool = False,
    memory: int | None = None,
    mixed: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    placed: Callable[[Path], None] = lambda path: None,
) -> StudyRecord:
    """Compute every run of a study that is not finished.

    Parameters
    ----------
    ask : callable
        Computes a run.
    folder : Path, optional
        Where finished runs are kept until all of them are in one file; those of an earlier call
        are verified and not computed again, and only with `mixed` may they be of another kind of
        processor. Only with `overwrite` is another study there replaced.
    tell : callable
        Called with a message for a classifier that refuses a table, or a file that cannot be
        removed.
    placed : callable
        Called with the path of the study file as soon as it exists.

    Raises
    ------
    StoreError
        If files in the folder belong to another study.
    """
    work = None if folder is None else folder / "cells"
    if work is not None:
        _claim(work, plan)
    runs: dict[StudyCell, RunRecord] = {}
    images: dict[StudyCell, bytes] = {}
    for each in study_runs(plan, work, memory):
        asked = each.request
        try:
            found = None if asked.out is None else _finished(asked, mixed)
            if found is None:
                for problem in request_problems([each.method], asked.data, asked.seed):
                    raise problem
                found = ask(asked)
        except (DataError, RequestError) as error:
            if not each.optional:
                raise
            table = plan.tables[each.cell.table].name
            tell(f"{each.method.base} on all features of {table}: {error}")
            continue
        if asked.out is None:
            runs[each.cell] = found
        else:
            images[each.cell] = Path(asked.out).read_bytes()
    if folder is None or work is None:
        return plan.record(runs)
    target = folder / STUDY_FILE
    write_study(target, plan.asked(), images, plan.source, overwrite=overwrite)
    placed(target)
    record = load_study(target)
    try:
        # The mark is removed last: if this is killed, the folder is still known to be this study's.
        for path in work.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != _MARK:
                path.unlink()
        shutil.rmtree(work)
    except OSError as error:
        tell(
            f"{target} is written; {work} is no longer needed but cannot be removed: "
            f"{error.strerror}"
        )
    return record


def _claim(work: Path, plan: StudyPlan) -> None:
    """Make the folder of finished runs, or check that it belongs to this study."""
    try:
        work.mkdir(parents=True, exist_ok=True)
        mark, text = work / _MARK, json.dumps(plan.asked(), indent=1)
        if not mark.exists():
            # A command that was killed while it wrote the mark leaves a part of it.
            for begun in work.glob(f".{mark.name}.*.partial"):
                begun.unlink()
            if any(work.iterdir()):
                raise StoreError(f"{work} holds something else; choose another --out")
            place_file(mark, text.encode())
        elif mark.read_text(encoding="utf-8") != text:
            raise StoreError(
                f"{work} belongs to another study, or to this one before it was changed; remove "
                "it, or choose another --out"
            )
    except OSError as error:
        raise StoreError(f"cannot use {work}: {error.strerror or error}") from error
