"""Compare how well several chains predict."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsframe.analysis.comparison_display import (
    CSV_NAMES,
    comparison_lines,
    comparison_object,
    csv_lines,
    hdf5_image,
)
from fsframe.cli.protocol_run import classifier_text, fold_options
from fsframe.cli.reading_options import read_data, reading_options
from fsframe.cli.running import Talk, engine_options, run_chain
from fsframe.cli.saying import say, say_json, say_lines
from fsframe.errors import FsframeError, RequestError, StoreError

if TYPE_CHECKING:
    from fsframe.chains.chain import Chain
    from fsframe.contracts.dataset import Dataset
    from fsframe.evaluation.comparison import Cell, Comparison
    from fsframe.evaluation.cross_validation import CrossValidation
    from fsframe.execution import Engine
    from fsframe.storage import RunRecord

__all__ = ["compare"]

_RESULTS = ("results.csv", "results.h5")


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="CHAIN CHAIN... on DATA...")
@reading_options
@fold_options
@click.option(
    "-o",
    "--out",
    metavar="FOLDER",
    help="Keep every chain on every table as a run file there, and results.csv and results.h5. "
    "Called again, what is there is verified and not computed twice.",
)
@click.option("--csv", "csv_out", metavar="FILE", help="Write the table of results.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Equal seed, equal folds and bits.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file of --csv if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notes on stderr.")
@engine_options
def compare(words: tuple[str, ...], **options: Any) -> None:
    """Which chain predicts better, on identical folds of one table or several.

    Each CHAIN is one argument in quotes. Reported are the papers' win/tie/loss by the paired
    t-test, the corrected resampled t-test, which holds its level, and over several tables
    Wilcoxon's test with Holm's adjustment and the mean ranks.

    \b
    Example:
      fsframe compare "immigrate margin" "mim:top=5 knn" on examples/parkinsons.csv --repeats 1
    """
    from fsframe.chains.memory_shares import shares_of
    from fsframe.evaluation.comparison import compared, methods_of
    from fsframe.execution import open_engine
    from fsframe.storage import check_destination
    from fsframe.tables import find_table

    chains, paths = _split(words)
    names = ("folds", "repeats", "scheme", "classifier", "inner_folds", "stratify")
    protocol = {name: options.pop(name) for name in names}
    protocol["classifier"] = classifier_text(protocol["classifier"])
    methods = methods_of(chains, **{k: v for k, v in protocol.items() if v is not None})
    found_paths = [find_table(path) for path in paths]
    # Paths once and for all: a plugin may change the current folder.
    folder = Path(os.path.abspath(options["out"])) if options["out"] else None
    own = [] if folder is None else [folder / name for name in _RESULTS]
    csv_out = None
    if options["csv_out"]:
        others = [*found_paths, *own]
        csv_out = check_destination(
            options["csv_out"], overwrite=options["overwrite"], apart_from=others
        )
    for made in own if folder is not None and folder.is_dir() else ():
        check_destination(made, overwrite=True, apart_from=found_paths)
    if folder is not None:
        _check_own(folder / _RESULTS[0])
    tables = _read_all(methods, found_paths, options)
    _check_names(tables)
    if folder is not None:
        _make(folder)
    talk = Talk(quiet=options["quiet"], events=options["events"] == "json")
    asked = tuple(options[name] for name in ("engine", "workers", "scheduler", "patience"))
    with open_engine(*asked, mixed=options["mixed"]) as engine:
        for table in tables:
            for method in methods:
                chain, beside = _as_chain(method), _held(tables) - _held([table])
                shares_of(chain, table, options["memory"], engine, beside=beside)
        cells = [
            [
                _cell(
                    method,
                    table,
                    (path, source),
                    folder,
                    options,
                    talk,
                    engine,
                    beside=_held(tables) - _held([table]),
                )
                for method in methods
            ]
            for table, path, source in zip(tables, found_paths, paths, strict=True)
        ]
    result = compared(cells)
    _write(result, cells, folder, csv_out, overwrite=options["overwrite"])
    if options["as_json"]:
        found = comparison_object(result)
        say_json(found)
        return
    say_lines(comparison_lines(result))
    if folder is not None:
        say()
        say(f"folder: {options['out']}")


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    if "on" not in words:
        raise RequestError("say which tables: fsframe compare CHAIN CHAIN … on DATA …")
    place = list(words).index("on")
    chains, paths = list(words[:place]), list(words[place + 1 :])
    if not paths:
        raise RequestError("name at least one table behind `on`")
    return chains, paths


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is not a folder" if folder.exists() else error.strerror or str(error)
        raise StoreError(f"cannot make {folder}: {reason}; choose another --out") from error


def _check_own(results: Path) -> None:
    """Refuse to replace a table of this name that an earlier call has not written."""
    if not results.is_file():
        return
    with open(results, "rb") as file:
        if file.readline(200).strip() != CSV_NAMES.encode():
            raise StoreError(
                f"{results} is there and is not of an earlier comparison; move it away, or choose "
                "another folder with --out"
            )


def _check_names(tables: Sequence[Dataset]) -> None:
    names = [table.name for table in tables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RequestError(f"two tables are called {twice[0]!r}; give their files different names")


def _read_all(
    methods: Sequence[CrossValidation], paths: Sequence[Path], options: dict[str, Any]
) -> list[Dataset]:
    """The tables, or everything that can be known to fail on any of them, told together."""
    from fsframe.contracts.run import Run

    tables: list[Dataset] = []
    problems: dict[str, FsframeError] = {}
    for path in paths:
        try:
            table = read_data(str(path), **options)
        except FsframeError as error:
            problems.setdefault(str(error), error)
            continue
        tables.append(table)
        for method in methods:
            try:
                _as_chain(method).check_request(table)
                method.check(table, Run(entropy=options["seed"]).child(0))
            except FsframeError as error:
                problems.setdefault(f"{table.name}: {error}", error)
    if problems:
        raise type(next(iter(problems.values())))("\n".join(problems))
    return tables


def _cell(
    method: CrossValidation,
    table: Dataset,
    place: tuple[Path, str],
    folder: Path | None,
    options: dict[str, Any],
    talk: Talk,
    engine: Engine | None,
    *,
    beside: int,
) -> Cell:
    from fsframe.evaluation.comparison import Cell
    from fsframe.evaluation.summary import summarise

    chain = _as_chain(method)
    path = None if folder is None else folder / f"{table.name}.{_slug(str(method.base))}.h5"
    record = None if path is None else _finished(path, chain, table, options["seed"])
    if record is not None and not options["mixed"]:
        _check_numerics(path, record)
    if record is None:
        read_from, source = place
        # The run files are this command's own: --overwrite is for the tables of results.
        own = {**options, "overwrite": False}
        record = run_chain(
            chain,
            table,
            path,
            own,
            talk=talk,
            path=read_from,
            source=source,
            engine=engine,
            beside=beside,
        )
    stage = record.stages[-1]
    assert stage.selection is not None and method.base is not None
    return Cell(
        chain=method.base,
        data=table.name,
        evaluation=summarise(stage.selection),
        seconds=stage.seconds,
    )


def _as_chain(method: CrossValidation) -> Chain:
    from fsframe.chains.chain import Chain, Stage

    return Chain((Stage("cross-validation", method),))


def _held(tables: Sequence[Dataset]) -> int:
    """Bytes of the tables that are in memory."""
    return sum(int(table.matrix.nbytes) for table in tables if table.in_memory)


def _slug(text: str) -> str:
    """A chain's text as part of a file name, different for different chains."""
    import hashlib

    plain = "".join(c if c.isalnum() else "-" for c in text).strip("-")[:60]
    return f"{plain}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _finished(path: Path, chain: Any, table: Dataset, seed: int) -> Any:
    """The finished run at `path` if it is of this chain, table and seed; None if there is none."""
    from fsframe.storage import load_run

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
    return record


def _check_numerics(path: Path | None, record: RunRecord) -> None:
    """Refuse a finished run whose last bits may not be those of the runs that it is compared with.

    Raises
    ------
    StoreError
        Saying in what it differs.
    """
    from fsframe.storage.numerics import fingerprint, numeric_differences

    changed = numeric_differences(record.environment, fingerprint())
    if changed:
        raise StoreError(
            f"{path} was computed with {'; '.join(changed)}; its last bits may differ from what "
            "this process computes. Compare where it was begun, choose another folder with --out, "
            "or accept both (--mixed)"
        )


def _write(
    result: Comparison,
    cells: Sequence[Sequence[Cell]],
    folder: Path | None,
    csv_out: Path | None,
    *,
    overwrite: bool,
) -> None:
    from fsframe.storage import place_file

    text = "\n".join(csv_lines(result)) + "\n"
    if csv_out is not None:
        place_file(csv_out, text.encode(), overwrite=overwrite)
    if folder is not None:
        # These two are made from the run files beside them, anew at every call.
        contents = (text.encode(), hdf5_image(result, cells))
        for name, content in zip(_RESULTS, contents, strict=True):
            place_file(folder / name, content, overwrite=True)
