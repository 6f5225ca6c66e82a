"""Arrays of a stage's model: cut to the next stage's columns, or withheld; never misread."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest

from fsframe.chains.chain import Chain, Stage
from fsframe.errors import PluginError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.method.stage_view import Base
from fsframe.resampling.wrapping import WrappingSelector
from fsframe.storage import DataRecord, RunRecord, StageRecord, load_run, write_run
from fsframe.storage.unit_bytes import pack_selections, reduced, unpack_selections
from fsframe.storage.write import first_difference
from fsframe.table.dataset import Dataset

P = 7


@pytest.fixture
def table() -> Dataset:
    """Every value is the number of its column, so that an array tells which columns it is of."""
    X = np.tile(np.arange(P, dtype=float), (6, 1))
    return Dataset.from_arrays(X, ["a", "b"] * 3, name="numbered")


@attrs.frozen(kw_only=True)
class Keep(Selector):
    """The columns whose values are asked for, with a model of what it saw."""

    kept: Any = ()
    declared: Any = None

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        own = data.X[0]
        everything = {"w": 0, "pairs": (0, 2), "turned": 1, "width": ()}
        return Selection(
            selected=[int(np.flatnonzero(own == value)[0]) for value in self.kept],
            scores=own,
            model={
                "w": own,
                "pairs": own[:, None, None] * 10 + own + np.zeros((1, 2, 1)),
                "turned": np.vstack([own, -own]),
                "width": np.float64(0.5),
            },
            model_columns=everything if self.declared is None else self.declared,
        )


@attrs.frozen(kw_only=True)
class Reader(Selector):
    """What arrives: the upstream model, as tables."""

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        assert upstream is not None
        return Selection(
            selected=np.arange(data.n_features), scores=data.X[0], tables=dict(upstream.model)
        )


@attrs.frozen(kw_only=True)
class WholeTableReader(WrappingSelector):
    """The same for a stage that resamples what is on its left, and sees the whole table."""

    takes_counts: ClassVar[bool] = True

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        return Reader()._select(data, upstream, run)


def read_behind(table: Dataset, *kept: tuple[int, ...], declared: Any = None) -> Selection:
    stages = [Stage("keep", Keep(kept=columns, declared=declared)) for columns in kept]
    return Chain([*stages, Stage("reader", Reader())]).select(table)


def test_a_model_is_cut_to_the_columns_that_are_left(table: Dataset) -> None:
    # The second stage saw columns 1, 2, 4, 6 and kept two: the places of these are 0 and 2 there.
    found = read_behind(table, (6, 1, 4, 2), (4, 1))
    assert found.features_in is not None and found.features_in.tolist() == [1, 4]
    assert found.tables["w"].tolist() == [1.0, 4.0]
    assert found.tables["pairs"].tolist() == [[[11, 14]] * 2, [[41, 44]] * 2]
    assert found.tables["turned"].tolist() == [[1, 4], [-1, -4]]
    assert found.tables["width"] == 0.5


def test_an_undeclared_array_does_not_reach_a_stage_with_other_columns(table: Dataset) -> None:
    found = read_behind(table, (6, 1, 4, 2), (4, 1), declared={"w": 0})
    assert set(found.tables) == {"w"}
    assert not read_behind(table, (6, 1, 4, 2), (4, 1), declared={}).tables


def test_as_many_other_columns_are_not_taken_for_the_same_ones(table: Dataset) -> None:
    seen = Keep(kept=(0, 1, 2), declared={}).select(table)
    moved = attrs.evolve(seen, features_in=[4, 5, 6], model={"w": np.arange(3.0)})
    assert not Reader().select(table, moved).tables


def test_an_undeclared_array_reaches_a_stage_with_the_same_columns(table: Dataset) -> None:
    found = read_behind(table, (6, 1), (1, 6), declared={})
    assert found.tables["w"].tolist() == [1.0, 6.0]
    assert set(found.tables) == {"w", "pairs", "turned", "width"}


def test_a_stage_with_the_whole_table_gets_no_array_of_some_columns(table: Dataset) -> None:
    stages = [Stage("keep", Keep(kept=(4, 1, 2))), Stage("keep", Keep(kept=(2, 4)))]
    chain = Chain([*stages, Stage("whole", WholeTableReader())])
    assert set(chain.select(table).tables) == {"width"}
    first = Chain([stages[0], Stage("whole", WholeTableReader())]).select(table)
    assert first.tables["w"].tolist() == list(range(P))


def test_a_copy_of_what_arrived_stands_for_the_columns_available(table: Dataset) -> None:
    class Passing(Keep):
        def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
            assert upstream is not None
            return attrs.evolve(upstream, selected=[0])

    seen = Keep(kept=(5, 3)).select(table)
    passed = Passing().select(table, seen)
    assert passed.features_in is not None and passed.features_in.tolist() == [3, 5]
    assert passed.model["w"].tolist() == [3.0, 5.0]
    assert Reader().select(table, passed).tables["w"].tolist() == [3.0]


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"v": 0}, "names 'v', which is not in the model"),
        ({"w": 1}, r"gives 'w' the axes \(1,\); its shape is \(7,\)"),
        ({"w": -1}, r"gives 'w' the axes \(-1,\)"),
        ({"turned": (1, 1)}, r"gives 'turned' the axes \(1, 1\)"),
        ({"turned": 0}, r"axis 0 of model\['turned'\] has length 2, .* over the 7 columns"),
    ],
)
def test_wrong_declarations_are_refused(table: Dataset, declared: Any, told: str) -> None:
    with pytest.raises(PluginError, match=told):
        Keep(kept=(1,), declared=declared).select(table)


def test_declarations_travel_between_processes_to_units_and_in_run_files(table, tmp_path) -> None:
    found = Keep(kept=(5, 3)).select(table)
    bare = attrs.evolve(found, model_columns={})

    def record_of(selection: Selection, **more: Any) -> RunRecord:
        return RunRecord(
            chain="keep",
            data=DataRecord.from_dataset(table),
            stages=(StageRecord(name="keep", selection=selection),),
            selected=found.selected,
            scores=found.scores,
            **more,
        )

    def stored(selection: Selection) -> Selection:
        file = write_run(tmp_path / "run.h5", record_of(selection), overwrite=True)
        return load_run(file).stages[0].selection

    (unpacked,), _ = unpack_selections(pack_selections([found]), (P, 6))
    for copy in (pickle.loads(pickle.dumps(found)), unpacked, stored(found)):
        assert dict(copy.model_columns) == dict(found.model_columns)
        assert Reader().select(table, copy).tables["w"].tolist() == [3.0, 5.0]
    for copy in (stored(bare), reduced(found, {"scores"})):
        assert not copy.model_columns and not Reader().select(table, copy).tables
    with pytest.raises(TypeError):
        Selection(selected=[], scores=[], model_columns={"w": 0.5})
    # They enter no digest, and a record read back without them differs.
    record = record_of(found)
    without = record_of(bare, created=record.created)
    assert without.digests() == record.digests()
    assert first_difference(record, without) == "/stages/00-keep/model_columns"
