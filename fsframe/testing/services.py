"""The checks of readers, engines, and commands that plugins add."""

from __future__ import annotations

import contextlib
import csv
import gc
import io
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import click
from click.testing import CliRunner, Result

from fsframe.chains.chain import Chain
from fsframe.errors import DataError, FsframeError, RequestError
from fsframe.execution.engine import Engine, EngineOptions
from fsframe.method.run import Run
from fsframe.table.frames import as_list, columns_of
from fsframe.table.reader import ArrayTable, Reader, reader_of
from fsframe.testing import tables
from fsframe.testing.conformance import (
    Conformance,
    changed_globals,
    not_applicable,
    only_if,
    refusal_of,
    written_files,
)
from fsframe.testing.tables import assert_equal

Columns = Mapping[str, Sequence[Any]]
"""Cells by column: all float, or all str; None is a missing value."""

_ROWS = 12
_TABLE: Columns = {
    "size": [1.5 * row for row in range(_ROWS)],
    "count": [float(row * row % 7) for row in range(_ROWS)],
    "kind": ["abc"[row % 3] for row in range(_ROWS)],
}


class ReaderConformance(Conformance):
    """Everything the core promises of a reader; inherit it, write `make` and `write`.

    Attributes
    ----------
    name : str, optional
        The name it is registered under.
    ending : str
        Ending of the files that `write` makes, such as ``".dta"``.
    """

    ending: ClassVar[str] = ".table"

    @staticmethod
    def write(path: Path, columns: Columns) -> None:
        """Write a table as a file of the format, with another program if there is one.

        Parameters
        ----------
        path : Path
        columns : mapping of str to sequence
            The cells of each column: all float, or all str; None is a missing value.

        Raises
        ------
        ValueError
            If the format cannot hold these cells or names, with the reason.
        """
        raise NotImplementedError("write write() so that it makes a file to read")

    def test_declarations_are_complete(self) -> None:
        reader = self.make()
        assert isinstance(reader, Reader), f"make() returned {type(reader).__name__}"
        doc = (type(reader).__doc__ or "").strip()
        assert doc and doc != (Reader.__doc__ or "").strip(), "it has no docstring"
        unknown = set(reader.options) - {"x", "y"}
        assert not unknown, f"options names arguments that do not exist: {sorted(unknown)}"
        assert not reader.spelled or reader.called, "called says what people call such a table"

    def test_cells_are_read_as_written(self) -> None:
        self._assert_read(_TABLE)

    def test_numbers_keep_all_their_digits(self) -> None:
        exact = [0.1, 1 / 3, 1e-300, 1.7976931348623157e308, -2.5, 123456789.123456789]
        self._assert_read({"a": exact, "b": exact[::-1]})

    def test_missing_cells_stay_missing(self) -> None:
        columns = {name: list(cells) for name, cells in _TABLE.items()}
        columns["size"][2] = columns["kind"][5] = None
        self._assert_read(columns)

    def test_names_and_texts_are_not_changed(self) -> None:
        columns: Columns = {
            "größe in mm": [1.5, 2.5, 3.5],
            "a, b; c": [0.0, 1.0, 2.0],
            "kind": ["é", "two words", "it's"],
        }
        self._assert_read(columns)

    def test_a_table_of_one_row_is_read(self) -> None:
        self._assert_read({name: cells[:1] for name, cells in _TABLE.items()})

    def test_many_rows_and_columns_are_read(self) -> None:
        self._assert_read(
            {f"x{k}": [float((k * row) % 101) for row in range(1000)] for k in range(40)}
        )

    def test_its_files_are_recognised(self) -> None:
        only_if(self.name is not None, "name is not given")
        with self._file() as path, path.open("rb") as file:
            reader = reader_of(path, file.read(8))
        assert reader is not None and reader.rpartition("/")[2] == self.name, (
            f"a file {path.name} is recognised as {reader}: give starts, zip_member, or endings "
            "that fsframe does not read itself, in the entry"
        )

    def test_the_same_file_gives_the_same_table(self) -> None:
        with self._file() as path:
            first, second = self._cells(path), self._cells(path)
        assert [*first.items()] == [*second.items()], "read twice, the file gives two tables"

    def test_the_file_is_left_as_it_was(self) -> None:
        with self._file() as path:
            before = path.read_bytes()
            written = written_files(lambda: self.make().read(path))
            assert path.read_bytes() == before, "reading changes the file"
        assert not written, f"a reader writes no files: {', '.join(written[:3])}"

    def test_no_file_is_left_open(self) -> None:
        with self._file() as path, warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", ResourceWarning)
            self.make().read(path)
            gc.collect()
        left = [str(each.message) for each in heard if issubclass(each.category, ResourceWarning)]
        assert not left, f"close the file: {left[0]}"

    def test_nothing_global_is_changed(self) -> None:
        with self._file() as file:
            path = file.resolve()
            self.make().read(path)  # Libraries may set themselves up at first use.
            changed = changed_globals(lambda: self.make().read(path))
        assert not changed, f"changed for the whole process: {'; '.join(changed)}"

    def test_a_file_that_was_cut_gives_no_other_cells(self) -> None:
        expected = self._read(_TABLE)
        with self._file() as path:
            content = path.read_bytes()
            for share in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9):
                path.write_bytes(content[: int(len(content) * share)])
                try:
                    columns = self._cells(path)
                except DataError as error:
                    assert str(error).strip(), "refused without a message"
                    continue
                rows = max((len(cells) for cells in columns.values()), default=0)
                # The last row may have been cut within a cell.
                read, kept = (
                    [(name, cells[: max(0, rows - 1)]) for name, cells in table.items()]
                    for table in (columns, expected)
                )
                assert read == kept, (
                    f"the first {share:.0%} of a file are read as a table with other cells: "
                    "refuse it"
                )

    def test_other_content_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"other{self.ending}"
            path.write_bytes(bytes(range(256)) * 8)
            otherwise = "2,048 arbitrary bytes are read as a table"
            error = refusal_of(lambda: self.make().read(path), otherwise)
        assert str(path.name) in str(error), f"the message does not name the file: {error}"

    @contextlib.contextmanager
    def _file(self, columns: Columns = _TABLE) -> Iterator[Path]:
        """A file with these columns, in a folder of its own."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"table{self.ending}"
            try:
                self.write(path, columns)
            except ValueError as error:
                raise not_applicable(f"the format cannot hold it: {error}") from None
            yield path

    def _read(self, columns: Columns) -> dict[str, list[Any]]:
        with self._file(columns) as path:
            return self._cells(path)

    def _assert_read(self, columns: Columns) -> None:
        read = self._read(columns)
        assert list(read) == list(columns), (
            f"the columns are {list(read)[:5]}, written were {list(columns)[:5]}"
        )
        for name, cells in columns.items():
            assert read[name] == list(cells), (
                f"column {name!r} is read as {read[name][:6]}, written was {cells[:6]}"
            )

    def _cells(self, path: Path) -> dict[str, list[Any]]:
        return _as_columns(self.make().read(path))


def _as_columns(frame: Any) -> dict[str, list[Any]]:
    """The cells that a reader returned: numbers as float, texts as str, missing values as None."""
    if isinstance(frame, bytes):
        return _of_text(frame)
    columns: dict[str, list[Any]]
    if isinstance(frame, ArrayTable):
        columns = {
            name: frame.X[:, k].tolist() for k, name in enumerate(frame.names[: frame.n_fields])
        }
        columns |= {name: list(cells) for name, cells in frame.others.items()}
    else:
        columns = {name: as_list(series) for name, series in columns_of(frame)}
    return {name: [_cell(value) for value in cells] for name, cells in columns.items()}


def _of_text(text: bytes) -> dict[str, list[Any]]:
    """Cells as spelled in comma-separated text."""
    names, *rows = csv.reader(io.StringIO(text.decode("utf-8")))
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return {
        name: [_spelled(cell) for cell in cells] for name, cells in zip(names, columns, strict=True)
    }


def _spelled(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell or None


def _cell(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if value is None or isinstance(value, str):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return None if math.isnan(number) else number


def written_with(writes: Mapping[str, Callable[[Path, Columns], None]], name: str) -> Any:
    """The function of a plugin that writes files for its reader; RequestError if it has none."""
    if name in writes:
        return writes[name]
    raise RequestError(
        f"nothing writes files to check the reader {name!r} with: its plugin may give WRITES in "
        'its conformance module, WRITES = {"' + name + '": write}, where write(path, columns) '
        "makes a file"
    )


_CHAIN = "mim:top=2 npfs:n=8,null=published,alpha=0.3"
_SECONDS_TO_STOP = 10.0


class EngineConformance(Conformance):
    """Everything the core promises of an engine; inherit it and write `make`.

    `make` opens an engine with two workers, as ``--engine NAME --workers 2`` does; each check opens
    and closes one of its own.

    Attributes
    ----------
    name : str, optional
        The name it is registered under.
    """

    seconds: ClassVar[float] = 120.0

    def test_declarations_are_complete(self) -> None:
        with self.make() as engine:
            assert isinstance(engine, Engine), f"make() returned {type(engine).__name__}"
            doc = (type(engine).__doc__ or "").strip()
            assert doc and doc != (Engine.__doc__ or "").strip(), "it has no docstring"
            unknown = set(engine.takes) - {"workers", "scheduler"}
            assert not unknown, f"takes names options that do not exist: {sorted(unknown)}"
            assert engine.workers >= 1, f"it has {engine.workers} workers"

    def test_results_are_those_without_it(self) -> None:
        data = tables.classes()
        alone = Chain.parse(_CHAIN).select(data, run=Run(entropy=3))
        with self.make() as engine:
            selection = Chain.parse(_CHAIN).select(data, run=Run(entropy=3, executor=engine))
            again = Chain.parse(_CHAIN).select(data, run=Run(entropy=3, executor=engine))
        assert_equal(selection, alone, "on the engine")
        assert_equal(again, alone, "on the engine, used again")

    def test_each_answer_is_that_of_its_task(self) -> None:
        with self.make() as engine:
            futures = [engine.submit(divmod, number, 7) for number in range(40)]
            answers = [future.result(timeout=self.seconds) for future in futures]
        assert answers == [divmod(number, 7) for number in range(40)], (
            "answers were exchanged between tasks"
        )

    def test_an_error_of_a_task_reaches_the_caller(self) -> None:
        with self.make() as engine:
            future = engine.submit(_refuse, "this table")
            error = future.exception(timeout=self.seconds)
            assert isinstance(error, DataError) and "this table" in str(error), (
                f"the task raised DataError('this table'), and the caller gets {error!r}"
            )
            assert not engine.died(error), "died() takes an error of a task for a lost worker"
            # The worker goes on.
            assert engine.submit(divmod, 9, 7).result(timeout=self.seconds) == (1, 2)

    def test_a_refused_table_is_refused_as_without_it(self) -> None:
        data, chain = tables.target(), Chain.parse(_CHAIN.replace("mim", "relief"))
        otherwise = "relief takes no numeric target, and on the engine it gives a result"
        with self.make() as engine:
            refusal_of(lambda: chain.select(data, run=Run(executor=engine)), otherwise)

    def test_nothing_is_left_running(self) -> None:
        # Anything that stays for the whole process, such as a resource tracker, exists after this.
        self._use()
        threads, children = self._alive()
        self._use()
        end = time.monotonic() + _SECONDS_TO_STOP
        while time.monotonic() < end:
            alive = self._alive()
            if alive[0] <= threads and alive[1] <= children:
                return
            time.sleep(0.05)
        raise AssertionError(
            f"after close() there are {alive[0]} threads and {alive[1]} processes of workers, "
            f"before there were {threads} and {children}"
        )

    def test_waiting_tasks_are_cancelled(self) -> None:
        start = time.monotonic()
        with self.make() as engine:
            futures = [engine.submit(time.sleep, 0.2) for _ in range(60)]
            engine.cancel(futures)
        taken = time.monotonic() - start
        most = _SECONDS_TO_STOP
        assert taken < most, f"cancel() and close() took {taken:.0f} s for tasks that had not begun"

    def test_closing_twice_is_harmless(self) -> None:
        engine = self.make()
        engine.close()
        engine.close()

    def _use(self) -> None:
        with self.make() as engine:
            engine.submit(divmod, 9, 7).result(timeout=self.seconds)

    @staticmethod
    def _alive() -> tuple[int, int]:
        return threading.active_count(), len(multiprocessing.active_children())


def _refuse(what: str) -> None:
    raise DataError(what)


def opening(cls: type[Engine]) -> Callable[[], Any]:
    """A function that opens an engine with two workers; RequestError if that is not enough."""
    if "scheduler" in cls.takes:
        raise RequestError(
            f"{cls.__name__} needs a scheduler: test it with fsframe.testing.EngineConformance, "
            "whose make() starts one"
        )
    workers = 2 if "workers" in cls.takes else None
    return lambda: cls.open(EngineOptions(workers=workers))


# Loading them takes longer than printing help.
_SLOW_MODULES = ("numpy", "numba", "scipy", "sklearn", "pandas", "polars", "matplotlib", "h5py")


class CommandConformance(Conformance):
    """Everything users expect of a command of ``fsframe``; inherit it and write `make`.

    Attributes
    ----------
    name : str, optional
        The name it is registered under.
    target : str
        ``"module:command"``, as in its entry.
    arguments : callable, optional
        Takes an empty folder, writes what the command needs into it, and returns the arguments of
        a call that succeeds; without it the command is not called.
    """

    target: ClassVar[str] = ""
    arguments: ClassVar[Callable[[Path], Sequence[str]] | None] = None

    def test_declarations_are_complete(self) -> None:
        command = self.make()
        assert isinstance(command, click.Command), f"make() returned {type(command).__name__}"
        assert (command.help or "").strip(), "the command has no docstring: it is its help"
        silent = [
            parameter.name
            for parameter in command.params
            if isinstance(parameter, click.Option) and not (parameter.help or "").strip()
        ]
        assert not silent, f"no help for {', '.join(map(str, silent))}"

    def test_help_is_printed(self) -> None:
        done = CliRunner().invoke(self.make(), ["--help"])
        assert done.exit_code == 0, f"--help ends with {done.exit_code}"
        assert "Usage:" in done.output

    def test_help_loads_no_large_library(self) -> None:
        only_if(self.target, "target is not given")
        module = self.target.partition(":")[0]
        code = f"import sys, {module}; print(*(m for m in {_SLOW_MODULES!r} if m in sys.modules))"
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            timeout=60,
        )
        assert done.returncode == 0, f"{module} cannot be imported: {done.stderr[-300:]}"
        assert not done.stdout.strip(), (
            f"importing {module} loads {done.stdout.strip()}: import them in the function"
        )

    def test_an_unknown_option_is_refused(self) -> None:
        done = CliRunner().invoke(self.make(), ["--no-such-option-here"])
        assert done.exit_code == 2, f"an unknown option ends with {done.exit_code}, not 2"

    def test_it_does_its_work_and_says_the_same_again(self) -> None:
        with self._arguments() as arguments:
            first = self._call(arguments)
            assert first.exit_code == 0, f"it ends with {first.exit_code}: {_message(first)}"
            assert first.stdout.strip(), "it prints nothing on stdout: results belong there"
            second = self._call(arguments)
            assert second.stdout == first.stdout, "called again, it prints something else"

    def test_missing_files_are_refused_with_a_message(self) -> None:
        with self._arguments() as arguments:
            for path in _files_among(arguments):
                missing = [f"{text}.missing" if Path(text) == path else text for text in arguments]
                self._assert_refused(missing, "a file that is not there")

    def test_damaged_files_are_refused_with_a_message(self) -> None:
        with self._arguments() as arguments:
            for path in _files_among(arguments):
                content = path.read_bytes()
                path.write_bytes(content[: len(content) // 3])
                self._assert_refused(arguments, "a file that was cut")
                path.write_bytes(content)

    @contextlib.contextmanager
    def _arguments(self) -> Iterator[list[str]]:
        given: Any = type(self).arguments
        only_if(given is not None, "no arguments are given to call it with")
        with tempfile.TemporaryDirectory() as folder:
            yield [str(argument) for argument in given(Path(folder))]

    def _call(self, arguments: Sequence[str]) -> Result:
        return CliRunner().invoke(self.make(), list(arguments))

    def _assert_refused(self, arguments: Sequence[str], what: str) -> None:
        done = self._call(arguments)
        assert done.exit_code != 0, f"{what} ends with 0"
        error = done.exception
        # fsframe prints its own errors, and click those of its own.
        reported = isinstance(error, (FsframeError, click.ClickException, SystemExit))
        assert reported, (
            f"{what} ends with a Python error: {error!r}; raise a DataError or StoreError"
        )
        assert _message(done).strip(), f"{what}: refused without a message"


def _files_among(arguments: Sequence[str]) -> list[Path]:
    paths = [Path(text) for text in arguments if Path(text).is_file()]
    only_if(paths, "no argument is a file")
    return paths


def _message(done: Result) -> str:
    if isinstance(done.exception, FsframeError):
        return str(done.exception)
    return f"{done.output}{done.exception if done.exception else ''}"
