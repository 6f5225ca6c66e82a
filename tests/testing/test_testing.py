"""The conformance suites themselves: each check is made to fail on purpose, and must say so."""

from __future__ import annotations

import contextlib
import json
import time
import unittest
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import attrs
import click
import numpy as np
import polars as pl
import pytest

from fsframe.errors import DataError, PluginError, RequestError
from fsframe.execution.engine import Engine, EngineOptions
from fsframe.execution.engine import ProcessEngine as Processes
from fsframe.method.classifier import Classifier, PredictionMeasure, Predictions, Regressor
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.method.stage_view import Base
from fsframe.params import optional, param, real, text
from fsframe.registry import measures
from fsframe.resampling.resamples import Recurring, WrappingSelector, select_resamples
from fsframe.table.dataset import Dataset
from fsframe.table.reader import Reader
from fsframe.testing import (
    ClassifierConformance,
    CommandConformance,
    EngineConformance,
    MeasureConformance,
    ReaderConformance,
    RegressorConformance,
    SelectorConformance,
    StabilityMetricConformance,
    WrappingConformance,
    by_cause,
    conformance,
    run_checks,
    suite_for,
)

from .faulty_selectors import FAULTS, Explained, answering, failing, made
from .tried_checks import failures, outcome_of, suite_of


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("check", "what"), FAULTS)
def test_a_broken_promise_is_found(check: str, what: str) -> None:
    fault = FAULTS[check, what]
    body = {"gives": frozenset({"scores"}), "seconds": fault.seconds}
    outcome = outcome_of(check, made(**fault.parts), **body)
    assert outcome.status == "failed" and outcome.detail
    assert fault.says in outcome.detail


def test_eighty_faults_are_known_and_a_sound_selector_has_none() -> None:
    assert len(FAULTS) >= 80 and len(SelectorConformance.checks()) >= 35
    assert failures(Explained, gives=frozenset({"scores"}), name="explained") == {}


@attrs.frozen(kw_only=True)
class Unread(Explained):
    """A selector with a parameter that nothing looks at, but the rule about it."""

    shape: float = param(1.0, real(above=0), help="Shape of the gap.")

    def check_parameters(self) -> Any:
        if self.shape > 99:
            yield "shape is too large"


def test_a_parameter_without_effect_is_found() -> None:
    outcome = outcome_of("every_parameter_has_an_effect", Unread)
    assert outcome.status == "failed" and outcome.detail.endswith("shape")


@pytest.mark.parametrize(
    ("table", "value", "words"),
    [
        ("p_values", 1.5, "p-values outside"),
        ("p_values", -0.1, "p-values outside"),
        ("p_values", np.inf, "p-values outside"),
        ("frequency", 100.0, "frequencies outside 0 … 1"),
    ],
)
def test_shares_outside_their_range_are_an_error_that_names_the_method(
    table: str, value: float, words: str
) -> None:
    broken = made(
        **answering(
            lambda result, self, data, *_: attrs.evolve(
                result, tables={table: np.full(data.n_features, value)}
            )
        )
    )
    data = Dataset.from_arrays([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [0, 1, 0])
    words = rf"^stage `faulty` \(.*\) returned .*'{table}' holds {words}"
    with pytest.raises(PluginError, match=words):
        broken().select(data)
    with pytest.raises(PluginError, match=words):
        broken().select_many(data, np.ones((2, 3), dtype=np.int64))


@attrs.frozen(kw_only=True)
class Refusing(Explained):
    """A selector over a package that refuses flat tables with a ValueError."""

    data_errors: ClassVar[tuple[type[Exception], ...]] = (ValueError,)

    def scores(self, data: Dataset, upstream: Selection | None, run: Run) -> np.ndarray:
        if not np.ptp(data.X):
            raise ValueError("all values\n are equal")
        return super().scores(data, upstream, run)


def test_a_declared_refusal_is_about_the_data_and_no_fault() -> None:
    flat = Dataset.from_arrays(np.ones((4, 2)), [0, 1, 0, 1])
    with pytest.raises(DataError, match=r"^refusing: all values are equal$"):
        Refusing().select(flat)
    assert outcome_of("small_and_constant_tables_are_handled", Refusing).status == "passed"
    with pytest.raises(PluginError, match="all values"):
        attrs.make_class("Undeclared", {}, bases=(Refusing,), frozen=True, class_body={
            "data_errors": (), "__doc__": "Undeclared.",
        })().select(flat)  # fmt: skip


@attrs.frozen(kw_only=True)
class AfterImmigrate(Classifier):
    """A nearest mean in the numeric columns that the stage before weighs."""

    takes_nominal: ClassVar[bool] = True

    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> Any:
        weights = None if upstream is None else upstream.weights
        if weights is None:
            raise RequestError("after-immigrate needs a stage that weighs columns on its left")
        means = np.stack([data.X[data.y == c].mean(axis=0) for c in range(data.n_classes)])
        return _FittedMeans(means, np.where(data.categorical, 0.0, weights))


@attrs.frozen
class _FittedMeans:
    means: np.ndarray
    weights: np.ndarray

    def predict_scores(self, X: np.ndarray) -> np.ndarray:
        return -(((X[:, None] - self.means) ** 2) * self.weights).sum(axis=2)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.predict_scores(X).argmax(axis=1)


def test_a_classifier_that_needs_a_stage_is_found_and_tried_behind_it() -> None:
    check = "a_required_stage_is_declared"

    def outcome(check: str, make: Any = AfterImmigrate, **body: Any) -> Any:
        return outcome_of(check, make, ClassifierConformance, **body)

    alone = outcome(check)
    assert alone.status == "failed" and "TRIED_AFTER" in alone.detail
    for other in (
        check,
        "a_separable_table_is_learned",
        "only_columns_kept_upstream_are_used",
        "names_of_levels_do_not_matter",
        "an_unseen_level_is_handled",
    ):
        result = outcome(other, after="relieff")
        assert result.status == "passed", result.detail
    assert outcome(check, Constant, after="relieff").status == "failed"


def test_failures_are_grouped_by_what_was_said() -> None:
    def crash(data: Dataset, run: Run) -> None:
        raise IndexError("list index out of range")

    checks = ["inputs_are_not_modified", "result_is_sound", "top_is_honoured"]
    causes = by_cause([outcome_of(check, made(**failing(crash))) for check in checks])
    ((cause, found),) = causes.items()
    assert "IndexError" in cause and found == checks


def test_crashes_on_odd_tables_are_found() -> None:
    def crash(data: Dataset, run: Run) -> None:
        if data.task != "classification":
            return
        sizes = np.bincount(data.y, minlength=data.n_classes)
        if sizes.min() < 2 or data.n_features == 1 or data.n_classes > 2:
            raise IndexError("list index out of range")
        if np.abs(data.X).max() > 1e100:
            raise OverflowError("too large")

    # A class made inside a function cannot be pickled; that is not what is tried here.
    assert failures(made(**failing(crash))).keys() - {"pickles"} == {
        "a_class_of_one_row_is_handled",
        "a_class_without_rows_in_a_resample_is_handled",
        "every_class_counts",
        "extreme_magnitudes_are_handled",
        "order_of_classes_does_not_matter",
        "small_and_constant_tables_are_handled",
        "three_classes_are_accepted",
    }


@attrs.frozen(kw_only=True)
class Silent(Explained):
    """Features without help."""

    mode: str | None = param(None, optional(text()))

    def scores(self, data: Dataset, upstream: Selection | None, run: Run) -> np.ndarray:
        if np.isnan(data.X).any() or data.task == "regression":
            raise ValueError("unexpected input")
        return super().scores(data, upstream, run)


def test_false_declarations_are_found() -> None:
    # A class made inside a function cannot be pickled.
    class Mutable(Explained):
        tasks: ClassVar[frozenset[str]] = frozenset({"classification", "ranking"})

    for check in ("declarations_are_complete", "pickles"):
        assert outcome_of(check, Mutable).status == "failed"
    for check in (
        "declarations_are_complete",
        "missing_values_are_accepted_or_refused_as_declared",
        "tasks_are_accepted_or_refused_as_declared",
    ):
        assert outcome_of(check, Silent, name="gap").status == "failed"


@pytest.mark.parametrize(
    ("exceptions", "check", "status", "words"),
    [
        ({"scale_changes_nothing": "its unit"}, "scale_changes_nothing", "excepted", "its unit"),
        ({"pickles": "out of date"}, "pickles", "failed", "not needed"),
        ({"scales": "misspelled"}, "exceptions_name_checks_and_reasons", "failed", "scales"),
        ({"pickles": " "}, "exceptions_name_checks_and_reasons", "failed", "pickles"),
    ],
    ids=["needed", "not needed", "of no check", "without a reason"],
)
def test_exceptions_are_honoured_where_they_are_needed_and_have_reasons(
    exceptions, check, status, words
) -> None:
    of_unit = made(**FAULTS["scale_changes_nothing", "the unit of the column"].parts)
    make = of_unit if status == "excepted" else Explained
    outcome = outcome_of(check, make, exceptions=exceptions)
    assert outcome.status == status and words in outcome.detail


def test_checks_that_do_not_apply_are_skipped_as_pytest_skips(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conformance, "TALLY", {})
    with pytest.raises(unittest.SkipTest):
        suite_of(Explained, SelectorConformance)().test_what_the_entry_promises_is_given()


@attrs.frozen(kw_only=True)
class Constant(Classifier):
    """The same class for every row, and with a score for its neighbour."""

    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> Any:
        return _FittedConstant(data.n_classes)


@attrs.frozen
class _FittedConstant:
    n_classes: int
    times: float = 1.0

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.n_classes - 1)

    def predict_scores(self, X: np.ndarray) -> np.ndarray:
        return np.tile(-np.arange(self.n_classes, dtype=float), (len(X), 1)) * X.mean() * self.times


def test_a_classifier_that_learns_nothing_is_found() -> None:
    result = failures(Constant, ClassifierConformance)
    assert {
        "a_separable_table_is_learned",
        "each_row_is_predicted_by_itself",
        "the_predicted_class_has_the_largest_score",
    } <= result.keys()
    assert [check for check, said in result.items() if said.startswith("AssertionError")] == []


@attrs.frozen(kw_only=True)
class Slope(Regressor):
    """A line through the column that goes with the target most."""

    fault: str = param("", text("what is wrong with it"), help="What is wrong with it.")

    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> Any:
        X, y = data.X - data.X.mean(axis=0), data.y - data.y.mean()
        together = X.T @ y / (X**2).sum(axis=0)
        best = int(np.argmax(np.abs(together) * X.std(axis=0)))
        if self.fault == "scaled":
            together = together / y.std()
        return _FittedSlope(best, together[best], data.X[:, best].mean(), data.y.mean(), self.fault)

    def predicts(self) -> frozenset[str]:
        both = {"classification", "regression"}
        return frozenset(both) if self.fault == "boastful" else super().predicts()


@attrs.frozen
class _FittedSlope:
    best: int
    slope: float
    centre: float
    middle: float
    fault: str

    def predict(self, X: np.ndarray) -> np.ndarray:
        if self.fault == "ignorant":
            return np.full(len(X), self.middle)
        centre = X[:, self.best].mean() if self.fault == "batched" else self.centre
        found = self.middle + self.slope * (X[:, self.best] - centre)
        return found[:, None] if self.fault == "columns" else found


@pytest.mark.parametrize(
    ("fault", "checks"),
    [
        ("", set()),
        ("ignorant", {"a_target_that_depends_on_a_column_is_learned"}),
        ("batched", {"each_row_is_predicted_by_itself"}),
        ("columns", {"predictions_are_one_number_per_row"}),
        ("scaled", {"a_constant_target_is_handled"}),
        ("boastful", {"classes_are_refused"}),
    ],
)
def test_faults_of_regressors_are_found(fault: str, checks: set[str]) -> None:
    result = failures(lambda: Slope(fault=fault), RegressorConformance)
    assert result.keys() >= checks and bool(result) == bool(checks)


@attrs.frozen(kw_only=True)
class First(StabilityMetric):
    """How much the first run keeps."""

    def _measure(self, matrix: np.ndarray, similarity: Any = None) -> StabilityValue:
        return StabilityValue(value=float(matrix[0] @ np.arange(matrix.shape[1])))


@attrs.frozen(kw_only=True)
class Neighbours(StabilityMetric):
    """How much of a run the next run keeps, as Jaccard's index."""

    def _measure(self, matrix: np.ndarray, similarity: Any = None) -> StabilityValue:
        runs = np.asarray(matrix, dtype=bool)
        both = (runs[1:] & runs[:-1]).sum(axis=1)
        either = np.maximum((runs[1:] | runs[:-1]).sum(axis=1), 1)
        return StabilityValue(value=float(np.mean(both / either)))


@attrs.frozen(kw_only=True)
class Upwards(StabilityMetric):
    """Jaccard's index of runs that also have what is much like, and after, a feature they keep."""

    needs_similarity: ClassVar[bool] = True

    def _measure(self, matrix: np.ndarray, similarity: Any = None) -> StabilityValue:
        runs = np.asarray(matrix, dtype=bool) @ np.triu(similarity >= 0.9)
        both, either = runs.all(axis=0).sum(), runs.any(axis=0).sum()
        return StabilityValue(value=float(both / max(either, 1)))


@pytest.mark.parametrize(
    ("metric", "checks"),
    [
        (
            First,
            {
                "identical_runs_are_perfectly_stable",
                "order_of_features_does_not_matter",
                "order_of_runs_does_not_matter",
                "the_value_is_finite_and_inside_its_interval",
            },
        ),
        (Neighbours, {"order_of_runs_does_not_matter"}),
        (Upwards, {"order_of_features_does_not_matter"}),
    ],
)
def test_a_faulty_metric_is_found(metric, checks) -> None:
    for check in checks:
        assert outcome_of(check, metric, StabilityMetricConformance).status == "failed"


def test_a_parameter_that_hides_a_method_of_its_estimator_is_found() -> None:
    @attrs.frozen(kw_only=True)
    class Hiding(Explained):
        """Columns by a gap."""

        score: float = param(1.0, real(), help="A number.")

    said = outcome_of("declarations_are_complete", Hiding).detail
    assert "parameter score" in said and "rename it" in said


def test_copies_are_not_compared_with_weights_where_a_method_says_why() -> None:
    @attrs.frozen(kw_only=True)
    class Apart(Explained):
        """Columns by a gap."""

        def unlike_copies(self) -> str:
            return "copies are in one fold"

    outcome = outcome_of("counts_equal_copies", Apart)
    assert (outcome.status, outcome.detail) == ("not applicable", "copies are in one fold")
    assert outcome_of("counts_equal_copies", Explained).status == "passed"


# The conformance suites of measures, readers, engines, commands and wrapping stages: what is sound


@pytest.mark.parametrize("name", [*measures, "parquet", "arrow", "excel"])
def test_bundled_measures_and_readers_pass(name: str) -> None:
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


Faults = dict[tuple[str, str], Any]
"""The check and what it has to find, to the part in which that is."""

MEASURES: Faults = {
    ("right_predictions_are_the_best", "a loss declared as a gain"): lambda p: 1 - _share(p),
    ("the_measure_tells_predictions_apart", "a constant"): lambda p: 0.5,
    ("order_of_rows_does_not_matter", "the first rows only"): lambda p: float(
        np.mean(p.truth[:10] == p.predicted[:10])
    ),
    ("copies_of_all_rows_change_nothing", "a sum where a mean is meant"): lambda p: float(
        np.sum(p.truth == p.predicted)
    ),
    ("equal_predictions_have_equal_values", "another value at each call"): _grows,
    ("names_of_classes_do_not_matter", "the labels of the classes"): lambda p: (
        _share(p) * (0.5 if p.classes[0] == "a" else 1.0)
    ),
    ("inputs_are_not_modified", "the predictions changed"): _spoils,
    ("rows_of_one_class_and_single_rows_are_handled", "a variance of one row"): lambda p: (
        _share(p) / (1 + np.var(p.truth == p.predicted, ddof=1))
    ),
    ("it_reads_no_more_than_it_says_it_needs", "scores read, labels asked for"): lambda p: (
        _share(p) if p.scores is None else 0.9 * _share(p)
    ),
    ("it_reads_no_more_than_it_says_it_needs", "probabilities read, scores asked for"): lambda p: (
        float(np.clip(p.scores[np.arange(len(p.truth)), p.truth].mean(), 0, 1))
    ),
    ("ordinary_predictions_have_a_value", "not defined for ordinary predictions"): lambda p: float(
        "nan"
    ),
    ("declarations_are_complete", "an empty range"): _share,
    ("declarations_are_complete", "an unknown need"): _share,
}
DECLARED: dict[str, dict[str, Any]] = {
    "a sum where a mean is meant": {"highest": np.inf},
    "probabilities read, scores asked for": {"needs": "scores"},
    "an empty range": {"lowest": 1.0},
    "an unknown need": {"needs": "votes"},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("check", "fault"), MEASURES)
def test_a_faulty_measure_is_found(check: str, fault: str) -> None:
    value = MEASURES[check, fault]
    body = {"__doc__": "Share of right predictions.", "_value": lambda self, p: value(p)}
    body |= DECLARED.get(fault, {})
    faulty = attrs.frozen(kw_only=True)(type("Share", (PredictionMeasure,), body))
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


def _whatever_is_left(self: Json, path: Path) -> Any:
    try:
        return self.frame(json.loads(path.read_text(errors="replace")))
    except ValueError:
        return pl.DataFrame({"size": [0.0] * 12, "count": [0.0] * 12, "kind": ["a"] * 12})


def _left_open(self: Json, path: Path) -> Any:
    return self.frame(json.loads(open(path).read()))


def _with_a_note(self: Json, path: Path) -> Any:
    path.with_suffix(".seen").write_text("seen")
    return Json._read(self, path)


def _frame(change: Callable[[Cells], Any]) -> dict[str, Any]:
    return {"frame": lambda self, columns: change(columns)}


READERS: Faults = {
    ("numbers_keep_all_their_digits", "single precision"): _frame(_in_single_precision),
    ("missing_cells_stay_missing", "missing as nought"): _frame(
        lambda c: pl.DataFrame(c).fill_null(0.0)
    ),
    ("names_and_texts_are_not_changed", "names in lower case without blanks"): _frame(
        lambda c: pl.DataFrame({k.replace(" ", "_"): v for k, v in c.items()})
    ),
    ("cells_are_read_as_written", "columns sorted"): _frame(
        lambda c: pl.DataFrame(dict(sorted(c.items())))
    ),
    ("a_table_of_one_row_is_read", "the last row lost"): _frame(lambda c: pl.DataFrame(c)[:-1]),
    ("many_rows_and_columns_are_read", "a hundred rows at most"): _frame(
        lambda c: pl.DataFrame(c)[:100]
    ),
    ("a_file_that_was_cut_gives_no_other_cells", "damage filled with noughts"): {
        "_read": _whatever_is_left
    },
    ("other_content_is_refused", "anything is a table"): {"_read": _whatever_is_left},
    ("no_file_is_left_open", "left open"): {"_read": _left_open},
    ("the_file_is_left_as_it_was", "a file beside it"): {"_read": _with_a_note},
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("check", "fault"), READERS)
def test_a_faulty_reader_is_found(check: str, fault: str) -> None:
    parts = READERS[check, fault]
    reader = type("Faulty", (Json,), {"__doc__": "The same, with a fault.", **parts})
    outcome = outcome_of(check, reader, ReaderConformance, write=staticmethod(write))
    assert outcome.status == "failed"


def test_a_format_that_cannot_hold_something_is_not_blamed() -> None:
    def limited(path: Path, columns: Cells) -> None:
        if any(cell is None for cells in columns.values() for cell in cells):
            raise ValueError("no cell can be missing")
        write(path, columns)

    body = {"write": staticmethod(limited)}
    missing = outcome_of("missing_cells_stay_missing", Json, ReaderConformance, **body)
    assert missing.status == "not applicable" and "no cell can be missing" in missing.detail


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


STILL_RUNNING: list[Any] = []


def _as_answer(self: Threads, function: Any, *arguments: Any) -> Future[Any]:
    def quiet() -> Any:
        with contextlib.suppress(Exception):
            return function(*arguments)

    return self.executor.submit(quiet)


def _first_answer(self: Threads, function: Any, *arguments: Any) -> Future[Any]:
    future = self.executor.submit(function, *arguments)
    return self.__dict__.setdefault("first", future)


def _close_once(self: Threads) -> None:
    Threads.close(self)
    del self.executor


ENGINES: Faults = {
    ("nothing_is_left_running", "threads go on"): {
        "close": lambda self: STILL_RUNNING.append(self.executor)
    },
    ("an_error_of_a_task_reaches_the_caller", "an error is an answer"): {"submit": _as_answer},
    ("an_error_of_a_task_reaches_the_caller", "an error is a lost worker"): {
        "died": lambda self, error: True
    },
    ("each_answer_is_that_of_its_task", "all answers are the first"): {"submit": _first_answer},
    ("closing_twice_is_harmless", "closed once only"): {"close": _close_once},
}


def test_sound_engines_pass() -> None:
    assert failures(Threads, EngineConformance) == {}
    assert failures(lambda: Processes.open(EngineOptions(workers=1)), EngineConformance) == {}


@pytest.mark.parametrize(("check", "fault"), ENGINES)
def test_a_faulty_engine_is_found(check: str, fault: str, monkeypatch) -> None:
    monkeypatch.setattr("fsframe.testing.services._SECONDS_TO_STOP", 0.5)
    parts = ENGINES[check, fault]
    engine = type("Faulty", (Threads,), {"__doc__": "The same, with a fault.", **parts})
    assert outcome_of(check, engine, EngineConformance).status == "failed"
    while STILL_RUNNING:
        STILL_RUNNING.pop().shutdown()


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


COMMANDS: Faults = {
    ("declarations_are_complete", "no help"): _changed(help=""),
    ("declarations_are_complete", "an option without help"): _changed(
        params=[lines.params[0], click.Option(["--most"], default=9)]
    ),
    ("an_unknown_option_is_refused", "any option"): _changed(
        context_settings={"ignore_unknown_options": True}
    ),
    ("missing_files_are_refused_with_a_message", "a Python error for a missing file"): _changed(
        _crashes
    ),
    ("damaged_files_are_refused_with_a_message", "a Python error for a damaged file"): _changed(
        _crashes
    ),
    ("it_does_its_work_and_says_the_same_again", "nothing on stdout"): _changed(
        lambda path, most: None
    ),
    ("it_does_its_work_and_says_the_same_again", "another answer each time"): _changed(
        lambda path, most: click.echo(time.perf_counter_ns())
    ),
}


def test_a_sound_command_passes() -> None:
    body = {"arguments": staticmethod(arguments), "target": "fsframe.cli:cli"}
    assert failures(lambda: lines, CommandConformance, **body) == {}


def test_a_command_that_loads_numpy_for_its_help_is_found() -> None:
    check, target = "help_loads_no_large_library", "numpy.linalg:norm"
    assert "numpy" in outcome_of(check, lambda: lines, CommandConformance, target=target).detail


@pytest.mark.parametrize(("check", "fault"), COMMANDS)
def test_a_faulty_command_is_found(check: str, fault: str) -> None:
    command = COMMANDS[check, fault]
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


def _all_columns(self: Votes, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
    return Selection(selected=np.arange(data.n_features), scores=np.ones(data.n_features))


def _what_the_base_takes(self: Votes, *given: Any) -> list[Selection]:
    with contextlib.suppress(Exception):
        return Votes.found(self, *given)
    return []


WRAPPING: Faults = {
    ("warnings_of_the_base_are_kept", "warnings of the base are lost"): {
        "notes": lambda self, told: ()
    },
    (
        "a_base_that_keeps_few_many_or_no_columns_is_handled",
        "votes by the number of columns kept",
    ): {"shares": lambda self, votes: votes / votes.sum()},
    ("errors_of_the_base_are_its_own", "resamples that the base refuses are left out"): {
        "found": _what_the_base_takes
    },
    ("workers_change_no_bit", "other bootstraps with workers"): {
        "counts": lambda self, data, run: Votes.counts(
            self, data, run if run.executor is None else run.child(7)
        )
    },
    ("workers_change_no_bit", "other random numbers of the base with workers"): {
        "found": lambda self, base, data, counts, run: Votes.found(
            self, base, data, counts, run if run.executor is None else attrs.evolve(run, entropy=8)
        )
    },
    ("a_missing_base_is_asked_for", "all columns without a base"): {"_select": _all_columns},
}


@pytest.mark.parametrize(("check", "fault"), WRAPPING)
def test_a_faulty_wrapping_stage_is_found(check: str, fault: str) -> None:
    parts = WRAPPING[check, fault]
    body = {"__doc__": "The same, with a fault.", **parts}
    faulty = attrs.frozen(kw_only=True)(type("Faulty", (Votes,), body))
    for kind, status in ((faulty, "failed"), (Votes, "passed")):
        outcome = outcome_of(check, lambda kind=kind: kind(base="mim:top=2"), WrappingConformance)
        assert outcome.status == status


def test_a_wrapping_stage_is_checked_with_a_base_that_suits_it() -> None:
    assert suite_for("cpss")().make().base == "relieff:top=3"
    assert suite_for("cpss").advice == ""
    advice = suite_for("cpss:base=mim").advice
    assert advice.endswith("fsframe check 'cpss:base=relieff:top=3,pairs=5,false_selections=3'")
