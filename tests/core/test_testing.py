"""The conformance suite itself: each check is made to fail on purpose, and must say so."""

from __future__ import annotations

import unittest
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest

from fsframe.errors import DataError, PluginError, RequestError
from fsframe.method.classifier import Classifier, Regressor
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.params import optional, param, real, text
from fsframe.table.dataset import Dataset
from fsframe.testing import (
    ClassifierConformance,
    RegressorConformance,
    SelectorConformance,
    StabilityMetricConformance,
    by_cause,
    conformance,
)

from .faulty_selectors import FAULTS, Explained, answering, failing, made
from .tried_checks import failures, outcome_of, suite_of


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("check", "what"), FAULTS)
def test_a_broken_promise_is_found(check: str, what: str) -> None:
    fault = FAULTS[check, what]
    body = {"gives": frozenset({"scores"}), "seconds": fault.seconds}
    found = outcome_of(check, made(**fault.parts), **body)
    assert found.status == "failed" and found.detail
    assert fault.says in found.detail


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
    found = outcome_of("every_parameter_has_an_effect", Unread)
    assert found.status == "failed" and found.detail.endswith("shape")


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
        found = outcome(other, after="relieff")
        assert found.status == "passed", found.detail
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
    found = outcome_of(check, make, exceptions=exceptions)
    assert found.status == status and words in found.detail


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
    found = failures(Constant, ClassifierConformance)
    assert {
        "a_separable_table_is_learned",
        "each_row_is_predicted_by_itself",
        "the_predicted_class_has_the_largest_score",
    } <= found.keys()
    assert [check for check, said in found.items() if said.startswith("AssertionError")] == []


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
    found = failures(lambda: Slope(fault=fault), RegressorConformance)
    assert found.keys() >= checks and bool(found) == bool(checks)


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

    found = failures(Hiding).values()
    assert any("parameter score" in said and "rename it" in said for said in found), found


def test_copies_are_not_compared_with_weights_where_a_method_says_why() -> None:
    @attrs.frozen(kw_only=True)
    class Apart(Explained):
        """Columns by a gap."""

        def unlike_copies(self) -> str:
            return "copies are in one fold"

    found = outcome_of("counts_equal_copies", Apart)
    assert (found.status, found.detail) == ("not applicable", "copies are in one fold")
    assert outcome_of("counts_equal_copies", Explained).status == "passed"
