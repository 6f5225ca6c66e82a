"""Evaluate chains on tables: the runs of a comparison and of a study, each computed once."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from fsframe.ask.options import Ask, classifier_text
from fsframe.chains.chain import Chain
from fsframe.chains.request import Request
from fsframe.errors import DataError, GatheredErrors, RequestError, StoreError
from fsframe.evaluation.comparison import leading_measure, methods_of, on_all_features
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.measuring import find_measures
from fsframe.evaluation.study_plan import StudyPlan, StudyTable, as_chain, request_problems
from fsframe.evaluation.summary import LEADING
from fsframe.grammar import format_list
from fsframe.show.comparisons import check_kept, make_folder, run_file, write_comparison
from fsframe.show.page import check_study_folder, write_folder
from fsframe.show.results import ComparisonResult, StudyResult
from fsframe.storage.study_file import (
    STUDY_FILE,
    StudyCell,
    StudyRecord,
    load_study,
    write_study,
)


def planned_requests(
    plan: StudyPlan,
    file: Callable[[StudyCell, str], Path | None] = lambda cell, chain: None,
    memory: int | None = None,
    *,
    mixed: bool = False,
) -> dict[StudyCell, Request]:
    """The request of every run of a plan, in the order in which they are computed.

    `file` returns the run file of a cell, whose chain it gets as text; `memory` is the limit of
    each run, during which all tables are in memory, and `mixed` as for `Request`.
    """
    methods = [*plan.methods, *plan.beside.values()]
    places = itertools.product(*(range(len(each)) for each in (plan.tables, methods, plan.seeds)))
    cells = list(itertools.starmap(StudyCell, places))
    held = sum(table.data.nbytes for table in plan.tables)
    requests = {}
    for number, cell in enumerate(cells, start=1):
        table, chain = plan.tables[cell.table], as_chain(methods[cell.chain])
        requests[cell] = Request(
            chain=chain,
            data=table.data,
            seed=plan.seeds[cell.seed],
            out=file(cell, str(chain)),
            path=table.path or "",
            source=table.source or str(table.path or ""),
            memory=memory,
            mixed=mixed,
            other_tables=held - table.data.nbytes,
            part=f"run {number} of {len(cells)}",
        )
    return requests


def _run_plan(
    plan: StudyPlan,
    requests: Mapping[StudyCell, Request],
    ask: Ask,
    tell: Callable[[str], None],
) -> StudyRecord:
    """The study with all its runs, verified if they are in a file already, else computed by `ask`.

    If a classifier that gets all features refuses a table, its run is left out, and `tell` is
    called with the reason.
    """
    beside = list(plan.beside.values())
    runs = {}
    for cell, request in requests.items():
        on_all = beside[cell.chain - len(plan.methods)] if _is_beside(plan, cell) else None
        try:
            record = request.answer()
            if record is None and on_all is not None:
                for problem in request_problems([on_all], request.data, [request.seed]):
                    raise problem
            runs[cell] = record or ask(request)
        except (DataError, RequestError) as error:
            if on_all is None:
                raise
            name = plan.tables[cell.table].name
            tell(f"{on_all.base} on all features of {name}: {error}")
    return plan.record(runs)


def _is_beside(plan: StudyPlan, cell: StudyCell) -> bool:
    """Whether the classifier of a run gets all features."""
    return cell.chain >= len(plan.methods)


def compared_methods(
    chains: Iterable[Chain | str], given: Mapping[str, str | None], metric: str | None
) -> tuple[tuple[CrossValidation, ...], str | None]:
    """The evaluations of chains, and the name of the measure to compare by.

    `given` holds the parameters of an evaluation as text, or None for defaults.

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


def comparison_plan(
    methods: Sequence[CrossValidation],
    metric: str | None,
    tables: Iterable[Callable[[], StudyTable]],
    *,
    seed: int,
    rope: float,
    all_features: bool,
) -> StudyPlan:
    """The comparison of chains on tables, as a study of one seed.

    Parameters
    ----------
    methods : sequence of CrossValidation
        The chains.
    metric : str, optional
        The measure to compare by; the usual one of the tables by default.
    tables : iterable of callable
        Each reads and returns a table.
    seed, rope, all_features
        As for `fsframe.compare`.

    Raises
    ------
    RequestError, DataError, PluginError
        Listing all problems with reading the tables, and with running the chains on them.
    """
    found: list[StudyTable] = []
    errors = GatheredErrors()
    for read in tables:
        with errors:
            found.append(table := read())
            for problem in request_problems(methods, table.data, [seed]):
                errors.found.append(type(problem)(f"{table.name}: {problem}"))
    # Whole messages are told once: two tables may share lines of them, such as suggestions.
    told = {str(error): error for error in errors.found}
    if told:
        first, *others = told.values()
        raise type(first)("\n".join(told)) if others else first
    names = [table.name for table in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RequestError(f"two tables are called {twice[0]!r}; give them different names")
    leading = leading_measure(table.data for table in found)
    return StudyPlan(
        name="comparison",
        tables=tuple(found),
        methods=tuple(methods),
        beside=on_all_features(methods) if all_features else {},
        measures=(metric or leading,),
        seeds=(seed,),
        rope=rope,
        source="",
    )


def compare_on(
    plan: StudyPlan,
    ask: Ask,
    folder: Path | None = None,
    *,
    overwrite: bool = False,
    memory: int | None = None,
    mixed: bool = False,
    before: Callable[[Sequence[Request]], None] = lambda requests: None,
    tell: Callable[[str], None] = lambda text: None,
) -> ComparisonResult:
    """Evaluate every chain of a `comparison_plan` on every table, compare them, write the results.

    Parameters
    ----------
    ask : callable
        Computes the runs that are not in the folder.
    folder : Path, optional
        Folder of the run files. Those of an earlier call are verified and not computed again; they
        may come from another kind of processor only with `mixed`.
    overwrite : bool
        Whether a table of results in the folder that has other chains or tables is replaced.
    before : callable
        Called with all requests before the first of them is computed.
    tell : callable
        Called with a message for each classifier that refuses a table.

    Raises
    ------
    StoreError
        If a run file in the folder holds the result of another request, or the table of results
        would lose some.
    """
    chains = [*(str(method.base) for method in plan.methods), *plan.beside]

    def file(cell: StudyCell, _: str) -> Path | None:
        return folder and run_file(folder, plan.tables[cell.table].name, chains[cell.chain])

    if folder is not None:
        if not overwrite:
            check_kept(folder, [table.name for table in plan.tables], chains[: len(plan.methods)])
        make_folder(folder)
    requests = planned_requests(plan, file, memory, mixed=mixed)
    before([each for cell, each in requests.items() if not _is_beside(plan, cell)])
    result = ComparisonResult(record=_run_plan(plan, requests, ask, tell))
    if folder is not None:
        write_comparison(result.comparison, folder)
    return result


def _finished_study(folder: Path, plan: StudyPlan) -> StudyRecord | None:
    """The finished study in `folder`; None if there is none.

    Raises
    ------
    StoreError
        If the folder holds another study, or a damaged one.
    """
    target = folder / STUDY_FILE
    if not target.exists():
        return None
    record = load_study(target)
    # The chains of the runs include how rows are split.
    requests = planned_requests(plan)
    if record.asked() != plan.asked() or any(
        run.chain != str(requests[cell].chain) for cell, run in record.runs.items()
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
) -> StudyResult:
    """Read a study if it is finished, else compute its unfinished runs; write its tables and texts.

    Parameters
    ----------
    ask : callable
        Computes a run.
    folder : Path, optional
        Folder of the study; without it nothing is written. It holds finished runs until all of them
        are in one file. Those of an earlier call, also before the study was changed, are verified
        and not computed again; they may come from another kind of processor only with `mixed`.
    overwrite : bool
        Whether a study in the folder is computed again, or replaced, and files that no study has
        written are replaced.
    tell : callable
        Called with a message for a classifier that refuses a table, or a file that cannot be
        removed.
    placed : callable
        Called with the path of the study file as soon as it is written.

    Raises
    ------
    StoreError
        If files in the folder belong to another study.
    """
    if folder is None:
        return StudyResult(record=_run_plan(plan, planned_requests(plan, memory=memory), ask, tell))
    check_study_folder(folder, plan, overwrite=overwrite)
    record = None if overwrite else _finished_study(folder, plan)
    if record is None:
        work, target = folder / "cells", folder / STUDY_FILE
        make_folder(work)
        requests = planned_requests(plan, partial(_cell_file, work, plan), memory, mixed=mixed)
        runs = _run_plan(plan, requests, ask, tell).runs
        files = {cell: Path(str(requests[cell].out)) for cell in runs}
        images = {cell: path.read_bytes() for cell, path in files.items()}
        write_study(target, plan.asked(), images, plan.source, overwrite=overwrite)
        placed(target)
        record = load_study(target)
        try:
            _remove_cells(work, files.values())
        except OSError as error:
            tell(
                f"{target} is written; {work} is no longer needed but cannot be removed: "
                f"{error.strerror}"
            )
    result = StudyResult(record=record)
    write_folder(record, result.comparisons, folder, overwrite=overwrite)
    return result


def _cell_file(work: Path, plan: StudyPlan, cell: StudyCell, chain: str) -> Path:
    """The run file of a cell until the study is finished.

    Its name depends on the run alone, so that a study that was changed meanwhile finds the runs
    that it still has, and takes no other for one of them.
    """
    table = plan.tables[cell.table]
    asked = [table.name, table.data.sha256, chain, plan.seeds[cell.seed]]
    return work / f"{hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:32]}.h5"


def _remove_cells(work: Path, files: Iterable[Path]) -> None:
    """Remove the run files, what interrupted runs have left beside them, and the empty folder."""
    stems = {path.stem for path in files}
    for path in list(work.iterdir()):
        if path.name.lstrip(".").partition(".")[0] not in stems:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    work.rmdir()
