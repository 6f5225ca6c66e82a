"""Run a comparison: every chain on every table, stored in a folder on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fsframe.analysis.comparison_files import run_file
from fsframe.analysis.comparison_result import ComparisonResult
from fsframe.analysis.protocol_requests import classifier_text
from fsframe.chains.chain import Chain, Stage
from fsframe.contracts.grammar import format_list
from fsframe.contracts.run import Run
from fsframe.errors import DataError, FsframeError, RequestError, StoreError
from fsframe.evaluation.comparison import Cell, compared, methods_of
from fsframe.evaluation.measuring import find_measures
from fsframe.evaluation.summary import LEADING, summarise
from fsframe.storage import RunRecord, load_run
from fsframe.storage.numeric_fingerprint import fingerprint, numeric_differences

if TYPE_CHECKING:
    from fsframe.contracts.dataset import Dataset
    from fsframe.evaluation.cross_validation import CrossValidation

__all__ = [
    "as_chain",
    "bytes_in_memory",
    "check_names",
    "compared_methods",
    "finished_run",
    "request_problems",
    "run_comparison",
]


def as_chain(method: CrossValidation) -> Chain:
    """The protocol as a chain to run."""
    return Chain((Stage("cross-validation", method),))


def bytes_in_memory(tables: Sequence[Dataset]) -> int:
    """Bytes of the tables that are in memory."""
    return sum(table.nbytes for table in tables)


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
            as_chain(method).check_request(table)
            method.check(table, Run(entropy=seed).child(0))
        except FsframeError as error:
            new = [line for line in str(error).splitlines() if line not in told]
            told.update(new)
            if len(new) == len(str(error).splitlines()):
                yield error
            elif new:
                yield type(error)("\n".join(new))


def run_comparison(
    methods: Sequence[CrossValidation],
    tables: Sequence[Dataset],
    run: Callable[[Chain, int, Path | None, int], RunRecord],
    folder: Path | None = None,
    *,
    seed: int = 0,
    mixed: bool = False,
    metric: str = "accuracy",
    rope: float = 0.01,
    on_all: Mapping[str, CrossValidation] | None = None,
    tell: Callable[[str], None] | None = None,
) -> ComparisonResult:
    """Every chain on every table, compared by `metric`.

    Parameters
    ----------
    methods, on_all
        The chains, and classifiers on all features by name (`on_all_features`).
    run : callable
        Runs a chain on a table, given the chain, the position of the table, the path for the run
        file (or None) and the bytes of the other tables.
    folder : Path, optional
        Folder of the run files; those of an earlier call are verified and not computed again, and
        only with `mixed` may they be of another kind of processor.
    rope : float
        Half width of the region of practical equivalence.
    tell : callable, optional
        Called with the classifiers that refuse a table.

    Raises
    ------
    StoreError
        If a file in the folder belongs to something else.
    """

    def one(method: CrossValidation, place: int) -> RunRecord:
        table, chain, path = tables[place], as_chain(method), None
        if folder is not None:
            path = run_file(folder, table.name, str(method.base))
        record = None if path is None else finished_run(path, chain, table, seed, mixed)
        beside = bytes_in_memory(tables) - bytes_in_memory([table])
        return run(chain, place, path, beside) if record is None else record

    records = [[one(method, place) for method in methods] for place in range(len(tables))]
    cells = [
        [_cell(str(method.base), record) for method, record in zip(methods, row, strict=True)]
        for row in records
    ]
    alone = {
        name: [
            _alone(method, place, tables, cells, one, seed, tell) for place in range(len(tables))
        ]
        for name, method in (on_all or {}).items()
    }
    found = compared(cells, metric, on_all=alone, rope=rope, seed=seed)
    return ComparisonResult(comparison=found, cells=cells, records=records)


def _alone(
    method: CrossValidation,
    place: int,
    tables: Sequence[Dataset],
    cells: Sequence[Sequence[Cell]],
    one: Callable[[CrossValidation, int], RunRecord],
    seed: int,
    tell: Callable[[str], None] | None,
) -> Cell | None:
    """A classifier on all columns of a table; None where it does not take them."""
    same = [cell for cell in cells[place] if cell.chain == str(method.base)]
    if same:
        return same[0]
    try:
        for problem in request_problems([method], tables[place], seed):
            raise problem
        return _cell(str(method.base), one(method, place))
    except (DataError, RequestError) as error:
        if tell is not None:
            tell(f"{method.base} on all features of {tables[place].name}: {error}")
        return None


def _cell(base: str, record: RunRecord) -> Cell:
    stage = record.stages[-1]
    assert stage.selection is not None
    return Cell(
        chain=base,
        data=record.data.name,
        evaluation=summarise(stage.selection),
        seconds=stage.seconds,
    )


def finished_run(
    path: Path, chain: Chain, table: Dataset, seed: int, mixed: bool
) -> RunRecord | None:
    """The finished run at `path` if it is of this chain, table and seed; None if there is none."""
    if not path.exists():
        return None
    record = load_run(path)
    for what, there, asked in (
        ("chain", record.chain, str(chain)),
        ("data", record.data.sha256, table.sha256),
        ("seed", record.seed, seed),
    ):
        if there != asked:
            raise StoreError(
                f"{path} holds a run with another {what} ({there}, not {asked}); "
                "choose another folder with --out"
            )
    changed = [] if mixed else numeric_differences(record.environment, fingerprint())
    if changed:
        raise StoreError(
            f"{path} was computed with {'; '.join(changed)}; results computed here may differ in "
            "the last bits. Run compare where it was started, choose another folder with --out, "
            "or accept both (--mixed)"
        )
    return record
