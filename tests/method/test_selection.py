"""Selection, PairWeights and models: numbering, freezing, soundness, travel; ranks and ties."""

from __future__ import annotations

import pickle
import re
from typing import Any, ClassVar

import attrs
import numpy as np
import polars
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import fsframe
from fsframe.chains.chain import Chain, Stage
from fsframe.errors import DataError, PluginError
from fsframe.method.ranking import TIE, rank_by_score, tied_order
from fsframe.method.run import Run
from fsframe.method.selection import Pair, PairWeights, Selection
from fsframe.method.selector import Selector
from fsframe.method.stage_view import Base
from fsframe.method.statistics import adjusted_p_values, mean_ranks
from fsframe.resampling.resamples import WrappingSelector
from fsframe.storage import DataRecord, RunRecord, StageRecord, load_run, write_run
from fsframe.storage.unit_bytes import pack_selections, reduced, unpack_selections
from fsframe.storage.write import first_difference
from fsframe.table.dataset import Dataset
from tests.grids import examples

column_sets = st.sets(st.integers(0, 19), min_size=1, max_size=12).map(sorted)


def selection(p: int, seed: int = 0) -> Selection:
    generator = np.random.default_rng(seed)
    scores = generator.random(p)
    matrix = generator.random((p, p))
    return Selection(
        selected=rank_by_score(scores)[: max(1, p // 2)],
        scores=scores,
        weights=generator.random(p),
        pair_weights=PairWeights(np.arange(p), matrix + matrix.T),
        features_in=np.arange(p),
    )


@given(column_sets)
def test_restriction_takes_back_what_lifting_did(columns: list[int]) -> None:
    local = selection(len(columns))
    back = local.lift(np.array(columns), 20).restrict(np.array(columns))
    for of in (
        lambda s: s.selected,
        lambda s: s.scores,
        lambda s: s.weights,
        lambda s: s.pair_weights.columns,
        lambda s: s.pair_weights.matrix,
    ):
        assert of(back).tolist() == of(local).tolist()


@given(column_sets)
def test_lifting_names_the_original_columns(columns: list[int]) -> None:
    local = selection(len(columns))
    lifted = local.lift(np.array(columns), 20)
    assert not lifted.problems(20, 5)
    assert lifted.selected.tolist() == [columns[c] for c in local.selected]
    others = np.setdiff1d(np.arange(20), columns)
    assert np.isnan(lifted.scores[others]).all()
    assert not lifted.weights[others].any()
    assert lifted.features_in.tolist() == columns


@given(column_sets, st.integers(0, 30))
def test_dense_and_listed_pairs_say_the_same(columns: list[int], seed: int) -> None:
    m = len(columns)
    matrix = np.random.default_rng(seed).integers(-2, 3, (m, m)).astype(float)
    matrix = matrix + matrix.T
    dense = PairWeights(columns, matrix)
    i, j, weight = dense.triplets()
    listed = PairWeights.from_triplets(columns, i, j, weight, np.diagonal(matrix))
    assert listed.top() == dense.top()
    assert dense.main_effects().tolist() == listed.main_effects().tolist()
    some = np.array(columns[::2])
    assert dense.restrict(some).top() == listed.restrict(some).top()


def test_pairs_come_by_size_with_their_sign_ties_by_column() -> None:
    weights = PairWeights([9, 2, 5], [[0, 1, 1], [1, 0, -3], [1, -3, 0]])
    assert weights.top() == [Pair(2, 5, -3.0), Pair(2, 9, 1.0), Pair(5, 9, 1.0)]
    assert weights.top(2) == [Pair(2, 5, -3.0), Pair(2, 9, 1.0)]
    assert weights.count() == 3
    assert PairWeights([4], [[7.0]]).top() == []
    assert PairWeights.from_triplets([1, 2], [0], [1], [0.5]).main_effects() is None


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (([0, 1], np.zeros((3, 3))), "shape"),
        (([0, 1], [[0, 1], [2, 0]]), "not symmetric"),
        (([0, 1],), "need a matrix, or i, j and weight"),
        (([0, 1], None, [1], [0], [1.0]), "i < j"),
        (([0, 1], None, [1], [1], [1.0]), "i < j"),
        (([0, 1], None, [0], [1], [1.0, 2.0]), "one weight each"),
        (([0, 1], None, [0], [2], [1.0]), "outside 0 … 1"),
        (([0, 1], None, [0], [1], [1.0], [1.0]), "diagonal"),
        (([3, 3], [[0, 1], [1, 0]]), "twice"),
        (([0.5, 1.5], [[0, 1], [1, 0]]), "whole numbers"),
    ],
)
def test_unsound_pair_weights_are_refused(arguments: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        PairWeights(*arguments)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"scores": [1.0, 2.0]}, r"scores have shape \(2,\), not \(3,\)"),
        ({"scores": [1.0, np.inf, 0.0]}, "infinite"),
        ({"selected": [0, 0]}, "not a list of different columns"),
        ({"selected": [3]}, "outside 0 … 2"),
        ({"selected": [-1]}, "outside 0 … 2"),
        ({"selected": [[0]]}, "not a list"),
        ({"weights": [1.0, -1.0, 0.0]}, "weights hold negative"),
        ({"weights": [1.0, np.nan, 0.0]}, "non-finite"),
        ({"weights": [1.0]}, "weights have shape"),
        ({"instance_weights": [1.0]}, "instance_weights have shape"),
        ({"pair_weights": PairWeights([0, 3], np.eye(2))}, "outside 0 … 2"),
        ({"pair_weights": PairWeights([0, 1], [[0, np.nan], [np.nan, 0]])}, "non-finite"),
    ],
)
def test_what_is_wrong_with_a_selection_is_said(fields: dict[str, Any], complaint: str) -> None:
    sound = {"selected": [1], "scores": [0.0, 1.0, np.nan]}
    assert not Selection(**sound).problems(3, 4)
    (problem,) = Selection(**{**sound, **fields}).problems(3, 4)
    assert re.search(complaint, problem)


def test_arrays_of_a_selection_are_frozen_and_the_authors_stay_writable() -> None:
    scores = np.ones(3)
    selection = Selection(selected=[0], scores=scores, tables={"cost": scores}, model={"w": scores})
    copy = pickle.loads(pickle.dumps(selection))
    assert copy.scores.tobytes() == scores.tobytes() == copy.tables["cost"].tobytes()
    for array in (selection.selected, selection.scores, selection.model["w"], copy.tables["cost"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(TypeError):
        selection.tables["new"] = scores
    scores[0] = 2.0
    with pytest.raises(ValueError, match="whole numbers"):
        Selection(selected=[0.7], scores=[1.0])
    assert Selection(selected=[], scores=[1.0]).selected.dtype == np.intp


@pytest.mark.parametrize("name", ["scores", "weights", "instance_weights"])
def test_complex_numbers_are_refused_and_not_cut_to_their_real_part(name):
    given = {"selected": [0], "scores": [1.0, 2.0], name: np.array([1 + 2j, 0.5])}
    with pytest.raises(ValueError, match="must be real, not complex128"):
        Selection(**given)
    with pytest.raises(ValueError, match="must be real"):
        PairWeights([0, 1], np.array([[1, 1j], [1j, 1]]))


@pytest.mark.parametrize("name", ["", ".", "a/b", "nul\0", "x" * 4097, "\udc80"])
def test_a_name_that_no_file_can_hold_is_a_problem(name):
    selection = Selection(selected=[0], scores=[1.0, 0.0], tables={name: [1.0]})
    [problem] = selection.problems(2, 5)
    assert "tables has an array named" in problem
    assert not Selection(selected=[0], scores=[1.0, 0.0], tables={"a b.ü": [1.0]}).problems(2, 5)


def literal(values, least=0.0):
    """A group begins with the least value left and takes in all within reach, by index."""
    left, out = list(range(len(values))), []
    while left:
        low = min(values[i] for i in left)
        reach = low + (max(TIE * abs(low), least) if np.isfinite(low) else 0.0)
        group = [i for i in left if values[i] <= reach]
        out += group
        left = [i for i in left if i not in group]
    return out


@st.composite
def near_ties(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = int(rng.integers(1, 40))
    base = rng.normal(size=rng.integers(1, 5)) * 10.0 ** int(rng.integers(-20, 20))
    steps = rng.integers(-8, 9, n) * rng.choice([0, 1e-16, 3e-11, 5e-11])
    values = base[rng.integers(0, len(base), n)] * (1 + steps)
    if rng.random() < 0.3:
        odd = [np.inf, -np.inf, 0.0, np.finfo(float).max, -np.finfo(float).max]
        values[rng.random(n) < 0.4] = rng.choice(odd)
    return values.tolist()


@examples(200)
@given(values=near_ties(), least=st.sampled_from([0.0, 1e-10, 0.5]))
def test_ties_are_groups_that_begin_with_their_best(values, least):
    array = np.array(values)
    expected = literal(values, least)
    assert tied_order(array, least=least).tolist() == expected
    assert rank_by_score(-array, least=least).tolist() == expected
    # the first k do not depend on what follows, and NaN has no rank
    holed = np.insert(-array, len(array) // 2, np.nan)
    places = np.delete(np.arange(len(holed)), len(array) // 2)
    for count in (*range(len(values) + 1), None):
        assert rank_by_score(-array, count, least=least).tolist() == expected[:count]
        result = rank_by_score(holed, count, least=least)
        assert result.tolist() == places[expected[:count]].tolist()


def test_a_chain_of_small_steps_does_not_tie_its_ends():
    scores = 1 - 0.8e-10 * np.arange(4)[::-1]
    assert rank_by_score(scores).tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize("name", ["anova-f", "relieff", "vls", "turf:base=relieff", "chi2", "im4e"])
def test_columns_of_equal_worth_come_in_the_order_of_the_table(name):
    # The same column in other units: equal in worth, unequal in the last digit of the score.
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 90)
    wanted = []
    X = []
    for strength in (0.5, 2.0, 1.0):
        x = rng.normal(size=90) + strength * y
        wanted.append(len(X))
        X += [x, x * 3 + 7, 0.1 - x, x / 7, x * 1e-3 + 1, x * 11]
    if name == "chi2":
        X = [np.round(3 * x) for x in X[::6] for _ in range(6)]
    data = Dataset.from_arrays(np.column_stack(X), y)
    method = fsframe.Chain.parse(f"{name}:top=18" if ":" not in name else f"{name},top=18")
    selected = method.select(data, seed=0).selected
    for start in wanted:
        group = [c for c in selected.tolist() if start <= c < start + 6]
        assert group == sorted(group)


@pytest.mark.parametrize("seed", range(20))
def test_mean_ranks_and_adjusted_p_values_are_those_of_scipy(seed):
    generator = np.random.default_rng(seed)
    values = generator.integers(0, 12, generator.integers(0, 60)) / 7 - 0.5
    assert (mean_ranks(values) == scipy.stats.rankdata(values)).all()
    counts = generator.integers(1, 4, values.size)
    repeated = np.repeat(np.arange(values.size), counts)
    of_copies = scipy.stats.rankdata(values[repeated])
    assert (mean_ranks(values, counts)[repeated] == of_copies).all()
    assert np.isnan(mean_ranks(np.append(values, np.nan))).all()
    p = generator.random(generator.integers(1, 50)) ** 3
    p[generator.random(p.size) < 0.2] = p[0]
    for correction in ("bh", "by"):
        expected = scipy.stats.false_discovery_control(p, method=correction)
        assert (adjusted_p_values(p, correction) == expected).all()
        with_gap = adjusted_p_values(np.append(p, np.nan), correction)
        assert np.array_equal(with_gap, [*expected, np.nan], equal_nan=True)
    assert (adjusted_p_values(p, "none") == p).all()


# Arrays of a stage's model: cut to the next stage's columns, or withheld; never misread


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
    data = read_behind(table, (6, 1, 4, 2), (4, 1))
    assert data.features_in is not None and data.features_in.tolist() == [1, 4]
    assert data.tables["w"].tolist() == [1.0, 4.0]
    assert data.tables["pairs"].tolist() == [[[11, 14]] * 2, [[41, 44]] * 2]
    assert data.tables["turned"].tolist() == [[1, 4], [-1, -4]]
    assert data.tables["width"] == 0.5


def test_an_undeclared_array_does_not_reach_a_stage_with_other_columns(table: Dataset) -> None:
    data = read_behind(table, (6, 1, 4, 2), (4, 1), declared={"w": 0})
    assert set(data.tables) == {"w"}
    assert not read_behind(table, (6, 1, 4, 2), (4, 1), declared={}).tables


def test_as_many_other_columns_are_not_taken_for_the_same_ones(table: Dataset) -> None:
    seen = Keep(kept=(0, 1, 2), declared={}).select(table)
    moved = attrs.evolve(seen, features_in=[4, 5, 6], model={"w": np.arange(3.0)})
    assert not Reader().select(table, moved).tables


def test_an_undeclared_array_reaches_a_stage_with_the_same_columns(table: Dataset) -> None:
    data = read_behind(table, (6, 1), (1, 6), declared={})
    assert data.tables["w"].tolist() == [1.0, 6.0]
    assert set(data.tables) == {"w", "pairs", "turned", "width"}


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
    result = Keep(kept=(5, 3)).select(table)
    bare = attrs.evolve(result, model_columns={})

    def record_of(selection: Selection, **more: Any) -> RunRecord:
        return RunRecord(
            chain="keep",
            data=DataRecord.from_dataset(table),
            stages=(StageRecord(name="keep", selection=selection),),
            selected=result.selected,
            scores=result.scores,
            **more,
        )

    def stored(selection: Selection) -> Selection:
        file = write_run(tmp_path / "run.h5", record_of(selection), overwrite=True)
        return load_run(file).stages[0].selection

    (unpacked,), _ = unpack_selections(pack_selections([result]), (P, 6))
    for copy in (pickle.loads(pickle.dumps(result)), unpacked, stored(result)):
        assert dict(copy.model_columns) == dict(result.model_columns)
        assert Reader().select(table, copy).tables["w"].tolist() == [3.0, 5.0]
    for copy in (stored(bare), reduced(result, {"scores"})):
        assert not copy.model_columns and not Reader().select(table, copy).tables
    with pytest.raises(TypeError):
        Selection(selected=[], scores=[], model_columns={"w": 0.5})
    # They enter no digest, and a record read back without them differs.
    record = record_of(result)
    without = record_of(bare, created=record.created)
    assert without.digests() == record.digests()
    assert first_difference(record, without) == "/stages/00-keep/model_columns"


# Values near the largest and the smallest doubles: right answers, and no NaN


METHODS = ("anova-f", "mim", "chi2", "jmi", "im4e", "irelief", "simba", "mbiw", "relieff", "surf",
           "immigrate")  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e149, 1e-149, 1e-310, 5e-324])
def test_the_column_that_matters_is_best_at_any_scale(method, scale):
    X = np.random.default_rng(0).standard_normal((40, 6))
    y = np.arange(40) % 2
    X[:, 3] += 3 * y  # not the first, which wins ties
    # of the smallest double there are whole multiples only
    X = np.round(4 * X) * scale if scale == 5e-324 else X / np.abs(X).max() * scale
    selection = Chain.parse(method).select(Dataset.from_arrays(X, y), run=Run(threads=1))
    assert np.isfinite(selection.scores).all()
    assert selection.selected[0] == 3


@pytest.mark.parametrize("value", [1e300, -1.7e308, 2e150])
def test_values_whose_squares_are_infinite_are_refused_once_for_all(value, tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[4, 1] = value
    y = np.arange(20) % 2
    place = r"above 1e\+150 in magnitude.* row 5, column 2"
    with pytest.raises(DataError, match=place):
        Dataset.from_arrays(X, y)
    with pytest.raises(DataError, match=place):
        Dataset.from_arrays(sparse.csc_array(np.where(np.abs(X) > 2, X, 0)), y)
    X[7, 2] = np.nan
    with pytest.raises(DataError, match=place):
        Dataset.from_arrays(X, y)
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "class": y})
    frame.write_csv(tmp_path / "t.csv")
    with pytest.raises(DataError, match=r"line 6, column 2 \(b\): too large .above 1e\+150"):
        fsframe.read(tmp_path / "t.csv")
    (tmp_path / "parts").mkdir()
    frame.write_parquet(tmp_path / "parts" / "0.parquet")
    with pytest.raises(
        DataError, match=r"'b' holds values too large to be squared \(above 1e\+150"
    ):
        fsframe.read(tmp_path / "parts", label="class")
    with pytest.raises(DataError, match=r"row 5, and the square of a number above 1e\+150"):
        Dataset.from_arrays(X[:, :1], X[:, 1] + np.where(np.isnan(X[:, 2]), 0, 0.5))


def test_the_largest_values_are_taken():
    X = np.array([[1e150, 0.0], [-1e150, np.nan], [1.0, 2.0]])
    assert Dataset.from_arrays(X, [0, 1, 1]).X[0, 0] == 1e150


BIG = 2**53


def test_whole_numbers_that_would_become_equal_are_refused(tmp_path):
    ids = np.array([[1, BIG], [2, BIG + 1], [3, BIG + 2]])
    frame = polars.DataFrame({"a": ids[:, 0], "id": ids[:, 1], "class": [0, 1, 1]})
    path = tmp_path / "t.csv"
    frame.write_csv(path)
    for what, read in (
        ("column 2 ", lambda: Dataset.from_arrays(ids, [0, 1, 1])),
        ("'id' ", lambda: Dataset.from_frame(frame)),
        ("'id' ", lambda: Dataset.from_frame(frame.to_pandas())),
        (r"column 2 \(id\) ", lambda: fsframe.read(path)),
        ("the label ", lambda: fsframe.read(path, label="id")),
    ):
        with pytest.raises(DataError, match=f"{what}.*tell {BIG} from {BIG + 1}"):
            read()
    apart = np.array([[1, BIG], [2, BIG + 2], [3, BIG + 4]])
    assert Dataset.from_arrays(apart, [0, 1, 1]).X[1, 1] == BIG + 2
