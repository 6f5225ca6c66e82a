"""A comparison of chains carried out: every chain on every table, kept in a folder if asked for."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fsframe.analysis.comparison_display import CSV_NAMES, csv_text, hdf5_image
from fsframe.analysis.comparison_result import ComparisonResult
from fsframe.chains.chain import Chain, Stage
from fsframe.contracts.run import Run
from fsframe.errors import DataError, FsframeError, RequestError, StoreError
from fsframe.evaluation.comparison import Cell, compared
from fsframe.evaluation.summary import summarise
from fsframe.storage import RunRecord, check_destination, load_run, place_file
from fsframe.storage.numerics import fingerprint, numeric_differences

if TYPE_CHECKING:
    from fsframe.contracts.dataset import Dataset
    from fsframe.evaluation.cross_validation import CrossValidation

__all__ = [
    "RESULTS",
    "as_chain",
    "asked_in",
    "carried_out",
    "check_folder",
    "check_names",
    "finished_run",
    "held",
    "make_folder",
    "request_problems",
    "write_comparison",
]

RESULTS = ("results.csv", "results.h5")
"""What stands in the folder of a comparison beside the run files."""


def as_chain(method: CrossValidation) -> Chain:
    """The protocol as the chain that is run."""
    return Chain((Stage("cross-validation", method),))


def held(tables: Sequence[Dataset]) -> int:
    """Bytes of the tables that are in memory."""
    return sum(table.nbytes for table in tables)


def check_names(tables: Sequence[Dataset]) -> None:
    """Refuse two tables of one name: results go by it."""
    names = [table.name for table in tables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RequestError(f"two tables are called {twice[0]!r}; give them different names")


def request_problems(
    methods: Sequence[CrossValidation], table: Dataset, seed: int
) -> Iterator[FsframeError]:
    """What can be known to fail on a table, before anything is computed."""
    for method in methods:
        try:
            as_chain(method).check_request(table)
            method.check(table, Run(entropy=seed).child(0))
        except FsframeError as error:
            yield error


def check_folder(folder: Path, apart_from: Sequence[Path]) -> None:
    """Refuse to replace in `folder` what an earlier comparison has not written.

    Raises
    ------
    StoreError
        Also if the folder cannot be written to.
    """
    for name in RESULTS if folder.is_dir() else ():
        check_destination(folder / name, overwrite=True, apart_from=list(apart_from))
    results = folder / RESULTS[0]
    if not results.is_file():
        return
    with open(results, "rb") as file:
        if file.readline(200).strip() != ",".join(CSV_NAMES).encode():
            raise StoreError(
                f"{results} is there and is not of an earlier comparison; move it away, or choose "
                "another folder with --out"
            )


def asked_in(folder: Path) -> tuple[list[str], str] | None:
    """The chains that the comparison in `folder` compared, and by which measure.

    None where it left no table of results. The other runs in it are classifiers on all features.
    """
    try:
        with open(folder / RESULTS[0], newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        return None
    if len(rows) < 2 or tuple(rows[0]) != CSV_NAMES or any(len(r) != len(rows[0]) for r in rows):
        return None
    # What stands beside the chains has no standard error, stability or time.
    chains = dict.fromkeys(row[1] for row in rows[1:] if row[-1])
    return list(chains), rows[1][2]


def make_folder(folder: Path) -> None:
    """Make the folder; StoreError if that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is not a folder" if folder.exists() else error.strerror or str(error)
        raise StoreError(f"cannot make {folder}: {reason}; choose another --out") from error


def carried_out(
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
    """Every chain on every table, compared.

    Parameters
    ----------
    methods : sequence of CrossValidation
    tables : sequence of Dataset
    run : callable
        Given a chain, the position of a table, where to leave the run file (or None) and the bytes
        of the other tables, runs the one on the other.
    folder : Path, optional
        Where finished runs are, and are left; those of an earlier call are verified and not
        computed twice.
    seed : int
    mixed : bool
        Whether finished runs may be of another kind of processor.
    metric : str
        The measure to compare by.
    rope : float
        Half width of the region of practical equivalence.
    on_all : mapping of str to CrossValidation, optional
        Classifiers on all features, to stand beside the chains (`on_all_features`).
    tell : callable, optional
        Told which of them does not take which table.

    Raises
    ------
    StoreError
        If a file in the folder is of something else.
    FsframeError
        As running says.
    """

    def one(method: CrossValidation, place: int) -> RunRecord:
        table, chain, path = tables[place], as_chain(method), None
        if folder is not None:
            path = folder / f"{table.name}.{_slug(str(method.base))}.h5"
        record = None if path is None else finished_run(path, chain, table, seed, mixed)
        beside = held(tables) - held([table])
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


def _slug(text: str) -> str:
    """A chain's text as part of a file name, different for different chains."""
    plain = "".join(c if c.isalnum() else "-" for c in text).strip("-")[:60]
    return f"{plain}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"


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
            f"{path} was computed with {'; '.join(changed)}; its last bits may differ from what "
            "this process computes. Compare where it was begun, choose another folder with --out, "
            "or accept both (--mixed)"
        )
    return record


def write_comparison(
    result: ComparisonResult,
    folder: Path | None = None,
    csv_out: Path | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Leave the table of results, and in `folder` the accuracy of every split too."""
    text = csv_text([result.comparison])
    if csv_out is not None:
        place_file(csv_out, text.encode(), overwrite=overwrite)
    if folder is not None:
        # These two are made from the run files beside them, anew at every call.
        contents = (text.encode(), hdf5_image(result.comparison, result.cells))
        for name, content in zip(RESULTS, contents, strict=True):
            place_file(folder / name, content, overwrite=True)
