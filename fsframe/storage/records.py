"""Frozen records of a run and its stages, as stored, and the contents of their digests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.method.answer import AnswerTable, feature_table
from fsframe.method.pair_tests import PairTests
from fsframe.method.pairs import pair_table
from fsframe.method.selection import Donors, Pair, PairWeights, Selection
from fsframe.storage.encoding import (
    content_digest,
    result_digest,
    same_donors,
    selection_arrays,
    stored_json,
)
from fsframe.storage.spec import STAGE_KINDS, STATUS, TASKS
from fsframe.table.arrays import ReadOnly, are_columns, arrays, floats, freeze
from fsframe.text import listed, printable, storable_text

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from fsframe.table.dataset import Dataset


def array_name(kind: str, name: str) -> str:
    """The name of the array of that kind for a method, whose name may have a provider.

    Names of arrays cannot hold a slash.

    >>> array_name("sizes", "kuncheva"), array_name("sizes", "other-package/yu")
    ('sizes-kuncheva', 'sizes-other-package%2Fyu')
    """
    return f"{kind}-{name.replace('%', '%25').replace('/', '%2F')}"


def as_columns(value: Any) -> NDArray[np.int64]:
    """Column numbers as the format stores them, frozen."""
    return freeze(value, np.int64)


def as_texts(value: Any) -> tuple[str, ...]:
    """Texts, frozen."""
    return tuple(str(item) for item in value)


def _key(value: Any) -> tuple[int, ...]:
    return tuple(int(part) for part in value)


def _of_selection(name: str) -> Any:
    """The default of a field of a stage: that of its selection, or empty if it has none."""

    def part(stage: StageRecord) -> Any:
        value = getattr(stage.selection, name, None)
        return () if value is None else value

    return attrs.Factory(part, takes_self=True)


@attrs.frozen(kw_only=True, eq=False)
class StageRecord:
    """One stage of a run: its method and provider, parameters, input columns and results.

    Parameters
    ----------
    name, kind : str
        Name in the registry; ``"selector"`` or ``"classifier"``.
    provider, provider_version : str
        The distribution the code came from.
    params : mapping of str to JSON values
        Every parameter, defaults too.
    features_in : (m,) int
        Columns the stage saw, ascending; by default those of `selection`.
    selection : Selection, optional
        Its selection, in column numbers of the original table; None for a stage that does not
        select.
    model, tables : mapping of str to array
        Given for a stage without a selection; otherwise they are the selection's.
    warnings : tuple of str
        Likewise for warnings.
    seconds : float
        Time taken; enters no digest.
    seed : tuple of int
        The stage's key into the run's random streams.
    """

    name: str
    kind: str = attrs.field(default="selector", validator=attrs.validators.in_(STAGE_KINDS))
    provider: str = ""
    provider_version: str = ""
    params: Mapping[str, Any] = attrs.field(factory=dict, converter=ReadOnly[Any])
    selection: Selection | None = attrs.field(default=None, repr=False)
    features_in: NDArray[np.int64] = attrs.field(
        default=_of_selection("features_in"), converter=as_columns, repr=False
    )
    model: Mapping[str, NDArray[Any]] = attrs.field(
        default=_of_selection("model"), converter=arrays, repr=False
    )
    tables: Mapping[str, NDArray[Any]] = attrs.field(
        default=_of_selection("tables"), converter=arrays, repr=False
    )
    warnings: tuple[str, ...] = attrs.field(default=_of_selection("warnings"), converter=as_texts)
    seconds: float = attrs.field(default=0.0, converter=float)
    seed: tuple[int, ...] = attrs.field(default=(), converter=_key)

    def digest(self) -> str:
        """SHA-256 of results and parameters, without times and versions."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        # Everything it covers is frozen, so it is computed once.
        texts = {name: (text,) for name, text in stage_texts(self).items()}
        return content_digest(stage_items(self) | texts)


@attrs.frozen(kw_only=True, eq=False)
class PairTestRecord:
    """The tests of the result's pairs, and the method that made them.

    Parameters
    ----------
    name, provider, provider_version : str
        The testing method by its registry name, and the distribution of its code.
    seed : tuple of int
        Its key into the run's random streams.
    tests : PairTests
        In column numbers of the original table.
    """

    name: str
    provider: str = ""
    provider_version: str = ""
    seed: tuple[int, ...] = attrs.field(default=(), converter=_key)
    tests: PairTests = attrs.field(repr=False)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the results, the method and its key."""
        seed = stored_json(list(self.seed), "seed of the tests of pairs")
        texts = {"name": (self.name,), "provider": (self.provider,), "seed": (seed,)}
        numbers = {
            name: np.array([getattr(self.tests, name)], dtype=np.int64)
            for name in ("n_chosen_from", "n_tested")
        }
        return content_digest(pair_test_items(self.tests) | texts | numbers)


def last_selection(stages: Sequence[StageRecord]) -> Selection | None:
    """The selection of the last of these stages that selects; None if none does."""
    return next((s.selection for s in reversed(stages) if s.selection is not None), None)


def stage_items(stage: StageRecord) -> dict[str, Any]:
    """Every array and text of a stage that is a dataset of the file, groups joined by a slash."""
    items: dict[str, Any] = {
        "features_in": stage.features_in,
        "params": (stored_json(dict(stage.params), f"parameters of stage {stage.name}"),),
        "warnings": stage.warnings,
    }
    if stage.selection is not None:
        arrays = selection_arrays(stage.selection)
        # Donors passed on by an earlier stage are stored with that stage.
        carried = "donors" in stage.selection.carried
        items |= {
            path: array
            for path, array in arrays.items()
            if path not in items and not (carried and path.startswith("donors/"))
        }
    items |= {f"model/{name}": array for name, array in stage.model.items()}
    items |= {f"tables/{name}": array for name, array in stage.tables.items()}
    return items


def axes_text(stage: StageRecord) -> str:
    """The axes of a stage's model arrays that run over columns, as JSON; empty if undeclared.

    A dataset of the file that enters no digest: it only says how to read arrays that are covered
    themselves.
    """
    declared = {} if stage.selection is None else dict(stage.selection.model_columns)
    return stored_json(declared, f"model_columns of stage {stage.name}") if declared else ""


def stage_texts(stage: StageRecord) -> dict[str, str]:
    """The attributes of a stage that enter its digest."""
    carried: Sequence[str] = () if stage.selection is None else sorted(stage.selection.carried)
    return {
        "carried": " ".join(carried),
        "kind": stage.kind,
        "name": stage.name,
        "provider": stage.provider,
        "seed": stored_json(list(stage.seed), f"seed of stage {stage.name}"),
    }


def pair_test_items(tests: PairTests) -> dict[str, NDArray[Any]]:
    """The arrays of tests of pairs under the names of the format."""
    items: dict[str, NDArray[Any]] = {
        "columns": np.asarray(tests.columns, dtype=np.int64),
        "pairs": np.asarray(tests.pairs, dtype=np.int64),
        "p_values": tests.p_values,
        "q_values": tests.q_values,
    }
    return items | {f"tables/{name}": array for name, array in tests.tables.items()}


def _fills(selection: Selection) -> bool:
    """Whether the stage that made a selection fills gaps itself."""
    return (selection.fill is not None and "fill" not in selection.carried) or (
        selection.donors is not None and "donors" not in selection.carried
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@attrs.frozen(kw_only=True, eq=False)
class DataRecord:
    """Description of the table of a run; the table itself is not stored.

    Parameters
    ----------
    name, source, label : str
        Short name, where it was read from, name of the label column.
    sha256 : str
        `Dataset.sha256`.
    n_samples, n_features : int
    task : {"classification", "regression", "survival"}
    feature_names, class_names : tuple of str
        Classes are in the order of their codes; none for regression.
    """

    name: str
    source: str = ""
    sha256: str
    label: str = ""
    task: str = attrs.field(default="classification", validator=attrs.validators.in_(TASKS))
    n_samples: int = attrs.field(converter=int)
    n_features: int = attrs.field(converter=int)
    feature_names: tuple[str, ...] = attrs.field(converter=as_texts, repr=False)
    class_names: tuple[str, ...] = attrs.field(default=(), converter=as_texts)

    def __attrs_post_init__(self) -> None:
        if len(self.feature_names) != self.n_features:
            raise ValueError(f"{len(self.feature_names)} names for {self.n_features} features")

    @classmethod
    def from_dataset(cls, data: Dataset, source: str = "") -> DataRecord:
        """The description of a Dataset.

        >>> from fsframe.table.dataset import Dataset
        >>> data = Dataset.from_arrays([[1.0, 0.0], [0.0, 1.0]], ["ill", "well"], name="toy")
        >>> DataRecord.from_dataset(data).class_names
        ('ill', 'well')
        """
        return cls(
            name=storable_text(data.name),
            source=storable_text(source),
            sha256=data.sha256,
            label=data.label_name,
            task=data.task,
            n_samples=data.n_samples,
            n_features=data.n_features,
            feature_names=data.feature_names,
            class_names=data.classes,
        )


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RunRecord:
    """One finished run of a chain.

    Parameters
    ----------
    chain : str
        Canonical text.
    data : DataRecord
    stages : tuple of StageRecord
        Left to right.
    selected : (k,) int
        The result: columns of the original table, best first.
    scores : (n_features,) float64
        Larger is better; NaN means not considered.
    pair_tests : PairTestRecord, optional
        Interaction tests of the result's pairs; None if they were not tested.
    seed : int, optional
        Entropy of the run.
    command, created, status, fsframe_version : str
        `created` is the time now, by default.
    warnings : tuple of str
        Warnings about the run as a whole.
    environment : mapping of str to JSON values
        Versions and platform.
    """

    chain: str
    data: DataRecord
    stages: tuple[StageRecord, ...] = attrs.field(converter=tuple[StageRecord, ...])
    selected: NDArray[np.int64] = attrs.field(converter=as_columns)
    scores: NDArray[np.float64] = attrs.field(converter=floats, repr=False)
    pair_tests: PairTestRecord | None = None
    seed: int | None = None
    command: str = ""
    created: str = attrs.field(factory=_now)
    status: str = attrs.field(default=STATUS, validator=attrs.validators.in_((STATUS,)))
    fsframe_version: str = ""
    warnings: tuple[str, ...] = attrs.field(default=(), converter=as_texts)
    environment: Mapping[str, Any] = attrs.field(factory=dict, converter=ReadOnly[Any], repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, since unpickled arrays are writable.
        values = {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}
        return partial(type(self), **values), ()

    def __repr__(self) -> str:
        kept = listed(self.selected_names) if self.selected.size else "nothing"
        where = f"{printable(self.data.name)} ({self.n_samples} × {self.n_features})"
        return f"<{type(self).__name__}: {printable(self.chain)} on {where}; kept {kept}>"

    @property
    def n_samples(self) -> int:
        """Rows of the table."""
        return self.data.n_samples

    @property
    def n_features(self) -> int:
        """Feature columns of the table."""
        return self.data.n_features

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the table's feature columns."""
        return self.data.feature_names

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of their codes."""
        return self.data.class_names

    @property
    def selected_names(self) -> tuple[str, ...]:
        """Names of the kept columns, best first."""
        return tuple(self.feature_names[column] for column in self.selected)

    @property
    def groups(self) -> tuple[str, int] | None:
        """Name and number of the groups in which rows were kept together; None without."""
        groups = self.environment.get("groups")
        if not isinstance(groups, Mapping):
            return None
        name, number = groups.get("name"), groups.get("number")
        # The file may be untrusted.
        if not isinstance(name, str) or not isinstance(number, int) or isinstance(number, bool):
            return None
        return (name, number) if 2 <= number <= self.n_samples else None

    def require_table(self, data: Dataset) -> None:
        """Raise DataError if `data` is not the table that the run was made on, RequestError if it
        is no Dataset."""
        if not hasattr(data, "sha256"):
            raise RequestError(
                f"data must be a Dataset, not {type(data).__name__}: make one by "
                f"fsframe.read(data, label={self.data.label!r}), with the arguments for the table "
                "that the run had"
            )
        if data.sha256 != self.data.sha256:
            raise DataError(
                f"{data.name!r} is not the table the run was made on (SHA-256 "
                f"{data.sha256[:12]}…, not {self.data.sha256[:12]}…); give that table"
            )

    def feature_table(self, data: Dataset | None = None) -> AnswerTable:
        """Results of every feature, best first; `fsframe.method.answer.feature_table`.

        Parameters
        ----------
        data : Dataset, optional
            The table of the run, for the direction and the means per class.

        Raises
        ------
        DataError
            If `data` is not the table of the run.
        """
        if data is not None:
            self.require_table(data)
        return feature_table(self.feature_names, self.ranking_stages(), data)

    def as_result(self) -> RunRecord:
        """This run as a `fsframe.SelectionResult`, which has tables, plots and exports.

        The class is in a higher layer, so that its module is imported only here.
        """
        found: RunRecord = import_module("fsframe.show.results").as_result(self)
        return found

    def plot(self, *args: Any, **options: Any) -> Any:
        """Plot the run: arguments and errors as for `fsframe.SelectionResult.plot`."""
        return self.as_result().plot(*args, **options)

    def to_sklearn(self) -> Any:
        """The run as a scikit-learn transformer, as from `fsframe.SelectionResult.to_sklearn`."""
        return self.as_result().to_sklearn()

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the run file to `path`: errors as for `fsframe.SelectionResult.save`."""
        return self.as_result().save(path, overwrite=overwrite)

    def pair_table(self) -> AnswerTable:
        """Results of every pair, best first; `fsframe.method.pairs.pair_table`."""
        made = self.pair_tests
        # If the method also ran as a stage, its tables have these results and more.
        as_stage = made is not None and any(stage.name == made.name for stage in self.stages)
        tests = None if made is None or as_stage else made.tests
        return pair_table(self.feature_names, self.ranking_stages(), tests)

    def to_frame(
        self, *, pairs: bool = False, data: Dataset | None = None, library: str = "polars"
    ) -> Any:
        """`feature_table`, or `pair_table`, as a data frame of polars or pandas."""
        table = self.pair_table() if pairs else self.feature_table(data)
        return table.to_frame(library)

    def ranking_stages(self) -> list[tuple[str, Selection]]:
        """Names and results of the stages that rank features, from left to right."""
        selecting = [(s.name, s.selection) for s in self.stages if s.selection is not None]
        # Stages that fill gaps prepare the table; their scores rank nothing.
        ranking = [pair for pair in selecting if not _fills(pair[1])]
        if not ranking:
            return selecting
        # A last stage that fills gaps may have left out columns without any value.
        same = set(ranking[-1][1].selected.tolist()) == set(self.selected.tolist())
        return ranking if same else [*ranking, selecting[-1]]

    def _weighing(self) -> Iterator[tuple[StageRecord, Selection]]:
        """The stages with pair weights and their selections, the last one first."""
        for stage in reversed(self.stages):
            if stage.selection is not None and stage.selection.pair_weights is not None:
                yield stage, stage.selection

    @property
    def pair_weights(self) -> PairWeights | None:
        """Pair weights of the last stage that has them."""
        return next((selection.pair_weights for _, selection in self._weighing()), None)

    @property
    def fill(self) -> NDArray[np.float64] | None:
        """Fill values of each column after the last selector; None if there are none."""
        return getattr(last_selection(self.stages), "fill", None)

    @property
    def donors(self) -> Donors | None:
        """Rows whose values replace missing ones after the last selector; None without."""
        return getattr(last_selection(self.stages), "donors", None)

    @property
    def pair_stage(self) -> StageRecord | None:
        """The stage that made `pair_weights`; later stages may have passed them on."""
        made = (s for s, selection in self._weighing() if "pair_weights" not in selection.carried)
        return next(made, None)

    @cached_property
    def pairs(self) -> list[Pair]:
        """Pairs of columns by decreasing absolute weight; empty if there are none."""
        weights = self.pair_weights
        return [] if weights is None else weights.top()

    def strongest_pairs(self, n: int) -> list[Pair]:
        """The first n of `pairs`, without creating the others, which may be millions."""
        weights = self.pair_weights
        return [] if weights is None else weights.top(n)

    @property
    def n_pairs(self) -> int:
        """Number of pairs with a weight other than zero."""
        weights = self.pair_weights
        return 0 if weights is None else weights.count()

    def all_warnings(self) -> tuple[str, ...]:
        """Warnings about the data, then about each stage, with its name."""
        of_stages = (
            f"{stage.name}: {warning}" for stage in self.stages for warning in stage.warnings
        )
        return (*self.warnings, *of_stages)

    def providers(self) -> dict[str, str]:
        """Provider of each method of the chain, by its name in the chain."""
        providers = self.environment.get("providers")
        nested = providers.items() if isinstance(providers, Mapping) else ()
        return {str(name): str(provider) for name, provider in nested} | {
            stage.name: stage.provider for stage in self.stages
        }

    def stage_paths(self) -> tuple[str, ...]:
        """Path of each stage in the file, such as ``/stages/00-immigrate``."""
        # In a name such as provider/name the slash would create a group.
        names = (stage.name.rpartition("/")[2] for stage in self.stages)
        return tuple(f"/stages/{place:02d}-{name}" for place, name in enumerate(names))

    def digests(self) -> dict[str, str]:
        """SHA-256 of each stage and of the result, by their path in the file.

        Equal data, chain and seed give equal digests at any time if the numeric fingerprints
        (`fsframe.storage.encoding`) are equal.
        """
        placed = zip(self.stage_paths(), self.stages, strict=True)
        digests = {path: stage.digest() for path, stage in placed}
        digests["/result"] = result_digest(self.selected, self.scores)
        if self.pair_tests is not None:
            digests["/pair_tests"] = self.pair_tests.digest
        return digests

    def _answers_for_last_stage(self) -> bool:
        last = last_selection(self.stages)
        return last is None or (
            np.array_equal(self.selected, last.selected)
            and np.array_equal(self.scores, last.scores, equal_nan=True)
        )

    def problems(self) -> list[str]:
        """Inconsistencies of the record; empty if it is valid."""
        problems = []
        p, n = self.n_features, self.n_samples
        result = Selection(selected=self.selected, scores=self.scores)
        problems += [f"/result: {problem}" for problem in result.problems(p, n)]
        if not self._answers_for_last_stage():
            problems.append("/result: does not match the last stage that selects")
        before: Selection | None = None
        for path, stage in zip(self.stage_paths(), self.stages, strict=True):
            seen = stage.features_in
            if not are_columns(seen, p) or np.any(np.diff(seen) < 0):
                problems.append(f"{path}: features_in are not ascending columns below {p}")
            if stage.selection is not None:
                problems += [f"{path}: {problem}" for problem in stage.selection.problems(p, n)]
                if "donors" in stage.selection.carried and not same_donors(stage.selection, before):
                    problems.append(
                        f"{path}: says that donors came from the stage before, which has others"
                    )
                before = stage.selection
        if self.pair_tests is not None:
            problems += [f"/pair_tests: {text}" for text in self.pair_tests.tests.problems(p)]
        return problems


def protocol_name(record: RunRecord) -> str:
    """``cross-validation`` or ``stability-study`` if the run ends with one, else empty."""
    stage = record.stages[-1] if record.stages else None
    if stage is None or stage.provider != "protocols" or stage.selection is None:
        return ""
    name = stage.name.rpartition("/")[2]
    return name if name in ("cross-validation", "stability-study") else ""
