"""Arrays as bytes: every bit comes back, and nothing else is taken for them."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from fsframe.chains.request import Request
from fsframe.cli import main
from fsframe.errors import StoreError
from fsframe.method.selection import PairWeights, Selection
from fsframe.storage import load_run
from fsframe.storage.checkpoint import units_folder
from fsframe.storage.encoding import (
    NUMERIC_LIBRARIES,
    NUMERIC_PARTS,
    fingerprint,
    numeric_differences,
)
from fsframe.storage.unit_bytes import (
    pack,
    pack_selections,
    reduced,
    unpack,
    unpack_selections,
)
from fsframe.storage.unit_files import Manifest, Unit
from tests.command_line import python
from tests.grids import examples
from tests.storage.units.interrupted import CHAIN, Stop, stop_late, table

NUMBERS = ["bool", "int8", "uint16", "int64", "uint64", "float32", "float64"]
arrays = st.sampled_from(NUMBERS).flatmap(
    lambda kind: npst.arrays(kind, npst.array_shapes(min_dims=0, max_dims=3, min_side=0))
)


@given(st.dictionaries(st.text(max_size=20), arrays, max_size=4))
def test_numbers_come_back_bit_by_bit(given_arrays):
    found, _ = unpack(pack(given_arrays))
    assert list(found) == list(given_arrays)
    for name, array in given_arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1))
@example(["\ud7ff", "\ue000", "\U0010ffff"])
def test_texts_come_back(texts):
    found, meta = unpack(pack({"names": np.array(texts)}, {"also": texts}))
    assert found["names"].tolist() == texts
    assert meta == {"also": texts}


def test_nan_payloads_and_signed_zeros_survive():
    bits = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x8000000000000000], dtype=np.uint64)
    found, _ = unpack(pack({"x": bits.view(np.float64)}))
    assert found["x"].view(np.uint64).tolist() == bits.tolist()


def test_results_that_say_little_take_little_room():
    wide = 10_000
    found = Selection(
        selected=[7], scores=np.full(wide, np.nan), features_in=np.arange(wide), warnings=("w",)
    )
    for selections in ([found], [found] * 3):
        content = pack_selections(selections)
        assert len(content) < 2_000
        for copy in unpack_selections(content, (wide, 4))[0]:
            assert copy.scores.tobytes() == found.scores.tobytes()
            assert copy.features_in.tolist() == found.features_in.tolist()
    odd = found.scores.view(np.uint64) + np.uint64(1)
    other = attrs.evolve(found, scores=odd.view(np.float64), features_in=np.arange(wide)[::-1])
    [copy], _ = unpack_selections(pack_selections([other]))
    assert copy.scores.tobytes() == odd.tobytes()
    assert copy.features_in.tolist() == other.features_in.tolist()


@pytest.mark.parametrize("usual", [[], {"0/weights": 3}, {"0/scores": -1}, {"0/scores": 1 << 40}])
def test_usual_arrays_that_are_not_are_refused(usual):
    arrays, meta = unpack(pack_selections([Selection(selected=[0], scores=[1.0])]))
    arrays.pop("0/scores")
    with pytest.raises(StoreError, match="usual"):
        unpack_selections(pack(arrays, {**meta, "usual": usual}))


def test_usual_arrays_beyond_the_table_are_not_made():
    packed = pack_selections([Selection(selected=[0], scores=[np.nan] * 9)])
    assert unpack_selections(packed, (9, 4))[0][0].scores.size == 9
    with pytest.raises(StoreError, match="usual"):
        unpack_selections(packed, (8, 4))


@pytest.mark.parametrize("array", [np.array([{}]), np.array([1 + 2j]), np.array(["2020"], "M8[D]")])
def test_arrays_without_a_place_in_a_run_file_are_refused(array):
    with pytest.raises(StoreError, match="cannot keep x"):
        pack({"x": array})


SOUND = pack({"x": np.linspace(0, 1, 20), "names": np.array(["a", "bc"])}, {"why": 1})


@examples(300)
@given(st.integers(0, len(SOUND) - 1), st.integers(1, 255))
def test_a_changed_byte_gives_an_error_of_ours_or_other_values_never_a_crash(place, change):
    content = bytearray(SOUND)
    content[place] ^= change
    try:
        found, _ = unpack(bytes(content))
    except StoreError:
        return
    assert sum(array.nbytes for array in found.values()) <= len(SOUND)


def test_a_packet_cut_short_is_refused():
    for length in range(len(SOUND)):
        with pytest.raises(StoreError):
            unpack(SOUND[:length])


def forged(header: object, *arrays: object, method: int = zipfile.ZIP_STORED) -> bytes:
    """A packet with this header, and members that are arrays or bytes."""
    file = io.BytesIO()
    raw = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with zipfile.ZipFile(file, "w", method) as archive:
        for place, array in enumerate((raw, *arrays)):
            member = io.BytesIO()
            if not isinstance(array, bytes):
                np.save(member, array)
            content = array if isinstance(array, bytes) else member.getvalue()
            archive.writestr(f"arr_{place}.npy", content)
    return file.getvalue()


def header_of(described: dict[str, object]) -> bytes:
    """The beginning of a file of NumPy that describes an array in this way, without its values."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


ONE = {"names": ["x"], "meta": None}
FLOATS = {"descr": "<f8", "fortran_order": False}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (forged(ONE, header_of({**FLOATS, "shape": (1 << 40,)})), "not a packet"),
        (forged(ONE, header_of({**FLOATS, "shape": (1 << 61, 1 << 61)})), "not a packet"),
        (forged(ONE, header_of({**FLOATS, "shape": (-1,)})), "not a packet"),
        (forged(ONE, header_of({**FLOATS, "descr": "|O", "shape": (1,)})), "not a packet"),
        (forged(ONE, np.zeros(1, "f8,i1")), "cannot keep x"),
        (forged(ONE, np.zeros(1, "M8[D]")), "cannot keep x"),
        (forged(ONE, b"not of NumPy"), "not a packet|no array"),
        (forged(ONE, np.zeros(1, np.int8)[0:0], np.zeros(1)), "name each"),
        (forged({"names": ["x", "x"], "meta": 1}, np.zeros(1), np.zeros(1)), "name each"),
        (forged({"names": [1], "meta": 1}, np.zeros(1)), "name each"),
        (forged({"names": "x", "meta": 1}, np.zeros(1)), "name each"),
        (forged({"names": []}), "lacks"),
        (forged([]), "lacks"),
        (forged(ONE, np.array([2], np.uint8).view(bool)), "truth values"),
        (forged(ONE, np.array([0x7FFFFFFF], np.uint32).view("U1")), "Unicode"),
        (forged(ONE, np.array([0xD800], np.uint32).view("U1")), "Unicode"),
        (forged(ONE, np.zeros(1 << 20), method=zipfile.ZIP_DEFLATED), "compressed"),
        (b"\x80\x04\x95", "not a packet"),
        (b"", "not a packet"),
        (b"F" + SOUND[1:], "not a packet"),
    ],
)
def test_hostile_packets_are_refused_with_the_reason(content, reason):
    with pytest.raises(StoreError, match=reason):
        unpack(content)


def test_the_byte_order_of_another_machine_is_turned():
    for array in (np.array([1.5, 2.5], ">f8"), np.array(["ab", "c"], ">U2"), np.array("ab", ">U2")):
        found, _ = unpack(forged(ONE, array))
        assert found["x"].dtype.isnative and found["x"].tolist() == array.tolist()
        assert unpack(pack({"x": array}))[0]["x"].tolist() == array.tolist()


FULL = Selection(
    selected=[2, 0],
    scores=[0.5, np.nan, 0.75],
    weights=[0.1, 0.0, 0.9],
    pair_weights=PairWeights([0, 2], [[1.0, 0.5], [0.5, 2.0]]),
    instance_weights=[1.0, 0.0, 2.0, 0.5],
    model={"threshold": np.array(0.25), "names": np.array(["α", "b"])},
    tables={"cost": np.array([3.0, 2.0])},
    warnings=("weak: σ",),
    features_in=[0, 1, 2],
    carried=frozenset({"weights"}),
)
LISTED = Selection(
    selected=[1],
    scores=[0.0, 1.0, 2.0],
    pair_weights=PairWeights.from_triplets([0, 1, 2], [0, 1], [1, 2], [0.5, 0.25], [1, 2, 3]),
)


def test_selections_come_back_whole():
    content = pack_selections([FULL, LISTED], 1.5)
    (full, listed), meta = unpack_selections(content, (3, 4))
    assert meta == 1.5
    assert pack_selections([full, listed], 1.5) == content
    assert full.model["threshold"].shape == ()
    assert full.warnings == FULL.warnings
    assert full.carried == FULL.carried
    assert full.features_in.tolist() == [0, 1, 2]
    assert listed.pair_weights.top() == LISTED.pair_weights.top()
    assert not full.scores.flags.writeable


def test_many_selections_come_back_whole_and_share_what_is_equal():
    found = [
        attrs.evolve(
            FULL, selected=[k % 3], tables={"cost": np.arange(k)}, warnings=("w",) * (k % 2)
        )
        for k in range(30)
    ]
    content = pack_selections(found)
    copies, _ = unpack_selections(content, (3, 4))
    assert pack_selections(copies) == content
    for copy, one in zip(copies, found, strict=True):
        # One by one they are packed each under its own number.
        assert pack_selections([copy]) == pack_selections([one])
    mixed = [FULL, LISTED, FULL]
    assert [pack_selections([s]) for s in unpack_selections(pack_selections(mixed))[0]] == [
        pack_selections([s]) for s in mixed
    ]
    # Kept columns differ; everything that does not is there once, shared or equal.
    assert len(content) < 10 * len(pack_selections(found[:1]))
    equal = [attrs.evolve(one, scores=one.scores.copy()) for one in found]
    assert pack_selections(equal) == content


def test_signed_zeros_and_nan_payloads_are_not_taken_for_equal():
    odd = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)
    scores = [np.array([0.0]), np.array([-0.0]), np.array([np.nan]), odd]
    found = [Selection(selected=[0], scores=s) for s in scores]
    copies, _ = unpack_selections(pack_selections(found))
    assert [s.scores.tobytes() for s in copies] == [s.tobytes() for s in scores]


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 3), max_size=3, unique=True),
            st.sampled_from([(), (), ("few rows",)]),
        ),
        max_size=6,
    )
)
def test_many_that_differ_in_what_is_kept_come_back_one_by_one(given_):
    scores = np.array([0.5, np.nan, -0.0, 1.0])
    found = [
        Selection(selected=np.array(kept, dtype=np.intp), scores=scores, warnings=told)
        for kept, told in given_
    ]
    copies, meta = unpack_selections(pack_selections(found, {"seconds": 1.5}), (4, 9))
    assert meta == {"seconds": 1.5}
    assert [copy.selected.tolist() for copy in copies] == [kept for kept, _ in given_]
    assert [copy.warnings for copy in copies] == [told for _, told in given_]
    assert all(copy.scores.tobytes() == scores.tobytes() for copy in copies)
    assert not any(copy.selected.flags.writeable for copy in copies)


TWO = [Selection(selected=kept, scores=[0.0, 1.0, 2.0]) for kept in ([1], [0, 2, 1])]


@pytest.mark.parametrize("heads", [[], [[[], []]], [[[], []]] * 3, {"times": 2}])
def test_a_number_of_selections_that_does_not_fit_is_refused(heads):
    arrays, meta = unpack(pack_selections(TWO))
    with pytest.raises(StoreError, match=r"no list of selections|sizes do not fit"):
        unpack_selections(pack(arrays, {**meta, "selections": heads}), (3, 4))


def test_reduced_keeps_what_is_asked_for_and_says_no_more_is_carried():
    bare = reduced(FULL, ())
    assert bare.selected.tolist() == [2, 0]
    assert bare.warnings == FULL.warnings
    assert np.isnan(bare.scores).all()
    assert (bare.weights, bare.pair_weights, bare.instance_weights) == (None, None, None)
    assert not bare.model
    assert not bare.tables
    assert bare.carried == frozenset()
    assert reduced(FULL, {"weights"}).carried == {"weights"}


@pytest.mark.parametrize(
    ("found", "change", "reason"),
    [
        ([FULL], {"0/selected": np.array([0, 7])}, "outside"),
        ([FULL], {"0/selected": np.array([0, 0])}, "different columns"),
        ([FULL], {"0/scores": np.zeros(99)}, "shape"),
        ([FULL], {"0/weights": np.array([-1.0, 0, 0])}, "negative"),
        ([FULL], {"0/surprise": np.zeros(3)}, "no selection has"),
        ([FULL], {"7/scores": np.zeros(3)}, "no selection"),
        ([FULL], {"0/pair_weights/matrix": np.array([[0.0, 1.0], [2.0, 0.0]])}, "symmetric"),
        ([FULL], {"0/pair_weights/columns": np.array([0, 9])}, "outside"),
        ([FULL], {"0/pair_weights/other": np.zeros(1)}, "neither a matrix alone"),
        ([LISTED], {"0/pair_weights/j": np.array([1, 400])}, "positions outside"),
        (TWO, {"sizes/selected": np.array([1, 2])}, "sizes"),
        (TWO, {"sizes/selected": np.array([-1, 5])}, "sizes"),
        (TWO, {"sizes/selected": np.array([4])}, "sizes"),
        (TWO, {"sizes/selected": np.array([1.5, 2.5])}, "sizes"),
        (TWO, {"joined/selected": np.zeros((4, 1), dtype=np.int64)}, "sizes"),
        (TWO, {"joined/selected": np.array([1, 0.5, 2, 1])}, "whole numbers"),
        (TWO, {"joined/selected": np.array([1, 0, 3, 1])}, "outside"),
        (TWO, {"sizes/other": np.array([1, 2])}, "sizes of a missing array"),
        (TWO, {"0/selected": np.array([1])}, "two arrays"),
        (TWO, {"every/selected": np.array([0])}, "two arrays of one name"),
        (TWO, {"0/scores": np.zeros(3)}, "two arrays"),
        (TWO, {"every/surprise": np.zeros(3)}, "no selection has"),
        (TWO, {"²/scores": np.zeros(3)}, "no selection"),
        (TWO, {"9" * 30 + "/scores": np.zeros(3)}, "no selection"),
    ],
)
def test_packets_that_hold_unsound_selections_are_refused(found, change, reason):
    arrays, meta = unpack(pack_selections(found))
    with pytest.raises(StoreError, match=reason):
        unpack_selections(pack(arrays | change, meta), (3, 4))


# Units of another processor, or of other numerical libraries, are refused or told


ELSEWHERE = {**fingerprint(), "blas": "openblas 0.3.30 Haswell"}


def runs_on(monkeypatch: pytest.MonkeyPatch, numerics: dict[str, str]) -> None:
    monkeypatch.setattr("fsframe.storage.unit_files.fingerprint", lambda: numerics)


@pytest.fixture
def begin(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Begins a run where the numerical libraries are these."""

    def run(numerics: dict[str, str]) -> Path:
        with pytest.MonkeyPatch.context() as patched:
            runs_on(patched, numerics)
            with pytest.raises(Stop):
                CHAIN.run(table(), out=tmp_path / "run.h5", listener=stop_late)
        return tmp_path / "run.h5"

    return run


@pytest.fixture
def begun_elsewhere(begin: Callable[[dict[str, str]], Path]) -> Path:
    return begin(ELSEWHERE)


def test_a_fingerprint_names_its_parts_and_is_that_of_this_process():
    result = fingerprint()
    assert set(result) == {*NUMERIC_PARTS, *NUMERIC_LIBRARIES}
    assert all(result[name] for name in ("blas", "simd", "kernels", "numpy", "scipy", "numba"))
    assert result["numpy"] == np.__version__
    assert numeric_differences(result, result) == []


@pytest.mark.parametrize("library", NUMERIC_LIBRARIES)
def test_another_release_of_a_numerical_library_is_a_numeric_difference(library):
    then = {**fingerprint(), library: "0.1"}
    assert numeric_differences(then, {library: "0.2"}) == [f"{library} '0.1', not '0.2'"]


@pytest.mark.parametrize(
    ("variable", "value", "part"),
    [
        ("OPENBLAS_CORETYPE", "Nehalem", "blas"),
        ("NPY_DISABLE_CPU_FEATURES", None, "simd"),
        ("NUMBA_CPU_NAME", "generic", "kernels"),
    ],
)
def test_what_makes_libraries_compute_otherwise_changes_the_fingerprint(variable, value, part):
    if part == "blas" and "openblas" not in fingerprint()["blas"]:
        pytest.skip("another BLAS")
    if part == "kernels" and fingerprint()["kernels"].startswith("generic"):
        pytest.skip("this LLVM does not know the processor: kernels are generic already")
    if value is None:
        extensions = np.show_config(mode="dicts").get("SIMD Extensions", {})
        value = " ".join(extensions.get("found", ()))
        if not value:
            pytest.skip("NumPy has nothing to choose here")
    code = "from fsframe.storage.encoding import fingerprint; print(dict(fingerprint()))"
    there = eval(python("-W", "ignore", "-c", code, env={variable: value}).out)
    assert [name for name in there if there[name] != fingerprint()[name]] == [part]


@pytest.mark.parametrize(
    ("part", "there"), [("blas", "openblas 0.3.30 Haswell"), ("numpy", "1.9.0")]
)
def test_a_run_begun_elsewhere_is_refused_and_nothing_of_it_is_lost(begin, part, there):
    out = begin({**fingerprint(), part: there})
    before = sorted(os.listdir(units_folder(out)))
    with pytest.raises(StoreError, match=f"started with {part} '{re.escape(there)}', not") as told:
        CHAIN.run(table(), out=out)
    assert "--mixed" in str(told.value) and "--restart" in str(told.value)
    assert sorted(os.listdir(units_folder(out))) == before
    record = CHAIN.run(table(), out=out, mixed=True)
    assert f"{part} '{there}'" in record.environment["mixed"]


def test_an_accepted_one_is_marked_wherever_it_is_shown(begun_elsewhere, capsys):
    record = CHAIN.run(table(), out=begun_elsewhere, mixed=True)
    mixed = load_run(begun_elsewhere).environment["mixed"]
    assert mixed.startswith("blas 'openblas 0.3.30 Haswell', not ")
    assert any(mixed in warning for warning in record.all_warnings())
    for command in ("show", "verify"):
        with pytest.raises(SystemExit):
            main([command, str(begun_elsewhere)])
        assert "openblas 0.3.30 Haswell" in capsys.readouterr().out
    # The data are whole numbers: here the bits do not differ.
    assert record.digests() == CHAIN.run(table()).digests()


def test_other_reasons_are_not_accepted_with_it(begun_elsewhere):
    with pytest.raises(StoreError, match="its seed is 0, not 1") as told:
        CHAIN.run(table(), 1, begun_elsewhere, mixed=True)
    assert "--mixed" not in str(told.value)


def keep_a_unit(out: Path) -> None:
    with Request(chain=CHAIN, data=table(), out=out, mixed=True).checkpoint() as checkpoint:
        checkpoint.commit(Unit("9~ab", 0, 1), b"unit")


def test_the_manifest_says_which_units_are_of_which(begun_elsewhere):
    before = sum(name.startswith("units-") for name in os.listdir(units_folder(begun_elsewhere)))
    keep_a_unit(begun_elsewhere)
    manifest = Manifest.read(units_folder(begun_elsewhere) / "manifest")
    assert dict(manifest.numerics) == dict(fingerprint())
    ((last, numerics),) = manifest.earlier
    assert (last, dict(numerics)) == (before, ELSEWHERE)


def test_a_mixed_run_continues_in_either_place_and_stays_mixed(begun_elsewhere, monkeypatch):
    keep_a_unit(begun_elsewhere)
    runs_on(monkeypatch, ELSEWHERE)
    CHAIN.run(table(), out=begun_elsewhere)
    assert "not 'openblas 0.3.30 Haswell'" in load_run(begun_elsewhere).environment["mixed"]


def test_a_run_that_was_accepted_but_left_no_units_is_not_mixed(begun_elsewhere, monkeypatch):
    Request(chain=CHAIN, data=table(), out=begun_elsewhere, mixed=True).checkpoint().close()
    runs_on(monkeypatch, ELSEWHERE)
    CHAIN.run(table(), out=begun_elsewhere)
    assert "mixed" not in load_run(begun_elsewhere).environment


def test_a_run_file_says_where_it_was_computed(tmp_path):
    CHAIN.run(table(), out=tmp_path / "run.h5")
    environment = load_run(tmp_path / "run.h5").environment
    assert {name: environment[name] for name in fingerprint()} == dict(fingerprint())
    assert "mixed" not in environment
