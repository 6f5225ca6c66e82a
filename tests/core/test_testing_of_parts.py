"""The conformance suites of measures, readers, engines, commands and wrapping stages: what is sound
passes, and each check fails for something made to fail it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import attrs
import click
import numpy as np
import polars as pl
import pytest

from fsframe.errors import RequestError
from fsframe.execution.engine import Engine, EngineOptions
from fsframe.execution.processes import ProcessEngine as Processes
from fsframe.method.classifier import PredictionMeasure, Predictions
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.stage_view import Base
from fsframe.registry import measures
from fsframe.resampling.resamples import Recurring, select_resamples
from fsframe.resampling.wrapping import WrappingSelector
from fsframe.table.dataset import Dataset
from fsframe.table.reader import Reader
from fsframe.testing import (
    CommandConformance,
    EngineConformance,
    MeasureConformance,
    ReaderConformance,
    WrappingConformance,
    run_checks,
    suite_for,
)

from .tried_checks import failures, outcome_of


@pytest.mark.parametrize("name", list(measures))
def test_bundled_measures_pass(name: str) -> None:
    assert [o for o in run_checks(suite_for(name)) if o.status == "failed"] == []


def _share(predictions: Predictions) -> float:
    return float(np.mean(predictions.truth == predictions.predicted))


class _Counted:
    calls = 0


def _grows(predictions: Predictions) -> float:
    _Counted.calls += 1
    return 1 / _Counted.calls


def _spoils(predictions: Predictions) -> float:
    predictions.predicted[:] = 0
    return _share(predictions)


MEASURES: dict[str, tuple[Callable[[Predictions], float], str, dict[str, Any]]] = {
    "a loss declared as a gain": (
        lambda p: 1 - _share(p),
        "right_predictions_are_the_best",
        {},
    ),
    "a constant": (lambda p: 0.5, "the_measure_tells_predictions_apart", {}),
    "the first rows only": (
        lambda p: float(np.mean(p.truth[:10] == p.predicted[:10])),
        "order_of_rows_does_not_matter",
        {},
    ),
    "a sum where a mean is meant": (
        lambda p: float(np.sum(p.truth == p.predicted)),
        "copies_of_all_rows_change_nothing",
        {"highest": np.inf},
    ),
    "another value at each call": (_grows, "equal_predictions_have_equal_values", {}),
    "the labels of the classes": (
        lambda p: _share(p) * (0.5 if p.classes[0] == "a" else 1.0),
        "names_of_classes_do_not_matter",
        {},
    ),
    "the predictions changed": (_spoils, "inputs_are_not_modified", {}),
    "a variance of one row": (
        lambda p: _share(p) / (1 + np.var(p.truth == p.predicted, ddof=1)),
        "rows_of_one_class_and_single_rows_are_handled",
        {},
    ),
    "scores read, labels asked for": (
        lambda p: _share(p) if p.scores is None else 0.9 * _share(p),
        "it_reads_no_more_than_it_says_it_needs",
        {},
    ),
    "probabilities read, scores asked for": (
        lambda p: float(np.clip(p.scores[np.arange(len(p.truth)), p.truth].mean(), 0, 1)),
        "it_reads_no_more_than_it_says_it_needs",
        {"needs": "scores"},
    ),
    "not defined for ordinary predictions": (
        lambda p: float("nan"),
        "ordinary_predictions_have_a_value",
        {},
    ),
    "an empty range": (_share, "declarations_are_complete", {"lowest": 1.0}),
    "an unknown need": (_share, "declarations_are_complete", {"needs": "votes"}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fault", MEASURES)
def test_a_faulty_measure_is_found(fault: str) -> None:
    value, check, declared = MEASURES[fault]
    body = {"__doc__": "Share of right predictions.", "_value": lambda self, p: value(p)}
    faulty = attrs.frozen(kw_only=True)(type("Share", (PredictionMeasure,), {**body, **declared}))
    assert outcome_of(check, faulty, MeasureConformance).status == "failed"


Cells = dict[str, list[Any]]


def write(path: Path, columns: Cells) -> None:
    path.write_text(json.dumps(columns) + "\n")


class Json(Reader):
    """A table as one object of JSON: columns by name."""

    def _read(self, path: Path) -> Any:
        return self.frame(json.loads(path.read_text()))

    def frame(self, columns: Cells) -> Any:
        return pl.DataFrame(columns)


def test_a_sound_reader_passes() -> None:
    assert failures(Json, ReaderConformance, write=staticmethod(write)) == {}


def _in_single_precision(columns: Cells) -> Any:
    numbers = pl.col(pl.Float64)
    return pl.DataFrame(columns).with_columns(numbers.cast(pl.Float32).cast(pl.Float64))


class Careless(Json):
    """The same, but whatever is left of a file is read."""

    def _read(self, path: Path) -> Any:
        text = path.read_text(errors="replace")
        try:
            return self.frame(json.loads(text))
        except ValueError:
            return pl.DataFrame({"size": [0.0] * 12, "count": [0.0] * 12, "kind": ["a"] * 12})


class Open(Json):
    """The same, and the file stays open."""

    def _read(self, path: Path) -> Any:
        return self.frame(json.loads(open(path).read()))


class Marking(Json):
    """The same, with a note beside the file."""

    def _read(self, path: Path) -> Any:
        path.with_suffix(".seen").write_text("seen")
        return super()._read(path)


def _reading(change: Callable[[Cells], Any]) -> type[Json]:
    doc = "The same, with a fault."
    return type("Faulty", (Json,), {"__doc__": doc, "frame": lambda self, c: change(c)})


READERS: dict[str, tuple[type[Json], str]] = {
    "single precision": (_reading(_in_single_precision), "numbers_keep_all_their_digits"),
    "missing as nought": (
        _reading(lambda c: pl.DataFrame(c).fill_null(0.0)),
        "missing_cells_stay_missing",
    ),
    "names in lower case without blanks": (
        _reading(lambda c: pl.DataFrame({k.replace(" ", "_"): v for k, v in c.items()})),
        "names_and_texts_are_not_changed",
    ),
    "columns sorted": (
        _reading(lambda c: pl.DataFrame(dict(sorted(c.items())))),
        "cells_are_read_as_written",
    ),
    "the last row lost": (
        _reading(lambda c: pl.DataFrame(c)[:-1]),
        "a_table_of_one_row_is_read",
    ),
    "a hundred rows at most": (
        _reading(lambda c: pl.DataFrame(c)[:100]),
        "many_rows_and_columns_are_read",
    ),
    "damage filled with noughts": (Careless, "a_file_that_was_cut_gives_no_other_cells"),
    "anything is a table": (Careless, "other_content_is_refused"),
    "left open": (Open, "no_file_is_left_open"),
    "a file beside it": (Marking, "the_file_is_left_as_it_was"),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("fault", READERS)
def test_a_faulty_reader_is_found(fault: str) -> None:
    reader, check = READERS[fault]
    found = outcome_of(check, reader, ReaderConformance, write=staticmethod(write))
    assert found.status == "failed"


def test_a_format_that_cannot_hold_something_is_not_blamed() -> None:
    def limited(path: Path, columns: Cells) -> None:
        if any(cell is None for cells in columns.values() for cell in cells):
            raise ValueError("no cell can be missing")
        write(path, columns)

    body = {"write": staticmethod(limited)}
    missing = outcome_of("missing_cells_stay_missing", Json, ReaderConformance, **body)
    assert missing.status == "not applicable" and "no cell can be missing" in missing.detail


@pytest.mark.parametrize("name", ["parquet", "arrow", "excel"])
def test_bundled_readers_pass(name: str) -> None:
    assert [o for o in run_checks(suite_for(name)) if o.status == "failed"] == []


def test_a_reader_without_a_way_to_write_says_what_is_missing() -> None:
    with pytest.raises(RequestError, match="WRITES"):
        suite_for("gct")


class Threads(Engine):
    """Threads of this process."""

    takes: ClassVar[frozenset[str]] = frozenset({"workers"})
    mappable = False

    def __init__(self) -> None:
        super().__init__(ThreadPoolExecutor(2))

    def close(self) -> None:
        super().close()
        self.executor.shutdown(cancel_futures=True)


class Running(Threads):
    """The same; threads go on."""

    left: ClassVar[list[Any]] = []

    def close(self) -> None:
        self.left.append(self.executor)


class Swallowing(Threads):
    """The same; an error of a task is an answer."""

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        def quiet() -> Any:
            try:
                return function(*arguments)
            except Exception:
                return None

        return self.executor.submit(quiet)


class Lost(Threads):
    """The same; every error is taken for a lost worker."""

    def died(self, error: BaseException) -> bool:
        return True


class Exchanging(Threads):
    """The same; every answer is that of the first task."""

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        future = super().submit(function, *arguments)
        self.first = getattr(self, "first", future)
        return self.first


class Once(Threads):
    """The same; closed once only."""

    def close(self) -> None:
        super().close()
        del self.executor


ENGINES: dict[type[Engine], str] = {
    Running: "nothing_is_left_running",
    Swallowing: "an_error_of_a_task_reaches_the_caller",
    Lost: "an_error_of_a_task_reaches_the_caller",
    Exchanging: "each_answer_is_that_of_its_task",
    Once: "closing_twice_is_harmless",
}


def test_sound_engines_pass() -> None:
    assert failures(Threads, EngineConformance) == {}
    assert failures(lambda: Processes.open(EngineOptions(workers=1)), EngineConformance) == {}


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
def test_a_faulty_engine_is_found(engine: type[Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsframe.testing.services._SECONDS_TO_STOP", 0.5)
    assert outcome_of(ENGINES[engine], engine, EngineConformance).status == "failed"
    while Running.left:
        Running.left.pop().shutdown()


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--most", default=9, help="Lines to show at most.")
def lines(path: Path, most: int) -> None:
    """Show the lines of a file that says how many there are."""
    try:
        number, *rest = path.read_text().split()
        if len(rest) != int(number):
            raise ValueError(f"{len(rest)} lines, not {number}")
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{path}: {error}") from None
    for line in rest[:most]:
        click.echo(line)


def arguments(folder: Path) -> list[str]:
    (folder / "words").write_text("3\none\ntwo\nthree\n")
    return [str(folder / "words")]


def _changed(callback: Callable[..., Any] | None = None, **fields: Any) -> click.Command:
    given = {"name": "lines", "params": lines.params, "help": lines.help}
    return click.Command(**{**given, "callback": callback or lines.callback, **fields})


def _crashes(path: Path, most: int) -> None:
    number, *rest = path.read_text().split()
    assert len(rest) == int(number)
    click.echo(" ".join(rest))


def _silent(path: Path, most: int) -> None:
    path.read_text()


def _other_each_time(path: Path, most: int) -> None:
    click.echo(time.perf_counter_ns())


COMMANDS: dict[str, tuple[click.Command, str]] = {
    "no help": (_changed(help=""), "declarations_are_complete"),
    "an option without help": (
        _changed(params=[lines.params[0], click.Option(["--most"], default=9)]),
        "declarations_are_complete",
    ),
    "any option": (
        _changed(context_settings={"ignore_unknown_options": True}),
        "an_unknown_option_is_refused",
    ),
    "a Python error for a missing file": (
        _changed(_crashes),
        "missing_files_are_refused_with_a_message",
    ),
    "a Python error for a damaged file": (
        _changed(_crashes),
        "damaged_files_are_refused_with_a_message",
    ),
    "nothing on stdout": (_changed(_silent), "it_does_its_work_and_says_the_same_again"),
    "another answer each time": (
        _changed(_other_each_time),
        "it_does_its_work_and_says_the_same_again",
    ),
}


def test_a_sound_command_passes() -> None:
    body = {"arguments": staticmethod(arguments), "target": "fsframe.cli:cli"}
    assert failures(lambda: lines, CommandConformance, **body) == {}


def test_a_command_that_loads_numpy_for_its_help_is_found() -> None:
    check, target = "help_loads_no_large_library", "numpy.linalg:norm"
    assert "numpy" in outcome_of(check, lambda: lines, CommandConformance, target=target).detail


@pytest.mark.parametrize("fault", COMMANDS)
def test_a_faulty_command_is_found(fault: str) -> None:
    command, check = COMMANDS[fault]
    body = {"arguments": staticmethod(arguments)}
    assert outcome_of(check, lambda: command, CommandConformance, **body).status == "failed"


@attrs.frozen(kw_only=True)
class Votes(WrappingSelector):
    """Columns by how many of nine bootstraps keep them."""

    def counts(self, data: Dataset, run: Run) -> np.ndarray:
        times = np.ones(data.n_samples, dtype=int) if data.counts is None else data.counts
        counts = run.generator(0).multinomial(times.sum(), times / times.sum(), 9)
        # Rows of each class in every bootstrap.
        return counts + (np.arange(data.n_samples) < 4) * times

    def found(self, base: Base, data: Dataset, counts: np.ndarray, run: Run) -> list[Selection]:
        whole = data.with_counts(None)
        return list(select_resamples(base, whole, counts, run.child(1), label="votes"))

    def notes(self, told: Recurring) -> tuple[str, ...]:
        return tuple(told.lines(9, "bootstraps"))

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        votes, told = np.zeros(data.n_features), Recurring()
        for found in self.found(base, data, self.counts(data, run), run):
            votes[found.selected] += 1
            told.add(found.warnings)
        kept = rank_by_score(votes)[: self.keep_count(data.n_features, 2)]
        return Selection(selected=kept, scores=self.shares(votes), warnings=self.notes(told))

    def shares(self, votes: np.ndarray) -> np.ndarray:
        return votes / 9


@attrs.frozen(kw_only=True)
class Quiet(Votes):
    """The same; what the base warns of is lost."""

    def notes(self, told: Recurring) -> tuple[str, ...]:
        return ()


@attrs.frozen(kw_only=True)
class OfWhatWasKept(Votes):
    """The same; votes are divided by the number of columns kept."""

    def shares(self, votes: np.ndarray) -> np.ndarray:
        return votes / votes.sum()


@attrs.frozen(kw_only=True)
class Forgiving(Votes):
    """The same; resamples that the base refuses are left out."""

    def found(self, base: Base, data: Dataset, counts: np.ndarray, run: Run) -> list[Selection]:
        try:
            return super().found(base, data, counts, run)
        except Exception:
            return []


@attrs.frozen(kw_only=True)
class OnWorkers(Votes):
    """The same; with workers there are other bootstraps."""

    def counts(self, data: Dataset, run: Run) -> np.ndarray:
        return super().counts(data, run if run.executor is None else run.child(7))


@attrs.frozen(kw_only=True)
class OtherStreamsOnWorkers(Votes):
    """The same; with workers the base draws other random numbers in the same bootstraps."""

    def found(self, base: Base, data: Dataset, counts: np.ndarray, run: Run) -> list[Selection]:
        return super().found(
            base, data, counts, run if run.executor is None else attrs.evolve(run, entropy=8)
        )


@attrs.frozen(kw_only=True)
class WithoutBase(Votes):
    """The same; without a base it keeps all columns."""

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        every = np.arange(data.n_features)
        return Selection(selected=every, scores=np.ones(len(every)))


WRAPPING: dict[type[Votes], str] = {
    Quiet: "warnings_of_the_base_are_kept",
    OfWhatWasKept: "a_base_that_keeps_few_many_or_no_columns_is_handled",
    Forgiving: "errors_of_the_base_are_its_own",
    OnWorkers: "workers_change_no_bit",
    OtherStreamsOnWorkers: "workers_change_no_bit",
    WithoutBase: "a_missing_base_is_asked_for",
}


@pytest.mark.parametrize("stage", WRAPPING, ids=lambda stage: stage.__name__)
def test_a_faulty_wrapping_stage_is_found(stage: type[Votes]) -> None:
    check = WRAPPING[stage]
    for kind, status in ((stage, "failed"), (Votes, "passed")):
        found = outcome_of(check, lambda kind=kind: kind(base="mim:top=2"), WrappingConformance)
        assert found.status == status


def test_a_wrapping_stage_is_checked_with_a_base_that_suits_it() -> None:
    assert suite_for("cpss")().make().base == "relieff:top=3"
    assert suite_for("cpss").advice == ""
    advice = suite_for("cpss:base=mim").advice
    assert advice.endswith("fsframe check 'cpss:base=relieff:top=3,pairs=5,false_selections=3'")
