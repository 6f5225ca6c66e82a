"""Tables in parts: results are those of the table in memory, however rows are divided."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import attrs
import numpy as np
import polars
import pytest

import fsframe
from fsframe import Chain
from fsframe.errors import DataError, RequestError
from fsframe.execution import open_engine
from fsframe.method.run import Run
from fsframe.testing.tables import assert_equal
from fsframe_infotheory.engine import part_counts
from fsframe_interactions.engine import bit_rows, screen
from tests.grids import slow
from tests.plugins.shared import CODES, divided, mixed_table


@attrs.frozen
class Family:
    """Chains of a family, its table, and the least memory that it takes for each row."""

    without: tuple[str, ...]
    bytes_a_row: int
    rounding: float
    """By how much scores may differ from those of the table in memory."""

    chains: tuple[str, ...]
    """Of each way of counting, drawing and keeping one."""
    more: tuple[str, ...] = ()
    """Chains of longer runs."""
    twins: int = 0
    roles: dict[str, str] = attrs.field(factory=dict)


FAMILIES = {
    "relief": Family(
        ("kind", "person", "gap", "near"), 500, 1e-13,
        ("relieff:m=10", "relieff:m=15,weighting=distance,k=15",
         "relieff:m=10,discrete_features=all,top=3"),
        ("relieff:m=20,k=3", "relief:m=30", "relieff:m=15,weighting=rank,k=20",
         "relieff:m=5000,k=2", "relieff:m=10,k=900", "relieff:m=10,discrete_features=none"),
        twins=30,
    ),
    "relief of codes": Family(
        CODES, 500, 1e-13, ("relief:m=30",), ("relieff:m=10", "relieff:m=20,k=3"), twins=30
    ),
    "infotheory": Family(
        ("kind", "person", "near"), 200, 1e-11,
        ("fcbf", "jmi3:top=4", "jmi:given=[code0],exclude=[far]", "cmim:constants=last",
         "jmi:top=3,pairs=synergy", "mrmr:discretise=equal-frequency,bins=4",
         "mim:discretise=mdl"),
        ("mim", "symmetric-uncertainty", "chi2", "mifs", "mrmr", "jmi", "cmim", "disr", "icap",
         "cife", "condred", "betagamma", "jmim", "njmim", "mrmr:stop=positive", "mim:unit=nats",
         "jmi:bins=40", "mim:discretise=freedman-diaconis", "mim:discretise=none"),
    ),
    "margin": Family(
        ("gap",), 4000, 1e-8,
        ("im4e:prototypes=200", "immigrate:prototypes=120,max_iter=2,screen=1",
         "bim:prototypes=120,rounds=3"),
        ("im4e:prototypes=150,sigma=cv,folds=2", "im4e:prototypes=150,standardize=no",
         "immigrate:prototypes=120,max_iter=3"),
        roles={"groups": "person", "label": "y"},
    ),
    "interactions": Family(
        ("person", "near", "wide", "far"), bit_rows.ROW_BYTES, 0.0,
        ("interactions:calibrate=0", "interactions:bins=5,max_levels=2,draws=30,keep=5",
         "interactions:top=3,keep=5"),
        ("interactions", "interactions:bins=5,max_levels=2,draws=30",
         "interactions:keep=20,draws=50", "interactions:correction=by,draws=30"),
    ),
}  # fmt: skip
CASES = [
    *((family, text) for family, of in FAMILIES.items() for text in of.chains),
    *(slow(family, text) for family, of in FAMILIES.items() for text in of.more),
]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_counts, "SHARD_ROWS", 128)
    monkeypatch.setattr(part_counts, "GROUP", 8)
    monkeypatch.setattr(bit_rows, "SHARD_ROWS", 75)
    # So that the threshold rises while some pairs are still to come.
    monkeypatch.setattr(screen, "TILE", 1)
    monkeypatch.setattr(screen, "BAND", 2)


def stage(family: str, text: str) -> Chain:
    if family != "infotheory":
        return Chain.parse(text)
    return Chain.parse(text + ("," if ":" in text else ":") + "missing=level")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[fsframe.Dataset]]:
    """The table of a family in memory, and in one, four and two parts."""

    @functools.cache
    def made(family: str) -> list[fsframe.Dataset]:
        of, folder = FAMILIES[family], tmp_path_factory.mktemp("divided")
        frame = mixed_table(*of.without, twins=of.twins)
        cuts: tuple[tuple[int, ...], ...] = ((), (1, 2, 300), (225,))
        parts = [divided(frame, folder / str(len(each)), each, **of.roles) for each in cuts]
        return [fsframe.read(frame, **of.roles), *parts]

    return made


@pytest.mark.parametrize(("family", "text"), CASES)
def test_any_division_threads_and_memory_give_the_same_bits(family, text, tables):
    of, chain = FAMILIES[family], stage(family, text)
    whole, *parts = tables(family)
    expected = chain.select(whole, run=Run(entropy=2))
    # With the least memory that a drawn instance takes, nearly each takes a pass of its own.
    scarce = (160 if text == "relieff:m=10" else of.bytes_a_row) * whole.n_samples
    found = [
        chain.select(data, run=Run(entropy=2, threads=threads, memory=memory))
        for data, threads, memory in zip(parts, (1, 2, 3), (1 << 30, 1 << 30, scarce), strict=True)
    ]
    for each in found:
        assert_equal(each, found[0], "otherwise divided")
        np.testing.assert_array_equal(each.selected, expected.selected)
        np.testing.assert_allclose(each.scores, expected.scores, rtol=0, atol=of.rounding)
        assert each.warnings == expected.warnings
        if family == "interactions":
            assert_equal(each, expected, "in parts")
        if each.pair_weights is not None and family == "infotheory":
            matrix = expected.pair_weights.matrix
            np.testing.assert_allclose(each.pair_weights.matrix, matrix, atol=1e-11)


OF_COUNTS = [("infotheory", "jmi:top=4"), ("interactions", "interactions:draws=30,calibrate=20")]


@pytest.mark.parametrize(("family", "text"), OF_COUNTS)
def test_workers_give_the_same_bits(family, text, tmp_path):
    data = divided(mixed_table(*FAMILIES[family].without), tmp_path / "p", (300,))
    chain = stage(family, text)
    expected = chain.select(data)
    with ThreadPoolExecutor(3) as pool:
        assert_equal(chain.select(data, run=Run(executor=pool)), expected, "with workers")
    if family == "interactions":  # Other processes do not know of shards that are small.
        with open_engine("processes", workers=2) as engine:
            assert_equal(chain.select(data, run=Run(executor=engine)), expected, "with workers")


@pytest.mark.parametrize(("family", "text"), OF_COUNTS)
def test_what_lies_beside_the_table_is_used_checked_and_made_anew(
    family, text, tmp_path, monkeypatch
):
    module, name, files = {
        "infotheory": (part_counts, "_new_shards", ("000001.shard", "index")),
        "interactions": (bit_rows, "_write_new", ("planes", "index")),
    }[family]
    data = divided(mixed_table(*FAMILIES[family].without), tmp_path / "p", (300,))
    chain, made = stage(family, text), []
    expected, real = chain.select(data), getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given: made.append(1) or real(*given))
    assert_equal(chain.select(data), expected, "again")
    assert not made
    home = data.matrix.cache_folder
    (facts,) = home.glob("facts-*")
    (folder,) = {*home.iterdir()} - {facts}
    for place, gone in itertools.product(files, (False, True)):
        content = bytearray((folder / place).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / place).unlink() if gone else (folder / place).write_bytes(content)
        made.clear()
        assert_equal(chain.select(data), expected, "again")
        assert len(made) == 1, (place, gone)
    # Nothing is left of what was made on the way.
    assert {*home.iterdir()} == {facts, folder}


SCARCE = {
    "relief": ("relieff:m=10", "160 bytes for each of 545 rows"),
    "margin": ("im4e:prototypes=200", "prototypes"),
    "interactions": ("interactions", "interactions: 192 bytes for each of 500 rows"),
}


@pytest.mark.parametrize("family", SCARCE)
def test_too_little_memory_for_what_is_drawn_or_counted_is_said(family, tables):
    (text, said), data = SCARCE[family], tables(family)[-1]
    with pytest.raises(RequestError, match=said):
        Chain.parse(text).select(data, run=Run(memory=min(20_000, 40 * data.n_samples)))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A table in parts, of which four columns may be in memory; the target, classes or numbers."""
    frame = mixed_table("kind", "person", "gap", "near", "wide", "far", twins=30)
    numbers = frame.with_columns(y=polars.col("y") + polars.col("real0"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FSFRAME_TABLE_MEMORY", str(8 * len(frame) * 4))
        folder = tmp_path_factory.mktemp("large")
        # How much may be in memory is settled when a table is read, and other tests need more.
        return {"classes": divided(frame, folder / "c", (150,)),
                "numbers": divided(numbers, folder / "n", (150,))}  # fmt: skip


NEEDED = "needs its table in memory, where .* kB and .* kB are allowed"
ASKED = {
    **dict.fromkeys(("relieff:m=100", "relief:m=7", "mim:top=3 relieff:top=2", "interactions"), ""),
    "relieff": "or use m=1000",
    "relieff:m=9,ties=index": NEEDED,
    "relieff:m=9,ramp=[0.1,0.5]": NEEDED,
    "multisurf:m=9": NEEDED,
    "relieff:m=9,permutations=99": NEEDED,
    **dict.fromkeys(("cmi", "jmi:stop=significant", "mim npfs"), f"{NEEDED}.*such as mim:top="),
    "mim:top=7 relieff": f"{NEEDED}.*such as mim:top=",
    "immigrate": "prototypes=4000: rows are drawn over the parts",
    # Not fewer than the rows: all of them would be needed.
    "im4e:prototypes=5000": NEEDED,
}


@pytest.mark.parametrize("text", ASKED)
def test_what_needs_the_whole_table_is_refused_before_work_with_what_would_do(text, large):
    with pytest.raises(DataError, match=ASKED[text]) if ASKED[text] else nullcontext() as told:
        Chain.parse(text).check_request(large["classes"])
    assert told is None or ("m=1000" in str(told.value)) == text.endswith("relieff")


def test_pairs_of_a_numeric_target_need_the_whole_table(large):
    with pytest.raises(DataError, match=f"interactions {NEEDED}"):
        Chain.parse("interactions").check_request(large["numbers"])
    with pytest.raises(DataError, match=NEEDED):
        fsframe.selectors["relieff"]().select(large["classes"])


def test_what_needs_the_table_in_memory_loads_it_where_it_fits(tables):
    whole, data = tables("relief")[0], tables("relief")[-1]
    knn = "mim:estimator=knn,top=2"
    for text in ("relieff:top=3", "cmi:top=3", "mim:top=5 relieff:top=2", knn):
        assert_equal(Chain.parse(text).select(data), Chain.parse(text).select(whole), text)
